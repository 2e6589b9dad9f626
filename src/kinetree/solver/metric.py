"""The inertia that solvers work in: M, or the metric of whoever takes more than M implicitly.

With the metric come rows behind those of constraints (nefc..nrow - 1), each with a mass efc_D: what they couple has no place in
the pattern of M. The metric is then M^ = metric + J' D J over these rows. Its factor has of couplings the diagonal alone: it is
exact without them, and a preconditioner otherwise.
Reads: nmetric, metric, metric_LD, metric_LDiagInv, metric_shift or M, qLD, qLDiagInv; rows of couplings.
"""

from ..constraint.island import COUPLED, COUPLED_END, END, FIRST
from ..dynamics.factor import multiply_part, pass_up, solve_part
from ..kernel import kernel
from ..kernel.ops import zero


@kernel
def add_coupled(d, x, y, first, end):
    """y += J' D J x for rows of couplings."""
    for r in range(first, end):
        rate = zero(d.time[0])
        for at in range(d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]):
            rate += d.efc_J[at] * x[d.efc_J_colind[at]]
        rate *= d.efc_D[r]
        for at in range(d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]):
            y[d.efc_J_colind[at]] += d.efc_J[at] * rate


@kernel
def multiply_tree(m, d, x, y, first, end):
    """y = inertia x for dofs of whole trees, without couplings."""
    matrix = d.metric if d.nmetric[0] != 0 else d.M
    multiply_part(m, matrix, x, y, first, end)


@kernel
def add_coupled_of_group(d, g, x, y):
    """y += what couplings in a group do to x."""
    for s in range(d.group_part[g, COUPLED], d.group_part[g, COUPLED_END]):
        add_coupled(d, x, y, d.row_run[s, FIRST], d.row_run[s, END])


@kernel
def weigh(m, d, x, y):
    """y = inertia x, less the shift: what accelerates if that is subtracted from the smooth forces."""
    multiply_tree(m, d, x, y, 0, m.nv)
    if d.nmetric[0] != 0:
        add_coupled(d, x, y, d.nefc[0], d.nrow[0])
        for i in range(m.nv):
            y[i] -= d.metric_shift[i]


@kernel
def solve_tree(m, d, x, first, end):
    """Replace x by the solution of inertia y = x for dofs of whole trees, of couplings with the diagonal alone."""
    factor = d.metric_LD if d.nmetric[0] != 0 else d.qLD
    diagonal_inverse = d.metric_LDiagInv if d.nmetric[0] != 0 else d.qLDiagInv
    solve_part(m, factor, diagonal_inverse, x, first, end)


@kernel
def pass_up_tree(m, d, x, i):
    """`pass_up` with the factor that `solve_tree` has."""
    factor = d.metric_LD if d.nmetric[0] != 0 else d.qLD
    return pass_up(m, factor, x, i)


@kernel
def pivot_inverse_of(d, i):
    """One over the pivot of dof i in that factor."""
    diagonal_inverse = d.metric_LDiagInv if d.nmetric[0] != 0 else d.qLDiagInv
    return diagonal_inverse[i]
