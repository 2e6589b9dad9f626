"""Noise on sensor readings, for those who ask for it: MuJoCo keeps `sensor_noise` in its models and leaves it to the user.

Real numbers get independent normal noise of that standard deviation; positive numbers likewise where they are not zero, and
stay positive; axes get it in all components and are normalised; quaternions turn by a random rotation vector [rad].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..kernel.stage import check_arguments
from ..types import DataType

if TYPE_CHECKING:
    from ..data import Data
    from ..model import Model


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


def add_sensor_noise(model: Model, data: Data, rng: np.random.Generator) -> None:
    """Add noise to data.sensordata by the model's sensor_noise. Call it once after each step: the next one starts clean.

    rng: a NumPy generator, such as np.random.default_rng(seed); the same seed gives the same noise. MuJoCo: none.
    """
    check_arguments("add_sensor_noise", model, data)
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"add_sensor_noise: rng must be a numpy.random.Generator, got {type(rng).__name__}")
    for i in np.flatnonzero(model.sensor_noise > 0.0):
        first = model.sensor_adr[i]
        values = data.sensordata[first : first + model.sensor_dim[i]]
        values[:] = NOISE[DataType(int(model.sensor_datatype[i]))](rng, values, float(model.sensor_noise[i]))
