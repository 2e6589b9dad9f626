"""Functions made of machine code."""

import os
import subprocess
import sys
import textwrap


def test_functions_outlive_the_module_that_made_them():
    """At the end of a process modules go before the functions that tables still hold; freed memory is overwritten here."""
    program = """
        import gc
        from kinetree.kernel import loader
        runs = [loader.callable_at(f"run_{number}", 1, 1) for number in range(1000)]
        vars(loader).clear()
        gc.collect()
        assert [run.__name__ for run in runs] == [f"run_{number}" for number in range(1000)]
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONMALLOC": "debug"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
