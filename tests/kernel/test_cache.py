"""The cache on disk: another process finds the code, an edit anywhere is noticed, machines do not mix."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from kinetree.kernel import Entry, build, float_machine, kernel, machine
from kinetree.kernel.build import Code
from kinetree.kernel.code import describe, reach


def run(code, folder, **environment):
    """Run code in another process with its own cache folder; what it printed."""
    path = os.pathsep.join([str(folder), *sys.path])
    env = {**os.environ, "KINETREE_CACHE": str(folder / "cache"), "PYTHONPATH": path, **environment}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


USE_ALL_MACHINES = """
    import numpy as np
    import kinetree as kt
    from kinetree.batch.lanes import LaneData
    from kinetree.kernel.build import COMPILED
    model = kt.load("double_pendulum")
    lanes = LaneData(model)
    stages = (kt.kinematics, kt.com_pos, kt.crb, kt.make_m)  # the last calls the one before it through the table
    for stage in stages:
        lanes.run(stage)                       # lanes first: a float stage must not pick up their code
    data = kt.Data(model)
    data.qpos[:] = 0.3
    for stage in stages:
        stage(model, data)
    print(not COMPILED, repr(float(data.M.sum())))
"""


def test_second_process_takes_everything_from_the_cache(tmp_path):
    first, second = run(USE_ALL_MACHINES, tmp_path), run(USE_ALL_MACHINES, tmp_path)
    assert first[0] == "False"
    assert second[0] == "True"
    assert first[1] == second[1]


EDITED = {
    "helper.py": """
        from kinetree.kernel import kernel
        SHIFT = {shift}
        @kernel
        def helper(x):
            return x + SHIFT
    """,
    "user.py": """
        import helper
        from kinetree.kernel import stage
        @stage
        def shifted(m, d):
            d.time[0] = helper.helper(d.time[0])
    """,
}
USE = """
    import kinetree as kt
    import user
    from kinetree.kernel.build import COMPILED
    model = kt.load("cartpole")
    data = kt.Data(model)
    user.shifted(model, data)
    print(data.time, not any("shifted" in symbol for symbol in COMPILED))
