"""Activations over a step, and the histories of controls.

MuJoCo: mj_nextActivation, mj_actuatorDisabled, and the actuators' part of mj_advance.
Reads: act, the given rates, actuator_velocity, actuator_length, ctrl, time. Writes: act, history.
"""

from ..kernel import kernel
from ..kernel.ops import exp, maximum, zero
from ..math.constants import MIN_VALUE
from ..types import DisableBit, DynType, GainType
from .dcmotor import next_motor_state
from .history import insert
from .servo import clip_between, shortest_rotation, wrap_period, wrapped


@kernel
def actuator_disabled(m, k):
    """Whether the group of actuator k is switched off. MuJoCo's mj_actuatorDisabled."""
    group = m.actuator_group[k]
    return 0 <= group <= 30 and (m.opt_disableactuator >> group) & 1 != 0


@kernel
def next_activation(m, d, k, slot, rate):
    """Activation of actuator k in a slot of act after a step at the given rate, within limits. mj_nextActivation."""
    kind, h, now = m.actuator_dyntype[k], m.opt_timestep, d.act[slot]
    if kind == DynType.DCMOTOR:
        return next_motor_state(m, d, k, slot, rate)
    if kind == DynType.FILTEREXACT:
        time = maximum(MIN_VALUE, m.actuator_dynprm[k, 0])
        out = now + rate * time * (1.0 - exp(-h / time))
    else:
        out = now + rate * h
    if m.actuator_actlimited[k]:
        out = clip_between(out, m.actuator_actrange[k, 0], m.actuator_actrange[k, 1])
    return out


@kernel
def wrap_rotation(d, first):
    """Replace a rotation vector longer than half a turn by the shortest of the same orientation."""
    v = shortest_rotation((d.act[first], d.act[first + 1], d.act[first + 2]))
    d.act[first], d.act[first + 1], d.act[first + 2] = v[0], v[1], v[2]


@kernel
def advance_activations(m, d, rates):
    """Move act on by a step at the given rates; setpoints on circles and rotations are brought back to one turn."""
    if m.opt_disableflags & DisableBit.ACTUATION:
        return
    for k in range(m.nactuator):
        first, n = m.actuator_actadr[k], m.actuator_actnum[k]
        for slot in range(first, first + n):
            rate = rates[slot]
            if actuator_disabled(m, k):
                rate = zero(rate)
            d.act[slot] = next_activation(m, d, k, slot, rate)
        if n > 0 and m.actuator_dyntype[k] == DynType.INTEGRATOR:
            if m.actuator_gaintype[k] == GainType.SO3:
                wrap_rotation(d, first)
            else:
                last = first + n - 1
                d.act[last] = wrapped(d.act[last], d.actuator_length[m.actuator_outadr[k]], wrap_period(m, k))


@kernel
def advance_history(m, d):
    """Store the controls of this moment, as given, where an actuator keeps a history."""
    if m.nhistory > 0:
        always = d.time[0] == d.time[0]
        for k in range(m.nactuator):
            n = m.actuator_history[k, 0]
            if n > 0:
                at, size = m.actuator_historyadr[k], m.actuator_ctrlnum[k]
                insert(d.history, at, n, size, d.time[0], d.ctrl, m.actuator_ctrladr[k], always)
