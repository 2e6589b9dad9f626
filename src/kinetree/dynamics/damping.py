"""Viscous damping of joints and tendons: their own and what actuators lend them (MuJoCo 4.0.0).

MuJoCo: mj_actuatorDamping, mju_polyForce and mjd_xPolyForce with flg_odd. Coefficients are three: a, b, c of the resistance
a v + b v |v| + c v^3 at the rate v. An actuator's coefficients count times its squared gear.
"""

from ..kernel import kernel
from ..kernel.ops import absolute
from .armature import drives_joint, drives_tendon, squared_gear


@kernel
def add_actuator_damping(m, k, total):
    """Coefficients with those of actuator k added."""
    gear2 = squared_gear(m, k)
    return (
        total[0] + m.actuator_damping[k] * gear2,
        total[1] + m.actuator_dampingpoly[k, 0] * gear2,
        total[2] + m.actuator_dampingpoly[k, 1] * gear2,
    )


@kernel
def dof_damping(m, i):
    """Damping coefficients of dof i: its own and those of the actuators of its joint."""
    j = m.dof_jntid[i]
    k = m.jnt_actuatorid[j]
    total = m.dof_damping[i], m.dof_dampingpoly[i, 0], m.dof_dampingpoly[i, 1]
    if k >= 0:
        total = add_actuator_damping(m, k, total)
    elif k < -1:
        for a in range(m.nactuator):
            if drives_joint(m, a, j):
                total = add_actuator_damping(m, a, total)
    return total


@kernel
def tendon_damping(m, t):
    """Damping coefficients of tendon t: its own and those of its actuators."""
    k = m.tendon_actuatorid[t]
    total = m.tendon_damping[t], m.tendon_dampingpoly[t, 0], m.tendon_dampingpoly[t, 1]
    if k >= 0:
        total = add_actuator_damping(m, k, total)
    elif k < -1:
        for a in range(m.nactuator):
            if drives_tendon(m, a, t):
                total = add_actuator_damping(m, a, total)
    return total


@kernel
def resistance(damping, v):
    """What a damper sets against the rate v: a v + b v |v| + c v^3."""
    speed = absolute(v)
    return v * (damping[0] + speed * (damping[1] + speed * damping[2]))


@kernel
def resistance_slope(damping, v):
    """Derivative of the resistance by the rate: a + 2 b |v| + 3 c v^2."""
    speed = absolute(v)
    return damping[0] + speed * (2.0 * damping[1] + speed * (3.0 * damping[2]))


@kernel
def damping_derivative(m, d, i):
    """How fast the resistance of dof i grows with its velocity: minus the derivative of its damping force by qvel[i]."""
    return resistance_slope(dof_damping(m, i), d.qvel[i])
