"""Controllers on SIMD lanes: steps of several worlds, each with gains and a target of its own."""

from __future__ import annotations

import functools

from kinetree.batch.lanes import LaneData
from kinetree.control.arrays import Arrays, entry
from kinetree.control.forward import run_steps


def step_all(lanes: LaneData, arrays: Arrays, nstep: int) -> int:
    """Steps under the controllers; what `_advance` returns."""
    code = entry(run_steps, lanes.machine, lanes.model)
    return lanes._advance(functools.partial(code, lanes.model_address, lanes.address, arrays.address), nstep)
