"""Lengths and moment arms of actuators: what each force output does to the joints.

MuJoCo: mj_transmission, and the actuators' part of mj_fwdVelocity.
Reads: qpos, the poses of sites, cdof, xpos, ten_length, ten_J, contacts. Writes: actuator_length, and actuator_moment as
sparse rows (moment_rownnz, moment_rowadr, moment_colind), one row for each of the `nout` outputs.

A row lists every dof that can have a moment arm. MuJoCo drops entries that happen to be zero, but the pattern must not
depend on values here: lanes share it. For the same reason a dof that moves both ends of a transmission is never listed.
"""

from ..geometry.contact_list import FAR
from ..kernel import kernel, stage
from ..kernel.ops import needs, sqrt, where, zero
from ..math.quaternion import get4, mul_quat, normalize4, rotate
from ..math.spatial import dot6, join, scale6
from ..math.vec3 import add_scaled, column, cross, dot, get3, get9, mul_mat_t_vec, mul_mat_vec, scale, sub, where3
from ..types import DisableBit, JointType, TrnType
from .adhesion import IN_GAP
from .configuration import conjugate, quat_log
from .jacobian import add_point_force, axis_at, branch_size, last_dof, later_dof
from .sleep_state import actuator_sleeps


@kernel
def start_row(d, row, at, count):
    """Reserve entries at..at + count - 1 for a row; the place of the next row."""
    d.moment_rowadr[row] = at
    d.moment_rownnz[row] = count
    return at + count


@kernel
def put_moment(d, at, dof, value):
    """Write one entry."""
    d.moment_colind[at] = dof
    d.actuator_moment[at] = value


@kernel
def wrench_row(m, d, row, at, body1, point1, wrench1, body2, point2, wrench2):
    """Joint forces of two opposed wrenches [torque; force], each at a point of a body; the place of the next row."""
    i, j = last_dof(m, body1), last_dof(m, body2)
    end = start_row(d, row, at, branch_size(m, i, j))
    k = end - 1
    while i != j:
        last, of_body2, i, j = later_dof(m, i, j)
        if of_body2:
            put_moment(d, k, last, dot6(axis_at(m, d, last, point2), wrench2))
        else:
            put_moment(d, k, last, dot6(axis_at(m, d, last, point1), wrench1))
        k -= 1
    return end


@kernel
def quat_at(qpos, a):
    """The unit quaternion that starts at qpos[a]."""
    return normalize4((qpos[a], qpos[a + 1], qpos[a + 2], qpos[a + 3]))


@kernel
def gear_force(m, row):
    """First half of the gear: along axes, or about those of a ball joint."""
    return m.actuator_gear[row, 0], m.actuator_gear[row, 1], m.actuator_gear[row, 2]


@kernel
def gear_torque(m, row):
    """Second half of the gear: about axes."""
    return m.actuator_gear[row, 3], m.actuator_gear[row, 4], m.actuator_gear[row, 5]


@kernel
def joint_row(m, d, k, row, at):
    """On a joint; about axes of the child or, in parent, of the parent body (a free joint's: the world)."""
    j = m.actuator_trnid[k, 0]
    a, v, kind = m.jnt_qposadr[j], m.jnt_dofadr[j], m.jnt_type[j]
    in_parent = m.actuator_trntype[k] == TrnType.JOINTINPARENT
    if kind == JointType.BALL:
        q = quat_at(d.qpos, a)
        axis = gear_force(m, row)
        if in_parent:
            axis = rotate(conjugate(q), axis)
        d.actuator_length[row] = dot(quat_log(q), axis)
        for i in range(3):
            put_moment(d, at + i, v + i, axis[i])
        return start_row(d, row, at, 3)
    if kind == JointType.FREE:
        axis = gear_torque(m, row)
        if in_parent:
            axis = rotate(conjugate(quat_at(d.qpos, a + 3)), axis)
        d.actuator_length[row] = 0.0
        for i in range(3):
            put_moment(d, at + i, v + i, m.actuator_gear[row, i])
            put_moment(d, at + 3 + i, v + 3 + i, axis[i])
        return start_row(d, row, at, 6)
    gear = m.actuator_gear[row, 0]
    d.actuator_length[row] = gear * d.qpos[a]
    put_moment(d, at, v, gear)
    return start_row(d, row, at, 1)


