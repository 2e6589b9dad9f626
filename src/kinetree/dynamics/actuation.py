"""Actuator forces from controls and activations.

MuJoCo: mj_fwdActuation, in two stages so that Python callbacks may run between them: after `actuator_dynamics` they write
act_dot, user_gain and user_bias of actuators of user type, which `actuator_forces` reads.
Those of plugins are in `pid.py`.
Reads: ctrl, act, history, time, actuator_length, actuator_velocity, actuator_moment, qfrc_gravcomp.
Writes: act_dot, actuator_force, qfrc_actuator, and the scratch fields ctrl_used, user_gain, user_bias.
"""

from ..kernel import kernel, stage
from ..kernel.ops import absolute, happens, maximum, needs, not_, where, zero
from ..math.constants import MAX_VALUE, MIN_VALUE
from ..types import BiasType, DisableBit, DynType, GainType, JointType, TrnType, WarningType
from .activation import actuator_disabled, next_activation
from .configuration import quat_exp
from .dcmotor import friction_and_cogging, motor_dynamics, motor_gain, motor_slots, motor_voltage
from .history import read
from .muscle import muscle_bias, muscle_dynamics, muscle_gain
from .pid import pid_force, pid_rates
from .servo import (
    bound_torque,
    clip_between,
    orientation_control,
    orientation_forces,
    pid_dynamics,
    pid_input,
    pid_slots,
    wrap_period,
    wrapped,
)
from .sleep_state import actuator_sleeps
from .warning import warn


@kernel
def no_actuation(m):
    """Whether there is nothing to do."""
    return m.nactuator == 0 or m.opt_disableflags & DisableBit.ACTUATION != 0


@kernel
def read_controls(m, d):
    """Controls as they act now: from the past where an actuator has a delay, within their ranges."""
    for i in range(m.nu):
        d.ctrl_used[i] = d.ctrl[i]
    if m.nhistory > 0:
        for k in range(m.nactuator):
            n, delay = m.actuator_history[k, 0], m.actuator_delay[k]
            if n > 0 and needs(delay != 0.0):
                a, u, size = m.actuator_historyadr[k], m.actuator_ctrladr[k], m.actuator_ctrlnum[k]
                for i in range(size):
                    past = read(d.history, a, n, size, i, d.time[0] - delay, m.actuator_history[k, 1])
                    d.ctrl_used[u + i] = where(delay != 0.0, past, d.ctrl[u + i])
    if m.opt_disableflags & DisableBit.CLAMPCTRL == 0:
        for i in range(m.nu):
            if m.actuator_ctrllimited[i]:
                d.ctrl_used[i] = clip_between(d.ctrl_used[i], m.actuator_ctrlrange[i, 0], m.actuator_ctrlrange[i, 1])


@kernel
def drop_bad_controls(m, d):
    """One bad control (NaN, infinite or huge) makes all of them zero, with a warning that names the first."""
    for i in range(m.nu):
        bad = not_(absolute(d.ctrl_used[i]) <= MAX_VALUE)
        if happens(bad):
            for j in range(m.nu):
                d.ctrl_used[j] = where(bad, 0.0, d.ctrl_used[j])
            warn(d, WarningType.BADCTRL, bad, i)


@kernel
def set_rates(m, d, k):
    """act_dot of actuator k by the type of its dynamics; zero for user types, until a callback says otherwise."""
    kind, first, n = m.actuator_dyntype[k], m.actuator_actadr[k], m.actuator_actnum[k]
    u, last = m.actuator_ctrladr[k], first + n - 1
    for i in range(first, first + n):
        d.act_dot[i] = 0.0
    if kind == DynType.INTEGRATOR:
        num = m.actuator_ctrlnum[k]
        for i in range(num):
            d.act_dot[last - num + 1 + i] = d.ctrl_used[u + i]
    elif kind == DynType.FILTER or kind == DynType.FILTEREXACT:
        d.act_dot[last] = (d.ctrl_used[u] - d.act[last]) / maximum(MIN_VALUE, m.actuator_dynprm[k, 0])
    elif kind == DynType.MUSCLE:
        d.act_dot[last] = muscle_dynamics(m, k, d.ctrl_used[u], d.act[last])
    elif kind == DynType.PID:
        pid_dynamics(m, d, k)
    elif kind == DynType.DCMOTOR:
        motor_dynamics(m, d, k)


