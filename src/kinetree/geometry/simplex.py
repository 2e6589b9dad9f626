"""The point of a simplex nearest to the origin, as weights of its corners.

Corners lie in `simplex_point`: columns 0 to 2 hold the point, 3 to 5 and 6 to 8 the points of both shapes whose difference it
is; `simplex_corner` holds their numbers.
Reference: Montanari, Petrinic, Barbieri 2017, "Improving the GJK algorithm for faster and more reliable distance queries".
"""

from ..kernel import kernel
from ..kernel.ops import absolute, huge, zero
from ..math.constants import MIN_VALUE
from ..math.vec3 import MIN_SQUARE, add_scaled, cross, dot, get3, scale, sub
from .support import CORNER


@kernel(scalar=True)
def at(d, i):
    """Corner i."""
    return get3(d.simplex_point, i)


@kernel(scalar=True)
def write_corner(d, points, numbers, i, first, second):
    """Make the difference of two support points corner i of a list of corners, the simplex's or a hull's."""
    for k in range(3):
        points[i, k] = first[k] - second[k]
        points[i, 3 + k] = first[k]
        points[i, 6 + k] = second[k]
    numbers[i, 0] = d.convex_side[0, CORNER]
    numbers[i, 1] = d.convex_side[1, CORNER]


@kernel(scalar=True)
def copy_corner(points, numbers, source, to_points, to_numbers, target):
    """Copy a corner of one list into one."""
    for k in range(9):
        to_points[target, k] = points[source, k]
    to_numbers[target, 0] = numbers[source, 0]
    to_numbers[target, 1] = numbers[source, 1]


@kernel(scalar=True)
def put_corner(d, i, first, second):
    """Make the difference of two points corner i."""
    write_corner(d, d.simplex_point, d.simplex_corner, i, first, second)


@kernel(scalar=True)
def move(d, source, target):
    """Overwrite one corner with another."""
    if source != target:
        copy_corner(d.simplex_point, d.simplex_corner, source, d.simplex_point, d.simplex_corner, target)


@kernel(scalar=True)
def det3(a, b, c):
    """Six times the signed volume of the origin and three points."""
    return dot(a, cross(b, c))


@kernel(scalar=True)
def agree(a, b):
    """Whether two numbers have one sign, and are not zero."""
    return (a > 0.0 and b > 0.0) or (a < 0.0 and b < 0.0)


@kernel(scalar=True)
def foot_on_plane(a, b, c):
    """The origin projected onto the plane of three points, and whether they span one.

    The normal is taken at another corner if at the first one it is short or the plane seems to pass through the origin.
    """
    ba, ca, cb = sub(b, a), sub(c, a), sub(c, b)
    n = cross(cb, ba)
    along, square = dot(n, b), dot(n, n)
    if square == 0.0:
        return n, False
    if along == 0.0 or square <= MIN_VALUE:
        n = cross(ba, ca)
        along, square = dot(n, a), dot(n, n)
        if square == 0.0:
            return n, False
        if along == 0.0 or square <= MIN_VALUE:
            n = cross(ca, cb)
            along, square = dot(n, c), dot(n, n)
            if square == 0.0:
                return n, False
    return scale(n, along / square), True


@kernel(scalar=True)
def foot_on_line(a, b):
    """The origin projected onto the line through two points; the second of them if they are one."""
    ba = sub(b, a)
    square = dot(ba, ba)
    return add_scaled(b, ba, -dot(b, ba) / square) if square >= MIN_SQUARE else b


@kernel(scalar=True)
def on_segment(a, b):
    """Weights of both ends."""
    foot = foot_on_line(a, b)
    span, low, high = a[0] - b[0], foot[0] - b[0], a[0] - foot[0]
    if absolute(a[1] - b[1]) >= absolute(span):  # along the axis on which the segment is longest
        span, low, high = a[1] - b[1], foot[1] - b[1], a[1] - foot[1]
    if absolute(a[2] - b[2]) >= absolute(span):
        span, low, high = a[2] - b[2], foot[2] - b[2], a[2] - foot[2]
    if agree(span, low) and agree(span, high):
        return low / span, high / span
    return zero(span), zero(span) + 1.0


