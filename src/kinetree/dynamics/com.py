"""Centres of mass, inertias and motion axes of the tree.

MuJoCo: mj_comPos, which takes cinert and cdof at the tree's centre of mass; here they are taken at xpos[b] of their own body.
Reads: xpos, xmat, xipos, ximat, xanchor, xaxis; body_mass, body_inertia, the tree.
Writes: subtree_mass [kg], subtree_com [m], cinert, cdof (world axes, [angular; linear]).
"""

from ..kernel import kernel, stage
from ..kernel.ops import any_, where, zero
from ..math.constants import MIN_VALUE
from ..math.spatial import set6
from ..math.vec3 import add, column, cross, get3, get9, scale, set3, sub
from ..types import JointType
from .sleep_state import BODIES, BODIES_END, JOINTS, JOINTS_END, some_sleep


@kernel
def finish_centre(d, b, mass, moment):
    """Centre of mass from mass and first moment; a subtree without mass is where its body's own centre is."""
    massless = mass < MIN_VALUE
    com = scale(moment, 1.0 / where(massless, 1.0, mass))
    own = get3(d.xipos, b)
    set3(
        d.subtree_com,
        b,
        (where(massless, own[0], com[0]), where(massless, own[1], com[1]), where(massless, own[2], com[2])),
    )


@kernel
def set_inertia(m, d, b):
    """Inertia of a body about xpos[b]: tensor (xx, yy, zz, xy, xz, yz), mass times lever arm, mass. MuJoCo's mju_inertCom."""
    a = get9(d.ximat, b)
    i0, i1, i2 = get3(m.body_inertia, b)
    mass = m.body_mass[b]
    r = sub(get3(d.xipos, b), get3(d.xpos, b))
    h = scale(r, mass)
    hx, hy, hz = h[0] * r[0], h[1] * r[1], h[2] * r[2]
    x0, x1, x2 = a[0] * i0, a[1] * i1, a[2] * i2
    y0, y1, y2 = a[3] * i0, a[4] * i1, a[5] * i2
    d.cinert[b, 0] = x0 * a[0] + x1 * a[1] + x2 * a[2] + hy + hz
    d.cinert[b, 1] = y0 * a[3] + y1 * a[4] + y2 * a[5] + hx + hz
    d.cinert[b, 2] = a[6] * a[6] * i0 + a[7] * a[7] * i1 + a[8] * a[8] * i2 + hx + hy
    d.cinert[b, 3] = x0 * a[3] + x1 * a[4] + x2 * a[5] - h[0] * r[1]
    d.cinert[b, 4] = x0 * a[6] + x1 * a[7] + x2 * a[8] - h[0] * r[2]
    d.cinert[b, 5] = y0 * a[6] + y1 * a[7] + y2 * a[8] - h[1] * r[2]
    d.cinert[b, 6] = h[0]
    d.cinert[b, 7] = h[1]
    d.cinert[b, 8] = h[2]
    d.cinert[b, 9] = mass


@kernel
def set_axis(d, v, axis, arm):
    """Motion of a unit rate about an axis, seen at the body's origin: the arm reaches from the axis to that origin."""
    linear = cross(axis, arm)
    set6(d.cdof, v, (axis[0], axis[1], axis[2], linear[0], linear[1], linear[2]))


@kernel
def set_motion_axes(m, d, j):
    """Rows of cdof for one joint, at the origin of its body."""
    b = m.jnt_bodyid[j]
    v = m.jnt_dofadr[j]
    kind = m.jnt_type[j]
    if kind == JointType.SLIDE:
        axis = get3(d.xaxis, j)
        none = zero(axis[0])
        set6(d.cdof, v, (none, none, none, axis[0], axis[1], axis[2]))
        return
    arm = sub(get3(d.xpos, b), get3(d.xanchor, j))
    if kind == JointType.FREE or kind == JointType.BALL:
        if kind == JointType.FREE:
            set6(d.cdof, v, (0.0, 0.0, 0.0, 1.0, 0.0, 0.0))
            set6(d.cdof, v + 1, (0.0, 0.0, 0.0, 0.0, 1.0, 0.0))
            set6(d.cdof, v + 2, (0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
            v += 3
        mat = get9(d.xmat, b)
        set_axis(d, v, column(mat, 0), arm)
        set_axis(d, v + 1, column(mat, 1), arm)
        set_axis(d, v + 2, column(mat, 2), arm)
    else:
        set_axis(d, v, get3(d.xaxis, j), arm)


@kernel
def add_sleepers(m, d):
    """Trees that sleep have their mass and centre still: what they hang on gets both."""
    for t in range(m.ntree):
        if not any_(d.tree_awake[t] != 0):
            b = m.tree_bodyadr[t]
            p, mass = m.body_parentid[b], d.subtree_mass[b]
            d.subtree_mass[p] += mass
            set3(d.subtree_com, p, add(get3(d.subtree_com, p), scale(get3(d.subtree_com, b), mass)))


@stage
def com_pos(m, d):
    """Subtree masses and centres of mass, body inertias and motion axes at xpos[b]. MuJoCo's mj_comPos."""
    for run in range(d.nawake_run[0]):
        for b in range(d.awake_run[run, BODIES], d.awake_run[run, BODIES_END]):
            d.subtree_mass[b] = m.body_mass[b]
            set3(d.subtree_com, b, scale(get3(d.xipos, b), m.body_mass[b]))
    if some_sleep(m, d):
        add_sleepers(m, d)
    for run in range(d.nawake_run[0] - 1, -1, -1):
        for b in range(d.awake_run[run, BODIES_END] - 1, d.awake_run[run, BODIES] - 1, -1):
            mass, moment = d.subtree_mass[b], get3(d.subtree_com, b)
            if b > 0:
                p = m.body_parentid[b]
                d.subtree_mass[p] += mass
                set3(d.subtree_com, p, add(get3(d.subtree_com, p), moment))
            finish_centre(d, b, mass, moment)
            set_inertia(m, d, b)
        for j in range(d.awake_run[run, JOINTS], d.awake_run[run, JOINTS_END]):
            set_motion_axes(m, d, j)
