"""Derivative of actuator forces by joint velocities.

MuJoCo: mjd_actuator_vel. An actuator whose force is at a limit, of its own or of the joint or tendon it drives, does not
change with the velocity and counts for nothing. So does a motor's controller at its largest voltage, and its current at its
largest rate. The friction of a motor's bristles counts by its damping alone.
Reads: actuator_moment, actuator_length, actuator_velocity, actuator_force, qfrc_actuator, act, act_dot, ctrl_used.
"""

from ..dynamics.activation import actuator_disabled
from ..dynamics.actuation import activation, input_of, read_controls
from ..dynamics.dcmotor import CONTROLLED, friction_and_cogging, motor_slots, motor_voltage, resistance
from ..dynamics.muscle import guarded, length_curve, normalized_length, optimal_length, peak_force
from ..dynamics.servo import clip_between, servo_inputs
from ..dynamics.sleep_state import actuator_sleeps
from ..kernel import kernel
from ..kernel.ops import absolute, exp, maximum, where, zero
from ..math.constants import MIN_VALUE, resolved
from ..math.vec3 import dot, root
from ..types import BiasType, DisableBit, GainType, TrnType
from .coupling import has_velocity_feedback
from .sparse_lu import add_outer_product

ROUNDING = 1e-10  # share of a limit within which a force is at it: forces that were scaled to reach it are rounded


@kernel
def muscle_gain_slope(m, d, k, row):
    """Derivative of a muscle's gain by its velocity."""
    length = normalized_length(m, d, m.actuator_gainprm, k, row)
    fastest = guarded(optimal_length(m, m.actuator_gainprm, k, row) * m.actuator_gainprm[k, 6])
    v, y = d.actuator_velocity[row] / fastest, m.actuator_gainprm[k, 8] - 1.0
    shortening = where(v <= -1.0, 0.0, 2.0 * v + 2.0)
    lengthening = where(v <= y, 2.0 * (y - v) / guarded(y), 0.0)
    by_length = length_curve(length, m.actuator_gainprm[k, 4], m.actuator_gainprm[k, 5])
    return -peak_force(m, m.actuator_gainprm, k, row) * by_length * where(v <= 0.0, shortening, lengthening) / fastest


@kernel
def is_outside(x, low, high):
    """Whether x is at a limit or beyond."""
    return (x <= low) | (x >= high)


@kernel
def tendon_is_limited(m, d, t):
    """Whether the forces of actuators on tendon t are scaled down to its limit; cogging and friction come on top."""
    total = zero(d.ten_length[t])
    for k in range(m.nactuator):
        if m.actuator_trntype[k] == TrnType.TENDON and m.actuator_trnid[k, 0] == t:
            total += d.actuator_force[m.actuator_outadr[k]]
            if m.actuator_biastype[k] == BiasType.DCMOTOR and not actuator_disabled(m, k):
                total -= friction_and_cogging(m, d, k)
    low, high = m.tendon_actfrcrange[t, 0], m.tendon_actfrcrange[t, 1]
    rounding = resolved(ROUNDING, total)
    return is_outside(total, low + rounding * absolute(low), high - rounding * absolute(high))


@kernel
def output_is_limited(m, d, k, force):
    """Whether a force of actuator k is at the limits of the actuator or of its tendon."""
    limited = force != force  # no, in the type that comparing such numbers has
    if m.actuator_forcelimited[k]:
        low, high = m.actuator_forcerange[k, 0], m.actuator_forcerange[k, 1]
        if m.actuator_gaintype[k] == GainType.SO3:
            limited = limited | (force >= high * (1.0 - resolved(ROUNDING, force)))
        else:
            limited = limited | is_outside(force, low, high)
    if m.actuator_trntype[k] == TrnType.TENDON and m.tendon_actfrclimited[m.actuator_trnid[k, 0]]:
        limited = limited | tendon_is_limited(m, d, m.actuator_trnid[k, 0])
    return limited


@kernel
def force_size(m, d, k):
    """What the limits of actuator k are compared with: its force, for three torques their size."""
    row = m.actuator_outadr[k]
    if m.actuator_gaintype[k] == GainType.SO3:
        force = d.actuator_force[row], d.actuator_force[row + 1], d.actuator_force[row + 2]
        return root(dot(force, force))
    return d.actuator_force[row]


