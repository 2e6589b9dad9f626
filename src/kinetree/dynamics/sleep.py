"""Sleep: trees that have come to rest are left as they are until something wakes them (`waking.py`).

MuJoCo: mj_sleep, mj_updateSleep in engine_sleep.c. tree_asleep of a tree that is awake counts from -11 up to -1 while it is
slow; islands whose trees have all arrived there fall asleep together. Then tree_asleep is the next tree of the same
island, in a circle, so that all wake together. On lanes each world has states of its own; the lists name what is awake in
some world. What sleeps in others is computed there as well, and held still.
Reads: qvel, xfrc_applied, qfrc_applied, islands. Writes: tree_asleep, tree_awake, body_awake, body_awake_ind, parent_awake_ind,
dof_awake_ind, their lengths; qvel and qacc of trees that fall asleep. Scratch: awake_run, *_asleep.
"""

from ..initial import FULLY_AWAKE
from ..kernel import kernel, stage
from ..kernel.ops import absolute, any_, copy_sign, minimum, not_, where
from ..needs import SLEEPS
from ..types import JointType, SleepPolicy, SleepState
from .feedback import takes_couplings
from .joined import root_of, unite_tied, unite_trees
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
    actuator_state,
)
from .warning import KINDS_OF_WARNING

READY = -1


@kernel
def state_of_body(m, d, b):
    """State of a body by that of its tree; what hangs on a mocap body counts as awake."""
    tree = m.body_treeid[b]
    if tree >= 0:
        return where(d.tree_awake[tree] != 0, SleepState.AWAKE, SleepState.ASLEEP)
    return SleepState.AWAKE if m.body_mocapid[m.body_rootid[b]] >= 0 else SleepState.STATIC


@kernel
def update_runs(m, d):
    """Gather what is not asleep into runs."""
    count = dofs = joints = geoms = sites = 0
    before = False
    for b in range(m.nbody):
        awake = any_(d.body_awake[b] != SleepState.ASLEEP)
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
    trees = listed = bodies = parents = dofs = 0
    for t in range(m.ntree):
        d.tree_awake[t] = where(d.tree_asleep[t] < 0, 1, 0)
        trees = trees + d.tree_awake[t]
        listed += 1 if any_(d.tree_asleep[t] < 0) else 0
    for b in range(m.nbody):
        d.body_awake[b] = state_of_body(m, d, b)
        if any_(d.body_awake[b] != SleepState.ASLEEP):
            d.body_awake_ind[bodies] = b
            bodies += 1
        if b > 0 and any_(d.body_awake[m.body_parentid[b]] != SleepState.ASLEEP):
            d.parent_awake_ind[parents] = b
            parents += 1
    for i in range(m.nv):
        if any_(d.tree_awake[m.dof_treeid[i]] != 0):
            d.dof_awake_ind[dofs] = i
            dofs += 1
    d.ntree_awake[0], d.ntree_listed[0] = trees, listed
    d.nbody_awake[0] = bodies
    d.nparent_awake[0] = parents
    d.nv_awake[0] = dofs
    update_runs(m, d)


@kernel
def list_awake(m, d):
    """Make the lists anew if a tree woke in some world since they were made."""
    some = False
    for t in range(m.ntree):
        some = some | ((d.tree_asleep[t] < 0) & (d.tree_awake[t] == 0))
    if any_(some):
        update_sleep(m, d)


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
        awake = d.tree_asleep[t] < 0
        if any_(awake):
            first, end = qpos_of_tree(m, t)
            for i in range(first, end):
                d.qpos_asleep[i] = where(awake, d.qpos[i], d.qpos_asleep[i])
            for b in range(m.tree_bodyadr[t], m.tree_bodyadr[t] + m.tree_bodynum[t]):
                for k in range(3):
                    d.frame_asleep[b, k] = where(awake, m.body_pos[b, k], d.frame_asleep[b, k])
                for k in range(4):
                    d.frame_asleep[b, 3 + k] = where(awake, m.body_quat[b, k], d.frame_asleep[b, 3 + k])


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
    """Where a tree may sleep and no force is applied to it: a mask over worlds."""
    b, i = m.tree_bodyadr[t], m.tree_dofadr[t]
    pushed = some_push(d, b, b + m.tree_bodynum[t]) | some_disturb(d.qfrc_applied, i, i + m.tree_dofnum[t])
    return not_(pushed) & may_sleep(m, t)


