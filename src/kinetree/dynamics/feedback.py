"""What of tendons and actuators the discrete integrator takes at the end of the step, and which trees that ties together.

A tendon with a spring or damper, and an actuator whose force can hang on its length or velocity, are implicit: they are terms
of the metric, and where they reach several trees none of these moves without the others. MuJoCo ties by type alone, before
values and groups of actuators are looked at. Under PGS, which needs a factor of the metric, these terms are left out of it.
"""

from ..kernel import kernel
from ..kernel.ops import needs
from ..types import BiasType, DisableBit, GainType, Integrator, Solver, TrnType
from .activation import actuator_disabled
from .spring import is_stiff, tendon_stiffness


@kernel
def tendon_is_implicit(m, t):
    """Whether tendon t has a spring or damper that acts."""
    if m.opt_disableflags & DisableBit.SPRING == 0 and needs(is_stiff(tendon_stiffness(m, t))):
        return True
    if m.opt_disableflags & DisableBit.DAMPER != 0:
        return False
    own = m.tendon_damping[t], m.tendon_dampingpoly[t, 0], m.tendon_dampingpoly[t, 1]
    return m.tendon_actuatorid[t] != -1 or needs(is_stiff(own))


@kernel
def has_feedback(m, k):
    """Whether the force of actuator k can change with its length or velocity."""
    gain, bias = m.actuator_gaintype[k], m.actuator_biastype[k]
    if gain == GainType.MUSCLE or gain == GainType.DCMOTOR or bias == BiasType.MUSCLE or bias == BiasType.DCMOTOR:
        return True
    if gain == GainType.AFFINE and needs((m.actuator_gainprm[k, 1] != 0.0) | (m.actuator_gainprm[k, 2] != 0.0)):
        return True
    by = (m.actuator_biasprm[k, 1] != 0.0) | (m.actuator_biasprm[k, 2] != 0.0)
    return (bias == BiasType.AFFINE or bias == BiasType.SO3) and needs(by)


@kernel
def actuator_is_implicit(m, k):
    """Whether actuator k is switched on and has such feedback."""
    if m.opt_disableflags & DisableBit.ACTUATION or actuator_disabled(m, k):
        return False
    return has_feedback(m, k)


@kernel
def takes_couplings(m):
    """Whether tendons and actuators have a part in the metric."""
    return m.opt_integrator == Integrator.DISCRETE and m.opt_solver != Solver.PGS


@kernel
def ties_trees(m, k):
    """Whether actuator k is of types with feedback."""
    gain, bias = m.actuator_gaintype[k], m.actuator_biastype[k]
    return BiasType.AFFINE <= bias <= BiasType.SO3 or GainType.AFFINE <= gain <= GainType.SO3


@kernel
def ties_by_sites(m, k):
    """Whether actuator k acts between two sites."""
    kind = m.actuator_trntype[k]
    sites = kind == TrnType.SLIDERCRANK or kind == TrnType.SITE or kind == TrnType.SO3
    return sites and m.actuator_trnid[k, 1] >= 0


@kernel
def tendon_ties(m, t):
    """Whether tendon t ties trees together: by itself, or by an actuator on it."""
    if m.tendon_treenum[t] < 2:
        return False
    tied = tendon_is_implicit(m, t)
    if m.opt_disableflags & DisableBit.ACTUATION == 0:
        for k in range(m.nactuator):
            on_it = m.actuator_trntype[k] == TrnType.TENDON and m.actuator_trnid[k, 0] == t
            tied = tied or (on_it and ties_trees(m, k))
    return tied
