"""Forces of spatial tendons on the bodies that their paths touch.

MuJoCo: the tendon part of mj_rnePostConstraint. A tendon pulls at both ends of every straight part of its path: springs,
dampers, actuators, the inertia of the tendon itself, and constraints, which are added to ten_push in between
(`constraint.tendon_push`). Fixed tendons couple joints and touch no body.
Reads: ten_length, ten_velocity, ten_J, qvel, qacc, actuator_force, site_xpos, wrap_touch, wrap_point, xpos. Writes: ten_push.
"""

from ..kernel import kernel
from ..kernel.ops import where
from ..math.spatial import get6
from ..math.vec3 import get3, scale
from ..types import DisableBit, TendonType, TrnType, WrapType
from .applied import add_wrench
from .armature import may_have_armature, tendon_armature
from .damping import resistance, tendon_damping
from .spring import pull_rate, tendon_displacement, tendon_stiffness
from .tendon import is_span, object_after, share_at, tendon_dot
from .wrap import choose3, segment


@kernel
def push(m, d, t):
    """Force of a tendon along its length but for constraints: positive lengthens."""
    force = 0.0 * d.ten_length[t]
    if m.opt_disableflags & DisableBit.SPRING == 0:
        x = tendon_displacement(m, d, t)
        force -= x * pull_rate(tendon_stiffness(m, t), x)
    if m.opt_disableflags & DisableBit.DAMPER == 0:
        force -= resistance(tendon_damping(m, t), d.ten_velocity[t])
    for k in range(m.nactuator):
        if m.actuator_trntype[k] == TrnType.TENDON and m.actuator_trnid[k, 0] == t:
            out = m.actuator_outadr[k]  # gears and forces are those of outputs
            force += m.actuator_gear[out, 0] * d.actuator_force[out]
    if may_have_armature(m, t):
        rate = tendon_dot(m, d, t)
        for at in range(m.ten_J_rowadr[t], m.ten_J_rowadr[t] + m.ten_J_rownnz[t]):
            rate += d.ten_J[at] * d.qacc[m.ten_J_colind[at]]
        force -= tendon_armature(m, t) * rate
    return force


@kernel
def set_pushes(m, d):
    """Forces along all spatial tendons without those of constraints: ten_push; fixed ones push no body."""
    for t in range(m.ntendon):
        d.ten_push[t] = push(m, d, t) if m.tendon_type[t] != TendonType.FIXED else 0.0


@kernel
def add_force(d, result, b, point, force):
    """Add a force on a body at a point."""
    add_wrench(d, result, b, point, (0.0, 0.0, 0.0, force[0], force[1], force[2]))


@kernel
def add_span_forces(m, d, result, site0, w, site1, force):
    """Forces of the path between two sites, past the geom that is object w of all paths unless w is the second site."""
    start, end = get3(d.site_xpos, site0), get3(d.site_xpos, site1)
    if m.wrap_type[w] == WrapType.SITE:
        u = segment(start, end)[1]
        v = u
    else:
        p, touches = get6(d.wrap_point, w), d.wrap_touch[w] > 0.5
        first, last = choose3(touches, (p[0], p[1], p[2]), end), choose3(touches, (p[3], p[4], p[5]), start)
        u, v = segment(start, first)[1], segment(last, end)[1]
        on_geom, geom_body = where(touches, force, 0.0), m.geom_bodyid[m.wrap_objid[w]]
        add_force(d, result, geom_body, first, scale(u, on_geom))
        add_force(d, result, geom_body, last, scale(v, -on_geom))
    add_force(d, result, m.site_bodyid[site0], start, scale(u, -force))
    add_force(d, result, m.site_bodyid[site1], end, scale(v, force))


@kernel
def add_tendon_forces(m, d, result):
    """Add to the wrenches of bodies what spatial tendons do to them by ten_push."""
    for t in range(m.ntendon):
        if m.tendon_type[t] != TendonType.FIXED:
            force, share = d.ten_push[t], 1.0
            w, last = m.tendon_adr[t], m.tendon_adr[t] + m.tendon_num[t] - 1
            while w < last:
                share, following = share_at(m, w, share), object_after(m, w)
                if is_span(m, w):
                    add_span_forces(m, d, result, m.wrap_objid[w], w + 1, m.wrap_objid[following], share * force)
                w = following
