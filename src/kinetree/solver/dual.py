"""What the dual solvers share: the rows Y = J M^(-1/2), the forces seen through them, and the way back to accelerations.

MuJoCo: mj_projectConstraint, mj_dualFinish. The matrix of the dual problem is A + R with A = Y Y'. It is never formed: with
Y' f at hand a row of A f is one product, and a force that changes changes Y' f by a multiple of its row.
Reads: efc_J, qLD, qLDiagInv, efc_b, efc_R. Writes: nY, efc_Y and its pattern, sol_Yf, qfrc_constraint, qacc, efc_state.
"""

from ..capacity import MAXA, fits
from ..constraint.island import DOFS, DOFS_END, END, FIRST, ROWS, ROWS_END
from ..constraint.jacobian_product import add_J_transpose, spread_row
from ..kernel import kernel
from ..kernel.ops import needs, sqrt, where, zero
from ..types import Constraint, ConstraintState
from .acceleration import solve_metric
from .cone import zones
from .metric import pass_up_tree, pivot_inverse_of, solve_tree


@kernel
def mark_ancestors(m, d, r):
    """Mark the dofs of a row and all their ancestors; how many there are."""
    n = 0
    for at in range(d.efc_J_rowadr[r] + d.efc_J_rownnz[r] - 1, d.efc_J_rowadr[r] - 1, -1):
        i = d.efc_J_colind[at]
        if d.H_mark[i] == 0:  # else its ancestors are marked too
            for k in range(m.M_rowadr[i], m.M_rowadr[i] + m.M_rownnz[i]):
                c = m.M_colind[k]
                n += 1 - d.H_mark[c]
                d.H_mark[c] = 1
    return n


@kernel
def take_marked(d, r, n, start, room):
    """Write the n marked dofs as columns from `start` on, if there is room, and unmark them."""
    if n > 0:
        c, at = d.efc_J_colind[d.efc_J_rowadr[r] + d.efc_J_rownnz[r] - 1], start + n - 1
        while at >= start:
            if d.H_mark[c] != 0:
                d.H_mark[c] = 0
                if room:
                    d.efc_Y_colind[at] = c
                at -= 1
            c -= 1


@kernel
def whiten(m, d, r):
    """One row of Y: that of J times L^-1 D^(-1/2)."""
    start, n = d.efc_Y_rowadr[r], d.efc_Y_rownnz[r]
    for at in range(start, start + n):
        d.efc_row[d.efc_Y_colind[at]] = 0.0
    spread_row(d, r, d.efc_row)
    for at in range(start + n - 1, start - 1, -1):
        i = d.efc_Y_colind[at]
        d.efc_Y[at] = pass_up_tree(m, d, d.efc_row, i) * d.sol_root[i]


@kernel
def project(m, d):
    """All rows of Y, unless there is no room for them."""
    for i in range(m.nv):
        d.sol_root[i] = sqrt(pivot_inverse_of(d, i))
        d.H_mark[i] = 0
    r = at = 0
    while r < d.nefc[0]:
        rows, n = d.efc_J_rowsuper[r] + 1, mark_ancestors(m, d, r)
        room = fits(d, MAXA, at + rows * n)
        take_marked(d, r, n, at, room)
        for s in range(r, r + rows):
            d.efc_Y_rowadr[s], d.efc_Y_rownnz[s] = at, n
            if room:
                for k in range(n):
                    d.efc_Y_colind[at + k] = d.efc_Y_colind[d.efc_Y_rowadr[r] + k]
                whiten(m, d, s)
            at += n
        r += rows
    d.nY[0] = at


@kernel
def product(d, r, s):
    """An entry of A between two rows with the same columns."""
    a, b, total = d.efc_Y_rowadr[r], d.efc_Y_rowadr[s], zero(d.time[0])
    for k in range(d.efc_Y_rownnz[r]):
        total += d.efc_Y[a + k] * d.efc_Y[b + k]
    return total


@kernel
def acceleration(d, r):
    """A row of A f + b."""
    total = d.efc_b[r]
    for at in range(d.efc_Y_rowadr[r], d.efc_Y_rowadr[r] + d.efc_Y_rownnz[r]):
        total += d.efc_Y[at] * d.sol_Yf[d.efc_Y_colind[at]]
    return total


@kernel
def add_force(d, r, change):
    """Y' f after a change of one force."""
    if needs(change != 0.0):
        for at in range(d.efc_Y_rowadr[r], d.efc_Y_rowadr[r] + d.efc_Y_rownnz[r]):
            d.sol_Yf[d.efc_Y_colind[at]] += d.efc_Y[at] * change


@kernel
def set_force(d, r, force):
    """Change one force."""
    add_force(d, r, force - d.efc_force[r])
    d.efc_force[r] = force


@kernel
def see_forces(m, d):
    """Y' f of all forces."""
    for i in range(m.nv):
        d.sol_Yf[i] = 0.0
    for r in range(d.nefc[0]):
        add_force(d, r, d.efc_force[r])


@kernel
def see_forces_of(d, g):
    """Y' f of the forces of a group."""
    for s in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        for i in range(d.dof_run[s, FIRST], d.dof_run[s, END]):
            d.sol_Yf[i] = 0.0
    for s in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        for r in range(d.row_run[s, FIRST], d.row_run[s, END]):
            add_force(d, r, d.efc_force[r])


@kernel
def finish(m, d):
    """The accelerations that belong to the forces: qfrc_constraint, qacc."""
    for i in range(m.nv):
        d.qfrc_constraint[i] = 0.0
    add_J_transpose(m, d, d.efc_force, d.qfrc_constraint)
    for i in range(m.nv):
        d.qacc[i] = d.qfrc_constraint[i]
    if d.nrow[0] > d.nefc[0]:
        solve_metric(m, d, d.qacc)
    else:
        solve_tree(m, d, d.qacc, 0, m.nv)
    for i in range(m.nv):
        d.qacc[i] += d.qacc_smooth[i]


@kernel
def cone_state(d, k, i, n):
    """The state of an elliptic contact, told as MuJoCo tells it: a force inside its cone counts as satisfied."""
    mu = where(d.contact_mu[k] > 0.0, d.contact_mu[k], 1.0)
    normal, square = d.efc_force[i] / mu, zero(mu)
    for j in range(1, n):
        f = d.efc_force[i + j] / d.contact_friction[k, j - 1]
        square += f * f
    stuck, between = zones(normal, sqrt(square), mu, 1.0)
    settled = where(stuck, ConstraintState.QUADRATIC, ConstraintState.SATISFIED)
    return where(between, ConstraintState.CONE, settled)


@kernel
def set_dual_states(d):
    """On which piece of its cost each row is, told by its force. MuJoCo's dualState."""
    i = 0
    while i < d.nefc[0]:
        n, f = 1, d.efc_force[i]
        state = where(f == f, ConstraintState.QUADRATIC, ConstraintState.QUADRATIC)
        if d.ne[0] <= i < d.ne[0] + d.nf[0]:
            state = where(f >= d.efc_frictionloss[i], ConstraintState.LINEARNEG, state)
            state = where(f <= -d.efc_frictionloss[i], ConstraintState.LINEARPOS, state)
        elif d.efc_type[i] == Constraint.CONTACT_ELLIPTIC:
            n = d.contact_dim[d.efc_id[i]]
            state = cone_state(d, d.efc_id[i], i, n)
        elif i >= d.ne[0]:
            state = where(f > 0.0, state, ConstraintState.SATISFIED)
        for k in range(i, i + n):
            d.efc_state[k] = state
        i += n
