"""Faces and edges of boxes and meshes, at the corners in which the nearest triangle of EPA touches a shape.

MuJoCo: boxNormals, meshNormals, boxEdgeNormals, meshEdgeNormals, boxFace, meshFace of engine_collision_gjk.c. A triangle has
three corners on each shape, of which one, two or three are different: a corner, an edge or a face, at least roughly.
Scratch: a row of `feature` for each shape: how many corners differ, in which rows of hull_point they are, and up to three
faces that hold all of them. Faces at a single corner of a mesh are not listed but looked up.
"""

from ..kernel import kernel
from ..kernel.ops import sqrt, zero
from ..math.vec3 import add, add_scaled, dot, get3, mul_mat_t_vec, mul_mat_vec, norm, scale, sub, unit
from ..types import GeomType
from .hull import CORNER as FACE_CORNER
from .mesh import vertex
from .support import KIND, TINY, orientation, position, toward

DIM, ROW, COUNT, FACE = 0, 1, 4, 5  # columns of feature
ALIGNED = 0.996  # cosine of the angle between directions that count as one: 5 degrees
LEVEL = 0.0888  # sine of the angle between an edge and a face that count as parallel: 5 degrees
ROUND = 16  # corners of the polygon that stands for the cap of a cylinder
CAP = (  # corners of a quarter of it, to the digits that MuJoCo has: they decide between equal quadrilaterals
    (1.0, 0.0),
    (0.923879532511287, 0.38268343236509),
    (0.707106781186548, 0.707106781186547),
    (0.38268343236509, 0.923879532511287),
)
BOX_FACES = (  # corners of each face, their bits as in box_support; faces are +x, -x, +y, -y, +z, -z
    (7, 3, 1, 5), (2, 6, 4, 0), (2, 3, 7, 6), (4, 5, 1, 0), (6, 7, 5, 4), (3, 2, 0, 1),
)  # fmt: skip


@kernel(scalar=True)
def number(d, side, k):
    """The number of corner k of the feature."""
    return d.hull_corner[d.feature[side, ROW + k], side]


@kernel(scalar=True)
def find_corners(d, side, face):
    """Which of the three corners of a triangle are different on a shape; the rows of those come first."""
    for k in range(3):
        d.feature[side, ROW + k] = d.hull_face[face, FACE_CORNER + k]
    a, b, c = number(d, side, 0), number(d, side, 1), number(d, side, 2)
    d.feature[side, COUNT] = 0
    d.feature[side, DIM] = 3
    if a == b:
        d.feature[side, ROW + 1] = d.feature[side, ROW + 2]
        d.feature[side, DIM] = 1 if a == c else 2
    elif c == a or c == b:
        d.feature[side, DIM] = 2


@kernel(scalar=True)
def list_face(d, side, face):
    """Add a face to the list."""
    n = d.feature[side, COUNT]
    d.feature[side, FACE + n] = face
    d.feature[side, COUNT] = n + 1


@kernel(scalar=True)
def list_box_faces(d, side, direction):
    """Faces of a box that hold all corners; if they are not corners of a face or edge, the one along a direction."""
    dim, first = d.feature[side, DIM], number(d, side, 0)
    for axis in range(3):
        bit = (first >> axis) & 1
        same = dim < 2 or (number(d, side, 1) >> axis) & 1 == bit
        same = same and (dim < 3 or (number(d, side, 2) >> axis) & 1 == bit)
        if same:
            list_face(d, side, 2 * axis + 1 - bit)
    if d.feature[side, COUNT] != 4 - dim:
        d.feature[side, COUNT] = 0
        local = unit(mul_mat_t_vec(orientation(d, side), direction))
        for face in range(6):
            x = local[0] if face < 2 else (local[1] if face < 4 else local[2])
            if d.feature[side, COUNT] == 0 and (-x if face & 1 else x) > ALIGNED:
                list_face(d, side, face)


@kernel(scalar=True)
def touches(m, at, polygon):
    """Whether a vertex, counted over all meshes, is a corner of a polygon."""
    for k in range(m.mesh_polymapadr[at], m.mesh_polymapadr[at] + m.mesh_polymapnum[at]):
        if m.mesh_polymap[k] == polygon:
            return True
    return False


@kernel(scalar=True)
def list_mesh_faces(m, d, side):
    """Polygons of a mesh that hold all corners, two at most; those at a single corner are only counted."""
    dim, begin = d.feature[side, DIM], m.mesh_vertadr[m.geom_dataid[d.narrow_geom[side]]]
    at = begin + number(d, side, 0)
    if dim == 1:
        d.feature[side, COUNT] = m.mesh_polymapnum[at]
    else:
        common = 0
        for k in range(m.mesh_polymapadr[at], m.mesh_polymapadr[at] + m.mesh_polymapnum[at]):
            polygon = m.mesh_polymap[k]
            if common < 2 and touches(m, begin + number(d, side, 1), polygon):
                common += 1
                if dim == 2 or (d.feature[side, COUNT] == 0 and touches(m, begin + number(d, side, 2), polygon)):
                    list_face(d, side, polygon)


