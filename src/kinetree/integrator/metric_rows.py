"""Rows of what couples dofs in the metric of the discrete integrator: tendons and actuators that act on several dofs.

A tendon with a spring or damper, and an actuator whose force hangs on its length or velocity, make the metric stiffer along the
row of their Jacobian. Rows of one dof are in the diagonal. Others stand behind the rows of constraints, copied, so that solvers
treat them alike: who pulls, efc_id, is a tendon, or ntendon plus an output of an actuator. Trees that they join are solved
together. Under PGS, which needs a factor, there are none: what tendons and actuators do is explicit there.
MuJoCo: part of the metric's setup behind mj_fwdPosition. Reads: ten_J, actuator_moment, the rows. Writes: nrow, nentry and the
fields of these rows; the groups that they are in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..capacity import MAXEFC, MAXJ, MAXMETRIC, fits
from ..constraint.island import add_couplings
from ..constraint.rows import put_entry
from ..dynamics.feedback import actuator_is_implicit, takes_couplings, tendon_is_implicit
from ..dynamics.sleep_state import actuator_sleeps, dof_sleeps, tendon_sleeps
from ..kernel import kernel, stage
from ..kernel.ops import needs
from ..needs import integrator
from ..types import Integrator, JointType

if TYPE_CHECKING:
    from ..model import Model


def metric_couples(model: Model) -> bool:
    """Whether the metric of a model may have rows: some tendon or actuator is implicit."""
    m = model.record()
    tendons = any(tendon_is_implicit(m, t) for t in range(m.ntendon))
    return bool(takes_couplings(m)) and (tendons or any(actuator_is_implicit(m, k) for k in range(m.nactuator)))


@kernel
def is_diagonal(m, columns, first, n):
    """Whether a term adds to the diagonal alone: it has one dof. What acts on free bodies has a row, to be seen there."""
    return n == 1 and m.jnt_type[m.dof_jntid[columns[first]]] != JointType.FREE


@kernel
def add_row(m, d, who, values, columns, first, n, sparse):
    """Copy a row of several dofs behind the last one, without those that sleep. sparse: also without zeros.

    MuJoCo lists of actuators only what is not zero, and of tendons every dof of their path: islands and lone bodies go by that.
    """
    if n > 0 and not is_diagonal(m, columns, first, n):
        row, at = d.nrow[0], d.nentry[0]
        rows_fit, entries_fit = fits(d, MAXEFC, row + 1), fits(d, MAXJ, at + n)
        if rows_fit and entries_fit:
            for k in range(first, first + n):
                if not dof_sleeps(m, d, columns[k]) and (not sparse or needs(values[k] != 0.0)):
                    put_entry(d, at, columns[k], values[k])
                    at += 1
            d.efc_type[row], d.efc_id[row], d.efc_D[row] = 0, who, 0.0
            d.efc_J_rownnz[row], d.efc_J_rowadr[row], d.efc_J_rowsuper[row] = at - d.nentry[0], d.nentry[0], 0
        else:
            at += n
        if at > d.nentry[0]:
            d.nrow[0], d.nentry[0] = row + 1, at


@kernel
def add_tendons(m, d):
    """Rows of tendons."""
    for t in range(m.ntendon):
        if tendon_is_implicit(m, t) and not tendon_sleeps(m, d, t):
            add_row(m, d, t, d.ten_J, m.ten_J_colind, m.ten_J_rowadr[t], m.ten_J_rownnz[t], False)


@kernel
def add_actuators(m, d):
    """Rows of outputs of actuators."""
    for k in range(m.nactuator):
        if actuator_is_implicit(m, k) and not actuator_sleeps(m, d, k):
            for out in range(m.actuator_outadr[k], m.actuator_outadr[k] + m.actuator_outnum[k]):
                first, n = d.moment_rowadr[out], d.moment_rownnz[out]
                add_row(m, d, m.ntendon + out, d.actuator_moment, d.moment_colind, first, n, True)


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
        elif d.nefc[0] > 0:
            add_couplings(m, d)
