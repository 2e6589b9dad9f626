"""The cone of an elliptic contact: in which of three zones it is, its forces, its curvature and its cost.

MuJoCo: part of mj_constraintUpdate. With N the normal coordinate and T the length of the tangential ones, scaled so that the
cone is circular: in the top zone there is no force, in the bottom zone each row costs what an equality does, in the middle
the cost is quadratic in N - mu T. Reads: contact_mu, contact_friction, and J qacc - aref and masses where they lie.
Writes: forces and weights where they lie, contact_H (in the middle zone).
Reference: Todorov 2014, "Convex and analytically-invertible dynamics with contacts and constraints".
"""

from ..kernel import kernel
from ..kernel.ops import not_, sqrt, where, zero


@kernel
def zones(normal, tangent, along, across):
    """In which worlds a vector is in the bottom zone and in the middle one; else it is in the top zone.

    The top zone is along N >= across T: of accelerations 1 and mu, of forces, in the dual cone, mu and 1.
    """
    top = (along * normal >= across * tangent) | ((tangent <= 0.0) & (normal >= 0.0))
    bottom = (across * normal + along * tangent <= 0.0) | ((tangent <= 0.0) & (normal < 0.0))
    return not_(top) & bottom, not_(top | bottom)


@kernel
def scale_of(d, k, j):
    """By what coordinate j of an elliptic contact is scaled to make its cone circular."""
    return d.contact_mu[k] if j == 0 else d.contact_friction[k, j - 1]


@kernel
def tangent_square(d, x, k, i, n):
    """Square of the scaled tangential part of x, from i on."""
    total = zero(x[i])
    for j in range(1, n):
        u = x[i + j] * scale_of(d, k, j)
        total += u * u
    return total


@kernel
def middle_mass(mass, mu):
    """Curvature of the middle zone along N - mu T; neutral where the row is."""
    weight = mu * mu * (1.0 + mu * mu)
    return mass / where(weight > 0.0, weight, 1.0)


@kernel
def put_curvature(d, k, place, value):
    """An entry of the Hessian of contact k."""
    d.contact_H[k, place] = value


@kernel
def set_cone_hessian(d, x, k, i, n, in_middle, normal, tangent, curvature):
    """Second derivative of the middle zone's cost at x, an n x n block; zero in worlds that are not in it."""
    mu, t = scale_of(d, k, 0), where(in_middle, tangent, 1.0)
    c = where(in_middle, curvature, 0.0)
    for row in range(n):
        for col in range(row, n):
            u, v = x[i + row] * scale_of(d, k, row), x[i + col] * scale_of(d, k, col)
            if row == 0:
                h = zero(u) + 1.0 if col == 0 else -mu / t * v
            else:
                h = mu * normal / (t * t * t) * u * v
                if row == col:
                    h += mu * mu - mu * normal / t
            h *= c * scale_of(d, k, row) * scale_of(d, k, col)
            put_curvature(d, k, n * row + col, h)
            put_curvature(d, k, n * col + row, h)


@kernel
def update_cone(d, x, masses, force, weight, k, i, n):
    """Forces, curvatures and cost of an elliptic contact k, n entries from i on; whether it is in its middle zone, N, T."""
    mu = scale_of(d, k, 0)
    normal, tangent = x[i] * mu, sqrt(tangent_square(d, x, k, i, n))
    stuck, in_middle = zones(normal, tangent, 1.0, mu)
    curvature = middle_mass(masses[i], mu)
    gap = normal - mu * tangent
    along = -curvature * gap * mu
    cost = where(in_middle, 0.5 * curvature * gap * gap, 0.0)
    safe = where(tangent > 0.0, tangent, 1.0)
    for j in range(n):
        y, mass = x[i + j], masses[i + j]
        slide = along if j == 0 else -along / safe * y * scale_of(d, k, j) * scale_of(d, k, j)
        force[i + j] = where(stuck, -mass * y, where(in_middle, slide, 0.0))
        weight[i + j] = where(stuck, mass, 0.0)
        cost += where(stuck, 0.5 * mass * y * y, 0.0)
    return cost, in_middle, normal, tangent, curvature
