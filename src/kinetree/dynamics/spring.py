"""Springs of joints and tendons: how far they are from rest, what they pull and store, and how their rest position yields.

MuJoCo: parts of mj_springdamper, mj_energyPos and mj_advance; mju_polyForce, mju_polyPotential. Stiffness is three
coefficients a, b, c of the pull a x + b x^2 + c x^3 at the displacement x (for a ball joint: along the rotation vector, of
length x). A tendon's spring rests anywhere in an interval of lengths. A spring with `springyield` has its rest position in
the state (`plastic`), and drags it along where it is displaced further than that.
"""

from ..kernel import kernel
from ..kernel.ops import maximum, needs, where
from ..math.quaternion import mul_quat, normalize4
from ..math.vec3 import dot, root
from ..types import DisableBit, JointType
from .configuration import conjugate, quat_exp, quat_log


@kernel
def joint_stiffness(m, j):
    """Stiffness coefficients of joint j."""
    return m.jnt_stiffness[j], m.jnt_stiffnesspoly[j, 0], m.jnt_stiffnesspoly[j, 1]


@kernel
def tendon_stiffness(m, t):
    """Stiffness coefficients of tendon t."""
    return m.tendon_stiffness[t], m.tendon_stiffnesspoly[t, 0], m.tendon_stiffnesspoly[t, 1]


@kernel
def is_stiff(stiffness):
    """Whether there is a spring at all."""
    return (stiffness[0] != 0.0) | (stiffness[1] != 0.0) | (stiffness[2] != 0.0)


@kernel
def pull_rate(stiffness, x):
    """Pull towards rest per displacement x."""
    return stiffness[0] + x * (stiffness[1] + x * stiffness[2])


@kernel
def stored_energy(stiffness, x, square):
    """Energy [J] of a spring displaced by x, whose square is given too: the integral of its pull."""
    return square * (stiffness[0] * (1.0 / 2.0) + x * (stiffness[1] * (1.0 / 3.0) + x * stiffness[2] * (1.0 / 4.0)))


@kernel
def scalar_displacement(m, d, j):
    """How far a slide [m] or hinge [rad] is from the rest of its spring."""
    a, p = m.jnt_qposadr[j], m.jnt_plasticadr[j]
    if p >= 0:
        return d.qpos[a] - d.plastic[p]
    return d.qpos[a] - m.qpos_spring[a]


@kernel
def rotation_displacement(m, d, j, a):
    """Rotation vector [rad] from rest to the quaternion at qpos[a] of joint j, in the child's axes."""
    q = normalize4((d.qpos[a], d.qpos[a + 1], d.qpos[a + 2], d.qpos[a + 3]))
    r0, r1, r2, r3 = m.qpos_spring[a], m.qpos_spring[a + 1], m.qpos_spring[a + 2], m.qpos_spring[a + 3]
    p = m.jnt_plasticadr[j]
    if p >= 0:
        r0, r1, r2, r3 = d.plastic[p], d.plastic[p + 1], d.plastic[p + 2], d.plastic[p + 3]
    return quat_log(mul_quat(conjugate((r0, r1, r2, r3)), q))


@kernel
def translation_displacement(m, d, a):
    """How far [m] the position at qpos[a] of a free joint is from the rest of its spring, in world axes."""
    return (
        d.qpos[a] - m.qpos_spring[a],
        d.qpos[a + 1] - m.qpos_spring[a + 1],
        d.qpos[a + 2] - m.qpos_spring[a + 2],
    )


@kernel
def outside(x, lower, upper):
    """By how much x is above an interval, or (negative) below it; 0 within. The lower end counts as below, for its slope."""
    return where(x > upper, x - upper, where(x <= lower, x - lower, 0.0))


@kernel
def tendon_displacement(m, d, t):
    """By how much a tendon's length is outside the interval in which its spring rests."""
    p = m.tendon_plasticadr[t]
    if p >= 0:
        return outside(d.ten_length[t], d.plastic[p], d.plastic[p + 1])
    return outside(d.ten_length[t], m.tendon_lengthspring[t, 0], m.tendon_lengthspring[t, 1])


@kernel
def yield_rotation(m, d, j, p, limit):
    """Turn the rest orientation of a ball joint along, until it is no further than the limit [rad] behind."""
    r = rotation_displacement(m, d, j, m.jnt_qposadr[j])
    angle = root(dot(r, r))
    slips = angle > limit
    if needs(slips):
        share = (angle - limit) / where(slips, angle, 1.0)
        rest = normalize4((d.plastic[p], d.plastic[p + 1], d.plastic[p + 2], d.plastic[p + 3]))
        moved = mul_quat(rest, quat_exp(r, share))
        d.plastic[p] = where(slips, moved[0], d.plastic[p])
        d.plastic[p + 1] = where(slips, moved[1], d.plastic[p + 1])
        d.plastic[p + 2] = where(slips, moved[2], d.plastic[p + 2])
        d.plastic[p + 3] = where(slips, moved[3], d.plastic[p + 3])


@kernel
def yield_tendon(m, d, t, p, velocity):
    """Shift a tendon's interval of rest after the length at the end of the step, extrapolated by its Jacobian."""
    length = d.ten_length[t]
    first = m.ten_J_rowadr[t]
    for at in range(first, first + m.ten_J_rownnz[t]):
        length += m.opt_timestep * d.ten_J[at] * velocity[m.ten_J_colind[at]]
    limit = maximum(m.tendon_springyield[t], 0.0)
    lower, upper = d.plastic[p], d.plastic[p + 1]
    shift = outside(outside(length, lower, upper), -limit, limit)
    # A slack tendon, which rests at any length up to the upper one, stays slack when it is overstretched.
    slack = (lower == 0.0) & (upper > 0.0) & (shift > 0.0)
    d.plastic[p] = where(slack, lower, lower + shift)
    d.plastic[p + 1] = upper + shift


@kernel
def advance_plastic(m, d, velocity):
    """Let springs yield at the end of a step: positions have moved on with this velocity, tendons are as at its start."""
    if m.nplastic == 0 or m.opt_disableflags & DisableBit.SPRING != 0:
        return
    for j in range(m.njnt):
        p = m.jnt_plasticadr[j]
        if p >= 0:
            limit = maximum(m.jnt_springyield[j], 0.0)
            if m.jnt_type[j] == JointType.BALL:
                yield_rotation(m, d, j, p, limit)
            else:
                d.plastic[p] += outside(scalar_displacement(m, d, j), -limit, limit)
    for t in range(m.ntendon):
        if m.tendon_plasticadr[t] >= 0:
            yield_tendon(m, d, t, m.tendon_plasticadr[t], velocity)
