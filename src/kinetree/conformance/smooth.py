"""The layers of motion without constraints, which are off on both sides. Later layers count on what earlier ones computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np

import kinetree as kt

from ..types import GainType
from . import budget, convert, tolerances
from .layer import STEPS, Along, Field, Layer, Parts, converted, plain, reader, sequence, unless_discrete
from .states import gentle_state

SMOOTH = int(kt.DisableBit.CONSTRAINT | kt.DisableBit.SENSOR)
"""What a motion without constraints leaves out, on both sides."""
TIGHT = 1e-15
"""Solver tolerance at which nothing improves any more."""
NO_LIMIT = 1e10
COINCIDING = 1e-6
"""Length of a wrap, as a share of the model's extent, below which its two points say nothing: the tendon only touches."""
INERTIA: Parts = ((6, "inertia"), (3, "mass length"), (1, "mass"))
MOTION: Parts = ((3, "1"), (3, "length"))
VELOCITY: Parts = ((3, "rate"), (3, "speed"))
ACCELERATION: Parts = ((3, ""), (3, ""))
WRENCH: Parts = ((3, "torque"), (3, "force"))

# how fields are read


def subtree_mass(model: mujoco.MjModel, _data: mujoco.MjData) -> np.ndarray:
    """Mass of every body with all its descendants, summed from the leaves: MuJoCo keeps no such field in its data."""
    mass = np.array(model.body_mass, dtype=float)
    for body in range(model.nbody - 1, 0, -1):
        mass[model.body_parentid[body]] += mass[body]
    return mass


def tendon_paths(model: Any, data: Any) -> list[np.ndarray]:
    """Points of each tendon's path (n, 3), without those of wraps that have no length.

    Where a tendon just touches a wrapped surface, two points coincide or there are none: the last digit decides.
    """
    points, objects = data.wrap_xpos.reshape(-1, 3), np.array(data.wrap_obj).reshape(-1)
    short = COINCIDING * float(model.stat.extent)
    out = []
    for first, count in zip(data.ten_wrapadr, data.ten_wrapnum, strict=True):
        kept, k, last = [], int(first), int(first) + int(count)
        while k < last:
            wraps = objects[k] >= 0 and k + 1 < last and objects[k + 1] == objects[k]
            if wraps and np.linalg.norm(points[k + 1] - points[k]) > short:
                kept += [points[k], points[k + 1]]
            elif not wraps:
                kept.append(points[k])
            k += 2 if wraps else 1
        out.append(np.array(kept).reshape(-1, 3))
    return out


def tendon_points(model: Any, data: Any) -> np.ndarray:
    """Points of all tendon paths (ntendon, n, 3), zero beyond the last: a tendon that wraps or not moves no other's points."""
    most = 2 * int(np.max(model.tendon_num, initial=0))  # of a geom on the way there are two
    out = np.zeros((model.ntendon, most, 3))
    for points, path in zip(out, tendon_paths(model, data), strict=True):
        points[: len(path)] = path
    return out


def path_lengths(model: Any, data: Any) -> np.ndarray:
    """Number of points of each tendon's path."""
    return np.array([len(path) for path in tendon_paths(model, data)], float)


def path_starts(model: Any, data: Any) -> np.ndarray:
    """Where each tendon's path begins, without the points that are left out before it."""
    dropped = np.array(data.ten_wrapnum) - path_lengths(model, data)
    return np.array(data.ten_wrapadr) - (np.cumsum(dropped) - dropped)


def actuator_moment(model: Any, data: Any) -> np.ndarray:
    """Moments as a matrix (nout, nv): MuJoCo lists no entry that is zero, we list all that may differ from it."""
    out = np.zeros((model.nout, model.nv))
    for row, (first, count) in enumerate(zip(data.moment_rowadr, data.moment_rownnz, strict=True)):
        entries = slice(first, first + count)
        out[row, data.moment_colind[entries]] = data.actuator_moment[entries]
    return out


def probes(model: Any) -> np.ndarray:
    """A few vectors that a matrix of many dofs is compared on (nv, 4)."""
    return np.random.default_rng(0).normal(size=(model.nv, 4))


def our_m(model: Any, data: Any) -> np.ndarray:
    """Our inertia matrix (nv, nv), or its products with the probes."""
    if model.nv <= budget.DENSE:
        return kt.full_m(model, data)
    return np.stack([kt.mul_m(model, data, vector) for vector in probes(model).T.copy()], axis=1)


