"""Slow, obvious references in plain NumPy for momenta, velocities, accelerations and forces between bodies.

Nothing here is fast and nothing is clever: every function walks the parents of every body, or all joints between a body and
the world, and adds up what a textbook says. The product never calls them.

`model` and `data` may be kinetree's or MuJoCo's: only fields are read that mean the same in both (masses, poses, anchors
and axes of joints, qvel, qacc, applied forces, points of tendons), never `cvel`, `cdof`, `cinert` or anything at a reference
point. They must hold the poses of the state asked about: run kinematics first, for accelerations and forces all of `forward`.
World axes and SI units throughout; wrenches and twists are [angular; linear].

A ball joint turns about the axes of its body's frame: exact as long as no joint after it on the same body turns as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import mujoco
import numpy as np

FREE, BALL, HINGE = (int(getattr(mujoco.mjtJoint, f"mjJNT_{kind}")) for kind in ("FREE", "BALL", "HINGE"))
TO_JOINT = int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)
TO_TENDON = (int(mujoco.mjtTrn.mjTRN_TENDON),)
PULLEY, SITE = int(mujoco.mjtWrap.mjWRAP_PULLEY), int(mujoco.mjtWrap.mjWRAP_SITE)  # other wrap objects are geoms
SPATIAL = int(mujoco.mjtTendon.mjTENDON_SPATIAL)
NO_GRAVITY = int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)


# the tree


def ancestors(model: Any, body: int) -> Iterator[int]:
    """The body itself, its parent, and so on up to the world."""
    while body:
        yield body
        body = int(model.body_parentid[body])
    yield 0


def subtree(model: Any, root: int) -> list[int]:
    """All bodies whose way up to the world passes through the root, the root included."""
    return [b for b in range(model.nbody) if root in ancestors(model, b)]


def joints_from_world(model: Any, body: int) -> list[int]:
    """All joints between the world and a body, outermost last."""
    path = list(ancestors(model, body))[::-1]
    return [j for b in path for j in range(model.njnt) if model.jnt_bodyid[j] == b]


def moves(model: Any, body: int) -> bool:
    """Whether there is a joint between a body and the world."""
    return bool(joints_from_world(model, body))


# motion


class Motion(NamedTuple):
    """How a body moves, told at a point of it: angular and linear velocity, angular and linear acceleration."""

    point: np.ndarray
    w: np.ndarray
    v: np.ndarray
    alpha: np.ndarray
    a: np.ndarray

    def at(self, point: np.ndarray) -> Motion:
        """The same motion, told at another point of the same body."""
        r = point - self.point
        v = self.v + np.cross(self.w, r)
        a = self.a + np.cross(self.alpha, r) + np.cross(self.w, np.cross(self.w, r))
        return Motion(np.array(point, float), self.w, v, self.alpha, a)


def motion(model: Any, data: Any, body: int, point: np.ndarray) -> Motion:
    """Velocity and acceleration of the point of a body that is now at `point`; gravity is not in it.

    Takes: xanchor, xaxis, xpos and xmat of the joints on the way, qvel, qacc. A hinge adds its rate about its axis at the
    anchor, which both sides share; a slide carries the outer side along, with Coriolis' acceleration of a motion in a
    turning frame.
    """
    zero = np.zeros(3)
    now = Motion(zero, zero, zero, zero, zero)
    for j in joints_from_world(model, body):
        at, kind = int(model.jnt_dofadr[j]), int(model.jnt_type[j])
        frame = np.reshape(data.xmat[model.jnt_bodyid[j]], (3, 3))
        if kind == FREE:
            origin = np.array(data.xpos[model.jnt_bodyid[j]])
            now = now.at(origin)._replace(v=now.v + data.qvel[at : at + 3], a=now.a + data.qacc[at : at + 3])
            now = turned(now, frame @ data.qvel[at + 3 : at + 6], frame @ data.qacc[at + 3 : at + 6])
            continue
        now = now.at(data.xanchor[j])
        if kind == BALL:
            now = turned(now, frame @ data.qvel[at : at + 3], frame @ data.qacc[at : at + 3])
        elif kind == HINGE:
            now = turned(now, data.xaxis[j] * data.qvel[at], data.xaxis[j] * data.qacc[at])
        else:
            rate, push = data.xaxis[j] * data.qvel[at], data.xaxis[j] * data.qacc[at]
            now = now._replace(v=now.v + rate, a=now.a + push + 2.0 * np.cross(now.w, rate))
    return now.at(point)


def turned(inner: Motion, w: np.ndarray, alpha: np.ndarray) -> Motion:
    """The motion of what turns relative to a body about the point at which its motion is told."""
    return inner._replace(w=inner.w + w, alpha=inner.alpha + alpha + np.cross(inner.w, w))


def twist(model: Any, data: Any, body: int, point: np.ndarray) -> np.ndarray:
    """[angular velocity; velocity] of the point of a body that is now at `point`."""
    now = motion(model, data, body, point)
    return np.concatenate((now.w, now.v))


def inertia(model: Any, data: Any, body: int) -> np.ndarray:
    """Inertia of a body about its centre of mass (3, 3). Takes body_inertia, ximat."""
    axes = np.reshape(data.ximat[body], (3, 3))
    return axes @ np.diag(model.body_inertia[body]) @ axes.T


# momentum and energy


def subtree_mass(model: Any, root: int) -> float:
    """Mass of a body and all beyond it [kg]. Takes body_mass."""
    return float(sum(model.body_mass[b] for b in subtree(model, root)))


def subtree_com(model: Any, data: Any, root: int) -> np.ndarray:
    """Centre of mass of a subtree [m]; the root's own if there is no mass. Takes body_mass, xipos."""
    mass = subtree_mass(model, root)
    if mass == 0.0:
        return np.array(data.xipos[root])
    return sum(model.body_mass[b] * data.xipos[b] for b in subtree(model, root)) / mass


