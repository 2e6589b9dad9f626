"""Mass properties of a model's bodies, and how they get into a model."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from ..data import Data
from ..errors import ModelError
from ..io.load import load, set_const
from ..io.simple import without_simple
from ..model import Model
from ..pipeline import kinematics
from .algebra import aggregated, sum_of
from .principal import for_mujoco, quaternion, rotation_of
from .scalars import uniform
from .value import Value

SAME_FRAME = 1e-6  # MuJoCo takes frames that differ by less for the same
FIELDS = ("body_mass", "body_ipos", "body_iquat", "body_inertia")


class Bodies(Value):
    """Construction from bodies of a model."""

    @classmethod
    def from_body(cls, model: Model, body: str | int) -> Self:
        """One body of a model in its own frame; what is attached to it does not count."""
        return cls._of(_ten(_checked(model), model.id("body", body), np.eye(3), np.zeros(3)))

    @classmethod
    def from_subtree(cls, model: Model, body: str | int, qpos: Any = None, frame: str = "body") -> Self:
        """A body and all that hangs on it as one rigid body, in a configuration qpos (qpos0 by default).

        frame: "body" for that body's own frame, "world" for the world's.
        """
        if frame not in ("body", "world"):
            raise ValueError(f'frame: expected "body" or "world", got {frame!r}')
        data = Data(_checked(model))
        if qpos is not None:
            data.qpos = qpos
        kinematics(model, data)
        root = model.id("body", body)
        turn, origin = (data.xmat[root].reshape(3, 3), data.xpos[root]) if frame == "body" else (np.eye(3), np.zeros(3))
        parts = []
        for b in np.flatnonzero(_below(model, root)):
            matrix = turn.T @ data.xmat[b].reshape(3, 3)
            parts.append(_ten(model, int(b), matrix, turn.T @ (data.xpos[b] - origin)))
        return cls._of(uniform(aggregated(parts, sum_of, len(parts), parts[0][1:4])))

    @classmethod
    def _from_source(cls, source: Any, body: str | int | None) -> Self:
        model = source if isinstance(source, Model) else load(source)
        if body is None and model.nbody < 2:
            raise ModelError("the model has no body but the world")
        return cls.from_body(model, 1 if body is None else body)


def _checked(model: Any) -> Model:
    if not isinstance(model, Model):
        raise TypeError(f"expected a kinetree Model, got {type(model).__name__}")
    return model


def _ten(model: Model, b: int, matrix: np.ndarray, origin: np.ndarray) -> tuple[float, ...]:
    """The ten scalars of a body in a frame to which a matrix and an origin lead from its own."""
    axes = matrix @ rotation_of(model.body_iquat[b])
    tensor = (axes * model.body_inertia[b]) @ axes.T
    cg = origin + matrix @ model.body_ipos[b]
    moments = (tensor[0, 0], tensor[1, 1], tensor[2, 2], tensor[0, 1], tensor[0, 2], tensor[1, 2])
    return tuple(float(x) for x in (model.body_mass[b], *cg, *moments))


def _below(model: Model, root: int) -> np.ndarray:
    """Which bodies belong to a subtree; parents come before their children."""
    out = np.zeros(model.nbody, bool)
    for b in range(root, model.nbody):
        out[b] = b == root or out[model.body_parentid[b]]
    return out


def set_body_mass_properties(model: Model, body: str | int, properties: Any, regularise: float | None = None) -> Model:
    """A new model in which a body has these mass properties, given in the body's own frame; derived constants follow.

    A body that MuJoCo compiled as simple (its centre of mass in its origin, its axes principal) keeps only the diagonal
    of its block of M. If that no longer fits, the new model has more entries in M, so a Data of the old one does not fit
    it. A body that could be simple afterwards keeps its rows. regularise: see `MassProperties.to_mjcf`.
    """
    b = _moving_id(_checked(model), body)
    mass, pos, quat, moments = _row(model, b, properties, regularise)
    lost = model.body_simple[b] and not _same_frame(pos, quat)
    out = without_simple(model, b) if lost else copy.copy(model)
    _write(out, b, mass, pos, quat, moments)
    set_const(out)
    return out


def write_body(model: Model, body: str | int, properties: Any, regularise: float | None = None) -> None:
    """The same in place, for a model that a simulation is using; on error nothing changes."""
    b = _moving_id(_checked(model), body)
    new = _row(model, b, properties, regularise)
    if model.body_simple[b] and not _same_frame(new[1], new[2]):
        raise ModelError(
            f"body {model.name('body', b)!r} is compiled as simple, so its rows of M have no room for a centre of mass outside "
            "its origin or for other principal axes: before making a Data, take the model that MassAggregator.prepare or "
            'set_body_mass_properties returns, or give the body simple="false" in its file'
        )
    before = tuple(np.copy(getattr(model, name)[b]) for name in FIELDS)
    if all(np.array_equal(old, value) for old, value in zip(before, new, strict=True)):
        return
    _write(model, b, *new)
    try:
        set_const(model)
    except Exception:
        _write(model, b, *before)
        raise


def _moving_id(model: Model, body: str | int) -> int:
    b = model.id("body", body)
    if b == 0:
        raise ValueError("the world has no mass properties")
    return b


def _row(model: Model, b: int, properties: Any, regularise: float | None) -> tuple[Any, ...]:
    """Mass, position, quaternion and moments, as a model keeps them."""
    if not isinstance(properties, Value):
        raise TypeError(f"expected mass properties, got {type(properties).__name__}")
    try:
        moments, axes = for_mujoco(properties, regularise, moving=bool(model.body_dofnum[b]))
    except ValueError as problem:
        raise ModelError(f"body {model.name('body', b)!r}: {problem}") from None
    return properties.mass, properties.cg, quaternion(axes), moments


def _same_frame(pos: np.ndarray, quat: np.ndarray) -> bool:
    return bool(np.abs(pos).max() < SAME_FRAME and np.abs(quat - (1, 0, 0, 0)).max() < SAME_FRAME)


def _write(model: Model, b: int, *values: Any) -> None:
    for name, value in zip(FIELDS, values, strict=True):
        getattr(model, name)[b] = value
