"""Derivative of Coriolis and centrifugal forces by joint velocities.

MuJoCo: mjd_rne_vel. Reference: Singh, Russell & Wensing 2022, arXiv:2105.05102.
With u and w the velocities before and after the joint of dof k, S its axis and v the velocity of a body that it moves,

    d acceleration / d qvel[k] = (u + w) x S - v x S,
    d force / d qvel[k]        = I (u + w) x S  +  2 B S,    2 B S = v x* I S - I (v x S) + S x* I v

where the first term on the right is the drift of the axis and 2 B is linear in the body: it adds up over a subtree like an
inertia. At a point, of [angular; linear], it is 2 B S = [dJ w - n x w; -2 p x w], with w the angular part of S, dJ the rate
of the inertia tensor about the point, n and p the angular and linear momentum: twelve numbers a body.
Reads: xpos, cinert, crb, cdof, cdof_dot, cvel, qvel. Scratch: crb_rate, crb_momentum, dof_drift.
"""

from ..kernel import kernel
from ..math.spatial import (
    add6,
    add_scaled6,
    angular,
    cross_motion,
    dot6,
    get6,
    get10,
    join,
    linear,
    mul_inertia,
    scale6,
    set6,
    shift_force,
    shift_inertia,
)
from ..math.vec3 import add, add_scaled, cross, dot, get3, scale, sub
from ..types import JointType
from .sparse_lu import diagonal, lower, upper


@kernel
def tensor_rate(inertia, velocity):
    """Rate of the inertia tensor about a point at rest: [w]J + ([w]J)' - h u' - u h' + 2 h.u, h the first moment."""
    xx, yy, zz, xy, xz, yz, hx, hy, hz, _ = inertia
    x, y, z, ux, uy, uz = velocity
    twice = 2.0 * (hx * ux + hy * uy + hz * uz)
    return (
        2.0 * (y * xz - z * xy - hx * ux) + twice,
        2.0 * (z * xy - x * yz - hy * uy) + twice,
        2.0 * (x * yz - y * xz - hz * uz) + twice,
        y * yz - z * yy + z * xx - x * xz - hx * uy - hy * ux,
        y * zz - z * yz + x * xy - y * xx - hx * uz - hz * ux,
        z * xz - x * zz + x * yy - y * xy - hy * uz - hz * uy,
    )


@kernel
def mul_tensor(a, v):
    """Symmetric tensor (xx, yy, zz, xy, xz, yz) times vector."""
    return (
        a[0] * v[0] + a[3] * v[1] + a[4] * v[2],
        a[3] * v[0] + a[1] * v[1] + a[5] * v[2],
        a[4] * v[0] + a[5] * v[1] + a[2] * v[2],
    )


@kernel
def shift_rate(rate, momentum, r):
    """The rate of the tensor about a point further on by r; the momentum is the rate of the first moment."""
    h = linear(momentum)
    a = shift_inertia((rate[0], rate[1], rate[2], rate[3], rate[4], rate[5], h[0], h[1], h[2], 0.0), r)
    return a[0], a[1], a[2], a[3], a[4], a[5]


@kernel
def composite_rates(m, d, first, end):
    """Tensor rate and momentum of every subtree at xpos of its root, for the bodies first..end - 1 of whole trees."""
    for b in range(first, end):
        inertia, velocity = get10(d.cinert, b), get6(d.cvel, b)
        set6(d.crb_rate, b, tensor_rate(inertia, velocity))
        set6(d.crb_momentum, b, mul_inertia(inertia, velocity))
    for b in range(end - 1, first - 1, -1):
        p = m.body_parentid[b]
        if p > 0:
            to_parent = sub(get3(d.xpos, p), get3(d.xpos, b))
            rate, momentum = get6(d.crb_rate, b), get6(d.crb_momentum, b)
            set6(d.crb_rate, p, add6(get6(d.crb_rate, p), shift_rate(rate, momentum, to_parent)))
            set6(d.crb_momentum, p, add6(get6(d.crb_momentum, p), shift_force(momentum, to_parent)))


@kernel
def set_drift(m, d, i):
    """The axis of dof i carried by the velocities before and after its joint; of the world's axes there is none."""
    drift = scale6(get6(d.cdof_dot, i), 2.0)
    j = m.dof_jntid[i]
    kind, v = m.jnt_type[j], m.jnt_dofadr[j]
    if kind == JointType.FREE:
        v += 3
    if (kind == JointType.FREE or kind == JointType.BALL) and i >= v:
        spin = scale6(get6(d.cdof, v), d.qvel[v])
        spin = add_scaled6(spin, get6(d.cdof, v + 1), d.qvel[v + 1])
        spin = add_scaled6(spin, get6(d.cdof, v + 2), d.qvel[v + 2])
        drift = add6(drift, cross_motion(spin, get6(d.cdof, i)))
    set6(d.dof_drift, i, drift)


@kernel
def add_bias_row_and_column(m, d, matrix, weight, i):
    """Entries (i, k) and (k, i) for dof i and all k above it, where the subtree of dof i is what both move."""
    b = m.dof_bodyid[i]
    axis, inertia = get6(d.cdof, i), get10(d.crb, b)
    rate, n, p = get6(d.crb_rate, b), angular(get6(d.crb_momentum, b)), linear(get6(d.crb_momentum, b))
    w = angular(axis)
    turned, carried = mul_tensor(rate, w), cross(n, w)
    felt = join(sub(turned, carried), scale(cross(p, w), -2.0))  # 2 B S
    force = add6(mul_inertia(inertia, get6(d.dof_drift, i)), felt)
    by_drift = mul_inertia(inertia, axis)  # what S' I and S' 2 B are to the axes above
    by_turn = add_scaled(add(turned, carried), cross(p, linear(axis)), 2.0)
    matrix[diagonal(m, i)] += weight * dot6(axis, force)
    k = m.dof_parentid[i]
    while k >= 0:
        if m.dof_bodyid[k] != b:
            up = sub(get3(d.xpos, m.dof_bodyid[k]), get3(d.xpos, b))
            force, by_drift = shift_force(force, up), shift_force(by_drift, up)
            b = m.dof_bodyid[k]
        above = get6(d.cdof, k)
        slope = dot6(by_drift, get6(d.dof_drift, k)) + dot(by_turn, angular(above))
        matrix[upper(m, k, i)] += weight * dot6(above, force)
        matrix[lower(m, i, k)] += weight * slope
        k = m.dof_parentid[k]


@kernel
def add_bias_derivative(m, d, matrix, weight, first, end):
    """Add weight times d qfrc_bias / d qvel, for the dofs first..end - 1 of whole trees. Needs `composite_rates`."""
    for i in range(first, end):
        set_drift(m, d, i)
    for i in range(first, end):
        add_bias_row_and_column(m, d, matrix, weight, i)


@kernel
def is_lone_body(m, b):
    """Whether the free joint of body b is all that moves in its tree: it flies alone. MuJoCo's mj_isFreeBody."""
    if m.body_jntnum[b] != 1:
        return False
    j = m.body_jntadr[b]
    return m.jnt_type[j] == JointType.FREE and m.tree_dofnum[m.dof_treeid[m.jnt_dofadr[j]]] == 6
