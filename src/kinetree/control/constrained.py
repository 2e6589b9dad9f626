"""Constraints under stable PD: their solve on M as changed by controller and damping, so that contacts see that inertia.

MuJoCo has nothing like it: there a controller is a given force to the solver, whatever its gains. The rows themselves, their
softness among them, are those of the model.
Reads: the rows, M, qDeriv, aba_diagonal, aba_qacc. Writes: aba_qacc, qacc, qacc_smooth, qfrc_constraint and what the solver
writes. Scratch: the metric of the solvers, which is this inertia meanwhile; qfrc_smooth, with it.
"""

from .. import pipeline
from ..capacity import MAXMETRIC, fits
from ..constraint.jacobian_product import add_J_transpose
from ..dynamics.factor import copy_rows, factor_in_place, multiply
from ..kernel import kernel
from ..kernel.ops import zero
from ..solver.cost import update_rows
from ..solver.primal import residuals
from .solvers import set_changed_inertia

FACTOR_M = pipeline.factor_m.stage_index


@kernel
def has_rows(d, a):
    """Whether constraints are to be considered, and some hold."""
    return a.constrained != 0 and d.nefc[0] > 0


@kernel
def change_inertia(m, d, a):
    """Give the solvers M + h D + diag as their metric, factored."""
    set_changed_inertia(m, d, a, d.metric)
    d.stage_order[FACTOR_M] = 0  # that of an earlier M is not to be taken for its factor
    copy_rows(m, d.metric, d.metric_LD, 0, m.nv)
    factor_in_place(m, d.metric_LD, d.metric_LDiagInv)
    for i in range(m.nv):
        d.metric_shift[i] = 0.0
    d.nmetric[0] = m.nC


@kernel
def constrain(m, d, a):
    """Take the acceleration aba_qacc to what constraints make of it."""
    if fits(d, MAXMETRIC, m.nC):  # else this pass will run again
        change_inertia(m, d, a)
        for i in range(m.nv):
            d.qacc_smooth[i] = d.aba_qacc[i]
        multiply(m, d.metric, d.qacc_smooth, d.qfrc_smooth)
        pipeline.fwd_constraint(m, d)
        d.nmetric[0] = 0
    for i in range(m.nv):
        d.aba_qacc[i] = d.qacc[i]


@kernel
def constraint_force(d, a, i):
    """The force of constraints on dof i, as computed last."""
    return d.qfrc_constraint[i] if has_rows(d, a) else zero(d.time[0])


@kernel
def set_constraint_force(m, d, a, share):
    """The forces of constraints where a share of the way from the start to the last solution is done."""
    if has_rows(d, a):
        for i in range(m.nv):
            d.qacc[i] = a.start[i] + share * (d.aba_qacc[i] - a.start[i])
            d.qfrc_constraint[i] = 0.0
        residuals(m, d, d.qacc)
        update_rows(m, d, False)
        add_J_transpose(m, d, d.efc_force, d.qfrc_constraint)
