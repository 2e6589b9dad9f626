"""A polytope around the origin that grows: its corners, its triangles, and which of them a new corner sees.

MuJoCo: the polytope of engine_collision_gjk.c.
Scratch: hull_point and hull_corner hold corners as simplex_* do; hull_normal the foot of the origin on each triangle, turned
outward, and its squared length; hull_face the three corners of a triangle, its three neighbours (across the side that begins
at that corner), and its place among the open triangles, which hull_open lists; hull_rim the edges around what a corner sees;
hull_stack triangles still to look at; hull_size how much of each there is.
"""

from ..kernel import kernel
from ..kernel.ops import huge, zero
from ..math.constants import MIN_VALUE, coarse
from ..math.vec3 import dot, get3, scale, sub
from .simplex import copy_corner, foot_on_plane, write_corner

CORNERS, FACES, OPEN, RIM = 0, 1, 2, 3  # places in hull_size
CORNER, NEIGHBOUR, PLACE = 0, 3, 6  # columns of hull_face
CLOSED, GONE = -1, -2  # places of triangles that are not open: not of interest, and no longer there


@kernel(scalar=True)
def clear(d):
    """Begin with nothing."""
    for k in range(4):
        d.hull_size[k] = 0


@kernel(scalar=True)
def corner(d, i):
    """Corner i."""
    return get3(d.hull_point, i)


@kernel(scalar=True)
def set_corner(d, i, first, second):
    """Make the difference of two support points corner i."""
    write_corner(d, d.hull_point, d.hull_corner, i, first, second)


@kernel(scalar=True)
def take_corner(d, source, target):
    """Copy a corner of the simplex."""
    copy_corner(d.simplex_point, d.simplex_corner, source, d.hull_point, d.hull_corner, target)


@kernel(scalar=True)
def return_corner(d, source, target):
    """Copy a corner back to the simplex."""
    copy_corner(d.hull_point, d.hull_corner, source, d.simplex_point, d.simplex_corner, target)


@kernel(scalar=True)
def keep_simplex(d, n):
    """Make a simplex of up to three corners the only triangle; corners that it lacks are those that it has."""
    for k in range(3):
        take_corner(d, k if k < n else n - 1, k)
        d.hull_face[0, CORNER + k] = k


@kernel(scalar=True)
def normal(d, face):
    """The foot of the origin on a triangle, turned outward."""
    return get3(d.hull_normal, face)


@kernel(scalar=True)
def attach(d, corners, neighbours, middle):
    """Add a triangle; returns its squared distance from the origin, 0 if it has no plane. middle: a point inside."""
    face = d.hull_size[FACES]
    d.hull_size[FACES] = face + 1
    d.hull_face[face, CORNER], d.hull_face[face, CORNER + 1], d.hull_face[face, CORNER + 2] = corners
    d.hull_face[face, NEIGHBOUR], d.hull_face[face, NEIGHBOUR + 1], d.hull_face[face, NEIGHBOUR + 2] = neighbours
    d.hull_face[face, PLACE] = CLOSED
    first = corner(d, corners[0])
    foot, spans = foot_on_plane(corner(d, corners[2]), corner(d, corners[1]), first)
    square = zero(first[0])
    if spans:
        if dot(foot, sub(first, middle)) < 0.0:
            foot = scale(foot, -1.0)
        square = dot(foot, foot)
    d.hull_normal[face, 0], d.hull_normal[face, 1], d.hull_normal[face, 2] = foot
    d.hull_normal[face, 3] = square
    return square


@kernel(scalar=True)
def open_face(d, face):
    """Enter a triangle among those from which the polytope may grow."""
    n = d.hull_size[OPEN]
    d.hull_size[OPEN] = n + 1
    d.hull_open[n] = face
    d.hull_face[face, PLACE] = n


@kernel(scalar=True)
def remove(d, face):
    """Take a triangle out of the polytope."""
    place = d.hull_face[face, PLACE]
    if place >= 0:
        last = d.hull_size[OPEN] - 1
        d.hull_size[OPEN] = last
        d.hull_open[place] = d.hull_open[last]
        d.hull_face[d.hull_open[place], PLACE] = place
    d.hull_face[face, PLACE] = GONE


@kernel(scalar=True)
def side_at(d, face, begin):
    """Which side of a triangle begins at a corner."""
    if d.hull_face[face, CORNER] == begin:
        return 0
    return 1 if d.hull_face[face, CORNER + 1] == begin else 2


@kernel(scalar=True)
def look_across(d, face, side, depth):
    """Put the triangle across a side on the stack; returns its new depth."""
    other = d.hull_face[face, NEIGHBOUR + side]
    d.hull_stack[depth, 0] = other
    d.hull_stack[depth, 1] = side_at(d, other, d.hull_face[face, CORNER + (side + 1) % 3])
    return depth + 1


@kernel(scalar=True)
def rounding(d, face):
    """What the last digits of single precision make of the height of a point above a triangle's plane."""
    square = d.hull_normal[face, 3]
    return 8.0 * coarse(square) * square if coarse(square) > 0.0 else zero(square)


@kernel(scalar=True)
def remove_seen(d, face, point):
    """Remove the triangles that a point outside sees, from one of them outward; the edges around them go into hull_rim.

    Edges come in the order of a walk around the hole.
    """
    remove(d, face)
    d.hull_size[RIM] = 0
    depth = 0
    for side in range(2, -1, -1):
        depth = look_across(d, face, side, depth)
    while depth > 0:
        depth -= 1
        other, side = d.hull_stack[depth, 0], d.hull_stack[depth, 1]
        if d.hull_face[other, PLACE] != GONE:
            if dot(normal(d, other), point) - d.hull_normal[other, 3] > MIN_VALUE + rounding(d, other):
                remove(d, other)
                depth = look_across(d, other, (side + 2) % 3, depth)
                depth = look_across(d, other, (side + 1) % 3, depth)
            else:
                n = d.hull_size[RIM]
                d.hull_rim[n, 0], d.hull_rim[n, 1] = other, side
                d.hull_size[RIM] = n + 1


@kernel(scalar=True)
def lowest_open(d):
    """The open triangle nearest to the origin, -1 if there is none."""
    best, low = -1, huge(d.hull_point[0, 0]) * huge(d.hull_point[0, 0])
    for k in range(d.hull_size[OPEN]):
        face = d.hull_open[k]
        if d.hull_normal[face, 3] < low:
            best, low = face, d.hull_normal[face, 3]
    return best
