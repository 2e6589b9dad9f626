"""Servos: setpoints on circles and on rotations, rate limits, PID and orientation control.

MuJoCo: wrapPeriod, wrapSetpoint, slewLimit, the pid and SO3 cases of mj_fwdActuation, with the states of a pid as slots of
`act` in the order rate-limited setpoint, integral of the position error.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, any_, floor, maximum, minimum, where, zero
from ..math.quaternion import mul_quat, normalize4
from ..math.vec3 import root
from ..types import BiasType, CtrlChart, CtrlInput, DynType, GainType, JointType, TrnType
from .configuration import PI, conjugate, quat_exp, quat_log


@kernel
def clip_between(x, low, high):
    """x taken into [low, high]; NaN stays."""
    return minimum(high, maximum(low, x))


@kernel
def nearest_whole(x):
    """The nearest whole number; ties go away from zero, as in mju_round."""
    size = floor(absolute(x) + 0.5)
    return where(x < 0.0, -size, size)


@kernel
def shortest_rotation(v):
    """The shortest rotation vector [rad] to the orientation of a given one: of the same axis, by half a turn at most."""
    angle = root(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    turns = nearest_whole(angle / (2.0 * PI))
    share = 1.0 - 2.0 * PI * turns / where(turns > 0.0, angle, 1.0)
    return v[0] * share, v[1] * share, v[2] * share


@kernel
def is_position_servo(m, k):
    """Whether the types are those of a servo; its gains must still match."""
    gain, dyn = m.actuator_gaintype[k], m.actuator_dyntype[k]
    plain = (
        gain == GainType.FIXED
        and m.actuator_biastype[k] == BiasType.AFFINE
        and (dyn == DynType.NONE or dyn == DynType.INTEGRATOR)
    )
    return plain or gain == GainType.PID


@kernel
def gear_length(m, row, first):
    """Length of one half of the gear."""
    x, y, z = m.actuator_gear[row, first], m.actuator_gear[row, first + 1], m.actuator_gear[row, first + 2]
    return root(x * x + y * y + z * z)


@kernel
def wrap_period(m, k):
    """Period of the setpoint of a servo whose length is an angle of a 3D rotation, 0 for any other actuator."""
    if not is_position_servo(m, k):
        return 0.0
    row, kind, period = m.actuator_outadr[k], m.actuator_trntype[k], 0.0
    if kind == TrnType.SITE and m.actuator_trnid[k, 1] >= 0:
        period = where(gear_length(m, row, 0) == 0.0, 2.0 * PI * gear_length(m, row, 3), 0.0)
    elif (kind == TrnType.JOINT or kind == TrnType.JOINTINPARENT) and m.jnt_type[
        m.actuator_trnid[k, 0]
    ] == JointType.BALL:
        period = 2.0 * PI * gear_length(m, row, 0)
    if m.actuator_gaintype[k] == GainType.PID:
        return period
    return where(m.actuator_gainprm[k, 0] == -m.actuator_biasprm[k, 1], period, 0.0)


@kernel
def wrapped(setpoint, near, period):
    """The setpoint less whole periods, as close as possible to a value; unchanged without a period."""
    turns = nearest_whole((setpoint - near) / where(period > 0.0, period, 1.0))
    return setpoint - where(period > 0.0, period * turns, 0.0)


@kernel
def servo_inputs(m, d, k):
    """Position, velocity, feedforward and voltage that the controls give; 0 for those the actuator does not take."""
    spec, at = m.actuator_ctrlspec[k], m.actuator_ctrladr[k]
    position = velocity = feedforward = voltage = 0.0
    if spec & CtrlInput.POS:
        position = d.ctrl_used[at]
        at += 1
    if spec & CtrlInput.VEL:
        velocity = d.ctrl_used[at]
        at += 1
    if spec & CtrlInput.FF:
        feedforward = d.ctrl_used[at]
        at += 1
    if spec & CtrlInput.VOLTAGE:
        voltage = d.ctrl_used[at]
    return position, velocity, feedforward, voltage


@kernel
def limit_rate(m, d, k, slot, most, period):
    """Let the setpoint follow its control no faster than `most` per second; the setpoint in force is a state."""
    at = m.actuator_ctrladr[k]
    before = d.act[slot]
    reach = most * m.opt_timestep
    setpoint = clip_between(wrapped(d.ctrl_used[at], before, period), before - reach, before + reach)
    d.act_dot[slot] = (setpoint - before) / m.opt_timestep
    d.ctrl_used[at] = setpoint


@kernel
def error_rate(error, integral, most):
    """What an integral of the error grows by: nothing further beyond its bound, if it has one (`most` > 0)."""
    held = where(integral >= most, minimum(error, 0.0), where(integral <= -most, maximum(error, 0.0), error))
    return where(most > 0.0, held, error)


@kernel
def pid_slots(m, k):
    """Places in act of the rate-limited setpoint and of the integral, -1 for none. The parameters must fit actnum."""
    limited, integral = any_(m.actuator_dynprm[k, 1] > 0.0), any_(m.actuator_gainprm[k, 0] > 0.0)
    first = m.actuator_actadr[k]
    if m.actuator_actnum[k] != (1 if limited else 0) + (1 if integral else 0):
        return -1, -1
    return (first if limited else -1), (first + (1 if limited else 0) if integral else -1)


@kernel
def pid_dynamics(m, d, k):
    """Rates of both states; the first control becomes the rate-limited setpoint."""
    row, period = m.actuator_outadr[k], wrap_period(m, k)
    setpoint, integral = pid_slots(m, k)
    if setpoint >= 0:
        limit_rate(m, d, k, setpoint, m.actuator_dynprm[k, 1], period)
    if integral >= 0:
        error = wrapped(d.ctrl_used[m.actuator_ctrladr[k]] - d.actuator_length[row], 0.0, period)
        d.act_dot[integral] = error_rate(error, d.act[integral], m.actuator_dynprm[k, 0])


@kernel
def pid_input(m, d, k):
    """Force of the setpoints: kp and kv stand in the affine bias, which adds the force of length and velocity."""
    position, velocity, feedforward, _ = servo_inputs(m, d, k)
    position = wrapped(position, d.actuator_length[m.actuator_outadr[k]], wrap_period(m, k))
    return feedforward - m.actuator_biasprm[k, 1] * position - m.actuator_biasprm[k, 2] * velocity


@kernel
def orientation_forces(m, d, k, target):
    """Three torques towards a unit quaternion along the shortest way, less damping."""
    row = m.actuator_outadr[k]
    now = quat_exp((d.actuator_length[row], d.actuator_length[row + 1], d.actuator_length[row + 2]), 1.0)
    error = quat_log(mul_quat(conjugate(now), target))
    kp, constant, kv = m.actuator_gainprm[k, 0], m.actuator_biasprm[k, 0], m.actuator_biasprm[k, 2]
    for i in range(3):
        d.actuator_force[row + i] = kp * error[i] + constant + kv * d.actuator_velocity[row + i]


@kernel
def orientation_control(m, d, k):
    """The orientation that the controls give, as a unit quaternion."""
    at = m.actuator_ctrladr[k]
    if m.actuator_ctrlspec[k] == CtrlChart.QUAT:
        return normalize4((d.ctrl_used[at], d.ctrl_used[at + 1], d.ctrl_used[at + 2], d.ctrl_used[at + 3]))
    return quat_exp((d.ctrl_used[at], d.ctrl_used[at + 1], d.ctrl_used[at + 2]), 1.0)


@kernel
def bound_torque(d, row, most):
    """Shorten the three torques of an orientation servo to at most `most`, keeping their direction."""
    x, y, z = d.actuator_force[row], d.actuator_force[row + 1], d.actuator_force[row + 2]
    size = root(x * x + y * y + z * z)
    share = where(size > most, most / where(size > most, size, 1.0), zero(size) + 1.0)
    for i in range(3):
        d.actuator_force[row + i] *= share
