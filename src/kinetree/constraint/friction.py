"""Rows of dry friction in joints and tendons. MuJoCo: mj_instantiateFriction.

Reads: dof_frictionloss, tendon_frictionloss, ten_J. The velocity of each row is to be zero, up to a force of its
efc_frictionloss.
"""

from ..dynamics.sleep_state import DOFS, DOFS_END, tendon_sleeps
from ..kernel import kernel
from ..kernel.ops import any_
from ..types import Constraint
from .rows import count, count_unless_empty, describe, has_room, put_entry, take_out_trees


@kernel
def dof_friction(m, d, i):
    """The row of a dof."""
    if has_room(d, 1, 1):
        put_entry(d, d.nJ[0], i, 1.0)
        describe(d, Constraint.FRICTION_DOF, i, 1, 1, True, 0.0, 0.0, m.dof_frictionloss[i])
        d.efc_diagA[d.nefc[0]] = m.dof_invweight0[i]
    count(d, 1, 1)


@kernel
def put_tendon(m, d, t, factor):
    """Write a multiple of a tendon's Jacobian behind the last entry."""
    at, source = d.nJ[0], m.ten_J_rowadr[t]
    for k in range(m.ten_J_rownnz[t]):
        put_entry(d, at + k, m.ten_J_colind[source + k], factor * d.ten_J[source + k])


@kernel
def tendon_friction(m, d, t):
    """The row of a tendon."""
    n = m.ten_J_rownnz[t]
    if has_room(d, 1, n):
        put_tendon(m, d, t, 1.0)
        n = take_out_trees(m, d, n)
        describe(d, Constraint.FRICTION_TENDON, t, 1, n, True, 0.0, 0.0, m.tendon_frictionloss[t])
        d.efc_diagA[d.nefc[0]] = m.tendon_invweight0[t]
        count_unless_empty(m, d, 1, n)
    else:
        count(d, 1, n)


@kernel
def add_frictions(m, d):
    """Rows of all dofs, then of all tendons, that have friction loss."""
    for run in range(d.nawake_run[0]):
        for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
            if any_(m.dof_frictionloss[i] != 0.0):
                dof_friction(m, d, i)
    for t in range(m.ntendon):
        if any_(m.tendon_frictionloss[t] > 0.0) and not tendon_sleeps(m, d, t):
            tendon_friction(m, d, t)
