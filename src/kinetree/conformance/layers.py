"""The layers of the comparison: which fields, how closely, and how to fill them on either side.

A new layer is one more row in `LAYERS`. Rows are run in order on the same pair of datas, so a layer may count on what
the rows above it have computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

import kinetree as kt

from ..types import GainType
from . import convert, tolerances
from .states import gentle_state

Getter = Callable[[Any, Any], np.ndarray]

STEPS = 100
"""Length of a compared trajectory."""
SMOOTH = int(kt.DisableBit.CONSTRAINT | kt.DisableBit.SENSOR)
"""What a motion without constraints leaves out, on both sides."""
NO_LIMIT = 1e10


@dataclass(frozen=True)
class Field:
    """One compared quantity. `ours(model, data)` and `theirs(model, data)` read it in our conventions."""

    name: str
    ours: Getter
    theirs: Getter


@dataclass(frozen=True)
class Layer:
    """Fields computed together: `run(model, data)` fills ours, `oracle(model, data)` fills MuJoCo's.

    setting: changes that both models, which are alike in their names, undergo while the layer runs.
    prepare: changes MuJoCo's state before the layer, if the layer wants another one; ours is then set to it.
    """

    name: str
    tolerance: float
    run: Callable[[Any, Any], None]
    oracle: Callable[[mujoco.MjModel, mujoco.MjData], None]
    fields: tuple[Field, ...]
    setting: Callable[[Any], AbstractContextManager[None]] = nullcontext
    prepare: Callable[[mujoco.MjModel, mujoco.MjData], None] | None = None


# how fields are read


def plain(*names: str) -> tuple[Field, ...]:
    """Fields that have the same name and meaning on both sides."""
    return tuple(Field(name, _reader(name), _reader(name)) for name in names)


def converted(conversion: Callable[[Any, Any, str], np.ndarray], *names: str) -> tuple[Field, ...]:
    """Fields that MuJoCo takes at another reference point (see `convert`)."""

    def theirs(name: str) -> Getter:
        return lambda model, data: conversion(model, data, name)

    return tuple(Field(name, _reader(name), theirs(name)) for name in names)


def _reader(name: str) -> Getter:
    return lambda _model, data: getattr(data, name)


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


def _sequence(*stages: Callable[[Any, Any], Any]) -> Callable[[Any, Any], None]:
    def run(model: Any, data: Any) -> None:
        for stage in stages:
            stage(model, data)

    return run


def _set_acceleration(_model: Any, data: Any) -> None:
    """Any acceleration will do for inverse dynamics; this one is random and the same on both sides."""
    data.qacc[:] = data.qfrc_applied


def _steps(model: Any, data: Any) -> None:
    kt.step(model, data, STEPS)


def _oracle_steps(model: mujoco.MjModel, data: mujoco.MjData) -> None:
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
def smooth_motion(model: Any) -> Iterator[None]:
    """Smooth, and with orientation servos of unlimited torque.

    A torque that was scaled to its limit is within rounding of it, on either side. On one side MuJoCo's implicit integrators
    count it as limited and on the other not, which makes a visible difference.
    """
    servos = model.actuator_gaintype == GainType.SO3
    limits = model.actuator_forcerange[servos]
    model.actuator_forcerange[servos] = (-NO_LIMIT, NO_LIMIT)
    try:
        with smooth(model):
            yield
    finally:
        model.actuator_forcerange[servos] = limits


LAYERS: tuple[Layer, ...] = (
    Layer(
        "kinematics",
        tolerances.KINEMATICS,
        _sequence(kt.kinematics, kt.com_pos, kt.camlight),
        _sequence(mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_camlight),
        plain(
            "xpos", "xquat", "xmat", "xipos", "xiquat", "ximat", "xanchor", "xaxis",
            "geom_xpos", "geom_xquat", "geom_xmat", "site_xpos", "site_xquat", "site_xmat",
            "cam_xpos", "cam_xmat", "light_xpos", "light_xdir", "subtree_com",
        ),
    ),
    Layer(
        "com",
        tolerances.COM,
        _sequence(),  # the layer above has filled these fields too
        _sequence(),
        (
            Field("subtree_mass", _reader("subtree_mass"), subtree_mass),
            *converted(convert.body_inertia, "cinert"),
            *converted(convert.dof_motion, "cdof"),
        ),
    ),
    Layer(
        "tendon",
        tolerances.FORCE,
        _sequence(kt.tendon, kt.tendon_path),
        mujoco.mj_tendon,
        (
            *plain("ten_length", "ten_J", "ten_wrapadr", "ten_wrapnum"),
            Field("wrap_xpos", tendon_points, tendon_points),
        ),
    ),
    Layer(
        "inertia",
        tolerances.INERTIA,
        _sequence(kt.make_m, kt.factor_m),
        _sequence(mujoco.mj_makeM, mujoco.mj_factorM),
        (
            Field("M", kt.full_m, oracle_m),
            *converted(convert.body_inertia, "crb"),
            Field("M x = y", solved_momentum, momentum),
        ),
    ),
    Layer(
        "forces",
        tolerances.FORCE,
        _sequence(kt.transmission, kt.fwd_velocity, kt.fwd_actuation),
        _sequence(mujoco.mj_transmission, mujoco.mj_fwdVelocity, mujoco.mj_fwdActuation),
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
        _sequence(kt.fwd_acceleration, _set_acceleration, kt.inverse),
        _sequence(mujoco.mj_fwdAcceleration, _set_acceleration, mujoco.mj_inverse),
        plain("qfrc_smooth", "qacc_smooth", "qfrc_inverse"),
        setting=smooth,
    ),
    Layer(
        "energy",
        tolerances.ENERGY,
        _sequence(kt.energy_pos, kt.energy_vel),
        _sequence(mujoco.mj_energyPos, mujoco.mj_energyVel),
        plain("energy"),
    ),
    Layer(
        "sensor",
        tolerances.SENSOR,
        _sequence(kt.forward, kt.rne_post_constraint),
        _sequence(mujoco.mj_forward, mujoco.mj_rnePostConstraint),
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
        _steps,
        _oracle_steps,
        plain("time", "qpos", "qvel", "act"),
        setting=smooth_motion,
        prepare=gentle_state,
    ),
)  # fmt: skip


def layer_names() -> tuple[str, ...]:
    """Names of all layers, in the order in which they run."""
    return tuple(layer.name for layer in LAYERS)
