"""What a run on lanes has to say: warnings that name the world, and the reset of those that went bad.

MuJoCo: mj_warning, mj_resetData where a check of the state failed.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from ..notices import keep_reason, start_anew, tell_new

if TYPE_CHECKING:
    from .lanes import LaneData

OF_A_WORLD = ("warning_number", "warning_before", "warning_lastinfo", "time", "qpos", "bad")  # what is looked at here


def report_worlds(lanes: LaneData, went_bad: bool) -> None:
    """World by world: warn of what is new, then reset it if it went bad.

    A warning that is made an error leaves that world, and those behind it, to look at, and the next run goes on. Handlers of
    warnings may run the lanes on, so that each world is looked at when its turn comes.
    """
    for lane in range(lanes.width):
        world = one_world(lanes, lane)
        bad = went_bad and bool(world["bad"][0])
        new = tell_new(lanes.model, world, bad, f"world {lane}: ")
        if bad:
            keep_reason(world, new)
            start_anew(world, functools.partial(lanes.reset, lane), f"world {lane}")
        world["warning_before"][:] = world["warning_number"]


def one_world(lanes: LaneData, lane: int) -> dict[str, np.ndarray]:
    """Views of the arrays of one world."""
    return {name: lanes.arrays[name][..., lane] for name in OF_A_WORLD}
