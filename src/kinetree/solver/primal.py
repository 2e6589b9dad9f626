"""What the primal solvers share: where they start, the gradient, moving on, and when they stop.

MuJoCo: mj_solPrimal, PrimalUpdateGrad and warmstart in engine_solver.c and engine_forward.c. The cost of an acceleration a is
(a - qacc_smooth)' M (a - qacc_smooth) / 2 plus that of the rows (`cost.py`); M is what `metric.py` gives. It is a sum over
groups (`island.py`) that have no dof in common: all start at once, and then each is minimised for itself.
Reads: M, qfrc_smooth, qacc_smooth, qacc_warmstart, efc_J, efc_aref, efc_b.
Writes: qacc, sol_Ma, efc_jar, sol_grad, qfrc_constraint.
"""

from ..constraint.island import DOFS, DOFS_END, END, FIRST, PLACES, PLACES_END, ROWS, ROWS_END
from ..constraint.jacobian_product import add_transposed_rows, multiply_J, multiply_rows
from ..constraint.rows import is_sparse
from ..kernel import kernel
from ..kernel.ops import absolute, any_, maximum, not_, sqrt, where, zero
from ..math.constants import coarse
from ..types import DisableBit
from .cost import update_rows
from .metric import add_coupled_of_group, multiply_tree, solve_tree, weigh

MOST_REPORTS, MOST_ISLANDS = 200, 20  # iterations whose statistics are kept, islands whose iterations are counted


@kernel
def residuals(m, d, qacc):
    """efc_jar = J qacc - aref."""
    multiply_J(m, d, qacc, d.efc_jar)
    for i in range(d.nefc[0]):
        d.efc_jar[i] -= d.efc_aref[i]


@kernel
def gauss_cost(m, d):
    """Cost of the difference from the smooth acceleration, with sol_Ma as `weigh` gives it."""
    total = zero(d.time[0])
    for i in range(m.nv):
        total += (d.sol_Ma[i] - d.qfrc_smooth[i]) * (d.qacc[i] - d.qacc_smooth[i])
    return 0.5 * total


@kernel
def begin(m, d):
    """Start from the last step's acceleration or from the smooth one, whichever costs less: qacc, sol_Ma, efc_jar."""
    for i in range(m.nv):
        d.qacc[i] = d.qacc_smooth[i]
    for r in range(d.nefc[0]):
        d.efc_jar[r] = d.efc_b[r]
    if m.opt_disableflags & DisableBit.WARMSTART:
        weigh(m, d, d.qacc, d.sol_Ma)
    else:
        smooth = update_rows(m, d, False)
        weigh(m, d, d.qacc_warmstart, d.sol_Ma)
        for i in range(m.nv):
            d.qacc[i] = d.qacc_warmstart[i]
        residuals(m, d, d.qacc)
        warm = gauss_cost(m, d) + update_rows(m, d, False)
        better = warm <= smooth  # costs that are not numbers are not: such a state must be seen in qacc
        if any_(not_(better)):
            for i in range(m.nv):
                d.qacc[i] = where(better, d.qacc_warmstart[i], d.qacc_smooth[i])
            for r in range(d.nefc[0]):
                d.efc_jar[r] = where(better, d.efc_jar[r], d.efc_b[r])
            weigh(m, d, d.qacc, d.sol_Ma)
    if d.nisland[0] > 0:
        for p in range(d.nidof[0], m.nv):  # dofs in no island: nothing acts on them
            i = d.map_idof2dof[p]
            d.qacc[i], d.qfrc_constraint[i] = d.qacc_smooth[i], 0.0


