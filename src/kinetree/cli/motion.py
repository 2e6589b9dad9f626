"""A smooth prescribed motion for any model: `kinetree run --kinematic`.

Every joint follows a sine of its own: hinges and slides inside their ranges, ball joints about a fixed axis, free
joints on a circle at their own height. Velocities are the exact derivatives, in MuJoCo's conventions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model import Model
from ..types import JointType

FRAME_RATE = 100.0  # Hz
SWEEP = 0.3  # amplitude over range, for joints with a range
UNLIMITED_SWEEP = 0.5  # amplitude, for those without: rad or m
CIRCLE = 0.3  # radius of a free joint's path, in m
LAP = 5.0  # seconds per round


@dataclass(frozen=True)
class Motion:
    """time (frames) in s, qpos (frames, nq) and qvel (frames, nv)."""

    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray


def sweep_joints(model: Model, seconds: float, seed: int = 0, keyframe: str | None = None) -> Motion:
    """The motion over that many seconds, about a keyframe (the first by default) or else the initial pose.

    seed: chooses the sines.
    """
    rng = np.random.default_rng(seed)
    time = np.arange(max(1, round(seconds * FRAME_RATE)) + 1) / FRAME_RATE
    key = 0 if keyframe is None else model.id("keyframe", keyframe)
    home = model.key_qpos[key] if model.nkey else model.qpos0
    qpos, qvel = np.tile(home, (len(time), 1)), np.zeros((len(time), model.nv))
    for j in range(model.njnt):
        kind, q, v = JointType(int(model.jnt_type[j])), int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j])
        limits = tuple(model.jnt_range[j]) if model.jnt_limited[j] else None
        rate, phase = 2 * np.pi * rng.uniform(0.2, 0.5), rng.uniform(0, 2 * np.pi)
        sine, slope = np.sin(rate * time + phase), rate * np.cos(rate * time + phase)
        if kind == JointType.FREE:
            _circle(time, home[q : q + 7], qpos[:, q : q + 7], qvel[:, v : v + 6])
        elif kind == JointType.BALL:
            axis = rng.normal(size=3)
            axis /= np.linalg.norm(axis)
            angle = 0.8 * limits[1] if limits else np.pi / 3
            qpos[:, q : q + 4] = _turn(axis, angle * sine)
            qvel[:, v : v + 3] = np.outer(angle * slope, axis)
        else:
            centre, amplitude = _sweep(home[q], limits)
            qpos[:, q], qvel[:, v] = centre + amplitude * sine, amplitude * slope
    return Motion(time, qpos, qvel)


def _sweep(home: float, limits: tuple[float, float] | None) -> tuple[float, float]:
    """Centre and amplitude of a sine that stays inside the limits and close to the home position."""
    if limits is None:
        return home, UNLIMITED_SWEEP
    low, high = limits
    amplitude = SWEEP * (high - low)
    return float(np.clip(home, low + amplitude, high - amplitude)), amplitude


def _circle(time: np.ndarray, home: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> None:
    """A round at constant height, starting along x and facing along the path."""
    turn_rate = 2 * np.pi / LAP
    heading = turn_rate * time
    qpos[:, 0] = home[0] + CIRCLE * np.sin(heading)
    qpos[:, 1] = home[1] + CIRCLE * (1 - np.cos(heading))
    quat = home[3:] / np.linalg.norm(home[3:])
    qpos[:, 3:] = _product(_turn(np.array([0.0, 0.0, 1.0]), heading), quat)
    qvel[:, 0] = CIRCLE * turn_rate * np.cos(heading)
    qvel[:, 1] = CIRCLE * turn_rate * np.sin(heading)
    w, x, y, z = quat  # the world's vertical in the body frame: the last row of its rotation matrix
    qvel[:, 3:] = turn_rate * np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])


def _turn(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Quaternions of rotations about one axis."""
    return np.column_stack([np.cos(angle / 2), np.outer(np.sin(angle / 2), axis)])


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Quaternion product of each row of `left` with `right`."""
    scalar, vector = left[:, :1], left[:, 1:]
    return np.column_stack([
        scalar * right[0] - (vector @ right[1:])[:, None],
        scalar * right[1:] + right[0] * vector + np.cross(vector, right[1:]),
    ])  # fmt: skip
