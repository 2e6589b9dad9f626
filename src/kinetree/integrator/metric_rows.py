"""Rows of what couples dofs in the metric of the discrete integrator: tendons and actuators that act on several dofs.

A tendon with a spring or damper, and an actuator whose force hangs on its length or velocity, make the metric stiffer along the
row of their Jacobian. Rows of one dof are in the diagonal. Others stand behind the rows of constraints, copied, so that solvers
treat them alike: who pulls, efc_id, is a tendon, or ntendon plus an output of an actuator. Trees that they join are solved
together. Under PGS, which needs a factor, there are none: what tendons and actuators do is explicit there.
MuJoCo: part of the metric's setup behind mj_fwdPosition. Reads: ten_J, actuator_moment, the rows. Writes: nrow, nentry and the
fields of these rows; islands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..capacity import MAXEFC, MAXJ, MAXMETRIC, fits
from ..constraint.island import find_islands
from ..constraint.rows import put_entry
from ..dynamics.activation import actuator_disabled
from ..dynamics.sleep_state import actuator_sleeps, tendon_sleeps
from ..dynamics.spring import is_stiff, tendon_stiffness
from ..kernel import kernel, stage
from ..kernel.ops import needs
from ..needs import integrator
from ..types import BiasType, DisableBit, GainType, Integrator, Solver

if TYPE_CHECKING:
    from ..model import Model


@kernel
def tendon_is_implicit(m, t):
    """Whether tendon t has a spring or damper that acts."""
    if m.opt_disableflags & DisableBit.SPRING == 0 and needs(is_stiff(tendon_stiffness(m, t))):
        return True
    if m.opt_disableflags & DisableBit.DAMPER != 0:
        return False
    own = m.tendon_damping[t], m.tendon_dampingpoly[t, 0], m.tendon_dampingpoly[t, 1]
    return m.tendon_actuatorid[t] != -1 or needs(is_stiff(own))


@kernel
def has_feedback(m, k):
    """Whether the force of actuator k can change with its length or velocity."""
    gain, bias = m.actuator_gaintype[k], m.actuator_biastype[k]
    if gain == GainType.MUSCLE or gain == GainType.DCMOTOR or bias == BiasType.MUSCLE or bias == BiasType.DCMOTOR:
        return True
    if gain == GainType.AFFINE and needs((m.actuator_gainprm[k, 1] != 0.0) | (m.actuator_gainprm[k, 2] != 0.0)):
        return True
    by = (m.actuator_biasprm[k, 1] != 0.0) | (m.actuator_biasprm[k, 2] != 0.0)
    return (bias == BiasType.AFFINE or bias == BiasType.SO3) and needs(by)


@kernel
def actuator_is_implicit(m, k):
    """Whether actuator k is switched on and has such feedback."""
    if m.opt_disableflags & DisableBit.ACTUATION or actuator_disabled(m, k):
        return False
    return has_feedback(m, k)


@kernel
def takes_couplings(m):
    """Whether tendons and actuators have a part in the metric."""
    return m.opt_integrator == Integrator.DISCRETE and m.opt_solver != Solver.PGS


def metric_couples(model: Model) -> bool:
    """Whether the metric of a model may have rows: some tendon or actuator is implicit."""
    m = model.record()
    tendons = any(tendon_is_implicit(m, t) for t in range(m.ntendon))
    return bool(takes_couplings(m)) and (tendons or any(actuator_is_implicit(m, k) for k in range(m.nactuator)))


@kernel
def add_row(d, who, values, columns, first, n):
    """Copy a row of several dofs behind the last one."""
    if n > 1:
        row, at = d.nrow[0], d.nentry[0]
        rows_fit, entries_fit = fits(d, MAXEFC, row + 1), fits(d, MAXJ, at + n)
        if rows_fit and entries_fit:
            for k in range(n):
                put_entry(d, at + k, columns[first + k], values[first + k])
            d.efc_type[row], d.efc_id[row], d.efc_D[row] = 0, who, 0.0
            d.efc_J_rownnz[row], d.efc_J_rowadr[row], d.efc_J_rowsuper[row] = n, at, 0
        d.nrow[0], d.nentry[0] = row + 1, at + n


@kernel
def add_tendons(m, d):
    """Rows of tendons."""
    for t in range(m.ntendon):
        if tendon_is_implicit(m, t) and not tendon_sleeps(m, d, t):
            add_row(d, t, d.ten_J, m.ten_J_colind, m.ten_J_rowadr[t], m.ten_J_rownnz[t])


@kernel
def add_actuators(m, d):
    """Rows of outputs of actuators."""
    for k in range(m.nactuator):
        if actuator_is_implicit(m, k) and not actuator_sleeps(m, d, k):
            for out in range(m.actuator_outadr[k], m.actuator_outadr[k] + m.actuator_outnum[k]):
                first, n = d.moment_rowadr[out], d.moment_rownnz[out]
                add_row(d, m.ntendon + out, d.actuator_moment, d.moment_colind, first, n)


@stage(when=integrator(Integrator.DISCRETE))
def metric_rows(m, d):
    """Room for the metric, and the rows that couple dofs in it, after those of constraints. Part of MuJoCo's mj_fwdPosition.

    Without room there are none: this pass will run again.
    """
    d.nrow[0], d.nentry[0], d.nmetric[0] = d.nefc[0], d.nJ[0], 0
    fits(d, MAXMETRIC, m.nC)
    if takes_couplings(m):
        add_tendons(m, d)
        add_actuators(m, d)
        if d.overflow[0] != 0:
            d.nrow[0], d.nentry[0] = d.nefc[0], d.nJ[0]
        elif d.nrow[0] > d.nefc[0]:
            find_islands(m, d)
