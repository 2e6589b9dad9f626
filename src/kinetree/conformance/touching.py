"""Random states in which constraints act: geoms touch, limits are passed, equalities pull.

The way there is MuJoCo's: random states that touch nothing too deeply are sought, by lowering what can move freely onto the
floor, and the best of them is let go for a random number of steps, so that some states are found in flight and others at rest.
A model that cannot be brought to touch anything, and has no limits and equalities, has no constraints to compare: its count is
zero.
"""

from __future__ import annotations

import mujoco
import numpy as np

from . import budget
from .layer import STEPS
from .states import gentle_state, random_quaternion, random_state
from .tolerances import NO_INERTIA

TRIES, MORE_TRIES = 12, 100
"""Random states among which the one with most contacts is taken, and how many more if none of them touches anything."""
DEEP = 0.05
"""Overlap, as a share of the model's extent, beyond which a contact is more violent than anything a robot meets."""
SETTLING = 150
"""Steps of the longest way to rest."""
CHUNKS = 10
"""How often it is looked whether it has come to touch something."""
PASSED = 0.05
"""How far beyond their limits joints are, as a share of their range."""
CALM = 0.2
"""Share of the random controls that motions have: strong motors throw a robot from limit to limit, which is chaotic."""
STARTS = 5
"""Starts of a motion that are tried."""
SPEED = 0.3
"""Scale of the random velocities."""


def touching_state(model: mujoco.MjModel, data: mujoco.MjData, rng: np.random.Generator, _state: int = 0) -> None:
    """Put an `MjData` into a random state with as many constraints of all kinds as are found, ready for any stage."""
    set_start(model, data, _best_start(model, data, rng))
    data.eq_active[:] |= rng.integers(0, 2, size=model.neq, dtype=data.eq_active.dtype)
    _release_what_cannot_move(model, data)
    _settle(model, data, int(rng.integers(0, SETTLING)))
    _pass_limits(model, data, rng)
    data.qvel[:] += SPEED * rng.normal(size=model.nv)
    data.qacc_warmstart[:] = rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)


