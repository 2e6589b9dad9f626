"""Stable PD by MuJoCo and NumPy, slow and obvious: what the controller must agree with."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import mujoco
import numpy as np

import kinetree as kt
from kinetree.conformance.compare import oracle_model
from kinetree.conformance.states import copy_state, random_state
from kinetree.types import DisableBit


class Problem(NamedTuple):
    """A model and a state on both sides, gains and a target."""

    mj: mujoco.MjModel
    theirs: mujoco.MjData
    model: kt.Model
    data: kt.Data
    kp: np.ndarray
    kd: np.ndarray
    target: np.ndarray


class Answer(NamedTuple):
    """What a controller gives."""

    force: np.ndarray
    torque: np.ndarray
    acceleration: np.ndarray


def problem(source: Any, seed: int, speed: float = 1.0, timestep: float = 0.01) -> Problem:
    """A random state with all inputs set, random gains (also on free roots) and a random target, constraints off."""
    mj, rng = oracle_model(source), np.random.default_rng(seed)
    mj.opt.disableflags |= int(DisableBit.CONSTRAINT)
    mj.opt.timestep = timestep
    mj.actuator_forcelimited[mj.actuator_gaintype == mujoco.mjtGain.mjGAIN_SO3] = 0  # D there: a rounded norm decides
    if mj.nv:
        mj.dof_armature[:] += 0.01 * rng.uniform(size=mj.nv)
    mujoco.mj_setConst(mj, mujoco.MjData(mj))
    theirs = random_state(mj, rng)
    theirs.qvel *= speed
    model = kt.load(mj)
    data = kt.Data(model)
    copy_state(theirs, data)
    kp, kd = 10.0 ** rng.uniform(0, 3, size=mj.nv), 10.0 ** rng.uniform(-1, 2, size=mj.nv)
    zero = rng.uniform(size=mj.nv) < 0.2
    kp[zero] = kd[zero] = 0.0
    return Problem(mj, theirs, model, data, kp, kd, random_state(mj, rng).qpos.copy())


def position_error(mj: mujoco.MjModel, qpos: np.ndarray, qvel: np.ndarray, target: np.ndarray, h: float) -> np.ndarray:
    """Target less predicted configuration, by MuJoCo."""
    predicted, wanted, out = qpos.copy(), target.copy(), np.zeros(mj.nv)
    mujoco.mj_integratePos(mj, predicted, qvel, h)
    mujoco.mj_normalizeQuat(mj, wanted)
    mujoco.mj_differentiatePos(mj, out, 1.0, predicted, wanted)
    return out


def added_diagonal(p: Problem, mode: str, h: float) -> np.ndarray:
    """What the controller adds to the diagonal of M."""
    return h * p.kd + (h * h * p.kp if mode == "implicit" else 0.0)


def inertia_and_force(p: Problem) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's M, and all its smooth forces: passive, bias, applied, wrenches, actuators. Computed on a copy of its data."""
    data = copy.copy(p.theirs)
    mujoco.mj_forward(p.mj, data)
    inertia = np.zeros((p.mj.nv, p.mj.nv))
    mujoco.mj_fullM(p.mj, data, inertia)
    return inertia, data.qfrc_smooth.copy()


def damping_matrix(mj: mujoco.MjModel, theirs: mujoco.MjData) -> np.ndarray:
    """D: what MuJoCo's implicitfast takes at the end of the step, in the pattern of M; computed on copies."""
    mj, data = copy.copy(mj), copy.copy(theirs)
    mj.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    mujoco.mj_forward(mj, data)
    mujoco.mj_implicit(mj, data)
    out = np.zeros((mj.nv, mj.nv))
    for i in range(mj.nv):
        row = slice(mj.M_rowadr[i], mj.M_rowadr[i] + mj.M_rownnz[i])
        out[i, mj.M_colind[row]] = out[mj.M_colind[row], i] = -data.qDeriv[mj.mapD2M[row]]
    return out


def reference(p: Problem, mode: str = "spd", h: float | None = None) -> Answer:
    """The formulas, with MuJoCo's matrices and a dense solve."""
    h = p.mj.opt.timestep if h is None else h
    force = p.kp * position_error(p.mj, p.theirs.qpos, p.theirs.qvel, p.target, h) - p.kd * p.theirs.qvel
    diagonal = added_diagonal(p, mode, h)
    inertia, smooth = inertia_and_force(p)
    damped = inertia + h * damping_matrix(p.mj, p.theirs)
    acceleration = np.linalg.solve(damped + np.diag(diagonal), force + smooth)
    return Answer(force, force - diagonal * acceleration, acceleration)


def controller(p: Problem, **options: Any) -> kt.StablePD:
    """Our controller for the problem."""
    return kt.StablePD(p.model, p.kp, p.kd, **options)


def answer(p: Problem, spd: kt.StablePD) -> Answer:
    """What our controller gives."""
    return Answer(spd.force(p.data, p.target), spd.torque(p.data, p.target), spd.acceleration(p.data, p.target))


def agree(got: Answer, wanted: Answer, tolerance: float, what: str) -> None:
    """All three within a tolerance relative to their largest entry, or a message with field, index and both values."""
    for name in Answer._fields:
        ours, theirs = getattr(got, name), getattr(wanted, name)
        if theirs.size:
            error = np.abs(ours - theirs) / max(1.0, np.abs(theirs).max())
            at = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
            assert error[at] <= tolerance, f"{what} {name}[{at}]: {ours[at]} against {theirs[at]}"