def linear_momentum(model: Any, data: Any, root: int = 0) -> np.ndarray:
    """Sum of mass times velocity of the centre of mass over a subtree [kg m/s]."""
    return sum(model.body_mass[b] * motion(model, data, b, data.xipos[b]).v for b in subtree(model, root))


def angular_momentum(model: Any, data: Any, point: np.ndarray, root: int = 0) -> np.ndarray:
    """Angular momentum of a subtree about a point at rest [kg m^2/s]: spin of every body and moment of its momentum."""
    total = np.zeros(3)
    for b in subtree(model, root):
        now = motion(model, data, b, data.xipos[b])
        total += inertia(model, data, b) @ now.w + np.cross(data.xipos[b] - point, model.body_mass[b] * now.v)
    return total


def subtree_linvel(model: Any, data: Any, root: int) -> np.ndarray:
    """Velocity of the centre of mass of a subtree [m/s]; zero if there is no mass."""
    mass = subtree_mass(model, root)
    return linear_momentum(model, data, root) / mass if mass else np.zeros(3)


def subtree_angmom(model: Any, data: Any, root: int) -> np.ndarray:
    """Angular momentum of a subtree about its own centre of mass [kg m^2/s].

    Whether that point counts as moving or not makes no difference: the momentum relative to the centre of mass is zero.
    """
    return angular_momentum(model, data, subtree_com(model, data, root), root)


def kinetic_energy(model: Any, data: Any) -> float:
    """Energy of all bodies, by Koenig's theorem, and of the armature of joints, tendons and actuators [J]."""
    total = 0.0
    for b in range(1, model.nbody):
        now = motion(model, data, b, data.xipos[b])
        total += 0.5 * model.body_mass[b] * now.v @ now.v + 0.5 * now.w @ inertia(model, data, b) @ now.w
    for i in range(model.nv):
        armature = model.dof_armature[i] + lent_armature(model, TO_JOINT, int(model.dof_jntid[i]))
        total += 0.5 * armature * data.qvel[i] ** 2
    for t in range(model.ntendon):
        armature = model.tendon_armature[t] + lent_armature(model, TO_TENDON, t)
        total += 0.5 * armature * tendon_velocity(model, data, t) ** 2
    return float(total)


def lent_armature(model: Any, drives: tuple[int, ...], target: int) -> float:
    """Armature that the actuators of a joint or tendon lend it: each its own times its gear squared."""
    total = 0.0
    for k in range(model.nactuator):
        if model.actuator_trntype[k] in drives and model.actuator_trnid[k, 0] == target:
            total += model.actuator_armature[k] * model.actuator_gear[model.actuator_outadr[k], 0] ** 2
    return total


# tendons


class Part(NamedTuple):
    """A straight part of a tendon: its ends, the bodies that hold them, and the share that pulleys leave of it."""

    start: np.ndarray
    end: np.ndarray
    body0: int
    body1: int
    share: float


def straight_parts(model: Any, data: Any, t: int) -> list[Part]:
    """The straight parts of a spatial tendon, in order. Takes the points of its path, wrap_xpos and wrap_obj.

    A part on one body has no effect, and so has the arc around a geom, whose ends both move with that geom.
    """
    points, what = np.reshape(data.wrap_xpos, (-1, 3)), np.ravel(data.wrap_obj)
    objects = [(int(model.wrap_type[w]), int(model.wrap_objid[w]), float(model.wrap_prm[w]))
               for w in range(model.tendon_adr[t], model.tendon_adr[t] + model.tendon_num[t])]  # fmt: skip
    parts: list[Part] = []
    previous: tuple[np.ndarray, int, int] | None = None
    share, at = 1.0, int(data.ten_wrapadr[t])
    for kind, which, parameter in objects:
        if kind == PULLEY:
            share, previous = 1.0 / parameter, None
            at += 1
            continue
        if kind != SITE and (at >= data.ten_wrapadr[t] + data.ten_wrapnum[t] or what[at] != which):
            continue  # the path passes this geom without touching it
        body = int(model.site_bodyid[which] if kind == SITE else model.geom_bodyid[which])
        for number in range(1 if kind == SITE else 2):
            if previous is not None and number == 0:
                parts.append(Part(previous[0], points[at], previous[1], body, share))
            previous = points[at], body, kind
            at += 1
    return parts


