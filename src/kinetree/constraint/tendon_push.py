"""Forces of constraint rows along tendons: equalities, friction losses and limits. MuJoCo: part of mj_rnePostConstraint.

Reads: efc_type, efc_id, efc_force, efc_J, ten_J, ten_length. Adds to ten_push.
"""

from ..kernel import kernel
from ..kernel.ops import where, zero
from ..types import Constraint, EqType
from .equality import equality_width, polynomial, scalar_length


@kernel
def side_of_limit(m, d, row, t):
    """+1 where a row holds a tendon from below its range, -1 from above: its Jacobian is that of the tendon or the opposite."""
    total, of_tendon = zero(d.time[0]), m.ten_J_rowadr[t]
    for at in range(d.efc_J_rowadr[row], d.efc_J_rowadr[row] + d.efc_J_rownnz[row]):
        while m.ten_J_colind[of_tendon] != d.efc_J_colind[at]:  # the row may lack some of the tendon's trees
            of_tendon += 1
        total += d.efc_J[at] * d.ten_J[of_tendon]
    return where(total < 0.0, zero(total) - 1.0, 1.0)


@kernel
def add_tendon_equality(m, d, e, row):
    """A tendon is held at a polynomial of another, which feels the force times the slope."""
    a, b = m.eq_obj1id[e], m.eq_obj2id[e]
    d.ten_push[a] += d.efc_force[row]
    if b >= 0:
        _, slope = polynomial(m, e, scalar_length(m, d, e, b))
        d.ten_push[b] -= slope * d.efc_force[row]


@kernel
def add_row_pushes(m, d):
    """Add to ten_push what constraints do along tendons."""
    row = 0
    while row < d.ne[0]:
        e = d.efc_id[row]
        if m.eq_type[e] == EqType.TENDON:
            add_tendon_equality(m, d, e, row)
        row += equality_width(m, e)
    for row in range(d.ne[0], d.ne[0] + d.nf[0] + d.nl[0]):
        if d.efc_type[row] == Constraint.FRICTION_TENDON:
            d.ten_push[d.efc_id[row]] += d.efc_force[row]
        elif d.efc_type[row] == Constraint.LIMIT_TENDON:
            d.ten_push[d.efc_id[row]] += side_of_limit(m, d, row, d.efc_id[row]) * d.efc_force[row]
