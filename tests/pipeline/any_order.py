"""A child of `test_any_order`: cases of the attack `tests/fuzz/stages.py`, in a process that may die of them.

With `KINETREE_JIT=0` kernels run as plain Python on arrays that check every index, -1 included; with `KINETREE_BOUNDS=1`
compiled code does so, and an index out of bounds in an inner stage, which cannot raise, ends the process.
Usage: python -m tests.pipeline.any_order SEED CASES COUNT lanes|floats|few
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
import warnings
from typing import Any

import mujoco
import numpy as np

import kinetree as kt
from kinetree.kernel import JIT
from tests.fuzz import stages

LIMIT = 900  # seconds for a line: long enough for a compiler
FEW = ("kinematics", "com_pos", "tendon", "make_m", "factor_m", "com_vel", "update_sleep")
REFUSALS = (ValueError, TypeError, IndexError, AttributeError, MemoryError, OverflowError, ZeroDivisionError)


class OutOfBoundsError(Exception):
    """An index outside its array."""


class Checked:
    """An array whose entries are read and written one by one, inside its bounds."""

    def __init__(self, array: np.ndarray, name: str):
        self.array, self.name = array, name

    def _inside(self, index: Any) -> Any:
        places = index if isinstance(index, tuple) else (index,)
        if len(places) != self.array.ndim or not all(0 <= i < n for i, n in zip(places, self.array.shape, strict=True)):
            raise OutOfBoundsError(f"{self.name}{[int(i) for i in places]} of shape {self.array.shape}")
        return index

    def __getitem__(self, index: Any) -> Any:
        return self.array[self._inside(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[self._inside(index)] = value


def check_records(kind: Any) -> None:
    """Let all arrays of a Model's or Data's record check their indices."""
    record = kind.record

    def checked(self: Any) -> Any:
        out = record(self)
        for name, value in vars(out).items():
            if isinstance(value, np.ndarray):
                setattr(out, name, Checked(value, name))
        return out

    kind.record = checked


def end(problem: Any) -> None:
    """What an inner stage could only print."""
    print(f"in an inner stage: {problem.exc_value}", flush=True)
    os._exit(3)


def run(seed: int, count: int, machine: str) -> int:
    """One case; how many of its lines ran."""
    names: dict[str, Any] = {"kt": kt, "np": np, "mujoco": mujoco, "pickle": pickle}
    ran = 0
    only = FEW if machine == "few" else ()
    for line in stages.lines(np.random.default_rng(seed), count, machine == "lanes", only):
        print(line, flush=True)
        signal.alarm(LIMIT)
        try:
            exec(line, names)
            ran += 1
        except REFUSALS as error:
            if "out of bounds of field" in str(error):
                raise
            print(f"# {type(error).__name__}: {error}"[:200], flush=True)
        signal.alarm(0)
    return ran


def main(seed: str, cases: str, count: str, machine: str) -> None:
    """Run cases one after the other; the last line printed is the one that failed."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    sys.unraisablehook = end
    if not JIT:
        check_records(kt.Data)
        check_records(kt.Model)
    try:
        ran = [run(int(seed) + k, int(count), machine) for k in range(int(cases))]
    except Exception:
        traceback.print_exc(file=sys.stdout)
        sys.exit(1)
    print(f"ran {sum(ran)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