@kernel
def motor_response(m, d, k, feedback, emf):
    """Derivative of a motor's torque by its velocity or angle: what the controller's feedback sets against it, and back-EMF.

    feedback: torque that the controller asks for by the error. emf: voltage by velocity, which the controller makes up for.
    """
    _, integral, temperature, _, current = motor_slots(m, k)
    rate, constant = d.actuator_velocity[m.actuator_outadr[k]], m.actuator_gainprm[k, 1]
    ohm = maximum(MIN_VALUE, resistance(m, d, k, temperature))
    voltage = motor_voltage(m, d, k, integral)
    answer = zero(rate)  # change of the controller's voltage
    if m.actuator_ctrlspec[k] & CONTROLLED:
        most = m.actuator_gainprm[k, 7]
        driven = voltage - servo_inputs(m, d, k)[3]
        spent = (most > 0.0) & (absolute(driven) >= most * (1.0 - resolved(ROUNDING, driven)))
        cold = maximum(MIN_VALUE, m.actuator_gainprm[k, 0])
        answer = where(spent, zero(rate), emf - feedback * cold / constant)
    slope = constant * (answer - emf) / ohm
    torque = constant / ohm * (voltage - constant * rate)
    if current >= 0:
        torque = constant * activation(m, d, k, current)
        if m.actuator_actearly[k]:
            most, time = m.actuator_dynprm[k, 1], m.actuator_dynprm[k, 0]
            held = (most > 0.0) & (absolute(d.act_dot[current]) >= most)
            slope = where(held, 0.0, slope * (1.0 - exp(-m.opt_timestep / time)))
        else:
            slope = zero(slope)
    return where(output_is_limited(m, d, k, torque), 0.0, slope)


@kernel
def motor_slope(m, d, k):
    """Derivative of a motor's torque by its velocity: back-EMF and what the controller sets against it, and friction."""
    slope = motor_response(m, d, k, m.actuator_gainprm[k, 6], m.actuator_gainprm[k, 1])
    return slope - maximum(0.0, m.actuator_dynprm[k, 6])


@kernel
def within_limits(m, d, k, slope):
    """The slope of an actuator's force, or zero where a limit of its own, its tendon or its joint holds it.

    What limits bound of a motor is its current: that is seen to where its response is known.
    """
    if m.actuator_biastype[k] != BiasType.DCMOTOR:
        slope = where(output_is_limited(m, d, k, force_size(m, d, k)), 0.0, slope)
    kind, j = m.actuator_trntype[k], m.actuator_trnid[k, 0]
    if (kind == TrnType.JOINT or kind == TrnType.JOINTINPARENT) and m.jnt_actfrclimited[j]:
        low, high = m.jnt_actfrcrange[j, 0], m.jnt_actfrcrange[j, 1]
        slope = where(is_outside(d.qfrc_actuator[m.jnt_dofadr[j]], low, high), 0.0, slope)
    return slope


@kernel
def actuator_slope(m, d, k):
    """Derivative of the force of actuator k by its velocity."""
    gain, bias, row = m.actuator_gaintype[k], m.actuator_biastype[k], m.actuator_outadr[k]
    slope = zero(d.actuator_velocity[row])
    if bias == BiasType.AFFINE or bias == BiasType.SO3:
        slope += m.actuator_biasprm[k, 2]
    if gain == GainType.AFFINE:
        slope += m.actuator_gainprm[k, 2] * input_of(m, d, k, row)
    elif gain == GainType.MUSCLE:
        slope += muscle_gain_slope(m, d, k, row) * input_of(m, d, k, row)
    elif gain == GainType.DCMOTOR:
        slope += motor_slope(m, d, k)
    return within_limits(m, d, k, slope)


@kernel
def refresh_controls(m, d):
    """Controls as they act now, as the last actuation would have left them had it seen these controls: ctrl_used."""
    read_controls(m, d)
    for k in range(m.nactuator):
        if m.actuator_gaintype[k] == GainType.DCMOTOR:
            slot, at = motor_slots(m, k)[0], m.actuator_ctrladr[k]
            if slot >= 0:
                reach = m.actuator_dynprm[k, 7] * m.opt_timestep
                d.ctrl_used[at] = clip_between(d.ctrl_used[at], d.act[slot] - reach, d.act[slot] + reach)


@kernel
def add_actuator_derivative(m, d, matrix):
    """Add d qfrc_actuator / d qvel."""
    if m.opt_disableflags & DisableBit.ACTUATION:
        return
    for k in range(m.nactuator):
        if has_velocity_feedback(m, k) and not actuator_disabled(m, k) and not actuator_sleeps(m, d, k):
            slope = actuator_slope(m, d, k)
            for row in range(m.actuator_outadr[k], m.actuator_outadr[k] + m.actuator_outnum[k]):
                first = d.moment_rowadr[row]
                end = first + d.moment_rownnz[row]
                add_outer_product(m, matrix, d.actuator_moment, d.moment_colind, first, end, slope)