@kernel
def is_slow(m, d, t):
    """Where all dofs of a tree are slower than the tolerance, or at rest if that is zero: a mask over worlds."""
    slow = d.time[0] == d.time[0]
    for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
        speed = m.dof_length[i] * absolute(d.qvel[i])
        slow = slow & ((speed < m.opt_sleep_tolerance) | (d.qvel[i] == 0.0))
    return slow


@kernel
def stop(m, d, t, following, ready):
    """Let a tree sleep, and stop, in worlds that are ready. following: the next one in the circle of those asleep with it."""
    d.tree_asleep[t] = where(ready, following, d.tree_asleep[t])
    for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
        d.qvel[i] = where(ready, 0.0, d.qvel[i])
        d.qacc[i] = where(ready, 0.0, d.qacc[i])


@kernel
def lay_down(m, d, first, end, ready):
    """Put the trees at some places in map_itree2tree to sleep, in a circle, in worlds that are ready."""
    for place in range(first, end):
        stop(m, d, d.map_itree2tree[place], d.map_itree2tree[place + 1 if place + 1 < end else first], ready)


@kernel
def all_ready(d, first, end):
    """Where the trees at some places are all ready to sleep: a mask over worlds."""
    ready = d.time[0] == d.time[0]
    for place in range(first, end):
        ready = ready & (d.tree_asleep[d.map_itree2tree[place]] == READY)
    return ready


@kernel
def rows_differ(d):
    """Whether there is a row that some worlds do not have: on lanes alone."""
    for r in range(d.nefc[0]):
        if any_(d.efc_D[r] == 0.0):
            return True
    return False


@kernel(scalar=True)
def set_is_ready(m, d, first):
    """Whether all trees of a set, by its lowest, are ready to sleep."""
    for t in range(first, m.ntree):
        if d.tree_label[t] == first and d.tree_asleep[t] != READY:
            return False
    return True


@kernel(scalar=True)
def lay_set_down(m, d, first):
    """Put the trees of a set to sleep, in a circle."""
    following = first
    for t in range(m.ntree - 1, first - 1, -1):
        if d.tree_label[t] == first:
            stop(m, d, t, following, True)
            following = t


@kernel(scalar=True)
def row_holds(m, d, r):
    """Whether a row is one of this world: it is not neutral, and not of trees alone that sleep here but not in others."""
    for at in range(d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]):
        if d.tree_awake[m.dof_treeid[d.efc_J_colind[at]]] != 0:
            return d.efc_D[r] != 0.0
    return False


@stage(when=SLEEPS, scalar=True, part_of="integrate")
def fall_asleep_apart(m, d):
    """Put trees to sleep that are ready, in a world without some rows, so with other islands. Part of MuJoCo's mj_sleep."""
    for t in range(m.ntree):
        d.tree_label[t] = t
    holds = False
    for r in range(d.nefc[0]):
        if row_holds(m, d, r):
            unite_trees(m, d, d.tree_label, r)
            holds = True
    if holds:  # else there are no islands, and what the metric joins sleeps tree by tree
        for r in range(d.nefc[0], d.nrow[0]):
            unite_trees(m, d, d.tree_label, r)
        if takes_couplings(m):
            unite_tied(m, d, d.tree_label)
    d.fell[0] = False
    for t in range(m.ntree):
        d.tree_label[t] = root_of(d.tree_label, t)
    for t in range(m.ntree):
        if d.tree_label[t] == t and set_is_ready(m, d, t):
            lay_set_down(m, d, t)
            d.fell[0] = True