@stage
def actuator_dynamics(m, d):
    """Rates of the activations: act_dot. The first half of MuJoCo's mj_fwdActuation."""
    if no_actuation(m):
        return
    read_controls(m, d)
    drop_bad_controls(m, d)
    for k in range(m.nactuator):
        if m.actuator_actadr[k] >= 0 and not actuator_sleeps(m, d, k):
            set_rates(m, d, k)
        if m.actuator_plugin[k] >= 0:
            pid_rates(m, d, k)
        if m.actuator_gaintype[k] == GainType.USER:
            d.user_gain[k] = 1.0
        if m.actuator_biastype[k] == BiasType.USER:
            d.user_bias[k] = 0.0


@kernel
def activation(m, d, k, slot):
    """A state of actuator k as its force sees it: now, or at the end of the step where `actearly` says so."""
    if m.actuator_actearly[k]:
        return next_activation(m, d, k, slot, d.act_dot[slot])
    return d.act[slot]


@kernel
def gain(m, d, k, row):
    """Force per unit of control or activation; of a pid: per unit of its integral."""
    kind = m.actuator_gaintype[k]
    value = m.actuator_gainprm[k, 0]
    if kind == GainType.AFFINE:
        value += m.actuator_gainprm[k, 1] * d.actuator_length[row] + m.actuator_gainprm[k, 2] * d.actuator_velocity[row]
    elif kind == GainType.MUSCLE:
        value = muscle_gain(m, d, k, row)
    elif kind == GainType.DCMOTOR:
        value = motor_gain(m, d, k)
    elif kind == GainType.USER:
        value = d.user_gain[k]
    return value


@kernel
def state_slot(m, k):
    """Place in act of the state that the gain multiplies, -1 for none: a motor's current, a pid's integral, or the last."""
    kind = m.actuator_gaintype[k]
    if kind == GainType.DCMOTOR:
        return motor_slots(m, k)[4]
    if kind == GainType.PID:
        return pid_slots(m, k)[1]
    return m.actuator_actadr[k] + m.actuator_actnum[k] - 1 if m.actuator_actnum[k] > 0 else -1


@kernel
def input_of(m, d, k, row):
    """What the gain multiplies: a state or the control, for a motor without a state of its current the voltage."""
    kind, slot, value = m.actuator_gaintype[k], state_slot(m, k), 0.0
    if slot >= 0:
        value = activation(m, d, k, slot)
    elif kind == GainType.DCMOTOR:
        value = motor_voltage(m, d, k, motor_slots(m, k)[1])
    elif kind != GainType.PID and m.actuator_ctrlnum[k] > 0:
        value = d.ctrl_used[m.actuator_ctrladr[k]]
    if kind == GainType.FIXED:
        value = wrapped(value, d.actuator_length[row], wrap_period(m, k))
    return value


@kernel
def bias(m, d, k, row, gain_now):
    """Force without control."""
    kind = m.actuator_biastype[k]
    value = 0.0
    if kind == BiasType.AFFINE:
        value = m.actuator_biasprm[k, 0]
        value += m.actuator_biasprm[k, 1] * d.actuator_length[row] + m.actuator_biasprm[k, 2] * d.actuator_velocity[row]
    elif kind == BiasType.MUSCLE:
        value = muscle_bias(m, d, k, row)
    elif kind == BiasType.DCMOTOR:
        if motor_slots(m, k)[4] < 0:  # back-EMF; with a current state it is in the rate of that
            value = -gain_now * m.actuator_gainprm[k, 1] * d.actuator_velocity[row]
    elif kind == BiasType.USER:
        value = d.user_bias[k]
    return value


@kernel
def set_force(m, d, k):
    """Force of actuator k before any limit."""
    row, kind = m.actuator_outadr[k], m.actuator_gaintype[k]
    if kind == GainType.SO3:
        if m.actuator_dyntype[k] == DynType.NONE:
            orientation_forces(m, d, k, orientation_control(m, d, k))
        else:
            a = m.actuator_actadr[k]
            vector = activation(m, d, k, a), activation(m, d, k, a + 1), activation(m, d, k, a + 2)
            orientation_forces(m, d, k, quat_exp(vector, 1.0))
    else:
        gain_now = gain(m, d, k, row)
        force = gain_now * input_of(m, d, k, row) + bias(m, d, k, row, gain_now)
        if kind == GainType.PID:
            force += pid_input(m, d, k)
        d.actuator_force[row] = force


