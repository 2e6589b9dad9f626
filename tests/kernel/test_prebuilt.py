"""Machine code that comes with the package: the same numbers as compiled code, and nothing that does not belong is used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time

import pytest

import kinetree as kt
from kinetree.kernel import JIT, float_machine, prebuilt
from kinetree.kernel.jit import library
from kinetree.kernel.levels import NATIVE, level

pytestmark = pytest.mark.skipif(not JIT or level() == NATIVE, reason="no level that wheels have code for")
FEW = (kt.kinematics, kt.com_pos, kt.camlight)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with a library of a few stages."""
    folder = tmp_path_factory.mktemp("prebuilt")
    assert library.build(folder, "float64", (level(),), [stage.entry for stage in FEW]) > 1000
    return folder


def path_in(folder, suffix):
    return folder / (prebuilt.file_name(float_machine().name, level()) + suffix)


@pytest.fixture
def opened(built, tmp_path):
    """What comes of a copy of the library after something was done to it."""

    def open_after(damage):
        folder = shutil.copytree(built, tmp_path / "copy")
        damage(folder)
        return prebuilt._opened(path_in(folder, ""))

    return open_after


def test_a_sound_library_is_opened(opened):
    library, entries = opened(lambda folder: None)
    assert set(entries) == {stage.entry.name for stage in FEW}
    assert all(hasattr(library, f"py_{symbol}") and hasattr(library, f"c_{symbol}") for symbol in entries.values())


def flip(folder):
    path = path_in(folder, ".so")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def edit_index(**changes):
    def edit(folder):
        path = path_in(folder, ".json")
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return edit


DAMAGES = {
    "a flipped bit": (flip, "it is damaged"),
    "a truncated library": (
        lambda f: path_in(f, ".so").write_bytes(path_in(f, ".so").read_bytes()[:999]),
        "it is damaged",
    ),
    "an empty library": (lambda f: path_in(f, ".so").write_bytes(b""), "it is damaged"),
    "no library": (lambda f: path_in(f, ".so").unlink(), "cannot be read"),
    "a truncated index": (lambda f: path_in(f, ".json").write_text('{"entries": {'), "cannot be read"),
    "an index of something else": (lambda f: path_in(f, ".json").write_text("[1, 2]"), "cannot be read"),
    "names that are none": (edit_index(entries={"a": 3}), "its index is damaged"),
    "other sources": (edit_index(sources="0" * 64), "other sources"),
    "another machine": (edit_index(machine="float32 x 16"), "another machine"),
    "another level": (edit_index(level="x86-64-v9"), "another machine"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_does_not_belong_is_refused(opened, damage):
    change, reason = DAMAGES[damage]
    found = opened(change)
    assert isinstance(found, str) and reason in found


def test_a_change_after_the_import_is_noticed(opened, monkeypatch):
    monkeypatch.setattr(prebuilt, "IMPORTED", 0.0)
    assert opened(lambda folder: None) == "the sources have changed since they were imported"


def test_files_of_the_future_are_no_change(opened, monkeypatch):
    monkeypatch.setattr(prebuilt, "IMPORTED", 0.0)
    monkeypatch.setattr(time, "time", lambda: 1.0)
    assert not isinstance(opened(lambda folder: None), str)


@pytest.fixture
def searched(built, tmp_path, monkeypatch):
    """What a process finds in a copy of the library at two levels, after something was done to the better one."""

    def search_after(damage):
        folder = shutil.copytree(built, tmp_path / "copy")
        for path in list(folder.iterdir()):
            lower = folder / path.name.replace(level(), "lower")
            content = path.read_bytes()
            lower.write_bytes(
                content.replace(f'"{level()}"'.encode(), b'"lower"') if path.suffix == ".json" else content
            )
        damage(folder)
        monkeypatch.setattr(prebuilt, "FOLDER", str(folder))
        monkeypatch.setattr(prebuilt, "levels", lambda: (level(), "lower"))
        return prebuilt.search.__wrapped__(float_machine())

    return search_after


def test_the_best_level_is_taken(searched):
    found, refused = searched(lambda folder: None)
    assert found is not None and not refused and level() in found[0]._name


def test_below_a_library_that_is_refused_comes_the_next(searched):
    found, refused = searched(flip)
    assert "lower" in found[0]._name and "it is damaged" in refused


ALLOWED = {
    "PyLong_AsLongLong", "PyLong_FromLongLong", "PyErr_Occurred", "PyErr_Fetch", "PyErr_SetString", "PyExc_TypeError",
    "PyExc_IndexError", "PyEval_SaveThread", "PyEval_RestoreThread", "PyGILState_Ensure", "PyGILState_Release",
    "PyObject_CallObject", "PyTuple_New", "PyTuple_SetItem", "Py_DecRef", "PyThread_get_thread_ident", "clock_gettime",
    "exp", "log", "pow", "memset", "memcpy", "memmove",
}  # fmt: skip


def test_libraries_need_python_s_stable_abi_and_c_alone(built):
    elf = pytest.importorskip("elftools.elf.elffile")
    with open(path_in(built, ".so"), "rb") as file:
        table = elf.ELFFile(file).get_section_by_name(".dynsym")
        needed = {s.name for s in table.iter_symbols() if s.name and s["st_shndx"] == "SHN_UNDEF"}
    assert needed and needed <= ALLOWED, needed - ALLOWED


USE = """
    import sys, numpy as np, kinetree as kt
    from kinetree.kernel import build, prebuilt
    prebuilt.FOLDER = sys.argv[1]
    model = kt.load("arm")
    data = kt.Data(model)
    data.qpos[:] = np.linspace(0.1, 0.9, model.nq)
    for stage in (kt.kinematics, kt.com_pos, kt.camlight):
        stage(model, data)
    compiled = [symbol for symbol in build.COMPILED if "kinematics" in symbol or "com_pos" in symbol]
    print(compiled, data.xpos.tobytes().hex(), data.cinert.tobytes().hex())
"""


def test_its_numbers_are_those_of_compiled_code(built, tmp_path):
    said = []
    for folder in (built, tmp_path):
        env = {**os.environ, "KINETREE_CACHE": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", textwrap.dedent(USE), str(folder)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        said.append(done.stdout.rsplit("] ", 1))
    assert said[0][0] == "[" and len(said[1][0]) > 1  # nothing was compiled, and something was
    assert said[0][1] == said[1][1]


def test_a_library_that_is_not_used_is_told(built, tmp_path):
    folder = shutil.copytree(built, tmp_path / "copy")
    flip(folder)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(USE), str(folder)], env=env, capture_output=True, text=True, check=True
    )
    assert done.stderr.count("is not used") == 1 and "it is damaged" in done.stderr
