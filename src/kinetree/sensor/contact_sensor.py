"""Contact sensors: which contacts match, which of them are chosen, and what is reported of each.

MuJoCo: mjSENS_CONTACT in engine_sensor.c. They may belong to any stage. Worlds differ in how many contacts match, so lanes
compute them one world at a time. Reads: contacts, efc_force, cvel. Writes: sensor_fresh. Scratch: contact_match, contact_rank.
"""

from ..constraint.contact_force import contact_wrench
from ..dynamics.objects import velocity_at
from ..geometry.contact_list import FAR
from ..kernel import kernel, stage
from ..kernel.ops import maximum, zero
from ..math.constants import MIN_VALUE
from ..math.spatial import add_scaled6, angular, linear
from ..math.vec3 import add, add_scaled, cross, get3, get9, mul_mat_t_vec, mul_mat_vec, norm, scale, sub
from ..needs import sensor
from ..types import ConDataField, ObjType, SensorType
from .inside import is_inside
from .reading import put_number, put_vector
from .tactile import tactile
from .touch import touch
from .touch_grid import touch_grid

ANYTHING, SUBTREE = ObjType.UNKNOWN, ObjType.XBODY
FOUND, FORCE, TORQUE, DIST, POS, NORMAL, TANGENT, LINVEL, ANGVEL = (1 << field for field in ConDataField)
MINDIST, MAXFORCE, NETFORCE = 1, 2, 3  # how a sensor chooses; 0 takes the first contacts


@kernel(scalar=True)
def fits_object(m, geom, kind, k):
    """Whether a geom is, or belongs to, what a sensor looks for; whether it is in a site's volume is another question."""
    body = m.geom_bodyid[geom]
    if kind == ObjType.GEOM:
        return geom == k
    if kind == ObjType.BODY:
        return body == k
    if kind == SUBTREE:
        while body > k:
            body = m.body_parentid[body]
        return body == k
    return kind == ANYTHING or kind == ObjType.SITE


@kernel(scalar=True)
def match(m, d, i, c):
    """0 if sensor i does not look for contact c, 1 if it does, -1 if it does with the two geoms exchanged."""
    kind1, kind2, k1, k2 = m.sensor_objtype[i], m.sensor_reftype[i], m.sensor_objid[i], m.sensor_refid[i]
    if kind1 == ObjType.SITE and not is_inside(m, d, k1, get3(d.contact_pos, c)):
        return 0
    g0, g1 = d.contact_geom[c, 0], d.contact_geom[c, 1]
    straight = fits_object(m, g0, kind1, k1) and fits_object(m, g1, kind2, k2)
    crossed = fits_object(m, g1, kind1, k1) and fits_object(m, g0, kind2, k2)
    if straight:
        return 1
    return -1 if crossed else 0


