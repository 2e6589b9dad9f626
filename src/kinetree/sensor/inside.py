"""Whether a point lies in the volume of a site. MuJoCo: mj_insideSite.

Reads: site_xpos, site_xmat, site_size, site_type, hulls of meshes. A table of volumes by shape; other shapes hold nothing.
"""

from ..kernel import kernel
from ..kernel.dispatch import dispatch
from ..kernel.ops import absolute, maximum, minimum
from ..math.quaternion import get4, to_matrix
from ..math.vec3 import dot, get3, get9, mul_mat_t_vec, sub
from ..types import GeomType


@kernel
def in_plane(m, site, p):
    """Below the plane."""
    return p[2] < 0.0


@kernel
def in_sphere(m, site, p):
    """Within the radius."""
    size = get3(m.site_size, site)
    return p[0] * p[0] + p[1] * p[1] + p[2] * p[2] < size[0] * size[0]


@kernel
def in_capsule(m, site, p):
    """Within the radius of the segment."""
    size = get3(m.site_size, site)
    beyond = p[2] - maximum(-size[1], minimum(size[1], p[2]))
    return p[0] * p[0] + p[1] * p[1] + beyond * beyond < size[0] * size[0]


@kernel
def in_ellipsoid(m, site, p):
    """Within the unit sphere, after scaling."""
    size = get3(m.site_size, site)
    x, y, z = p[0] / size[0], p[1] / size[1], p[2] / size[2]
    return x * x + y * y + z * z < 1.0


@kernel
def in_cylinder(m, site, p):
    """Within the radius of the axis and between the caps."""
    size = get3(m.site_size, site)
    return (absolute(p[2]) < size[1]) & (p[0] * p[0] + p[1] * p[1] < size[0] * size[0])


@kernel
def in_box(m, site, p):
    """Between all three pairs of faces."""
    size = get3(m.site_size, site)
    return (absolute(p[0]) < size[0]) & (absolute(p[1]) < size[1]) & (absolute(p[2]) < size[2])


@kernel
def in_mesh(m, site, p):
    """Behind all faces of the convex hull, in the frame that the compiler gave the mesh."""
    k = m.site_dataid[site]
    q = mul_mat_t_vec(to_matrix(get4(m.mesh_quat, k)), sub(p, get3(m.mesh_pos, k)))
    inside = p[0] == p[0]
    for face in range(m.mesh_polyadr[k], m.mesh_polyadr[k] + m.mesh_polynum[k]):
        corner = m.mesh_vertadr[k] + m.mesh_polyvert[m.mesh_polyvertadr[face]]
        point = 1.0 * m.mesh_vert[corner, 0], 1.0 * m.mesh_vert[corner, 1], 1.0 * m.mesh_vert[corner, 2]
        inside = inside & (dot(get3(m.mesh_polynormal, face), sub(q, point)) <= 0.0)
    return inside


@kernel
def in_nothing(m, site, p):
    """No volume."""
    return p[0] != p[0]


VOLUMES = {
    GeomType.PLANE: in_plane,
    GeomType.SPHERE: in_sphere,
    GeomType.CAPSULE: in_capsule,
    GeomType.ELLIPSOID: in_ellipsoid,
    GeomType.CYLINDER: in_cylinder,
    GeomType.BOX: in_box,
    GeomType.MESH: in_mesh,
}
in_volume = dispatch(VOLUMES, "m, site, p", otherwise=in_nothing)


@kernel
def is_inside(m, d, site, point):
    """Whether a world point lies in the volume of a site."""
    p = mul_mat_t_vec(get9(d.site_xmat, site), sub(point, get3(d.site_xpos, site)))
    return in_volume(m.site_type[site], m, site, p)
