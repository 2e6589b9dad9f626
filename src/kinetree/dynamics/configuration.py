"""Configurations as points of a manifold: moving along a velocity, and the velocity between two of them.

MuJoCo: mj_integratePos, mj_differentiatePos, mju_quatIntegrate, mju_subQuat. Angular velocities are in the child's axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernel import function, kernel
from ..kernel.ops import absolute, atan2, cos, sin, sqrt, where
from ..kernel.stage import check_arguments
from ..layout import checked
from ..math.quaternion import mul_quat, normalize4
from ..types import JointType

if TYPE_CHECKING:
    from ..model import Model

PI = 3.141592653589793
SMALL = 1e-4  # squared: below, four terms of a series are right to the last digit


@kernel
def quat_exp(v, scale):
    """The rotation by the vector scale * v [rad]: axis along v, angle its length. Near zero by series, smooth to any order."""
    square = 0.25 * scale * scale * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])  # of half the angle
    small = square < SMALL
    half = sqrt(where(small, 1.0, square))
    c = where(small, 1.0 - square * (1.0 / 2.0 - square * (1.0 / 24.0 - square / 720.0)), cos(half))
    ratio = where(small, 1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0)), sin(half) / half)
    s = 0.5 * scale * ratio
    return c, v[0] * s, v[1] * s, v[2] * s


@kernel
def quat_log(q):
    """The rotation vector [rad] of a unit quaternion, shortest way round. Near zero by series, smooth to any order."""
    square, whole = q[1] * q[1] + q[2] * q[2] + q[3] * q[3], absolute(q[0])
    small = square <= SMALL * whole * whole
    s = sqrt(where(small, 1.0, square))
    inverse = 1.0 / where(small & (whole > 0.0), whole, 1.0)
    tangent = square * inverse * inverse  # squared
    series = inverse * (1.0 - tangent * (1.0 / 3.0 - tangent * (1.0 / 5.0 - tangent / 7.0)))
    w = 2.0 * where(small, series, atan2(s, whole) / s)
    w = where(q[0] < 0.0, -w, w)  # rather than taking 2 pi off the angle, which would cost digits of a small one
    return q[1] * w, q[2] * w, q[3] * w


@kernel
def conjugate(q):
    """The opposite rotation."""
    return q[0], -q[1], -q[2], -q[3]


@kernel
def move_quat(qpos, a, velocity, v, dt):
    """Turn the quaternion at qpos[a] by dt times the angular velocity at velocity[v]."""
    q = normalize4((qpos[a], qpos[a + 1], qpos[a + 2], qpos[a + 3]))
    q = mul_quat(q, quat_exp((velocity[v], velocity[v + 1], velocity[v + 2]), dt))
    for k in range(4):
        qpos[a + k] = q[k]


@kernel
def move_joint(m, j, qpos, velocity, dt):
    """The part of a joint in qpos moved along a velocity for a time dt, in place."""
    a, v, kind = m.jnt_qposadr[j], m.jnt_dofadr[j], m.jnt_type[j]
    if kind == JointType.FREE:
        for k in range(3):
            qpos[a + k] += dt * velocity[v + k]
        move_quat(qpos, a + 3, velocity, v + 3, dt)
    elif kind == JointType.BALL:
        move_quat(qpos, a, velocity, v, dt)
    else:
        qpos[a] += dt * velocity[v]


@kernel
def move_position(m, qpos, velocity, dt):
    """qpos moved along a velocity for a time dt, in place."""
    for j in range(m.njnt):
        move_joint(m, j, qpos, velocity, dt)


@function(reads_data=False, qpos="nq", qvel="nv", dt="1")
def _integrate_pos(m, d, a):
    move_position(m, a.qpos, a.qvel, a.dt[0])


@kernel
def quat_difference(a, b, i):
    """Rotation vector that turns the quaternion at a[i] into the one at b[i]."""
    return quat_log(mul_quat(conjugate((a[i], a[i + 1], a[i + 2], a[i + 3])), (b[i], b[i + 1], b[i + 2], b[i + 3])))


@kernel
def position_difference(m, start, end, out):
    """The velocity that leads from one configuration to another in unit time."""
    for j in range(m.njnt):
        a, v, kind = m.jnt_qposadr[j], m.jnt_dofadr[j], m.jnt_type[j]
        if kind == JointType.FREE:
            for k in range(3):
                out[v + k] = end[a + k] - start[a + k]
            a += 3
            v += 3
        if kind == JointType.FREE or kind == JointType.BALL:
            r = quat_difference(start, end, a)
            for k in range(3):
                out[v + k] = r[k]
        else:
            out[v] = end[a] - start[a]


@function(reads_data=False, qpos1="nq", qpos2="nq", qvel="nv")
def _differentiate_pos(m, d, a):
    position_difference(m, a.qpos1, a.qpos2, a.qvel)


def integrate_pos(model: Model, qpos: Any, qvel: Any, dt: float) -> np.ndarray:
    """The configuration reached from qpos along qvel in a time dt [s]. MuJoCo's mj_integratePos, returned."""
    check_arguments("integrate_pos", model, None, without_data=True)
    qpos = checked(qpos, (model.nq,), "float64", "integrate_pos: qpos", fill=False)
    return _integrate_pos(model, None, qpos=qpos, qvel=qvel, dt=checked(dt, (), "float64", "integrate_pos: dt")).qpos


def differentiate_pos(model: Model, dt: float, qpos1: Any, qpos2: Any) -> np.ndarray:
    """The velocity that leads from qpos1 to qpos2 in a time dt [s]. MuJoCo's mj_differentiatePos, returned."""
    check_arguments("differentiate_pos", model, None, without_data=True)
    duration = float(checked(dt, (), "float64", "differentiate_pos: dt"))
    if duration == 0.0:
        raise ValueError("differentiate_pos: dt must not be zero")
    given = {"qpos1": qpos1, "qpos2": qpos2}
    qpos1, qpos2 = (checked(v, (model.nq,), "float64", f"differentiate_pos: {n}", fill=False) for n, v in given.items())
    return _differentiate_pos(model, None, qpos1=qpos1, qpos2=qpos2).qvel / duration
