"""Waking: trees that sleep are looked at before poses are computed, and wherever they meet what is awake.

MuJoCo: mj_wake and its kin in engine_sleep.c. Which poses a tree fell asleep with is told by its qpos, by the frames of its
bodies in the model and by the mocap body it hangs on; MuJoCo computes the poses and compares them. All that fell asleep
together wakes together. On lanes each world is looked at by itself; the lists are made anew afterwards (`list_awake`).
Reads: qpos, qvel, xfrc_applied, qfrc_applied, mocap_pos, mocap_quat, contacts, ten_length, eq_active. Writes: tree_asleep.
"""

from ..kernel import kernel, stage
from ..kernel.ops import any_, minimum, where
from ..math.quaternion import get4, normalize4
from ..needs import SLEEPS
from ..types import EnableBit, EqType, Integrator, JointType, ObjType, SleepState
from .feedback import tendon_is_implicit
from .sleep import FULLY_AWAKE, READY, may_sleep, qpos_of_tree, some_disturb, some_push
from .sleep_state import BODIES, BODIES_END, DOFS, DOFS_END, JOINTS, JOINTS_END

ELSEWHERE = 1e9  # a contact that other worlds on lanes have is farther away in this one


@kernel
def differ(a, b, first, end):
    """Where two fields are not the same: a mask over worlds."""
    found = a[0] != a[0]
    for i in range(first, end):
        found = found | (a[i] != b[i])
    return found


@kernel
def frames_changed(m, d, first, end):
    """Whether the model has other frames now for some bodies that sleep; that of a free body does not count."""
    for b in range(first, end):
        if m.body_dofnum[b] != 6 or m.jnt_type[m.body_jntadr[b]] != JointType.FREE:
            for k in range(3):
                if any_(m.body_pos[b, k] != d.frame_asleep[b, k]):
                    return True
            for k in range(4):
                if any_(m.body_quat[b, k] != d.frame_asleep[b, 3 + k]):
                    return True
    return False


@kernel
def carrier_moved(m, d, t):
    """Whether a tree hangs on a mocap body that is not where it was, in some world."""
    root = m.body_rootid[m.tree_bodyadr[t]]
    mocap = m.body_mocapid[root]
    moved = d.time[0] != d.time[0]
    if mocap >= 0:
        quat = normalize4(normalize4(get4(d.mocap_quat, mocap)))
        for k in range(3):
            moved = moved | (d.mocap_pos[mocap, k] != d.xpos[root, k])
        for k in range(4):
            moved = moved | (quat[k] != d.xquat[root, k])
    return any_(moved)


@kernel
def touched_between(m, d, b, end, i, end_dof, q, end_qpos):
    """Whether something was moved, moves or is pushed, in some world: among bodies, dofs and numbers of qpos that follow."""
    touched = differ(d.qpos, d.qpos_asleep, q, end_qpos) | some_push(d, b, end)
    touched = touched | some_disturb(d.qvel, i, end_dof) | some_disturb(d.qfrc_applied, i, end_dof)
    return any_(touched) or frames_changed(m, d, b, end)


@kernel
def is_touched(m, d, t):
    """Whether a tree that sleeps was moved, moves or is pushed, in some world."""
    q, end_qpos = qpos_of_tree(m, t)
    i, b = m.tree_dofadr[t], m.tree_bodyadr[t]
    own = touched_between(m, d, b, b + m.tree_bodynum[t], i, i + m.tree_dofnum[t], q, end_qpos)
    return own or carrier_moved(m, d, t)


@kernel
def all_untouched(m, d):
    """Whether no tree that sleeps was touched: the same as tree by tree, in few long loops.

    What sleeps lies between the runs of what is awake, the first of which begins with the world.
    """
    for run in range(d.nawake_run[0]):
        last = run + 1 == d.nawake_run[0]
        b, i, j = d.awake_run[run, BODIES_END], d.awake_run[run, DOFS_END], d.awake_run[run, JOINTS_END]
        end = m.nbody if last else d.awake_run[run + 1, BODIES]
        if end > b:
            end_dof = m.nv if last else d.awake_run[run + 1, DOFS]
            end_joint = m.njnt if last else d.awake_run[run + 1, JOINTS]
            end_qpos = m.nq if end_joint == m.njnt else m.jnt_qposadr[end_joint]
            if touched_between(m, d, b, end, i, end_dof, m.jnt_qposadr[j], end_qpos):
                return False
    if m.nmocap > 0:
        for t in range(m.ntree):
            if d.tree_asleep[t] >= 0 and carrier_moved(m, d, t):
                return False
    return True


