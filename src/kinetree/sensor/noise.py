"""Noise on sensor readings, for those who ask for it: MuJoCo keeps `sensor_noise` in its models and leaves it to the user.

Real numbers get independent normal noise of that standard deviation; positive numbers likewise where they are not zero, and
stay positive, as do the distances of rangefinders, whose -1 for nothing stays; axes get it in all components and are
normalised; quaternions turn by a random rotation vector [rad].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..kernel.stage import check_arguments
from ..occupancy import holding
from ..prerequisites import prepare
from ..types import DataType, RayDataField, SensorType

if TYPE_CHECKING:
    from ..data import Data
    from ..model import Model


# Numbers of each part of a rangefinder's reading.
RAY_WIDTH = {field: 1 if field in (RayDataField.DIST, RayDataField.DEPTH) else 3 for field in RayDataField}


def _noisy_reals(rng: np.random.Generator, x: np.ndarray, deviation: float) -> np.ndarray:
    return x + rng.normal(0.0, deviation, x.shape)


def _noisy_positives(rng: np.random.Generator, x: np.ndarray, deviation: float) -> np.ndarray:
    return np.where(x > 0.0, np.maximum(_noisy_reals(rng, x, deviation), 0.0), x)


def _noisy_axis(rng: np.random.Generator, x: np.ndarray, deviation: float) -> np.ndarray:
    out = _noisy_reals(rng, x, deviation)
    norm = np.linalg.norm(out)
    return out / norm if norm > 0.0 and x.any() else x


def _noisy_quaternion(rng: np.random.Generator, q: np.ndarray, deviation: float) -> np.ndarray:
    turn = rng.normal(0.0, deviation, 3)
    angle = np.linalg.norm(turn)
    c, v = np.cos(angle / 2), turn * (np.sin(angle / 2) / angle if angle > 0.0 else 0.5)
    out = np.concatenate([[q[0] * c - q[1:] @ v], q[0] * v + c * q[1:] + np.cross(q[1:], v)])
    return out / np.linalg.norm(out) if q.any() else q


NOISE = {
    DataType.REAL: _noisy_reals,
    DataType.POSITIVE: _noisy_positives,
    DataType.AXIS: _noisy_axis,
    DataType.QUATERNION: _noisy_quaternion,
}


def _noisy_rays(rng: np.random.Generator, x: np.ndarray, deviation: float, what: int) -> np.ndarray:
    """Rangefinders: the distance is noisy, and stays positive; where nothing was met, that stays so.

    Depth is scaled with the distance and the point moves along the ray, so that all numbers of a ray tell of one place.
    """
    fields = [field for field in RayDataField if what >> field & 1]
    starts = dict(zip(fields, np.cumsum([0, *(RAY_WIDTH[f] for f in fields)])[:-1].tolist(), strict=True))
    rays = x.reshape(-1, sum(RAY_WIDTH[f] for f in fields)).copy()
    noise = rng.normal(0.0, deviation, len(rays))
    lead = next((starts[f] for f in (RayDataField.DIST, RayDataField.DEPTH) if f in starts), None)
    if lead is None:
        return x
    clean = rays[:, lead].copy()
    met = clean >= 0.0
    ratio = np.where(met & (clean > 0.0), np.maximum(clean + noise, 0.0) / np.where(clean > 0.0, clean, 1.0), 1.0)
    for field in (RayDataField.DIST, RayDataField.DEPTH):
        if field in starts:
            rays[:, starts[field]] *= ratio
    if RayDataField.POINT in starts and RayDataField.ORIGIN in starts:
        point, origin = (rays[:, starts[f] : starts[f] + 3] for f in (RayDataField.POINT, RayDataField.ORIGIN))
        point += np.where(met, ratio - 1.0, 0.0)[:, None] * (point - origin)
    elif RayDataField.POINT in starts and RayDataField.DIR in starts and RayDataField.DIST in starts:
        point, along = (rays[:, starts[f] : starts[f] + 3] for f in (RayDataField.POINT, RayDataField.DIR))
        point += ((ratio - 1.0) * clean)[:, None] * along
    return rays.reshape(x.shape)


@holding(1)
def add_sensor_noise(model: Model, data: Data, rng: np.random.Generator) -> None:
    """Add noise to data.sensordata by the model's sensor_noise. Call it once after each step: the next one starts clean.

    rng: a NumPy generator, such as np.random.default_rng(seed); the same seed gives the same noise. MuJoCo: none.
    """
    check_arguments("add_sensor_noise", model, data)
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"add_sensor_noise: rng must be a numpy.random.Generator, got {type(rng).__name__}")
    noisy = np.flatnonzero(model.sensor_noise > 0.0)
    if noisy.size:
        prepare("add_sensor_noise", model, data)
    for i in noisy:
        first = model.sensor_adr[i]
        values = data.sensordata[first : first + model.sensor_dim[i]]
        if model.sensor_type[i] == SensorType.RANGEFINDER:
            values[:] = _noisy_rays(rng, values, float(model.sensor_noise[i]), int(model.sensor_intprm[i, 0]))
            continue
        values[:] = NOISE[DataType(int(model.sensor_datatype[i]))](rng, values, float(model.sensor_noise[i]))
