"""Rows of joints and tendons near the ends of their ranges. MuJoCo: mj_instantiateLimit.

Reads: qpos, ten_length, ten_J. A row exists where the distance to the limit, efc_pos, is below the margin; it is negative
beyond the limit. The distance of a ball joint is from the largest angle.
"""

from ..dynamics.sleep_state import JOINTS, JOINTS_END, tendon_sleeps
from ..kernel import kernel
from ..kernel.ops import any_, atan2, maximum, where, zero
from ..math.constants import MIN_VALUE
from ..math.quaternion import normalize4
from ..math.vec3 import norm
from ..types import Constraint, JointType
from .friction import put_tendon
from .rows import count, count_unless_empty, describe, has_room, put_entry, take_out_trees

PI = 3.141592653589793


@kernel
def scalar_limit(m, d, j, distance, sign):
    """The row of one side of a hinge or slide: sign is +1 at the lower end, where moving up leads away."""
    margin = m.jnt_margin[j]
    near = distance < margin
    if any_(near):
        if has_room(d, 1, 1):
            i = m.jnt_dofadr[j]
            put_entry(d, d.nJ[0], i, where(near, zero(distance) + sign, 0.0))
            describe(d, Constraint.LIMIT_JOINT, j, 1, 1, near, distance, margin, 0.0)
            d.efc_diagA[d.nefc[0]] = m.dof_invweight0[i]
        count(d, 1, 1)


@kernel
def rotation_axis(q):
    """Axis and angle, from 0 to pi, of a unit quaternion; the x axis where it does not turn."""
    s = norm((q[1], q[2], q[3]))
    tiny = s < MIN_VALUE
    angle = 2.0 * atan2(s, q[0])
    back = angle > PI
    angle = where(back, 2.0 * PI - angle, angle)
    scale = 1.0 / where(tiny, 1.0, where(back, -s, s))
    still = tiny | (angle < MIN_VALUE)
    x, y, z = where(still, 1.0, q[1] * scale), where(still, 0.0, q[2] * scale), where(still, 0.0, q[3] * scale)
    return (x, y, z), angle


@kernel
def ball_limit(m, d, j):
    """The row of a ball joint: the angle from its reference is bounded."""
    a, i, margin = m.jnt_qposadr[j], m.jnt_dofadr[j], m.jnt_margin[j]
    axis, angle = rotation_axis(normalize4((d.qpos[a], d.qpos[a + 1], d.qpos[a + 2], d.qpos[a + 3])))
    distance = maximum(m.jnt_range[j, 0], m.jnt_range[j, 1]) - angle
    near = distance < margin
    if any_(near):
        if has_room(d, 1, 3):
            for k in range(3):
                put_entry(d, d.nJ[0] + k, i + k, where(near, -axis[k], 0.0))
            describe(d, Constraint.LIMIT_JOINT, j, 1, 3, near, distance, margin, 0.0)
            d.efc_diagA[d.nefc[0]] = m.dof_invweight0[i]
        count(d, 1, 3)


@kernel
def tendon_limit(m, d, t, distance, sign):
    """The row of one end of a tendon's range."""
    margin, n = m.tendon_margin[t], m.ten_J_rownnz[t]
    near = distance < margin
    if any_(near):
        if has_room(d, 1, n):
            put_tendon(m, d, t, where(near, zero(distance) + sign, 0.0))
            n = take_out_trees(m, d, n)
            describe(d, Constraint.LIMIT_TENDON, t, 1, n, near, distance, margin, 0.0)
            d.efc_diagA[d.nefc[0]] = m.tendon_invweight0[t]
            count_unless_empty(m, d, 1, n)
        else:
            count(d, 1, n)


@kernel
def joint_limits(m, d, j):
    """The rows of a joint that has limits."""
    kind = m.jnt_type[j]
    if kind == JointType.BALL:
        ball_limit(m, d, j)
    elif kind != JointType.FREE:
        value = d.qpos[m.jnt_qposadr[j]]
        scalar_limit(m, d, j, value - m.jnt_range[j, 0], 1.0)
        scalar_limit(m, d, j, m.jnt_range[j, 1] - value, -1.0)


@kernel
def add_limits(m, d):
    """Rows of all joints, then of all tendons, that are near a limit; the lower one first."""
    for run in range(d.nawake_run[0]):
        for j in range(d.awake_run[run, JOINTS], d.awake_run[run, JOINTS_END]):
            if m.jnt_limited[j]:
                joint_limits(m, d, j)
    for t in range(m.ntendon):
        if m.tendon_limited[t] and not tendon_sleeps(m, d, t):
            tendon_limit(m, d, t, d.ten_length[t] - m.tendon_range[t, 0], 1.0)
            tendon_limit(m, d, t, m.tendon_range[t, 1] - d.ten_length[t], -1.0)