"""


def write(folder, shift):
    for name, text in EDITED.items():
        (folder / name).write_text(textwrap.dedent(text.format(shift=shift)))


def test_an_edit_in_another_file_is_noticed(tmp_path):
    write(tmp_path, 1.0)
    assert run(USE, tmp_path) == ["1.0", "False"]
    assert run(USE, tmp_path) == ["1.0", "True"]
    write(tmp_path, 2.5)
    assert run(USE, tmp_path) == ["2.5", "False"]
    write(tmp_path, 1.0)
    assert run(USE, tmp_path) == ["1.0", "True"]  # versions live side by side


NESTED = {
    "package/__init__.py": "",
    "package/parts.py": """
        from kinetree.kernel import kernel, stage

        class Gains:
            kp = {shift}

        @kernel
        def added(x):
            return x + Gains.kp

        @stage
        def more(m, d):
            d.time[0] = added(d.time[0])
    """,
    "user.py": """
        import package.parts
        from kinetree.kernel import stage
        @stage
        def shifted(m, d):
            package.parts.more(m, d)
            d.time[0] = package.parts.added(d.time[0]) + package.parts.Gains.kp
    """,
}


def test_names_behind_several_dots_count_too(tmp_path):
    """Constants of classes, and kernels and stages of modules in packages: what is compiled is what the stamp covers."""
    (tmp_path / "package").mkdir()
    for shift, time, known in ((1.0, "3.0", "False"), (1.0, "3.0", "True"), (2.0, "6.0", "False")):
        for name, text in NESTED.items():
            (tmp_path / name).write_text(textwrap.dedent(text.replace("{shift}", str(shift))))
        assert run(USE, tmp_path) == [time, known]


@kernel
def inner(x):
    return 2.0 * x


@kernel
def outer(x):
    return inner(x) + 1.0


def mark_of(kernel_, machine_, **settings):
    """The mark of a kernel as an entry."""
    return Code(Entry(kernel_, listed=False, **settings), machine_).mark


def test_marks_cover_callees_machines_and_settings(monkeypatch):
    digests, stages = reach(outer)
    assert len(digests) == 2 and not stages
    assert describe(inner)[0] in digests
    floats, lanes = float_machine(), machine("float64", 8)
    marks = {
        mark_of(outer, floats), mark_of(inner, floats), mark_of(outer, lanes), mark_of(outer, machine("float64", 4)),
        mark_of(outer, floats, result="int64"), mark_of(outer, floats, number=3), mark_of(outer, floats, guarded=False),
    }  # fmt: skip
    assert len(marks) == 7 and mark_of(outer, floats) in marks
    monkeypatch.setattr(outer, "unfused", True)
    assert mark_of(outer, floats) not in marks
    monkeypatch.undo()
    monkeypatch.setattr(build, "WORDS", build.WORDS[::-1])  # where an entry finds who is inside, and what it answers
    assert mark_of(outer, floats) not in marks


def test_marks_tell_whether_lanes_run_one_by_one(monkeypatch):
    lanes = machine("float64", 8)
    together = mark_of(outer, lanes, number=3)
    monkeypatch.setattr(outer, "scalar_only", True)
    assert mark_of(outer, lanes, number=3) != together


def test_first_use_says_so_once_and_only_then(tmp_path):
    code = """
        import kinetree as kt
        model = kt.load("cartpole")
        kt.camlight(model, kt.Data(model))
    """
    env = {**os.environ, "KINETREE_CACHE": str(tmp_path / "cache")}
    said = []
    for quiet in ("1", "0", "0"):
        folder = tmp_path / ("quiet" if quiet == "1" else "cache")
        env |= {"KINETREE_QUIET": quiet, "KINETREE_CACHE": str(folder)}
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said.append(done.stderr.count("what is used for the first time"))
    assert said == [0, 1, 0]


@pytest.mark.parametrize("switch", ["KINETREE_JIT", "KINETREE_BOUNDS"])
def test_switches(switch, tmp_path):
    """Uncompiled and bounds-checked runs give the same numbers; the switch is really on."""
    code = """
        import numpy as np
        import kinetree as kt
        from kinetree.kernel import BOUNDS, JIT
        model = kt.load("arm")
        data = kt.Data(model)
        data.qpos[:] = 0.1
        kt.kinematics(model, data)
        kt.com_pos(model, data)
        print(JIT, BOUNDS, round(float(data.subtree_com.sum()), 12), round(float(data.cdof.sum()), 12))
    """
    usual = run(code, tmp_path)
    switched = run(code, tmp_path, **{switch: "0" if switch == "KINETREE_JIT" else "1"})
    assert usual[:2] == ["True", "False"]
    assert switched[:2] == (["False", "False"] if switch == "KINETREE_JIT" else ["True", "True"])
    assert usual[2:] == switched[2:]


def test_bounds_checks_catch_minus_one(tmp_path):
    """Compiled while a module is imported, which the compiler's own thread could not import as well."""
    code = """
        import kinetree as kt
        from kinetree.kernel import compiled, float_machine, kernel

        @kernel
        def outside(m, d):
            d.xpos[-1, 0] = 1.0

        model = kt.load("arm")
        data = kt.Data(model)
        try:
            compiled(outside, float_machine())(model.address, data.address)
        except IndexError as error:
            print("caught", error)
    """
    (tmp_path / "outside.py").write_text(textwrap.dedent(code))
    out = run("import outside", tmp_path, KINETREE_BOUNDS="1")
    assert out[:1] == ["caught"] and "bounds" in out


def test_a_file_that_changed_since_its_import_is_not_compiled(tmp_path):
    """Its code would be kept under the stamp of what was imported."""
    code = """
        import pathlib, sys
        import user, helper
        path = pathlib.Path(helper.__file__)
        path.write_text(path.read_text().replace("x + SHIFT", "SHIFT + x"))
        import kinetree as kt
        model = kt.load("cartpole")
        try:
            user.shifted(model, kt.Data(model))
        except TypeError as error:
            print("is not what was imported" in str(error))
    """
    write(tmp_path, 1.0)
    assert run(code, tmp_path) == ["True"]
