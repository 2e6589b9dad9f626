"""DC motors: winding, on-board controller, heating, cogging and friction.

MuJoCo: the dcmotor cases of mj_fwdActuation and mj_nextActivation, mj_dcmotorSlots, mj_lugreStribeck. Reference for the
friction: Canudas de Wit et al. 1995 (LuGre). Parameters:
gainprm: resistance R, motor constant K, temperature coefficient and reference, kp, ki, kd, largest controller voltage;
dynprm: electrical time constant, largest rate of current, thermal resistance and capacity, ambient temperature, bristle
stiffness and damping, largest rate of the setpoint, bound of the integral;
biasprm: cogging amplitude, periods and phase, Coulomb and static friction, Stribeck velocity.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, any_, exp, maximum, sin, where
from ..math.constants import MIN_VALUE
from ..types import CtrlInput
from .servo import clip_between, error_rate, limit_rate, servo_inputs

CONTROLLED = CtrlInput.POS | CtrlInput.VEL | CtrlInput.FF


@kernel
def motor_slots(m, k):
    """Places in act of setpoint, integral, temperature, bristle and current, -1 for what the motor lacks.

    A motor whose parameters no longer fit its number of states is taken to have none.
    """
    first = m.actuator_actadr[k]
    n = 0
    setpoint = integral = temperature = bristle = current = -1
    if any_(m.actuator_dynprm[k, 7] > 0.0):
        setpoint = first + n
        n += 1
    if any_(m.actuator_gainprm[k, 5] > 0.0):
        integral = first + n
        n += 1
    if any_(m.actuator_dynprm[k, 2] > 0.0):
        temperature = first + n
        n += 1
    if any_(m.actuator_dynprm[k, 5] > 0.0):
        bristle = first + n
        n += 1
    if any_(m.actuator_dynprm[k, 0] > 0.0):
        current = first + n
        n += 1
    if n != m.actuator_actnum[k]:
        return -1, -1, -1, -1, -1
    return setpoint, integral, temperature, bristle, current


@kernel
def state(d, slot):
    """A state, or 0 if the motor does not have it."""
    value = 0.0
    if slot >= 0:
        value = d.act[slot]
    return value


@kernel
def resistance(m, d, k, temperature):
    """Resistance of the winding [ohm], which its temperature changes."""
    cold = m.actuator_gainprm[k, 0]
    if temperature < 0:
        return cold
    rise = d.act[temperature] + m.actuator_dynprm[k, 4] - m.actuator_gainprm[k, 3]
    return cold * (1.0 + m.actuator_gainprm[k, 2] * rise)


@kernel
def motor_voltage(m, d, k, integral):
    """Voltage at the terminals [V]: of the controller, which compensates back-EMF up to its supply, and from outside."""
    row = m.actuator_outadr[k]
    position, velocity, feedforward, voltage = servo_inputs(m, d, k)
    if m.actuator_ctrlspec[k] & CONTROLLED:
        rate, constant, most = d.actuator_velocity[row], m.actuator_gainprm[k, 1], m.actuator_gainprm[k, 7]
        torque = (
            m.actuator_gainprm[k, 4] * (position - d.actuator_length[row]) + m.actuator_gainprm[k, 6] * (velocity - rate)
            + m.actuator_gainprm[k, 5] * state(d, integral) + feedforward
        )  # fmt: skip
        driven = m.actuator_gainprm[k, 0] / constant * torque + constant * rate
        voltage += where(most > 0.0, clip_between(driven, -most, most), driven)
    return voltage


@kernel
def bristle_decay(m, d, k):
    """Rate at which the bristles of the friction slip back [1/s], not positive."""
    rate = d.actuator_velocity[m.actuator_outadr[k]]
    sliding, sticking = m.actuator_biasprm[k, 3], m.actuator_biasprm[k, 4]
    ratio = rate / maximum(MIN_VALUE, m.actuator_biasprm[k, 5])
    level = sliding + (sticking - sliding) * exp(-ratio * ratio)
    return -m.actuator_dynprm[k, 5] * absolute(rate) / maximum(MIN_VALUE, level)


@kernel
def motor_dynamics(m, d, k):
    """Rates of all states; the first control becomes the rate-limited setpoint."""
    setpoint, integral, temperature, bristle, current = motor_slots(m, k)
    row = m.actuator_outadr[k]
    rate, constant = d.actuator_velocity[row], m.actuator_gainprm[k, 1]
    if setpoint >= 0:
        limit_rate(m, d, k, setpoint, m.actuator_dynprm[k, 7], 0.0)
    if integral >= 0:
        error = d.ctrl_used[m.actuator_ctrladr[k]] - d.actuator_length[row]
        d.act_dot[integral] = error_rate(error, d.act[integral], m.actuator_dynprm[k, 8])
    ohm = resistance(m, d, k, temperature)
    settled = (motor_voltage(m, d, k, integral) - constant * rate) / ohm
    if temperature >= 0:
        flowing = settled
        if current >= 0:
            flowing = d.act[current]
        lost = d.act[temperature] / m.actuator_dynprm[k, 2]
        d.act_dot[temperature] = (ohm * flowing * flowing - lost) / m.actuator_dynprm[k, 3]
    if bristle >= 0:
        d.act_dot[bristle] = bristle_decay(m, d, k) * d.act[bristle] + rate
    if current >= 0:
        most = m.actuator_dynprm[k, 1]
        growth = (settled - d.act[current]) / m.actuator_dynprm[k, 0]
        d.act_dot[current] = where(most > 0.0, clip_between(growth, -most, most), growth)


@kernel
def next_motor_state(m, d, k, slot, rate):
    """A state at the end of the step: exact for current and bristle at constant velocity, the integral within bounds."""
    _, integral, _, bristle, current = motor_slots(m, k)
    h, now = m.opt_timestep, d.act[slot]
    if slot == current:
        time = maximum(MIN_VALUE, m.actuator_dynprm[k, 0])
        return now + rate * time * (1.0 - exp(-h / time))
    if slot == bristle:
        a = bristle_decay(m, d, k)
        kept = exp(a * h)
        slips = absolute(a) > MIN_VALUE
        span = where(slips, (kept - 1.0) / where(slips, a, 1.0), h)
        return kept * now + span * d.actuator_velocity[m.actuator_outadr[k]]
    if slot == integral:
        most = m.actuator_dynprm[k, 8]
        return where(most > 0.0, clip_between(now + rate * h, -most, most), now + rate * h)
    return now + rate * h


@kernel
def motor_gain(m, d, k):
    """Torque per ampere where the current is a state, else torque per volt."""
    _, _, temperature, _, current = motor_slots(m, k)
    constant = m.actuator_gainprm[k, 1]
    if current >= 0:
        return constant
    return constant / maximum(MIN_VALUE, resistance(m, d, k, temperature))


@kernel
def friction_and_cogging(m, d, k):
    """Torque on the rotor that no current limit bounds: cogging, and friction of the bristles."""
    row, bristle = m.actuator_outadr[k], motor_slots(m, k)[3]
    angle = m.actuator_biasprm[k, 1] * d.actuator_length[row] + m.actuator_biasprm[k, 2]
    force = m.actuator_biasprm[k, 0] * sin(angle)
    if bristle >= 0:
        force -= m.actuator_dynprm[k, 5] * d.act[bristle] + m.actuator_dynprm[k, 6] * d.act_dot[bristle]
    return force
