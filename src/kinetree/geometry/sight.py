"""Whether a third geom is in the way of a speculative contact.

MuJoCo: the rays of EnableBit.SPECULATIVE in mjc_advanceGeomPair. A segment between two points of a contact is held against all
other geoms that its first geom may collide with; those that this geom touches already are not in the way.
Scratch: narrow_geom and convex_*, of which narrow_geom is as before.
"""

from ..kernel import kernel
from ..kernel.ops import absolute
from ..math.constants import resolved
from ..math.vec3 import MIN_SQUARE, add_scaled, dot, get3, get9, mul_mat_t_vec, norm, scale, sub
from ..types import DisableBit, GeomType
from .filter import bits_match, bodies_of, excluded, listed
from .motion import is_swept
from .parameters import NO_PAIR, margin_of
from .plane import z_axis
from .ray import ray_geom
from .separation import place_core, separation
from .support import position

ENDS = 1e-5  # share of the segment that is left out at both ends, where it is on the surfaces themselves


@kernel(scalar=True)
def pair_of(m, g, h):
    """The explicit pair of two geoms, NO_PAIR if there is none."""
    for k in range(m.npair):
        if listed(m, k, g, h):
            return k
    return NO_PAIR


@kernel(scalar=True)
def related(m, a, b):
    """Whether two welded groups of bodies are parent and child, which do not collide."""
    if a == 0 or b == 0 or m.opt_disableflags & DisableBit.FILTERPARENT != 0:
        return False
    return a == m.body_weldid[m.body_parentid[b]] or b == m.body_weldid[m.body_parentid[a]]


@kernel(scalar=True)
def may_be_in_the_way(m, g, own, other):
    """Whether geom g can stand between geom `own`, which it then collides with, and another."""
    weld, weld_own, weld_other = (
        m.body_weldid[m.geom_bodyid[g]], m.body_weldid[m.geom_bodyid[own]], m.body_weldid[m.geom_bodyid[other]],
    )  # fmt: skip
    if weld == weld_own or (weld_other != 0 and weld == weld_other):
        return False
    if pair_of(m, own, g) != NO_PAIR:
        return True
    first, second = bodies_of(m, own, g)
    return bits_match(m, own, g) and not excluded(m, first, second) and not related(m, weld, weld_own)


@kernel(scalar=True)
def crosses(m, d, g, start, way, length):
    """Whether geom g is met between the ends of a segment: both sides of a plane count, and both of other surfaces."""
    if m.geom_type[g] == GeomType.PLANE:
        before = dot(sub(start, get3(d.geom_xpos, g)), z_axis(d, g))
        after = before + dot(way, z_axis(d, g))
        least = resolved(ENDS, before)
        return before * after <= 0.0 and (absolute(before) > least or absolute(after) > least)
    axes = get9(d.geom_xmat, g)
    begin = mul_mat_t_vec(axes, sub(add_scaled(start, way, ENDS), get3(d.geom_xpos, g)))
    x, _ = ray_geom(m.geom_type[g], m, m.geom_size, g, begin, mul_mat_t_vec(axes, scale(way, 1.0 / length)))
    return x >= 0.0 and x <= (1.0 - 2.0 * ENDS) * length


@kernel(scalar=True)
def is_touched(m, d, g, own):
    """Whether two geoms touch where they are now."""
    both = (d.narrow_geom[0], d.narrow_geom[1])
    plane = m.geom_type[g] == GeomType.PLANE
    d.narrow_geom[0], d.narrow_geom[1] = (g, own) if plane else (own, g)
    place_core(m, d, 0)
    place_core(m, d, 1)
    reach = margin_of(m, own, g, pair_of(m, own, g)) + m.opt_ccd_tolerance
    _, dist = separation(m, d, reach, position(d, 0), position(d, 1))
    d.narrow_geom[0], d.narrow_geom[1] = both
    return dist <= reach


@kernel(scalar=True)
def is_hidden(m, d, own, other, start, end):
    """Whether some geom stands between two points, the first of which belongs to geom `own`, the second to the other."""
    way = sub(end, start)
    square = dot(way, way)
    if square < MIN_SQUARE:
        return False
    length, middle = norm(way), add_scaled(start, way, 0.5)
    for g in range(m.ngeom):
        plane = m.geom_type[g] == GeomType.PLANE
        if g != own and g != other and (plane or is_swept(m, g)):
            apart, limit = sub(get3(d.geom_xpos, g), middle), 0.5 * length + m.geom_rbound[g]
            near = plane or m.geom_rbound[g] <= 0.0 or dot(apart, apart) <= limit * limit
            if near and may_be_in_the_way(m, g, own, other) and crosses(m, d, g, start, way, length):
                if (plane and m.geom_type[own] == GeomType.PLANE) or not is_touched(m, d, g, own):
                    return True
    return False