@kernel
def wake_tree(m, d, t, value):
    """Wake a tree and all that sleep with it, with a value for tree_asleep; one that is awake takes the lower value.

    A value that does not wake, of a tree whose lists are not up to date, would lead round and round.
    """
    value = minimum(value, READY)
    if d.tree_asleep[t] < 0:
        if value < d.tree_asleep[t]:
            d.tree_asleep[t] = value
    else:
        current = t
        while d.tree_asleep[current] >= 0:
            following = d.tree_asleep[current]
            d.tree_asleep[current] = value
            current = following


@kernel
def wake_circles(m, d, value):
    """Wake what sleeps in one circle with a tree that is awake by now, in every world by itself."""
    some = True
    while some:
        some = False
        for t in range(m.ntree):
            for other in range(m.ntree):
                follows = (d.tree_asleep[t] == other) & (d.tree_asleep[other] < 0)
                if any_(follows):
                    d.tree_asleep[t] = where(follows, value, d.tree_asleep[t])
                    some = True


@kernel
def wake_other(m, d, a, b):
    """Of two trees wake the one that sleeps if the other does not; it is as awake as the other."""
    if d.tree_awake[a] != 0 and d.tree_awake[b] == 0:
        wake_tree(m, d, b, d.tree_asleep[a])
    elif d.tree_awake[b] != 0 and d.tree_awake[a] == 0:
        wake_tree(m, d, a, d.tree_asleep[b])


@stage(when=SLEEPS, scalar=True)
def wake(m, d):
    """Wake trees that were moved, move or are pushed; all if sleep is off or the model is another. MuJoCo's mj_wake."""
    every = m.opt_enableflags & EnableBit.SLEEP == 0 or m.edition != d.edition_asleep[0]
    listed = d.ntree_awake[0] == d.ntree_listed[0]  # else runs are not those of this world
    if not every and listed and all_untouched(m, d):
        return
    for t in range(m.ntree):
        if d.tree_asleep[t] >= 0 and (every or is_touched(m, d, t) or not may_sleep(m, t)):
            wake_tree(m, d, t, FULLY_AWAKE)


@kernel
def wake_tied_by(m, d, t):
    """Wake all trees of a tendon if one of them is awake; they are as awake as the one that is least so."""
    first, end, value, some = m.ten_J_rowadr[t], m.ten_J_rowadr[t] + m.ten_J_rownnz[t], 0, False
    for at in range(first, end):
        tree = m.dof_treeid[m.ten_J_colind[at]]
        if d.tree_awake[tree] != 0:
            some, value = True, minimum(value, d.tree_asleep[tree])
    if some:
        for at in range(first, end):
            tree = m.dof_treeid[m.ten_J_colind[at]]
            if d.tree_awake[tree] == 0:
                wake_tree(m, d, tree, value)


@stage(when=SLEEPS, scalar=True)
def wake_by_tendons(m, d):
    """Wake trees that a tendon at its limit, or one in the metric, ties to a tree awake. MuJoCo's mj_wakeTendon."""
    for t in range(m.ntendon):
        if m.tendon_treenum[t] == 2 and m.tendon_limited[t]:
            below, above = d.ten_length[t] - m.tendon_range[t, 0], m.tendon_range[t, 1] - d.ten_length[t]
            if any_((below < m.tendon_margin[t]) | (above < m.tendon_margin[t])):
                wake_other(m, d, m.tendon_treeid[t, 0], m.tendon_treeid[t, 1])
        if m.opt_integrator == Integrator.DISCRETE and m.tendon_treenum[t] >= 2 and tendon_is_implicit(m, t):
            wake_tied_by(m, d, t)


