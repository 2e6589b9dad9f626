"""Nonlinear conjugate gradients on the cost of accelerations, preconditioned by M. MuJoCo: mj_solCG.

The direction is that of Hager and Zhang 2005, "A new conjugate gradient method with guaranteed descent". Each group of
constraints is solved for itself, and in it each world stops by itself. Reads and writes: see `primal.py`; qLD, qLDiagInv.
"""

from ..constraint.island import DOFS, DOFS_END, END, FIRST
from ..kernel import kernel, stage
from ..kernel.guard import interrupted
from ..kernel.ops import any_, maximum, minimum, not_, sqrt, where, zero
from ..math.constants import MIN_VALUE
from ..needs import solver
from ..types import Solver
from .cost import update_group
from .linesearch import search
from .own_rows import end_alone, has_rows, take_own_rows
from .primal import (
    begin,
    gradient,
    inner,
    jacobian_size,
    move,
    precondition,
    prepare_step,
    promised,
    report,
    scaling,
    sum_up,
)

ETA = 0.01  # of Hager and Zhang: how far the direction may turn against the gradient


@kernel
def keep_gradients(d, g):
    """Remember both gradients."""
    for s in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        for i in range(d.dof_run[s, FIRST], d.dof_run[s, END]):
            d.sol_grad_before[i] = d.sol_grad[i]
            d.sol_Mgrad_before[i] = d.sol_Mgrad[i]


@kernel
def change_of_gradients(d, g):
    """What both gradients have changed by since, in place of what they were."""
    for s in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        for i in range(d.dof_run[s, FIRST], d.dof_run[s, END]):
            d.sol_grad_before[i] = d.sol_grad[i] - d.sol_grad_before[i]
            d.sol_Mgrad_before[i] = d.sol_Mgrad[i] - d.sol_Mgrad_before[i]


@kernel
def turn(d, g, beta):
    """The next direction: down the preconditioned gradient, with a share of the last direction."""
    for s in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        for i in range(d.dof_run[s, FIRST], d.dof_run[s, END]):
            d.sol_step[i] = beta * d.sol_step[i] - d.sol_Mgrad[i]


@kernel
def conjugate(d, g):
    """The share of the last direction that makes the next one conjugate to it."""
    step_step = inner(d, g, d.sol_step, d.sol_step)
    grad_grad = inner(d, g, d.sol_grad, d.sol_grad)
    step_grad = inner(d, g, d.sol_step, d.sol_grad)
    change_of_gradients(d, g)
    step_y = inner(d, g, d.sol_step, d.sol_grad_before)
    lost = step_y < MIN_VALUE
    divisor = where(lost, 1.0, step_y)
    y_my = inner(d, g, d.sol_grad_before, d.sol_Mgrad_before)
    y_mgrad = inner(d, g, d.sol_grad_before, d.sol_Mgrad)
    beta = (y_mgrad - 2.0 * (y_my / divisor) * step_grad) / divisor
    least = -1.0 / maximum(MIN_VALUE, sqrt(step_step) * minimum(ETA, sqrt(grad_grad)))
    return where(lost, 0.0, maximum(least, beta))


@kernel
def solve_group(m, d, g):
    """Solve one group; how many iterations it took each world."""
    scale, tolerance, k, count = scaling(m, d, g), m.opt_tolerance, 0, 0
    update_group(d, g, False)
    gradient(m, d, g)
    precondition(m, d, g)
    active = not_(promised(d, g, scale) < tolerance)
    turn(d, g, zero(scale))
    while k < m.opt_iterations and any_(active) and not (k % 4 == 3 and interrupted(d)):
        prepare_step(m, d, g)
        length, improvement, slope = search(m, d, g, tolerance * m.opt_ls_tolerance / scale, active)
        active = active & (length != 0.0)
        if any_(active):
            move(d, g, where(active, length, 0.0))
            keep_gradients(d, g)
            update_group(d, g, False)
            norm = scale * gradient(m, d, g)
            precondition(m, d, g)
            improvement = scale * improvement
            report(d, improvement, norm, scale * slope)
            k += 1
            count = count + where(active, 1, 0)
            active = active & not_((norm < tolerance) | ((improvement > 0.0) & (improvement < tolerance)))
            turn(d, g, conjugate(d, g))
    return count


@kernel
def conjugate_gradients(m, d):
    """Conjugate gradients on the rows at hand."""
    begin(m, d)
    for i in range(m.nv):
        d.sol_step[i] = 0.0
    for g in range(d.ngroup[0]):
        k = solve_group(m, d, g)
        sum_up(d, g, k, jacobian_size(m, d, g))


@stage(when=solver(Solver.CG), scalar=True, part_of="fwd_constraint")
def solve_cg(m, d):
    """The constrained acceleration qacc and the forces efc_force, qfrc_constraint. MuJoCo's mj_solCG."""
    if d.solve_alone[0] and d.overflow[0] == 0:
        lacks = take_own_rows(m, d)
        if has_rows(m, d):
            conjugate_gradients(m, d)
        end_alone(d, lacks)
