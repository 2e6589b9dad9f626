"""Touch grids, sensors of the plugin mujoco.sensor.touch_grid: images of the forces that a body's contacts exert on it.

A site looks along its negative z axis; each cell has an interval of azimuth and one of elevation, and gathers the contacts in
it. A pixel is the force on the body and on what is welded to it, in the axes of the site. Images follow each other: normal
force (z), both tangents (x, y), then the torques. Of several sensors of one instance MuJoCo computes the first alone.
MuJoCo: TouchGrid::Compute of plugin/sensor/touch_grid.cc. Reads: contacts, efc_force, pose of the site. Writes: sensor_fresh.
"""

from ..constraint.contact_force import contact_wrench
from ..geometry.contact_list import FAR
from ..kernel import kernel
from ..kernel.ops import atan2, maximum, minimum, sqrt, zero
from ..math.vec3 import get3, get9, mul_mat_t_vec, scale, sub

RADIANS = 3.141592653589793 / 180.0


@kernel
def reads_grid(m, i):
    """Whether a sensor of the plugin is the first of its instance."""
    for k in range(i):
        if m.sensor_plugin[k] == m.sensor_plugin[i]:
            return False
    return True


@kernel(scalar=True)
def cell_of(angle, cells, half, gamma):
    """The cell of an angle [rad] in a field of view of `half` degrees to each side, -1 outside. It has its upper edge."""
    below, u, bend = 0, zero(angle) - 1.0, maximum(0.0, minimum(1.0, gamma))
    for _ in range(cells + 1):
        edge = (bend * u * u * u * u * u + (1.0 - bend) * u) * (half * RADIANS)
        if angle > edge:
            below += 1
        u += 2.0 / cells  # added up as in the plugin: contacts may lie exactly on an edge
    return below - 1 if below <= cells else -1


@kernel(scalar=True)
def add_contact(m, d, i, c, axes, sign):
    """Add what contact c does to the cell of sensor i that it lies in. sign: -1 if the body has its first geom."""
    p = m.sensor_plugin[i]
    point = mul_mat_t_vec(axes, sub(get3(d.contact_pos, c), get3(d.site_xpos, m.sensor_objid[i])))
    azimuth, elevation = atan2(point[0], -point[2]), atan2(point[1], sqrt(point[0] * point[0] + point[2] * point[2]))
    column = cell_of(azimuth, m.grid_size[p, 0], m.grid_fov[p, 0], m.grid_gamma[p])
    row = cell_of(elevation, m.grid_size[p, 1], m.grid_fov[p, 1], m.grid_gamma[p])
    if column >= 0 and row >= 0:
        f, frame = contact_wrench(m, d, c), get9(d.contact_frame, c)
        force = scale(mul_mat_t_vec(axes, mul_mat_t_vec(frame, (f[0], f[1], f[2]))), sign)
        torque = scale(mul_mat_t_vec(axes, mul_mat_t_vec(frame, (f[3], f[4], f[5]))), sign)
        pixel = force[2], force[0], force[1], torque[2], torque[0], torque[1]
        for k in range(m.grid_nchannel[p]):
            at = m.sensor_adr[i] + (k * m.grid_size[p, 1] + row) * m.grid_size[p, 0] + column
            d.sensor_fresh[at] += pixel[k]


@kernel(scalar=True)
def touch_grid(m, d, i):
    """The images of sensor i."""
    for k in range(m.sensor_adr[i], m.sensor_adr[i] + m.sensor_dim[i]):
        d.sensor_fresh[k] = 0.0
    site = m.sensor_objid[i]
    weld, axes = m.body_weldid[m.site_bodyid[site]], get9(d.site_xmat, site)
    for c in range(d.ncon[0]):
        if d.contact_dist[c] < FAR:
            first = m.body_weldid[m.geom_bodyid[d.contact_geom[c, 0]]]
            second = m.body_weldid[m.geom_bodyid[d.contact_geom[c, 1]]]
            if first == weld or second == weld:
                add_contact(m, d, i, c, axes, -1.0 if first == weld else 1.0)
