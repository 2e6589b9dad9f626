"""Actuators of the plugin mujoco.pid: forces and states of PID controllers that follow a control or an activation.

The setpoint is the control or, where the actuator has dynamics, the last of its states, and changes no faster than slewmax.
The states before are the integral of the error and the setpoint of the last step, as far as configured. As in the plugin, the
control has no delay and is kept in its range whatever the flags say; groups that are switched off, and sleep, change nothing.
MuJoCo: ActDot and Compute of plugin/actuator/pid.cc, in the actuators' part of mj_fwdActuation.
Reads: ctrl, act, time, actuator_length, actuator_velocity. Writes: act_dot, actuator_force.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, any_, where
from ..types import DynType
from .activation import next_activation
from .servo import clip_between


@kernel
def own_slots(m, k):
    """Places in act of the integral and of the last setpoint, -1 for none. The configuration must fit actnum."""
    p, first = m.actuator_plugin[k], m.actuator_actadr[k]
    integral, slew = any_(m.pid_ki[p] != 0.0), any_(m.pid_slewmax[p] >= 0.0)
    own = m.actuator_actnum[k] - (0 if m.actuator_dyntype[k] == DynType.NONE else 1)
    if own != (1 if integral else 0) + (1 if slew else 0):
        return -1, -1
    return (first if integral else -1), (first + (1 if integral else 0) if slew else -1)


@kernel
def filtered_slot(m, k):
    """Place in act of the state that dynamics of MuJoCo's own give the setpoint, -1 for none."""
    return -1 if m.actuator_dyntype[k] == DynType.NONE else m.actuator_actadr[k] + m.actuator_actnum[k] - 1


@kernel
def setpoint(m, d, k, early):
    """What the length shall be now; `early`: with the activation of the end of the step. The first step may jump."""
    slot, u = filtered_slot(m, k), m.actuator_ctrladr[k]
    if slot < 0:
        wanted = d.ctrl[u]
        if m.actuator_ctrllimited[u]:
            wanted = clip_between(wanted, m.actuator_ctrlrange[u, 0], m.actuator_ctrlrange[u, 1])
    elif early:
        wanted = next_activation(m, d, k, slot, d.act_dot[slot])
    else:
        wanted = d.act[slot]
    last = own_slots(m, k)[1]
    if last >= 0:
        reach = m.pid_slewmax[m.actuator_plugin[k]] * m.opt_timestep
        held = clip_between(wanted, d.act[last] - reach, d.act[last] + reach)
        wanted = where(d.time[0] > 0.0, held, wanted)
    return wanted


@kernel
def next_integral(m, d, k, slot, error):
    """The integral of the error at the end of the step, where its force is within its bound."""
    p = m.actuator_plugin[k]
    total = d.act[slot] + error * m.opt_timestep
    most = m.pid_imax[p] / absolute(m.pid_ki[p])
    return where(most >= 0.0, clip_between(total, -most, most), total)


@kernel
def pid_rates(m, d, k):
    """Rates of its own states: those by which an Euler step takes them to their next values."""
    integral, last = own_slots(m, k)
    wanted = setpoint(m, d, k, False)
    if integral >= 0:
        after = next_integral(m, d, k, integral, wanted - d.actuator_length[m.actuator_outadr[k]])
        d.act_dot[integral] = (after - d.act[integral]) / m.opt_timestep
    if last >= 0:
        d.act_dot[last] = (wanted - d.act[last]) / m.opt_timestep


@kernel
def pid_force(m, d, k):
    """Force of the error, of its rate and of its integral, which has this step in it."""
    p, row, slot, integral = m.actuator_plugin[k], m.actuator_outadr[k], filtered_slot(m, k), own_slots(m, k)[0]
    error = setpoint(m, d, k, m.actuator_actearly[k]) - d.actuator_length[row]
    rate = -d.actuator_velocity[row]
    if slot >= 0:
        rate += d.act_dot[slot]
    force = m.pid_kp[p] * error + m.pid_kd[p] * rate
    if integral >= 0:
        force += m.pid_ki[p] * next_integral(m, d, k, integral, error)
    d.actuator_force[row] = force
