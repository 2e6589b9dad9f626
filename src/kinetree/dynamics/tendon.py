"""Tendons: lengths, Jacobians, velocities, paths, and the bias force of their inertia.

MuJoCo: mj_tendon, mj_tendonDot, mj_tendonBias, and the tendon part of mj_fwdVelocity.
Reads: qpos, site_xpos, geom_xpos, geom_xmat, xpos, cdof, for rates also qvel, cvel, cdof_dot.
Writes: ten_length, ten_J (sparse, in the model's constant structure), ten_velocity; ten_wrapadr, ten_wrapnum, wrap_obj,
wrap_xpos (the path, for drawing); wrap_touch, wrap_point (scratch, from which the path is listed).

A path pulls with a unit force along its direction: its Jacobian is the joint force of that pull. Parts of a path between
two bodies do not move the dofs that carry both, so these entries stay exactly zero.
"""

from ..kernel import kernel, stage
from ..kernel.ops import happens, needs, shared, where, zero
from ..math.constants import MIN_VALUE
from ..math.spatial import get6, join, linear, set6
from ..math.vec3 import dot, get3, scale, sub
from ..needs import some
from ..types import TendonType, WrapType
from .armature import may_have_armature, tendon_armature
from .jacobian import axis_at, last_dof, later_dof, point_bias
from .objects import velocity_at
from .sleep_state import tendon_sleeps
from .wrap import segment, wrap

ON_SITE, ON_PULLEY = -1, -2  # wrap_obj of points that touch no geom


@kernel
def fixed_tendon(m, d, t):
    """Length and Jacobian of a sum of joint positions."""
    length = 0.0
    for w in range(m.tendon_adr[t], m.tendon_adr[t] + m.tendon_num[t]):
        joint, factor = m.wrap_objid[w], m.wrap_prm[w]
        length += factor * d.qpos[m.jnt_qposadr[joint]]
        for at in range(m.ten_J_rowadr[t], m.ten_J_rowadr[t] + m.ten_J_rownnz[t]):
            if m.ten_J_colind[at] == m.jnt_dofadr[joint]:
                d.ten_J[at] = factor
    d.ten_length[t] = length


@kernel
def add_part(m, d, t, body0, body1, point0, point1, direction):
    """Add the Jacobian of a straight part of the path from a point of one body to a point of another."""
    i, j = last_dof(m, body0), last_dof(m, body1)
    start = m.ten_J_rowadr[t]
    at = start + m.ten_J_rownnz[t]
    while i != j and at > start:  # the row has them all
        last, of_body1, i, j = later_dof(m, i, j)
        point, sign = (point1, 1.0) if of_body1 else (point0, -1.0)
        at -= 1
        while at > start and m.ten_J_colind[at] != last:
            at -= 1
        d.ten_J[at] += sign * dot(direction, linear(axis_at(m, d, last, point)))


@kernel
def add_span(m, d, t, site0, w, site1, share):
    """Add the path between two sites, past the geom that is object w of all paths unless w is the second site.

    A pulley counts a share of the length and of the Jacobian. Returns the length.
    """
    start, end = get3(d.site_xpos, site0), get3(d.site_xpos, site1)
    middle, target = m.site_bodyid[site1], m.site_bodyid[site1]
    if m.wrap_type[w] == WrapType.SITE:
        length, u = segment(start, end)
        v, first, last = u, end, end
    else:
        geom = m.wrap_objid[w]
        touches, length, u, v, first, last = wrap(m, d, start, end, geom, m.wrap_type[w], int(shared(m.wrap_prm[w])))
        if needs(touches):  # else the path ends where it first meets anything
            middle = m.geom_bodyid[geom]
        d.wrap_touch[w] = where(touches, zero(length) + 1.0, 0.0)
        set6(d.wrap_point, w, join(first, last))
    add_part(m, d, t, m.site_bodyid[site0], middle, start, first, scale(u, share))
    add_part(m, d, t, middle, target, last, end, scale(v, share))
    return share * length


@kernel
def is_span(m, w):
    """Whether the path runs on from object w, a site: not at a pulley, nor just before one."""
    return m.wrap_type[w] != WrapType.PULLEY and m.wrap_type[w + 1] != WrapType.PULLEY


@kernel
def object_after(m, w):
    """Where a walk along a path goes on from object w: with the next site, geoms being part of the span before it."""
    return w + 1 if not is_span(m, w) or m.wrap_type[w + 1] == WrapType.SITE else w + 2


@kernel
def share_at(m, w, share):
    """What a branch of the path counts: a pulley at object w divides it."""
    return 1.0 / m.wrap_prm[w] if m.wrap_type[w] == WrapType.PULLEY else share


@kernel
def spatial_tendon(m, d, t):
    """Length and Jacobian of a path through sites and past geoms, each branch divided by its pulley's divisor."""
    for at in range(m.ten_J_rowadr[t], m.ten_J_rowadr[t] + m.ten_J_rownnz[t]):
        d.ten_J[at] = 0.0
    length, share = 0.0, 1.0
    w, last = m.tendon_adr[t], m.tendon_adr[t] + m.tendon_num[t] - 1
    while w < last:
        share, following = share_at(m, w, share), object_after(m, w)
        if is_span(m, w):
            length += add_span(m, d, t, m.wrap_objid[w], w + 1, m.wrap_objid[following], share)
        w = following
    d.ten_length[t] = length


