"""Several contacts where a face of one box or mesh lies on a face or edge of another: what both have in common, clipped.

MuJoCo: multicontact, polygonClip, polygonQuad of engine_collision_gjk.c.
Scratch: clip_corner holds the face that clips in columns 0 to 2 and two polygons in columns 3 to 5 and 6 to 8.
Reference: Sutherland, Hodgman 1974, "Reentrant polygon clipping".
"""

from ..capacity import MAXHULL, fits
from ..kernel import kernel
from ..kernel.ops import absolute, minimum, sqrt, zero
from ..math.constants import MIN_VALUE, resolved
from ..math.vec3 import add, add_scaled, cross, dot, scale, sub, unit
from ..types import GeomType
from .features import (  # fmt: skip
    COUNT,
    DIM,
    LEVEL,
    copy_face,
    corner_of,
    edge_count,
    edge_direction,
    edge_end,
    face_normal,
    face_size,
    find_features,
    is_round,
    opposed_faces,
)
from .gjk import note_near
from .support import KIND

FACE, POLYGON, OTHER = 0, 3, 6  # columns of clip_corner
MOST = 4  # contacts


@kernel(scalar=True)
def point(d, i, column):
    """Point i of a list in clip_corner."""
    return d.clip_corner[i, column], d.clip_corner[i, column + 1], d.clip_corner[i, column + 2]


@kernel(scalar=True)
def append(d, n, column, p):
    """Add a point to a list of n; returns the new n. Points beyond the room, which rounding might bring, are dropped."""
    if n >= d.capacity[MAXHULL]:
        return n
    for c in range(3):
        d.clip_corner[n, column + c] = p[c]
    return n + 1


@kernel(scalar=True)
def clip_by_side(d, k, sides, normal, column, n):
    """Keep what of a polygon is inside side k of the face, in the other list; returns its number of corners."""
    a, b, out = point(d, k, FACE), point(d, (k + 1) % sides, FACE), 0
    inward = unit(cross(sub(b, a), sub(add(a, normal), a)))  # MuJoCo rounds the normal in this way
    target = POLYGON + OTHER - column
    for i in range(n):
        p, q = point(d, i, column), point(d, (i + 1) % n, column)
        above_p, above_q = dot(sub(p, a), inward), dot(sub(q, a), inward)
        least = resolved(MIN_VALUE, above_p)
        inside_p, inside_q = above_p > -least, above_q > -least
        if inside_p != inside_q and above_p != above_q:
            t = above_p / (above_p - above_q)
            if t >= 0.0 and t <= 1.0:
                out = append(d, out, target, add_scaled(p, sub(q, p), t))
        if inside_q:
            out = append(d, out, target, q)
    return out


@kernel(scalar=True)
def keep_below(d, normal, column, n, margin):
    """Drop corners that are farther above the face than the margin; returns how many are left."""
    a, out = point(d, 0, FACE), 0
    for i in range(n):
        p = point(d, i, column)
        if dot(sub(p, a), normal) <= margin:
            out = append(d, out, column, p)
    return out


@kernel(scalar=True)
def area(d, column, a, b, c, e):
    """Of a quadrilateral."""
    n = cross(sub(point(d, c, column), point(d, a, column)), sub(point(d, e, column), point(d, b, column)))
    return 0.5 * sqrt(dot(n, n))


@kernel(scalar=True)
def largest_quadrilateral(d, column, n):
    """Four corners of a polygon that span much of its area: each moves on in turn while the area grows.

    Many are equally large on the cap of a cylinder; there the last digits choose, as in MuJoCo.
    """
    a, b, c, e = 0, 1, 2, 3
    best = (0, 1, 2, 3)
    most = area(d, column, 0, 1, 2, 3)
    while a < n:
        turn, stuck = 2, 0  # whose turn it is: the last corner, then the third, then the second, and again
        while stuck < 1:
            nb, nc, ne = (b + (turn == 0)) % n, (c + (turn == 1)) % n, (e + (turn == 2)) % n
            x = area(d, column, a, nb, nc, ne)
            if x > most:
                most, b, c, e = x, nb, nc, ne
                best = (a, b, c, e)
                turn = 1 if turn == 2 else turn  # the last moves once, then the others as far as they can
            elif turn == 2:
                stuck = 1
            else:
                turn = 0 if turn == 1 else 2
        if b == a:
            b = (b + 1) % n
            if c == b:
                c = (c + 1) % n
                if e == c:
                    e = (e + 1) % n
        a += 1
    return best


@kernel(scalar=True)
def note_on_face(d, row, p, normal, direction, flipped):
    """Write the contact of a corner p of the polygon with the face into convex_near.

    p is moved onto the face along its normal, and from there along `direction` back onto the plane of the polygon.
    """
    height = dot(sub(p, point(d, 0, FACE)), normal)
    foot = add_scaled(p, normal, -height)
    dist = dot(sub(foot, p), direction)
    end = add_scaled(foot, direction, -dist)
    if flipped:
        note_near(d, row, dist, end, foot, direction)
    else:
        note_near(d, row, dist, foot, end, scale(direction, -1.0))


