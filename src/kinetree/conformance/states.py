"""Random states for comparisons: every input of the physics is set, nothing is left at zero by accident."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

# What makes up a state, in MuJoCo's names; `copy_state` carries exactly these over.
STATE_FIELDS = (
    "qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat", "eq_active", "userdata",
    "qacc_warmstart", "history", "plastic",
)  # fmt: skip

RANGE_MARGIN = 0.02
"""Share of a joint's range kept free at either end, so that rounding cannot move a joint past its limit."""

GENTLE_SPEED = 0.1
"""Share of the random velocities that trajectories start with."""


def random_state(model: mujoco.MjModel, rng: np.random.Generator, data: mujoco.MjData | None = None) -> mujoco.MjData:
    """An `MjData` (the given one, or a new one) in a random state.

    Positions lie inside the joint ranges with unit quaternions; velocities, controls (inside their ranges),
    activations, applied forces and wrenches, mocap poses, past controls, what springs have yielded and the time are
    random too.
    """
    data = mujoco.MjData(model) if data is None else data
    mujoco.mj_resetData(model, data)
    data.time = rng.uniform(0.0, 1.0)
    for joint in range(model.njnt):
        _random_joint(model, data, joint, rng)
    data.qvel[:] = rng.normal(size=model.nv)
    data.ctrl[:] = random_controls(model, rng)
    for actuator in range(model.nactuator):
        first, count = model.actuator_actadr[actuator], model.actuator_actnum[actuator]
        data.act[first : first + count] = _activation(model, actuator, count, rng)
    data.qfrc_applied[:] = rng.normal(size=model.nv)
    data.xfrc_applied[1:] = rng.normal(size=(model.nbody - 1, 6))
    data.qacc_warmstart[:] = rng.normal(size=model.nv)
    data.mocap_pos[:] += 0.3 * rng.normal(size=(model.nmocap, 3))
    for quat in data.mocap_quat:
        quat[:] = random_quaternion(rng)
    data.userdata[:] = rng.normal(size=model.nuserdata)
    data.plastic[:] += 0.2 * rng.normal(size=model.nplastic)
    for delayed in np.flatnonzero(model.actuator_history[:, 0]):
        _random_history(model, data, int(delayed), rng)
    return data


def random_controls(model: mujoco.MjModel, rng: np.random.Generator) -> np.ndarray:
    """Controls within their ranges (nu)."""
    return _within(model.actuator_ctrllimited, model.actuator_ctrlrange, rng)


def gentle_state(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Calm a random state, so that a motion from it is no race of rounding errors and light bodies do not fly apart.

    Velocities shrink to a tenth; applied forces become those of joint accelerations of order one, and applied wrenches
    those of a common acceleration of all bodies.
    """
    data.qvel[:] *= GENTLE_SPEED
    mujoco.mj_fwdPosition(model, data)
    accelerations = data.qfrc_applied.copy()
    mujoco.mj_mulM(model, data, data.qfrc_applied, accelerations)
    push = data.xfrc_applied[-1, :3].copy()
    data.xfrc_applied[1:] = 0.0
    data.xfrc_applied[1:, :3] = model.body_mass[1:, None] * push


def copy_state(source: mujoco.MjData, target: Any) -> None:
    """Put our `Data` into the state of an `MjData`."""
    target.time = source.time
    for name in STATE_FIELDS:
        values = getattr(source, name)
        if values.size:
            getattr(target, name)[...] = values


def random_quaternion(rng: np.random.Generator, max_angle: float = np.pi) -> np.ndarray:
    """A unit quaternion about a random axis by an angle of at most `max_angle`, of either sign."""
    if max_angle >= np.pi:
        quat = rng.normal(size=4)
        return quat / np.linalg.norm(quat)
    axis = rng.normal(size=3)
    half = 0.5 * rng.uniform(0.0, max_angle)
    quat = np.concatenate(([np.cos(half)], np.sin(half) * axis / np.linalg.norm(axis)))
    return quat * rng.choice([-1.0, 1.0])


def _random_joint(model: mujoco.MjModel, data: mujoco.MjData, joint: int, rng: np.random.Generator) -> None:
    address, kind = model.jnt_qposadr[joint], model.jnt_type[joint]
    limited, (low, high) = model.jnt_limited[joint], model.jnt_range[joint]
    margin = RANGE_MARGIN * (high - low)
    if kind == mujoco.mjtJoint.mjJNT_FREE:
        data.qpos[address : address + 3] += rng.normal(size=3)
        data.qpos[address + 3 : address + 7] = random_quaternion(rng)
    elif kind == mujoco.mjtJoint.mjJNT_BALL:
        data.qpos[address : address + 4] = random_quaternion(rng, high - margin if limited else np.pi)
    elif limited:
        data.qpos[address] = rng.uniform(low + margin, high - margin)
    elif kind == mujoco.mjtJoint.mjJNT_HINGE:
        data.qpos[address] += rng.uniform(-np.pi, np.pi)
    else:
        data.qpos[address] += 0.5 * rng.normal()


def _within(limited: np.ndarray, bounds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Uniform inside the bounds where there are any, normal elsewhere."""
    free = rng.normal(size=len(limited))
    bounded = bounds[:, 0] + rng.uniform(size=len(limited)) * (bounds[:, 1] - bounds[:, 0])
    return np.where(limited.astype(bool), bounded, free)


def _random_history(model: mujoco.MjModel, data: mujoco.MjData, actuator: int, rng: np.random.Generator) -> None:
    """Past controls at random times up to now, with the newest anywhere in the ring."""
    samples, size = model.actuator_history[actuator, 0], model.actuator_ctrlnum[actuator]
    times = data.time - np.cumsum(rng.uniform(0.2, 1.8, size=samples))[::-1] * model.opt.timestep
    newest = int(rng.integers(samples))
    begin = model.actuator_historyadr[actuator] + 1  # the first number is the user's
    ring = np.concatenate(([newest], np.roll(times, newest + 1), rng.normal(size=samples * size)))
    data.history[begin : begin + len(ring)] = ring


def _activation(model: mujoco.MjModel, actuator: int, count: int, rng: np.random.Generator) -> np.ndarray:
    if model.actuator_actlimited[actuator]:
        low, high = model.actuator_actrange[actuator]
        return rng.uniform(low, high, size=count)
    # A muscle's activation and a motor's temperature or current have no use for negative values.
    if model.actuator_dyntype[actuator] in (mujoco.mjtDyn.mjDYN_MUSCLE, mujoco.mjtDyn.mjDYN_DCMOTOR):
        return rng.uniform(size=count)
    return rng.normal(size=count)
