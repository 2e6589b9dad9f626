"""What a run has to say: what a model asks for in vain, warnings in words, and the reset after a state went bad.

MuJoCo: mj_warning, mj_resetData where a check of the state failed. Reads: warning_number, warning_before. Writes: both.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .bad_states import message
from .errors import SimulationWarning
from .math.constants import MAX_VALUE
from .types import DisableBit, EnableBit, GeomType, Integrator, WarningType

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
        for flag in without_effect(model):
            warnings.warn(flag, SimulationWarning, stacklevel=user_level())


def get_ready_for_stable_pd(model: Model) -> None:
    """Once for each model: also say that stable PD brings an integrator of its own."""
    get_ready(model)
    if "_ready_for_stable_pd" not in model.__dict__:
        model.__dict__["_ready_for_stable_pd"] = True
        if model.opt.integrator == Integrator.DISCRETE:
            text = "StablePD.step does not use the model's integrator, discrete: its springs and actuators are explicit"
            warnings.warn(text, SimulationWarning, stacklevel=user_level())


def not_computed(model: Model) -> list[str]:
    """What a model asks for that `step` does otherwise: at present MuJoCo's older solver for convex shapes."""
    hulls = np.isin(model.geom_type, SOLVED) & (model.geom_contype | model.geom_conaffinity != 0)
    if not model.opt.disableflags & DisableBit.NATIVECCD or not (hulls.any() or model.npair):
        return []
    return ['nativeccd="disable" is not offered, convex shapes collide by the native solver']


def without_effect(model: Model) -> list[str]:
    """What a model asks for in vain, here as in MuJoCo."""
    if model.opt.enableflags & EnableBit.SPECULATIVE and model.opt.disableflags & DisableBit.NATIVECCD:
        return ['there are no speculative contacts with nativeccd="disable", here as in MuJoCo']
    return []


def report(model: Model, data: Data, left: int = 0) -> None:
    """Turn new counts of MuJoCo's warnings into Python warnings. left: steps for which the state will be reset."""
    new = tell_new(model, data._arrays, left != 0)
    if left:
        keep_reason(data._arrays, new)
    remember(data)


def tell_new(model: Model, world: Mapping[str, np.ndarray], reset: bool, whose: str = "") -> list[WarningType]:
    """Warn of what is new in a world, given by its arrays, and return it. reset: whether the world is reset after that."""
    new = [WarningType(int(k)) for k in np.flatnonzero(world["warning_number"] > world["warning_before"])]
    for what in new:
        warn_of_moment(whose + message(model, world, what, reset))
    return new


def keep_reason(world: Mapping[str, np.ndarray], new: Sequence[WarningType]) -> None:
    """As a world is reset, forget all warnings but the one that led to it, which then counts once. As in MuJoCo."""
    numbers = world["warning_number"]
    # A handler of a signal may have run a pass in between, after which nothing counts as new.
    reason = next(what for what in (*new, *np.flatnonzero(numbers), WarningType.BADQACC) if what in RESETS)
    others = np.arange(len(WarningType)) != reason
    numbers[:] = ~others
    world["warning_lastinfo"][others] = 0


def reset_keeping_warnings(model: Model, data: Data) -> None:
    """Back to the initial state of a model."""
    start_anew(data._arrays, functools.partial(data._reset_to, model))


def start_anew(world: Mapping[str, np.ndarray], reset: Callable[[], None], whose: str = "the model") -> None:
    """Reset a world, but for its warnings. Its initial state must be sound, or a reset would never end."""
    counts, infos = world["warning_number"].copy(), world["warning_lastinfo"].copy()
    reset()
    world["warning_number"][:], world["warning_lastinfo"][:] = counts, infos
    if not np.all(np.abs(world["qpos"]) <= MAX_VALUE):
        raise ValueError(f"step: the state went bad, and qpos0 of {whose} is not sound either")


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