@kernel
def tendon_row(m, d, k, row, at):
    """On a tendon: its Jacobian times the gear."""
    t = m.actuator_trnid[k, 0]
    gear = m.actuator_gear[row, 0]
    first, n = m.ten_J_rowadr[t], m.ten_J_rownnz[t]
    d.actuator_length[row] = gear * d.ten_length[t]
    for i in range(n):
        put_moment(d, at + i, m.ten_J_colind[first + i], gear * d.ten_J[first + i])
    return start_row(d, row, at, n)


@kernel
def slider_crank_row(m, d, k, row, at):
    """A rod from the crank site to a slider that moves along z of the slider site.

    With v from slider to crank and a the axis, length = a.v - sqrt(det), det = (a.v)^2 + rod^2 - v.v; a.v out of reach.
    """
    crank, slider = m.actuator_trnid[k, 0], m.actuator_trnid[k, 1]
    gear, rod = m.actuator_gear[row, 0], m.actuator_cranklength[k]
    axis = column(get9(d.site_xmat, slider), 2)
    pin, pivot = get3(d.site_xpos, crank), get3(d.site_xpos, slider)
    v = sub(pin, pivot)
    along = dot(v, axis)
    det = along * along + rod * rod - dot(v, v)
    reached = det > 0.0
    root = sqrt(where(reached, det, 1.0))
    inverse = where(reached, 1.0 / root, 0.0)
    slope = 1.0 - along * inverse  # dlength/da = slope v
    d.actuator_length[row] = gear * where(reached, along - root, along)
    force = scale(add_scaled(scale(axis, slope), v, inverse), gear)  # dlength/dv
    torque = scale(cross(axis, v), slope * gear)
    none = zero(along)
    on_crank = join((none, none, none), force)
    on_slider = join(torque, scale(force, -1.0))
    return wrench_row(m, d, row, at, m.site_bodyid[crank], pin, on_crank, m.site_bodyid[slider], pivot, on_slider)


@kernel
def relative_quat(d, site, ref):
    """Orientation of one site as seen from another."""
    return mul_quat(conjugate(get4(d.site_xquat, ref)), get4(d.site_xquat, site))


@kernel
def site_row(m, d, k, row, at):
    """A force and torque in a site's frame, or between it and a reference site in the frame of the latter."""
    site, ref = m.actuator_trnid[k, 0], m.actuator_trnid[k, 1]
    force, torque = gear_force(m, row), gear_torque(m, row)
    frame, other = (site, 0) if ref < 0 else (ref, m.site_bodyid[ref])
    axes, point, origin = get9(d.site_xmat, frame), get3(d.site_xpos, site), get3(d.site_xpos, frame)
    d.actuator_length[row] = 0.0
    if ref >= 0:
        d.actuator_length[row] = dot(mul_mat_t_vec(axes, sub(point, origin)), force)
        if needs(dot(torque, torque) > 0.0):
            d.actuator_length[row] += dot(quat_log(relative_quat(d, site, ref)), torque)
    wrench = join(mul_mat_vec(axes, torque), mul_mat_vec(axes, force))
    return wrench_row(m, d, row, at, m.site_bodyid[site], point, wrench, other, origin, scale6(wrench, -1.0))


