"""Which fields of a model or its data may be symbols, and a model made ready for them.

Loading a model settles questions that numbers answer: which frames coincide, which bodies have a diagonal block of M. Where
a field that decided such a question becomes a symbol, the question is open again, and the model is taken without the answer.
Constants that `set_const` derives (actuator_acc0 of muscles, added masses in geom_fluid, …) stay those of the model.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..data import Data
from ..derived.shared import opened
from ..errors import UnsupportedFeatureError, nearest
from ..io.simple import without_simple
from ..model import Model
from ..types import DisableBit, EnableBit

INERTIAL = ("body_mass", "body_ipos", "body_iquat", "body_inertia")
GEOMETRIC = (
    "body_pos", "body_quat", "jnt_pos", "jnt_axis", "qpos0", "site_pos", "site_quat", "geom_pos", "geom_quat", "geom_size",
)  # fmt: skip
PASSIVE = (
    "body_gravcomp", "jnt_stiffness", "jnt_stiffnesspoly", "qpos_spring", "dof_damping", "dof_dampingpoly", "dof_armature",
    "tendon_stiffness", "tendon_stiffnesspoly", "tendon_damping", "tendon_dampingpoly", "tendon_armature",
    "tendon_lengthspring",
)  # fmt: skip
ACTUATOR = (
    "actuator_gear", "actuator_gainprm", "actuator_biasprm", "actuator_dynprm", "actuator_armature", "actuator_damping",
    "actuator_dampingpoly", "actuator_cranklength",
)  # fmt: skip
OPTIONS = ("opt_timestep", "opt_gravity", "opt_wind", "opt_magnetic", "opt_density", "opt_viscosity")
INPUTS = ("mocap_pos", "mocap_quat", "xfrc_applied", "plastic")  # of the data: what is neither state nor control here
DIRECTIONS = ("body_quat", "body_iquat", "jnt_axis", "site_quat", "geom_quat")  # rows of these are taken to length one
PARAMETERS = (*INERTIAL, *GEOMETRIC, *PASSIVE, *ACTUATOR, *OPTIONS, *INPUTS)

# A body is simple by its inertial frame, its joints and its place below the world.
FRAMES_OF_SIMPLE = {"body_ipos", "body_iquat", "body_pos", "body_quat", "jnt_pos", "jnt_axis"}
NO_CONSTRAINT, SLEEP = int(DisableBit.CONSTRAINT), int(EnableBit.SLEEP)


def checked_parameters(parameters: str | Iterable[str]) -> tuple[str, ...]:
    """Names of parameters, each of them known and given once."""
    names = (parameters,) if isinstance(parameters, str) else tuple(parameters)
    for name in names:
        if name not in PARAMETERS:
            raise ValueError(f"symbolic: {name!r} cannot be a parameter: {nearest(name, PARAMETERS)}")
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise ValueError(f"symbolic: parameter {twice[0]!r} is given twice")
    return names


def value_of(model: Model, name: str) -> Any:
    """What a parameter is in the model, or for inputs in a fresh Data: a number or an array."""
    if name in OPTIONS:
        value = getattr(model.opt, name.removeprefix("opt_"))
        return value.copy() if isinstance(value, np.ndarray) else float(value)
    return np.array(getattr(Data(model) if name in INPUTS else model, name), float)


def check_model(model: Model) -> None:
    """Refuse what no function of state and parameters can express, by name."""
    features = [f"callbacks.{name}" for name in ("passive", "act_dyn", "act_gain", "act_bias")
                if getattr(model.callbacks, name) is not None]  # fmt: skip
    if features:
        raise UnsupportedFeatureError(features, f"symbolic of {model.title!r}")


def prepared(model: Model, parameters: Iterable[str], bodies: Iterable[int] = ()) -> Model:
    """A copy of the model without constraints and sleep, free of what loading concluded from fields that are symbols now."""
    names, replaced = set(parameters), set(bodies)
    opened = set(np.flatnonzero(model.body_simple)) if names & FRAMES_OF_SIMPLE else replaced
    out = copy.copy(model)
    for b in sorted(int(b) for b in opened):
        if out.body_simple[b]:
            out = without_simple(out, b)
    out.body_quat /= np.linalg.norm(out.body_quat, axis=1, keepdims=True)  # floats do so whenever they read one
    out.opt.disableflags |= NO_CONSTRAINT
    out.opt.enableflags &= ~SLEEP
    return out


def open_frames(m: Any, parameters: Iterable[str], bodies: Mapping[int, Any]) -> None:
    """Take back in a model's record which frames coincide and who lends inertia, where that moves with parameters."""
    names = set(parameters)
    for name, integers in opened(m, names, bodies).items():
        setattr(m, name, integers)
    if "body_gravcomp" in names:
        m.flg_gravcomp = 1
