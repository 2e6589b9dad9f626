"""A model of hinges and ball joints as a skeleton of DART, and stable PD there the dense way, for comparison (`dartpy`)."""

from __future__ import annotations

from typing import Any

import dartpy
import numpy as np

import kinetree as kt


def isometry(position: np.ndarray, rotation: np.ndarray) -> Any:
    """A transform of DART."""
    out = dartpy.math.Isometry3.Identity()
    out.set_translation(position)
    out.set_rotation(rotation)
    return out


def matrix_of(quaternion: np.ndarray) -> np.ndarray:
    """The rotation matrix of a quaternion, w first."""
    w, x, y, z = quaternion
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def rotation_vector(quaternion: np.ndarray) -> np.ndarray:
    """What DART takes as the position of a ball joint."""
    w, v = quaternion[0], quaternion[1:]
    length = np.linalg.norm(v)
    return 2 * np.arctan2(length, w) * v / length if length > 0 else np.zeros(3)


def skeleton(model: kt.Model) -> Any:
    """The skeleton of a model with one hinge or ball joint, anchored at the body's origin, on each body."""
    out, nodes = dartpy.dynamics.Skeleton(model.title), {0: None}
    for b in range(1, model.nbody):
        joint = int(model.body_jntadr[b])
        hinge = model.jnt_type[joint] == kt.JointType.HINGE
        if (
            model.body_jntnum[b] != 1
            or model.jnt_pos[joint].any()
            or not (hinge or model.jnt_type[joint] == kt.JointType.BALL)
        ):
            raise ValueError(f"body {b} of {model.title!r} does not have one hinge or ball joint at its origin")
        properties = dartpy.dynamics.RevoluteJointProperties() if hinge else dartpy.dynamics.BallJointProperties()
        properties.mName = f"joint{b}"
        properties.mT_ParentBodyToJoint = isometry(model.body_pos[b], matrix_of(model.body_quat[b]))
        if hinge:
            properties.mAxis = model.jnt_axis[joint]
        create = out.createRevoluteJointAndBodyNodePair if hinge else out.createBallJointAndBodyNodePair
        _, node = create(nodes[int(model.body_parentid[b])], properties)
        axes = matrix_of(model.body_iquat[b])
        tensor = axes @ np.diag(model.body_inertia[b]) @ axes.T
        node.setInertia(dartpy.dynamics.Inertia(model.body_mass[b], model.body_ipos[b], tensor))
        nodes[b] = node
    out.setGravity(model.opt.gravity)
    return out


def positions(model: kt.Model, qpos: np.ndarray) -> np.ndarray:
    """A configuration in DART's coordinates."""
    parts = []
    for j in range(model.njnt):
        a = int(model.jnt_qposadr[j])
        hinge = model.jnt_type[j] == kt.JointType.HINGE
        parts.append(qpos[a : a + 1] if hinge else rotation_vector(qpos[a : a + 4]))
    return np.concatenate(parts)


def dense_spd(skel: Any, q: np.ndarray, v: np.ndarray, target: np.ndarray, kp: Any, kd: Any, h: float) -> np.ndarray:
    """Stable PD as it is written for DART, O(n^3): the mass matrix with h kd added, and a solve, where others even invert."""
    skel.setPositions(q)
    skel.setVelocities(v)
    skel.integratePositions(h)
    error = skel.getPositionDifferences(target, skel.getPositions())
    skel.setPositions(q)
    force = kp * error - kd * v
    inertia = skel.getMassMatrix() + np.diag(h * kd)
    acceleration = np.linalg.solve(inertia, force - skel.getCoriolisAndGravityForces())
    return force - h * kd * acceleration
