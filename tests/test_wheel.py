"""A wheel with machine code where there is no compiler: what README and the pages show runs, and nothing is compiled."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kinetree as kt
from kinetree.kernel import JIT
from kinetree.kernel.levels import NATIVE, level, levels
from kinetree.kernel.machine import USUAL
from tests.test_docs import ROOT, WITH_CODE, blocks
from tests.wheels import build_wheel, install

pytestmark = pytest.mark.skipif(not JIT or level() == NATIVE, reason="no level that wheels have code for")
COMPILES = {
    "docs/guide/kernel-language.md"
}  # pages that define stages of their own, for which the extra `jit` is needed


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel with code for the usual machines, for every level of this processor."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    return build_wheel(tmp_path_factory.mktemp("project"), USUAL, levels())


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """Run code where the wheel is installed and no compiler is; the cache must stay empty."""
    site, cache = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("cache")
    install(wheel, site, "casadi")  # of which some pages tell

    def run(*arguments: str, cwd: Path = site, at_level: str = "") -> str:
        names = {"PYTHONPATH": str(site), "KINETREE_CACHE": str(cache), "PYTHONWARNINGS": "error::RuntimeWarning"}
        env = {**os.environ, **names, "MPLBACKEND": "agg", "KINETREE_QUIET": "0", "KINETREE_LEVEL": at_level}
        done = subprocess.run([sys.executable, "-S", *arguments], cwd=cwd, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "compiling" not in done.stderr and not list(cache.iterdir())
        return done.stdout

    return run


def test_its_name_says_what_it_is(wheel):
    assert re.fullmatch(r"kinetree-[\d.]+-py3-none-manylinux_2_17_x86_64\.whl", wheel.name)
    assert wheel.stat().st_size < 12e6


STATES = """
import hashlib, numpy as np, kinetree as kt
from kinetree.batch.lanes import LaneData
def digest(arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()
for name in kt.models.names():
    model = kt.load(name)
    data = kt.Data(model)
    data.qvel[:] = np.random.default_rng(0).normal(size=model.nv)
    kt.step(model, data, 100)
    kt.inverse(model, data)
    print(name, digest([data.get_state(), data.qfrc_inverse]))
    for width, dtype in ((8, "float64"), (16, "float32")):
        lanes = LaneData(model, width, dtype)
        lanes.qpos += 1e-3 * np.arange(width)
        lanes.run(kt.pipeline.forward)
        print(name, width, dtype, digest([lanes.qacc, lanes.qfrc_constraint, lanes.sensordata]))
"""


@pytest.mark.parametrize("at_level", levels())
def test_its_numbers_are_those_of_compiled_code(at_level, python):
    """To the last bit, on floats and on lanes."""
    env = {**os.environ, "KINETREE_LEVEL": at_level, "PYTHONPATH": os.pathsep.join(sys.path)}
    mine = subprocess.run([sys.executable, "-c", STATES], env=env, capture_output=True, text=True, check=True).stdout
    assert python("-c", STATES, at_level=at_level).splitlines() == mine.splitlines()
    assert len(mine.splitlines()) == 3 * len(kt.models.names())


@pytest.mark.parametrize("name", [name for name in WITH_CODE if name not in COMPILES])
def test_pages_run(name, python, tmp_path):
    program = tmp_path / "page.py"
    program.write_text("".join(blocks(ROOT / name)), encoding="utf-8")
    python(str(program), cwd=tmp_path)


def test_the_command_runs(python, tmp_path):
    said = python("-m", "kinetree", "run", "cartpole", "--seconds", "0.2", "--out", str(tmp_path / "out"))
    assert "cartpole" in said and (tmp_path / "out").exists()
    assert "nothing to compile" in python("-m", "kinetree", "warmup", "humanoid")


def test_what_must_be_compiled_says_what_is_missing(python):
    code = """
import kinetree as kt
from kinetree.batch.lanes import LaneData
try:
    LaneData(kt.load("cartpole"), 4).run(kt.kinematics)
except ModuleNotFoundError as error:
    print(error)
"""
    assert "no machine code" in python("-c", code) and "kinetree[jit]" in python("-c", code)
