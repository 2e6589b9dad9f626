"""What the primal solvers share: where they start, the gradient, moving on, and when they stop.

MuJoCo: mj_solPrimal, PrimalUpdateGrad and warmstart in engine_solver.c and engine_forward.c. The cost of an acceleration a is
(a - qacc_smooth)' M (a - qacc_smooth) / 2 plus that of the rows (`cost.py`).
Reads: M, qfrc_smooth, qacc_smooth, qacc_warmstart, efc_J, efc_aref. Writes: qacc, sol_Ma, efc_jar, sol_grad, qfrc_constraint.
"""

from ..constraint.jacobian_product import add_J_transpose, multiply_J
from ..constraint.rows import is_sparse
from ..dynamics.factor import multiply, solve_in_place
from ..kernel import kernel
from ..kernel.ops import maximum, sqrt, where, zero
from ..types import DisableBit
from .cost import update_rows

NO_WARMSTART = int(DisableBit.WARMSTART)
MOST_REPORTS = 200  # iterations whose statistics are kept


@kernel
def residuals(m, d, qacc):
    """efc_jar = J qacc - aref."""
    multiply_J(m, d, qacc, d.efc_jar)
    for i in range(d.nefc[0]):
        d.efc_jar[i] -= d.efc_aref[i]


@kernel
def gauss_cost(m, d):
    """Cost of the difference from the smooth acceleration, with sol_Ma = M qacc."""
    total = zero(d.time[0])
    for i in range(m.nv):
        total += (d.sol_Ma[i] - d.qfrc_smooth[i]) * (d.qacc[i] - d.qacc_smooth[i])
    return 0.5 * total


@kernel
def begin(m, d):
    """Start from the last step's acceleration or from the smooth one, whichever costs less: qacc, sol_Ma, efc_jar."""
    for i in range(m.nv):
        d.qacc[i] = d.qacc_smooth[i]
    if m.opt_disableflags & NO_WARMSTART == 0:
        residuals(m, d, d.qacc)
        smooth = update_rows(m, d, False)
        for i in range(m.nv):
            d.qacc[i] = d.qacc_warmstart[i]
        multiply(m, d.M, d.qacc, d.sol_Ma)
        residuals(m, d, d.qacc)
        warm = gauss_cost(m, d) + update_rows(m, d, False)
        better = warm <= smooth  # costs that are not numbers are not: such a state must be seen in qacc
        for i in range(m.nv):
            d.qacc[i] = where(better, d.qacc_warmstart[i], d.qacc_smooth[i])
    multiply(m, d.M, d.qacc, d.sol_Ma)
    residuals(m, d, d.qacc)


@kernel
def gradient(m, d):
    """sol_grad = M qacc - qfrc_smooth - J' force, and qfrc_constraint = J' force; the gradient's norm."""
    for i in range(m.nv):
        d.qfrc_constraint[i] = 0.0
    add_J_transpose(m, d, d.efc_force, d.qfrc_constraint)
    square = zero(d.time[0])
    for i in range(m.nv):
        g = d.sol_Ma[i] - d.qfrc_smooth[i] - d.qfrc_constraint[i]
        d.sol_grad[i] = g
        square += g * g
    return sqrt(square)


@kernel
def inner(m, a, b):
    """Inner product of two vectors over the dofs."""
    total = zero(a[0])
    for i in range(m.nv):
        total += a[i] * b[i]
    return total


@kernel
def precondition(m, d):
    """sol_Mgrad = M^-1 grad."""
    for i in range(m.nv):
        d.sol_Mgrad[i] = d.sol_grad[i]
    solve_in_place(m, d.qLD, d.qLDiagInv, d.sol_Mgrad)


@kernel
def promised(m, d, scale):
    """By how much the cost could still fall if its curvature were that by which sol_Mgrad was computed, scaled."""
    return maximum(0.0, 0.5 * scale * inner(m, d.sol_grad, d.sol_Mgrad))


@kernel
def prepare_step(m, d):
    """M and J times the step."""
    multiply(m, d.M, d.sol_step, d.sol_Mv)
    multiply_J(m, d, d.sol_step, d.efc_Jv)


@kernel
def move(m, d, length):
    """Go along the step."""
    for i in range(m.nv):
        d.qacc[i] += length * d.sol_step[i]
        d.sol_Ma[i] += length * d.sol_Mv[i]
    for i in range(d.nefc[0]):
        d.efc_jar[i] += length * d.efc_Jv[i]


@kernel
def scaling(m, d):
    """What makes costs and gradients independent of the size of the model: one over the trace of M."""
    trace = zero(d.time[0])
    for i in range(m.nv):
        trace += d.M[m.M_rowadr[i] + m.M_rownnz[i] - 1]
    return 1.0 / trace


@kernel
def report(d, k, improvement, gradient_norm, slope):
    """Keep the statistics of iteration k."""
    if k < MOST_REPORTS:
        d.solver_improvement[k] = improvement
        d.solver_gradient[k] = gradient_norm
        d.solver_lineslope[k] = slope


@kernel
def jacobian_size(m, d):
    """Numbers in the Jacobian as MuJoCo stores it."""
    return d.nJ[0] if is_sparse(m) else d.nefc[0] * m.nv
