"""Fourth-order Runge-Kutta, also for the orientations of ball and free joints.

MuJoCo: mj_RungeKutta. Reference: H. Munthe-Kaas, Runge-Kutta methods on Lie groups, 1998: stage velocities of quaternions are
pulled back to the start of the step before they are combined.
The pipeline calls `rk4_start`, then three times `rk4_move`, the forward pass and `rk4_record`, then `rk4_combine` and
`rk4_finish`.
Reads: qpos, qvel, act, time, qacc, act_dot. Writes: the next state. Scratch: rk_*, step_acc.
"""

from ..dynamics.activation import advance_activations, advance_history
from ..dynamics.servo import shortest_rotation
from ..dynamics.sleep_state import dof_sleeps, some_sleep_apart
from ..dynamics.spring import advance_plastic
from ..kernel import kernel
from ..kernel.ops import cos, sin, sqrt, where
from ..math.vec3 import cross, dot
from ..types import JointType
from .advance import advance_position, advance_sensors, advance_velocity, finish_step


@kernel
def pulled_back(u, w):
    """Rate of the rotation vector u while the body turns at w [rad/s], both in its own axes: w + u x w / 2 + c u x (u x w)."""
    square = dot(u, u)
    small = square < 1e-2
    half = 0.5 * sqrt(where(small, 1.0, square))
    c = where(
        small,
        1.0 / 12.0 + square * (1.0 / 720.0 + square * (1.0 / 30240.0 + square / 1209600.0)),
        (1.0 - half * cos(half) / sin(half)) / where(small, 1.0, square),
    )
    a = cross(u, w)
    b = cross(u, a)
    return w[0] + 0.5 * a[0] + c * b[0], w[1] + 0.5 * a[1] + c * b[1], w[2] + 0.5 * a[2] + c * b[2]


@kernel
def pull_back_rotation(d, k, v, reach):
    """Correct the stage velocity of three rotational dofs; the stage was reached along the one before it.

    As in MuJoCo by the shortest way to the same orientation: there `pulled_back` stays away from its pole at a whole turn.
    """
    before = d.rk_vel[k - 1, v] * reach, d.rk_vel[k - 1, v + 1] * reach, d.rk_vel[k - 1, v + 2] * reach
    rate = pulled_back(shortest_rotation(before), (d.qvel[v], d.qvel[v + 1], d.qvel[v + 2]))
    d.rk_vel[k, v] = rate[0]
    d.rk_vel[k, v + 1] = rate[1]
    d.rk_vel[k, v + 2] = rate[2]


@kernel
def rk4_record(m, d, k, share):
    """Keep the slopes of stage k, which lies `share` of the time step after the start."""
    for i in range(m.nv):
        d.rk_vel[k, i] = d.qvel[i]
        d.rk_acc[k, i] = d.qacc[i]
    if some_sleep_apart(m, d):
        for i in range(m.nv):
            d.rk_acc[k, i] = where(d.tree_awake[m.dof_treeid[i]] == 0, 0.0, d.rk_acc[k, i])
    for i in range(m.na):
        d.rk_act_dot[k, i] = d.act_dot[i]
    if k > 0:
        for j in range(m.njnt):
            kind = m.jnt_type[j]
            if kind == JointType.FREE or kind == JointType.BALL:
                v = m.jnt_dofadr[j] + (3 if kind == JointType.FREE else 0)
                pull_back_rotation(d, k, v, share * m.opt_timestep)


@kernel
def rk4_start(m, d):
    """Keep the state at the start of the step and the slopes there; delayed sensors read this moment, not a later stage."""
    advance_sensors(m, d)
    for i in range(m.nq):
        d.rk_qpos[i] = d.qpos[i]
    for i in range(m.nv):
        d.rk_qvel[i] = d.qvel[i]
    for i in range(m.na):
        d.rk_act[i] = d.act[i]
    d.rk_time[0] = d.time[0]
    for t in range(m.ntendon):
        d.rk_ten_length[t] = d.ten_length[t]
    for i in range(m.nJten):
        d.rk_ten_J[i] = d.ten_J[i]
    for row in range(m.nout):
        d.rk_actuator_length[row] = d.actuator_length[row]
        d.rk_actuator_velocity[row] = d.actuator_velocity[row]
    rk4_record(m, d, 0, 0.0)


@kernel
def rk4_return(m, d):
    """Back to the start of the step."""
    for i in range(m.nq):
        d.qpos[i] = d.rk_qpos[i]
    for i in range(m.nv):
        d.qvel[i] = 0.0 if dof_sleeps(m, d, i) else d.rk_qvel[i]
    for i in range(m.na):
        d.act[i] = d.rk_act[i]
    d.time[0] = d.rk_time[0]


@kernel
def rk4_move(m, d, k, share):
    """To stage k: from the start along the slopes of the stage before, for a share of the time step."""
    rk4_return(m, d)
    h = share * m.opt_timestep
    for i in range(m.nv):
        d.rk_step[i] = d.rk_vel[k - 1, i]
        if not dof_sleeps(m, d, i):
            d.qvel[i] += h * d.rk_acc[k - 1, i]
    for i in range(m.na):
        d.act[i] += h * d.rk_act_dot[k - 1, i]
    advance_position(m, d, d.rk_step, h)
    d.time[0] += h


@kernel
def weighted(field, i):
    """The four slopes of an entry combined."""
    return (field[0, i] + 2.0 * (field[1, i] + field[2, i]) + field[3, i]) / 6.0


@kernel
def restore_tendons(m, d):
    """Tendons as at the start of the step, from which their springs yield."""
    for t in range(m.ntendon):
        d.ten_length[t] = d.rk_ten_length[t]
    for i in range(m.nJten):
        d.ten_J[i] = d.rk_ten_J[i]


@kernel
def swap_actuators(m, d):
    """States of motors and servos move with the actuator as at the start; afterwards its fields are the last stage's again."""
    for row in range(m.nout):
        d.actuator_length[row], d.rk_actuator_length[row] = d.rk_actuator_length[row], d.actuator_length[row]
        d.actuator_velocity[row], d.rk_actuator_velocity[row] = d.rk_actuator_velocity[row], d.actuator_velocity[row]


@kernel
def rk4_undo(m, d):
    """Back to the start of the step with all that `rk4_start` reads: the step will be made again."""
    rk4_return(m, d)
    restore_tendons(m, d)
    swap_actuators(m, d)
    for i in range(m.nv):
        d.qacc[i] = d.rk_acc[0, i]
    for i in range(m.na):
        d.act_dot[i] = d.rk_act_dot[0, i]


@kernel
def rk4_combine(m, d):
    """Back to the start with the slopes combined; histories and activations move on."""
    rk4_return(m, d)
    for i in range(m.nv):
        d.rk_step[i] = weighted(d.rk_vel, i)
        d.step_acc[i] = weighted(d.rk_acc, i)
    for i in range(m.na):
        d.step_act_dot[i] = weighted(d.rk_act_dot, i)
    advance_history(m, d)
    swap_actuators(m, d)
    advance_activations(m, d, d.step_act_dot)
    swap_actuators(m, d)


@kernel
def rk4_finish(m, d):
    """From the start along the combined slopes."""
    advance_velocity(m, d, d.step_acc)
    advance_position(m, d, d.rk_step, m.opt_timestep)
    if m.nplastic > 0:
        restore_tendons(m, d)
        advance_plastic(m, d, d.rk_step)
    finish_step(m, d)
    for i in range(m.nv):
        d.qacc[i] = d.step_acc[i]