def oracle_m(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """MuJoCo's."""
    if model.nv > budget.DENSE:
        products = np.zeros((4, model.nv))
        for out, vector in zip(products, probes(model).T.copy(), strict=True):
            mujoco.mj_mulM(model, data, out, vector)
        return products.T
    out = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, out)
    return out


def m_scale(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """What entries of M are relative to: no entry is larger than the root of the product of the two on the diagonal."""
    matrix = oracle_m(model, data)
    if model.nv > budget.DENSE:
        return np.abs(matrix).max(initial=0.0)
    root = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    return np.outer(root, root)


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


FORCES = ("qfrc_bias", "qfrc_passive", "qfrc_actuator", "qfrc_applied")
"""What acts on joints besides constraints; at rest, they cancel."""


def force_terms(data: Any) -> np.ndarray:
    """The sum of what acts on each dof, all counted positive."""
    return np.sum([np.abs(getattr(data, name)) for name in FORCES], axis=0)


def acceleration_terms(model: Any, data: Any) -> np.ndarray:
    """The accelerations that each of these would give, all counted positive; by MuJoCo, whose sizes are what counts."""
    if not isinstance(data, mujoco.MjData):
        return np.abs(data.qacc_smooth)
    forces = np.array([getattr(data, name) for name in FORCES]).reshape(len(FORCES), model.nv)
    out = np.zeros_like(forces)
    if model.nv:
        mujoco.mj_solveM(model, data, out, forces)
    return np.abs(out).sum(axis=0)


def speed_gained(model: Any, data: Any) -> np.ndarray:
    """What each dof could gain in one step: at rest, velocities are what is left of that."""
    return model.opt.timestep * acceleration_terms(model, data)


def speed_scale(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """What velocities are relative to: the largest, or what a step could add to one."""
    return np.abs(np.concatenate([data.qvel, speed_gained(model, data)])).max(initial=0.0)


def acceleration_scale(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """What accelerations are relative to: the largest, or the largest sum of what may cancel."""
    return np.abs(np.concatenate([data.qacc, acceleration_terms(model, data)])).max(initial=0.0)


def constraint_scale(_model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """What forces of constraints are relative to: the largest, or the largest that they may hold against."""
    return np.abs(np.concatenate([data.qfrc_constraint, force_terms(data)])).max(initial=0.0)


MOVED: tuple[Field, ...] = (
    *plain("time", "qpos", "act"),
    Field("qvel", reader("qvel"), reader("qvel"), scale=speed_scale),
)
"""Where a motion has ended."""
SOLVED: tuple[Field, ...] = (
    Field("qacc", reader("qacc"), reader("qacc"), scale=acceleration_scale),
    Field("qfrc_constraint", reader("qfrc_constraint"), reader("qfrc_constraint"), scale=constraint_scale),
)
"""What the solver of constraints gives each dof."""

# how fields are filled


def set_acceleration(_model: Any, data: Any) -> None:
    """Any acceleration will do for inverse dynamics; this one is random and the same on both sides."""
    data.qacc[:] = data.qfrc_applied


def steps(model: Any, data: Any) -> None:
    kt.step(model, data, budget.steps(model, STEPS))


def oracle_steps(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    mujoco.mj_step(model, data, budget.steps(model, STEPS))


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
    """The model without constraints and sensors; of inverse dynamics, the continuous kind, which all integrators have.

    With the discrete integrator MuJoCo solves for qacc_smooth by iteration, up to the solver's tolerance: a small one.
    """
    opt = model.opt
    disabled, enabled, tolerance = int(opt.disableflags), int(opt.enableflags), float(opt.tolerance)
    opt.disableflags, opt.tolerance = disabled | SMOOTH, TIGHT
    opt.enableflags = enabled & ~int(kt.EnableBit.INVDISCRETE)
    try:
        yield
    finally:
        opt.disableflags, opt.enableflags, opt.tolerance = disabled, enabled, tolerance


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


def calm(model: mujoco.MjModel, data: mujoco.MjData, _rng: np.random.Generator, _state: int = 0) -> None:
    """The random state at hand, calmed."""
    gentle_state(model, data)


BODY_FORCES: tuple[Field, ...] = (
    *converted(convert.body_motion, "cacc", parts=ACCELERATION),
    *converted(convert.body_force, "cfrc_ext", parts=WRENCH),
    Field("cfrc_int", tree_forces, lambda model, data: tree_forces(model, data, convert.body_force), parts=WRENCH),
    *plain("sensordata", along=Along.READINGS, unit="1"),
)
"""What `mj_rnePostConstraint` and sensors make of accelerations and forces."""

SMOOTH_LAYERS: tuple[Layer, ...] = (
    Layer(
        "kinematics",
        tolerances.KINEMATICS,
        sequence(kt.kinematics, kt.com_pos, kt.camlight),
        sequence(mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_camlight),
        (
            *plain("xpos", "xipos", "xanchor", "geom_xpos", "site_xpos", unit="length"),
            *plain("cam_xpos", "light_xpos", "subtree_com", unit="length"),
            *plain("xquat", "xmat", "xiquat", "ximat", "xaxis", "geom_xquat", "geom_xmat", unit="1"),
            *plain("site_xquat", "site_xmat", "cam_xmat", "light_xdir", unit="1"),
        ),
    ),
    Layer(
        "com",
        tolerances.COM,
        sequence(),  # the layer above has filled these fields too
        sequence(),
        (
            Field("subtree_mass", reader("subtree_mass"), subtree_mass),
            *converted(convert.body_inertia, "cinert", parts=INERTIA),
            *converted(convert.dof_motion, "cdof", parts=MOTION),
        ),
    ),
    Layer(
        "tendon",
        tolerances.FORCE,
        sequence(kt.tendon, kt.tendon_path),
        mujoco.mj_tendon,
        (
            *plain("ten_length", "ten_J", unit="length"),
            Field("ten_wrapadr", path_starts, path_starts),
            Field("ten_wrapnum", path_lengths, path_lengths),
            Field("wrap_xpos", tendon_points, tendon_points, parts=((0, "length"),)),
        ),
    ),
    Layer(
        "inertia",
        tolerances.INERTIA,
        sequence(kt.make_m, kt.factor_m),
        sequence(mujoco.mj_makeM, mujoco.mj_factorM),
        (
            Field("M", our_m, oracle_m, scale=m_scale),
            *converted(convert.body_inertia, "crb", parts=INERTIA),
            Field("M x = y", solved_momentum, momentum),
        ),
    ),
    Layer(
        "forces",
        tolerances.FORCE,
        sequence(kt.transmission, kt.fwd_velocity, kt.fwd_actuation),
        sequence(mujoco.mj_transmission, mujoco.mj_fwdVelocity, mujoco.mj_fwdActuation),
        (
            *converted(convert.body_motion, "cvel", parts=VELOCITY),
            *converted(convert.dof_motion, "cdof_dot", parts=VELOCITY),
            *plain("ten_velocity", "actuator_velocity", unit="speed"),
            *plain("actuator_length", unit="length"),
            Field("actuator_moment", actuator_moment, actuator_moment),
            *plain(
                "qfrc_bias", "qfrc_spring", "qfrc_damper", "qfrc_gravcomp", "qfrc_fluid", "qfrc_adhesion", "qfrc_passive",
                "qfrc_actuator", unit="joint force",
            ),
            *plain("act_dot", "actuator_force"),
        ),
        setting=smooth,
    ),
    Layer(
        "momentum",
        tolerances.MOMENTUM,
        kt.subtree_vel,
        mujoco.mj_subtreeVel,
        (*plain("subtree_linvel", unit="speed"), *plain("subtree_angmom", unit="angular momentum")),
    ),
    Layer(
        "acceleration",
        tolerances.ACCELERATION,
        sequence(unless_discrete(kt.fwd_acceleration, kt.forward), set_acceleration, kt.inverse),
        sequence(unless_discrete(mujoco.mj_fwdAcceleration, mujoco.mj_forward), set_acceleration, mujoco.mj_inverse),
        (*plain("qfrc_smooth", "qfrc_inverse", unit="joint force"), *plain("qacc_smooth")),
        setting=smooth,
    ),
    Layer(
        "energy",
        tolerances.ENERGY,
        sequence(kt.energy_pos, kt.energy_vel),
        sequence(mujoco.mj_energyPos, mujoco.mj_energyVel),
        plain("energy", unit="energy"),
    ),
    Layer(
        "sensor",
        tolerances.SENSOR,
        sequence(kt.forward, kt.rne_post_constraint),
        sequence(mujoco.mj_forward, mujoco.mj_rnePostConstraint),
        BODY_FORCES,
        setting=unconstrained,
    ),
    Layer(
        "trajectory",
        tolerances.TRAJECTORY_SMOOTH,
        steps,
        oracle_steps,
        MOVED,
        setting=smooth_motion,
        prepare=calm,
        steps=STEPS,
    ),
)  # fmt: skip
