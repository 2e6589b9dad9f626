"""Rays against the primitive shapes, in the frame of the geom or site.

MuJoCo: mju_rayGeom. The ray is p + x v for x >= 0, with v of length one. Each kernel of (m, sizes, g, p, v) gives the smallest
such x [m] on the surface of the shape with sizes[g], also from inside, or -1, and there an outward normal of any length. A
plane is met from its front only. The line's point next to the centre comes first: in b^2 - a c a sphere far away would lose
half its digits.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, any_, maximum, minimum, not_, sqrt, where, zero
from ..math.constants import MIN_VALUE
from ..math.vec3 import add_scaled, dot, get3, where3
from ..types import GeomType

INF = float("inf")


@kernel
def along(p, v, x):
    """The point of the ray at x."""
    return add_scaled(p, v, x)


@kernel
def nearer(best, x):
    """Whether a crossing at x lies ahead and comes before the best one so far, which is negative if there is none."""
    return (x >= 0.0) & ((best < 0.0) | (x < best))


@kernel
def crossings(p, v, square):
    """Both x at which the line is at that squared distance from the origin, the smaller first; -1 twice if nowhere."""
    a = dot(v, v)
    axial = a < MIN_VALUE  # along the axis of a cylinder
    a = where(axial, 1.0, a)
    middle = -dot(p, v) / a
    closest = along(p, v, middle)
    rest = square - dot(closest, closest)
    meets = (rest >= 0.0) & not_(axial)
    if not any_(meets):
        return zero(a) - 1.0, zero(a) - 1.0
    half = sqrt(where(meets, rest, 0.0) / a)
    return where(meets, middle - half, -1.0), where(meets, middle + half, -1.0)


@kernel
def ahead(both):
    """The first of two ordered crossings that lies ahead, or a negative number."""
    return where(both[0] >= 0.0, both[0], both[1])


@kernel
def slab(p, v, half):
    """Interval of x in which one coordinate stays within -half..half; it ends before it begins if that never happens."""
    still = absolute(v) < MIN_VALUE
    out = where(absolute(p) <= half, zero(p) + INF, zero(p) - INF)
    v = where(still, 1.0, v)
    a, b = (-half - p) / v, (half - p) / v
    return where(still, -out, minimum(a, b)), where(still, out, maximum(a, b))


@kernel
def box_crossings(p, v, size):
    """Where the line enters and leaves a box, as (enter, axis, leave, axis); it meets the box if enter <= leave."""
    enter, leave = slab(p[0], v[0], size[0])
    first, last = 0, 0
    for k in range(1, 3):
        a, b = slab(p[k], v[k], size[k])
        later, sooner = a > enter, b < leave
        enter, first = where(later, a, enter), where(later, k, first)
        leave, last = where(sooner, b, leave), where(sooner, k, last)
    return enter, first, leave, last


@kernel
def face_normal(v, axis, sign):
    """The vector along one axis that points with (1) or against (-1) the ray."""
    s = zero(v[0]) + sign
    x, y, z = where(v[0] < 0.0, -s, s), where(v[1] < 0.0, -s, s), where(v[2] < 0.0, -s, s)
    return where(axis == 0, x, 0.0), where(axis == 1, y, 0.0), where(axis == 2, z, 0.0)


@kernel
def box_surface(p, v, size):
    """First crossing with a box of these half sizes about the origin, and the normal there."""
    enter, first, leave, last = box_crossings(p, v, size)
    meets, outside = (enter <= leave) & (leave >= 0.0), enter >= 0.0
    normal = where3(outside, face_normal(v, first, -1.0), face_normal(v, last, 1.0))
    return where(meets, where(outside, enter, leave), -1.0), normal


@kernel
def ray_nothing(m, sizes, g, p, v):
    """A shape that no ray meets."""
    return zero(p[0]) - 1.0, p


@kernel
def ray_plane(m, sizes, g, p, v):
    """The front of a plane, within the drawn rectangle where it has sizes."""
    o = zero(p[0])
    falls = v[2] <= -MIN_VALUE
    x = -p[2] / where(falls, v[2], -1.0)
    q = along(p, v, x)
    a, b = sizes[g, 0], sizes[g, 1]
    within = ((a <= 0.0) | (absolute(q[0]) <= a)) & ((b <= 0.0) | (absolute(q[1]) <= b))
    return where(falls & within & (x >= 0.0), x, -1.0), (o, o, o + 1.0)


@kernel
def ray_sphere(m, sizes, g, p, v):
    """A sphere."""
    r = sizes[g, 0]
    x = ahead(crossings(p, v, r * r))
    return x, along(p, v, x)


@kernel
def ray_capsule(m, sizes, g, p, v):
    """A capsule: the round side between its ends, and the outer half of a ball at each of them."""
    r, h = sizes[g, 0], sizes[g, 1]
    o = zero(p[0])
    x = ahead(crossings((p[0], p[1], o), (v[0], v[1], o), r * r))
    best = where((x >= 0.0) & (absolute(p[2] + x * v[2]) <= h), x, -1.0)
    for side in range(2):
        s = 2.0 * side - 1.0
        both = crossings((p[0], p[1], p[2] - s * h), v, r * r)
        for k in range(2):
            best = where(nearer(best, both[k]) & (s * (p[2] + both[k] * v[2]) >= h), both[k], best)
    q = along(p, v, best)
    return best, (q[0], q[1], q[2] - minimum(h, maximum(-h, q[2])))  # away from the nearest point of the axis


@kernel
def ray_ellipsoid(m, sizes, g, p, v):
    """An ellipsoid: a ball of radius one in scaled axes."""
    s = get3(sizes, g)
    q = (p[0] / s[0], p[1] / s[1], p[2] / s[2])
    w = (v[0] / s[0], v[1] / s[1], v[2] / s[2])
    x = ahead(crossings(q, w, 1.0))
    n = along(q, w, x)
    return x, (n[0] / s[0], n[1] / s[1], n[2] / s[2])


@kernel
def ray_cylinder(m, sizes, g, p, v):
    """A cylinder: the round side between its ends, and the disc at each of them."""
    r, h = sizes[g, 0], sizes[g, 1]
    o = zero(p[0])
    best = o - 1.0
    tilted = absolute(v[2]) > MIN_VALUE
    for side in range(2):
        x = ((2.0 * side - 1.0) * h - p[2]) / where(tilted, v[2], 1.0)
        q = along(p, v, x)
        best = where(tilted & nearer(best, x) & (q[0] * q[0] + q[1] * q[1] <= r * r), x, best)
    x = ahead(crossings((p[0], p[1], o), (v[0], v[1], o), r * r))
    q = along(p, v, x)
    round_side = nearer(best, x) & (absolute(q[2]) <= h)
    return where(round_side, x, best), where3(round_side, (q[0], q[1], o), (o, o, p[2] + best * v[2]))


@kernel
def ray_box(m, sizes, g, p, v):
    """A box."""
    return box_surface(p, v, get3(sizes, g))


PRIMITIVES = {
    GeomType.PLANE: ray_plane,
    GeomType.SPHERE: ray_sphere,
    GeomType.CAPSULE: ray_capsule,
    GeomType.ELLIPSOID: ray_ellipsoid,
    GeomType.CYLINDER: ray_cylinder,
    GeomType.BOX: ray_box,
}
