"""Distance of two convex shapes, or a simplex in their difference that encloses the origin.

MuJoCo: gjk of engine_collision_gjk.c. The algorithm of Gilbert, Johnson and Keerthi walks to the point of the difference of the
shapes that is nearest to the origin: a simplex of support points at a time.
Writes: simplex_*, and the nearest points in row 0 of convex_near.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, zero
from ..math.quaternion import MIN_VALUE
from ..math.vec3 import dot, norm, scale, sub
from .contact import FAR
from .simplex import at, foot_on_plane, move, nearest, put
from .support import BOX, KIND, MESH, PRISM, position, support_pair


@kernel(scalar=True)
def have_corners(d):
    """Whether both shapes are polytopes: then the walk ends by itself, at the exact point."""
    first, second = d.convex_side[0, KIND], d.convex_side[1, KIND]
    plain = d.convex_grown[0] == 0.0 and d.convex_grown[1] == 0.0
    return plain and (first == MESH or first == BOX or first == PRISM) and (second == MESH or second == BOX)


@kernel(scalar=True)
def are_solids(d):
    """Whether both shapes are boxes or meshes as they are."""
    return have_corners(d) and d.convex_side[0, KIND] != PRISM


@kernel(scalar=True)
def combine(d, n, weights, column):
    """The point with these weights; column: 0 of the difference, 3 and 6 of the shapes."""
    x, y, z = zero(weights[0]), zero(weights[0]), zero(weights[0])
    for i in range(n):
        x = x + weights[i] * d.simplex_point[i, column]
        y = y + weights[i] * d.simplex_point[i, column + 1]
        z = z + weights[i] * d.simplex_point[i, column + 2]
    return x, y, z


@kernel(scalar=True)
def nearest_of(d, n, weights):
    """The point of the simplex nearest to the origin: of a triangle the foot, whose direction rounding does not turn."""
    if n == 3:
        foot, spans = foot_on_plane(at(d, 0), at(d, 1), at(d, 2))
        if spans:
            return foot
    return combine(d, n, weights, 0)


@kernel(scalar=True)
def keep_needed(d, weights):
    """Drop corners of no weight: how many stay, and their weights."""
    n, none = 0, zero(weights[0])
    a, b, c, e = none, none, none, none
    for i in range(4):
        w = weights[i]
        if w != 0.0:
            move(d, i, n)
            a, b, c, e = (w if n == 0 else a), (w if n == 1 else b), (w if n == 2 else c), (w if n == 3 else e)
            n += 1
    return n, (a, b, c, e)


@kernel(scalar=True)
def note_near(d, row, dist, first, second, normal):
    """Write a row of convex_near: a distance, the two points that have it, and the direction from shape 0 to shape 1."""
    d.convex_near[row, 0] = dist
    for k in range(3):
        d.convex_near[row, 1 + k] = first[k]
        d.convex_near[row, 4 + k] = second[k]
        d.convex_near[row, 7 + k] = normal[k]


@kernel(scalar=True)
def gjk(m, d, cutoff):
    """(corners of the last simplex, distance, whether the shapes are certainly apart).

    cutoff: greatest distance of interest [m]; if it is zero, only overlap counts. Beyond it the distance is FAR.
    """
    tolerance, exact, wants_distance = m.opt_ccd_tolerance, have_corners(d), cutoff > 0.0
    gap, least = (0.0, MIN_VALUE) if exact else (0.5 * tolerance * tolerance, 1.0 * tolerance)
    x = sub(position(d, 0), position(d, 1))
    length, before = norm(x), zero(x[0])
    if length < least:  # only its direction counts, and any will do where it has none
        x = (before + 1.0, before, before) if length < MIN_VALUE else scale(x, 1.0 / length)
        length = norm(x)
    note_near(d, 0, length, position(d, 0), position(d, 1), scale(x, -1.0))
    weights, n, k, apart = (before, before, before, before), 0, 0, False
    ended = False
    while True:
        ended = (
            ended or k >= m.opt_ccd_iterations or length < least or (k > 1 and absolute(before - length) < MIN_VALUE)
        )
        if ended and length == 0.0:
            break
        first, second = support_pair(m, d, scale(x, -1.0 / length))
        s = sub(first, second)
        lower = dot(x, s)
        if ended or dot(x, sub(x, s)) < gap:
            apart = lower > 0.0
            break
        if lower > 0.0 and (not wants_distance or lower >= cutoff * length):
            return 0, zero(length) + FAR, True
        put(d, n, first, second)
        n, weights = keep_needed(d, nearest(d, n + 1))
        if n == 0:
            return 0, zero(length) + FAR, True
        x = nearest_of(d, n, weights)
        before, length = length, norm(x)
        k += 1
        ended = n == 4
    if n > 0:
        note_near(d, 0, length, combine(d, n, weights, 3), combine(d, n, weights, 6), scale(x, -1.0))
    return n, (zero(length) if n == 4 and not apart else length), apart
