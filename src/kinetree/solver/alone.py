"""Worlds that are not solved in constraint space.

Reads: solve_alone, the rows. Writes: what the solvers write.
"""

from ..kernel import kernel
from ..types import Solver
from .cg import solve_cg
from .newton import solve_newton
from .noslip import solve_noslip
from .pgs import solve_pgs
from .primal import MOST_ISLANDS


@kernel
def solve_rest(m, d):
    """Solve all worlds of a block, in rows that exist in any of them."""
    d.solver_nstat[0] = 0
    for k in range(MOST_ISLANDS):
        d.solver_niter[k] = 0
    if m.opt_solver == Solver.PGS:
        solve_pgs(m, d)
    elif m.opt_solver == Solver.CG:
        solve_cg(m, d)
    else:
        solve_newton(m, d)
    if m.opt_noslip_iterations > 0 and d.overflow[0] == 0:
        solve_noslip(m, d)
