"""Distance between two geoms, or between all those of two bodies: its length, its direction, its ends.

MuJoCo: mjSENS_GEOMDIST, mjSENS_GEOMNORMAL, mjSENS_GEOMFROMTO in mj_computeSensorPos. The cutoff is the greatest distance that
is looked for; where nothing is that near, the distance is the cutoff, and the direction and the ends are zero.
Reads: poses of geoms. Writes: sensor_fresh.
"""

from ..geometry.convex import REACH
from ..geometry.distance import pair_distance, reserve
from ..kernel import kernel, stage
from ..kernel.ops import absolute, where, zero
from ..math.vec3 import sub, unit, where3
from ..needs import DISTANCES
from ..types import ObjType, SensorType
from .reading import put1, put3


@kernel
def reads_distance(kind):
    """Whether a type of sensor is one of those computed here."""
    return kind == SensorType.GEOMDIST or kind == SensorType.GEOMNORMAL or kind == SensorType.GEOMFROMTO


@kernel
def geoms_of(m, kind, k):
    """The geoms of an object: the first, and how many."""
    return (m.body_geomadr[k], m.body_geomnum[k]) if kind == ObjType.BODY else (k, 1)


@kernel
def shortest(m, d, i):
    """The shortest way between the objects of sensor i: length, and both ends."""
    cutoff, none = m.sensor_cutoff[i], zero(d.time[0])
    dist, start, end = none + cutoff, (none, none, none), (none, none, none)
    first1, count1 = geoms_of(m, m.sensor_objtype[i], m.sensor_objid[i])
    first2, count2 = geoms_of(m, m.sensor_reftype[i], m.sensor_refid[i])
    for pair in range(count1 * count2):
        d.narrow_geom[0] = first1 + pair // count2
        d.narrow_geom[1] = first2 + pair % count2
        d.narrow_work[REACH] = none + cutoff
        pair_distance(m, d)
        x = d.convex_near[0, 0]
        nearer = x < dist
        start = where3(nearer, (d.convex_near[0, 1], d.convex_near[0, 2], d.convex_near[0, 3]), start)
        end = where3(nearer, (d.convex_near[0, 4], d.convex_near[0, 5], d.convex_near[0, 6]), end)
        dist = where(nearer, x, dist)
    return dist, start, end


@kernel
def put_distance(m, d, i):
    """What sensor i reports of the shortest way [m]."""
    dist, start, end = shortest(m, d, i)
    if m.sensor_type[i] == SensorType.GEOMDIST:
        put1(m, d, i, dist)
    elif m.sensor_type[i] == SensorType.GEOMNORMAL:
        way = sub(end, start)
        some = absolute(way[0]) + absolute(way[1]) + absolute(way[2]) > 0.0
        put3(m, d, i, where3(some, unit(way), way))
    else:
        put3(m, d, i, start)
        for k in range(3):
            d.sensor_fresh[m.sensor_adr[i] + 3 + k] = end[k]


@stage(when=DISTANCES)
def distance_readings(m, d):
    """Compute the sensors of distances that are due, into sensor_fresh. Part of MuJoCo's mj_sensorPos."""
    for i in range(m.nsensor):
        if d.sensor_due[i] != 0 and reads_distance(m.sensor_type[i]):
            put_distance(m, d, i)


@kernel
def reserve_for_distances(m, d):
    """Room for all that these sensors need: delayed ones are read while the state moves on, when it is too late to grow."""
    found = False
    for i in range(m.nsensor):
        found = found or reads_distance(m.sensor_type[i])
    if found:
        reserve(m, d)
