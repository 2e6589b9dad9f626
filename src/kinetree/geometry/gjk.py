"""Distance of two convex shapes, or a simplex in their difference that encloses the origin.

MuJoCo: gjk of engine_collision_gjk.c. The algorithm of Gilbert, Johnson and Keerthi walks to the point of the difference of the
shapes that is nearest to the origin: a simplex of support points at a time.
Writes: simplex_*, and the nearest points in row 0 of convex_near.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, maximum, zero
from ..math.constants import MIN_VALUE, coarse, resolved
from ..math.vec3 import dot, norm, scale, sub
from ..types import GeomType
from .contact_list import FAR
from .simplex import at, foot_on_line, foot_on_plane, move, nearest, put_corner
from .support import KIND, PRISM, position, support_pair


@kernel(scalar=True)
def have_corners(d):
    """Whether both shapes are polytopes: then the walk ends by itself, at the exact point."""
    first, second = d.convex_side[0, KIND], d.convex_side[1, KIND]
    plain = d.convex_grown[0] == 0.0 and d.convex_grown[1] == 0.0
    return (
        plain
        and (first == GeomType.MESH or first == GeomType.BOX or first == PRISM)
        and (second == GeomType.MESH or second == GeomType.BOX)
    )


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
    """The point of the simplex nearest to the origin: the foot, where there is one, whose direction rounding does not turn."""
    if n == 2:
        return foot_on_line(at(d, 0), at(d, 1))
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
    """`gjk_from` the middles of the shapes."""
    return gjk_from(m, d, cutoff, position(d, 0), position(d, 1))


@kernel(scalar=True)
def gjk_from(m, d, cutoff, start0, start1):
    """(corners of the last simplex, distance, whether the shapes are certainly apart).

    cutoff: greatest distance of interest [m]; if it is zero, only overlap counts. Beyond it the distance is FAR.
    start0, start1: points of the shapes; the walk begins at their difference.
    """
    tolerance, exact, wants_distance = m.opt_ccd_tolerance, have_corners(d), cutoff > 0.0
    gap = 0.0 if exact else 0.5 * tolerance * tolerance
    x = sub(start0, start1)
    none = resolved(MIN_VALUE, x[0])
    least = none if exact or wants_distance else maximum(4.0 * coarse(none), tolerance)
    length, before = norm(x), zero(x[0])
    if length < MIN_VALUE:  # only its direction counts, and any will do where it has none
        x, length = (before + 1.0, before, before), before + 1.0
    note_near(d, 0, length, start0, start1, scale(x, -1.0))
    weights, n, apart = (before, before, before, before), 0, False
    for k in range(m.opt_ccd_iterations):
        first, second = support_pair(m, d, scale(x, -1.0 / length))
        s = sub(first, second)
        lower = dot(x, s)
        if lower > 0.0:
            apart = True
            if not wants_distance or lower >= cutoff * length:
                return 0, zero(length) + FAR, True
        if k > 0 and dot(x, sub(x, s)) < gap:
            break
        put_corner(d, n, first, second)
        n, weights = keep_needed(d, nearest(d, n + 1))
        if n == 0:
            return 0, zero(length) + FAR, True
        if n == 4:
            break
        x = nearest_of(d, n, weights)
        before, length = length, norm(x)
        if length < (least if n > 1 else none) or (k > 0 and absolute(before - length) < none):
            break
    if n > 0:
        note_near(d, 0, length, combine(d, n, weights, 3), combine(d, n, weights, 6), scale(x, -1.0))
    if n < 4 and not apart and length >= none:
        first, second = support_pair(m, d, scale(x, -1.0 / length))
        apart = dot(x, sub(first, second)) > 0.0
    return n, (zero(length) if n == 4 and not apart else length), apart
