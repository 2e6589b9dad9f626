"""Broad phase: which pairs of geoms are near enough for a closer look.

MuJoCo: mj_broadphase, mj_SAP, mj_collideTree. Boxes around the geoms are sorted by where they begin along one axis of the
world; each is then compared with those that begin before it ends (sweep and prune). A body of many geoms has one box, which
stands where its first geom would, and a tree of smaller ones to look into. Geoms that cannot move are not compared
with each other. The order is kept from one step to the next, so that sorting costs little. On lanes there is one order for
all worlds: two geoms are a candidate if their boxes overlap in any, and `sweep_begin` tells where no later box begins earlier.
Candidates are put into lists by their first body, ordered by the second: the order of MuJoCo's contacts.
Writes: geom_box, sweep_*, candidate_*.
"""

from ..capacity import MAXPAIR, fits
from ..kernel import kernel
from ..kernel.ops import all_, any_, maximum, minimum, zero
from ..math.vec3 import get3
from ..types import DisableBit
from .bounds import box_of, boxes_meet, may_come_near
from .filter import bits_match, bodies_match, bodies_of, by_type, can_move, excluded
from .midphase import behind, geom_at, has_tree, node_box, overlap
from .motion import EVERYWHERE, foresees, some_geom_is_fast
from .parameters import NO_PAIR, reach_of

AXES = 3  # added to the axis in sweep_axis where bodies of many geoms are one
NOWHERE = 1e30  # where the box of a geom without contact bits begins: behind that of a plane, or a tree with planes
SINGLE = -1  # instead of the node of a tree: a geom that is on its own in the sweep
CLEARLY = 2.0  # how much larger the spread along another axis must be to change the axis of the sweep


@kernel
def prepare_sweep(m, d):
    """Make sweep_order a list of what takes part in the sweep, unless it is one: how many entries, how many trees it has.

    An entry is a geom: on its own, or as the first of a body that takes part as one, with its tree.
    """
    trees = AXES if m.opt_disableflags & DisableBit.MIDPHASE == 0 else 0
    fresh, count, planted = d.sweep_axis[0] <= trees or d.sweep_axis[0] > trees + AXES, 0, 0
    for b in range(m.nbody):
        n = 1 * m.body_geomnum[b]
        if has_tree(m, b):
            n, planted = 1, planted + 1
        if fresh:
            for k in range(n):
                d.sweep_order[count + k] = m.body_geomadr[b] + k
        count += n
    if fresh:
        d.sweep_axis[0] = trees + 1
    return count, planted


@kernel
def choose_axis(m, d, count):
    """The axis along which what can move is spread widest; it changes only if another is clearly better."""
    none = zero(d.geom_xpos[0, 0])
    n, sx, sy, sz, xx, yy, zz = 0, none, none, none, none, none, none
    for i in range(count):
        g = d.sweep_order[i]
        if can_move(m, m.geom_bodyid[g]):
            x, y, z = get3(d.geom_xpos, g)
            n, sx, sy, sz = n + 1, sx + x, sy + y, sz + z
            xx, yy, zz = xx + x * x, yy + y * y, zz + z * z
    x, y, z = n * xx - sx * sx, n * yy - sy * sy, n * zz - sz * sz
    axis = (d.sweep_axis[0] - 1) % AXES
    own = x if axis == 0 else (y if axis == 1 else z)
    if all_(x > CLEARLY * own):
        axis, own = 0, x
    if all_(y > CLEARLY * own):
        axis, own = 1, y
    if all_(z > CLEARLY * own):
        axis, own = 2, z
    d.sweep_axis[0] += axis - (d.sweep_axis[0] - 1) % AXES
    return axis


@kernel
def set_boxes(m, d, count, trees):
    """Fill in geom_box for what takes part in the sweep; returns how many entries can touch something.

    The others are beyond everything, so that they come last. What sleeps is not left out: bits, margins and flags may be edited
    meanwhile, and a box costs a few nanoseconds.
    """
    active = count
    for i in range(count):
        g = d.sweep_order[i]
        body = m.geom_bodyid[g]
        one = trees > 0 and has_tree(m, body)
        if m.geom_contype[g] == 0 and m.geom_conaffinity[g] == 0 and not one:
            d.geom_box[g, 0], d.geom_box[g, 1], d.geom_box[g, 2] = NOWHERE, NOWHERE, NOWHERE
            active -= 1
        else:
            box = node_box(m, d, body, 0) if one else box_of(m, d, g)
            d.geom_box[g, 0], d.geom_box[g, 1], d.geom_box[g, 2] = box[0], box[1], box[2]
            d.geom_box[g, 3], d.geom_box[g, 4], d.geom_box[g, 5] = box[3], box[4], box[5]
    return active


