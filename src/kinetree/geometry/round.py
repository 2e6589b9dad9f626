"""Spheres and capsules among themselves, and spheres with cylinders.

MuJoCo: mjc_SphereSphere, mjc_SphereCapsule, mjc_CapsuleCapsule, mjc_SphereCylinder. Every one of these contacts is a contact
of two balls, or of a ball with a flat end: the nearest points of the axes come first.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, any_, maximum, minimum, needs, not_, sqrt, where, zero
from ..math.constants import MIN_VALUE, resolved
from ..math.vec3 import add, add_scaled, cross, dot, get3, scale, sub, unit, where3
from .contact_list import ANY_TANGENT, add_contact
from .plane import z_axis

PARALLEL = 1e-8
"""Squared sine of the angle below which two capsules count as parallel and touch at up to two places; MuJoCo's, measured."""


@kernel
def clip_to(x, bound):
    """x taken into [-bound, bound]."""
    return minimum(bound, maximum(-bound, x))


@kernel
def away(d, g0, g1, difference, length):
    """Unit vector along a difference of that length; where it has none, one orthogonal to both z axes, or the x axis."""
    none = length < MIN_VALUE
    s = 1.0 / where(none, 1.0, length)
    normal = scale(difference, s)
    if needs(none):
        normal = where3(none, unit(cross(z_axis(d, g0), z_axis(d, g1))), normal)
    return normal


@kernel
def touch_balls(d, g0, g1, active, reach, p0, r0, p1, r1):
    """Add the contact of a ball of g0 with one of g1 where they are near; returns where."""
    difference = sub(p1, p0)
    square = dot(difference, difference)
    limit = reach + r0 + r1
    near = active & (square <= limit * limit)
    if any_(near):
        length = sqrt(square)
        normal = away(d, g0, g1, difference, length)
        dist = length - r0 - r1
        add_contact(d, g0, g1, near, dist, add_scaled(p0, normal, r0 + 0.5 * dist), normal, ANY_TANGENT)
    return near


@kernel
def sphere_sphere(m, d, g0, g1, reach):
    """One contact."""
    p0, p1 = get3(d.geom_xpos, g0), get3(d.geom_xpos, g1)
    touch_balls(d, g0, g1, True, reach, p0, m.geom_size[g0, 0], p1, m.geom_size[g1, 0])


@kernel
def sphere_capsule(m, d, g0, g1, reach):
    """One contact, with the ball around the nearest point of the axis."""
    p0, p1, axis = get3(d.geom_xpos, g0), get3(d.geom_xpos, g1), z_axis(d, g1)
    x = clip_to(dot(axis, sub(p0, p1)), m.geom_size[g1, 1])
    touch_balls(d, g0, g1, True, reach, p0, m.geom_size[g0, 0], add_scaled(p1, axis, x), m.geom_size[g1, 0])


@kernel
def capsule_capsule(m, d, g0, g1, reach):
    """One contact at the nearest points of the axes; two if these are parallel, at both ends of where they run side by side.

    Points of the axes are p0 + x a and p1 + y b; x and y are found with cross products, which stay exact near parallel.
    """
    p0, a, h0, r0 = get3(d.geom_xpos, g0), z_axis(d, g0), m.geom_size[g0, 1], m.geom_size[g0, 0]
    p1, b, h1, r1 = get3(d.geom_xpos, g1), z_axis(d, g1), m.geom_size[g1, 1], m.geom_size[g1, 0]
    w = sub(p0, p1)
    cosine, aw, bw, n = dot(a, b), dot(a, w), dot(b, w), cross(a, b)
    square = dot(n, n)
    parallel = square < resolved(PARALLEL, square)
    across = scale(n, -1.0 / where(parallel, 1.0, square))
    x, y = dot(cross(w, b), across), dot(cross(w, a), across)
    y = where(absolute(x) > h0, cosine * clip_to(x, h0) + bw, y)
    x = where(absolute(y) > h1, cosine * clip_to(y, h1) - aw, x)
    x, y = clip_to(x, h0), clip_to(y, h1)
    touch_balls(d, g0, g1, not_(parallel), reach, add_scaled(p0, a, x), r0, add_scaled(p1, b, y), r1)
    if needs(parallel):
        along = where(cosine < 0.0, zero(cosine) - h1, zero(cosine) + h1)
        for k in range(2):  # both ends of the stretch of axis a that lies beside the second capsule
            y = (2 * k - 1) * along
            x = cosine * y - aw
            y = where(absolute(x) > h0, clip_to(cosine * clip_to(x, h0) + bw, h1), y)
            x = clip_to(x, h0)
            touch_balls(d, g0, g1, parallel, reach, add_scaled(p0, a, x), r0, add_scaled(p1, b, y), r1)


@kernel
def sphere_cylinder(m, d, g0, g1, reach):
    """One contact: with the round side, with a flat end, or with the edge between them."""
    p0, p1, axis = get3(d.geom_xpos, g0), get3(d.geom_xpos, g1), z_axis(d, g1)
    r0, r1, half = m.geom_size[g0, 0], m.geom_size[g1, 0], m.geom_size[g1, 1]
    w = sub(p0, p1)
    x = dot(axis, w)
    out = add_scaled(w, axis, -x)  # from the axis to the sphere's centre
    square = dot(out, out)
    inside = (absolute(x) < half) & (square < r1 * r1)
    by_end = half - absolute(x) < r1 - sqrt(square)  # from inside, the nearer surface counts
    side = (absolute(x) < half) & not_(inside & by_end)
    end = (square < r1 * r1) & not_(inside & not_(by_end))
    sign = where(x > 0.0, zero(x) + 1.0, zero(x) - 1.0)
    to_edge = scale(out, r1 / sqrt(where(square < MIN_VALUE, 1.0, square)))
    edge = add(add_scaled(p1, axis, sign * half), to_edge)
    centre = where3(side, add_scaled(p1, axis, x), edge)  # of the ball in the cylinder, a mere point at the edge
    difference = sub(centre, p0)
    length = sqrt(dot(difference, difference))
    dist = where(end, sign * x - half - r0, length - r0 - where(side, zero(x) + r1, zero(x)))
    if any_(dist <= reach):
        normal = where3(end, scale(axis, -sign), away(d, g0, g1, difference, length))
        add_contact(d, g0, g1, dist <= reach, dist, add_scaled(p0, normal, r0 + 0.5 * dist), normal, ANY_TANGENT)
