"""The pool of compiling processes: it makes what this process would, nothing it says is trusted, and nothing is left over."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time

import pytest

import kinetree as kt
from kinetree.kernel import JIT, float_machine, machine, pool, stage
from kinetree.kernel.build import Code
from kinetree.kernel.jit.emit import objects_of
from kinetree.kernel.levels import known_levels, level

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")


def some_codes():
    return [Code(each.entry, float_machine()) for each in (kt.camlight, kt.com_vel, kt.subtree_vel)]


@pytest.fixture
def two_workers(monkeypatch):
    """Two workers for however little work, with a list of all that were started."""
    monkeypatch.setenv("KINETREE_JOBS", "2")
    monkeypatch.setattr(pool, "WORTH_A_POOL", 0)
    started = []

    class Noted(pool.Worker):
        def __init__(self, levels):
            super().__init__(levels)
            started.append(self._process)

    monkeypatch.setattr(pool, "Worker", Noted)
    return started


@pytest.fixture
def no_compiler_here(monkeypatch):
    monkeypatch.setattr("kinetree.kernel.jit.emit.objects_of", lambda *_: pytest.fail("compiled in this process"))


def test_workers_make_the_same_code(two_workers, no_compiler_here):
    made = dict(pool.compile_in_pool(some_codes(), level()))
    wanted = {code: objects_of(code, [level()]) for code in made}
    assert len(made) == 3 and len(two_workers) == 2
    assert made == wanted


@pytest.mark.skipif(len(known_levels()) < 2, reason="one level alone")
def test_code_of_a_level_is_the_same_alone_and_with_others(two_workers, no_compiler_here):
    # both come out otherwise if they are simplified for another level
    codes = [Code(each.entry, float_machine()) for each in (kt.factor_m, kt.make_m)]
    together = dict(pool.compile_in_pool(codes, *known_levels()))
    for k, each in enumerate(known_levels()):
        alone = dict(pool.compile_in_pool(codes, each))
        assert {code: contents[k] for code, contents in together.items()} == {c: found for c, (found,) in alone.items()}


def test_the_bar_is_there_before_the_first_code_is(two_workers, monkeypatch):
    said = []

    class Noted(pool.Progress):
        def _show(self, name):
            said.append((name, self.finished, len(two_workers)))

    monkeypatch.setattr(pool, "Progress", Noted)
    codes = some_codes()
    working = pool.compile_in_pool(codes, level())
    next(working)
    largest = max(codes, key=pool.work_of).entry.kernel.__name__
    assert said[0] == (largest, 0, 0)  # nothing is done, and no worker has started
    assert len(list(working)) == 2 and [finished for _, finished, _ in said] == [0, 1, 2, 3]


def test_workers_end_with_the_work(two_workers):
    working = pool.compile_in_pool(some_codes(), level())
    next(working)
    assert any(process.poll() is None for process in two_workers)
    working.close()  # as an exception in the loop over it does
    assert two_workers and all(process.poll() is not None for process in two_workers)


ANSWER = """
import sys
for line in sys.stdin:
    print({answer!r}, end="", flush=True)
