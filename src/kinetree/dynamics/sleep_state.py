"""What is asleep, static or awake: bodies as the lists of `sleep.py` say, everything else by the bodies and trees it hangs on.

MuJoCo: mj_sleepState. On lanes a state is one of each world, and what is left out is what sleeps in all of them.
"""

from ..kernel import kernel
from ..kernel.ops import all_, any_, where
from ..types import EnableBit, EqType, ObjType, SensorType, SleepState, TrnType

# Columns of awake_run: what is not asleep, in runs of bodies that follow each other, and of all that hangs on them in turn.
# With everything awake there is one run, and stages that loop over runs lose nothing by it.
BODIES, BODIES_END, DOFS, DOFS_END, JOINTS, JOINTS_END = 0, 1, 2, 3, 4, 5
GEOMS, GEOMS_END, SITES, SITES_END = 6, 7, 8, 9


@kernel
def some_sleep(m, d):
    """Whether there is a tree that sleeps, in some world."""
    return m.opt_enableflags & EnableBit.SLEEP != 0 and any_(d.ntree_awake[0] < m.ntree)


@kernel
def some_sleep_apart(m, d):
    """Whether a tree sleeps in some worlds and is awake in others: on lanes alone."""
    return m.opt_enableflags & EnableBit.SLEEP != 0 and any_(d.ntree_awake[0] != d.ntree_listed[0])


@kernel
def dof_sleeps(m, d, i):
    """Whether a dof is of a tree that sleeps."""
    return some_sleep(m, d) and not any_(d.tree_awake[m.dof_treeid[i]] != 0)


@kernel
def tendon_state(m, d, t):
    """A tendon sleeps if both its trees do; one of three trees or more never does."""
    trees = m.tendon_treenum[t]
    if trees == 0:
        return SleepState.STATIC
    if trees > 2:
        return SleepState.AWAKE
    awake = d.tree_awake[m.tendon_treeid[t, 0]] != 0
    if trees == 2:
        awake = awake | (d.tree_awake[m.tendon_treeid[t, 1]] != 0)
    return where(awake, SleepState.AWAKE, SleepState.ASLEEP)


@kernel
def tendon_sleeps(m, d, t):
    """Whether a tendon is between trees that sleep."""
    return some_sleep(m, d) and all_(tendon_state(m, d, t) == SleepState.ASLEEP)


@kernel
def one_awake(a, b):
    """The state of what hangs on two things: awake if one of them is."""
    return where((a == SleepState.AWAKE) | (b == SleepState.AWAKE), SleepState.AWAKE, SleepState.ASLEEP)


@kernel
def actuator_state(m, d, i):
    """The state of what an actuator moves."""
    kind, a, b = m.actuator_trntype[i], m.actuator_trnid[i, 0], m.actuator_trnid[i, 1]
    if kind == TrnType.JOINT or kind == TrnType.JOINTINPARENT or (kind == TrnType.SO3 and b == -1):
        return d.body_awake[m.jnt_bodyid[a]]
    if kind == TrnType.SLIDERCRANK or kind == TrnType.SO3:
        return one_awake(d.body_awake[m.site_bodyid[a]], d.body_awake[m.site_bodyid[b]])
    if kind == TrnType.TENDON:
        return tendon_state(m, d, a)
    if kind == TrnType.SITE:
        return d.body_awake[m.site_bodyid[a]]
    if kind == TrnType.BODY:
        return d.body_awake[a]
    return SleepState.AWAKE


@kernel
def actuator_sleeps(m, d, i):
    """Whether what an actuator moves sleeps."""
    return some_sleep(m, d) and all_(actuator_state(m, d, i) == SleepState.ASLEEP)


@kernel
def state_of(m, d, kind, i):
    """State of an object; what is of no kind is awake."""
    out = SleepState.AWAKE
    if i >= 0:
        if kind == ObjType.BODY or kind == ObjType.XBODY:
            out = d.body_awake[i]
        elif kind == ObjType.JOINT:
            out = d.body_awake[m.jnt_bodyid[i]]
        elif kind == ObjType.DOF:
            out = d.body_awake[m.dof_bodyid[i]]
        elif kind == ObjType.GEOM:
            out = d.body_awake[m.geom_bodyid[i]]
        elif kind == ObjType.SITE:
            out = d.body_awake[m.site_bodyid[i]]
        elif kind == ObjType.CAMERA:
            out = d.body_awake[m.cam_bodyid[i]]
        elif kind == ObjType.LIGHT:
            out = d.body_awake[m.light_bodyid[i]]
        elif kind == ObjType.TENDON:
            out = tendon_state(m, d, i)
        elif kind == ObjType.ACTUATOR:
            out = actuator_state(m, d, i)
    return out


@kernel
def equality_sleeps(m, d, e):
    """Whether nothing that an equality holds together is awake."""
    if not some_sleep(m, d):
        return False
    kind = m.eq_objtype[e]
    if m.eq_type[e] == EqType.JOINT:
        kind = ObjType.JOINT
    elif m.eq_type[e] == EqType.TENDON:
        kind = ObjType.TENDON
    a, b = m.eq_obj1id[e], m.eq_obj2id[e]
    first = state_of(m, d, kind, a) if a >= 0 else SleepState.STATIC
    second = state_of(m, d, kind, b) if b >= 0 else SleepState.STATIC
    return not any_((first == SleepState.AWAKE) | (second == SleepState.AWAKE))


@kernel
def sensor_sleeps(m, d, i):
    """Whether a sensor keeps its last reading, in every world."""
    return m.opt_enableflags & EnableBit.SLEEP != 0 and d.nbody_awake[0] != m.nbody and all_(sensor_rests(m, d, i))


@kernel
def sensor_rests(m, d, i):
    """Where a sensor keeps its last reading: what it looks at sleeps, and so does its reference; with a history never."""
    if m.sensor_history[i, 0] > 0:
        return False
    kind, seen, reference = m.sensor_type[i], m.sensor_objtype[i], m.sensor_reftype[i]
    if (
        kind == SensorType.USER
        or kind == SensorType.PLUGIN
        or kind == SensorType.RANGEFINDER
        or (kind == SensorType.CONTACT and (seen == ObjType.SITE or reference == ObjType.SITE))
    ):
        return False
    if seen == ObjType.UNKNOWN and reference == ObjType.UNKNOWN:
        return False
    first, second = state_of(m, d, seen, m.sensor_objid[i]), state_of(m, d, reference, m.sensor_refid[i])
    if seen == ObjType.UNKNOWN:
        return second == SleepState.ASLEEP
    if reference == ObjType.UNKNOWN:
        return first == SleepState.ASLEEP
    return (first != SleepState.AWAKE) & (second != SleepState.AWAKE)
