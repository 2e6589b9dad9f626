"""From MuJoCo's reference point to ours.

MuJoCo takes the spatial quantities of body b (`cvel`, `cacc`, `cdof`, `cinert`, ...) at `subtree_com` of the body's
root; kinetree takes them at the body's own origin `xpos[b]`. Both use world axes and [angular; linear] order, so only
the point moves. Velocities, accelerations (the spatial kind, whose linear part is the rate of change of velocity at a
point fixed in space) and dof axes move alike; forces move the other way about; inertias follow the parallel-axis
theorem. The world's own row of `cfrc_int` is the exception: MuJoCo adds up trees there that have different reference
points.

Ten numbers of an inertia: Ixx Iyy Izz Ixy Ixz Iyz about the reference point, then m*r with r from the reference point
to the centre of mass, then m. MuJoCo's order is the same (mju_inertCom).
"""

from __future__ import annotations

import mujoco
import numpy as np


def move_motion(vector: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Motion vectors (..., 6) from the point `start` to `end` (..., 3): the linear part gains omega x (end - start)."""
    moved = np.array(vector, dtype=float)
    moved[..., 3:] += np.cross(moved[..., :3], end - start)
    return moved


def move_force(vector: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Force vectors [moment; force] (..., 6) from `start` to `end` (..., 3): the moment gains (start - end) x force."""
    moved = np.array(vector, dtype=float)
    moved[..., :3] += np.cross(start - end, moved[..., 3:])
    return moved


def move_inertia(inertia: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Inertias of ten numbers (..., 10) from `start` to `end` (..., 3)."""
    moved = np.array(inertia, dtype=float)
    mass, first = moved[..., 9:], moved[..., 6:9]
    shift = start - end
    # About `end`, r becomes r + shift: I grows by the cross terms of first moment and shift and by m * shift^2.
    cross = first[..., :, None] * shift[..., None, :]
    growth = cross + np.swapaxes(cross, -1, -2) + mass[..., None] * shift[..., :, None] * shift[..., None, :]
    trace = np.trace(growth, axis1=-2, axis2=-1)
    for k in range(3):
        moved[..., k] += trace - growth[..., k, k]
    for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        moved[..., 3 + k] -= growth[..., i, j]
    moved[..., 6:9] = first + mass * shift
    return moved


def inertia_matrix(inertia: np.ndarray) -> np.ndarray:
    """The 6 x 6 matrix of one inertia of ten numbers, that maps a motion vector to its momentum [angular; linear]."""
    ixx, iyy, izz, ixy, ixz, iyz, hx, hy, hz, mass = inertia
    cross = np.array([[0.0, -hz, hy], [hz, 0.0, -hx], [-hy, hx, 0.0]])
    rotational = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    return np.block([[rotational, cross], [-cross, mass * np.eye(3)]])


def body_motion(model: mujoco.MjModel, data: mujoco.MjData, name: str) -> np.ndarray:
    """MuJoCo's `cvel` or `cacc` (nbody, 6), taken at `xpos`."""
    return move_motion(getattr(data, name), _roots(model, data), data.xpos)


def dof_motion(model: mujoco.MjModel, data: mujoco.MjData, name: str) -> np.ndarray:
    """MuJoCo's `cdof` or `cdof_dot` (nv, 6), taken at `xpos` of the dof's body."""
    bodies = model.dof_bodyid
    return move_motion(getattr(data, name), _roots(model, data)[bodies], data.xpos[bodies])


def body_force(model: mujoco.MjModel, data: mujoco.MjData, name: str) -> np.ndarray:
    """MuJoCo's `cfrc_int` or `cfrc_ext` (nbody, 6), taken at `xpos`."""
    return move_force(getattr(data, name), _roots(model, data), data.xpos)


def body_inertia(model: mujoco.MjModel, data: mujoco.MjData, name: str) -> np.ndarray:
    """MuJoCo's `cinert` or `crb` (nbody, 10), taken at `xpos`."""
    return move_inertia(getattr(data, name), _roots(model, data), data.xpos)


def _roots(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """MuJoCo's reference point of every body (nbody, 3)."""
    return data.subtree_com[model.body_rootid]
