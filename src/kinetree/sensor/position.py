"""Sensors of the position stage, a kernel for each type. MuJoCo: mj_computeSensorPos.

Reads: poses, qpos, ten_length, actuator_length, subtree_com, efc_pos, energy, time. Writes: sensor_fresh.
"""

from ..dynamics.configuration import conjugate
from ..dynamics.energy import energy_pos, energy_vel
from ..dynamics.objects import object_frame
from ..kernel import kernel, stage
from ..kernel.dispatch import dispatch
from ..kernel.ops import absolute, where, zero
from ..math.constants import MIN_VALUE
from ..math.quaternion import mul_quat, normalize4
from ..math.vec3 import column, get3, get9, mul_mat_t_vec, sub
from ..needs import sensor
from ..types import ObjType, SensorType, Stage
from .camera import focal_length
from .inside import is_inside
from .limit import jointlimitpos, tendonlimitpos
from .reading import already_read, cut_off, put1, put3, put4, put_row


@kernel
def magnetometer(m, d, i):
    """The magnetic field [T] in the site's axes."""
    flux = m.opt_magnetic[0], m.opt_magnetic[1], m.opt_magnetic[2]
    put3(m, d, i, mul_mat_t_vec(get9(d.site_xmat, m.sensor_objid[i]), flux))


@kernel
def camprojection(m, d, i):
    """Where a site appears in a camera's image [pixels]."""
    site, c = m.sensor_objid[i], m.sensor_refid[i]
    width, height = 1.0 * m.cam_resolution[c, 0], 1.0 * m.cam_resolution[c, 1]
    seen = mul_mat_t_vec(get9(d.cam_xmat, c), sub(get3(d.site_xpos, site), get3(d.cam_xpos, c)))
    tiny = zero(seen[2]) + MIN_VALUE
    depth = where(absolute(seen[2]) < tiny, where(seen[2] < 0.0, -tiny, tiny), seen[2])
    a = m.sensor_adr[i]
    d.sensor_fresh[a] = 0.5 * width - focal_length(m, c, 0) * (seen[0] / depth)
    d.sensor_fresh[a + 1] = 0.5 * height + focal_length(m, c, 1) * (seen[1] / depth)


@kernel
def jointpos(m, d, i):
    """Position of a slide [m] or hinge [rad]."""
    put1(m, d, i, d.qpos[m.jnt_qposadr[m.sensor_objid[i]]])


@kernel
def tendonpos(m, d, i):
    """Length of a tendon."""
    put1(m, d, i, d.ten_length[m.sensor_objid[i]])


@kernel
def actuatorpos(m, d, i):
    """Length of each output of an actuator."""
    put_row(m, d, i, d.actuator_length, m.actuator_outadr[m.sensor_objid[i]])


@kernel
def ballquat(m, d, i):
    """Orientation of a ball joint."""
    a = m.jnt_qposadr[m.sensor_objid[i]]
    put4(m, d, i, normalize4((d.qpos[a], d.qpos[a + 1], d.qpos[a + 2], d.qpos[a + 3])))


@kernel
def framepos(m, d, i):
    """Position of an object [m], in the reference frame if there is one."""
    _, point, _, _ = object_frame(m.sensor_objtype[i], m, d, m.sensor_objid[i])
    if m.sensor_refid[i] >= 0:
        _, origin, axes, _ = object_frame(m.sensor_reftype[i], m, d, m.sensor_refid[i])
        point = mul_mat_t_vec(axes, sub(point, origin))
    put3(m, d, i, point)


@kernel
def framequat(m, d, i):
    """Orientation of an object, relative to the reference frame if there is one."""
    _, _, _, quat = object_frame(m.sensor_objtype[i], m, d, m.sensor_objid[i])
    if m.sensor_refid[i] >= 0:
        _, _, _, reference = object_frame(m.sensor_reftype[i], m, d, m.sensor_refid[i])
        quat = mul_quat(conjugate(reference), quat)
    put4(m, d, i, quat)