"""
BROKEN = {
    "dead from the start": "",
    "dies at its first job": "import sys; sys.stdin.readline(); sys.exit(3)",
    "talks nonsense": ANSWER.format(answer="what?\n"),
    "answers with a list": ANSWER.format(answer="[1, 2]\n"),
    "code under another mark": ANSWER.format(answer='{"mark": "0", "sizes": [3]}\nabc'),
    "nothing": ANSWER.format(answer='{"mark": "", "sizes": []}\n'),
    "cut short": 'import sys; sys.stdin.readline(); print(\'{"mark": "0", "sizes": [999]}\')',
}


@pytest.mark.parametrize("fault", BROKEN)
def test_what_workers_cannot_do_is_done_here(fault, two_workers, monkeypatch):
    monkeypatch.setattr(pool, "START", BROKEN[fault])
    codes = some_codes()[:2]
    made = dict(pool.compile_in_pool(codes, level()))
    assert set(made) == set(codes)
    assert all(content.startswith(b"\x7fELF") or len(content) > 1000 for (content,) in made.values())


def test_without_a_right_to_start_processes(two_workers, monkeypatch):
    def refused(*_, **__):
        raise PermissionError

    monkeypatch.setattr(subprocess, "Popen", refused)
    assert len(list(pool.compile_in_pool(some_codes()[:2], level()))) == 2 and not two_workers


def test_an_error_of_the_compiler_is_seen(two_workers):
    @stage
    def wrong(m, d):
        d.time[0] = "three"

    with pytest.raises(TypeError, match="wrong"):
        list(pool.compile_in_pool([*some_codes()[:1], Code(wrong.entry, float_machine())], level()))


@pytest.mark.parametrize(("text", "count"), [("1", 1), ("3", 3), ("40", 40)])
def test_the_number_of_workers_is_the_user_s(text, count, monkeypatch):
    monkeypatch.setenv("KINETREE_JOBS", text)
    assert pool.processes() == count


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", " "])
def test_a_number_that_is_none_is_refused(text, monkeypatch):
    monkeypatch.setenv("KINETREE_JOBS", text)
    with pytest.raises(ValueError, match=r"KINETREE_JOBS must be a whole number above 0, not"):
        pool.processes()


def test_by_default_there_are_as_many_as_processors(monkeypatch):
    monkeypatch.delenv("KINETREE_JOBS", raising=False)
    assert 1 <= pool.processes() <= min(pool.MOST, os.cpu_count() or 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(500), raising=False)
    assert pool.processes() == pool.MOST


def test_what_travels():
    assert all(pool.can_travel(code) for code in some_codes())
    assert pool.can_travel(Code(kt.camlight.entry, machine("float32", 4)))
    copied = kt.kernel.Entry(kt.camlight.kernel, listed=False)
    assert not pool.can_travel(Code(copied, float_machine()))


def test_stages_of_a_program_are_compiled_there(tmp_path):
    """A worker could not import `__main__`; and what is compiled there is no import of the program by workers."""
    program = tmp_path / "program.py"
    text = """
        print("imported")
        import kinetree as kt
        from kinetree.kernel import pool, stage
        pool.WORTH_A_POOL = 0

        @stage
        def count(m, d):
            kt.kinematics(m, d)
            d.time[0] += 1.0

        model = kt.load("cartpole")
        data = kt.Data(model)
        count(model, data)
        print(data.time)
    """
    program.write_text(textwrap.dedent(text))
    env = {**os.environ, "KINETREE_CACHE": str(tmp_path / "cache"), "KINETREE_JOBS": "2"}
    done = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["imported", "1.0"]


def test_nothing_is_imported_from_the_working_folder(two_workers, tmp_path, monkeypatch):
    """There may be models of strangers, and whatever came with them."""
    (tmp_path / "json.py").write_text("open('imported', 'w').close()")
    monkeypatch.chdir(tmp_path)
    made = list(pool.compile_in_pool(some_codes()[:2], level()))
    assert len(made) == 2 and two_workers and not (tmp_path / "imported").exists()


@pytest.mark.parametrize("how", ["frozen", "embedded"])
def test_a_program_that_is_its_own_python_starts_none(how, two_workers, monkeypatch):
    if how == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    else:
        monkeypatch.setattr(sys, "executable", None)
    assert len(list(pool.compile_in_pool(some_codes()[:2], level()))) == 2 and not two_workers


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    text = """
        import os, signal, sys
        import kinetree as kt
        from kinetree.kernel import float_machine, pool
        from kinetree.kernel.build import Code
        from kinetree.kernel.levels import level
        pool.WORTH_A_POOL = 0
        codes = [Code(each.entry, float_machine()) for each in (kt.camlight, kt.com_vel, kt.kinematics, kt.collision)]
        begin = pool.Worker.__init__
        def noted(worker, levels):
            begin(worker, levels)
            print(worker._process.pid, flush=True)
        pool.Worker.__init__ = noted
        next(pool.compile_in_pool(codes, level()))
        os.kill(os.getpid(), signal.SIGKILL)
    """
    env = {**os.environ, "KINETREE_CACHE": str(tmp_path), "KINETREE_JOBS": "2"}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], env=env, stdout=subprocess.PIPE, text=True)
    workers = [int(word) for word in done.stdout.split()]
    assert done.returncode == -9 and len(workers) == 2
    until = time.monotonic() + 20  # they notice within a second, whatever they are at
    while any(is_running(worker) for worker in workers):
        assert time.monotonic() < until
        time.sleep(0.1)


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