@kernel
def gradient(m, d, g):
    """sol_grad = M qacc - qfrc_smooth - J' force, and qfrc_constraint = J' force, of a group; the gradient's norm.

    In single precision it is zero where there is no more to it than rounding of its terms: there is nothing left to gain.
    """
    square, terms = zero(d.time[0]), zero(d.time[0])
    for s in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        for i in range(d.dof_run[s, FIRST], d.dof_run[s, END]):
            d.qfrc_constraint[i] = 0.0
    for s in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        add_transposed_rows(d, d.efc_force, d.qfrc_constraint, d.row_run[s, FIRST], d.row_run[s, END])
    for s in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        for i in range(d.dof_run[s, FIRST], d.dof_run[s, END]):
            slope = d.sol_Ma[i] - d.qfrc_smooth[i] - d.qfrc_constraint[i]
            d.sol_grad[i] = slope
            square += slope * slope
            if any_(coarse(square) > 0.0):
                size = absolute(d.sol_Ma[i]) + absolute(d.qfrc_smooth[i]) + absolute(d.qfrc_constraint[i])
                terms += size * size
    least = 4.0 * coarse(square)
    return sqrt(where(square < least * least * terms, 0.0, square))


@kernel
def inner(d, g, a, b):
    """Inner product of two vectors over the dofs of a group."""
    total = zero(d.time[0])
    for s in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        for i in range(d.dof_run[s, FIRST], d.dof_run[s, END]):
            total += a[i] * b[i]
    return total


@kernel
def precondition(m, d, g):
    """sol_Mgrad = M^-1 grad."""
    for s in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        first, end = d.dof_run[s, FIRST], d.dof_run[s, END]
        for i in range(first, end):
            d.sol_Mgrad[i] = d.sol_grad[i]
        solve_tree(m, d, d.sol_Mgrad, first, end)


@kernel
def promised(d, g, scale):
    """By how much the cost could still fall if its curvature were that by which sol_Mgrad was computed, scaled."""
    return maximum(0.0, 0.5 * scale * inner(d, g, d.sol_grad, d.sol_Mgrad))


@kernel
def prepare_step(m, d, g):
    """M and J times the step."""
    for s in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        multiply_tree(m, d, d.sol_step, d.sol_Mv, d.dof_run[s, FIRST], d.dof_run[s, END])
    add_coupled_of_group(d, g, d.sol_step, d.sol_Mv)
    for s in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        multiply_rows(d, d.sol_step, d.efc_Jv, d.row_run[s, FIRST], d.row_run[s, END])


@kernel
def move(d, g, length):
    """Go along the step."""
    for s in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        for i in range(d.dof_run[s, FIRST], d.dof_run[s, END]):
            d.qacc[i] += length * d.sol_step[i]
            d.sol_Ma[i] += length * d.sol_Mv[i]
    for s in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        for i in range(d.row_run[s, FIRST], d.row_run[s, END]):
            d.efc_jar[i] += length * d.efc_Jv[i]


@kernel
def scaling(m, d, g):
    """What makes costs and gradients independent of the size of a group: one over the trace of its M."""
    trace = zero(d.time[0])
    for s in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        for i in range(d.dof_run[s, FIRST], d.dof_run[s, END]):
            trace += d.M[m.M_rowadr[i] + m.M_rownnz[i] - 1]
    return 1.0 / trace


@kernel
def report(d, improvement, gradient_norm, slope):
    """Keep the statistics of an iteration."""
    k = d.solver_nstat[0]
    if k < MOST_REPORTS:
        d.solver_improvement[k] = improvement
        d.solver_gradient[k] = gradient_norm
        d.solver_lineslope[k] = slope
        d.solver_nstat[0] = k + 1


@kernel
def sum_up(d, g, iterations, nnz):
    """Count the iterations of a group, and note the size of its matrix."""
    if g < MOST_ISLANDS:
        d.solver_niter[g] += iterations
        d.solver_nnz[g] = nnz


@kernel
def size_of(d, g):
    """How many dofs and rows a group has."""
    rows = 0
    for s in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        rows += d.row_run[s, END] - d.row_run[s, FIRST]
    return d.group_part[g, PLACES_END] - d.group_part[g, PLACES], rows


@kernel
def sum_over_rows(d, g, counts):
    """Sum of a field of numbers over the rows of a group."""
    total = 0
    for s in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        for r in range(d.row_run[s, FIRST], d.row_run[s, END]):
            total += counts[r]
    return total


@kernel
def jacobian_size(m, d, g):
    """Numbers in a group's Jacobian as MuJoCo stores it."""
    dofs, rows = size_of(d, g)
    return sum_over_rows(d, g, d.efc_J_rownnz) if is_sparse(m) else rows * dofs
