"""Sensors of the velocity stage, a kernel for each type. MuJoCo: mj_computeSensorVel.

Reads: cvel, qvel, ten_velocity, actuator_velocity, subtree_linvel, subtree_angmom, efc_vel, poses. Writes: sensor_fresh.
"""

from ..dynamics.objects import object_frame, seen_from, velocity_at
from ..dynamics.subtree import subtree_vel
from ..kernel import kernel, stage
from ..kernel.dispatch import dispatch
from ..math.spatial import add_scaled6, angular, linear
from ..math.vec3 import get3, get9
from ..needs import sensor
from ..types import SensorType, Stage
from .limit import jointlimitvel, tendonlimitvel
from .reading import already_read, cut_off, put1, put3, put_row


@kernel
def site_velocity(m, d, site):
    """Velocity of a site in its own axes."""
    return seen_from(velocity_at(d, m.site_bodyid[site], get3(d.site_xpos, site)), get9(d.site_xmat, site))


@kernel
def velocimeter(m, d, i):
    """Velocity of a site [m/s] in its own axes."""
    put3(m, d, i, linear(site_velocity(m, d, m.sensor_objid[i])))


@kernel
def gyro(m, d, i):
    """Angular velocity of a site [rad/s] in its own axes."""
    put3(m, d, i, angular(site_velocity(m, d, m.sensor_objid[i])))


@kernel
def jointvel(m, d, i):
    """Rate of a slide [m/s] or hinge [rad/s]."""
    put1(m, d, i, d.qvel[m.jnt_dofadr[m.sensor_objid[i]]])


@kernel
def tendonvel(m, d, i):
    """Rate of a tendon's length."""
    put1(m, d, i, d.ten_velocity[m.sensor_objid[i]])


@kernel
def actuatorvel(m, d, i):
    """Rate of each output of an actuator."""
    put_row(m, d, i, d.actuator_velocity, m.actuator_outadr[m.sensor_objid[i]])


@kernel
def ballangvel(m, d, i):
    """Angular velocity of a ball joint [rad/s] in the child's axes."""
    put_row(m, d, i, d.qvel, m.jnt_dofadr[m.sensor_objid[i]])


@kernel
def frame_velocity(m, d, i):
    """Velocity of an object at its position, as seen from the reference frame, which may move, if there is one."""
    body, point, _, _ = object_frame(m.sensor_objtype[i], m, d, m.sensor_objid[i])
    v = velocity_at(d, body, point)
    if m.sensor_refid[i] >= 0:
        carrier, _, axes, _ = object_frame(m.sensor_reftype[i], m, d, m.sensor_refid[i])
        v = seen_from(add_scaled6(v, velocity_at(d, carrier, point), -1.0), axes)
    return v


@kernel
def framelinvel(m, d, i):
    """Velocity of an object [m/s]."""
    put3(m, d, i, linear(frame_velocity(m, d, i)))


@kernel
def frameangvel(m, d, i):
    """Angular velocity of an object [rad/s]."""
    put3(m, d, i, angular(frame_velocity(m, d, i)))


@kernel
def subtreelinvel(m, d, i):
    """Velocity of a subtree's centre of mass [m/s]."""
    if not d.flg_subtreevel[0]:
        subtree_vel(m, d)
    put3(m, d, i, get3(d.subtree_linvel, m.sensor_objid[i]))


@kernel
def subtreeangmom(m, d, i):
    """Angular momentum of a subtree about its centre of mass [kg m^2/s]."""
    if not d.flg_subtreevel[0]:
        subtree_vel(m, d)
    put3(m, d, i, get3(d.subtree_angmom, m.sensor_objid[i]))


VELOCITY = {
    SensorType.VELOCIMETER: velocimeter,
    SensorType.GYRO: gyro,
    SensorType.JOINTVEL: jointvel,
    SensorType.TENDONVEL: tendonvel,
    SensorType.ACTUATORVEL: actuatorvel,
    SensorType.BALLANGVEL: ballangvel,
    SensorType.JOINTLIMITVEL: jointlimitvel,
    SensorType.TENDONLIMITVEL: tendonlimitvel,
    SensorType.FRAMELINVEL: framelinvel,
    SensorType.FRAMEANGVEL: frameangvel,
    SensorType.SUBTREELINVEL: subtreelinvel,
    SensorType.SUBTREEANGMOM: subtreeangmom,
    SensorType.CONTACT: already_read,
    SensorType.TACTILE: already_read,
}
compute = dispatch(VELOCITY, "m, d, i")


@stage(when=sensor())
def velocity_readings(m, d):
    """Compute the sensors of the velocity stage that are due, into sensor_fresh. Part of MuJoCo's mj_sensorVel."""
    for i in range(m.nsensor):
        if d.sensor_due[i] != 0 and m.sensor_needstage[i] == Stage.VEL:
            compute(m.sensor_type[i], m, d, i)
            cut_off(m, i, d.sensor_fresh)