@kernel
def wake_beside(m, d, body, tree):
    """Wake a tree that touches a body without dofs if that is awake: one of a mocap body."""
    if tree >= 0 and d.tree_awake[tree] == 0 and d.body_awake[body] == SleepState.AWAKE:
        wake_tree(m, d, tree, FULLY_AWAKE)


@stage(when=SLEEPS, scalar=True)
def wake_by_contacts(m, d):
    """Wake trees that touch a tree awake or a mocap body. MuJoCo's mj_wakeCollision."""
    for c in range(d.ncon[0]):
        a, b = m.geom_bodyid[d.contact_geom[c, 0]], m.geom_bodyid[d.contact_geom[c, 1]]
        first, second = m.body_treeid[a], m.body_treeid[b]
        if d.contact_dist[c] > ELSEWHERE:
            continue
        if first < 0:
            wake_beside(m, d, a, second)
        elif second < 0:
            wake_beside(m, d, b, first)
        else:
            wake_other(m, d, first, second)


@kernel
def bodies_of_equality(m, e):
    """The bodies that an equality holds together, -1 where there is none."""
    a, b = m.eq_obj1id[e], m.eq_obj2id[e]
    if m.eq_type[e] == EqType.JOINT:
        return m.jnt_bodyid[a], m.jnt_bodyid[b] if b >= 0 else -1
    if m.eq_objtype[e] == ObjType.SITE:
        return m.site_bodyid[a], m.site_bodyid[b]
    return a, b


@kernel
def sleep_together(m, d, a, b):
    """Whether two trees that sleep are in one circle."""
    current, met = d.tree_asleep[a], a == b
    for _ in range(m.ntree):
        met = met or current == b
        if met or current == a or current < 0:
            break
        current = d.tree_asleep[current]
    return met


@kernel
def are_alike(m, d, first, second):
    """Whether two trees that slept before sleep in one circle, or were both woken by an equality before this one."""
    if d.tree_asleep[first] >= 0 and d.tree_asleep[second] >= 0:
        return sleep_together(m, d, first, second)
    return d.tree_asleep[first] < 0 and d.tree_asleep[second] < 0


@kernel
def wake_held(m, d, a, b):
    """Wake what sleeps of two bodies in an equality, unless the other is static or they fell asleep together."""
    first, second = m.body_treeid[a], m.body_treeid[b]
    if first == second or d.body_awake[a] == SleepState.STATIC or d.body_awake[b] == SleepState.STATIC:
        return
    if d.body_awake[a] == SleepState.ASLEEP and d.body_awake[b] == SleepState.ASLEEP and are_alike(m, d, first, second):
        return
    if d.body_awake[a] == SleepState.ASLEEP:
        wake_tree(m, d, first, FULLY_AWAKE)
    if d.body_awake[b] == SleepState.ASLEEP:
        wake_tree(m, d, second, FULLY_AWAKE)


@kernel
def wake_tied(m, d, a, b):
    """The same for the trees of two tendons in an equality, b < 0 if there is one alone; there MuJoCo stops."""
    first = -1
    for k in range(4 if b >= 0 else 2):
        tree = m.tendon_treeid[a if k < 2 else b, k & 1]
        if first < 0:
            first = tree
        elif tree >= 0 and tree != first:
            sleeps, other = d.tree_awake[first] == 0, d.tree_awake[tree] == 0
            if not (sleeps and other and are_alike(m, d, first, tree)):
                if sleeps:
                    wake_tree(m, d, first, FULLY_AWAKE)
                if other:
                    wake_tree(m, d, tree, FULLY_AWAKE)


@stage(when=SLEEPS, scalar=True)
def wake_by_equalities(m, d):
    """Wake trees that an equality ties to what is awake, or to what sleeps apart from them. MuJoCo's mj_wakeEquality."""
    for e in range(m.neq):
        if d.eq_active[e] and (
            m.eq_type[e] == EqType.CONNECT or m.eq_type[e] == EqType.WELD or m.eq_type[e] == EqType.JOINT
        ):
            a, b = bodies_of_equality(m, e)
            if b >= 0:
                wake_held(m, d, a, b)
        elif d.eq_active[e] and m.eq_type[e] == EqType.TENDON:
            wake_tied(m, d, m.eq_obj1id[e], m.eq_obj2id[e])