@stage(when=some("ntendon"), part_of="tendon")
def tendon_lengths(m, d):
    """Lengths and Jacobians of tendons; apart, as most models have none. MuJoCo's mj_tendon."""
    for t in range(m.ntendon):
        if tendon_sleeps(m, d, t):
            continue
        if m.tendon_type[t] == TendonType.FIXED:
            fixed_tendon(m, d, t)
        else:
            spatial_tendon(m, d, t)


@stage
def tendon(m, d):
    """Lengths and Jacobians of tendons. MuJoCo's mj_tendon, whose list of points is made by `tendon_path`."""
    if m.ntendon > 0:
        tendon_lengths(m, d)


@kernel
def put_point(d, at, what, point):
    """Write point number `at` of all paths; fields hold two points in a row."""
    row, half = at // 2, at % 2
    d.wrap_obj[row, half] = what
    for k in range(3):
        d.wrap_xpos[row, 3 * half + k] = point[k]
    return at + 1


@kernel
def list_points(m, d, t, at):
    """The points of a spatial tendon: one for each site and pulley, two for each geom that it touches."""
    for w in range(m.tendon_adr[t], m.tendon_adr[t] + m.tendon_num[t]):
        kind, which = m.wrap_type[w], m.wrap_objid[w]
        if kind == WrapType.PULLEY:
            at = put_point(d, at, ON_PULLEY, (0.0, 0.0, 0.0))
        elif kind == WrapType.SITE:
            at = put_point(d, at, ON_SITE, get3(d.site_xpos, which))
        elif happens(d.wrap_touch[w] > 0.5):  # a symbol stands for a path that touches no geom
            p = get6(d.wrap_point, w)
            at = put_point(d, at, which, (p[0], p[1], p[2]))
            at = put_point(d, at, which, (p[3], p[4], p[5]))
    return at


@stage(scalar=True)
def tendon_path(m, d):
    """List the points of all paths after `tendon`. The rest of MuJoCo's mj_tendon.

    How many there are depends on values: on lanes the integers are those of the last world.
    """
    at = 0
    for t in range(m.ntendon):
        d.ten_wrapadr[t] = at
        if m.tendon_type[t] != TendonType.FIXED:
            at = list_points(m, d, t, at)
        d.ten_wrapnum[t] = at - d.ten_wrapadr[t]


@stage
def tendon_velocity(m, d):
    """Rates of the lengths, ten_J qvel. Part of MuJoCo's mj_fwdVelocity."""
    for t in range(m.ntendon):
        velocity = 0.0
        for at in range(m.ten_J_rowadr[t], m.ten_J_rowadr[t] + m.ten_J_rownnz[t]):
            velocity += d.ten_J[at] * d.qvel[m.ten_J_colind[at]]
        d.ten_velocity[t] = velocity


@kernel
def point_motion(m, d, b, point):
    """Velocity of a point of a body, and its acceleration if qacc and gravity were zero."""
    return linear(velocity_at(d, b, point)), linear(point_bias(m, d, b, point))


@kernel
def segment_dot(m, d, site0, site1):
    """Second derivative of the distance between two sites if qacc were zero: along it, and from turning across it."""
    p, q = get3(d.site_xpos, site0), get3(d.site_xpos, site1)
    length, u = segment(p, q)
    velocity0, acceleration0 = point_motion(m, d, m.site_bodyid[site0], p)
    velocity1, acceleration1 = point_motion(m, d, m.site_bodyid[site1], q)
    velocity = sub(velocity1, velocity0)
    along = dot(u, velocity)
    tiny = length <= MIN_VALUE
    turning = where(tiny, 0.0, (dot(velocity, velocity) - along * along) / where(tiny, 1.0, length))
    return dot(u, sub(acceleration1, acceleration0)) + turning


@kernel
def tendon_dot(m, d, t):
    """Rate of the Jacobian times qvel: the second derivative of the length if qacc were zero. MuJoCo's mj_tendonDot.

    As in MuJoCo, whose compiler refuses it, a tendon with inertia passes no geoms: what they add is left out.
    """
    total, share = 0.0, 1.0
    w, last = m.tendon_adr[t], m.tendon_adr[t] + m.tendon_num[t] - 1
    if m.tendon_type[t] != TendonType.FIXED:
        while w < last:
            if m.wrap_type[w] == WrapType.PULLEY:
                share = 1.0 / m.wrap_prm[w]
            elif m.wrap_type[w] == WrapType.SITE and m.wrap_type[w + 1] == WrapType.SITE:
                total += share * segment_dot(m, d, m.wrap_objid[w], m.wrap_objid[w + 1])
            w += 1
    return total


@kernel
def add_tendon_bias(m, d, result):
    """Add the force that keeps the inertia of tendons from accelerating: armature J' (dJ/dt) qvel."""
    for t in range(m.ntendon):
        if may_have_armature(m, t) and not tendon_sleeps(m, d, t):
            force = tendon_armature(m, t) * tendon_dot(m, d, t)
            for at in range(m.ten_J_rowadr[t], m.ten_J_rowadr[t] + m.ten_J_rownnz[t]):
                result[m.ten_J_colind[at]] += d.ten_J[at] * force


@stage
def tendon_bias(m, d):
    """Add the bias force of tendon armature to qfrc_bias, after `rne_bias`. MuJoCo's mj_tendonBias."""
    add_tendon_bias(m, d, d.qfrc_bias)
