"""A plane with a mesh: its lowest vertex, and corners of the face there that is most parallel to the plane.

MuJoCo: mjc_PlaneConvex. The search walks from vertex to vertex, so lanes search one world
at a time; they meet again where contacts are added.
Scratch: narrow_geom holds both geoms, narrow_work the reach and then, for each corner, its height over the plane and its place.
"""

from ..kernel import kernel, stage
from ..kernel.ops import sqrt, zero
from ..math.vec3 import add, cross, dot, get3, get9, mul_mat_t_vec, mul_mat_vec, scale, sub
from ..needs import shapes
from ..types import GeomType
from .contact_list import ANY_TANGENT, FAR
from .mesh import COLD, farthest_place, number_in_mesh, vertex
from .plane import height, point_on_plane, z_axis

CORNERS = 4
REACH, CORNER = 0, 1  # places in narrow_work


@kernel(scalar=True)
def facing_polygon(m, mesh, v, direction):
    """The polygon at vertex v whose normal is most along a direction; -1 if there is none."""
    best, most = -1, zero(direction[0]) - 1.0
    at = m.mesh_vertadr[mesh] + v
    for k in range(m.mesh_polymapadr[at], m.mesh_polymapadr[at] + m.mesh_polymapnum[at]):
        x = dot(get3(m.mesh_polynormal, m.mesh_polyadr[mesh] + m.mesh_polymap[k]), direction)
        if x > most:
            best, most = m.mesh_polyadr[mesh] + m.mesh_polymap[k], x
    return best


@kernel(scalar=True)
def area(m, mesh, polygon, a, b, c, e):
    """Twice the area of the quadrilateral of four corners of a polygon."""
    at = m.mesh_polyvertadr[polygon]
    one = sub(vertex(m, mesh, m.mesh_polyvert[at + a]), vertex(m, mesh, m.mesh_polyvert[at + c]))
    two = sub(vertex(m, mesh, m.mesh_polyvert[at + b]), vertex(m, mesh, m.mesh_polyvert[at + e]))
    n = cross(one, two)
    return sqrt(dot(n, n))


@kernel(scalar=True)
def largest_quadrilateral(m, mesh, polygon, a):
    """Three corners that with corner a span a large part of the polygon: each moves on while the area grows."""
    n = m.mesh_polyvertnum[polygon]
    b, c, e = (a + 1) % n, (a + 2) % n, (a + 3) % n
    if n > CORNERS:
        most = area(m, mesh, polygon, a, b, c, e)
        x = area(m, mesh, polygon, a, b, c, (e + 1) % n)
        while x > most:
            e, most = (e + 1) % n, x
            x = area(m, mesh, polygon, a, b, (c + 1) % n, e)
            while x > most:
                c, most = (c + 1) % n, x
                x = area(m, mesh, polygon, a, b, (c + 1) % n, e)
            x = area(m, mesh, polygon, a, (b + 1) % n, c, e)
            while x > most:
                b, most = (b + 1) % n, x
                x = area(m, mesh, polygon, a, (b + 1) % n, c, e)
            x = area(m, mesh, polygon, a, b, c, (e + 1) % n)
    return b, c, e


@kernel(scalar=True)
def note_corner(m, d, mesh, v, n):
    """Note vertex v as corner n if it is near the plane and, but for the first, not above the middle; returns the next n."""
    plane, geom = d.narrow_geom[0], d.narrow_geom[1]
    normal, arm = z_axis(d, plane), mul_mat_vec(get9(d.geom_xmat, geom), vertex(m, mesh, v))
    point = add(get3(d.geom_xpos, geom), arm)
    x = height(d, plane, normal, point)
    if (x <= d.narrow_work[REACH]) & ((dot(normal, arm) <= 0.0) | (n == 0)):
        d.narrow_work[CORNER + 4 * n] = x
        d.narrow_work[CORNER + 4 * n + 1] = point[0]
        d.narrow_work[CORNER + 4 * n + 2] = point[1]
        d.narrow_work[CORNER + 4 * n + 3] = point[2]
        n += 1
    return n


@stage(scalar=True, when=shapes(GeomType.PLANE, GeomType.MESH), part_of="collision")
def lowest_corners(m, d):
    """Corners of a mesh on a plane, the lowest first; places left over have height FAR. Part of MuJoCo's mj_collision."""
    plane, geom = d.narrow_geom[0], d.narrow_geom[1]
    for k in range(CORNERS):
        d.narrow_work[CORNER + 4 * k] = FAR
    mesh = m.geom_dataid[geom]
    down = mul_mat_t_vec(get9(d.geom_xmat, geom), scale(z_axis(d, plane), -1.0))
    lowest = number_in_mesh(m, mesh, farthest_place(m, mesh, down, COLD))
    n = note_corner(m, d, mesh, lowest, 0)
    polygon = facing_polygon(m, mesh, lowest, down) if n == 1 and m.mesh_polynum[mesh] > 0 else -1
    if polygon >= 0:
        at, a = m.mesh_polyvertadr[polygon], 0
        for k in range(m.mesh_polyvertnum[polygon] - 1, -1, -1):
            if m.mesh_polyvert[at + k] == lowest:
                a = k
        b, c, e = largest_quadrilateral(m, mesh, polygon, a)
        n = note_corner(m, d, mesh, m.mesh_polyvert[at + b], n)
        n = note_corner(m, d, mesh, m.mesh_polyvert[at + c], n)
        if m.mesh_polyvertnum[polygon] > 3:
            note_corner(m, d, mesh, m.mesh_polyvert[at + e], n)


@kernel
def plane_mesh(m, d, g0, g1, reach):
    """Up to four contacts."""
    d.narrow_geom[0], d.narrow_geom[1], d.narrow_work[REACH] = g0, g1, reach
    lowest_corners(m, d)
    normal = z_axis(d, g0)
    for k in range(CORNERS):
        at = CORNER + 4 * k
        dist = d.narrow_work[at]
        point = (d.narrow_work[at + 1], d.narrow_work[at + 2], d.narrow_work[at + 3])
        point_on_plane(d, g0, g1, dist <= reach, normal, dist, point, ANY_TANGENT)
