"""Gains, limits and targets for the worlds of a batch: for all worlds, as `control/gains.py` takes them, or a row for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..control import gains
from ..layout import checked

if TYPE_CHECKING:
    from .batch import Batch


def gain_rows(batch: Batch, value: Any, what: str) -> np.ndarray:
    """Stiffness or damping: (nv,) of all worlds, or (n, nv)."""
    return _rows(batch, value, what, lambda shared: gains.gains(batch.model, shared, what), False)


def limit_rows(batch: Batch, value: Any) -> np.ndarray:
    """Largest torques, infinite where there is no limit: (nv,) of all worlds, or (n, nv)."""
    return _rows(batch, value, "torque_limit", lambda shared: gains.torque_limits(batch.model, shared), True)


def _rows(batch: Batch, value: Any, what: str, of_all: Any, infinite: bool) -> np.ndarray:
    model, n = batch.model, batch.n
    if isinstance(value, Mapping):
        rows = {key: entry for key, entry in value.items() if np.ndim(entry) == 2}
        shared = of_all({key: entry for key, entry in value.items() if key not in rows})
        out = np.tile(shared, (n, 1)) if rows else shared
        for key, entry in rows.items():
            part = out[:, gains.dofs_of(model, model.id("joint", key))]
            part[:] = checked(entry, part.shape, "float64", f"{what} of joint {key!r}", infinite)
    elif np.ndim(value) == 2:
        out = checked(value, (n, model.nv), "float64", what, infinite)
    elif np.ndim(value) == 1 and np.shape(value) != (model.nv,):
        raise ValueError(f"{what}: expected shape ({model.nv},) or ({n}, {model.nv}), got {np.shape(value)}")
    else:
        out = of_all(value)
    bad = np.argwhere(out < 0.0)
    if bad.size:  # else they were refused above
        world, i = (int(each) for each in bad[0])
        joint = int(model.dof_jntid[i])
        name = model.name("joint", joint) or joint
        raise ValueError(f"{what}[{world}, {i}] (joint {name!r}) is {out[world, i]:g}: it must not be negative")
    return np.ascontiguousarray(
        checked(out, out.shape, batch.dtype, what, infinite)
    )  # it may be too large for the type


def target_rows(batch: Batch, value: Any) -> np.ndarray:
    """Configurations to reach, their quaternions of length one: (nq,) of all worlds, or (n, nq)."""
    return targets(batch, value, ((batch.model.nq,), (batch.n, batch.model.nq)))


def targets(batch: Batch, value: Any, shapes: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """The same, of one of some shapes."""
    if np.shape(value) not in shapes:
        raise ValueError(f"target: expected shape {' or '.join(map(str, shapes))}, got {np.shape(value)}")
    array = checked(value, np.shape(value), batch.dtype, "target")
    return np.ascontiguousarray(gains.normalized(batch.model, array, gains.quaternion_addresses(batch.model)))
