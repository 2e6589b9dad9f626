"""Contact sensors: which contacts match, which of them are chosen, and what is reported of each.

MuJoCo: mjSENS_CONTACT in engine_sensor.c. They may belong to any stage. What a contact joins is the same in all worlds, whether
it is found and how it ranks is not: each world has its choice for a slot, and what is reported goes there under a mask.
Reads: contacts, efc_force, cvel. Writes: sensor_fresh. Scratch: contact_match, contact_rank.
"""

from ..constraint.contact_force import contact_wrench
from ..constraint.contact_rows import kept
from ..dynamics.objects import velocity_at
from ..geometry.contact_list import FAR
from ..kernel import kernel, stage
from ..kernel.ops import any_, maximum, where, zero
from ..math.constants import MIN_VALUE
from ..math.spatial import add_scaled6, angular, linear
from ..math.vec3 import add, add_scaled, cross, get3, get9, mul_mat_t_vec, mul_mat_vec, norm, scale, sub, where3
from ..needs import sensor
from ..types import ConDataField, ObjType, SensorType
from .inside import is_inside
from .reading import put_number, put_vector
from .taxels import taxel_readings
from .touch import touch

ANYTHING, SUBTREE = ObjType.UNKNOWN, ObjType.XBODY
FOUND, FORCE, TORQUE, DIST, POS, NORMAL, TANGENT, LINVEL, ANGVEL = (1 << field for field in ConDataField)
MINDIST, MAXFORCE, NETFORCE = 1, 2, 3  # how a sensor chooses; 0 takes the first contacts
NONE = float("inf")  # the rank of a contact that a sensor does not find, or has reported already


@kernel
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


@kernel
def match(m, d, i, c):
    """0 if sensor i does not look for what contact c joins, 1 if it does, -1 if it does with the two geoms exchanged."""
    kind1, kind2, k1, k2 = m.sensor_objtype[i], m.sensor_reftype[i], m.sensor_objid[i], m.sensor_refid[i]
    g0, g1 = d.contact_geom[c, 0], d.contact_geom[c, 1]
    straight = fits_object(m, g0, kind1, k1) and fits_object(m, g1, kind2, k2)
    crossed = fits_object(m, g1, kind1, k1) and fits_object(m, g0, kind2, k2)
    if straight:
        return 1
    return -1 if crossed else 0


@kernel
def is_found(m, d, i, c):
    """Where a contact exists, and lies in the volume of the site if the sensor looks into one."""
    there = d.contact_dist[c] < FAR
    if m.sensor_objtype[i] == ObjType.SITE:
        there = there & is_inside(m, d, m.sensor_objid[i], get3(d.contact_pos, c))
    return there