def resting_state(model: mujoco.MjModel, data: mujoco.MjData, rng: np.random.Generator, _state: int = 0) -> None:
    """Put an `MjData` into a random state near rest in which geoms touch, where a motion can start.

    If MuJoCo has to reset the motion from there, another state is sought: behind a reset, all motions are the same one.
    """
    for _ in range(STARTS):
        set_start(model, data, _best_start(model, data, rng))
        data.ctrl[:] *= CALM
        _settle(model, data, int(rng.integers(SETTLING // 2, SETTLING)))
        mujoco.mj_forward(model, data)
        if not _resets(model, data):
            break


def _resets(model: mujoco.MjModel, start: mujoco.MjData) -> bool:
    """Whether the motion from a state on becomes so unstable that MuJoCo resets it."""
    data = mujoco.MjData(model)
    set_start(model, data, get_start(model, start))
    for _ in range(budget.steps(model, STEPS)):
        before = data.time
        mujoco.mj_step(model, data)
        if data.time < before:
            return True
    return False


def _release_what_cannot_move(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Switch off equalities that hold what cannot move anyway, such as the orientation of a body that only slides.

    Such a row has no inertia, so that its force is the last digit of its violation times 1e15, on either side.
    """
    mujoco.mj_fwdPosition(model, data)
    rows = np.flatnonzero((data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY) & (data.efc_D > NO_INERTIA))
    data.eq_active[data.efc_id[rows]] = 0


def set_start(model: mujoco.MjModel, data: mujoco.MjData, start: np.ndarray) -> None:
    """Put an `MjData` into a whole state."""
    mujoco.mj_setState(model, data, start, int(mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_forward(model, data)


def get_start(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """The whole state of an `MjData`."""
    out = np.empty(mujoco.mj_stateSize(model, int(mujoco.mjtState.mjSTATE_INTEGRATION)))
    mujoco.mj_getState(model, data, out, int(mujoco.mjtState.mjSTATE_INTEGRATION))
    return out


def _best_start(model: mujoco.MjModel, data: mujoco.MjData, rng: np.random.Generator) -> np.ndarray:
    """The calm random state with most contacts that are not deep; any if none touches."""
    best, most = None, -1.0
    for trial in range(budget.tries(model, MORE_TRIES)):
        if trial >= budget.tries(model, TRIES) and most > 0:
            break
        random_state(model, rng, data)
        if budget.size(model) > budget.CROWD:
            data.qpos[:] = model.qpos0
        else:
            _lower(model, data)
        gentle_state(model, data)
        mujoco.mj_fwdPosition(model, data)
        depth = -data.contact.dist / max(model.stat.extent, 1e-6)
        merit = float(np.sum((depth > 0) & (depth < DEEP)) - np.sum(depth >= DEEP))
        if best is None or merit > most:
            best, most = get_start(model, data), merit
    assert best is not None
    return best


def _lower(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Move every tree that can move vertically to where its lowest colliding geom just overlaps the highest floor."""
    mujoco.mj_kinematics(model, data)
    floors = np.flatnonzero(
        (model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE) & (model.body_dofnum[model.geom_bodyid] == 0)
    )
    for joint in range(model.njnt):
        body, kind = model.jnt_bodyid[joint], model.jnt_type[joint]
        free = kind == mujoco.mjtJoint.mjJNT_FREE
        vertical = kind == mujoco.mjtJoint.mjJNT_SLIDE and abs(data.xaxis[joint, 2]) > 0.9
        if floors.size and (free or (vertical and model.body_parentid[body] == 0)):
            gap = min((_gap(model, data, body, int(floor)) for floor in floors), default=np.inf)
            if np.isfinite(gap):
                address = model.jnt_qposadr[joint] + (2 if free else 0)
                data.qpos[address] -= (gap + 0.002 * model.stat.extent) * (
                    1.0 if free else np.sign(data.xaxis[joint, 2])
                )


def _gap(model: mujoco.MjModel, data: mujoco.MjData, body: int, floor: int) -> float:
    """Distance of the tree below a body from a floor, along the floor's normal."""
    kind, affinity = model.geom_contype, model.geom_conaffinity
    collide = (kind & affinity[floor]) | (affinity & kind[floor])
    tree = model.body_rootid[model.geom_bodyid] == model.body_rootid[body]
    geoms = np.flatnonzero(tree & (collide != 0))
    return min((mujoco.mj_geomDistance(model, data, floor, int(g), 1e3, None) for g in geoms), default=np.inf)


def _settle(model: mujoco.MjModel, data: mujoco.MjData, steps: int) -> None:
    """Let it go for some steps, and on until it touches something; a motion that MuJoCo has to reset is taken back."""
    last, steps = get_start(model, data), budget.steps(model, steps)
    for _ in range(CHUNKS):
        mujoco.mj_step(model, data, steps)
        if data.time < last[0] + 0.5 * steps * model.opt.timestep or not np.all(np.isfinite(data.qpos)):
            mujoco.mj_resetData(model, data)
            set_start(model, data, last)
            return
        if data.ncon:
            return
        last, steps = get_start(model, data), budget.steps(model, SETTLING // 3)


def _pass_limits(model: mujoco.MjModel, data: mujoco.MjData, rng: np.random.Generator) -> None:
    """Put a third of the limited joints somewhat beyond one of their limits."""
    for joint in np.flatnonzero(model.jnt_limited):
        if rng.uniform() > 1 / 3:
            continue
        address, (low, high) = model.jnt_qposadr[joint], model.jnt_range[joint]
        beyond = PASSED * rng.uniform() * (high - low)
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_BALL:
            axis = random_quaternion(rng)[1:]
            half = 0.5 * (high + beyond)
            data.qpos[address : address + 4] = np.concatenate(
                ([np.cos(half)], np.sin(half) * axis / np.linalg.norm(axis))
            )
        else:
            data.qpos[address] = high + beyond if rng.uniform() < 0.5 else low - beyond