@kernel(scalar=True)
def is_round(d, side):
    """Whether a shape is a capsule or cylinder; the edge of those is the line along which they touch."""
    return d.convex_side[side, KIND] == GeomType.CAPSULE or d.convex_side[side, KIND] == GeomType.CYLINDER


@kernel(scalar=True)
def list_cap(d, side, face):
    """The cap of a cylinder, 0 above and 1 below, on which all three corners lie; they count as one corner, else as two."""
    axis, at, above = (d.convex_pose[side, 5], d.convex_pose[side, 8], d.convex_pose[side, 11]), 3 + 3 * side, 0
    d.feature[side, DIM] = 1
    if d.convex_side[side, KIND] == GeomType.CYLINDER:
        for k in range(3):
            row = d.hull_face[face, FACE_CORNER + k]
            p = (d.hull_point[row, at], d.hull_point[row, at + 1], d.hull_point[row, at + 2])
            above += 1 if dot(sub(p, position(d, side)), axis) > 0.0 else 0
        if above == 0 or above == 3:
            list_face(d, side, 0 if above == 3 else 1)
        else:
            d.feature[side, DIM] = 2


@kernel(scalar=True)
def find_features(m, d, side, face, direction):
    """Fill in a row of `feature` from a triangle of EPA; direction: out of the shape, towards the other."""
    find_corners(d, side, face)
    if d.convex_side[side, KIND] == GeomType.PLANE:  # one face without corners
        d.feature[side, DIM] = 3
        list_face(d, side, 0)
    elif is_round(d, side):
        list_cap(d, side, face)
    elif d.convex_side[side, KIND] == GeomType.BOX:
        list_box_faces(d, side, direction)
    elif d.convex_side[side, KIND] == GeomType.MESH:
        list_mesh_faces(m, d, side)


@kernel(scalar=True)
def face_number(m, d, side, k):
    """Face k of the list."""
    if d.convex_side[side, KIND] == GeomType.MESH and d.feature[side, DIM] == 1:
        at = m.mesh_vertadr[m.geom_dataid[d.narrow_geom[side]]] + number(d, side, 0)
        return m.mesh_polymap[m.mesh_polymapadr[at] + k]
    return d.feature[side, FACE + k]


@kernel(scalar=True)
def face_normal(m, d, side, k):
    """Outward normal of face k of the list, in the world."""
    face, mat = face_number(m, d, side, k), orientation(d, side)
    if d.convex_side[side, KIND] == GeomType.MESH:
        return mul_mat_vec(mat, get3(m.mesh_polynormal, m.mesh_polyadr[m.geom_dataid[d.narrow_geom[side]]] + face))
    axis = 2 if is_round(d, side) or d.convex_side[side, KIND] == GeomType.PLANE else face >> 1
    column = (d.convex_pose[side, 3 + axis], d.convex_pose[side, 6 + axis], d.convex_pose[side, 9 + axis])
    return scale(column, 1.0 - 2.0 * (face & 1))


@kernel(scalar=True)
def box_corner(m, d, side, bits):
    """A corner of a box, in the world."""
    g = d.narrow_geom[side]
    x, y, z = 1.0 * m.geom_size[g, 0], 1.0 * m.geom_size[g, 1], 1.0 * m.geom_size[g, 2]
    local = (x if bits & 1 else -x, y if bits & 2 else -y, z if bits & 4 else -z)
    return add(position(d, side), mul_mat_vec(orientation(d, side), local))


@kernel(scalar=True)
def mesh_corner(m, d, side, v):
    """A vertex of a mesh, in the world."""
    return add(position(d, side), mul_mat_vec(orientation(d, side), vertex(m, m.geom_dataid[d.narrow_geom[side]], v)))


@kernel(scalar=True)
def line_end(m, d, side, k):
    """An end of a line along a capsule, through its nearest point, or along a cylinder, from the first corner on.

    Where a line begins decides the order of its contacts.
    """
    g, row, at = d.narrow_geom[side], d.feature[side, ROW], 3 * side
    centre, axis = position(d, side), (d.convex_pose[side, 5], d.convex_pose[side, 8], d.convex_pose[side, 11])
    half = 1.0 * m.geom_size[g, 1]
    if d.convex_side[side, KIND] == GeomType.CAPSULE:
        p = (d.convex_near[0, at + 1], d.convex_near[0, at + 2], d.convex_near[0, at + 3])
        return add_scaled(p, axis, half * (2 * k - 1) - dot(sub(p, centre), axis))
    p = (d.hull_point[row, at + 3], d.hull_point[row, at + 4], d.hull_point[row, at + 5])
    up = toward(dot(sub(p, centre), axis), half)
    if d.convex_grown[side] > 0.0:  # without the margin, which a capsule keeps
        x, y, _ = mul_mat_t_vec(orientation(d, side), sub(p, centre))
        square = x * x + y * y
        s = m.geom_size[g, 0] / sqrt(square) if square >= TINY else zero(square)
        p = add(centre, mul_mat_vec(orientation(d, side), (x * s, y * s, up)))
    return add_scaled(p, axis, -2.0 * up) if k == 1 else p


