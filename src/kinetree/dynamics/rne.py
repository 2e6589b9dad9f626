"""Inverse dynamics of the tree by recursive Newton-Euler.

MuJoCo: mj_rne. Reference: Featherstone 2008, sec. 5.3.
Reads: xpos, cdof, cdof_dot, cvel, cinert, qvel, qacc. Writes: qfrc_bias, or the result given. Scratch: body_acc, body_frc.
"""

from ..kernel import kernel, stage
from ..kernel.ops import maximum
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
from .sleep_state import BODIES, BODIES_END, DOFS, DOFS_END
from .velocity import lever


@kernel
def set_world_acceleration(m, field):
    """Gravity as an upward acceleration of the world."""
    if m.opt_disableflags & DisableBit.GRAVITY:
        set6(field, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    else:
        set6(field, 0, (0.0, 0.0, 0.0, -m.opt_gravity[0], -m.opt_gravity[1], -m.opt_gravity[2]))


@kernel
def newton_euler(m, d, b, acceleration):
    """Force that a body needs to accelerate so, at xpos."""
    inertia, velocity = get10(d.cinert, b), get6(d.cvel, b)
    return add6(mul_inertia(inertia, acceleration), cross_force(velocity, mul_inertia(inertia, velocity)))


@kernel
def outward(m, d, acc, frc, first, end, with_qacc):
    """From the roots on, acceleration and force of each of some bodies, into the fields given.

    with_qacc: whether qacc counts; else it is taken as zero.
    """
    for b in range(maximum(first, 1), end):
        acceleration = shift_motion(get6(acc, m.body_parentid[b]), lever(m, d, b))
        start = m.body_dofadr[b]
        for v in range(start, start + m.body_dofnum[b]):
            acceleration = add_scaled6(acceleration, get6(d.cdof_dot, v), d.qvel[v])
            if with_qacc:
                acceleration = add_scaled6(acceleration, get6(d.cdof, v), d.qacc[v])
        set6(acc, b, acceleration)
        set6(frc, b, newton_euler(m, d, b, acceleration))


@kernel
def inward(m, d, frc, first, end, into_world):
    """From the leaves on, add the force of each of some bodies to its parent's, at the parent's origin.

    into_world: whether the world collects forces too.
    """
    for b in range(end - 1, maximum(first, 1) - 1, -1):
        p = m.body_parentid[b]
        if p > 0 or into_world:
            to_parent = sub(get3(d.xpos, p), get3(d.xpos, b))
            set6(frc, p, add6(get6(frc, p), shift_force(get6(frc, b), to_parent)))


@kernel
def project_part(m, d, result, first, end):
    """Joint forces: what each of some motion axes feels of the force on its body."""
    for i in range(first, end):
        result[i] = dot6(get6(d.cdof, i), get6(d.body_frc, m.dof_bodyid[i]))


@kernel
def project_awake(m, d, result):
    """Joint forces of body_frc, but for trees that sleep; body_frc is then that of subtrees."""
    for run in range(d.nawake_run[0] - 1, -1, -1):
        inward(m, d, d.body_frc, d.awake_run[run, BODIES], d.awake_run[run, BODIES_END], False)
        project_part(m, d, result, d.awake_run[run, DOFS], d.awake_run[run, DOFS_END])


@kernel
def bias_forces(m, d, result):
    """Joint forces when qacc is zero; those of trees that sleep stay as they are."""
    set_world_acceleration(m, d.body_acc)
    for run in range(d.nawake_run[0]):
        outward(m, d, d.body_acc, d.body_frc, d.awake_run[run, BODIES], d.awake_run[run, BODIES_END], False)
    project_awake(m, d, result)


@kernel
def inverse_forces(m, d, result):
    """Joint forces for the accelerations qacc."""
    set_world_acceleration(m, d.body_acc)
    outward(m, d, d.body_acc, d.body_frc, 0, m.nbody, True)
    inward(m, d, d.body_frc, 0, m.nbody, False)
    project_part(m, d, result, 0, m.nv)


@stage
def rne_bias(m, d):
    """Coriolis, centrifugal and gravity forces: qfrc_bias. MuJoCo's mj_rne without acceleration."""
    bias_forces(m, d, d.qfrc_bias)


@stage
def rne_inverse(m, d):
    """Joint forces for the accelerations qacc: qfrc_inverse. MuJoCo's mj_rne with acceleration."""
    inverse_forces(m, d, d.qfrc_inverse)