@kernel
def fall_asleep_together(m, d):
    """Put islands and lone trees to sleep that are ready; d.fell: in which worlds there were any."""
    fell, lone = d.time[0] != d.time[0], 0
    for k in range(d.nisland[0]):
        first = d.island_itreeadr[k]
        lone = first + d.island_ntree[k]
        ready = all_ready(d, first, lone)
        if any_(ready):
            lay_down(m, d, first, lone, ready)
            fell = fell | ready
    for place in range(lone, m.ntree):
        ready = all_ready(d, place, place + 1)
        if any_(ready):
            lay_down(m, d, place, place + 1, ready)
            fell = fell | ready
    d.fell[0] = fell


@kernel
def count_quiet(m, d):
    """Count the quiet steps of each tree that is awake; whether any is ready to sleep in some world."""
    ready = d.time[0] != d.time[0]
    for t in range(m.ntree):
        awake = d.tree_asleep[t] < 0
        if any_(awake):
            quiet = is_quiet(m, d, t) & is_slow(m, d, t)
            counted = where(quiet, minimum(d.tree_asleep[t] + 1, READY), FULLY_AWAKE)
            d.tree_asleep[t] = where(awake, counted, d.tree_asleep[t])
            ready = ready | (d.tree_asleep[t] == READY)
    return any_(ready)


@kernel
def fall_asleep(m, d):
    """Count quiet steps, and put islands and lone trees to sleep that are ready; whether there were any. MuJoCo's mj_sleep."""
    if (d.nefc[0] > 0 and d.nisland[0] == 0) or not count_quiet(m, d):
        return False
    if rows_differ(d):
        fall_asleep_apart(m, d)
    else:
        fall_asleep_together(m, d)
    return any_(d.fell[0])


@kernel
def note_inputs(m, d):
    """Keep what a pass reads that moves on before trees fall asleep."""
    for i in range(m.na):
        d.act_seen[i] = d.act[i]
    for i in range(m.nhistory):
        d.history_seen[i] = d.history[i]


@kernel
def exchange(field, seen, n, fell):
    """Where nothing fell asleep: numbers for those that were kept, and the other way round."""
    for i in range(n):
        now, before = field[i], seen[i]
        field[i] = where(fell, now, before)
        seen[i] = where(fell, before, now)


@kernel
def begin_repeat(m, d):
    """Before a pass that is made for worlds in which trees fell asleep: others are to find in it what the last one found."""
    exchange(d.act, d.act_seen, m.na, d.fell[0])
    exchange(d.history, d.history_seen, m.nhistory, d.fell[0])
    for k in range(KINDS_OF_WARNING):
        d.warning_seen[k, 0], d.warning_seen[k, 1] = d.warning_number[k], d.warning_lastinfo[k]


@kernel
def end_repeat(m, d):
    """After it: inputs as they were, and in those others no warning counts twice."""
    exchange(d.act, d.act_seen, m.na, d.fell[0])
    exchange(d.history, d.history_seen, m.nhistory, d.fell[0])
    for k in range(KINDS_OF_WARNING):
        d.warning_number[k] = where(d.fell[0], d.warning_number[k], d.warning_seen[k, 0])
        d.warning_lastinfo[k] = where(d.fell[0], d.warning_lastinfo[k], d.warning_seen[k, 1])


@kernel
def hold_asleep(m, d):
    """What sleeps in some worlds and is awake in others has there what it would have if it slept in all: nothing acts on it."""
    for t in range(m.ntree):
        asleep = d.tree_awake[t] == 0
        if any_(asleep):
            for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
                d.qacc[i] = where(asleep, d.qacc_smooth[i], d.qacc[i])
    for k in range(m.nactuator):
        asleep = actuator_state(m, d, k) == SleepState.ASLEEP
        for i in range(m.actuator_actnum[k]):
            at = m.actuator_actadr[k] + i
            d.act_dot[at] = where(asleep, 0.0, d.act_dot[at])


@kernel
def stay_asleep(m, d, before):
    """What sleeps in some worlds and is awake in others stays there where it was. before: its qpos."""
    for t in range(m.ntree):
        asleep = d.tree_awake[t] == 0
        if any_(asleep):
            first, end = qpos_of_tree(m, t)
            for i in range(first, end):
                d.qpos[i] = where(asleep, before[i], d.qpos[i])
            for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
                d.qvel[i] = where(asleep, 0.0, d.qvel[i])
