"""Inverse inertias at the reference configuration: of dofs, bodies and tendons, and what actuators do there.

MuJoCo: group inert0 of mj_setConst. With M = L' D L, a force b alone gives b' M^-1 b = z' D^-1 z, where z = L'^-1 b has
entries above the dofs of b alone: no second half of a solve, and nothing beyond the branch.
Reads: M's diagonal and its factors, cdof, xpos, xipos, ten_J, actuator_moment.
Writes into the model: dof_M0, dof_invweight0, body_invweight0, tendon_invweight0, actuator_acc0. Scratch: weight_row.
"""

from ..dynamics.factor import pass_up, solve_in_place
from ..dynamics.jacobian import axis_at, last_dof
from ..kernel import kernel
from ..kernel.ops import maximum, sqrt, zero
from ..math.constants import MIN_VALUE
from ..math.vec3 import get3
from ..types import JointType

SLIDES = 2  # body_simple of a body that only slides: its mass is all of its inertia


@kernel
def set_diagonal(m, d):
    """The diagonal of M without the inertia of tendons; `crb` has run."""
    for i in range(m.nv):
        m.dof_M0[i] = d.M[m.M_rowadr[i] + m.M_rownnz[i] - 1]


@kernel
def inverse_mass(m, b):
    """One over a body's mass."""
    return 1.0 / maximum(m.body_mass[b], MIN_VALUE)


@kernel
def weigh_dof(m, d, i):
    """Entry i, i of the inverse of M."""
    j = i
    while j >= 0:
        d.weight_row[j, 0] = 0.0
        j = m.dof_parentid[j]
    d.weight_row[i, 0] = 1.0
    total, j = zero(d.qLDiagInv[i]), i
    while j >= 0:
        value = d.weight_row[j, 0]
        start = m.M_rowadr[j]
        for at in range(start, start + m.M_rownnz[j] - 1):
            d.weight_row[m.M_colind[at], 0] -= d.qLD[at] * value
        total += value * value * d.qLDiagInv[j]
        j = m.dof_parentid[j]
    return total


@kernel
def spread(m, first, count, value):
    """Give some dofs of a joint one inverse weight."""
    for i in range(first, first + count):
        m.dof_invweight0[i] = value


@kernel
def mean_of_three(m, d, i):
    """Mean of three entries of the diagonal of the inverse of M."""
    return (weigh_dof(m, d, i) + weigh_dof(m, d, i + 1) + weigh_dof(m, d, i + 2)) / 3.0


@kernel
def set_dof_weights(m, d):
    """The diagonal of the inverse of M; dofs of balls, and of free joints by threes, share their mean."""
    for j in range(m.njnt):
        i, kind = m.jnt_dofadr[j], m.jnt_type[j]
        if m.body_simple[m.jnt_bodyid[j]] == SLIDES:
            m.dof_invweight0[i] = inverse_mass(m, m.jnt_bodyid[j])
        elif kind == JointType.FREE:
            spread(m, i, 3, mean_of_three(m, d, i))
            spread(m, i + 3, 3, mean_of_three(m, d, i + 3))
        elif kind == JointType.BALL:
            spread(m, i, 3, mean_of_three(m, d, i))
        else:
            m.dof_invweight0[i] = weigh_dof(m, d, i)


@kernel
def weigh_body(m, d, b):
    """Traces over three of the inverse inertia that a force and a torque at a body's centre of mass meet."""
    point, i = get3(d.xipos, b), last_dof(m, b)
    j = i
    while j >= 0:
        axis = axis_at(m, d, j, point)
        for k in range(6):
            d.weight_row[j, k] = axis[k]
        j = m.dof_parentid[j]
    turning, moving, j = zero(point[0]), zero(point[0]), i
    while j >= 0:
        start = m.M_rowadr[j]
        v0, v1, v2 = d.weight_row[j, 0], d.weight_row[j, 1], d.weight_row[j, 2]
        v3, v4, v5 = d.weight_row[j, 3], d.weight_row[j, 4], d.weight_row[j, 5]
        for at in range(start, start + m.M_rownnz[j] - 1):
            above, weight = m.M_colind[at], d.qLD[at]
            d.weight_row[above, 0] -= weight * v0
            d.weight_row[above, 1] -= weight * v1
            d.weight_row[above, 2] -= weight * v2
            d.weight_row[above, 3] -= weight * v3
            d.weight_row[above, 4] -= weight * v4
            d.weight_row[above, 5] -= weight * v5
        turning += (v0 * v0 + v1 * v1 + v2 * v2) * d.qLDiagInv[j]
        moving += (v3 * v3 + v4 * v4 + v5 * v5) * d.qLDiagInv[j]
        j = m.dof_parentid[j]
    return moving / 3.0, turning / 3.0


@kernel
def set_body_weights(m, d):
    """Mean inverse inertia of bodies; what nothing moves, and mocap, has none."""
    for b in range(m.nbody):
        m.body_invweight0[b, 0], m.body_invweight0[b, 1] = 0.0, 0.0
        if m.body_simple[b] == SLIDES:
            m.body_invweight0[b, 0] = inverse_mass(m, b)
        elif last_dof(m, b) >= 0:
            m.body_invweight0[b, 0], m.body_invweight0[b, 1] = weigh_body(m, d, b)


@kernel
def clear_row(m, d):
    """A force that is zero."""
    for i in range(m.nv):
        d.weight_force[i] = 0.0


@kernel
def set_tendon_weights(m, d):
    """Inverse inertia along each tendon."""
    for t in range(m.ntendon):
        clear_row(m, d)
        for at in range(m.ten_J_rowadr[t], m.ten_J_rowadr[t] + m.ten_J_rownnz[t]):
            d.weight_force[m.ten_J_colind[at]] = d.ten_J[at]
        total = 0.0
        for i in range(m.nv - 1, -1, -1):
            value = pass_up(m, d.qLD, d.weight_force, i)
            total += value * value * d.qLDiagInv[i]
        m.tendon_invweight0[t] = total


@kernel
def set_actuator_accelerations(m, d):
    """Length of the acceleration that a unit force of each actuator gives."""
    for row in range(m.nout):
        clear_row(m, d)
        for at in range(d.moment_rowadr[row], d.moment_rowadr[row] + d.moment_rownnz[row]):
            d.weight_force[d.moment_colind[at]] = d.actuator_moment[at]
        solve_in_place(m, d.qLD, d.qLDiagInv, d.weight_force)
        total = 0.0
        for i in range(m.nv):
            total += d.weight_force[i] * d.weight_force[i]
        m.actuator_acc0[row] = sqrt(total)


@kernel
def set_from_inertia(m, d):
    """All that takes the factors of M."""
    set_dof_weights(m, d)
    set_body_weights(m, d)
    set_tendon_weights(m, d)
    set_actuator_accelerations(m, d)
