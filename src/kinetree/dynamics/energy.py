"""Potential and kinetic energy.

MuJoCo: mj_energyPos, mj_energyVel. Writes: energy [J], flg_energypos, flg_energyvel.
"""

from ..kernel import kernel, stage
from ..kernel.ops import needs, zero
from ..math.vec3 import dot, root
from ..needs import either, flag, sensor
from ..types import DisableBit, EnableBit, JointType, SensorType
from .spring import (
    is_stiff,
    joint_stiffness,
    rotation_displacement,
    scalar_displacement,
    stored_energy,
    tendon_displacement,
    tendon_stiffness,
    translation_displacement,
)


@kernel
def gravity_energy(m, d):
    """Energy [J] of all weights, zero at the world's origin."""
    total = zero(d.energy[0])
    for b in range(1, m.nbody):
        height = m.opt_gravity[0] * d.xipos[b, 0] + m.opt_gravity[1] * d.xipos[b, 1] + m.opt_gravity[2] * d.xipos[b, 2]
        total -= m.body_mass[b] * height
    return total


@kernel
def vector_energy(stiffness, displacement):
    """Energy [J] of a spring along a displacement vector."""
    square = dot(displacement, displacement)
    return stored_energy(stiffness, root(square), square)  # which is smooth where the root of it is not


@kernel
def joint_energy(m, d, j):
    """Energy [J] of a joint's spring."""
    stiffness = joint_stiffness(m, j)
    a, kind = m.jnt_qposadr[j], m.jnt_type[j]
    total = zero(d.energy[0])
    if needs(is_stiff(stiffness)):
        if kind == JointType.FREE:
            total += vector_energy(stiffness, translation_displacement(m, d, a))
            a += 3
        if kind == JointType.FREE or kind == JointType.BALL:
            total += vector_energy(stiffness, rotation_displacement(m, d, j, a))
        else:
            x = scalar_displacement(m, d, j)
            total += stored_energy(stiffness, x, x * x)
    return total


@kernel
def spring_energy(m, d):
    """Energy [J] of all springs."""
    total = zero(d.energy[0])
    for j in range(m.njnt):
        total += joint_energy(m, d, j)
    for t in range(m.ntendon):
        x = tendon_displacement(m, d, t)
        total += stored_energy(tendon_stiffness(m, t), x, x * x)
    return total


@stage(when=either(flag(EnableBit.ENERGY), sensor(SensorType.E_POTENTIAL)))
def energy_pos(m, d):
    """Potential energy of weights and springs: energy[0]. MuJoCo's mj_energyPos."""
    total = zero(d.energy[0])
    if m.opt_disableflags & DisableBit.GRAVITY == 0:
        total += gravity_energy(m, d)
    if m.opt_disableflags & DisableBit.SPRING == 0:
        total += spring_energy(m, d)
    d.energy[0] = total
    d.flg_energypos[0] = True


@stage(when=either(flag(EnableBit.ENERGY), sensor(SensorType.E_KINETIC)))
def energy_vel(m, d):
    """Kinetic energy of the motion qvel: energy[1], half of qvel' M qvel. MuJoCo's mj_energyVel."""
    total = zero(d.energy[1])
    for i in range(m.nv):
        end = m.M_rowadr[i] + m.M_rownnz[i] - 1
        momentum = 0.5 * d.M[end] * d.qvel[i]  # the lower triangle counts twice, the diagonal once
        for at in range(m.M_rowadr[i], end):
            momentum += d.M[at] * d.qvel[m.M_colind[at]]
        total += momentum * d.qvel[i]
    d.energy[1] = total
    d.flg_energyvel[0] = True
