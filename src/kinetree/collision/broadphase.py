"""Broad phase: which pairs of geoms are near enough for a closer look.

MuJoCo: mj_broadphase, mj_SAP, mj_collideTree. Boxes around the geoms are sorted by where they begin along one axis of the
world; each is then compared with those that begin before it ends (sweep and prune). Geoms that cannot move are not compared
with each other. The order is kept from one step to the next, so that sorting costs little. On lanes there is one order for
all worlds: two geoms are a candidate if their boxes overlap in any, and `sweep_begin` tells where no later box begins earlier.
Candidates are put into lists by their first body, ordered by the second: the order of MuJoCo's contacts.
Writes: geom_box, sweep_*, candidate_*.
"""

from ..kernel import kernel
from ..kernel.ops import all_, any_, maximum, minimum, zero
from ..math.vec3 import get3
from ..types import DisableBit
from .bounds import EVERYWHERE, balls_meet, boxes_meet, set_box
from .contact import MAXPAIR, fits
from .filter import bits_match, bodies_match, bodies_of, by_type, can_move, excluded
from .parameters import NO_PAIR, reach_of

MIDPHASE = int(DisableBit.MIDPHASE)
CLEARLY = 2.0  # how much larger the spread along another axis must be to change the axis of the sweep


@kernel
def choose_axis(m, d):
    """The axis along which the geoms that can move are spread widest; it changes only if another is clearly better."""
    none = zero(d.geom_xpos[0, 0])
    n, sx, sy, sz, xx, yy, zz = 0, none, none, none, none, none, none
    for g in range(m.ngeom):
        if can_move(m, m.geom_bodyid[g]):
            x, y, z = get3(d.geom_xpos, g)
            n, sx, sy, sz = n + 1, sx + x, sy + y, sz + z
            xx, yy, zz = xx + x * x, yy + y * y, zz + z * z
    x, y, z = n * xx - sx * sx, n * yy - sy * sy, n * zz - sz * sz
    axis = d.sweep_axis[0] - 1
    own = x if axis <= 0 else (y if axis == 1 else z)
    if axis < 0:
        axis = 0
    if all_(x > CLEARLY * own):
        axis, own = 0, x
    if all_(y > CLEARLY * own):
        axis, own = 1, y
    if all_(z > CLEARLY * own):
        axis, own = 2, z
    return axis


@kernel
def sort_boxes(m, d, axis):
    """Bring sweep_order into the order in which the boxes begin: by insertion, as it is nearly sorted already."""
    if d.sweep_axis[0] == 0:
        for i in range(m.ngeom):
            d.sweep_order[i] = i
    d.sweep_axis[0] = axis + 1
    for i in range(1, m.ngeom):
        g, j = d.sweep_order[i], i
        begin = d.geom_box[g, axis]
        while j > 0 and all_(d.geom_box[d.sweep_order[j - 1], axis] > begin):
            d.sweep_order[j] = d.sweep_order[j - 1]
            j -= 1
        d.sweep_order[j] = g
    begin, mover = zero(d.geom_xpos[0, 0]) + EVERYWHERE, m.ngeom
    for i in range(m.ngeom - 1, -1, -1):
        g = d.sweep_order[i]
        begin = minimum(begin, d.geom_box[g, axis])
        d.sweep_begin[i] = begin
        for k in range(6):
            d.sweep_box[i, k] = d.geom_box[g, k]
        d.sweep_mover[i] = mover  # behind this place
        if can_move(m, m.geom_bodyid[g]):
            mover = i


@kernel
def consider(m, d, g, h):
    """Note a pair of geoms, whose boxes overlap, as a candidate if it may collide and the balls around them overlap too."""
    if bits_match(m, g, h):
        first, second = bodies_of(m, g, h)
        g0, g1 = by_type(m, minimum(g, h), maximum(g, h))
        if bodies_match(m, d, first, second) and any_(balls_meet(m, d, g0, g1, reach_of(m, g0, g1, NO_PAIR))):
            if not excluded(m, first, second):
                k = d.ncandidate[0]
                d.ncandidate[0] = k + 1
                if fits(d, MAXPAIR, k + 1):
                    d.candidate_geom[k, 0] = g0
                    d.candidate_geom[k, 1] = g1
                    d.candidate_next[k] = d.candidate_bin[second]
                    d.candidate_bin[second] = k


@kernel
def sweep(m, d, axis):
    """Compare every box with those that begin later but before it ends."""
    d.ncandidate[0] = 0
    for b in range(m.nbody):
        d.candidate_bin[b] = -1
        d.candidate_first[b] = -1
    for i in range(m.ngeom):
        g = d.sweep_order[i]
        moves, end = can_move(m, m.geom_bodyid[g]), d.sweep_box[i, 3 + axis]
        j = i + 1 if moves else d.sweep_mover[i]
        while j < m.ngeom and any_(d.sweep_begin[j] <= end):
            if any_(boxes_meet(d, i, j)):
                consider(m, d, g, d.sweep_order[j])
            j = j + 1 if moves else d.sweep_mover[j]


@kernel
def comes_before(m, d, p, q):
    """Whether candidate p comes before q of the same two bodies: by first and then second geom of the contact.

    Without MuJoCo's mid phase it is the geom of the first body that counts first.
    """
    p0, p1, q0, q1 = d.candidate_geom[p, 0], d.candidate_geom[p, 1], d.candidate_geom[q, 0], d.candidate_geom[q, 1]
    if m.opt_disableflags & MIDPHASE != 0:
        p0, p1, q0, q1 = minimum(p0, p1), maximum(p0, p1), minimum(q0, q1), maximum(q0, q1)
    return p0 < q0 or (p0 == q0 and p1 < q1)


@kernel
def order_candidates(m, d):
    """Move the candidates from lists by second body to lists by first body, each ordered by second body and geoms."""
    for second in range(m.nbody - 1, -1, -1):
        p = d.candidate_bin[second]
        while p >= 0:
            following = d.candidate_next[p]
            first, _ = candidate_bodies(m, d, p)
            before, q = -1, d.candidate_first[first]
            while q >= 0 and candidate_bodies(m, d, q)[1] == second and comes_before(m, d, q, p):
                before, q = q, d.candidate_next[q]
            d.candidate_next[p] = q
            if before < 0:
                d.candidate_first[first] = p
            else:
                d.candidate_next[before] = p
            p = following


@kernel
def candidate_bodies(m, d, p):
    """Both bodies of a candidate, the lower first."""
    return bodies_of(m, d.candidate_geom[p, 0], d.candidate_geom[p, 1])


@kernel
def find_candidates(m, d):
    """Fill the lists of candidates."""
    for g in range(m.ngeom):
        set_box(m, d, g)
    axis = choose_axis(m, d)
    sort_boxes(m, d, axis)
    sweep(m, d, axis)
    order_candidates(m, d)
