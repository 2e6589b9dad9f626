"""A capsule with a box.

MuJoCo: mjc_CapsuleBox. In the frame of the box the axis of the capsule is the segment p + x a for x from -1 to 1. Its point
nearest to the box gives the first contact. A second one is put farther along the segment, as far as it stays over the face or
edge that the first one is at, unless the segment points into the box or away from it. Both are contacts of balls.
Scratch: narrow_work holds what loops index: p, a, and the signs of the nearest corner.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, any_, minimum, needs, not_, where, zero
from ..math.constants import MIN_VALUE
from ..math.vec3 import get3, get9, mul_mat_t_vec, scale, sub
from .plane import z_axis
from .round import clip_to
from .sphere_box import touch_box

P, A, SIGN = 0, 3, 6  # places in narrow_work: centre of the segment, half of it, signs of the nearest corner
INSIDE = -1.0  # in place of a face
NOWHERE = -4.0  # in place of a step along the segment, which is between -2 and 2


@kernel
def store3(d, at, v):
    """Write three numbers of narrow_work."""
    d.narrow_work[at] = v[0]
    d.narrow_work[at + 1] = v[1]
    d.narrow_work[at + 2] = v[2]


@kernel
def nearest_end(m, d, box, best):
    """The nearest end of the segment that is over a face of the box or inside: (squared distance, end, axis of the face).

    Squared distance: best if no end is nearer; end: -1 or 1, or 0 if none is; axis: INSIDE if there is no face below.
    """
    none = zero(best)
    end, face = none, none + INSIDE
    for k in range(2):
        sign = 2 * k - 1
        count, square, axis = none, none, none + INSIDE
        for j in range(3):
            x = d.narrow_work[P + j] + sign * d.narrow_work[A + j]
            beyond = x - clip_to(x, m.geom_size[box, j])
            out = beyond != 0.0
            count, axis = where(out, count + 1.0, count), where(out, none + j, axis)
            square = square + beyond * beyond
        nearer = (count < 1.5) & (square < best)
        best, end, face = where(nearer, square, best), where(nearer, none + sign, end), where(nearer, axis, face)
    return best, end, face


@kernel
def beyond_one(x):
    """1 above 1, -1 below -1, and 0 in between."""
    none = zero(x)
    return where(x > 1.0, none + 1.0, where(x < -1.0, none - 1.0, none))


@kernel
def nearest_edge(m, d, box, length, best):
    """The edge of the box nearest to the segment if nearer than best: (found, x on the segment, y on it, axis, corner).

    The edge goes from y = -1 to 1. corner: 1 or -1 if the solution was cut at that end of it, else 0; the signs of that corner
    are then in narrow_work, and else those of the edge.
    """
    none = zero(best)
    found, x, y, axis, corner = best < 0.0, none, none, none, none
    store3(d, SIGN, (none, none, none))
    aa = length * length
    for j in range(3):
        lo, hi = 1 if j == 0 else 0, 1 if j == 2 else 2  # the two other axes
        p, p_lo, p_hi = d.narrow_work[P + j], d.narrow_work[P + lo], d.narrow_work[P + hi]
        a, a_lo, a_hi = d.narrow_work[A + j], d.narrow_work[A + lo], d.narrow_work[A + hi]
        half = m.geom_size[box, j]
        ee, ea, u = half * half, -half * a, half * p
        det = ee * aa - ea * ea
        skew = absolute(det) >= MIN_VALUE
        inverse = 1.0 / where(skew, det, 1.0)
        for k in range(4):
            s, t = 2 * (k & 1) - 1, (k & 2) - 1
            w_lo, w_hi = s * m.geom_size[box, lo] - p_lo, t * m.geom_size[box, hi] - p_hi
            v = a_lo * w_lo + a_hi * w_hi - a * p
            edge, here = (aa * u - ea * v) * inverse, (ee * v - ea * u) * inverse
            cut = beyond_one(edge)
            here = where(cut != 0.0, (v - ea * cut) / aa, here)
            over = absolute(here) > 1.0
            here = clip_to(here, 1.0)
            edge = where(over, (u - ea * here) / ee, edge)
            cut = where(
                over & (absolute(edge) > 1.0), beyond_one(edge), cut
            )  # as in MuJoCo it stays if edge comes back
            edge = clip_to(edge, 1.0)
            g_lo, g_hi, g_own = w_lo - here * a_lo, w_hi - here * a_hi, half * edge - p - here * a
            square = g_lo * g_lo + g_hi * g_hi + g_own * g_own
            nearer = skew & (square < best - MIN_VALUE)
            best, found = where(nearer, square, best), found | nearer
            x, y, axis = where(nearer, here, x), where(nearer, edge, y), where(nearer, none + j, axis)
            corner = where(nearer, cut, corner)
            d.narrow_work[SIGN + j] = where(nearer, cut, d.narrow_work[SIGN + j])
            d.narrow_work[SIGN + lo] = where(nearer, none + s, d.narrow_work[SIGN + lo])
            d.narrow_work[SIGN + hi] = where(nearer, none + t, d.narrow_work[SIGN + hi])
    return found, x, y, axis, corner


@kernel
def length_over(m, d, box, axis):
    """How much of x passes from one face of the box to the opposite one, along an axis of the box."""
    return 2.0 * m.geom_size[box, axis] / absolute(d.narrow_work[A + axis])


@kernel
def rises(d, axis):
    """1 where the segment's coordinate grows with x, else 0."""
    none = zero(d.narrow_work[0])
    return where(d.narrow_work[A + axis] > 0.0, none + 1.0, none)


