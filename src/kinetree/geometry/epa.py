"""Depth of the overlap of two convex shapes: the distance from the origin to the boundary of their difference.

MuJoCo: polytope2, polytope3, polytope4 and epa of engine_collision_gjk.c. The expanding polytope algorithm starts from the
simplex that GJK ended with, and pushes out the triangle nearest to the origin until that is on the boundary.
Reference: van den Bergen 2001, "Proximity queries and penetration depth computation on 3D game objects".
"""

from ..capacity import MAXFACE, MAXHULL, fits
from ..kernel import kernel
from ..kernel.ops import absolute, huge, maximum, minimum, sqrt, zero
from ..math.constants import MIN_VALUE, coarse, resolved
from ..math.vec3 import add, add_scaled, cross, dot, mul_mat_vec, norm, scale, sub
from .gjk import are_solids, have_corners
from .hull import (  # fmt: skip
    CORNER,
    CORNERS,
    FACES,
    NEIGHBOUR,
    OPEN,
    RIM,
    attach,
    clear,
    corner,
    lowest_open,
    normal,
    open_face,
    remove_seen,
    return_corner,
    set_corner,
    take_corner,
)
from .simplex import affine, at, det3
from .support import support_pair

MOST = 1000  # iterations
NONE = -1
ON_FACE = 1e-28  # squared distance [m2] below which the origin lies on a triangle; MuJoCo's 1e-30 is rounding
SINE = 0.86602540378  # of a third of a turn, to the digits that MuJoCo has
SPINDLE = (  # two tips 0, 1 over the triangle 2, 3, 4: corners of its six faces and their neighbours
    (0, 2, 3, 1, 3, 2), (0, 4, 2, 2, 4, 0), (0, 3, 4, 0, 5, 1), (1, 3, 2, 5, 0, 4), (1, 2, 4, 3, 1, 5), (1, 4, 3, 4, 2, 3),
)  # fmt: skip
TETRAHEDRON = ((0, 1, 2, 1, 3, 2), (0, 3, 1, 2, 3, 0), (0, 2, 3, 0, 3, 1), (3, 2, 1, 2, 0, 1))


@kernel(scalar=True)
def third_of_a_turn(axis):
    """Rotation matrix of it around a unit axis."""
    x, y, z = axis
    return (
        x * x * 1.5 - 0.5, x * y * 1.5 - z * SINE, x * z * 1.5 + y * SINE,
        y * x * 1.5 + z * SINE, y * y * 1.5 - 0.5, y * z * 1.5 - x * SINE,
        x * z * 1.5 - y * SINE, y * z * 1.5 + x * SINE, z * z * 1.5 - 0.5,
    )  # fmt: skip


@kernel(scalar=True)
def divided(v, s):
    """A vector divided by a scalar: to the last digit not the same as times 1 / s."""
    return v[0] / s, v[1] / s, v[2] / s


@kernel(scalar=True)
def across(v):
    """A vector at a right angle to v: its product with the axis along which v is shortest."""
    x, y, z = absolute(v[0]), absolute(v[1]), absolute(v[2])
    none = zero(v[0])
    if x <= y and x <= z:
        return none, -v[2], v[1]
    return (v[2], none, -v[0]) if y <= z else (-v[1], v[0], none)


@kernel(scalar=True)
def same_side(a, b, c, e):
    """Whether e and the origin are on one side of the plane through a, b, c."""
    n = cross(sub(b, a), sub(c, a))
    first, second = dot(n, sub(e, a)), -dot(n, a)
    return (first > 0.0 and second > 0.0) or (first < 0.0 and second < 0.0)


@kernel(scalar=True)
def holds_origin(d, n, reach):
    """Whether the origin is behind all faces of a tetrahedron (n = 4) or spindle, or before one by less than a reach [m]."""
    for k in range(4 if n == 4 else 6):
        a, b, c = d.hull_face[k, CORNER], d.hull_face[k, CORNER + 1], d.hull_face[k, CORNER + 2]
        beside, behind = d.hull_face[k, NEIGHBOUR], a
        for i in range(3):  # a corner that is not on this face
            e = d.hull_face[beside, CORNER + i]
            behind = e if e != a and e != b and e != c else behind
        if not same_side(corner(d, a), corner(d, b), corner(d, c), corner(d, behind)):
            if d.hull_normal[k, 3] >= reach * reach:
                return False
    return True


@kernel(scalar=True)
def sides_of_line(d):
    """On which sides of the line through the tips of a spindle the sides of the triangle between them lie."""
    a, axis = corner(d, 0), sub(corner(d, 1), corner(d, 0))
    p, q, r = sub(corner(d, 2), a), sub(corner(d, 3), a), sub(corner(d, 4), a)
    return det3(p, q, axis), det3(q, r, axis), det3(r, p, axis)


