"""Passive forces: springs, dampers, gravity compensation, the surrounding medium and adhesive contacts.

MuJoCo: mj_passive. With springs and dampers both disabled there are no passive forces of any kind.
Reads: qpos, qvel, plastic, xpos, xipos, ximat, cdof, cvel, ten_length, ten_J, ten_velocity, contacts. Scratch: body_frc.
Writes: qfrc_spring, qfrc_damper, qfrc_gravcomp, qfrc_fluid, qfrc_adhesion, qfrc_passive.
"""

from ..kernel import kernel, stage
from ..kernel.ops import maximum, needs
from ..math.spatial import set6, shift_force
from ..math.vec3 import dot, get3, root, sub
from ..types import DisableBit, JointType
from .adhesion import add_adhesion_forces
from .damping import dof_damping, resistance, tendon_damping
from .fluid import fluid
from .rne import project_awake
from .sleep_state import BODIES, BODIES_END, DOFS, DOFS_END, JOINTS, JOINTS_END, tendon_sleeps
from .spring import (
    is_stiff,
    joint_stiffness,
    pull_rate,
    rotation_displacement,
    scalar_displacement,
    tendon_displacement,
    tendon_stiffness,
    translation_displacement,
)


@kernel
def pull_back(d, v, stiffness, displacement):
    """Set the spring force of three dofs from v on, against a displacement."""
    rate = pull_rate(stiffness, root(dot(displacement, displacement)))
    d.qfrc_spring[v] = -rate * displacement[0]
    d.qfrc_spring[v + 1] = -rate * displacement[1]
    d.qfrc_spring[v + 2] = -rate * displacement[2]


@kernel
def set_joint_springs(m, d, first, end):
    """Spring forces of some joints."""
    for j in range(first, end):
        stiffness = joint_stiffness(m, j)
        if needs(is_stiff(stiffness)):
            v, a, kind = m.jnt_dofadr[j], m.jnt_qposadr[j], m.jnt_type[j]
            if kind == JointType.FREE:
                pull_back(d, v, stiffness, translation_displacement(m, d, a))
                v += 3
                a += 3
            if kind == JointType.FREE or kind == JointType.BALL:
                pull_back(d, v, stiffness, rotation_displacement(m, d, j, a))
            else:
                x = scalar_displacement(m, d, j)
                d.qfrc_spring[v] = -x * pull_rate(stiffness, x)


@kernel
def add_tendon_springs(m, d):
    """Spring forces of tendons."""
    for t in range(m.ntendon):
        stiffness = tendon_stiffness(m, t)
        if needs(is_stiff(stiffness)) and not tendon_sleeps(m, d, t):
            x = tendon_displacement(m, d, t)
            force = -x * pull_rate(stiffness, x)
            first = m.ten_J_rowadr[t]
            for at in range(first, first + m.ten_J_rownnz[t]):
                d.qfrc_spring[m.ten_J_colind[at]] += d.ten_J[at] * force


@kernel
def add_tendon_dampers(m, d):
    """Damping forces of tendons."""
    for t in range(m.ntendon):
        force = -resistance(tendon_damping(m, t), d.ten_velocity[t])
        first = m.ten_J_rowadr[t]
        for at in range(first, first + (0 if tendon_sleeps(m, d, t) else m.ten_J_rownnz[t])):
            d.qfrc_damper[m.ten_J_colind[at]] += d.ten_J[at] * force


@kernel
def set_gravity_compensation(m, d):
    """Joint forces that carry a share of each body's weight, applied at its centre of mass."""
    for run in range(d.nawake_run[0]):
        for b in range(maximum(d.awake_run[run, BODIES], 1), d.awake_run[run, BODIES_END]):
            lift = -m.body_mass[b] * m.body_gravcomp[b]
            force = lift * m.opt_gravity[0], lift * m.opt_gravity[1], lift * m.opt_gravity[2]
            to_origin = sub(get3(d.xpos, b), get3(d.xipos, b))
            set6(d.body_frc, b, shift_force((0.0, 0.0, 0.0, force[0], force[1], force[2]), to_origin))
    project_awake(m, d, d.qfrc_gravcomp)


@kernel
def start(m, d, damped, first, end):
    """Own damping of some dofs, if dampers act, and no other force yet."""
    for i in range(first, end):
        if damped:
            d.qfrc_damper[i] = -resistance(dof_damping(m, i), d.qvel[i])
        else:
            d.qfrc_damper[i] = 0.0
        d.qfrc_spring[i] = 0.0
        d.qfrc_gravcomp[i] = 0.0
        d.qfrc_fluid[i] = 0.0
        d.qfrc_adhesion[i] = 0.0


@stage
def passive(m, d):
    """Springs, dampers, gravity compensation, medium, adhesion and their sum qfrc_passive. MuJoCo's mj_passive."""
    springs = m.opt_disableflags & DisableBit.SPRING == 0
    dampers = m.opt_disableflags & DisableBit.DAMPER == 0
    for run in range(d.nawake_run[0]):
        start(m, d, dampers, d.awake_run[run, DOFS], d.awake_run[run, DOFS_END])
        if springs:
            set_joint_springs(m, d, d.awake_run[run, JOINTS], d.awake_run[run, JOINTS_END])
    if springs:
        add_tendon_springs(m, d)
    if dampers:
        add_tendon_dampers(m, d)
    if (springs or dampers) and needs((m.opt_density != 0.0) | (m.opt_viscosity != 0.0)):
        fluid(m, d)
    if (springs or dampers) and m.flg_adhesion:
        add_adhesion_forces(m, d)
    for run in range(d.nawake_run[0]):
        for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
            d.qfrc_passive[i] = d.qfrc_spring[i] + d.qfrc_damper[i] + d.qfrc_fluid[i] + d.qfrc_adhesion[i]
    if (springs or dampers) and m.flg_gravcomp != 0 and m.opt_disableflags & DisableBit.GRAVITY == 0:
        set_gravity_compensation(m, d)
        for run in range(d.nawake_run[0]):
            for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
                if not m.jnt_actgravcomp[m.dof_jntid[i]]:  # otherwise fwd_actuation adds it
                    d.qfrc_passive[i] += d.qfrc_gravcomp[i]
