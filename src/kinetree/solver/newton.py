"""Newton's method on the cost of accelerations, with exact line search. MuJoCo: mj_solNewton.

Each world stops by itself: where it has, the step is zero. Reads and writes: see `primal.py`; H, H_diaginv.
"""

from ..constraint.rows import is_sparse
from ..kernel import kernel, stage
from ..kernel.ops import any_, not_, where
from ..types import Cone
from .cost import update_rows
from .hessian import make_hessian, solve_hessian
from .linesearch import search
from .pattern import set_pattern
from .primal import begin, gradient, jacobian_size, move, precondition, prepare_step, promised, report, scaling

ELLIPTIC = int(Cone.ELLIPTIC)


@stage
def newton_direction(m, d):
    """The step that Newton's method asks for: sol_Mgrad = H^-1 grad. Part of MuJoCo's mj_solNewton."""
    make_hessian(m, d)
    for i in range(m.nv):
        d.sol_Mgrad[i] = d.sol_grad[i]
    solve_hessian(m, d, d.sol_Mgrad)


@kernel
def is_solved(m, d, norm, scale):
    """Whether the first guess is good enough in every world, which needs no Hessian to tell."""
    if any_(not_(norm < m.opt_tolerance)):
        return False
    precondition(m, d)
    return not any_(not_(promised(m, d, scale) < m.opt_tolerance))


@kernel
def hessian_size(m, d):
    """Numbers in the Hessian and its factor if they are sparse in MuJoCo, else in the matrix."""
    if not is_sparse(m):
        return m.nv * m.nv
    total = 0
    for i in range(m.nv):
        total += d.H_rownnz[i]
    return total


@stage
def solve_newton(m, d):
    """The constrained acceleration qacc and the forces efc_force, qfrc_constraint. MuJoCo's mj_solNewton."""
    cones, scale, tolerance = m.opt_cone == ELLIPTIC, scaling(m, d), m.opt_tolerance
    begin(m, d)
    update_rows(m, d, cones)
    norm = scale * gradient(m, d)
    if is_solved(m, d, norm, scale):
        d.solver_nnz[0] = jacobian_size(m, d)
        return
    set_pattern(m, d)
    if d.overflow[0] != 0:
        return
    newton_direction(m, d)
    active = not_((norm < tolerance) & (promised(m, d, scale) < tolerance))
    k = 0
    while k < m.opt_iterations and any_(active):
        for i in range(m.nv):
            d.sol_step[i] = -d.sol_Mgrad[i]
        prepare_step(m, d)
        length, improvement, slope = search(m, d, tolerance * m.opt_ls_tolerance / scale, active)
        active = active & (length != 0.0)
        if any_(active):
            move(m, d, where(active, length, 0.0))
            update_rows(m, d, cones)
            norm = scale * gradient(m, d)
            improvement = scale * improvement
            report(d, k, improvement, norm, scale * slope)
            k += 1
            done = (norm < tolerance) | ((improvement > 0.0) & (improvement < tolerance))
            active = active & not_(done)
            if any_(active):
                newton_direction(m, d)
                active = active & not_(promised(m, d, scale) < tolerance)
    d.solver_niter[0], d.solver_nnz[0] = k, hessian_size(m, d)
