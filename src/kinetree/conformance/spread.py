"""How far MuJoCo is from itself when it starts a hair away: what differs no more than that cannot be judged.

Rounding decides whether surfaces that are exactly tangent touch, and in a chaotic motion it decides where bodies are a hundred
steps later. Two correct programs differ there as much as one does from itself.
"""

from __future__ import annotations

import mujoco
import numpy as np

from .layer import Layer
from .touching import set_start

HAIR = 1e-13
"""Change of positions and velocities: a few hundred roundings."""
REPEATS = 100
"""Runs until MuJoCo counts as agreeing with itself."""


def spread(
    layer: Layer, model: mujoco.MjModel, start: np.ndarray, theirs: dict[str, np.ndarray], rng: np.random.Generator
) -> dict[str, float]:
    """The largest error of some fields between MuJoCo's own runs of a layer; infinite where the number of things changes.

    start: the whole state before the layer. theirs: the fields in question from there. It ends when all are beyond the
    tolerance.
    """
    out = dict.fromkeys(theirs, 0.0)
    data = mujoco.MjData(model)
    for _ in range(REPEATS):
        mujoco.mj_resetData(model, data)
        set_start(model, data, start)
        mujoco.mj_integratePos(model, data.qpos, HAIR * rng.normal(size=model.nv), 1.0)
        data.qvel[:] += HAIR * rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        layer.oracle(model, data)
        for field in layer.fields:
            if field.name not in theirs:
                continue
            again = np.atleast_1d(np.array(field.theirs(model, data), dtype=float))
            out[field.name] = max(out[field.name], error_of(again, theirs[field.name], field.each)[0])
        if min(out.values()) > layer.tolerance:
            break
    return out


def error_of(ours: np.ndarray, theirs: np.ndarray, each: bool = False) -> tuple[float, tuple[int, ...] | None]:
    """The largest error of a field and where it is: see `FieldResult`."""
    if ours.shape != theirs.shape:
        return np.inf, None
    if not theirs.size:
        return 0.0, None
    finite = np.isfinite(ours) & np.isfinite(theirs)
    with np.errstate(invalid="ignore"):
        sizes = np.abs(theirs) if each else np.max(np.abs(theirs[finite]), initial=0.0)
        errors = np.abs(ours - theirs) / np.maximum(1.0, sizes)
    # Whatever is not finite, on either side or on both, must never pass for agreement.
    errors[~finite] = np.inf
    index = np.unravel_index(int(np.argmax(errors)), errors.shape)
    return float(errors[index]), tuple(int(i) for i in index)
