"""Program: write wrong integers into a MuJoCo model, one at a time, and run what kinetree still accepts.

`KINETREE_BOUNDS=1 python -m tests.io.corrupt model.xml now.txt [all]` prints, as JSON, how often each field was refused
and accepted, and every access out of bounds in the position stages, or in all. What it tries is in now.txt, so that a
crash can be told.
"""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path

import mujoco
import numpy as np

import kinetree as kt
from kinetree.kernel.stage import STAGES

VALUES = (-1000, -1, 10**6, 2**31 - 1)
POSITION = (kt.kinematics, kt.com_pos, kt.camlight)


def integer_fields(mj: mujoco.MjModel) -> list[str]:
    """Every integer array of a model that has entries."""
    arrays = {name: getattr(mj, name) for name in dir(mj) if not name.startswith("_")}
    return [n for n, a in arrays.items() if isinstance(a, np.ndarray) and a.dtype.kind in "iu" and a.size]


def attempts(array: np.ndarray, rng: np.random.Generator) -> list[tuple[int, int]]:
    """(entry, value) pairs: values out of any range, and one more than the largest, at a random entry."""
    at, limits = int(rng.integers(array.size)), np.iinfo(array.dtype)
    values = {*VALUES, int(array.max()) + 1, int(limits.max)}
    return [(at, v) for v in sorted(values) if limits.min <= v <= limits.max]


def main(path: str, now: str, which: str = "position") -> None:
    """Run all attempts on one model."""
    stages = [s for s in STAGES if not s.part_of] if which == "all" else POSITION
    original = mujoco.MjModel.from_xml_path(path)
    rng = np.random.default_rng(5)
    refused: dict[str, int] = {}
    accepted: dict[str, list[int]] = {}
    wrong = []
    for name in integer_fields(original):
        for at, value in attempts(getattr(original, name), rng):
            mj = copy.copy(original)
            if getattr(mj, name).flat[at] == value:
                continue
            getattr(mj, name).flat[at] = value
            Path(now).write_text(f"{name}[{at}] = {value}")
            try:
                model = kt.load(mj)
            except kt.ModelError:
                refused[name] = refused.get(name, 0) + 1
                continue
            accepted.setdefault(name, []).append(value)
            data = kt.Data(model)
            try:
                for stage in stages:
                    stage(model, data)
            except IndexError as error:
                wrong.append((name, at, value, str(error)))
            try:
                kt.set_const(model)
            except kt.ModelError:
                pass
    print(json.dumps({"refused": refused, "accepted": accepted, "wrong": wrong}))


if __name__ == "__main__":
    main(*sys.argv[1:])
