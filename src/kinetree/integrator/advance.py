"""The step common to all integrators: activations, velocities, positions and time move on.

MuJoCo: mj_advance. Reads: act_dot, qacc and qvel as given. Writes: history, act, qvel, qpos, plastic, time, qacc_warmstart.
"""

from ..dynamics.activation import advance_activations, advance_history
from ..dynamics.configuration import move_position
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
    """qvel += h qacc."""
    for i in range(m.nv):
        d.qvel[i] += m.opt_timestep * qacc[i]


@kernel
def finish_step(m, d):
    """Time moves on, and the acceleration is kept to start the next solve."""
    d.time[0] += m.opt_timestep
    for i in range(m.nv):
        d.qacc_warmstart[i] = d.qacc[i]


@kernel
def advance(m, d, act_dot, qacc):
    """Semi-implicit: positions move with the new velocity."""
    advance_history(m, d)
    advance_sensors(m, d)
    advance_activations(m, d, act_dot)
    advance_velocity(m, d, qacc)
    move_position(m, d.qpos, d.qvel, m.opt_timestep)
    advance_plastic(m, d, d.qvel)
    finish_step(m, d)
