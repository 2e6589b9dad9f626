"""A box with a box.

MuJoCo: mjc_BoxBox. The axis that separates the boxes most, among the six face normals and the nine cross products of edges,
decides. A face of one box: the opposite face of the other is clipped by its sides (Sutherland and Hodgman 1974), and every
corner of what remains is a contact. A pair of edges: one contact between their nearest points.
Scratch: narrow_work holds the axes of box 1 in the frame of box 0, row by row, and the centre of each box in the frame of the
other; clip_point holds two polygons, their corners along the axes of the face, with the height over it.
Reference: Gottschalk, Lin, Manocha 1996, "OBBTree", for the separating axes.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, all_, any_, not_, sqrt, where, zero
from ..math.constants import MIN_VALUE, resolved
from ..math.vec3 import add_scaled, get3, get9, mul_mat_t_vec, scale, sub, where3
from .capsule_box import store3
from .contact_list import ANY_TANGENT, add_contact
from .round import clip_to

ROT, CENTRE = 0, 9  # places in narrow_work
SLACK = 1e-13  # share of the boxes' sizes by which they may be apart and still count as touching
NOISE = 1e-16  # squared sine below which the cross product of two edges has no direction
VAGUE = 1e-9  # component of an axis below which both edges support it
FACE_BIAS = 1e-6  # share by which an edge must beat a face
ALIGNED, FACE_SHARE = 0.99, 0.05  # an edge axis so close to a face normal must beat it by this share
SAME = 1e-14  # squared distance of corners, as share of the face, below which they are one
ROOM = 80  # corners of a polygon, over all worlds


@kernel
def rot(d, first, i, j):
    """Component i, in the frame of box `first`, of axis j of the other box."""
    return d.narrow_work[ROT + (3 * i + j if first == 0 else 3 * j + i)]


@kernel
def face_separations(m, d, g0, g1, slack):
    """The face normal that separates most, as (separation, code), and where one does beyond the slack.

    code: axis of box 0, or 3 + axis of box 1.
    """
    best, code = zero(slack) - 1e10, zero(slack)
    apart = best > 0.0
    for k in range(2):
        own, other = (g0, g1) if k == 0 else (g1, g0)
        for i in range(3):
            radius = m.geom_size[own, i] + zero(slack)
            for j in range(3):
                radius = radius + absolute(rot(d, k, i, j)) * m.geom_size[other, j]
            separation = absolute(d.narrow_work[CENTRE + 3 * k + i]) - radius
            apart = apart | (separation > slack)
            better = separation > best
            best, code = where(better, separation, best), where(better, zero(slack) + (3 * k + i), code)
    return best, code, apart


@kernel
def edge_axis(d, i, j):
    """Cross product of axis i of box 0 and axis j of box 1, in box 0: its two components not along i, and its length."""
    x, y = -rot(d, 0, (i + 2) % 3, j), rot(d, 0, (i + 1) % 3, j)
    length = sqrt(x * x + y * y)
    s = 1.0 / where(length * length < resolved(NOISE, length), 1.0, length)
    return x * s, y * s, length


@kernel
def edge_separations(m, d, g0, g1, slack, best, code, apart):
    """The same with the nine pairs of edges, which must beat the best face; code: 6 + 3 i + j."""
    face = best
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            x, y, length = edge_axis(d, i, j)
            u = x * rot(d, 0, i1, j1) + y * rot(d, 0, i2, j1)  # the axis in box 1
            v = x * rot(d, 0, i1, j2) + y * rot(d, 0, i2, j2)
            radius = absolute(x) * m.geom_size[g0, i1] + absolute(y) * m.geom_size[g0, i2]
            radius = radius + absolute(u) * m.geom_size[g1, j1] + absolute(v) * m.geom_size[g1, j2]
            separation = absolute(x * d.narrow_work[CENTRE + i1] + y * d.narrow_work[CENTRE + i2]) - radius
            skew = length * length >= resolved(NOISE, length)
            apart = apart | (skew & (separation > slack))
            better = skew & (separation - FACE_BIAS * absolute(separation) > best) & (separation > face)
            best, code = where(better, separation, best), where(better, zero(best) + (6 + 3 * i + j), code)
    return best, code, apart


@kernel
def prefer_face(d, face, face_code, edge, code):
    """The code of the face where the winning edge axis is hardly better and hardly different, else the code as it is."""
    for i in range(3):
        for j in range(3):
            chosen = code == 6 + 3 * i + j
            if any_(chosen):
                x, y, _ = edge_axis(d, i, j)
                near = chosen & (edge < face + FACE_SHARE * absolute(face) + MIN_VALUE)
                aligned = zero(x)
                for k in range(3):
                    i1, i2 = (i + 1) % 3, (i + 2) % 3
                    on_0 = x if k == i1 else (y if k == i2 else zero(x))
                    on_1 = x * rot(d, 0, i1, k) + y * rot(d, 0, i2, k)
                    aligned = where(face_code == k, absolute(on_0), where(face_code == 3 + k, absolute(on_1), aligned))
                code = where(near & (aligned > ALIGNED), face_code, code)
    return code


@kernel
def append_corner(d, begin, n, point, there):
    """Append a corner, which exists in some worlds, to a polygon of n; returns the new n."""
    d.clip_point[begin + n, 0] = point[0]
    d.clip_point[begin + n, 1] = point[1]
    d.clip_point[begin + n, 2] = point[2]
    d.clip_point[begin + n, 3] = where(there, zero(point[0]) + 1.0, zero(point[0]))
    return n + 1


@kernel
def is_there(d, k):
    """Where corner k exists."""
    return d.clip_point[k, 3] > 0.5


@kernel
def corner(d, k):
    """Corner k of the polygons."""
    return d.clip_point[k, 0], d.clip_point[k, 1], d.clip_point[k, 2]


@kernel
def clip_polygon(d, begin, count, axis, sign, limit):
    """Clip a polygon by sign * point[axis] <= limit; returns where the new one begins and how many corners it has.

    A corner has a place if it exists in any world: a polygon of n gives at most 2 n + 1, so four times at most 79 from 4.
    """
    none = zero(d.clip_point[begin, 0])
    outside = none > 1.0
    for k in range(begin, begin + count):
        outside = outside | ((sign * d.clip_point[k, axis] > limit) & is_there(d, k))
    if not any_(outside):
        return begin, count
    out, n = ROOM - begin, 0
    last, first = (none, none, none), (none, none, none)
    excess, first_excess, begun = none, none, none > 1.0
    for k in range(count + 1):
        closing = k == count  # back to the first corner
        at = begin if closing else begin + k
        here = begun if closing else is_there(d, at)
        p = first if closing else corner(d, at)
        over = first_excess if closing else sign * d.clip_point[at, axis] - limit
        crosses = here & begun & (((excess < 0.0) & (over > 0.0)) | ((excess > 0.0) & (over < 0.0)))
        if any_(crosses):
            t = excess / where(crosses, excess - over, 1.0)
            n = append_corner(d, out, n, add_scaled(last, sub(p, last), t), crosses)
        keeps = here & (over <= 0.0)
        if not closing and any_(keeps):
            n = append_corner(d, out, n, p, keeps)
        first, first_excess = where3(begun, first, p), where(begun, first_excess, over)
        last, excess = where3(here, p, last), where(here, over, excess)
        begun = begun | here
    return out, n


@kernel
def add_polygon(m, d, g0, g1, own, axis, sign, active, reach, begin, count):
    """A contact for every corner of the polygon that is near the face of box `own`; corners that coincide are one."""
    ref, (ax, ay) = g0 if own == 0 else g1, ((axis + 1) % 3, (axis + 2) % 3)
    sx, sy = m.geom_size[ref, ax], m.geom_size[ref, ay]
    same = resolved(SAME, sx) * (sx * sx + sy * sy)
    x, y, z = column_of(d, ref, ax), column_of(d, ref, ay), column_of(d, ref, axis)
    normal = scale(z, sign if own == 0 else -sign)
    for k in range(begin, begin + count):
        p = corner(d, k)
        near = active & is_there(d, k) & (p[2] <= reach)
        for q in range(begin, k):
            dx, dy = p[0] - d.clip_point[q, 0], p[1] - d.clip_point[q, 1]
            near = near & not_(is_there(d, q) & (dx * dx + dy * dy < same))
        d.clip_point[k, 3] = where(near, zero(p[2]) + 1.0, zero(p[2]))
        pos = add_scaled(get3(d.geom_xpos, ref), z, sign * (m.geom_size[ref, axis] + 0.5 * p[2]))
        add_contact(d, g0, g1, near, p[2], add_scaled(add_scaled(pos, x, p[0]), y, p[1]), normal, ANY_TANGENT)


@kernel
def column_of(d, g, k):
    """Axis k of a geom."""
    return d.geom_xmat[g, k], d.geom_xmat[g, 3 + k], d.geom_xmat[g, 6 + k]


@kernel
def opposes(d, own, axis, b):
    """Where axis b of the other box is the most parallel one to an axis of box `own`; the first if several are."""
    r0, r1, r2 = absolute(rot(d, own, axis, 0)), absolute(rot(d, own, axis, 1)), absolute(rot(d, own, axis, 2))
    if b == 0:
        return (r0 >= r1) & (r0 >= r2)
    if b == 1:
        return (r1 > r0) & (r1 >= r2)
    return (r2 > r0) & (r2 > r1)


@kernel
def face_contacts(m, d, g0, g1, own, axis, active, reach):
    """Contacts where a face of box `own` (0 or 1) separates most."""
    ref, other = (g0, g1) if own == 0 else (g1, g0)
    ax, ay = (axis + 1) % 3, (axis + 2) % 3
    offset = d.narrow_work[CENTRE + 3 * own + axis]
    sign = where(offset >= 0.0, zero(offset) + 1.0, zero(offset) - 1.0)
    for b in range(3):
        chosen = active & opposes(d, own, axis, b)
        if any_(chosen):
            turn = where(sign * rot(d, own, axis, b) > 0.0, zero(sign) - 1.0, zero(sign) + 1.0)
            bu, bv = (b + 1) % 3, (b + 2) % 3
            for k in range(4):
                su, sv = -1.0 if k == 1 or k == 2 else 1.0, 1.0 if k < 2 else -1.0
                su, sv = su * m.geom_size[other, bu], sv * m.geom_size[other, bv]
                out = turn * m.geom_size[other, b]
                x = face_point(d, own, ax, out, su, sv, b)
                y = face_point(d, own, ay, out, su, sv, b)
                z = sign * face_point(d, own, axis, out, su, sv, b) - m.geom_size[ref, axis]
                append_corner(d, 0, k, (x, y, z), chosen)
            begin, count = 0, 4
            for k in range(4):
                side, limit = k // 2, m.geom_size[ref, ax] if k < 2 else m.geom_size[ref, ay]
                begin, count = clip_polygon(d, begin, count, side, 1.0 - 2.0 * (k % 2), limit)
            add_polygon(m, d, g0, g1, own, axis, sign, chosen, reach, begin, count)


@kernel
def face_point(d, own, i, out, su, sv, b):
    """Coordinate i, in box `own`, of the point of the other box with coordinates out, su, sv along its axes b, b + 1, b + 2."""
    away = out * rot(d, own, i, b) + su * rot(d, own, i, (b + 1) % 3) + sv * rot(d, own, i, (b + 2) % 3)
    return d.narrow_work[CENTRE + 3 * own + i] + away


@kernel
def side(x, vague, other):
    """Sign of a component of the axis, which says which edge supports it; the opposite for `other`, where it is vague."""
    up = where(x >= 0.0, zero(x) + 1.0, zero(x) - 1.0)
    return where(vague, -up, up) if other == 1 else up


@kernel
def edge_contact(m, d, g0, g1, i, j, active, slack):
    """The contact where the edges along axis i of box 0 and axis j of box 1 separate most.

    All in the frame of box 0. Where a component of the axis is too small to tell which edge supports it, both are tried.
    """
    i1, i2, j1, j2 = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
    x, y, _ = edge_axis(d, i, j)
    flip = where(x * d.narrow_work[CENTRE + i1] + y * d.narrow_work[CENTRE + i2] < 0.0, zero(x) - 1.0, zero(x) + 1.0)
    x, y = x * flip, y * flip  # from box 0 to box 1
    u = x * rot(d, 0, i1, j1) + y * rot(d, 0, i2, j1)
    v = x * rot(d, 0, i1, j2) + y * rot(d, 0, i2, j2)
    vague = resolved(VAGUE, x)
    vague_x, vague_u = absolute(x) < vague, absolute(u) < vague
    vague_y, vague_v = (absolute(y) < vague) & not_(vague_x), (absolute(v) < vague) & not_(vague_u)
    b, b1, b2 = rot(d, 0, i, j), rot(d, 0, i1, j), rot(d, 0, i2, j)  # the edge of box 1
    square = 1.0 - b * b
    best, dist, at = zero(x) + 1e10, zero(x), (zero(x), zero(x), zero(x))
    for k in range(4):
        other0, other1 = k // 2, k % 2
        tried = active
        if other0 == 1:
            tried = tried & (vague_x | vague_y)
        if other1 == 1:
            tried = tried & (vague_u | vague_v)
        if any_(tried):
            c1, c2 = m.geom_size[g0, i1] * side(x, vague_x, other0), m.geom_size[g0, i2] * side(y, vague_y, other0)
            cu, cv = -m.geom_size[g1, j1] * side(u, vague_u, other1), -m.geom_size[g1, j2] * side(v, vague_v, other1)
            e = face_point(d, 0, i, 0.0, cu, cv, j)
            e1, e2 = face_point(d, 0, i1, 0.0, cu, cv, j) - c1, face_point(d, 0, i2, 0.0, cu, cv, j) - c2
            along = b * e + b1 * e1 + b2 * e2
            s = (e - b * along) / where(square < MIN_VALUE, 1.0, square)
            s = clip_to(where(square < MIN_VALUE, 0.0, s), m.geom_size[g0, i])
            t = clip_to(b * s - along, m.geom_size[g1, j])
            s = clip_to(e + b * t, m.geom_size[g0, i])
            gap, gap1, gap2 = e + b * t - s, e1 + b1 * t, e2 + b2 * t
            far = gap * gap + gap1 * gap1 + gap2 * gap2
            nearer = tried & (far < best)
            best, dist = where(nearer, far, best), where(nearer, x * gap1 + y * gap2, dist)
            middle = (s + 0.5 * gap, c1 + 0.5 * gap1, c2 + 0.5 * gap2)
            at = where3(nearer, middle, at)
    a, a1, a2 = column_of(d, g0, i), column_of(d, g0, i1), column_of(d, g0, i2)
    pos = add_scaled(add_scaled(add_scaled(get3(d.geom_xpos, g0), a, at[0]), a1, at[1]), a2, at[2])
    normal = add_scaled(scale(a1, x), a2, y)
    add_contact(d, g0, g1, active & (dist <= slack), dist, pos, normal, ANY_TANGENT)


@kernel
def box_box(m, d, g0, g1, reach):
    """Up to eight contacts."""
    mat0, mat1 = get9(d.geom_xmat, g0), get9(d.geom_xmat, g1)
    offset = sub(get3(d.geom_xpos, g1), get3(d.geom_xpos, g0))
    store3(d, CENTRE, mul_mat_t_vec(mat0, offset))
    store3(d, CENTRE + 3, mul_mat_t_vec(mat1, scale(offset, -1.0)))
    for i in range(3):
        store3(d, ROT + 3 * i, mul_mat_t_vec(mat1, column_of(d, g0, i)))
    size = zero(offset[0])
    for k in range(3):
        size = size + m.geom_size[g0, k] + m.geom_size[g1, k]
    slack = reach + resolved(SLACK, size) * size
    face, face_code, apart = face_separations(m, d, g0, g1, slack)
    if not all_(apart):
        edge, code, apart = edge_separations(m, d, g0, g1, slack, face, face_code, apart)
        touching = not_(apart)
        if any_(touching):
            code = prefer_face(d, face, face_code, edge, code)
            for k in range(6):
                active = touching & (code == k)
                if any_(active):
                    face_contacts(m, d, g0, g1, k // 3, k % 3, active, reach)
            for k in range(9):
                active = touching & (code == 6 + k)
                if any_(active):
                    edge_contact(m, d, g0, g1, k // 3, k % 3, active, slack)
