"""Accelerations under constraints. MuJoCo: mj_fwdConstraint.

Reads: the rows, qacc_smooth, qfrc_smooth, qacc_warmstart. Writes: qacc, efc_b, efc_force, efc_state, qfrc_constraint, the
solver's report.
"""

from ..constraint.jacobian_product import multiply_J
from ..kernel import kernel, stage
from ..kernel.ops import any_, not_, where
from ..types import Cone, Constraint, ConstraintState, EnableBit, Solver
from .alone import solve_rest
from .cost import update_rows
from .dual import set_dual_states
from .primal import MOST_ISLANDS, begin
from .slot_newton import solve_slots_of_worlds
from .slot_pack import has_slots
from .slots import LARGEST, WIDEST, choose_worlds


@kernel
def linear_terms(m, d):
    """efc_b = J qacc_smooth - aref."""
    multiply_J(m, d, d.qacc_smooth, d.efc_b)
    for i in range(d.nefc[0]):
        d.efc_b[i] -= d.efc_aref[i]


@kernel
def set_states(m, d):
    """Which piece of its cost each row is on, told by its curvature and force."""
    for i in range(d.nefc[0]):
        weighs = d.efc_weight[i] != 0.0
        if d.ne[0] <= i < d.ne[0] + d.nf[0]:
            beyond = where(d.efc_force[i] > 0.0, ConstraintState.LINEARNEG, ConstraintState.LINEARPOS)
            d.efc_state[i] = where(weighs, ConstraintState.QUADRATIC, beyond)
        elif d.efc_type[i] == Constraint.CONTACT_ELLIPTIC:
            slides = d.efc_force[d.contact_efc_address[d.efc_id[i]]] != 0.0
            without = where(slides, ConstraintState.CONE, ConstraintState.SATISFIED)
            d.efc_state[i] = where(weighs, ConstraintState.QUADRATIC, without)
        else:
            d.efc_state[i] = where(weighs, ConstraintState.QUADRATIC, ConstraintState.SATISFIED)


@kernel
def solve_primal(m, d):
    """Newton's method: in constraint space where that is the smaller problem."""
    choose_worlds(m, d)
    if m.opt_enableflags & EnableBit.SLEEP:
        has_slots(m, d, d.npass[WIDEST] + d.npass[LARGEST])  # `settle` must find room for them
    if any_(not_(d.solve_alone[0])):
        begin(m, d)
        solve_slots_of_worlds(m, d)
        update_rows(m, d, m.opt_cone == Cone.ELLIPTIC)
    if any_(d.solve_alone[0]) and d.overflow[0] == 0:
        solve_rest(m, d)


@stage
def fwd_constraint(m, d):
    """Accelerations and forces of constraints: qacc, efc_force, qfrc_constraint. MuJoCo's mj_fwdConstraint."""
    d.solver_nstat[0] = 0
    for k in range(MOST_ISLANDS):
        d.solver_niter[k] = 0
    if d.nefc[0] == 0:
        for i in range(m.nv):
            d.qacc[i] = d.qacc_smooth[i]
            d.qfrc_constraint[i] = 0.0
        return
    linear_terms(m, d)
    if m.opt_solver == Solver.NEWTON and m.opt_noslip_iterations == 0:
        solve_primal(m, d)
    else:
        d.solve_alone[0] = True
        solve_rest(m, d)
    if m.opt_solver == Solver.PGS or m.opt_noslip_iterations > 0:
        set_dual_states(d)
    else:
        set_states(m, d)
