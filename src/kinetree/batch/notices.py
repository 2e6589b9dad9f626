"""What a run on lanes has to say: warnings that name the world, and the reset of those that went bad.

MuJoCo: mj_warning, mj_resetData where a check of the state failed.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from ..bad_states import message
from ..dynamics.actuation import MAX_VALUE
from ..notices import RESETS, warn_of_moment
from ..types import WarningType

if TYPE_CHECKING:
    from .lanes import LaneData


def report_worlds(lanes: LaneData, left: int) -> None:
    """Reset the worlds that went bad, and warn of what is new in each. left: steps to make, < 0 after a forward pass.

    After that all others make the pass again, and what is new in them is told behind it.
    """
    arrays, texts = lanes.arrays, []
    bad = arrays["bad"][0].copy() if left else np.zeros(lanes.width, bool)
    for lane in range(lanes.width):
        numbers, before = arrays["warning_number"][:, lane], arrays["warning_before"][:, lane]
        if left < 0 and not bad[lane]:
            numbers[:] = arrays["warning_pass"][:, lane]
            continue
        new = [WarningType(int(what)) for what in np.flatnonzero(numbers > before)]
        texts += [_text(lanes, lane, what, bool(bad[lane]) and what in RESETS) for what in new]
        if bad[lane]:
            _reset(lanes, lane, next((what for what in new if what in RESETS), WarningType.BADQACC))
        before[:] = numbers
    for text in texts:  # at last, as handlers of warnings may do anything
        warn_of_moment(text)


def _text(lanes: LaneData, lane: int, what: WarningType, reset: bool) -> str:
    arrays = lanes.arrays
    world = SimpleNamespace(warning_lastinfo=arrays["warning_lastinfo"][:, lane], time=float(arrays["time"][0, lane]))
    return f"world {lane}: {message(lanes.model, world, what, reset)}"


def _reset(lanes: LaneData, lane: int, reason: WarningType) -> None:
    """Back to the initial state; of warnings the one that led to it is kept, and counts once, as in MuJoCo."""
    arrays = lanes.arrays
    about = int(arrays["warning_lastinfo"][reason, lane])
    lanes.reset(lane)
    for name, value in (("warning_number", 1), ("warning_lastinfo", about)):
        arrays[name][:, lane] = 0
        arrays[name][reason, lane] = value
    if not np.all(np.abs(arrays["qpos"][:, lane]) <= MAX_VALUE):
        raise ValueError(f"step: the state of world {lane} went bad, and qpos0 of its model is not sound either")