@kernel
def put_axis(m, d, i, k):
    """Axis k of an object, in the reference frame if there is one."""
    _, _, mat, _ = object_frame(m.sensor_objtype[i], m, d, m.sensor_objid[i])
    axis = column(mat, k)
    if m.sensor_refid[i] >= 0:
        _, _, axes, _ = object_frame(m.sensor_reftype[i], m, d, m.sensor_refid[i])
        axis = mul_mat_t_vec(axes, axis)
    put3(m, d, i, axis)


@kernel
def framexaxis(m, d, i):
    """The x-axis of an object."""
    put_axis(m, d, i, 0)


@kernel
def frameyaxis(m, d, i):
    """The y-axis of an object."""
    put_axis(m, d, i, 1)


@kernel
def framezaxis(m, d, i):
    """The z-axis of an object."""
    put_axis(m, d, i, 2)


@kernel
def subtreecom(m, d, i):
    """Centre of mass of a subtree [m]."""
    put3(m, d, i, get3(d.subtree_com, m.sensor_objid[i]))


@kernel
def centre_inside(m, d, i):
    """1 if an object's position lies in a site's volume, else 0; of a massless body the subtree's centre counts."""
    kind, k, site = m.sensor_objtype[i], m.sensor_objid[i], m.sensor_refid[i]
    _, point, _, _ = object_frame(kind, m, d, k)
    if kind == ObjType.BODY and k > 0:
        carries = (m.body_mass[k] < MIN_VALUE) & (d.subtree_mass[k] >= MIN_VALUE)
        centre = get3(d.subtree_com, k)
        x, y, z = (
            where(carries, centre[0], point[0]),
            where(carries, centre[1], point[1]),
            where(carries, centre[2], point[2]),
        )
        point = x, y, z
    put1(m, d, i, where(is_inside(m, d, site, point), zero(point[0]) + 1.0, 0.0))


@kernel
def insidesite(m, d, i):
    """Whether an object is inside a site; how far it sticks out of it has been read already."""
    if m.sensor_intprm[i, 0] == 0:
        centre_inside(m, d, i)


@kernel
def e_potential(m, d, i):
    """Potential energy [J]."""
    if not d.flg_energypos[0]:
        energy_pos(m, d)
    put1(m, d, i, d.energy[0])


@kernel
def e_kinetic(m, d, i):
    """Kinetic energy [J]; where the energy flag has it computed already, it is that of the step before, as in MuJoCo."""
    if not d.flg_energyvel[0]:
        energy_vel(m, d)
    put1(m, d, i, d.energy[1])


@kernel
def clock(m, d, i):
    """Simulation time [s]."""
    put1(m, d, i, d.time[0])


POSITION = {
    SensorType.MAGNETOMETER: magnetometer,
    SensorType.RANGEFINDER: already_read,
    SensorType.CAMPROJECTION: camprojection,
    SensorType.JOINTPOS: jointpos,
    SensorType.TENDONPOS: tendonpos,
    SensorType.ACTUATORPOS: actuatorpos,
    SensorType.BALLQUAT: ballquat,
    SensorType.JOINTLIMITPOS: jointlimitpos,
    SensorType.TENDONLIMITPOS: tendonlimitpos,
    SensorType.FRAMEPOS: framepos,
    SensorType.FRAMEQUAT: framequat,
    SensorType.FRAMEXAXIS: framexaxis,
    SensorType.FRAMEYAXIS: frameyaxis,
    SensorType.FRAMEZAXIS: framezaxis,
    SensorType.SUBTREECOM: subtreecom,
    SensorType.INSIDESITE: insidesite,
    SensorType.GEOMDIST: already_read,
    SensorType.GEOMNORMAL: already_read,
    SensorType.GEOMFROMTO: already_read,
    SensorType.CONTACT: already_read,
    SensorType.E_POTENTIAL: e_potential,
    SensorType.E_KINETIC: e_kinetic,
    SensorType.CLOCK: clock,
}
compute = dispatch(POSITION, "m, d, i")


@stage(when=sensor())
def position_readings(m, d):
    """Compute the sensors of the position stage that are due, into sensor_fresh. Part of MuJoCo's mj_sensorPos."""
    for i in range(m.nsensor):
        if d.sensor_due[i] != 0 and m.sensor_needstage[i] == Stage.POS:
            compute(m.sensor_type[i], m, d, i)
            cut_off(m, i, d.sensor_fresh)
