"""How far an object sticks out of a site, `insidesite` with `enclosed`: the directed Hausdorff distance of convex shapes.

MuJoCo: mjSENS_INSIDESITE in mj_computeSensorPos, mjc_hausdorff. It is the largest difference of both extents over all
directions: positive where something sticks out, else the clearance, with a minus. That difference has several peaks, so it is
climbed from six sides, along the axes of the site; the highest top counts, which need not be the highest of all.
Reads: poses of geoms and sites. Writes: sensor_fresh.
"""

from ..geometry.mesh import COLD, farthest_place, number_in_mesh, vertex
from ..geometry.support import box_corner, round_support, size_in
from ..kernel import kernel, stage
from ..kernel.ops import absolute, maximum, zero
from ..math.constants import MIN_VALUE
from ..math.quaternion import get4, mul_quat, to_matrix
from ..math.vec3 import add, add_scaled, column, dot, get3, get9, mul_mat_t_vec, mul_mat_vec, norm, scale, sub, unit
from ..needs import encloses
from ..types import GeomType, ObjType, SensorType
from .contact_sensor import fits_object
from .reading import put1

DEEPEST = -1e10  # [m] what MuJoCo begins with, and answers where there is nothing to measure
FIRST_STEP = 0.5  # of a climb, relative to a unit direction


@kernel
def reads_enclosed(m, i):
    """Whether a sensor is one of those computed here."""
    return m.sensor_type[i] == SensorType.INSIDESITE and m.sensor_intprm[i, 0] != 0


@kernel(scalar=True)
def site_pose(m, d, site):
    """Origin and axes of a site's shape; those of a mesh are where the compiler moved it."""
    origin, axes = get3(d.site_xpos, site), get9(d.site_xmat, site)
    if m.site_type[site] == GeomType.MESH:
        mesh = m.site_dataid[site]
        origin = add(origin, mul_mat_vec(axes, get3(m.mesh_pos, mesh)))
        axes = to_matrix(mul_quat(get4(d.site_xquat, site), get4(m.mesh_quat, mesh)))
    return origin, axes


@kernel(scalar=True)
def farthest(m, shape, origin, axes, direction):
    """The point of a convex shape farthest along a unit direction of the world. shape: type, sizes, mesh."""
    kind, size, mesh = shape
    if kind == GeomType.SPHERE:
        return add_scaled(origin, direction, size[0])
    local = mul_mat_t_vec(axes, direction)
    if kind == GeomType.MESH:
        local = vertex(m, mesh, number_in_mesh(m, mesh, farthest_place(m, mesh, local, COLD)))
    elif kind == GeomType.BOX:
        local = box_corner(size, local)
    else:
        local = round_support(size, kind, local)
    return add(origin, mul_mat_vec(axes, local))


@kernel(scalar=True)
def climb(m, shape, origin, axes, zone, middle, sides, start):
    """The largest difference of extents, object less zone, that is found uphill from a direction.

    Each step goes along the slope. Where it ends lower, the next begins at the highest direction yet, half as long, and
    between both slopes.
    """
    tolerance = 1.0 * m.opt_ccd_tolerance
    none = zero(start[0])
    highest, step = none + DEEPEST, none + FIRST_STEP
    u = top = start
    way = none, none, none
    for _ in range(m.opt_ccd_iterations):
        point = sub(farthest(m, shape, origin, axes, u), farthest(m, zone, middle, sides, u))
        height = dot(point, u)
        slope = add_scaled(point, u, -height)
        steep = norm(slope)
        if height > highest:
            highest, top = height, u
            if steep <= MIN_VALUE or steep <= absolute(height) * tolerance:
                break
            way = scale(slope, 1.0 / steep)
        else:
            step = 0.5 * step
            if step < tolerance:
                break
            if steep > MIN_VALUE:
                way = add_scaled(way, slope, 1.0 / steep)
            way = add_scaled(way, top, -dot(way, top))
            length = norm(way)
            if length <= tolerance:
                break
            way = scale(way, 1.0 / length)
        u = unit(add_scaled(top, way, step))
    return highest


@kernel(scalar=True)
def sticks_out(m, d, shape, origin, axes, site):
    """How far a convex shape sticks out of a site [m]."""
    zone = m.site_type[site], size_in(m.site_size, site), m.site_dataid[site]
    middle, sides = site_pose(m, d, site)
    most = zero(origin[0]) + DEEPEST
    for k in range(6):  # one piece of machine code for all
        start = column(sides, k // 2)
        start = scale(start, 1.0 - 2.0 * (k % 2))
        most = maximum(most, climb(m, shape, origin, axes, zone, middle, sides, start))
    return most


@kernel(scalar=True)
def geom_sticks_out(m, d, g, site):
    """How far a geom sticks out of a site [m]."""
    shape = m.geom_type[g], size_in(m.geom_size, g), m.geom_dataid[g]
    return sticks_out(m, d, shape, get3(d.geom_xpos, g), get9(d.geom_xmat, g), site)


@kernel(scalar=True)
def enclosed(m, d, i):
    """How far the object of sensor i sticks out of its site [m]: of several geoms the one that does most."""
    kind, k, site = m.sensor_objtype[i], m.sensor_objid[i], m.sensor_refid[i]
    most = zero(d.time[0]) + DEEPEST
    if kind == ObjType.SITE:
        shape = m.site_type[k], size_in(m.site_size, k), m.site_dataid[k]
        origin, axes = site_pose(m, d, k)
        most = sticks_out(m, d, shape, origin, axes, site)
    else:
        for g in range(m.ngeom):
            if fits_object(m, g, kind, k):
                most = maximum(most, geom_sticks_out(m, d, g, site))
    put1(m, d, i, most)


@stage(scalar=True, unfused=True, when=encloses)
def enclosures(m, d):
    """Compute how far objects stick out of sites, where it is due, into sensor_fresh. Part of MuJoCo's mj_sensorPos."""
    for i in range(m.nsensor):
        if d.sensor_due[i] != 0 and reads_enclosed(m, i):
            enclosed(m, d, i)