@kernel(scalar=True)
def mark_matches(m, d, i):
    """Mark the contacts that sensor i looks for, with the number by which they are sorted; how many there are."""
    count, reduce = 0, m.sensor_intprm[i, 1]
    for c in range(d.ncon[0]):
        d.contact_match[c] = match(m, d, i, c) if d.contact_dist[c] < FAR else 0
        if d.contact_match[c] != 0:
            count += 1
            d.contact_rank[c] = 0.0
            if reduce == MINDIST:
                d.contact_rank[c] = d.contact_dist[c]
            elif reduce == MAXFORCE:
                f = contact_wrench(m, d, c)
                d.contact_rank[c] = -(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
    return count


@kernel(scalar=True)
def next_match(d):
    """The marked contact with the smallest rank, the first of equal ones; -1 if there is none."""
    best = -1
    for c in range(d.ncon[0]):
        if d.contact_match[c] != 0 and (best < 0 or d.contact_rank[c] < d.contact_rank[best]):
            best = c
    return best


@kernel(scalar=True)
def third_by(v, sign):
    """A vector whose last number is multiplied by a sign: what is left of exchanging the bodies of a contact."""
    return v[0], v[1], v[2] * sign


@kernel(scalar=True)
def put_contact(m, d, a, what, c, sign, found):
    """Report a contact from `a` on. sign: -1 if its geoms are exchanged, which turns the frame about the second tangent."""
    f, frame, point = contact_wrench(m, d, c), get9(d.contact_frame, c), get3(d.contact_pos, c)
    body0, body1 = m.geom_bodyid[d.contact_geom[c, 0]], m.geom_bodyid[d.contact_geom[c, 1]]
    a = put_number(d, a, what & FOUND, 1.0 * found)
    a = put_vector(d, a, what & FORCE, third_by((f[0], f[1], f[2]), sign))
    a = put_vector(d, a, what & TORQUE, third_by((f[3], f[4], f[5]), sign))
    a = put_number(d, a, what & DIST, d.contact_dist[c])
    a = put_vector(d, a, what & POS, point)
    a = put_vector(d, a, what & NORMAL, scale((frame[0], frame[1], frame[2]), sign))
    a = put_vector(d, a, what & TANGENT, scale((frame[3], frame[4], frame[5]), sign))
    if what & (LINVEL | ANGVEL):
        v = add_scaled6(velocity_at(d, body1, point), velocity_at(d, body0, point), -1.0)
        a = put_vector(d, a, what & LINVEL, third_by(mul_mat_vec(frame, linear(v)), sign))
        a = put_vector(d, a, what & ANGVEL, third_by(mul_mat_vec(frame, angular(v)), sign))
    return a


@kernel(scalar=True)
def world_wrench(m, d, c):
    """Force and torque of a marked contact in world axes, as the sensor counts them."""
    f, frame, sign = contact_wrench(m, d, c), get9(d.contact_frame, c), 1.0 * d.contact_match[c]
    return (
        scale(mul_mat_t_vec(frame, (f[0], f[1], f[2])), sign),
        scale(mul_mat_t_vec(frame, (f[3], f[4], f[5])), sign),
    )


@kernel(scalar=True)
def put_sum(m, d, a, what, found):
    """Report all marked contacts as one in world axes, at the mean of their points weighted by force."""
    o = zero(d.time[0])
    point, force, torque, weights = (o, o, o), (o, o, o), (o, o, o), o
    for c in range(d.ncon[0]):
        if d.contact_match[c] != 0:
            f, _ = world_wrench(m, d, c)
            point, weights = add_scaled(point, get3(d.contact_pos, c), norm(f)), weights + norm(f)
    point = scale(point, 1.0 / maximum(weights, MIN_VALUE))
    for c in range(d.ncon[0]):
        if d.contact_match[c] != 0:
            f, t = world_wrench(m, d, c)
            force = add(force, f)
            torque = add(add(torque, t), cross(sub(get3(d.contact_pos, c), point), f))
    a = put_number(d, a, what & FOUND, 1.0 * found)
    a = put_vector(d, a, what & FORCE, force)
    a = put_vector(d, a, what & TORQUE, torque)
    a = put_number(d, a, what & DIST, 0.0)
    a = put_vector(d, a, what & POS, point)
    a = put_vector(d, a, what & NORMAL, (1.0, 0.0, 0.0))
    return put_vector(d, a, what & TANGENT, (0.0, 1.0, 0.0))


@kernel(scalar=True)
def contact(m, d, i):
    """Fill the slots of sensor i with the contacts that it chooses; slots that are left are zero."""
    what, reduce, a = m.sensor_intprm[i, 0], m.sensor_intprm[i, 1], m.sensor_adr[i]
    end = a + m.sensor_dim[i]
    for k in range(a, end):
        d.sensor_fresh[k] = 0.0
    found = mark_matches(m, d, i)
    if found > 0 and reduce == NETFORCE:
        put_sum(m, d, a, what, found)
    else:
        c = next_match(d)
        while c >= 0 and a < end:
            a = put_contact(m, d, a, what, c, 1.0 * d.contact_match[c], found)
            d.contact_match[c] = 0
            c = next_match(d)


@stage(scalar=True, when=sensor(SensorType.TOUCH, SensorType.CONTACT, SensorType.TACTILE, SensorType.PLUGIN))
def contact_readings(m, d):
    """Compute sensors of contacts that are due, into sensor_fresh. Part of MuJoCo's mj_sensorPos, Vel, Acc."""
    for i in range(m.nsensor):
        if d.sensor_due[i] != 0:
            if m.sensor_type[i] == SensorType.CONTACT:
                contact(m, d, i)
            elif m.sensor_type[i] == SensorType.TOUCH:
                touch(m, d, i)
            elif m.sensor_type[i] == SensorType.TACTILE:
                tactile(m, d, i)
            elif m.sensor_type[i] == SensorType.PLUGIN:
                touch_grid(m, d, i)
