"""What couples degrees of freedom so that no recursion along the tree sees it: armature of tendons, and damping.

Damping does where one force slows several dofs, so that -qDeriv has entries beside its diagonal: the medium, a tendon over
several joints, an actuator whose force hangs on the velocity and that acts on several dofs. All of it is known from the model.
"""

from ..dynamics.activation import actuator_disabled
from ..dynamics.armature import tendon_armature
from ..dynamics.damping import tendon_damping
from ..kernel import kernel
from ..kernel.ops import needs
from ..types import BiasType, DisableBit, GainType, JointType, TrnType
from .derivative_fluid import has_medium


@kernel
def tendon_couples(m, t):
    """Whether tendon t is damped and moved by several dofs."""
    if m.opt_disableflags & DisableBit.DAMPER or m.ten_J_rownnz[t] < 2:
        return False
    damping = tendon_damping(m, t)
    return needs((damping[0] != 0.0) | (damping[1] != 0.0) | (damping[2] != 0.0))


@kernel
def has_velocity_feedback(m, k):
    """Whether the force of actuator k can change with its velocity."""
    gain, bias = m.actuator_gaintype[k], m.actuator_biastype[k]
    if gain == GainType.MUSCLE or gain == GainType.DCMOTOR:
        return True
    if gain == GainType.AFFINE and needs(m.actuator_gainprm[k, 2] != 0.0):
        return True
    return (bias == BiasType.AFFINE or bias == BiasType.SO3) and needs(m.actuator_biasprm[k, 2] != 0.0)


@kernel
def acts_on_several(m, k):
    """Whether actuator k acts on several dofs by one force; of a ball or free joint it may be one."""
    kind, target = m.actuator_trntype[k], m.actuator_trnid[k, 0]
    if kind == TrnType.TENDON:
        return m.ten_J_rownnz[target] > 1
    if kind == TrnType.SO3:
        return m.actuator_trnid[k, 1] >= 0  # on a ball joint each of the three torques has a dof of its own
    if kind != TrnType.JOINT and kind != TrnType.JOINTINPARENT:
        return True
    if m.jnt_type[target] != JointType.BALL and m.jnt_type[target] != JointType.FREE:
        return False
    count = 0
    for i in range(3 if m.jnt_type[target] == JointType.BALL else 6):
        if needs(m.actuator_gear[m.actuator_outadr[k], i] != 0.0):
            count += 1
    return kind == TrnType.JOINTINPARENT or count > 1


@kernel
def actuator_couples(m, k):
    """Whether the velocity feedback of actuator k slows several dofs by one force."""
    if m.opt_disableflags & DisableBit.ACTUATION or actuator_disabled(m, k):
        return False
    return has_velocity_feedback(m, k) and acts_on_several(m, k)


@kernel
def armature_couples(m):
    """Whether tendons carry inertia."""
    for t in range(m.ntendon):
        if needs(tendon_armature(m, t) != 0.0):
            return True
    return False


@kernel
def damping_couples(m):
    """Whether the damping of the model has entries beside its diagonal."""
    if has_medium(m):
        return True
    for t in range(m.ntendon):
        if tendon_couples(m, t):
            return True
    for k in range(m.nactuator):
        if actuator_couples(m, k):
            return True
    return False


def couplers(model):
    """What damping couples the dofs of a model, by name: for messages."""
    m = model.record()
    found = ["damping of the medium (opt.density, opt.viscosity)"] if has_medium(m) else []
    for kind, count, couples, what in (
        ("tendon", m.ntendon, tendon_couples, "damping over several dofs"),
        ("actuator", m.nactuator, actuator_couples, "velocity feedback on several dofs"),
    ):
        found += [f"{what} ({kind} {model.name(kind, i) or i!r})" for i in range(count) if couples(m, i)]
    return found
