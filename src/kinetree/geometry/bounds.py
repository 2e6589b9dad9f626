"""Bounds of geoms: boxes along the world's axes, balls, and the boxes of the geoms themselves.

MuJoCo: makeAAMM, mj_filterSphere, mj_collideOBB. All are conservative: geoms whose bounds are apart have no contact.
Reads: geom_xpos, geom_xmat.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, all_, zero
from ..math.constants import resolved
from ..math.vec3 import add, dot, get3, get9, mul_mat_vec, sub
from ..types import GeomType
from .motion import EVERYWHERE, balls_meet_on_the_way, box_on_the_way, foresees
from .parameters import overrides
from .plane import z_axis

PAD = 1e-10  # share of its size and place by which a box is taken larger, so that rounding separates nothing


@kernel
def half_size(m, d, g, k):
    """Half the size of geom g along axis k of the world."""
    if m.geom_type[g] == GeomType.SPHERE:
        return zero(d.geom_xmat[g, 0]) + m.geom_size[g, 0]
    if m.geom_type[g] == GeomType.CAPSULE:
        return absolute(d.geom_xmat[g, 3 * k + 2]) * m.geom_size[g, 1] + m.geom_size[g, 0]
    half = zero(d.geom_xmat[g, 0])
    for i in range(3):
        half = half + absolute(d.geom_xmat[g, 3 * k + i]) * m.geom_aabb[g, 3 + i]
    return half


@kernel
def box_of(m, d, g):
    """The box around geom g and its margin and gap: low, high. A plane is everywhere, a geom without contact bits nowhere."""
    none = zero(d.geom_xmat[g, 0])
    if m.geom_contype[g] == 0 and m.geom_conaffinity[g] == 0:
        low, high = none + EVERYWHERE, none - EVERYWHERE
        return low, low, low, high, high, high
    if m.geom_type[g] == GeomType.PLANE:
        low, high = none - EVERYWHERE, none + EVERYWHERE
        return low, low, low, high, high, high
    margin = (0.5 * m.opt_o_margin if overrides(m) else m.geom_margin[g]) + m.geom_gap[g]
    x, y, z = get3(d.geom_xpos, g)
    if m.geom_type[g] != GeomType.SPHERE and m.geom_type[g] != GeomType.CAPSULE:
        x, y, z = add((x, y, z), mul_mat_vec(get9(d.geom_xmat, g), get3(m.geom_aabb, g)))
    hx, hy, hz = half_size(m, d, g, 0), half_size(m, d, g, 1), half_size(m, d, g, 2)
    pad = resolved(PAD, x)
    hx, hy, hz = hx + pad * (hx + absolute(x)), hy + pad * (hy + absolute(y)), hz + pad * (hz + absolute(z))
    hx, hy, hz = hx + margin, hy + margin, hz + margin
    box = (x - hx, y - hy, z - hz, x + hx, y + hy, z + hz)
    if foresees(d):
        box = box_on_the_way(m, d, m.geom_bodyid[g], get3(d.geom_xpos, g), m.geom_rbound[g], box)
    return box


@kernel
def boxes_meet(d, i, j):
    """Where the boxes at two places of the sweep overlap."""
    x = (d.sweep_box[i, 0] <= d.sweep_box[j, 3]) & (d.sweep_box[j, 0] <= d.sweep_box[i, 3])
    y = (d.sweep_box[i, 1] <= d.sweep_box[j, 4]) & (d.sweep_box[j, 1] <= d.sweep_box[i, 4])
    z = (d.sweep_box[i, 2] <= d.sweep_box[j, 5]) & (d.sweep_box[j, 2] <= d.sweep_box[i, 5])
    return x & y & z


@kernel
def balls_meet(m, d, g0, g1, reach):
    """Where the balls around two geoms are not farther apart than reach; g0 may be a plane."""
    difference = sub(get3(d.geom_xpos, g1), get3(d.geom_xpos, g0))
    if m.geom_type[g0] == GeomType.PLANE:
        return dot(difference, z_axis(d, g0)) <= reach + m.geom_rbound[g1]
    limit = m.geom_rbound[g0] + m.geom_rbound[g1] + reach
    return dot(difference, difference) <= limit * limit


@kernel
def may_come_near(m, d, g0, g1, reach):
    """Where the balls around two geoms are not farther apart than reach, now or, with speculative contacts, during the step."""
    meet = balls_meet(m, d, g0, g1, reach)
    if foresees(d) and not all_(meet):
        meet = balls_meet_on_the_way(m, d, g0, g1, reach)
    return meet


@kernel
def oriented_boxes_meet(m, d, g0, g1, reach):
    """Where no face of the geoms' own boxes separates them by more than reach."""
    meet = True
    for side in range(2):
        g, h = (g0, g1) if side == 0 else (g1, g0)
        own, other = get9(d.geom_xmat, g), get9(d.geom_xmat, h)
        centre = add(get3(d.geom_xpos, g), mul_mat_vec(own, get3(m.geom_aabb, g)))
        offset = sub(add(get3(d.geom_xpos, h), mul_mat_vec(other, get3(m.geom_aabb, h))), centre)
        for k in range(3):
            axis = (d.geom_xmat[g, k], d.geom_xmat[g, 3 + k], d.geom_xmat[g, 6 + k])
            radius = m.geom_aabb[g, 3 + k] + zero(offset[0])
            for i in range(3):
                edge = (d.geom_xmat[h, i], d.geom_xmat[h, 3 + i], d.geom_xmat[h, 6 + i])
                radius = radius + m.geom_aabb[h, 3 + i] * absolute(dot(axis, edge))
            meet = meet & (absolute(dot(offset, axis)) <= reach + radius * (1.0 + resolved(PAD, radius)))
    return meet
