"""No stage leaves its arrays, in whatever order stages run and whatever numbers they find, also where models change.

Each batch of cases is a process of its own: what goes wrong in compiled code ends the interpreter, or corrupts its memory.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def check(seed: int, cases: int, count: int, machine: str, timeout: float, **environment: str) -> None:
    command = [sys.executable, "-m", "tests.pipeline.any_order", str(seed), str(cases), str(count), machine]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
        check=False,
    )
    where = done.stdout.rsplit("import pickle", 1)[-1]
    assert done.returncode == 0, f"exit code {done.returncode} after\n{where}\n{done.stderr[-2000:]}"
    assert int(done.stdout.split()[-1]) > 0.3 * cases * count, "hardly a line ran"


def test_every_index_of_uncompiled_kernels_is_inside_its_array():
    check(0, 6, 20, "floats", 600, KINETREE_JIT="0")


def test_compiled_stages_survive():
    check(100, 12, 30, "floats", 1200)


def test_every_index_of_a_few_compiled_stages_is_inside_its_array():
    """As the soak test below, which takes all of them."""
    check(200, 30, 30, "few", 1200, KINETREE_BOUNDS="1")


@pytest.mark.soak
def test_every_index_of_uncompiled_kernels_is_inside_its_array_for_long():
    check(1000, 100, 40, "floats", 7200, KINETREE_JIT="0")


@pytest.mark.soak
@pytest.mark.parametrize("machine", ["floats", "lanes"])
def test_compiled_stages_survive_for_long(machine):
    check(2000, 300, 60, machine, 7200)


@pytest.mark.soak
@pytest.mark.parametrize("machine", ["floats", "lanes"])
def test_every_index_of_compiled_stages_is_inside_its_array(machine):
    """All stages are compiled anew, with checks: a quarter of an hour for floats, more for lanes."""
    check(3000, 100, 60, machine, 14400, KINETREE_BOUNDS="1")
