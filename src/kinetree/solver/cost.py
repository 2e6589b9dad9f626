"""The cost of constraint rows at a given acceleration: forces, curvatures, and which piece of its cost each row is on.

MuJoCo: mj_constraintUpdate. With x = J qacc - aref of a row: an equality costs D x^2 / 2; a friction loss f the same up to
|x| = R f and f |x| beyond; a limit, a frictionless contact or an edge of a pyramid only where x < 0; an elliptic contact by
the place of its whole vector relative to the cone. Reads: efc_jar, efc_D, efc_R, efc_frictionloss, contact_mu,
contact_friction. Writes: efc_force, efc_weight, contact_H (elliptic, in its middle zone).
Reference: Todorov 2014, "Convex and analytically-invertible dynamics with contacts and constraints".
"""

from ..constraint.island import END, FIRST, ROWS, ROWS_END
from ..kernel import kernel
from ..kernel.ops import maximum, minimum, not_, sqrt, where, zero
from ..types import Constraint


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
def scale_of(d, k, j):
    """By what coordinate j of an elliptic contact is scaled to make its cone circular."""
    return d.contact_mu[k] if j == 0 else d.contact_friction[k, j - 1]


@kernel
def tangent_square(d, k, i, n):
    """Square of the scaled tangential part."""
    total = zero(d.efc_jar[i])
    for j in range(1, n):
        u = d.efc_jar[i + j] * d.contact_friction[k, j - 1]
        total += u * u
    return total


@kernel
def middle_mass(mass, mu):
    """Curvature of the middle zone along N - mu T; neutral where the row is."""
    weight = mu * mu * (1.0 + mu * mu)
    return mass / where(weight > 0.0, weight, 1.0)


@kernel
def set_cone_hessian(d, k, i, n, in_middle, normal, tangent, curvature):
    """Second derivative of the middle zone's cost, an n x n block; zero in worlds that are not in it."""
    mu, t = d.contact_mu[k], where(in_middle, tangent, 1.0)
    c = where(in_middle, curvature, 0.0)
    for row in range(n):
        for col in range(row, n):
            u, v = d.efc_jar[i + row] * scale_of(d, k, row), d.efc_jar[i + col] * scale_of(d, k, col)
            if row == 0:
                h = zero(u) + 1.0 if col == 0 else -mu / t * v
            else:
                h = mu * normal / (t * t * t) * u * v
                if row == col:
                    h += mu * mu - mu * normal / t
            h *= c * scale_of(d, k, row) * scale_of(d, k, col)
            d.contact_H[k, n * row + col] = h
            d.contact_H[k, n * col + row] = h


@kernel
def update_elliptic(d, k, i, n):
    """Forces, curvatures and cost of an elliptic contact k with n rows from i on."""
    mu = d.contact_mu[k]
    normal, tangent = d.efc_jar[i] * mu, sqrt(tangent_square(d, k, i, n))
    free = (normal >= mu * tangent) | ((tangent <= 0.0) & (normal >= 0.0))
    stuck = (mu * normal + tangent <= 0.0) | ((tangent <= 0.0) & (normal < 0.0))
    stuck = stuck & (normal < mu * tangent)
    curvature = middle_mass(d.efc_D[i], mu)
    gap = normal - mu * tangent
    along = -curvature * gap * mu
    cost = where(free, 0.0, where(stuck, 0.0, 0.5 * curvature * gap * gap))
    safe = where(tangent > 0.0, tangent, 1.0)
    for j in range(n):
        x, mass = d.efc_jar[i + j], d.efc_D[i + j]
        slide = along if j == 0 else -along / safe * x * d.contact_friction[k, j - 1] * d.contact_friction[k, j - 1]
        d.efc_force[i + j] = where(free, 0.0, where(stuck, -mass * x, slide))
        d.efc_weight[i + j] = where(stuck, mass, 0.0)
        cost += where(stuck, 0.5 * mass * x * x, 0.0)
    return cost, free, stuck, normal, tangent, curvature


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
            part, free, stuck, normal, tangent, curvature = update_elliptic(d, k, i, n)
            cost += part
            if with_hessian:
                set_cone_hessian(d, k, i, n, not_(free | stuck), normal, tangent, curvature)
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
