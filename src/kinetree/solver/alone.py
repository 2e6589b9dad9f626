"""Worlds solved one by one in the space of accelerations, each by its own rows and so as if it were alone.

MuJoCo: the solvers of mj_fwdConstraint. Reads: solve_alone, the rows, efc_b. Writes: qacc, efc_force, efc_weight,
qfrc_constraint, the solver's report, of worlds with the flag; efc_Y where all worlds have the same rows.
"""

from ..kernel import kernel
from ..types import Solver
from .cg import solve_cg
from .newton import solve_newton
from .noslip import solve_noslip
from .own_rows import begin_apart, end_apart
from .pgs import solve_pgs


@kernel
def forget_projection(d):
    """Worlds have different rows Y: none is to be seen."""
    d.nY[0] = 0
    for r in range(d.nefc[0]):
        d.efc_Y_rownnz[r], d.efc_Y_rowadr[r] = 0, 0


@kernel
def solve_rest(m, d):
    """Solve for the worlds whose flag `solve_alone` is set, by the model's solver and then without slip."""
    begin_apart(d)
    if m.opt_solver == Solver.PGS:
        solve_pgs(m, d)
    elif m.opt_solver == Solver.CG:
        solve_cg(m, d)
    else:
        solve_newton(m, d)
    if m.opt_noslip_iterations > 0 and d.overflow[0] == 0:
        solve_noslip(m, d)
    end_apart(m, d)
    if d.apart[0] != 0:
        forget_projection(d)