@kernel(scalar=True)
def flat(v, skip):
    """Two components of a vector, without number `skip`."""
    return v[1] if skip == 0 else v[0], v[1] if skip == 2 else v[2]


@kernel(scalar=True)
def area(p, q, r):
    """Twice the signed area of a triangle."""
    return (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1])


@kernel(scalar=True)
def affine(a, b, c, p):
    """Areas opposite the corners of the triangle a b c as seen from p in its plane, and the whole one.

    All as projected along the axis that leaves most of the triangle.
    """
    yz, xz, xy = area(flat(a, 0), flat(b, 0), flat(c, 0)), area(flat(a, 1), flat(b, 1), flat(c, 1)), area(a, b, c)
    ayz, axz, axy = absolute(yz), absolute(xz), absolute(xy)
    skip = 0 if ayz >= axz and ayz >= axy else (1 if axz >= axy else 2)
    whole = yz if skip == 0 else (xz if skip == 1 else xy)
    a2, b2, c2, p2 = flat(a, skip), flat(b, skip), flat(c, skip), flat(p, skip)
    return area(p2, b2, c2), area(p2, c2, a2), area(p2, a2, b2), whole


@kernel(scalar=True)
def on_triangle(a, b, c):
    """Weights of three corners."""
    none = zero(a[0])
    foot, spans = foot_on_plane(a, b, c)
    u, v, w, whole = affine(a, b, c, foot)
    in_a, in_b, in_c = spans and agree(whole, u), spans and agree(whole, v), spans and agree(whole, w)
    if in_a and in_b and in_c:
        return u / whole, v / whole, w / whole
    best, weights = huge(none) * huge(none), (none, none, none)
    for side in range(3):  # the sides behind which the foot lies, named by the corner opposite
        beyond = not in_a if side == 0 else (not in_b if side == 1 else not in_c)
        if beyond:
            p, q = (b if side == 0 else a), (b if side == 2 else c)
            u, v = on_segment(p, q)
            x = add_scaled(scale(p, u), q, v)
            square = dot(x, x)
            if square < best:
                best = square
                if side == 0:
                    weights = (none, u, v)
                else:
                    weights = (u, none, v) if side == 1 else (u, v, none)
    return weights


@kernel(scalar=True)
def nearest(d, n):
    """Weights of the n corners of the simplex; zero for those that are not needed."""
    a = at(d, 0)
    none = zero(a[0])
    if n == 1:
        return none + 1.0, none, none, none
    if n == 2:
        u, v = on_segment(a, at(d, 1))
        return u, v, none, none
    inside_0 = inside_1 = inside_2 = inside_3 = False
    if n == 4:
        b, c, e = at(d, 1), at(d, 2), at(d, 3)
        v0, v1, v2, v3 = -det3(b, c, e), det3(a, c, e), -det3(a, b, e), det3(a, b, c)
        whole = v0 + v1 + v2 + v3
        inside_0, inside_1, inside_2, inside_3 = agree(whole, v0), agree(whole, v1), agree(whole, v2), agree(whole, v3)
        if inside_0 and inside_1 and inside_2 and inside_3:
            return v0 / whole, v1 / whole, v2 / whole, v3 / whole
    best, weights = huge(none) * huge(none), (none, none, none, none)
    for side in range(0 if n == 4 else 3, 4):  # the faces behind which the origin lies, named by the corner opposite
        low, high = (inside_0 if side == 0 else inside_1), (inside_2 if side == 2 else inside_3)
        if not (low if side < 2 else high):
            p, q, r = at(d, 1 if side == 0 else 0), at(d, 2 if side <= 1 else 1), at(d, 3 if side <= 2 else 2)
            u, v, w = on_triangle(p, q, r)
            x = add_scaled(add_scaled(scale(p, u), q, v), r, w)
            square = dot(x, x)
            if square < best:
                best = square
                if side == 0:
                    weights = (none, u, v, w)
                elif side == 1:
                    weights = (u, none, v, w)
                elif side == 2:
                    weights = (u, v, none, w)
                else:
                    weights = (u, v, w, none)
    return weights
