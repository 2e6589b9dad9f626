"""What reaches sensordata and when: the three sensor stages, intervals, delays and histories.

MuJoCo: mj_sensorPos, mj_sensorVel, mj_sensorAcc, and the sensors' part of mj_advance. A delayed sensor reads from its history
and is computed only when that history moves on; one with an interval is computed when it is time and else read.
Reads: time, history. Writes: sensordata, history; sensor_due, sensor_fresh (scratch).
"""

from ..constraint.rne_post import rne_post_constraint
from ..dynamics.history import insert, read
from ..dynamics.sleep_state import sensor_rests, sensor_sleeps, some_sleep_apart
from ..dynamics.subtree import subtree_vel
from ..kernel import function, kernel, stage
from ..kernel.ops import any_, needs, where
from ..types import DisableBit, SensorType, Stage
from .acceleration import acceleration_readings
from .contact_sensor import contact_readings
from .distance import distance_readings, reads_distance, reserve_for_distances
from .enclosed import enclosures, reads_enclosed
from .position import position_readings
from .rays import rangefinders
from .reading import cut_off
from .touch_grid import reads_grid
from .velocity import velocity_readings


@kernel
def is_time(m, d, i):
    """Whether a sensor with an interval takes a new reading now: a mask over worlds."""
    return d.history[m.sensor_historyadr[i]] + m.sensor_interval[i, 0] <= d.time[0]


@kernel
def is_due(m, d, i):
    """Whether a sensor is to be computed in its stage in any world; users compute theirs."""
    if m.sensor_type[i] == SensorType.USER or sensor_sleeps(m, d, i):
        return False
    if m.sensor_type[i] == SensorType.PLUGIN:
        return reads_grid(m, i)
    if m.sensor_history[i, 0] > 0:
        if any_(m.sensor_delay[i] > 0.0):
            return False
        if any_(m.sensor_interval[i, 0] > 0.0):
            return needs(is_time(m, d, i))
    return True


@kernel
def reads_contacts(m, i):
    """Whether a sensor is one of those that `contact_readings` computes."""
    return (
        m.sensor_type[i] == SensorType.TOUCH
        or m.sensor_type[i] == SensorType.CONTACT
        or m.sensor_type[i] == SensorType.TACTILE
        or m.sensor_type[i] == SensorType.PLUGIN
    )


@kernel
def mark_due(m, d, of_stage):
    """Note which sensors of a stage to compute; whether there are rays, distances, enclosures, contacts, or the user's.

    To what is prepared for the user, plugins have a right too.
    """
    rays = distances = sites = contacts = users = False
    for i in range(m.nsensor):
        d.sensor_due[i] = 0
        if m.sensor_needstage[i] == of_stage:
            due = is_due(m, d, i)
            d.sensor_due[i] = 1 if due else 0
            rays = rays or (due and m.sensor_type[i] == SensorType.RANGEFINDER)
            distances = distances or (due and reads_distance(m.sensor_type[i]))
            sites = sites or (due and reads_enclosed(m, i))
            contacts = contacts or (due and reads_contacts(m, i))
            users = users or m.sensor_type[i] == SensorType.USER or m.sensor_type[i] == SensorType.PLUGIN
    return rays, distances, sites, contacts, users


@kernel
def remembered(m, d, i, k):
    """Number k of a sensor as its history has it at this time, less the delay."""
    at, n, size = m.sensor_historyadr[i], m.sensor_history[i, 0], m.sensor_dim[i]
    return read(d.history, at, n, size, k, d.time[0] - m.sensor_delay[i], m.sensor_history[i, 1])


@kernel
def deliver_sensor(m, d, i):
    """Fresh numbers, or those of the history where the sensor is delayed or waits for its next reading."""
    a, n = m.sensor_adr[i], m.sensor_history[i, 0]
    for k in range(m.sensor_dim[i]):
        if m.sensor_type[i] == SensorType.USER:
            d.sensordata[a + k] = 0.0
        elif m.sensor_type[i] == SensorType.PLUGIN:
            if reads_grid(m, i):
                d.sensordata[a + k] = d.sensor_fresh[a + k]
        elif n > 0 and any_(m.sensor_delay[i] > 0.0):
            d.sensordata[a + k] = remembered(m, d, i, k)
        elif n > 0 and any_(m.sensor_interval[i, 0] > 0.0):
            d.sensordata[a + k] = where(is_time(m, d, i), d.sensor_fresh[a + k], remembered(m, d, i, k))
        else:
            d.sensordata[a + k] = d.sensor_fresh[a + k]


@kernel
def deliver(m, d, of_stage):
    """Write the sensordata of a stage."""
    apart = some_sleep_apart(m, d)
    for i in range(m.nsensor):
        if m.sensor_needstage[i] == of_stage and not sensor_sleeps(m, d, i):
            if apart:
                keep_reading(m, d, i)
            deliver_sensor(m, d, i)


