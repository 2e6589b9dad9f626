"""Sensors of the acceleration stage, a kernel for each type. MuJoCo: mj_computeSensorAcc.

Reads: cacc, cfrc_int, cvel, poses, actuator_force, qfrc_actuator, efc_force. Writes: sensor_fresh.
"""

from ..constraint.rne_post import rne_post_constraint
from ..dynamics.objects import acceleration_at, object_frame
from ..kernel import kernel, stage
from ..kernel.dispatch import dispatch
from ..kernel.ops import zero
from ..math.spatial import angular, get6, linear, shift_force
from ..math.vec3 import get3, get9, mul_mat_t_vec, sub
from ..needs import sensor
from ..types import SensorType, Stage, TrnType
from .limit import jointlimitfrc, tendonlimitfrc
from .reading import already_read, cut_off, put1, put3, put_row


@kernel
def accelerometer(m, d, i):
    """Acceleration of a site less gravity [m/s^2] in its own axes."""
    if not d.flg_rnepost[0]:
        rne_post_constraint(m, d)
    site = m.sensor_objid[i]
    a = acceleration_at(d, m.site_bodyid[site], get3(d.site_xpos, site))
    put3(m, d, i, mul_mat_t_vec(get9(d.site_xmat, site), linear(a)))


@kernel
def interaction_at(m, d, site):
    """Wrench from the parent on the body of a site, about the site, world axes."""
    if not d.flg_rnepost[0]:
        rne_post_constraint(m, d)
    b = m.site_bodyid[site]
    return shift_force(get6(d.cfrc_int, b), sub(get3(d.site_xpos, site), get3(d.xpos, b)))


@kernel
def force(m, d, i):
    """Force [N] from the parent on the body of a site, in the site's axes."""
    site = m.sensor_objid[i]
    put3(m, d, i, mul_mat_t_vec(get9(d.site_xmat, site), linear(interaction_at(m, d, site))))


@kernel
def torque(m, d, i):
    """Torque [N m] from the parent on the body of a site about the site, in the site's axes."""
    site = m.sensor_objid[i]
    put3(m, d, i, mul_mat_t_vec(get9(d.site_xmat, site), angular(interaction_at(m, d, site))))


@kernel
def actuatorfrc(m, d, i):
    """Force of each output of an actuator."""
    put_row(m, d, i, d.actuator_force, m.actuator_outadr[m.sensor_objid[i]])


@kernel
def jointactuatorfrc(m, d, i):
    """Force of all actuators on a slide [N] or hinge [N m]."""
    put1(m, d, i, d.qfrc_actuator[m.jnt_dofadr[m.sensor_objid[i]]])


@kernel
def tendonactuatorfrc(m, d, i):
    """Force of all actuators of a tendon."""
    total = zero(d.ten_length[m.sensor_objid[i]])
    for k in range(m.nactuator):
        if m.actuator_trntype[k] == TrnType.TENDON and m.actuator_trnid[k, 0] == m.sensor_objid[i]:
            total += d.actuator_force[m.actuator_outadr[k]]
    put1(m, d, i, total)


@kernel
def frame_acceleration(m, d, i):
    """Acceleration of an object less gravity, world axes."""
    if not d.flg_rnepost[0]:
        rne_post_constraint(m, d)
    body, point, _, _ = object_frame(m.sensor_objtype[i], m, d, m.sensor_objid[i])
    return acceleration_at(d, body, point)


@kernel
def framelinacc(m, d, i):
    """Acceleration of an object less gravity [m/s^2], world axes."""
    put3(m, d, i, linear(frame_acceleration(m, d, i)))


@kernel
def frameangacc(m, d, i):
    """Angular acceleration of an object [rad/s^2], world axes."""
    put3(m, d, i, angular(frame_acceleration(m, d, i)))


ACCELERATION = {
    SensorType.TOUCH: already_read,
    SensorType.ACCELEROMETER: accelerometer,
    SensorType.FORCE: force,
    SensorType.TORQUE: torque,
    SensorType.ACTUATORFRC: actuatorfrc,
    SensorType.JOINTACTFRC: jointactuatorfrc,
    SensorType.TENDONACTFRC: tendonactuatorfrc,
    SensorType.JOINTLIMITFRC: jointlimitfrc,
    SensorType.TENDONLIMITFRC: tendonlimitfrc,
    SensorType.FRAMELINACC: framelinacc,
    SensorType.FRAMEANGACC: frameangacc,
    SensorType.CONTACT: already_read,
    SensorType.PLUGIN: already_read,
}
compute = dispatch(ACCELERATION, "m, d, i")


@stage(when=sensor())
def acceleration_readings(m, d):
    """Compute the sensors of the acceleration stage that are due, into sensor_fresh. Part of MuJoCo's mj_sensorAcc."""
    for i in range(m.nsensor):
        if d.sensor_due[i] != 0 and m.sensor_needstage[i] == Stage.ACC:
            compute(m.sensor_type[i], m, d, i)
            cut_off(m, i, d.sensor_fresh)
