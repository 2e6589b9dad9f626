"""A plane with a sphere, a capsule, a cylinder, a box or an ellipsoid.

MuJoCo: mjc_PlaneSphere, mjc_PlaneCapsule, mjc_PlaneCylinder, mjc_PlaneBox, mjc_PlaneConvex. Each kernel of
(m, d, g0, g1, reach) adds the contacts of plane g0 with geom g1 that are not farther than reach [m] apart. A plane has one
side, and no edges.
"""

from ..kernel import kernel
from ..kernel.ops import any_, sqrt, where, zero
from ..math.constants import MIN_VALUE
from ..math.vec3 import add, add_scaled, cross, dot, get3, get9, mul_mat_t_vec, mul_mat_vec, scale, sub, where3
from .contact_list import ANY_TANGENT, add_contact

SIDEWAYS = 0.5 * 3.0**0.5  # from the middle of a chord to the corners of the triangle that a disc touches with


@kernel
def z_axis(d, g):
    """The third axis of a geom: the normal of a plane, the axis of a capsule or cylinder."""
    return d.geom_xmat[g, 2], d.geom_xmat[g, 5], d.geom_xmat[g, 8]


@kernel
def height(d, g0, normal, point):
    """Distance of a point from plane g0, negative behind it."""
    return dot(sub(point, get3(d.geom_xpos, g0)), normal)


@kernel
def point_on_plane(d, g0, g1, active, normal, dist, point, tangent):
    """Add the contact of a point of g1 at that distance from the plane."""
    add_contact(d, g0, g1, active, dist, add_scaled(point, normal, -0.5 * dist), normal, tangent)


@kernel
def plane_sphere(m, d, g0, g1, reach):
    """One contact."""
    normal, centre, radius = z_axis(d, g0), get3(d.geom_xpos, g1), m.geom_size[g1, 0]
    dist = height(d, g0, normal, centre) - radius
    point_on_plane(d, g0, g1, dist <= reach, normal, dist, add_scaled(centre, normal, -radius), ANY_TANGENT)


@kernel
def plane_capsule(m, d, g0, g1, reach):
    """A contact for each end; the first tangent is along the capsule."""
    normal, axis, radius = z_axis(d, g0), z_axis(d, g1), m.geom_size[g1, 0]
    for k in range(2):
        end = add_scaled(get3(d.geom_xpos, g1), axis, m.geom_size[g1, 1] * (1 - 2 * k))
        dist = height(d, g0, normal, end) - radius
        point_on_plane(d, g0, g1, dist <= reach, normal, dist, add_scaled(end, normal, -radius), axis)


@kernel
def plane_cylinder(m, d, g0, g1, reach):
    """Up to four contacts: the lowest point, the one above it on the other disc, and a triangle with it on its own disc."""
    normal, centre, axis = z_axis(d, g0), get3(d.geom_xpos, g1), z_axis(d, g1)
    radius, half = m.geom_size[g1, 0], m.geom_size[g1, 1]
    slope = dot(normal, axis)
    flip = where(slope > 0.0, zero(slope) - 1.0, zero(slope) + 1.0)  # make the axis point down
    axis, slope = scale(axis, flip), slope * flip
    down = sub(scale(axis, slope), normal)  # what of -normal lies in the discs
    square = dot(down, down)
    flat = square < MIN_VALUE * MIN_VALUE
    s = radius / sqrt(where(flat, 1.0, square))
    side = (d.geom_xmat[g1, 0] * radius, d.geom_xmat[g1, 3] * radius, d.geom_xmat[g1, 6] * radius)
    rim = where3(flat, side, scale(down, s))  # from the axis to the lowest point of a disc
    across = scale(cross(rim, axis), SIDEWAYS)
    middle, fall = height(d, g0, normal, centre), dot(rim, normal)
    touches = middle + half * slope + fall <= reach
    if any_(touches):
        for k in range(4):
            along = -half if k == 1 else half
            out = 1.0 if k < 2 else -0.5
            sideways = 0.0 if k < 2 else 5.0 - 2.0 * k
            dist = middle + along * slope + out * fall
            point = add(add_scaled(centre, axis, along), add_scaled(scale(rim, out), across, sideways))
            point_on_plane(d, g0, g1, touches & (dist <= reach), normal, dist, point, ANY_TANGENT)


@kernel
def plane_box(m, d, g0, g1, reach):
    """The first four corners that are near and not above the centre."""
    normal, centre, mat = z_axis(d, g0), get3(d.geom_xpos, g1), get9(d.geom_xmat, g1)
    middle = height(d, g0, normal, centre)
    count = zero(middle)
    for k in range(8):
        x = m.geom_size[g1, 0] * (2 * (k & 1) - 1)
        y = m.geom_size[g1, 1] * ((k & 2) - 1)
        z = m.geom_size[g1, 2] * ((k & 4) // 2 - 1)
        corner = mul_mat_vec(mat, (x, y, z))
        rise = dot(normal, corner)
        near = (middle + rise <= reach) & (rise <= 0.0) & (count < 4.0)
        point_on_plane(d, g0, g1, near, normal, middle + rise, add(centre, corner), ANY_TANGENT)
        count = where(near, count + 1.0, count)


@kernel
def plane_ellipsoid(m, d, g0, g1, reach):
    """The lowest point."""
    normal, centre, mat = z_axis(d, g0), get3(d.geom_xpos, g1), get9(d.geom_xmat, g1)
    size, up = get3(m.geom_size, g1), mul_mat_t_vec(mat, normal)
    scaled = (up[0] * size[0], up[1] * size[1], up[2] * size[2])
    square = dot(scaled, scaled)
    flat = square < MIN_VALUE * MIN_VALUE  # a point, or nearly
    s = where(flat, 0.0, -1.0 / sqrt(where(flat, 1.0, square)))
    lowest = (where(flat, size[0], scaled[0] * size[0] * s), scaled[1] * size[1] * s, scaled[2] * size[2] * s)
    point = add(centre, mul_mat_vec(mat, lowest))
    dist = height(d, g0, normal, point)
    point_on_plane(d, g0, g1, dist <= reach, normal, dist, point, ANY_TANGENT)
