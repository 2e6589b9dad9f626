"""Inertia and damping that actuators lend to the joint or tendon they drive (MuJoCo 4.0.0).

MuJoCo: mj_actuatorArmature, mj_actuatorDamping. An actuator's armature counts times its squared gear. `actuatorid` is the one
actuator that contributes, -1 for none, less for several (then all are searched).
"""

from ..kernel import kernel
from ..kernel.ops import needs
from ..types import TrnType


@kernel
def squared_gear(m, k):
    """The square of an actuator's first gear."""
    gear = m.actuator_gear[m.actuator_outadr[k], 0]
    return gear * gear


@kernel
def drives_joint(m, k, j):
    """Whether actuator k acts on joint j."""
    kind = m.actuator_trntype[k]
    return m.actuator_trnid[k, 0] == j and (kind == TrnType.JOINT or kind == TrnType.JOINTINPARENT)


@kernel
def drives_tendon(m, k, t):
    """Whether actuator k acts on tendon t."""
    return m.actuator_trnid[k, 0] == t and m.actuator_trntype[k] == TrnType.TENDON


@kernel
def joint_armature(m, j):
    """Armature of joint j that comes from actuators."""
    k = m.jnt_actuatorid[j]
    total = 0.0
    if k >= 0:
        total += m.actuator_armature[k] * squared_gear(m, k)
    elif k < -1:
        for i in range(m.nactuator):
            if drives_joint(m, i, j):
                total += m.actuator_armature[i] * squared_gear(m, i)
    return total


@kernel
def may_have_armature(m, t):
    """Whether tendon t has inertia of its own, or actuators that could lend it some."""
    return m.tendon_actuatorid[t] != -1 or needs(m.tendon_armature[t] != 0.0)


@kernel
def tendon_armature(m, t):
    """Armature of tendon t: its own and that of its actuators."""
    k = m.tendon_actuatorid[t]
    total = m.tendon_armature[t]
    if k >= 0:
        total += m.actuator_armature[k] * squared_gear(m, k)
    elif k < -1:
        for i in range(m.nactuator):
            if drives_tendon(m, i, t):
                total += m.actuator_armature[i] * squared_gear(m, i)
    return total
