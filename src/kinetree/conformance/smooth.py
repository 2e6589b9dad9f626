"""The layers of motion without constraints, which are off on both sides. Later layers count on what earlier ones computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np

import kinetree as kt

from ..types import GainType
from . import convert, tolerances
from .layer import STEPS, Field, Layer, converted, plain, reader, sequence
from .states import gentle_state

SMOOTH = int(kt.DisableBit.CONSTRAINT | kt.DisableBit.SENSOR)
"""What a motion without constraints leaves out, on both sides."""
NO_LIMIT = 1e10

# how fields are read


def subtree_mass(model: mujoco.MjModel, _data: mujoco.MjData) -> np.ndarray:
    """Mass of every body with all its descendants, summed from the leaves: MuJoCo keeps no such field in its data."""
    mass = np.array(model.body_mass, dtype=float)
    for body in range(model.nbody - 1, 0, -1):
        mass[model.body_parentid[body]] += mass[body]
    return mass


def tendon_points(_model: Any, data: Any) -> np.ndarray:
    """Points of all tendon paths (n, 3); what lies behind them in `wrap_xpos` is left from other states."""
    return data.wrap_xpos.reshape(-1, 3)[: np.sum(data.ten_wrapnum)]


def actuator_moment(model: Any, data: Any) -> np.ndarray:
    """Moments as a matrix (nout, nv): MuJoCo lists no entry that is zero, we list all that may differ from it."""
    out = np.zeros((model.nout, model.nv))
    for row, (first, count) in enumerate(zip(data.moment_rowadr, data.moment_rownnz, strict=True)):
        entries = slice(first, first + count)
        out[row, data.moment_colind[entries]] = data.actuator_moment[entries]
    return out


def oracle_m(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """MuJoCo's inertia matrix (nv, nv)."""
    out = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, out)
    return out


