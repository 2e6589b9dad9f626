"""Joint-space inertia M by composite rigid bodies.

MuJoCo: mj_crb, mj_tendonArmature, mj_makeM. Reference: Featherstone 2008, sec. 6.2.
Reads: cinert, cdof, xpos, ten_J. Writes: crb (composite inertia of each subtree at xpos of its root), M in MuJoCo's sparse
order: row i holds the ancestors of dof i and then i itself. Scratch: cdof_root, body_shared.
"""

from ..kernel import kernel, stage
from ..kernel.ops import any_, maximum, zero
from ..math.spatial import (
    angular,
    dot6,
    get6,
    get10,
    mul_inertia,
    set6,
    set10,
    shift_force,
    shift_inertia,
    shift_motion,
)
from ..math.vec3 import dot, get3, sub
from ..types import JointType
from .armature import joint_armature, may_have_armature, tendon_armature
from .sleep_state import BODIES, BODIES_END, some_sleep, tendon_sleeps


@kernel
def add10(a, b):
    """a + b for inertias at one point."""
    return (
        a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5], a[6] + b[6], a[7] + b[7],
        a[8] + b[8], a[9] + b[9],
    )  # fmt: skip


@kernel
def composite_inertia(m, d, run):
    """Inertia of every subtree of a run of bodies, at the origin of its root body.

    A body's first child has the next number, so its share stays at hand. Later children put theirs down in the parent's row.
    """
    o = zero(d.time[0])
    nothing = o, o, o, o, o, o, o, o, o, o
    inertia = nothing
    for b in range(d.awake_run[run, BODIES_END] - 1, maximum(d.awake_run[run, BODIES], 1) - 1, -1):
        inertia = add10(inertia, get10(d.cinert, b))
        if d.body_shared[b] != 0:
            inertia = add10(inertia, get10(d.crb, b))
        set10(d.crb, b, inertia)
        p = m.body_parentid[b]
        inertia = shift_inertia(inertia, sub(get3(d.xpos, p), get3(d.xpos, b)))
        if p != b - 1:
            if p > 0:
                if d.body_shared[p] != 0:
                    inertia = add10(inertia, get10(d.crb, p))
                set10(d.crb, p, inertia)
                d.body_shared[p] = 1
            inertia = nothing


@kernel
def add_sleepers(m, d):
    """Trees that sleep have their inertia still: a body that they hang on gets it, but for the world."""
    for t in range(m.ntree):
        b = m.tree_bodyadr[t]
        p = m.body_parentid[b]
        if p > 0 and not any_(d.tree_awake[t] != 0):
            inertia = shift_inertia(get10(d.crb, b), sub(get3(d.xpos, p), get3(d.xpos, b)))
            set10(d.crb, p, add10(inertia, get10(d.crb, p)) if d.body_shared[p] != 0 else inertia)
            d.body_shared[p] = 1


@kernel
def inertia_row(m, d, i, inertia, to_root, below_free):
    """Row i of M: the force that a unit acceleration of dof i needs, felt by it and by its ancestors.

    The ancestors feel it at the origin of the tree's root. A free joint's axes, the world's and then the body's, meet there.
    """
    axis = get6(d.cdof, i)
    force = mul_inertia(inertia, axis)
    start = m.M_rowadr[i]
    end = start + m.M_rownnz[i] - 1
    d.M[end] = dot6(axis, force) + (m.dof_armature[i] + joint_armature(m, m.dof_jntid[i]))
    set6(d.cdof_root, i, shift_motion(axis, to_root))
    force = shift_force(force, to_root)
    if below_free:
        v = m.M_colind[start]
        for k in range(3):
            d.M[start + k] = force[3 + k]
            d.M[start + 3 + k] = dot(get3(d.cdof, v + 3 + k), angular(force))
        start += 6
    for at in range(start, end):
        d.M[at] = dot6(get6(d.cdof_root, m.M_colind[at]), force)


@kernel
def inertia_matrix(m, d, run):
    """M from composite inertias, with the armature of joints, for a run of bodies."""
    for b in range(maximum(d.awake_run[run, BODIES], 1), d.awake_run[run, BODIES_END]):
        root = m.body_rootid[b]
        below_free = b != root and m.body_jntnum[root] == 1 and m.jnt_type[m.body_jntadr[root]] == JointType.FREE
        inertia = get10(d.crb, b)
        to_root = sub(get3(d.xpos, root), get3(d.xpos, b))
        first = m.body_dofadr[b]
        for i in range(first, first + m.body_dofnum[b]):
            inertia_row(m, d, i, inertia, to_root, below_free)


@kernel
def add_tendon_armature(m, d):
    """M += armature J'J for tendons that carry inertia."""
    for t in range(m.ntendon):
        if may_have_armature(m, t) and not tendon_sleeps(m, d, t):
            armature = tendon_armature(m, t)
            start, end = m.ten_J_rowadr[t], m.ten_J_rowadr[t] + m.ten_J_rownnz[t]
            for a in range(start, end):
                i = m.ten_J_colind[a]
                at, last = m.M_rowadr[i], m.M_rowadr[i] + m.M_rownnz[i]
                for b in range(start, a + 1):  # M keeps its lower triangle
                    while at < last and m.M_colind[at] < m.ten_J_colind[b]:
                        at += 1
                    if at < last and m.M_colind[at] == m.ten_J_colind[b]:
                        d.M[at] += armature * d.ten_J[a] * d.ten_J[b]


@stage
def crb(m, d):
    """Composite inertias and the joint-space inertia M. MuJoCo's mj_crb, without tendon armature."""
    o = zero(d.time[0])
    set10(d.crb, 0, (o, o, o, o, o, o, o, o, o, o))
    for run in range(d.nawake_run[0]):
        for b in range(d.awake_run[run, BODIES], d.awake_run[run, BODIES_END]):
            d.body_shared[b] = 0
    if some_sleep(m, d):
        add_sleepers(m, d)
    for run in range(d.nawake_run[0] - 1, -1, -1):
        composite_inertia(m, d, run)
        inertia_matrix(m, d, run)


@stage
def make_m(m, d):
    """The joint-space inertia M with all armature. MuJoCo's mj_makeM."""
    crb(m, d)
    add_tendon_armature(m, d)
