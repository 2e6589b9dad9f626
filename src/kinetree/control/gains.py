"""Gains, limits and targets as users give them, checked and spread over degrees of freedom.

One number stands for all, a dictionary names joints, a vector has an entry for each dof (a target one for each entry of qpos).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..layout import checked
from ..math.constants import MIN_VALUE
from ..model import Model
from ..types import JointType

DOFS = {JointType.FREE: 6, JointType.BALL: 3, JointType.SLIDE: 1, JointType.HINGE: 1}


def dofs_of(model: Model, joint: int) -> slice:
    """The degrees of freedom of a joint."""
    first = int(model.jnt_dofadr[joint])
    return slice(first, first + DOFS[JointType(model.jnt_type[joint])])


def free_dofs(model: Model) -> np.ndarray:
    """Which degrees of freedom belong to free joints."""
    return model.jnt_type[model.dof_jntid] == JointType.FREE


def gains(model: Model, value: Any, what: str) -> np.ndarray:
    """A stiffness or damping for each dof: finite and not negative.

    One number leaves free joints without: they float. Joints that a dictionary does not name have none.
    """
    out = _per_dof(model, value, what, 0.0)
    if np.ndim(value) == 0 and not isinstance(value, Mapping):
        out[free_dofs(model)] = 0.0
    return _not_negative(model, out, what)


def torque_limits(model: Model, value: Any) -> np.ndarray:
    """The largest torque of each dof, infinite where there is no limit: for None, and for joints that are not named."""
    out = _per_dof(model, np.inf if value is None else value, "torque_limit", np.inf)
    return _not_negative(model, out, "torque_limit")


def quaternion_addresses(model: Model) -> np.ndarray:
    """Where the quaternions of ball and free joints stand in qpos, one row of four each."""
    ball, free = model.jnt_type == JointType.BALL, model.jnt_type == JointType.FREE
    first = (model.jnt_qposadr + 3 * free)[ball | free]
    return first[:, None] + np.arange(4)


def target_configuration(model: Model, value: Any, quaternions: np.ndarray) -> np.ndarray:
    """A configuration to reach; the quaternions in it, whose addresses are given, get length one."""
    array = checked(value, (model.nq,), "float64", "target")
    if array.ndim == 0:
        raise ValueError(f"target: expected shape ({model.nq},), one entry for each of qpos, got one number")
    return normalized(model, array, quaternions)


def normalized(model: Model, array: np.ndarray, quaternions: np.ndarray) -> np.ndarray:
    """Configurations along the last axis of a target, the quaternions in them brought to length one."""
    if quaternions.size:
        quats = array[..., quaternions]
        largest = np.abs(quats).max(axis=-1, keepdims=True)
        zero = np.argwhere(largest[..., 0] < MIN_VALUE)
        if zero.size:
            *rows, at = (int(each) for each in zero[0])
            first = int(quaternions[at, 0])
            where = "".join(f"{row}, " for row in rows)
            joint = int(np.searchsorted(model.jnt_qposadr, first, side="right")) - 1
            name = model.name("joint", joint) or joint
            raise ValueError(f"target: the quaternion of joint {name!r}, target[{where}{first}:{first + 4}], is zero")
        quats /= largest  # before squares that could overflow
        array[..., quaternions] = quats / np.sqrt((quats * quats).sum(axis=-1, keepdims=True))
    return array


def time_step(value: Any) -> float:
    """A time step [s], positive."""
    h = float(checked(value, (), "float64", "h"))
    if h <= 0.0:
        raise ValueError(f"h: the time step must be positive, got {h}")
    return h


def _per_dof(model: Model, value: Any, what: str, missing: float) -> np.ndarray:
    infinite = bool(np.isinf(missing))
    out = np.full(model.nv, missing)
    if not isinstance(value, Mapping):
        out[:] = checked(value, (model.nv,), "float64", what, infinite)
        return out
    for key, entry in value.items():
        joint = model.id("joint", key)
        part = out[dofs_of(model, joint)]
        part[:] = checked(entry, part.shape, "float64", f"{what} of joint {key!r}", infinite)
    return out


def _not_negative(model: Model, values: np.ndarray, what: str) -> np.ndarray:
    bad = np.flatnonzero(values < 0.0)
    if bad.size:
        i = int(bad[0])
        joint = int(model.dof_jntid[i])
        name = model.name("joint", joint) or joint
        raise ValueError(f"{what}[{i}] (joint {name!r}) is {values[i]:g}: it must not be negative")
    return values