@kernel
def rank_of(m, d, c, reduce):
    """The number by which a sensor sorts contacts."""
    rank = zero(d.contact_dist[c])
    if reduce == MINDIST:
        rank = rank + d.contact_dist[c]
    elif reduce == MAXFORCE:
        f = contact_wrench(m, d, c)
        rank = rank - (f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
    return rank


@kernel
def mark_matches(m, d, i):
    """Mark the contacts that sensor i looks for, with their ranks: none where it does not find them. How many it finds."""
    found, reduce = zero(d.time[0]), m.sensor_intprm[i, 1]
    for c in range(d.ncon[0]):
        d.contact_match[c] = match(m, d, i, c)
        if d.contact_match[c] != 0:
            there = is_found(m, d, i, c)
            if any_(there):
                d.contact_rank[c] = where(there, rank_of(m, d, c, reduce), NONE)
                found += where(there, zero(found) + 1.0, 0.0)
            else:
                d.contact_match[c] = 0
    return found


@kernel
def next_match(d):
    """In each world the marked contact with the smallest rank, the first of equal ones; -1 if there is none."""
    best, least = -1, zero(d.time[0]) + NONE
    for c in range(d.ncon[0]):
        if d.contact_match[c] != 0:
            better = d.contact_rank[c] < least
            best, least = where(better, c, best), where(better, d.contact_rank[c], least)
    return best


@kernel
def third_by(v, sign):
    """A vector whose last number is multiplied by a sign: what is left of exchanging the bodies of a contact."""
    return v[0], v[1], v[2] * sign


@kernel
def number_where(d, a, wanted, mask, x):
    """`put_number` in the worlds of a mask."""
    if wanted == 0:
        return a
    return put_number(d, a, wanted, where(mask, x, d.sensor_fresh[a]))


@kernel
def vector_where(d, a, wanted, mask, v):
    """`put_vector` in the worlds of a mask."""
    if wanted == 0:
        return a
    before = d.sensor_fresh[a], d.sensor_fresh[a + 1], d.sensor_fresh[a + 2]
    return put_vector(d, a, wanted, where3(mask, v, before))


@kernel
def put_contact(m, d, a, what, c, chosen, found):
    """Report a contact from `a` on, in the worlds that chose it; with its geoms exchanged it turns about the second tangent."""
    f, frame, point = contact_wrench(m, d, c), get9(d.contact_frame, c), get3(d.contact_pos, c)
    body0, body1 = m.geom_bodyid[d.contact_geom[c, 0]], m.geom_bodyid[d.contact_geom[c, 1]]
    sign = 1.0 * d.contact_match[c]
    a = number_where(d, a, what & FOUND, chosen, found)
    a = vector_where(d, a, what & FORCE, chosen, third_by((f[0], f[1], f[2]), sign))
    a = vector_where(d, a, what & TORQUE, chosen, third_by((f[3], f[4], f[5]), sign))
    a = number_where(d, a, what & DIST, chosen, d.contact_dist[c])
    a = vector_where(d, a, what & POS, chosen, point)
    a = vector_where(d, a, what & NORMAL, chosen, scale((frame[0], frame[1], frame[2]), sign))
    a = vector_where(d, a, what & TANGENT, chosen, scale((frame[3], frame[4], frame[5]), sign))
    if what & (LINVEL | ANGVEL):
        v = add_scaled6(velocity_at(d, body1, point), velocity_at(d, body0, point), -1.0)
        a = vector_where(d, a, what & LINVEL, chosen, third_by(mul_mat_vec(frame, linear(v)), sign))
        a = vector_where(d, a, what & ANGVEL, chosen, third_by(mul_mat_vec(frame, angular(v)), sign))
    return a


@kernel
def world_wrench(m, d, c):
    """Force and torque of a marked contact in world axes, as the sensor counts them: none where it does not find it."""
    f, frame, sign = contact_wrench(m, d, c), get9(d.contact_frame, c), 1.0 * d.contact_match[c]
    there = d.contact_rank[c] < NONE
    return (
        kept(there, scale(mul_mat_t_vec(frame, (f[0], f[1], f[2])), sign)),
        kept(there, scale(mul_mat_t_vec(frame, (f[3], f[4], f[5])), sign)),
    )


@kernel
def put_sum(m, d, a, what, found):
    """Report all marked contacts as one in world axes, at the mean of their points weighted by force; where there are any."""
    o, some = zero(d.time[0]), found > 0.0
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
    a = number_where(d, a, what & FOUND, some, found)
    a = vector_where(d, a, what & FORCE, some, force)
    a = vector_where(d, a, what & TORQUE, some, torque)
    a = number_where(d, a, what & DIST, some, o)
    a = vector_where(d, a, what & POS, some, point)
    a = vector_where(d, a, what & NORMAL, some, (o + 1.0, o, o))
    vector_where(d, a, what & TANGENT, some, (o, o + 1.0, o))


@kernel
def contact(m, d, i):
    """Fill the slots of sensor i with the contacts that it chooses; slots that are left are zero."""
    what, reduce, a = m.sensor_intprm[i, 0], m.sensor_intprm[i, 1], m.sensor_adr[i]
    end = a + m.sensor_dim[i]
    for k in range(a, end):
        d.sensor_fresh[k] = 0.0
    found = mark_matches(m, d, i)
    if reduce == NETFORCE:
        if any_(found > 0.0):
            put_sum(m, d, a, what, found)
    else:
        best = next_match(d)
        while any_(best >= 0) and a < end:
            after = end
            for c in range(d.ncon[0]):
                if d.contact_match[c] != 0:
                    chosen = best == c
                    if any_(chosen):
                        after = put_contact(m, d, a, what, c, chosen, found)
                        d.contact_rank[c] = where(chosen, NONE, d.contact_rank[c])
            a, best = after, next_match(d)


@stage(when=sensor(SensorType.TOUCH, SensorType.CONTACT, SensorType.TACTILE, SensorType.PLUGIN))
def contact_readings(m, d):
    """Compute sensors of contacts that are due, into sensor_fresh. Part of MuJoCo's mj_sensorPos, Vel, Acc."""
    taxels = False
    for i in range(m.nsensor):
        if d.sensor_due[i] != 0:
            kind = m.sensor_type[i]
            if kind == SensorType.CONTACT:
                contact(m, d, i)
            elif kind == SensorType.TOUCH:
                touch(m, d, i)
            taxels = taxels or kind == SensorType.TACTILE or kind == SensorType.PLUGIN
    if taxels:
        taxel_readings(m, d)
