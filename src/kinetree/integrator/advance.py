"""The step common to all integrators: histories and activations, then velocities, positions and time move on.

MuJoCo: mj_advance. Trees fall asleep in between, which is up to the pipeline: it computes anew what depends on their velocity.
Reads: act_dot, step_acc. Writes: history, act, qvel, qpos, plastic, time, qacc_warmstart.
"""

from ..dynamics.activation import advance_activations, advance_history
from ..dynamics.configuration import move_joint
from ..dynamics.sleep_state import DOFS, DOFS_END, JOINTS, JOINTS_END
from ..dynamics.spring import advance_plastic
from ..kernel import kernel
from ..sensor.delivery import sensor_history


@kernel
def advance_sensors(m, d):
    """Histories of sensors take in what holds now."""
    if m.nhistory > 0:
        sensor_history(m, d)


@kernel
def advance_velocity(m, d, qacc):
    """qvel += h qacc, but for trees that sleep."""
    for run in range(d.nawake_run[0]):
        for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
            d.qvel[i] += m.opt_timestep * qacc[i]


@kernel
def advance_position(m, d, velocity, dt):
    """qpos moves along a velocity, but for trees that sleep."""
    for run in range(d.nawake_run[0]):
        for j in range(d.awake_run[run, JOINTS], d.awake_run[run, JOINTS_END]):
            move_joint(m, j, d.qpos, velocity, dt)


@kernel
def finish_step(m, d):
    """Time moves on, and the acceleration is kept to start the next solve."""
    d.time[0] += m.opt_timestep
    for i in range(m.nv):
        d.qacc_warmstart[i] = d.qacc[i]


@kernel
def advance_inputs(m, d):
    """Histories take in this moment, and activations move on."""
    advance_history(m, d)
    advance_sensors(m, d)
    advance_activations(m, d, d.act_dot)


@kernel
def advance_state(m, d):
    """Semi-implicit: velocities move with step_acc, positions with the new velocities."""
    advance_velocity(m, d, d.step_acc)
    advance_position(m, d, d.qvel, m.opt_timestep)
    advance_plastic(m, d, d.qvel)
    finish_step(m, d)
