"""Newton's method on the cost of accelerations, with exact line search. MuJoCo: mj_solNewton.

Each group of constraints has steps of its own, and in it each world stops by itself: where it has, the step is zero.
Reads and writes: see `primal.py`; H, H_diaginv.
"""

from ..constraint.island import DOFS, DOFS_END, END, FIRST, PLACES, PLACES_END
from ..constraint.rows import is_sparse
from ..kernel import kernel, stage
from ..kernel.guard import interrupted
from ..kernel.ops import any_, not_, where
from ..needs import solver
from ..types import Cone, EnableBit, Solver
from .cost import update_group
from .hessian import make_hessian, solve_hessian
from .linesearch import search
from .own_rows import end_alone, has_rows, take_own_rows
from .pattern import set_pattern
from .primal import (
    begin,
    gradient,
    jacobian_size,
    move,
    precondition,
    prepare_step,
    promised,
    report,
    scaling,
    sum_up,
)


@stage(when=solver(Solver.NEWTON), part_of="fwd_constraint")
def newton_direction(m, d):
    """The step that Newton's method asks for in the group at hand: sol_Mgrad = H^-1 grad. Part of MuJoCo's mj_solNewton."""
    g = d.group[0]
    make_hessian(m, d, g)
    for s in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        for i in range(d.dof_run[s, FIRST], d.dof_run[s, END]):
            d.sol_Mgrad[i] = d.sol_grad[i]
    solve_hessian(m, d, g, d.sol_Mgrad)


@kernel
def is_solved(m, d, g, norm, scale):
    """Whether the first guess is good enough in every world, which needs no Hessian to tell."""
    if any_(not_(norm < m.opt_tolerance)):
        return False
    precondition(m, d, g)
    return not any_(not_(promised(d, g, scale) < m.opt_tolerance))


@kernel
def hessian_size(m, d, g):
    """Numbers in a group's Hessian and its factor if they are sparse in MuJoCo, else in the matrix."""
    first, end, total = d.group_part[g, PLACES], d.group_part[g, PLACES_END], 0
    if not is_sparse(m):
        return (end - first) * (end - first)
    for p in range(first, end):
        total += d.H_rownnz[d.H_order[p]]
    return total


@kernel
def turn_back(d, g):
    """The step against sol_Mgrad."""
    for s in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        for i in range(d.dof_run[s, FIRST], d.dof_run[s, END]):
            d.sol_step[i] = -d.sol_Mgrad[i]


@kernel
def iterate(m, d, g, norm, scale):
    """Steps until no world promises any more; how many each world made."""
    cones, tolerance, k, count = m.opt_cone == Cone.ELLIPTIC, m.opt_tolerance, 0, 0
    newton_direction(m, d)
    active = not_((norm < tolerance) & (promised(d, g, scale) < tolerance))
    while k < m.opt_iterations and any_(active) and not (k > 0 and interrupted(d)):
        turn_back(d, g)
        prepare_step(m, d, g)
        length, improvement, slope = search(m, d, g, tolerance * m.opt_ls_tolerance / scale, active)
        active = active & (length != 0.0)
        if any_(active):
            move(d, g, where(active, length, 0.0))
            update_group(d, g, cones)
            norm = scale * gradient(m, d, g)
            improvement = scale * improvement
            report(d, improvement, norm, scale * slope)
            k += 1
            count = count + where(active, 1, 0)
            done = (norm < tolerance) | ((improvement > 0.0) & (improvement < tolerance))
            active = active & not_(done)
            if any_(active):
                newton_direction(m, d)
                active = active & not_(promised(d, g, scale) < tolerance)
    return count


@kernel
def newton(m, d):
    """Newton's method on the rows at hand."""
    begin(m, d)
    d.H_current[0] = 0
    for g in range(d.ngroup[0]):
        d.group[0] = g
        scale = scaling(m, d, g)
        update_group(d, g, m.opt_cone == Cone.ELLIPTIC)
        norm = scale * gradient(m, d, g)
        solved = is_solved(m, d, g, norm, scale)
        if d.H_current[0] == 0 and (
            not solved or m.opt_enableflags & EnableBit.SLEEP
        ):  # `settle` must find room for it
            set_pattern(m, d)
            if d.overflow[0] != 0:
                return
            d.H_current[0] = 1
        if solved:
            sum_up(d, g, 0, jacobian_size(m, d, g))
        else:
            k = iterate(m, d, g, norm, scale)
            sum_up(d, g, k, hessian_size(m, d, g))


@stage(when=solver(Solver.NEWTON), scalar=True, part_of="fwd_constraint")
def solve_newton(m, d):
    """The constrained acceleration qacc and the forces efc_force, qfrc_constraint. MuJoCo's mj_solNewton."""
    if d.solve_alone[0] and d.overflow[0] == 0:
        lacks = take_own_rows(m, d)
        if has_rows(m, d):
            newton(m, d)
        end_alone(d, lacks)