@kernel(scalar=True)
def pierces(d):
    """Whether the line through the tips goes through the triangle between them."""
    u, v, w = sides_of_line(d)
    return (u >= 0.0 and v >= 0.0 and w >= 0.0) or (u <= 0.0 and v <= 0.0 and w <= 0.0)


@kernel(scalar=True)
def arrange(d):
    """How a triangle and two tips make a convex body: (4 for a tetrahedron or 3 for a spindle, its corners in order).

    Where the line through the tips passes the triangle by on one side, the ends of that side are the tips; where on two, the
    corner between these is left out.
    """
    u, v, w = sides_of_line(d)
    least = resolved(MIN_VALUE, u)
    if pierces(d):
        return 3, (0, 1, 2, 3, 4)
    if u > 0.0 and v < -least and w < -least:
        return 3, (2, 3, 4, 1, 0)
    if v > 0.0 and u < -least and w < -least:
        return 3, (3, 4, 2, 1, 0)
    if w > 0.0 and u < -least and v < -least:
        return 3, (4, 2, 3, 1, 0)
    if u <= v and u <= w:
        return 4, (2, 3, 0, 1, 4)
    return 4, (3, 4, 0, 1, 2) if v <= u and v <= w else (4, 2, 0, 1, 3)


@kernel(scalar=True)
def in_triangle(d, p):
    """Whether a point lies in the triangle of corners 2, 3, 4."""
    a, b, c = corner(d, 2), corner(d, 3), corner(d, 4)
    u, v, w, whole = affine(a, b, c, p)
    u, v, w = u / whole, v / whole, w / whole
    if u < 0.0 or v < 0.0 or w < 0.0:
        return False
    return norm(sub(add_scaled(add_scaled(scale(a, u), b, v), c, w), p)) < resolved(MIN_VALUE, u)


@kernel(scalar=True)
def add_tips(m, d, n):
    """Make a spindle of a segment (n = 2, its tips) or a triangle (n = 3, its middle) with further support points."""
    if n == 2:
        take_corner(d, 0, 0)
        take_corner(d, 1, 1)
        axis = sub(at(d, 1), at(d, 0))
        direction, begin = across(axis), 2
        turn = third_of_a_turn(divided(axis, norm(axis)))
    else:
        for k in range(3):
            take_corner(d, k, 2 + k)
        axis = cross(sub(at(d, 1), at(d, 0)), sub(at(d, 2), at(d, 0)))
        direction, begin = axis, 0
        if norm(axis) < MIN_VALUE:
            return False
    for k in range(begin, 2 if n == 3 else 5):
        first, second = support_pair(m, d, divided(direction, norm(direction)))
        set_corner(d, k, first, second)
        direction = mul_mat_vec(turn, direction) if n == 2 else scale(direction, -1.0)
    return n == 2 or not (in_triangle(d, corner(d, 0)) or in_triangle(d, corner(d, 1)))


@kernel(scalar=True)
def start_hull(m, d, n):
    """A polytope around the origin, from a simplex of n corners that holds it: (whether there is one, a point inside).

    Where the origin lies on a triangle, begins anew from that.
    """
    middle = at(d, 0)
    while True:
        clear(d)
        form, order = n, (0, 1, 2, 3, 4)
        if n == 4:
            for k in range(4):
                take_corner(d, k, k)
        elif not add_tips(m, d, n):
            return False, middle
        elif n == 3:
            form, order = arrange(d)
        d.hull_size[CORNERS] = 4 if n == 4 else 5
        around = 4 if form == 4 else 5  # corners of the polytope
        middle = corner(d, order[0])
        for k in range(1, around):
            middle = add(middle, corner(d, order[k]))
        middle = scale(middle, 1.0 / around)
        flat = NONE
        for k in range(4 if form == 4 else 6):
            a, b, c, u, v, w = TETRAHEDRON[k & 3] if form == 4 else SPINDLE[k]
            if flat == NONE and attach(d, (order[a], order[b], order[c]), (u, v, w), middle) < maximum(
                ON_FACE, coarse(middle[0]) * coarse(middle[0])
            ):
                flat = k
        if flat == NONE:
            break
        if n == 3:
            return False, middle
        for k in range(3):
            return_corner(d, d.hull_face[flat, CORNER + k], k)
        n = 3
    for k in range(d.hull_size[FACES]):
        open_face(d, k)
    if n == 2:
        return pierces(d) and (holds_origin(d, n, zero(middle[0])) or not are_solids(d)), middle
    strict = n == 4 or are_solids(d)  # what begins without being convex would never become so, and end at any depth
    return holds_origin(d, form, zero(middle[0]) if strict else 1.0 * m.opt_ccd_tolerance), middle