def momentum(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """The right side y of M x = y, chosen so that the solution is of order one."""
    out = np.zeros(model.nv)
    mujoco.mj_mulM(model, data, out, data.qvel)
    return out


def solved_momentum(model: Any, data: Any) -> np.ndarray:
    """M x for the x that our factors give for M x = y: y again, however badly M is conditioned."""
    y = kt.mul_m(model, data, data.qvel)
    return kt.mul_m(model, data, kt.solve_m(model, data, y))


def tree_forces(model: Any, data: Any, conversion: Callable[[Any, Any, str], np.ndarray] | None = None) -> np.ndarray:
    """Forces between bodies (nbody - 1, 6), without the world's row, where MuJoCo mixes reference points."""
    return (data.cfrc_int if conversion is None else conversion(model, data, "cfrc_int"))[1:]


# how fields are filled


def set_acceleration(_model: Any, data: Any) -> None:
    """Any acceleration will do for inverse dynamics; this one is random and the same on both sides."""
    data.qacc[:] = data.qfrc_applied


def steps(model: Any, data: Any) -> None:
    kt.step(model, data, STEPS)


def oracle_steps(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    mujoco.mj_step(model, data, STEPS)


@contextmanager
def unconstrained(model: Any) -> Iterator[None]:
    """The model without constraints."""
    disabled = int(model.opt.disableflags)
    model.opt.disableflags = disabled | int(kt.DisableBit.CONSTRAINT)
    try:
        yield
    finally:
        model.opt.disableflags = disabled


@contextmanager
def smooth(model: Any) -> Iterator[None]:
    """The model without constraints and sensors; of inverse dynamics, the continuous kind, which all integrators have."""
    disabled, enabled = int(model.opt.disableflags), int(model.opt.enableflags)
    model.opt.disableflags = disabled | SMOOTH
    model.opt.enableflags = enabled & ~int(kt.EnableBit.INVDISCRETE)
    try:
        yield
    finally:
        model.opt.disableflags, model.opt.enableflags = disabled, enabled


@contextmanager
def unlimited_servos(model: Any) -> Iterator[None]:
    """Orientation servos of unlimited torque.

    A torque that was scaled to its limit is within rounding of it, on either side. On one side MuJoCo's implicit integrators
    count it as limited and on the other not, which makes a visible difference.
    """
    servos = model.actuator_gaintype == GainType.SO3
    limits = model.actuator_forcerange[servos]
    model.actuator_forcerange[servos] = (-NO_LIMIT, NO_LIMIT)
    try:
        yield
    finally:
        model.actuator_forcerange[servos] = limits


@contextmanager
def smooth_motion(model: Any) -> Iterator[None]:
    """Smooth, and with orientation servos of unlimited torque."""
    with smooth(model), unlimited_servos(model):
        yield


def calm(model: mujoco.MjModel, data: mujoco.MjData, _rng: np.random.Generator) -> None:
    """The random state at hand, calmed."""
    gentle_state(model, data)


SMOOTH_LAYERS: tuple[Layer, ...] = (
    Layer(
        "kinematics",
        tolerances.KINEMATICS,
        sequence(kt.kinematics, kt.com_pos, kt.camlight),
        sequence(mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_camlight),
        plain(
            "xpos", "xquat", "xmat", "xipos", "xiquat", "ximat", "xanchor", "xaxis",
            "geom_xpos", "geom_xquat", "geom_xmat", "site_xpos", "site_xquat", "site_xmat",
            "cam_xpos", "cam_xmat", "light_xpos", "light_xdir", "subtree_com",
        ),
    ),
    Layer(
        "com",
        tolerances.COM,
        sequence(),  # the layer above has filled these fields too
        sequence(),
        (
            Field("subtree_mass", reader("subtree_mass"), subtree_mass),
            *converted(convert.body_inertia, "cinert"),
            *converted(convert.dof_motion, "cdof"),
        ),
    ),
    Layer(
        "tendon",
        tolerances.FORCE,
        sequence(kt.tendon, kt.tendon_path),
        mujoco.mj_tendon,
        (
            *plain("ten_length", "ten_J", "ten_wrapadr", "ten_wrapnum"),
            Field("wrap_xpos", tendon_points, tendon_points),
        ),
    ),
    Layer(
        "inertia",
        tolerances.INERTIA,
        sequence(kt.make_m, kt.factor_m),
        sequence(mujoco.mj_makeM, mujoco.mj_factorM),
        (
            Field("M", kt.full_m, oracle_m),
            *converted(convert.body_inertia, "crb"),
            Field("M x = y", solved_momentum, momentum),
        ),
    ),
    Layer(
        "forces",
        tolerances.FORCE,
        sequence(kt.transmission, kt.fwd_velocity, kt.fwd_actuation),
        sequence(mujoco.mj_transmission, mujoco.mj_fwdVelocity, mujoco.mj_fwdActuation),
        (
            *converted(convert.body_motion, "cvel"),
            *converted(convert.dof_motion, "cdof_dot"),
            *plain("ten_velocity", "actuator_length", "actuator_velocity"),
            Field("actuator_moment", actuator_moment, actuator_moment),
            *plain(
                "qfrc_bias", "qfrc_spring", "qfrc_damper", "qfrc_gravcomp", "qfrc_fluid", "qfrc_adhesion", "qfrc_passive",
                "act_dot", "actuator_force", "qfrc_actuator",
            ),
        ),
        setting=smooth,
    ),
    Layer(
        "momentum",
        tolerances.MOMENTUM,
        kt.subtree_vel,
        mujoco.mj_subtreeVel,
        plain("subtree_linvel", "subtree_angmom"),
    ),
    Layer(
        "acceleration",
        tolerances.ACCELERATION,
        sequence(kt.fwd_acceleration, set_acceleration, kt.inverse),
        sequence(mujoco.mj_fwdAcceleration, set_acceleration, mujoco.mj_inverse),
        plain("qfrc_smooth", "qacc_smooth", "qfrc_inverse"),
        setting=smooth,
    ),
    Layer(
        "energy",
        tolerances.ENERGY,
        sequence(kt.energy_pos, kt.energy_vel),
        sequence(mujoco.mj_energyPos, mujoco.mj_energyVel),
        plain("energy"),
    ),
    Layer(
        "sensor",
        tolerances.SENSOR,
        sequence(kt.forward, kt.rne_post_constraint),
        sequence(mujoco.mj_forward, mujoco.mj_rnePostConstraint),
        (
            *converted(convert.body_motion, "cacc"),
            *converted(convert.body_force, "cfrc_ext"),
            Field("cfrc_int", tree_forces, lambda model, data: tree_forces(model, data, convert.body_force)),
            *plain("sensordata"),
        ),
        setting=unconstrained,
    ),
    Layer(
        "trajectory",
        tolerances.TRAJECTORY_SMOOTH,
        steps,
        oracle_steps,
        plain("time", "qpos", "qvel", "act"),
        setting=smooth_motion,
        prepare=calm,
    ),
)  # fmt: skip