@kernel(scalar=True)
def corner_of(m, d, side, k):
    """Where corner k of the feature is, in the world."""
    if is_round(d, side):
        return line_end(m, d, side, k)
    if d.convex_side[side, KIND] == GeomType.BOX:
        return box_corner(m, d, side, number(d, side, k))
    return mesh_corner(m, d, side, number(d, side, k))


@kernel(scalar=True)
def edge_count(d, side):
    """How many edges there are: the one between two corners, or all at a single one."""
    if d.feature[side, DIM] > 1 or is_round(d, side):
        return 1
    return 3 if d.convex_side[side, KIND] == GeomType.BOX else d.feature[side, COUNT]


@kernel(scalar=True)
def edge_end(m, d, side, k):
    """Where edge k ends; it begins at corner 0 of the feature."""
    if d.feature[side, DIM] == 2 or is_round(d, side):
        return corner_of(m, d, side, 1)
    begin = number(d, side, 0)
    if d.convex_side[side, KIND] == GeomType.BOX:
        return box_corner(m, d, side, begin ^ (1 << k))
    polygon = m.mesh_polyadr[m.geom_dataid[d.narrow_geom[side]]] + face_number(m, d, side, k)
    first, n, last = m.mesh_polyvertadr[polygon], m.mesh_polyvertnum[polygon], 0
    for j in range(n):
        if m.mesh_polyvert[first + j] == begin:
            last = m.mesh_polyvert[first + (j + n - 1) % n]  # the corner before it in the polygon
    return mesh_corner(m, d, side, last)


@kernel(scalar=True)
def edge_direction(m, d, side, k):
    """Unit vector along edge k."""
    return unit(sub(edge_end(m, d, side, k), corner_of(m, d, side, 0)))


@kernel(scalar=True)
def face_size(m, d, side, k):
    """How many corners face k of the list has."""
    if d.convex_side[side, KIND] == GeomType.PLANE:
        return 0
    if d.convex_side[side, KIND] == GeomType.BOX:
        return 4
    if is_round(d, side):
        return ROUND
    return 1 * m.mesh_polyvertnum[m.mesh_polyadr[m.geom_dataid[d.narrow_geom[side]]] + face_number(m, d, side, k)]


@kernel(scalar=True)
def cap_corner(m, d, side, cap, k):
    """Corner k of the polygon that stands for a cap, in the world."""
    g, quarter = d.narrow_geom[side], k >> 2
    x, y = CAP[k & 3]
    if quarter & 1:
        x, y = -y, x
    if quarter > 1:
        x, y = -x, -y
    up = 1.0 - 2.0 * cap
    local = (m.geom_size[g, 0] * x, -up * m.geom_size[g, 0] * y, up * m.geom_size[g, 1])
    return add(position(d, side), mul_mat_vec(orientation(d, side), local))


@kernel(scalar=True)
def copy_face(m, d, side, k, column):
    """Write the corners of face k, clockwise as seen from outside, into columns of clip_corner; of a plane, a point of it."""
    if d.convex_side[side, KIND] == GeomType.PLANE:
        place = position(d, side)
        for c in range(3):
            d.clip_corner[0, column + c] = place[c]
        return 0
    face, n = face_number(m, d, side, k), face_size(m, d, side, k)
    for i in range(n):
        if d.convex_side[side, KIND] == GeomType.BOX:
            p = box_corner(m, d, side, BOX_FACES[face][i])
        elif is_round(d, side):
            p = cap_corner(m, d, side, face, i)
        else:
            polygon = m.mesh_polyadr[m.geom_dataid[d.narrow_geom[side]]] + face
            p = mesh_corner(m, d, side, m.mesh_polyvert[m.mesh_polyvertadr[polygon] + n - 1 - i])
        for c in range(3):
            d.clip_corner[i, column + c] = p[c]
    return n


@kernel(scalar=True)
def opposed_faces(m, d, out):
    """The two faces, one of each list, that look at each other most squarely; (-1, -1) if none do.

    out: from shape 0 to shape 1; faces that are along it do not count. With a plane they need not be parallel.
    """
    first, second, least = -1, -1, zero(d.convex_pose[0, 0])
    if d.convex_side[0, KIND] != GeomType.PLANE:
        least = least - ALIGNED
    side = LEVEL * norm(out)
    for i in range(d.feature[0, COUNT]):
        p = face_normal(m, d, 0, i)
        for j in range(d.feature[1, COUNT]):
            q = face_normal(m, d, 1, j)
            x = dot(p, q)
            if dot(p, out) > side and -dot(q, out) > side and x < least:
                first, second, least = i, j, x
    return first, second
