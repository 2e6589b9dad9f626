"""Nonlinear conjugate gradients on the cost of accelerations, preconditioned by M. MuJoCo: mj_solCG.

The direction is that of Hager and Zhang 2005, "A new conjugate gradient method with guaranteed descent". Each world stops by
itself. Reads and writes: see `primal.py`; qLD, qLDiagInv.
"""

from ..kernel import kernel, stage
from ..kernel.ops import any_, maximum, minimum, not_, sqrt, where
from ..math.quaternion import MIN_VALUE
from .cost import update_rows
from .linesearch import search
from .primal import begin, gradient, inner, jacobian_size, move, precondition, prepare_step, promised, report, scaling

ETA = 0.01  # of Hager and Zhang: how far the direction may turn against the gradient


@kernel
def keep_gradients(m, d):
    """Remember both gradients."""
    for i in range(m.nv):
        d.sol_grad_before[i] = d.sol_grad[i]
        d.sol_Mgrad_before[i] = d.sol_Mgrad[i]


@kernel
def conjugate(m, d):
    """The next direction: down the preconditioned gradient, with a share of the last direction."""
    step_step = inner(m, d.sol_step, d.sol_step)
    grad_grad = inner(m, d.sol_grad, d.sol_grad)
    step_grad = inner(m, d.sol_step, d.sol_grad)
    for i in range(m.nv):
        d.sol_grad_before[i] = d.sol_grad[i] - d.sol_grad_before[i]
        d.sol_Mgrad_before[i] = d.sol_Mgrad[i] - d.sol_Mgrad_before[i]
    step_y = inner(m, d.sol_step, d.sol_grad_before)
    lost = step_y < MIN_VALUE
    divisor = where(lost, 1.0, step_y)
    y_my = inner(m, d.sol_grad_before, d.sol_Mgrad_before)
    y_mgrad = inner(m, d.sol_grad_before, d.sol_Mgrad)
    beta = (y_mgrad - 2.0 * (y_my / divisor) * step_grad) / divisor
    least = -1.0 / maximum(MIN_VALUE, sqrt(step_step) * minimum(ETA, sqrt(grad_grad)))
    beta = where(lost, 0.0, maximum(least, beta))
    for i in range(m.nv):
        d.sol_step[i] = beta * d.sol_step[i] - d.sol_Mgrad[i]


@stage(rare=True)
def solve_cg(m, d):
    """The constrained acceleration qacc and the forces efc_force, qfrc_constraint. MuJoCo's mj_solCG."""
    scale, tolerance = scaling(m, d), m.opt_tolerance
    begin(m, d)
    update_rows(m, d, False)
    gradient(m, d)
    precondition(m, d)
    active = not_(promised(m, d, scale) < tolerance)
    for i in range(m.nv):
        d.sol_step[i] = -d.sol_Mgrad[i]
    k = 0
    while k < m.opt_iterations and any_(active):
        prepare_step(m, d)
        length, improvement, slope = search(m, d, tolerance * m.opt_ls_tolerance / scale, active)
        active = active & (length != 0.0)
        if any_(active):
            move(m, d, where(active, length, 0.0))
            keep_gradients(m, d)
            update_rows(m, d, False)
            norm = scale * gradient(m, d)
            precondition(m, d)
            improvement = scale * improvement
            report(d, k, improvement, norm, scale * slope)
            k += 1
            active = active & not_((norm < tolerance) | ((improvement > 0.0) & (improvement < tolerance)))
            conjugate(m, d)
    d.solver_niter[0], d.solver_nnz[0] = k, jacobian_size(m, d)