def tendon_velocity(model: Any, data: Any, t: int) -> float:
    """Rate of change of a tendon's length: of its joints, or of the distances between the ends of its straight parts."""
    if model.tendon_type[t] != SPATIAL:
        used = range(model.tendon_adr[t], model.tendon_adr[t] + model.tendon_num[t])
        return float(sum(model.wrap_prm[w] * data.qvel[model.jnt_dofadr[model.wrap_objid[w]]] for w in used))
    rate = 0.0
    for part in straight_parts(model, data, t):
        direction = (part.end - part.start) / np.linalg.norm(part.end - part.start)
        v0 = motion(model, data, part.body0, part.start).v
        v1 = motion(model, data, part.body1, part.end).v
        rate += part.share * direction @ (v1 - v0)
    return float(rate)


def tendon_acceleration(model: Any, data: Any, t: int) -> float:
    """Second rate of change of a tendon's length; a path must run through sites alone.

    The distance of two points grows by their relative acceleration along the line and by their motion across it.
    """
    if model.tendon_type[t] != SPATIAL:
        used = range(model.tendon_adr[t], model.tendon_adr[t] + model.tendon_num[t])
        return float(sum(model.wrap_prm[w] * data.qacc[model.jnt_dofadr[model.wrap_objid[w]]] for w in used))
    total = 0.0
    for part in straight_parts(model, data, t):
        length = np.linalg.norm(part.end - part.start)
        direction = (part.end - part.start) / length
        first = motion(model, data, part.body0, part.start)
        second = motion(model, data, part.body1, part.end)
        v = second.v - first.v
        along = direction @ v
        total += part.share * (direction @ (second.a - first.a) + (v @ v - along**2) / length)
    return float(total)


def tendon_force(model: Any, data: Any, t: int) -> float:
    """Force of a tendon along its length [N], negative where it pulls: linear spring and damper, actuators, armature.

    Takes: ten_length and actuator_force; rates as above. Armature resists the second rate of the length.
    """
    low, high = model.tendon_lengthspring[t]
    stretch = data.ten_length[t] - np.clip(data.ten_length[t], low, high)
    total = -model.tendon_stiffness[t] * stretch - model.tendon_damping[t] * tendon_velocity(model, data, t)
    for k in range(model.nactuator):
        if model.actuator_trntype[k] in TO_TENDON and model.actuator_trnid[k, 0] == t:
            out = model.actuator_outadr[k]
            total += model.actuator_gear[out, 0] * data.actuator_force[out]
    armature = model.tendon_armature[t] + lent_armature(model, TO_TENDON, t)
    return float(total - armature * tendon_acceleration(model, data, t) if armature else total)


# forces


def external_wrench(model: Any, data: Any, body: int, point: np.ndarray) -> np.ndarray:
    """[moment about a point; force] that acts on one body from outside the tree [N m; N].

    Takes: xfrc_applied, which acts at xipos, and the forces of spatial tendons at the ends of their straight parts.
    """
    force, torque = data.xfrc_applied[body, :3], data.xfrc_applied[body, 3:]
    total = np.concatenate((torque + np.cross(data.xipos[body] - point, force), force))
    for t in range(model.ntendon):
        if model.tendon_type[t] != SPATIAL:
            continue
        strength = tendon_force(model, data, t)
        for part in straight_parts(model, data, t):
            push = part.share * strength * (part.end - part.start) / np.linalg.norm(part.end - part.start)
            for holder, where, f in ((part.body0, part.start, -push), (part.body1, part.end, push)):
                if holder == body:
                    total += np.concatenate((np.cross(where - point, f), f))
    return total


def interaction_wrench(model: Any, data: Any, body: int, point: np.ndarray) -> np.ndarray:
    """[moment about a point; force] that a body gets from its parent [N m; N], by Newton and Euler for all beyond.

    Mass times acceleration less weight, and the rate of spin, of every body of the subtree, less the external wrenches on
    them. Takes: masses, inertias, gravity, and through the functions above qvel, qacc, xfrc_applied and tendons.
    """
    gravity = np.zeros(3) if model.opt.disableflags & NO_GRAVITY else np.array(model.opt.gravity)
    total = np.zeros(6)
    for b in subtree(model, body):
        now, spread = motion(model, data, b, data.xipos[b]), inertia(model, data, b)
        force = model.body_mass[b] * (now.a - gravity)
        rate = spread @ now.alpha + np.cross(now.w, spread @ now.w)
        total += np.concatenate((rate + np.cross(data.xipos[b] - point, force), force))
        total -= external_wrench(model, data, b, point)
    return total