@kernel(scalar=True)
def clip_by_face(d, sides, n, normal, margin):
    """Keep what of a polygon of n corners lies above a face and not beyond the margin: (its column, number of corners left)."""
    column, left = POLYGON, n
    for k in range(sides):
        left = clip_by_side(d, k, sides, normal, column, left)
        column = POLYGON + OTHER - column
    return column, keep_below(d, normal, column, left, margin)


@kernel(scalar=True)
def clip_polygon(d, sides, n, normal, direction, margin):
    """Contacts of a polygon of n corners with a face, which has a normal; none if nothing is left of it. Returns how many.

    direction: outward normal of the polygon.
    """
    column, left = clip_by_face(d, sides, n, normal, margin)
    chosen = (0, 1, 2, 3)
    if left > MOST:
        chosen, left = largest_quadrilateral(d, column, left), MOST
    for row in range(left):
        note_on_face(d, row, point(d, chosen[row], column), normal, direction, False)
    return left


@kernel(scalar=True)
def farthest(d, column, n):
    """The two of n points that are farthest from each other; the first two of equals."""
    first, second = 0, 1
    most = zero(d.clip_corner[0, column])
    for i in range(n):
        for j in range(i + 1, n):
            way = sub(point(d, j, column), point(d, i, column))
            if dot(way, way) > most:
                most, first, second = dot(way, way), i, j
    return first, second


@kernel(scalar=True)
def clip_segment(d, sides, p, q, normal, flipped, margin):
    """Contacts of an edge from p to q with a face: the ends of what is left of it; returns how many.

    flipped: the face is the second shape's.

    The edge is a polygon there and back, as in MuJoCo, which decides the order of its ends; an end that was cut off has two
    corners there.
    """
    n = append(d, append(d, 0, POLYGON, p), POLYGON, q)
    column, left = clip_by_face(d, sides, n, normal, margin)
    ends = farthest(d, column, left) if left > 2 else (0, 1)
    for row in range(minimum(left, 2)):
        note_on_face(d, row, point(d, ends[row], column), normal, scale(normal, -1.0), flipped)
    return minimum(left, 2)


@kernel(scalar=True)
def clip_edge(m, d, side, margin, out):
    """Contacts of an edge of shape `side` with a face of the other, the first pair that is parallel: whether one is, how many.

    out: from that shape to the other; faces that look along it do not count.
    """
    other = 1 - side
    for j in range(d.feature[other, COUNT]):
        normal = face_normal(m, d, other, j)
        for i in range(edge_count(d, side)):
            if -dot(normal, out) > MIN_VALUE and absolute(dot(edge_direction(m, d, side, i), normal)) < LEVEL:
                sides = copy_face(m, d, other, j, FACE)
                back = d.convex_grown[side] if d.convex_side[side, KIND] == GeomType.CAPSULE else zero(margin)
                begin, end = corner_of(m, d, side, 0), edge_end(m, d, side, i)
                begin, end = add_scaled(begin, normal, back), add_scaled(end, normal, back)  # take off the margin
                return True, clip_segment(d, sides, begin, end, normal, side == 0, margin)
    return False, 0


@kernel(scalar=True)
def has_faces(m, d, side):
    """Whether a shape has faces or edges: it is a box, a mesh whose polygons are known, a capsule, a cylinder or a plane."""
    kind = d.convex_side[side, KIND]
    return (
        kind == GeomType.BOX
        or kind == GeomType.PLANE
        or is_round(d, side)
        or (kind == GeomType.MESH and m.mesh_polynum[m.geom_dataid[d.narrow_geom[side]]] > 0)
    )


@kernel(scalar=True)
def largest_face(m, d, side):
    """Most corners that a listed face has."""
    most = 4
    for k in range(d.feature[side, COUNT]):
        n = face_size(m, d, side, k)
        most = n if n > most else most
    return most


@kernel(scalar=True)
def add_neighbours(m, d, face, margin):
    """Replace the contact in row 0 of convex_near by several, where faces or edges of the shapes meet in a triangle of EPA.

    Returns how many there are then, 0 if none was replaced.
    """
    if not (has_faces(m, d, 0) and has_faces(m, d, 1)):
        return 0
    out = (d.convex_near[0, 7], d.convex_near[0, 8], d.convex_near[0, 9])
    find_features(m, d, 0, face, out)
    find_features(m, d, 1, face, scale(out, -1.0))
    if not fits(d, MAXHULL, 2 * (largest_face(m, d, 0) + largest_face(m, d, 1))):
        return 0
    i, j = opposed_faces(m, d, out)
    if i >= 0:
        sides, n = copy_face(m, d, 0, i, FACE), copy_face(m, d, 1, j, POLYGON)
        normal = face_normal(m, d, 0, i)
        direction = scale(normal, -1.0) if sides == 0 else face_normal(m, d, 1, j)  # a plane is parallel to nothing
        return clip_polygon(d, sides, n, normal, direction, margin)
    else:
        fewer = d.feature[1, DIM] < d.feature[0, DIM] or d.feature[1, COUNT] == 0
        first = 1 if fewer and d.feature[1, DIM] < 3 and d.feature[0, COUNT] > 0 else 0  # whose edge is tried first
        found, count = False, 0
        for k in range(2):
            side = first ^ k
            if not found and d.feature[side, DIM] < 3:
                found, count = clip_edge(m, d, side, margin, scale(out, 1.0 - 2.0 * side))
        return count
