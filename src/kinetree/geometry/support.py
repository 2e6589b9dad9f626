"""Support points: the point of a convex shape farthest along a direction, and of the difference of two shapes.

MuJoCo: the support functions of engine_collision_convex.c. Shapes are placed by `convex_pose`, a copy of their poses, so that
they can also be looked at from a frame of their own. Corners of boxes and meshes are numbered: `convex_side` keeps the last
one found on either side, and where the search in a mesh ended, which is where the next one begins.
"""

from ..kernel import kernel
from ..kernel.ops import maximum, sqrt
from ..math.vec3 import add, add_scaled, dot, get3, mul_mat_t_vec, mul_mat_vec, scale
from ..types import GeomType
from .mesh import COLD, farthest_place, number_in_mesh, vertex

PRISM = GeomType.HFIELD  # of a height field, the one at hand
POINT, SEGMENT = 20, 21  # a sphere and a capsule without their radius
KIND, CORNER, WARM = 0, 1, 2  # columns of convex_side
TINY = 1e-30  # squared length below which a direction is none


@kernel(scalar=True)
def place_shape(m, d, side):
    """Put geom `side` of the pair at hand into convex_pose, as it is."""
    g = d.narrow_geom[side]
    for k in range(3):
        d.convex_pose[side, k] = d.geom_xpos[g, k]
    for k in range(9):
        d.convex_pose[side, 3 + k] = d.geom_xmat[g, k]
    d.convex_side[side, KIND] = m.geom_type[g]
    d.convex_side[side, CORNER] = COLD
    d.convex_side[side, WARM] = COLD


@kernel(scalar=True)
def position(d, side):
    """Where the shape is."""
    return d.convex_pose[side, 0], d.convex_pose[side, 1], d.convex_pose[side, 2]


@kernel(scalar=True)
def orientation(d, side):
    """Its axes in columns."""
    return (
        d.convex_pose[side, 3], d.convex_pose[side, 4], d.convex_pose[side, 5], d.convex_pose[side, 6],
        d.convex_pose[side, 7], d.convex_pose[side, 8], d.convex_pose[side, 9], d.convex_pose[side, 10],
        d.convex_pose[side, 11],
    )  # fmt: skip


@kernel(scalar=True)
def size_in(sizes, k):
    """Three sizes from a field of geoms or sites."""
    return 1.0 * sizes[k, 0], 1.0 * sizes[k, 1], 1.0 * sizes[k, 2]


@kernel(scalar=True)
def toward(x, size):
    """The end of an interval around zero to which x points."""
    return size if x >= 0.0 else -size


@kernel(scalar=True)
def mesh_support(m, d, side, direction):
    """Of a mesh, both in its frame."""
    mesh = m.geom_dataid[d.narrow_geom[side]]
    place = farthest_place(m, mesh, direction, d.convex_side[side, WARM])
    d.convex_side[side, WARM] = place
    d.convex_side[side, CORNER] = number_in_mesh(m, mesh, place)
    return vertex(m, mesh, d.convex_side[side, CORNER])


@kernel(scalar=True)
def box_corner(size, direction):
    """Of a box, both in its frame."""
    return toward(direction[0], size[0]), toward(direction[1], size[1]), toward(direction[2], size[2])


@kernel(scalar=True)
def box_support(m, d, side, direction):
    """The same, and its number: the bits say on which side of each axis it is."""
    corner = (1 if direction[0] >= 0.0 else 0) + (2 if direction[1] >= 0.0 else 0) + (4 if direction[2] >= 0.0 else 0)
    d.convex_side[side, CORNER] = corner
    return box_corner(size_in(m.geom_size, d.narrow_geom[side]), direction)


@kernel(scalar=True)
def prism_support(d, direction):
    """Of the prism at hand, both in the frame of its field. Its corners have no numbers, as in MuJoCo."""
    first = 0 if direction[2] < 0.0 else 3
    best, point = dot(get3(d.prism_corner, first), direction), get3(d.prism_corner, first)
    for k in range(1, 3):
        x = dot(get3(d.prism_corner, first + k), direction)
        if x > best:
            best, point = x, get3(d.prism_corner, first + k)
    return point


@kernel(scalar=True)
def round_support(size, kind, direction):
    """Of a shape without corners, both in its frame."""
    x, y, z = direction
    a, b, c = size
    if kind == GeomType.SPHERE:
        return a * x, a * y, a * z
    if kind == GeomType.CAPSULE:
        return a * x, a * y, a * z + toward(z, b)
    if kind == SEGMENT:
        return 0.0 * x, 0.0 * y, toward(z, b)
    if kind == GeomType.CYLINDER:
        square = x * x + y * y
        s = a / sqrt(square) if square >= TINY else 0.0 * a
        return s * x, s * y, toward(z, b)
    if kind == GeomType.ELLIPSOID:
        square = a * x * a * x + b * y * b * y + c * z * c * z
        s = 1.0 / sqrt(square) if square >= TINY else 0.0 * a
        return (a * a * x * s if square >= TINY else a), b * b * y * s, c * c * z * s
    return 0.0 * x, 0.0 * y, 0.0 * z


@kernel(scalar=True)
def support(m, d, side, direction):
    """The point of shape `side` farthest along a unit direction of the world."""
    mat, kind = orientation(d, side), d.convex_side[side, KIND]
    if kind == PRISM:
        return add_scaled(prism_support(d, direction), direction, maximum(d.convex_grown[side], 0.0))
    local = mul_mat_t_vec(mat, direction)
    if kind == GeomType.MESH:
        local = mesh_support(m, d, side, local)
    elif kind == GeomType.BOX:
        local = box_support(m, d, side, local)
    else:
        local = round_support(size_in(m.geom_size, d.narrow_geom[side]), kind, local)
    point = add(position(d, side), mul_mat_vec(mat, local))
    return add_scaled(point, direction, maximum(d.convex_grown[side], 0.0))  # shapes never shrink


@kernel(scalar=True)
def support_pair(m, d, direction):
    """Points of both shapes whose difference, first minus second, is farthest along a unit direction."""
    first = second = direction
    for side in range(2):  # one piece of machine code for both
        point = support(m, d, side, scale(direction, 1.0 - 2.0 * side))
        first, second = (point if side == 0 else first), point
    return first, second
