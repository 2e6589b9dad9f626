"""The cost of constraint rows at a given acceleration: forces, curvatures, and which piece of its cost each row is on.

MuJoCo: mj_constraintUpdate. With x = J qacc - aref of a row: an equality costs D x^2 / 2; a friction loss f the same up to
|x| = R f and f |x| beyond; a limit, a frictionless contact or an edge of a pyramid only where x < 0; an elliptic contact by
the place of its whole vector relative to the cone (`cone.py`). Reads: efc_jar, efc_D, efc_R, efc_frictionloss and what
`cone.py` reads. Writes: efc_force, efc_weight, contact_H.
Reference: Todorov 2014, "Convex and analytically-invertible dynamics with contacts and constraints".
"""

from ..constraint.island import END, FIRST, ROWS, ROWS_END
from ..kernel import kernel
from ..kernel.ops import maximum, minimum, where, zero
from ..types import Constraint
from .cone import set_cone_hessian, update_cone


@kernel
def friction_bound(d, i):
    """Where the cost of a friction row turns from quadratic to linear."""
    return d.efc_R[i] * d.efc_frictionloss[i]


@kernel
def update_friction(d, i):
    """Force, curvature and cost of a friction loss."""
    x, f, bound, mass = d.efc_jar[i], d.efc_frictionloss[i], friction_bound(d, i), d.efc_D[i]
    above, below = x >= bound, x <= -bound
    d.efc_force[i] = where(above, -f, where(below, f, -mass * x))
    d.efc_weight[i] = where(above | below, 0.0, mass)
    beyond = f * (where(above, x, -x) - 0.5 * bound)
    return where(above | below, beyond, 0.5 * mass * x * x)


@kernel
def update_one_sided(d, i):
    """Force, curvature and cost of a row that pushes only."""
    x = d.efc_jar[i]
    weight = where(x < 0.0, d.efc_D[i], 0.0)
    d.efc_weight[i] = weight
    force = -weight * x
    d.efc_force[i] = force
    return -0.5 * force * x


@kernel
def update_run(d, first, end, with_hessian):
    """Forces and curvatures of rows from `first` up to `end` at efc_jar; the sum of their costs."""
    cost = zero(d.time[0])
    losses = d.ne[0] + d.nf[0]
    for i in range(first, minimum(end, d.ne[0])):
        x, mass = d.efc_jar[i], d.efc_D[i]
        d.efc_force[i] = -mass * x
        d.efc_weight[i] = mass
        cost += 0.5 * mass * x * x
    for i in range(maximum(first, d.ne[0]), minimum(end, losses)):
        cost += update_friction(d, i)
    i = maximum(first, losses)
    while i < end:
        if d.efc_type[i] == Constraint.CONTACT_ELLIPTIC:
            k = d.efc_id[i]
            n = d.contact_dim[k]
            part, in_middle, normal, tangent, curvature = update_cone(
                d, d.efc_jar, d.efc_D, d.efc_force, d.efc_weight, k, i, n
            )
            cost += part
            if with_hessian:
                set_cone_hessian(d, d.efc_jar, k, i, n, in_middle, normal, tangent, curvature)
            i += n
        else:
            cost += update_one_sided(d, i)
            i += 1
    return cost


@kernel
def update_rows(m, d, with_hessian):
    """Forces and curvatures of all rows at efc_jar; the sum of their costs."""
    return update_run(d, 0, d.nefc[0], with_hessian)


@kernel
def update_group(d, g, with_hessian):
    """The same for the rows of a group."""
    cost = zero(d.time[0])
    for s in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        cost += update_run(d, d.row_run[s, FIRST], d.row_run[s, END], with_hessian)
    return cost
