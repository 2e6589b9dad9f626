"""Depth of the overlap of two convex shapes: the distance from the origin to the boundary of their difference.

MuJoCo: polytope2, polytope3, polytope4 and epa of engine_collision_gjk.c. The expanding polytope algorithm starts from the
simplex that GJK ended with, and pushes out the triangle nearest to the origin until that is on the boundary.
Reference: van den Bergen 2001, "Proximity queries and penetration depth computation on 3D game objects".
"""

from ..kernel import kernel
from ..kernel.ops import absolute, minimum, sqrt, zero
from ..math.quaternion import MIN_VALUE
from ..math.vec3 import add, add_scaled, cross, dot, norm, scale, sub, unit
from .contact import MAXFACE, MAXHULL, fits
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
SINE = 0.75**0.5  # of a third of a turn
SPINDLE = (  # two tips 0, 1 over the triangle 2, 3, 4: corners of its six faces and their neighbours
    (0, 2, 3, 1, 3, 2), (0, 4, 2, 2, 4, 0), (0, 3, 4, 0, 5, 1), (1, 3, 2, 5, 0, 4), (1, 2, 4, 3, 1, 5), (1, 4, 3, 4, 2, 3),
)  # fmt: skip
TETRAHEDRON = ((0, 1, 2, 1, 3, 2), (0, 3, 1, 2, 3, 0), (0, 2, 3, 0, 3, 1), (3, 2, 1, 2, 0, 1))


@kernel(scalar=True)
def around(axis, v):
    """A vector turned by a third of a turn around a unit axis."""
    return add_scaled(add_scaled(scale(v, -0.5), cross(axis, v), SINE), axis, 1.5 * dot(axis, v))


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
def holds_origin(d):
    """Whether the origin is inside the tetrahedron of the first four corners."""
    for k in range(4):
        a, b = corner(d, k), corner(d, (k + 1) & 3)
        if not same_side(a, b, corner(d, (k + 2) & 3), corner(d, (k + 3) & 3)):
            return False
    return True


@kernel(scalar=True)
def between_tips(d):
    """Whether the origin is behind all six faces of a spindle: it may be beside the middle one."""
    for k in range(6):
        a, b, c, _, _, _ = SPINDLE[k]
        if not same_side(corner(d, a), corner(d, b), corner(d, c), corner(d, 4 - k % 3)):
            return False
    return True


@kernel(scalar=True)
def pierces(d):
    """Whether the line through the tips goes through the triangle between them."""
    a, axis = corner(d, 0), sub(corner(d, 1), corner(d, 0))
    p, q, r = sub(corner(d, 2), a), sub(corner(d, 3), a), sub(corner(d, 4), a)
    u, v, w = det3(p, q, axis), det3(q, r, axis), det3(r, p, axis)
    return (u >= 0.0 and v >= 0.0 and w >= 0.0) or (u <= 0.0 and v <= 0.0 and w <= 0.0)


@kernel(scalar=True)
def in_triangle(d, p):
    """Whether a point lies in the triangle of corners 2, 3, 4."""
    a, b, c = corner(d, 2), corner(d, 3), corner(d, 4)
    u, v, w, whole = affine(a, b, c, p)
    u, v, w = u / whole, v / whole, w / whole
    if u < 0.0 or v < 0.0 or w < 0.0:
        return False
    return norm(sub(add_scaled(add_scaled(scale(a, u), b, v), c, w), p)) < MIN_VALUE


@kernel(scalar=True)
def add_tips(m, d, n):
    """Make a spindle of a segment (n = 2, its tips) or a triangle (n = 3, its middle) with further support points."""
    if n == 2:
        take_corner(d, 0, 0)
        take_corner(d, 1, 1)
        axis = sub(at(d, 1), at(d, 0))
        direction, begin = across(axis), 2
        axis = unit(axis)
    else:
        for k in range(3):
            take_corner(d, k, 2 + k)
        axis = cross(sub(at(d, 1), at(d, 0)), sub(at(d, 2), at(d, 0)))
        direction, begin = axis, 0
        if norm(axis) < MIN_VALUE:
            return False
    for k in range(begin, 2 if n == 3 else 5):
        first, second = support_pair(m, d, unit(direction))
        set_corner(d, k, first, second)
        direction = around(axis, direction) if n == 2 else scale(direction, -1.0)
    return n == 2 or not (in_triangle(d, corner(d, 0)) or in_triangle(d, corner(d, 1)))


@kernel(scalar=True)
def start_hull(m, d, n):
    """A polytope around the origin, from a simplex of n corners that holds it: (whether there is one, a point inside).

    Where the origin lies on a triangle, begins anew from that.
    """
    middle = at(d, 0)
    while True:
        clear(d)
        if n == 4:
            for k in range(4):
                take_corner(d, k, k)
        elif not add_tips(m, d, n):
            return False, middle
        begin, end = 2 if n == 3 else 0, 4 if n == 4 else 5  # of the corners around a point that is surely inside
        d.hull_size[CORNERS] = end
        middle = corner(d, begin)
        for k in range(begin + 1, end):
            middle = add(middle, corner(d, k))
        middle = scale(middle, 1.0 / (end - begin))
        flat = NONE
        for k in range(4 if n == 4 else 6):
            a, b, c, u, v, w = TETRAHEDRON[k & 3] if n == 4 else SPINDLE[k]
            if flat == NONE and attach(d, (a, b, c), (u, v, w), middle) < ON_FACE:
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
    if n == 4:
        return holds_origin(d), middle
    if are_solids(d):  # what begins without being convex would never become so, and end at any depth
        return between_tips(d) and pierces(d), middle
    return n == 3 or pierces(d), middle


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
    tolerance = MIN_VALUE if exact else 1.0 * m.opt_ccd_tolerance
    high, face, room = zero(middle[0]) + 1e150, NONE, 6 * most
    for k in range(most):
        before, face = face, lowest_open(d)
        if face == NONE or d.hull_normal[face, 3] > high * high:
            return before
        square = d.hull_normal[face, 3]
        if square <= 0.0:
            return face
        low = sqrt(square)
        tip = d.hull_size[CORNERS]
        first, second = support_pair(m, d, scale(normal(d, face), 1.0 / low))
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
    u, v, w, whole = affine(corner(d, i), corner(d, j), corner(d, k), normal(d, face))
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