@kernel
def differs(d, axis):
    """1 where the segment grows towards the nearest corner's opposite side, else 0."""
    none = zero(d.narrow_work[0])
    return absolute(rises(d, axis) - where(d.narrow_work[SIGN + axis] > 0.0, none + 1.0, none))


@kernel
def beyond_end(m, d, box, end, face):
    """From the end over a face, along the segment to where it leaves the face; NOWHERE if it is inside the box."""
    step = zero(end) + 2.0
    for j in range(3):
        q = d.narrow_work[P + j] + end * d.narrow_work[A + j]
        for k in range(2):
            x = ((1 - 2 * k) * m.geom_size[box, j] - q) / d.narrow_work[A + j] * -end
            step = where((face != j) & (x > 0.0) & (x < step), x, step)
    return where(face == INSIDE, NOWHERE, -end * step)


@kernel
def beyond_corner(m, d, box, length, x):
    """From a corner, along the edge or the face that the segment leans over; NOWHERE if it points to or from the corner."""
    none = zero(x)
    count = differs(d, 0) + differs(d, 1) + differs(d, 2)
    one = count == 1.0
    sign = where(one, none + 1.0, none - 1.0)
    step = none + NOWHERE
    for j in range(3):
        first, second = (j + 1) % 3, (j + 2) % 3
        odd = differs(d, j) == 1.0
        chosen = (count > 0.5) & (count < 2.5) & where(one, odd, not_(odd))
        a = d.narrow_work[A + j]
        by_edge = sign * minimum(length_over(m, d, box, j), 1.0 - sign * x)
        by_face = minimum(length_over(m, d, box, first), minimum(length_over(m, d, box, second), 1.0 + sign * x))
        step = where(chosen, where(a * a > 0.5 * length * length, by_edge, -sign * by_face), step)
    return step


@kernel
def beyond_edge(m, d, box, axis, x, y):
    """From a point of an edge, across the face that the segment leans over; NOWHERE if it passes the edge like a T."""
    step = zero(x) + NOWHERE
    for j in range(3):
        first, second = (j + 1) % 3, (j + 2) % 3
        steeper = absolute(d.narrow_work[A + first]) > absolute(d.narrow_work[A + second])
        over = where(steeper, length_over(m, d, box, first), length_over(m, d, box, second))
        ahead = where(steeper, differs(d, first), differs(d, second))
        sign = 2.0 * ahead - 1.0
        left = where(rises(d, j) == ahead, 1.0 - y, 1.0 + y)
        s = minimum(0.5 * left * length_over(m, d, box, j), minimum(over, 1.0 - sign * x))
        step = where((axis == j) & (differs(d, first) + differs(d, second) == 1.0), sign * s, step)
    return step


@kernel
def capsule_box(m, d, g0, g1, reach):
    """Up to two contacts."""
    mat, radius, length = get9(d.geom_xmat, g1), m.geom_size[g0, 0], m.geom_size[g0, 1]
    p = mul_mat_t_vec(mat, sub(get3(d.geom_xpos, g0), get3(d.geom_xpos, g1)))
    a = scale(mul_mat_t_vec(mat, z_axis(d, g0)), length)
    store3(d, P, p)
    store3(d, A, a)
    none = zero(p[0])
    best = none + reach + 2.0 * (radius + length + m.geom_size[g1, 0] + m.geom_size[g1, 1] + m.geom_size[g1, 2])
    best, end, face = nearest_end(m, d, g1, best)
    at_edge, x, y, axis, corner = nearest_edge(m, d, g1, length, best)
    over = not_(at_edge) & (end != 0.0)
    step = none + NOWHERE
    if needs(over):
        step = where(over, beyond_end(m, d, g1, end, face), step)
    if needs(at_edge & (corner != 0.0)):
        step = where(at_edge & (corner != 0.0), beyond_corner(m, d, g1, length, x), step)
    if needs(at_edge & (corner == 0.0)):
        step = where(at_edge & (corner == 0.0), beyond_edge(m, d, g1, axis, x, y), step)
    x = where(at_edge, x, end)
    active = at_edge | over
    for _ in range(2):
        if any_(active):
            touch_box(m, d, g0, g1, active, reach, (p[0] + x * a[0], p[1] + x * a[1], p[2] + x * a[2]), radius)
        active, x = active & (step > -3.0), x + step
