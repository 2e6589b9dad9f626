"""Sleep: trees that have come to rest are left as they are until something wakes them (`waking.py`).

MuJoCo: mj_sleep, mj_updateSleep in engine_sleep.c. tree_asleep of a tree that is awake counts from -11 up to -1 while it is
slow; islands whose trees have all arrived there fall asleep together. Then tree_asleep is the next tree of the same
island, in a circle, so that all wake together. On lanes a tree sleeps if it may in every world.
Reads: qvel, xfrc_applied, qfrc_applied, islands. Writes: tree_asleep, tree_awake, body_awake, body_awake_ind, parent_awake_ind,
dof_awake_ind, their lengths; qvel and qacc of trees that fall asleep. Scratch: awake_run, *_asleep.
"""

from ..initial import FULLY_AWAKE
from ..kernel import kernel, stage
from ..kernel.ops import absolute, any_, copy_sign, not_
from ..needs import SLEEPS
from ..types import JointType, SleepPolicy, SleepState
from .sleep_state import (
    BODIES,
    BODIES_END,
    DOFS,
    DOFS_END,
    GEOMS,
    GEOMS_END,
    JOINTS,
    JOINTS_END,
    SITES,
    SITES_END,
)

READY = -1


@kernel
def state_of_body(m, d, b):
    """State of a body by that of its tree; what hangs on a mocap body counts as awake."""
    tree = m.body_treeid[b]
    if tree >= 0:
        return SleepState.AWAKE if d.tree_awake[tree] != 0 else SleepState.ASLEEP
    return SleepState.AWAKE if m.body_mocapid[m.body_rootid[b]] >= 0 else SleepState.STATIC


@kernel
def update_runs(m, d):
    """Gather what is not asleep into runs."""
    count = dofs = joints = geoms = sites = 0
    before = False
    for b in range(m.nbody):
        awake = d.body_awake[b] != SleepState.ASLEEP
        if awake and not before:
            d.awake_run[count, BODIES], d.awake_run[count, DOFS], d.awake_run[count, JOINTS] = b, dofs, joints
            d.awake_run[count, GEOMS], d.awake_run[count, SITES] = geoms, sites
            count += 1
        dofs += m.body_dofnum[b]
        joints += m.body_jntnum[b]
        geoms += m.body_geomnum[b]
        while sites < m.nsite and m.site_bodyid[sites] == b:
            sites += 1
        if awake:
            k = count - 1
            d.awake_run[k, BODIES_END], d.awake_run[k, DOFS_END], d.awake_run[k, JOINTS_END] = b + 1, dofs, joints
            d.awake_run[k, GEOMS_END], d.awake_run[k, SITES_END] = geoms, sites
        before = awake
    d.nawake_run[0] = count


@stage(when=SLEEPS)
def update_sleep(m, d):
    """Make the lists of what is awake from tree_asleep. MuJoCo's mj_updateSleep."""
    trees = bodies = parents = dofs = 0
    for t in range(m.ntree):
        d.tree_awake[t] = 1 if d.tree_asleep[t] < 0 else 0
        trees += d.tree_awake[t]
    for b in range(m.nbody):
        d.body_awake[b] = state_of_body(m, d, b)
        if d.body_awake[b] != SleepState.ASLEEP:
            d.body_awake_ind[bodies] = b
            bodies += 1
        if b > 0 and d.body_awake[m.body_parentid[b]] != SleepState.ASLEEP:
            d.parent_awake_ind[parents] = b
            parents += 1
    for i in range(m.nv):
        if d.tree_awake[m.dof_treeid[i]] != 0:
            d.dof_awake_ind[dofs] = i
            dofs += 1
    d.ntree_awake[0] = trees
    d.nbody_awake[0] = bodies
    d.nparent_awake[0] = parents
    d.nv_awake[0] = dofs
    update_runs(m, d)


@kernel
def qpos_of_tree(m, t):
    """First and end of a tree's part of qpos."""
    first = m.jnt_qposadr[m.dof_jntid[m.tree_dofadr[t]]]
    last = m.dof_jntid[m.tree_dofadr[t] + m.tree_dofnum[t] - 1]
    kind = m.jnt_type[last]
    return first, m.jnt_qposadr[last] + (7 if kind == JointType.FREE else 4 if kind == JointType.BALL else 1)


