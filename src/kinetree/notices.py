"""What a run has to say: what a model asks for in vain, warnings in words, and the reset after a state went bad.

MuJoCo: mj_warning, mj_resetData where a check of the state failed. Reads: warning_number, warning_before. Writes: both.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

import numpy as np

from .bad_states import message
from .dynamics.actuation import MAX_VALUE
from .errors import SimulationWarning
from .types import DisableBit, GeomType, WarningType

if TYPE_CHECKING:
    from .data import Data
    from .model import Model

REMEMBERED = 1000  # warnings of one module of the user
SOLVED = (GeomType.HFIELD, GeomType.ELLIPSOID, GeomType.CYLINDER, GeomType.MESH)  # shapes that need a convex solver
RESETS = (WarningType.BADQPOS, WarningType.BADQVEL, WarningType.BADQACC)


def get_ready(model: Model) -> None:
    """Once for each model: say what its simulation does otherwise than the model asks."""
    if "_ready" not in model.__dict__:
        model.__dict__["_ready"] = True
        for wish in not_computed(model):
            warnings.warn(
                f"kinetree does not do what this model asks: {wish}", SimulationWarning, stacklevel=user_level()
            )


def not_computed(model: Model) -> list[str]:
    """What a model asks for that `step` does otherwise: at present MuJoCo's older solver for convex shapes."""
    hulls = np.isin(model.geom_type, SOLVED) & (model.geom_contype | model.geom_conaffinity != 0)
    if not model.opt.disableflags & DisableBit.NATIVECCD or not (hulls.any() or model.npair):
        return []
    return ['nativeccd="disable" is not offered, convex shapes collide by the native solver']


def report(model: Model, data: Data, left: int = 0) -> None:
    """Turn new counts of MuJoCo's warnings into Python warnings.

    left: steps for which the state will be reset. As in MuJoCo that forgets all warnings but the one that led to it, which
    then counts once.
    """
    numbers = data._arrays["warning_number"]
    new = np.flatnonzero(numbers > data.warning_before)
    for what in new:
        text = message(model, data, WarningType(int(what)), left != 0)
        warn_of_moment(text)
    if left:  # a handler of a signal may have run a pass in between, after which nothing counts as new
        reason = next(what for what in (*new, *np.flatnonzero(numbers), WarningType.BADQACC) if what in RESETS)
        others = np.arange(len(WarningType)) != reason
        numbers[:] = ~others
        data._arrays["warning_lastinfo"][others] = 0
    remember(data)


def reset_keeping_warnings(model: Model, data: Data) -> None:
    """Back to the initial state, which must be sound, or a reset would never end."""
    arrays = data._arrays
    counts, infos = arrays["warning_number"].copy(), arrays["warning_lastinfo"].copy()
    data._reset_to(model)
    arrays["warning_number"][:], arrays["warning_lastinfo"][:] = counts, infos
    if not np.all(np.abs(data.qpos) <= MAX_VALUE):
        raise ValueError("step: the state went bad, and qpos0 of the model is not sound either")


def remember(data: Data) -> None:
    """What comes after this is new."""
    data._arrays["warning_before"][:] = data._arrays["warning_number"]
    data._arrays["steps_left"][0] = 0


def warn_of_moment(text: str) -> None:
    """Warn at the user's line in words that name the time. Python remembers every text: once they are many, it may forget."""
    level = user_level()
    registry = sys._getframe(level - 1).f_globals.get("__warningregistry__", {})
    if len(registry) > REMEMBERED:
        registry.clear()
    warnings.warn(text, SimulationWarning, stacklevel=level)


def user_level() -> int:
    """How far up the stack the caller outside kinetree is, so that a warning points at the user's line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("kinetree."):
        frame, level = frame.f_back, level + 1
    return level