@kernel
def orientation_rows(m, d, k, row, at):
    """Three rows of a relative orientation, one for each axis of the moving frame; the lengths are a rotation vector."""
    moving, ref = m.actuator_trnid[k, 0], m.actuator_trnid[k, 1]
    q = quat_at(d.qpos, m.jnt_qposadr[moving]) if ref < 0 else relative_quat(d, moving, ref)
    r = quat_log(q)
    none = zero(r[0])
    for i in range(3):
        d.actuator_length[row + i] = r[i]
        if ref < 0:
            put_moment(d, at, m.jnt_dofadr[moving] + i, 1.0)
            at = start_row(d, row + i, at, 1)
        else:
            point = get3(d.site_xpos, moving)
            axis = d.site_xmat[moving, i], d.site_xmat[moving, 3 + i], d.site_xmat[moving, 6 + i]
            wrench = join(axis, (none, none, none))
            body, other = m.site_bodyid[moving], m.site_bodyid[ref]
            at = wrench_row(m, d, row + i, at, body, point, wrench, other, point, scale6(wrench, -1.0))
    return at


@kernel
def on_body(m, d, c, body):
    """Whether contact c is one of a body's, and gives force or is in the gap."""
    first, second = m.geom_bodyid[d.contact_geom[c, 0]], m.geom_bodyid[d.contact_geom[c, 1]]
    return d.contact_exclude[c] <= IN_GAP and (first == body or second == body)


@kernel
def adhesion_row(m, d, k, row, at):
    """On a body: minus the mean normal Jacobian of its contacts, of all dofs; empty if it has no contact."""
    body = m.actuator_trnid[k, 0]
    d.actuator_length[row] = 0.0
    number, none, n = zero(d.actuator_length[row]), (0.0, 0.0, 0.0), 0
    for c in range(d.ncon[0]):
        if on_body(m, d, c, body):
            if n == 0:
                n = m.nv
                for i in range(n):
                    put_moment(d, at + i, i, 0.0)
            here = d.contact_dist[c] < FAR  # on lanes, some worlds may lack it
            number = where(here, number + 1.0, number)
            point, normal = where3(here, get3(d.contact_pos, c), none), where3(here, get3(d.contact_frame, c), none)
            body0, body1 = m.geom_bodyid[d.contact_geom[c, 0]], m.geom_bodyid[d.contact_geom[c, 1]]
            add_point_force(m, d, d.actuator_moment, at, body0, point, scale(normal, -1.0))
            add_point_force(m, d, d.actuator_moment, at, body1, point, normal)
    share = -1.0 / where(number > 0.0, number, 1.0)
    for i in range(n):
        d.actuator_moment[at + i] *= share
    return start_row(d, row, at, n)


@stage
def transmission(m, d):
    """Lengths and moment arms of actuators. MuJoCo's mj_transmission."""
    at = 0
    for k in range(m.nactuator):
        kind, row = m.actuator_trntype[k], m.actuator_outadr[k]
        if actuator_sleeps(m, d, k):  # lengths stay, arms are none
            for i in range(row, row + m.actuator_outnum[k]):
                at = start_row(d, i, at, 0)
        elif kind == TrnType.JOINT or kind == TrnType.JOINTINPARENT:
            at = joint_row(m, d, k, row, at)
        elif kind == TrnType.TENDON:
            at = tendon_row(m, d, k, row, at)
        elif kind == TrnType.SITE:
            at = site_row(m, d, k, row, at)
        elif kind == TrnType.SLIDERCRANK:
            at = slider_crank_row(m, d, k, row, at)
        elif kind == TrnType.SO3:
            at = orientation_rows(m, d, k, row, at)
        else:
            at = adhesion_row(m, d, k, row, at)


@kernel
def actuator_velocities(m, d):
    """Rates of the actuator lengths: actuator_velocity; zero where actuation is disabled. Part of mj_fwdVelocity."""
    disabled = (m.opt_disableflags & DisableBit.ACTUATION) != 0
    for row in range(m.nout):
        rate = 0.0
        if not disabled:
            first = d.moment_rowadr[row]
            for i in range(first, first + d.moment_rownnz[row]):
                rate += d.actuator_moment[i] * d.qvel[d.moment_colind[i]]
        d.actuator_velocity[row] = rate