@kernel(scalar=True)
def seen_before(d, n):
    """Whether corner n is the difference of the same two corners of the shapes as an earlier one."""
    for k in range(n):
        if d.hull_corner[k, 0] == d.hull_corner[n, 0] and d.hull_corner[k, 1] == d.hull_corner[n, 1]:
            return True
    return False


@kernel(scalar=True)
def attach_rim(d, tip, middle, low, high):
    """Close the hole in the polytope with triangles up to a new corner; False if one of them has no plane.

    Triangles at squared distances between low and high are open.
    """
    begin, n = d.hull_size[FACES], d.hull_size[RIM]
    for k in range(n):
        other, side = d.hull_rim[k, 0], d.hull_rim[k, 1]
        first, second = d.hull_face[other, CORNER + side], d.hull_face[other, CORNER + (side + 1) % 3]
        d.hull_face[other, NEIGHBOUR + side] = begin + k
        before, after = begin + (k + n - 1) % n, begin + (k + 1) % n
        square = attach(d, (tip, second, first), (before, other, after), middle)
        if square == 0.0:
            return False
        if square >= low and square <= high:
            open_face(d, begin + k)
    return True


@kernel(scalar=True)
def expand(m, d, middle):
    """Push the polytope out to the boundary; the triangle that is nearest to the origin, NONE if rounding won."""
    exact, most = have_corners(d), minimum(m.opt_ccd_iterations, MOST)
    least = resolved(MIN_VALUE, middle[0])
    tolerance = least if exact else maximum(4.0 * coarse(least), m.opt_ccd_tolerance)
    high, face, room = huge(middle[0]), NONE, 6 * most
    for k in range(most):
        before, face = face, lowest_open(d)
        if face == NONE or d.hull_normal[face, 3] > high * high:
            return before
        square = d.hull_normal[face, 3]
        if square <= 0.0:
            return face
        low = sqrt(square)
        tip = d.hull_size[CORNERS]
        first, second = support_pair(m, d, divided(normal(d, face), low))
        set_corner(d, tip, first, second)
        d.hull_size[CORNERS] = tip + 1
        own = dot(normal(d, face), corner(d, tip)) / low
        high = minimum(high, own)
        if own - low < tolerance:
            beside = own < low - m.opt_ccd_tolerance  # the polytope that EPA began with was not around the origin
            return NONE if k == 0 and beside else face
        if exact and seen_before(d, tip):
            return face
        remove_seen(d, face, corner(d, tip))
        n = d.hull_size[RIM]
        if n < 3:
            return NONE
        if n > room - d.hull_size[FACES]:
            return face
        if not attach_rim(d, tip, middle, square, high * high):
            return NONE
        if d.hull_size[OPEN] == 0:
            return face
    return face


@kernel(scalar=True)
def note_depth(d, face):
    """Write the nearest points of a triangle into row 0 of convex_near, with a negative distance."""
    i, j, k = d.hull_face[face, CORNER], d.hull_face[face, CORNER + 1], d.hull_face[face, CORNER + 2]
    u, v, w, _ = affine(corner(d, i), corner(d, j), corner(d, k), normal(d, face))
    whole = u + v + w
    u, v, w = u / whole, v / whole, w / whole
    d.convex_near[0, 0] = -sqrt(d.hull_normal[face, 3])
    for c in range(6):
        d.convex_near[0, 1 + c] = u * d.hull_point[i, 3 + c] + v * d.hull_point[j, 3 + c] + w * d.hull_point[k, 3 + c]
    for c in range(3):  # between the points, as in MuJoCo: a triangle that the origin is beyond points elsewhere
        d.convex_near[0, 7 + c] = d.convex_near[0, 1 + c] - d.convex_near[0, 4 + c]


@kernel
def corners_needed(m):
    """The most corners that a polytope can have."""
    return 5 + minimum(m.opt_ccd_iterations, MOST)


@kernel
def faces_needed(m):
    """The most triangles, with those that were taken out."""
    return 6 * minimum(m.opt_ccd_iterations, MOST) + 6


@kernel(scalar=True)
def epa(m, d, n):
    """The triangle of the boundary nearest to the origin, from a simplex of n > 1 corners; NONE if there is no overlap."""
    if not (fits(d, MAXHULL, corners_needed(m)) and fits(d, MAXFACE, faces_needed(m))):
        return NONE
    started, middle = start_hull(m, d, n)
    face = expand(m, d, middle) if started else NONE
    if face != NONE:
        note_depth(d, face)
    return face
