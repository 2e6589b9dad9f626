"""Tactile: how deep the vertices of a mesh (taxels) are in the geoms that its body touches, and how fast these slide by.

MuJoCo: mjSENS_TACTILE in mj_computeSensorVel, geomDistance of engine_collision_sdf.c. The mesh lies in the frame of a geom that
need not collide. Depths come first, for all taxels, then the speeds along both tangents, which a mesh has if it has three
normals at each vertex. A table has the depth in each shape; nothing is felt in a height field, or in a mesh without
signed distances.
Reads: contacts, poses of geoms, cvel. Writes: sensor_fresh.
"""

from ..dynamics.objects import velocity_at
from ..geometry.contact_list import FAR
from ..geometry.mesh import vertex
from ..geometry.octree import distance_in_octree
from ..kernel import kernel
from ..kernel.dispatch import dispatch
from ..kernel.ops import absolute, maximum, minimum, sqrt, zero
from ..math.spatial import linear
from ..math.vec3 import add, dot, get3, get9, mul_mat_t_vec, mul_mat_vec, norm, sub, unit
from ..types import GeomType


@kernel(scalar=True)
def over_plane(m, g, p):
    """Height over a plane [m]. Like the other rows: negative inside, and not told outside but for its sign."""
    return 1.0 * p[2]


@kernel(scalar=True)
def over_sphere(m, g, p):
    """Distance from a sphere [m]."""
    return norm(p) - m.geom_size[g, 0]


@kernel(scalar=True)
def over_capsule(m, g, p):
    """Distance from a capsule [m]."""
    half = m.geom_size[g, 1]
    return norm((p[0], p[1], p[2] - maximum(-half, minimum(half, p[2])))) - m.geom_size[g, 0]


@kernel(scalar=True)
def over_ellipsoid(m, g, p):
    """About the distance from an ellipsoid [m], exact at its surface."""
    size = get3(m.geom_size, g)
    a = p[0] / size[0], p[1] / size[1], p[2] / size[2]
    slope = norm((a[0] / size[0], a[1] / size[1], a[2] / size[2]))
    return norm(a) * (norm(a) - 1.0) / slope


@kernel(scalar=True)
def over_cylinder(m, g, p):
    """Distance from a cylinder [m]."""
    side, end = sqrt(p[0] * p[0] + p[1] * p[1]) - m.geom_size[g, 0], absolute(p[2]) - m.geom_size[g, 1]
    a, b = maximum(side, 0.0), maximum(end, 0.0)
    return minimum(maximum(side, end), 0.0) + sqrt(a * a + b * b)


@kernel(scalar=True)
def over_box(m, g, p):
    """Distance from a box [m]; inside, the way out along a direction that turns from radial to that of the nearest face."""
    size = get3(m.geom_size, g)
    x, y, z = absolute(p[0]) - size[0], absolute(p[1]) - size[1], absolute(p[2]) - size[2]
    if x >= 0.0 or y >= 0.0 or z >= 0.0:
        return norm((maximum(x, 0.0), maximum(y, 0.0), maximum(z, 0.0)))
    out = unit((-size[0] / x, -size[1] / y, -size[2] / z))
    return -minimum(-x / absolute(out[0]), minimum(-y / absolute(out[1]), -z / absolute(out[2])))


@kernel(scalar=True)
def over_mesh(m, g, p):
    """Distance from a mesh with an octree [m]; others are not felt."""
    mesh = m.geom_dataid[g]
    return distance_in_octree(m, mesh, p) if m.mesh_octadr[mesh] >= 0 else zero(p[0]) + 1.0


@kernel(scalar=True)
def over_nothing(m, g, p):
    """Outside."""
    return zero(p[0]) + 1.0


SURFACES = {
    GeomType.PLANE: over_plane,
    GeomType.SPHERE: over_sphere,
    GeomType.CAPSULE: over_capsule,
    GeomType.ELLIPSOID: over_ellipsoid,
    GeomType.CYLINDER: over_cylinder,
    GeomType.BOX: over_box,
    GeomType.MESH: over_mesh,
}
over_surface = dispatch(SURFACES, "m, g, p", over_nothing)


@kernel(scalar=True)
def other_geom(m, d, c, side, weld):
    """What a contact presses on a body by its side, which must be welded to `weld`: a geom, or -1."""
    if d.contact_dist[c] < FAR and m.body_weldid[m.geom_bodyid[d.contact_geom[c, side]]] == weld:
        return d.contact_geom[c, 1 - side]
    return -1


@kernel(scalar=True)
def is_new(m, d, c, side, weld, geom):
    """Whether no contact before this one has the same geom."""
    for k in range(2 * c + side):
        if other_geom(m, d, k // 2, k % 2, weld) == geom:
            return False
    return True


@kernel(scalar=True)
def feel(m, d, i, geom, weld):
    """Add what all taxels of sensor i feel of a geom."""
    mesh, own, a = m.sensor_objid[i], m.sensor_refid[i], m.sensor_adr[i]
    count = m.mesh_vertnum[mesh]
    slides = m.mesh_normalnum[mesh] == 3 * count
    axes, body = get9(d.geom_xmat, own), m.geom_bodyid[geom]
    for j in range(count):
        point = add(get3(d.geom_xpos, own), mul_mat_vec(axes, vertex(m, mesh, j)))
        local = mul_mat_t_vec(get9(d.geom_xmat, geom), sub(point, get3(d.geom_xpos, geom)))
        x = over_surface(m.geom_type[geom], m, geom, local)
        if x < 0.0:
            d.sensor_fresh[a + j] = maximum(d.sensor_fresh[a + j], -x)
            slip = sub(linear(velocity_at(d, weld, point)), linear(velocity_at(d, body, point)))
            slip = mul_mat_t_vec(axes, slip)
            for k in range(1, 3 if slides else 1):
                tangent = get3(m.mesh_normal, m.mesh_normaladr[mesh] + 3 * j + k)
                d.sensor_fresh[a + k * count + j] += absolute(dot(slip, tangent))


@kernel(scalar=True)
def tactile(m, d, i):
    """Depths [m] and speeds [m/s] of the taxels of sensor i, over all geoms that touch its body or what is welded to it."""
    for k in range(m.sensor_adr[i], m.sensor_adr[i] + m.sensor_dim[i]):
        d.sensor_fresh[k] = 0.0
    weld = m.body_weldid[m.geom_bodyid[m.sensor_refid[i]]]
    for c in range(d.ncon[0]):
        for side in range(2):
            geom = other_geom(m, d, c, side, weld)
            if geom >= 0 and is_new(m, d, c, side, weld, geom):
                feel(m, d, i, geom, weld)
