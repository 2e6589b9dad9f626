"""A sphere with a box. MuJoCo: mjc_SphereBox."""

from ..kernel import kernel
from ..kernel.ops import absolute, any_, needs, sqrt, where, zero
from ..math.constants import MIN_VALUE
from ..math.vec3 import add, add_scaled, dot, get3, get9, mul_mat_t_vec, mul_mat_vec, scale, sub, where3
from .contact_list import ANY_TANGENT, add_contact
from .round import clip_to


@kernel
def nearest_face(centre, size):
    """For a point inside a box: its distance from the nearest face, and the unit vector away from that face."""
    none = zero(centre[0])
    best, direction = none + 2.0 * (size[0] + size[1] + size[2]), (none, none, none)
    for k in range(3):
        x = where(k == 0, centre[0], where(k == 1, centre[1], centre[2]))
        half = where(k == 0, size[0], where(k == 1, size[1], size[2]))
        for high in range(2):  # on a tie the lower face wins
            sign = 2.0 * high - 1.0
            gap = absolute(sign * half - x)
            nearer = gap < best
            inward = (where(k == 0, -sign, 0.0), where(k == 1, -sign, 0.0), where(k == 2, -sign, 0.0))
            direction = where3(nearer, inward, direction)
            best = where(nearer, gap, best)
    return best, direction


@kernel
def touch_box(m, d, g0, g1, active, reach, centre, radius):
    """Add the contact of a ball of g0, its centre in the frame of box g1, with the box where they are near."""
    size = get3(m.geom_size, g1)
    closest = (clip_to(centre[0], size[0]), clip_to(centre[1], size[1]), clip_to(centre[2], size[2]))
    difference = sub(closest, centre)
    length = sqrt(dot(difference, difference))
    near = active & (length - radius <= reach)
    if any_(near):
        inside = length <= MIN_VALUE
        normal = scale(difference, 1.0 / where(inside, 1.0, length))
        point = add_scaled(scale(add(closest, centre), 0.5), normal, 0.5 * radius)
        if needs(inside):
            depth, direction = nearest_face(centre, size)
            normal = where3(inside, direction, normal)
            point = where3(inside, add_scaled(centre, direction, 0.5 * (radius - depth)), point)
            length = where(inside, -depth, length)
        mat = get9(d.geom_xmat, g1)
        pos = add(get3(d.geom_xpos, g1), mul_mat_vec(mat, point))
        add_contact(d, g0, g1, near, length - radius, pos, mul_mat_vec(mat, normal), ANY_TANGENT)


@kernel
def sphere_box(m, d, g0, g1, reach):
    """One contact."""
    offset = sub(get3(d.geom_xpos, g0), get3(d.geom_xpos, g1))
    centre = mul_mat_t_vec(get9(d.geom_xmat, g1), offset)
    touch_box(m, d, g0, g1, True, reach, centre, m.geom_size[g0, 0])