@kernel
def sort_boxes(m, d, axis, count, active):
    """Bring sweep_order into the order in which the boxes begin: by insertion, as it is nearly sorted already.

    The first ones, that can touch something, are then laid out in this order.
    """
    for i in range(1, count):
        g, j = d.sweep_order[i], i
        begin = d.geom_box[g, axis]
        while j > 0 and all_(d.geom_box[d.sweep_order[j - 1], axis] > begin):
            d.sweep_order[j] = d.sweep_order[j - 1]
            j -= 1
        d.sweep_order[j] = g
    begin, mover = zero(d.geom_xpos[0, 0]) + EVERYWHERE, active
    for i in range(active - 1, -1, -1):
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
        if bodies_match(m, d, first, second) and any_(may_come_near(m, d, g0, g1, reach_of(m, g0, g1, NO_PAIR))):
            if not excluded(m, first, second):
                k = d.ncandidate[0]
                d.ncandidate[0] = k + 1
                if fits(d, MAXPAIR, k + 1):
                    d.candidate_geom[k, 0] = g0
                    d.candidate_geom[k, 1] = g1
                    d.candidate_next[k] = d.candidate_bin[second]
                    d.candidate_bin[second] = k


@kernel
def geom_below(m, g, node):
    """The geom itself, or that of a node of the tree of its body, -1 if the node is no leaf."""
    return g if node == SINGLE else geom_at(m, m.geom_bodyid[g], node)


@kernel
def box_below(m, d, g, node):
    """The box of that geom, or of the node."""
    geom = geom_below(m, g, node)
    return box_of(m, d, geom) if geom >= 0 else node_box(m, d, m.geom_bodyid[g], node)


@kernel
def following(m, g, node, skip):
    """The node to look at next, behind all that is below this one if that can be skipped."""
    body = m.geom_bodyid[g]
    if node == SINGLE:
        return 1 * m.body_bvhnum[body]
    return behind(m, body, node) if skip else node + 1


@kernel
def look_into(m, d, g, h):
    """Consider pairs of two entries whose boxes overlap: the geoms themselves, or those in the trees of their bodies.

    Every geom in the first tree whose box reaches the other entry is held against the other tree.
    """
    b, c = m.geom_bodyid[g], m.geom_bodyid[h]
    u = 0 if has_tree(m, b) else SINGLE
    start = 0 if has_tree(m, c) else SINGLE
    if (u == SINGLE and start == SINGLE) or bodies_match(m, d, minimum(b, c), maximum(b, c)):
        whole = box_below(m, d, h, start)
        while u < m.body_bvhnum[b]:
            box = box_below(m, d, g, u)
            meet, first = any_(overlap(box, whole)), geom_below(m, g, u)
            v = start if meet and first >= 0 else 1 * m.body_bvhnum[c]
            while v < m.body_bvhnum[c]:
                inside, second = any_(overlap(box, box_below(m, d, h, v))), geom_below(m, h, v)
                if inside and second >= 0:
                    consider(m, d, first, second)
                v = following(m, h, v, not inside)
            u = following(m, g, u, not meet)


@kernel
def sweep(m, d, axis, count, trees):
    """Compare every box with those that begin later but before it ends."""
    d.ncandidate[0] = 0
    for b in range(m.nbody):
        d.candidate_bin[b] = -1
        d.candidate_first[b] = -1
    for i in range(count):
        g = d.sweep_order[i]
        moves, end = can_move(m, m.geom_bodyid[g]), d.sweep_box[i, 3 + axis]
        j = i + 1 if moves else d.sweep_mover[i]
        while j < count and any_(d.sweep_begin[j] <= end):
            if any_(boxes_meet(d, i, j)):
                if trees > 0:
                    look_into(m, d, g, d.sweep_order[j])
                else:
                    consider(m, d, g, d.sweep_order[j])
            j = j + 1 if moves else d.sweep_mover[j]


@kernel
def walks_trees(m, d, p):
    """Whether MuJoCo finds the pairs of a candidate's bodies by trees of boxes, and sorts them: not if some geom is fast."""
    first, second = candidate_bodies(m, d, p)
    if m.opt_disableflags & DisableBit.MIDPHASE != 0:
        return False
    return not foresees(d) or not any_(some_geom_is_fast(m, d, first, second))


@kernel
def comes_before(m, d, p, q):
    """Whether candidate p comes before q of the same two bodies: by first and then second geom of the contact.

    Without MuJoCo's mid phase it is the geom of the first body that counts first.
    """
    p0, p1, q0, q1 = d.candidate_geom[p, 0], d.candidate_geom[p, 1], d.candidate_geom[q, 0], d.candidate_geom[q, 1]
    as_contact = p0 < q0 or (p0 == q0 and p1 < q1)
    p0, p1, q0, q1 = minimum(p0, p1), maximum(p0, p1), minimum(q0, q1), maximum(q0, q1)
    as_listed = p0 < q0 or (p0 == q0 and p1 < q1)
    return as_contact if as_contact == as_listed or walks_trees(m, d, p) else as_listed


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
    count, trees = prepare_sweep(m, d)
    active = set_boxes(m, d, count, trees)
    axis = choose_axis(m, d, active)
    sort_boxes(m, d, axis, count, active)
    sweep(m, d, axis, active, trees)
    order_candidates(m, d)