@kernel
def keep_reading(m, d, i):
    """Where a sensor sleeps in some worlds, make its last reading there the fresh one."""
    rests = sensor_rests(m, d, i)
    for a in range(m.sensor_adr[i], m.sensor_adr[i] + m.sensor_dim[i]):
        d.sensor_fresh[a] = where(rests, d.sensordata[a], d.sensor_fresh[a])


@stage
def sensor_pos(m, d):
    """Sensors that depend on positions. MuJoCo's mj_sensorPos."""
    reserve_for_distances(m, d)
    if m.opt_disableflags & DisableBit.SENSOR == 0:
        rays, distances, sites, contacts, _ = mark_due(m, d, Stage.POS)
        if rays:
            rangefinders(m, d)
        if distances:
            distance_readings(m, d)
        if sites:
            enclosures(m, d)
        if contacts:
            contact_readings(m, d)
        if m.nsensor > 0:
            position_readings(m, d)
        deliver(m, d, Stage.POS)


@stage
def sensor_vel(m, d):
    """Sensors that depend on velocities; those of the user get the momenta of subtrees. MuJoCo's mj_sensorVel."""
    if m.opt_disableflags & DisableBit.SENSOR == 0:
        _, _, _, contacts, users = mark_due(m, d, Stage.VEL)
        if users and not d.flg_subtreevel[0]:
            subtree_vel(m, d)
        if contacts:
            contact_readings(m, d)
        if m.nsensor > 0:
            velocity_readings(m, d)
        deliver(m, d, Stage.VEL)


@stage
def sensor_acc(m, d):
    """Sensors that depend on accelerations; those of the user get forces between bodies. MuJoCo's mj_sensorAcc."""
    if m.opt_disableflags & DisableBit.SENSOR == 0:
        _, _, _, contacts, users = mark_due(m, d, Stage.ACC)
        if users and not d.flg_rnepost[0]:
            rne_post_constraint(m, d)
        if contacts:
            contact_readings(m, d)
        if m.nsensor > 0:
            acceleration_readings(m, d)
        deliver(m, d, Stage.ACC)


@kernel
def mark_for_history(m, d):
    """Note which delayed sensors to compute for their histories; whether there are any, and which of those that run apart."""
    some = rays = distances = sites = contacts = False
    for i in range(m.nsensor):
        d.sensor_due[i] = 0
        if m.sensor_history[i, 0] > 0 and any_(m.sensor_delay[i] > 0.0) and m.sensor_type[i] != SensorType.USER:
            if not any_(m.sensor_interval[i, 0] > 0.0) or needs(is_time(m, d, i)):
                d.sensor_due[i] = 1
                some, rays = True, rays or m.sensor_type[i] == SensorType.RANGEFINDER
                distances = distances or reads_distance(m.sensor_type[i])
                sites = sites or reads_enclosed(m, i)
                contacts = contacts or reads_contacts(m, i)
    return some, rays, distances, sites, contacts


@kernel
def keep(m, d, i, source):
    """Store a sensor's numbers of this moment; with an interval only when it is time, and the next time is noted."""
    at, n, size = m.sensor_historyadr[i], m.sensor_history[i, 0], m.sensor_dim[i]
    ready = d.time[0] == d.time[0]
    if any_(m.sensor_interval[i, 0] > 0.0):
        ready = is_time(m, d, i)
        d.history[at] = where(ready, d.history[at] + m.sensor_interval[i, 0], d.history[at])
    insert(d.history, at, n, size, d.time[0], source, m.sensor_adr[i], ready)


@stage
def sensor_history(m, d):
    """Histories of sensors move on, before the state does. Part of MuJoCo's mj_advance."""
    some, rays, distances, sites, contacts = mark_for_history(m, d)
    if rays:
        rangefinders(m, d)
    if distances:
        distance_readings(m, d)
    if sites:
        enclosures(m, d)
    if contacts:
        contact_readings(m, d)
    if some:
        position_readings(m, d)
        velocity_readings(m, d)
        acceleration_readings(m, d)
    for i in range(m.nsensor):
        if m.sensor_history[i, 0] > 0:
            if any_(m.sensor_delay[i] > 0.0) and m.sensor_type[i] != SensorType.USER:
                keep(m, d, i, d.sensor_fresh)
            else:
                keep(m, d, i, d.sensordata)


@function(of_stage=int)
def _cut_off_user_sensors(m, d, a):
    for i in range(m.nsensor):
        if m.sensor_type[i] == SensorType.USER and m.sensor_needstage[i] == a.of_stage:
            cut_off(m, i, d.sensordata)


def cut_off_user_sensors(model, data, of_stage):
    """Keep what a callback wrote for the user's sensors of a stage within their cutoffs."""
    _cut_off_user_sensors(model, data, of_stage=of_stage)