@kernel
def note_positions(m, d):
    """Keep qpos for which poses were computed last, and the frames of bodies, of trees that are awake."""
    d.edition_asleep[0] = m.edition
    for t in range(m.ntree):
        if d.tree_asleep[t] < 0:
            first, end = qpos_of_tree(m, t)
            for i in range(first, end):
                d.qpos_asleep[i] = d.qpos[i]
            for b in range(m.tree_bodyadr[t], m.tree_bodyadr[t] + m.tree_bodynum[t]):
                for k in range(3):
                    d.frame_asleep[b, k] = m.body_pos[b, k]
                for k in range(4):
                    d.frame_asleep[b, 3 + k] = m.body_quat[b, k]


@kernel
def disturbs(x):
    """Whether a number has any bit set: minus zero does nothing but wake."""
    return not_(x == 0.0) | (copy_sign(1.0, x) < 0.0)


@kernel
def some_disturb(field, first, end):
    """Where some entry is not zero: a mask over worlds."""
    found = field[0] != field[0]
    for i in range(first, end):
        found = found | disturbs(field[i])
    return found


@kernel
def some_push(d, first, end):
    """Where a wrench is applied to one of some bodies: a mask over worlds."""
    found = d.time[0] != d.time[0]
    for b in range(first, end):
        for k in range(6):
            found = found | disturbs(d.xfrc_applied[b, k])
    return found


@kernel
def may_sleep(m, t):
    """Whether the policy of a tree lets it sleep."""
    return m.tree_sleep_policy[t] != SleepPolicy.NEVER and m.tree_sleep_policy[t] != SleepPolicy.AUTO_NEVER


@kernel
def is_quiet(m, d, t):
    """Whether a tree may sleep and no force is applied to it, in every world."""
    if not may_sleep(m, t):
        return False
    b, i = m.tree_bodyadr[t], m.tree_dofadr[t]
    pushed = some_push(d, b, b + m.tree_bodynum[t])
    return not any_(pushed | some_disturb(d.qfrc_applied, i, i + m.tree_dofnum[t]))


@kernel
def is_slow(m, d, t):
    """Whether all dofs of a tree are slower than the tolerance, or at rest if that is zero, in every world."""
    for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
        speed = m.dof_length[i] * absolute(d.qvel[i])
        if any_(not_((speed < m.opt_sleep_tolerance) | (d.qvel[i] == 0.0))):
            return False
    return True


@kernel
def lay_down(m, d, first, end):
    """Put the trees at some places in map_itree2tree to sleep, in a circle; they stop."""
    for place in range(first, end):
        t = d.map_itree2tree[place]
        d.tree_asleep[t] = d.map_itree2tree[place + 1 if place + 1 < end else first]
        for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
            d.qvel[i] = 0.0
            d.qacc[i] = 0.0


@kernel
def all_ready(d, first, end):
    """Whether the trees at some places are all ready to sleep."""
    for place in range(first, end):
        if d.tree_asleep[d.map_itree2tree[place]] != READY:
            return False
    return True


@kernel
def fall_asleep(m, d):
    """Count quiet steps, and put islands and lone trees to sleep that are ready; whether there were any. MuJoCo's mj_sleep."""
    if d.nefc[0] > 0 and d.nisland[0] == 0:
        return False
    for t in range(m.ntree):
        if d.tree_asleep[t] < 0:
            quiet = is_quiet(m, d, t) and is_slow(m, d, t)
            if not quiet:
                d.tree_asleep[t] = FULLY_AWAKE
            elif d.tree_asleep[t] < READY:
                d.tree_asleep[t] += 1
    some, lone = False, 0
    for k in range(d.nisland[0]):
        first = d.island_itreeadr[k]
        lone = first + d.island_ntree[k]
        if all_ready(d, first, lone):
            lay_down(m, d, first, lone)
            some = True
    for place in range(lone, m.ntree):
        if all_ready(d, place, place + 1):
            lay_down(m, d, place, place + 1)
            some = True
    return some