@kernel
def limit_tendon_force(m, d, t):
    """Scale all actuators of a tendon alike so that their sum stays in its range."""
    total = zero(d.ten_length[t])
    for k in range(m.nactuator):
        if m.actuator_trntype[k] == TrnType.TENDON and m.actuator_trnid[k, 0] == t:
            total += d.actuator_force[m.actuator_outadr[k]]
    low, high = m.tendon_actfrcrange[t, 0], m.tendon_actfrcrange[t, 1]
    share = clip_between(total, low, high) / where(total == 0.0, 1.0, total)
    share = where(total == 0.0, 1.0, share)
    for k in range(m.nactuator):
        if m.actuator_trntype[k] == TrnType.TENDON and m.actuator_trnid[k, 0] == t:
            d.actuator_force[m.actuator_outadr[k]] *= share


@kernel
def tendons_are_limited(m, d):
    """Whether MuJoCo looks at limits of tendons: with plugins alone it does not."""
    if m.nplugin == 0:
        return True
    for k in range(m.nactuator):
        if m.actuator_trntype[k] == TrnType.TENDON and m.tendon_actfrclimited[m.actuator_trnid[k, 0]]:
            if m.actuator_plugin[k] < 0 and not actuator_disabled(m, k) and not actuator_sleeps(m, d, k):
                return True
    return False


@kernel
def limit_forces(m, d):
    """Keep forces within the ranges of tendons, then of actuators."""
    if tendons_are_limited(m, d):
        for t in range(m.ntendon):
            if m.tendon_actfrclimited[t]:
                limit_tendon_force(m, d, t)
    for k in range(m.nactuator):
        if m.actuator_forcelimited[k]:
            row, low, high = m.actuator_outadr[k], m.actuator_forcerange[k, 0], m.actuator_forcerange[k, 1]
            if m.actuator_gaintype[k] == GainType.SO3:
                bound_torque(d, row, high)
            else:
                for i in range(row, row + m.actuator_outnum[k]):
                    d.actuator_force[i] = clip_between(d.actuator_force[i], low, high)


@kernel
def joint_forces(m, d):
    """qfrc_actuator: moments times forces, gravity compensation by actuators, within the ranges of joints."""
    for i in range(m.nv):
        d.qfrc_actuator[i] = 0.0
    for row in range(m.nout):
        first, force = d.moment_rowadr[row], d.actuator_force[row]
        for i in range(first, first + d.moment_rownnz[row]):
            d.qfrc_actuator[d.moment_colind[i]] += d.actuator_moment[i] * force
    compensate = m.flg_gravcomp != 0 and m.opt_disableflags & DisableBit.GRAVITY == 0
    for j in range(m.njnt):
        v = m.jnt_dofadr[j]
        if compensate and m.jnt_actgravcomp[j]:
            n = 6 if m.jnt_type[j] == JointType.FREE else 3 if m.jnt_type[j] == JointType.BALL else 1
            for i in range(v, v + n):
                d.qfrc_actuator[i] += d.qfrc_gravcomp[i]
        if m.jnt_actfrclimited[j]:
            d.qfrc_actuator[v] = clip_between(d.qfrc_actuator[v], m.jnt_actfrcrange[j, 0], m.jnt_actfrcrange[j, 1])


@stage
def actuator_forces(m, d):
    """Forces of actuators and what they do to the joints. The second half of MuJoCo's mj_fwdActuation."""
    for row in range(m.nout):
        d.actuator_force[row] = 0.0
    if no_actuation(m):
        for i in range(m.nv):
            d.qfrc_actuator[i] = 0.0
        return
    for k in range(m.nactuator):
        if m.actuator_plugin[k] >= 0:
            pid_force(m, d, k)
        elif not actuator_disabled(m, k) and not actuator_sleeps(m, d, k):
            set_force(m, d, k)
    limit_forces(m, d)
    for k in range(m.nactuator):
        if m.actuator_biastype[k] == BiasType.DCMOTOR and not actuator_disabled(m, k) and not actuator_sleeps(m, d, k):
            d.actuator_force[m.actuator_outadr[k]] += friction_and_cogging(m, d, k)
    joint_forces(m, d)
