"""Inverse dynamics of the tree by recursive Newton-Euler.

MuJoCo: mj_rne. Reference: Featherstone 2008, sec. 5.3.
Reads: xpos, cdof, cdof_dot, cvel, cinert, qvel, qacc. Writes: qfrc_bias, or the result given. Scratch: body_acc, body_frc.
"""

from ..kernel import kernel, stage
from ..math.spatial import (
    add6,
    add_scaled6,
    cross_force,
    dot6,
    get6,
    get10,
    mul_inertia,
    set6,
    shift_force,
    shift_motion,
)
from ..math.vec3 import get3, sub
from ..types import DisableBit
from .velocity import lever

NO_GRAVITY = int(DisableBit.GRAVITY)


@kernel
def set_world_acceleration(m, field):
    """Gravity as an upward acceleration of the world."""
    if m.opt_disableflags & NO_GRAVITY:
        set6(field, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    else:
        set6(field, 0, (0.0, 0.0, 0.0, -m.opt_gravity[0], -m.opt_gravity[1], -m.opt_gravity[2]))


@kernel
def newton_euler(m, d, b, acceleration):
    """Force that a body needs to accelerate so, at xpos."""
    inertia, velocity = get10(d.cinert, b), get6(d.cvel, b)
    return add6(mul_inertia(inertia, acceleration), cross_force(velocity, mul_inertia(inertia, velocity)))


@kernel
def accumulate_forces(m, d, field):
    """Add the force of every body to its parent's, moved to the parent's origin; the world collects nothing."""
    for b in range(m.nbody - 1, 0, -1):
        p = m.body_parentid[b]
        if p > 0:
            to_parent = sub(get3(d.xpos, p), get3(d.xpos, b))
            set6(field, p, add6(get6(field, p), shift_force(get6(field, b), to_parent)))


@kernel
def project_forces(m, d, result):
    """Joint forces: what each motion axis feels of the force on its body."""
    for i in range(m.nv):
        result[i] = dot6(get6(d.cdof, i), get6(d.body_frc, m.dof_bodyid[i]))


@kernel
def bias_accelerations(m, d):
    """Accelerations and forces of bodies when qacc is zero."""
    set_world_acceleration(m, d.body_acc)
    for b in range(1, m.nbody):
        acceleration = shift_motion(get6(d.body_acc, m.body_parentid[b]), lever(m, d, b))
        first = m.body_dofadr[b]
        for v in range(first, first + m.body_dofnum[b]):
            acceleration = add_scaled6(acceleration, get6(d.cdof_dot, v), d.qvel[v])
        set6(d.body_acc, b, acceleration)
        set6(d.body_frc, b, newton_euler(m, d, b, acceleration))


@kernel
def full_accelerations(m, d, acc, frc):
    """Accelerations and forces of bodies with qacc, into the fields given."""
    set_world_acceleration(m, acc)
    for b in range(1, m.nbody):
        acceleration = shift_motion(get6(acc, m.body_parentid[b]), lever(m, d, b))
        first = m.body_dofadr[b]
        for v in range(first, first + m.body_dofnum[b]):
            acceleration = add_scaled6(acceleration, get6(d.cdof_dot, v), d.qvel[v])
            acceleration = add_scaled6(acceleration, get6(d.cdof, v), d.qacc[v])
        set6(acc, b, acceleration)
        set6(frc, b, newton_euler(m, d, b, acceleration))


@stage
def rne_bias(m, d):
    """Coriolis, centrifugal and gravity forces: qfrc_bias. MuJoCo's mj_rne without acceleration."""
    bias_accelerations(m, d)
    accumulate_forces(m, d, d.body_frc)
    project_forces(m, d, d.qfrc_bias)


@stage
def rne_inverse(m, d):
    """Joint forces for the accelerations qacc: qfrc_inverse. MuJoCo's mj_rne with acceleration."""
    full_accelerations(m, d, d.body_acc, d.body_frc)
    accumulate_forces(m, d, d.body_frc)
    project_forces(m, d, d.qfrc_inverse)
