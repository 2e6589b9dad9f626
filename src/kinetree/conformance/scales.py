"""What an error is relative to: the largest number of a field, or what rounding leaves of the terms that it is summed from.

A field may be small because its terms cancel: a weight that a spring holds, momenta of parts that move against each other. Of
each number there are then as many digits as the terms have, not the sum. The size of the terms follows from the model, by the
unit of the field: mass, length and speed. So a robot of a milligram is compared as closely as one of a ton.
"""

from __future__ import annotations

import mujoco
import numpy as np

from .layer import Along, Field
from .tolerances import ROUNDING

SMALLEST = 1e-300
CONTACT, TORQUE = int(mujoco.mjtSensor.mjSENS_CONTACT), int(mujoco.mjtSensor.mjSENS_TORQUE)
SENSOR_TYPES = 1000  # more than there are
TOLD = (1, 3, 3, 1, 3, 3, 3, 3, 3)
"""How many numbers each thing that a contact sensor tells has, in the order of `types.ConDataField`."""


def natural_sizes(model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, float]:
    """The size of what a number of each unit is summed from, in a state of a model."""
    places = np.abs(data.xipos).max(initial=0.0)  # far from the origin, positions have fewer digits
    length = max(float(model.stat.extent), float(places))
    mass = float(model.body_mass.sum())
    rate = max(1.0, float(np.abs(data.qvel).max(initial=0.0)))  # [1/s]
    pull = float(np.linalg.norm(model.opt.gravity)) + rate * rate * length  # of gravity, and of going round
    return {
        "": 0.0,
        "1": 1.0,
        "length": length,
        "mass": mass,
        "mass length": mass * length,
        "inertia": mass * length**2,
        "rate": rate,
        "speed": rate * length,
        "angular momentum": mass * rate * length**2,
        "energy": mass * (pull + rate * rate * length) * length,
        "force": mass * pull,
        "torque": mass * pull * length,
        "joint force": mass * pull * max(1.0, length),
        "row": max(1.0, length),  # an angle or a length
        "row speed": rate * max(1.0, length),
    }


def scale_of(
    field: Field, theirs: np.ndarray, model: mujoco.MjModel, data: mujoco.MjData, tolerance: float
) -> np.ndarray:
    """What each entry of a field is relative to, in the shape of MuJoCo's values.

    It is never less than what makes the tolerance the rounding of the terms (`ROUNDING`).
    """
    finite = np.where(np.isfinite(theirs), np.abs(theirs), 0.0)
    if field.scale is not None:
        own = np.broadcast_to(np.array(field.scale(model, data), float), theirs.shape).copy()
    elif field.each:
        own = finite.copy()
    elif field.along is Along.READINGS:
        own = _by_kind(model, finite)
    else:
        own = _by_part(field, finite)
    sizes = natural_sizes(model, data)
    floor = np.zeros(theirs.shape)
    for columns, unit in _parts(field, theirs):
        floor[..., columns] = sizes[unit] * ROUNDING / tolerance
    if field.along is Along.READINGS:  # a torque about a site is that about another point, and a force with its lever
        torques = reading_kinds(model) == TORQUE
        lever = float(np.abs(data.cfrc_int).max(initial=0.0)) * max(1.0, sizes["length"])
        floor[..., torques] = np.maximum(floor[..., torques], lever * ROUNDING / tolerance)
    return np.maximum(np.maximum(own, floor), SMALLEST)


def _parts(field: Field, values: np.ndarray) -> list[tuple[slice, str]]:
    """The columns of each part."""
    if len(field.parts) < 2 or not values.ndim:
        return [(slice(None), field.parts[0][1] if field.parts else "")]
    ends = np.cumsum([count for count, _ in field.parts])
    return [(slice(int(e) - count, int(e)), unit) for e, (count, unit) in zip(ends, field.parts, strict=True)]


def _by_part(field: Field, sizes: np.ndarray) -> np.ndarray:
    """The largest number of each part of a field."""
    out = np.zeros(sizes.shape)
    for columns, _ in _parts(field, sizes):
        out[..., columns] = sizes[..., columns].max(initial=0.0)
    return out


def _by_kind(model: mujoco.MjModel, sizes: np.ndarray) -> np.ndarray:
    """The largest reading of one kind, at one moment: others have other units. Readings are along the last axis."""
    kinds = reading_kinds(model)
    out = np.zeros(sizes.shape)
    for kind in np.unique(kinds):
        columns = np.flatnonzero(kinds == kind)
        out[..., columns] = sizes[..., columns].max(axis=-1, initial=0.0, keepdims=True)
    return out


def reading_kinds(model: mujoco.MjModel) -> np.ndarray:
    """Of each reading a number that others of its unit share: the type of its sensor, and what of a contact it tells."""
    out = np.zeros(model.nsensordata, int)
    for sensor, kind in enumerate(model.sensor_type):
        first, count = int(model.sensor_adr[sensor]), int(model.sensor_dim[sensor])
        out[first : first + count] = int(kind)
        if kind == CONTACT:
            told = [place for place in range(len(TOLD)) if int(model.sensor_intprm[sensor, 0]) >> place & 1]
            of_slot = np.repeat(told, [TOLD[place] for place in told])
            out[first : first + count] += SENSOR_TYPES * (1 + np.resize(of_slot, count))
    return out
