"""Rangefinders: one ray along the z axis of a site, or one through every pixel of a camera.

MuJoCo: the rangefinder in mj_computeSensorPos, mju_camPixelRay, mju_camIntrinsics. Reads: poses of geoms, sites and cameras.
Writes: sensor_fresh. Geoms of the sensor's own body are not met.
"""

from ..geometry.ray import ALL_GROUPS, nearest
from ..kernel import kernel
from ..kernel.ops import where, zero
from ..math.vec3 import add, add_scaled, column, dot, get3, get9, mul_mat_vec, norm, scale
from ..types import ObjType, Projection, RayDataField
from .camera import focal_length, has_lens, in_pixels
from .reading import put_number, put_vector

DIST, DIR, ORIGIN, POINT, NORMAL, DEPTH = (1 << field for field in RayDataField)


@kernel
def pixel_offset(m, c, axis, pixel):
    """Where a pixel's centre lies on the plane at distance 1 before a camera, or within -1..1 if it is orthographic."""
    count = m.cam_resolution[c, axis]
    if m.cam_projection[c] != Projection.PERSPECTIVE:
        return (2.0 * pixel + 1.0) / count - 1.0
    middle = in_pixels(m, c, axis, m.cam_intrinsic[c, 2 + axis]) if has_lens(m, c) else 0.5 * count
    return (pixel + 0.5 - middle) / focal_length(m, c, axis)


@kernel
def pixel_ray(m, d, c, row, col):
    """Origin and unit direction of the ray through a pixel of a camera, which looks along its negative z axis."""
    origin, axes = get3(d.cam_xpos, c), get9(d.cam_xmat, c)
    x, y = pixel_offset(m, c, 0, col), -pixel_offset(m, c, 1, row)  # rows count from the top
    if m.cam_projection[c] == Projection.PERSPECTIVE:
        v = mul_mat_vec(axes, (x, y, -1.0))
        return origin, scale(v, 1.0 / norm(v))
    half = 0.5 * m.cam_fovy[c]
    return add(origin, mul_mat_vec(axes, (half * x, half * y, 0.0))), scale(column(axes, 2), -1.0)


@kernel
def rangefinder(m, d, i):
    """What sensor i is to report of each ray: distance, direction, origin, point, normal and depth before the camera [m].

    Where a ray meets nothing, distance and depth are -1 and the vectors zero, but for the origin.
    """
    k, what = m.sensor_objid[i], m.sensor_intprm[i, 0]
    on_site = m.sensor_objtype[i] == ObjType.SITE
    body = m.site_bodyid[k] if on_site else m.cam_bodyid[k]
    rows = 1 if on_site else m.cam_resolution[k, 1]
    cols = 1 if on_site else m.cam_resolution[k, 0]
    a = m.sensor_adr[i]
    for pixel in range(rows * cols):
        if on_site:
            origin, forward = get3(d.site_xpos, k), column(get9(d.site_xmat, k), 2)
            direction = forward
        else:
            origin, direction = pixel_ray(m, d, k, pixel // cols, pixel % cols)
            forward = scale(column(get9(d.cam_xmat, k), 2), -1.0)
        x, _, normal = nearest(m, d, origin, direction, ALL_GROUPS, 1, body, -1.0)
        met = where(x < 0.0, zero(x), 1.0)
        a = put_number(d, a, what & DIST, x)
        a = put_vector(d, a, what & DIR, scale(direction, met))
        a = put_vector(d, a, what & ORIGIN, origin)
        a = put_vector(d, a, what & POINT, scale(add_scaled(origin, direction, x), met))
        a = put_vector(d, a, what & NORMAL, normal)
        a = put_number(d, a, what & DEPTH, where(x < 0.0, x, x * dot(direction, forward)))
