"""Derivative of smooth forces by joint velocities.

MuJoCo: mjd_smooth_vel, mjd_passive_vel. Entries exist where one dof moves the other (see integrator/sparse_lu); a tendon or
actuator that couples other dofs keeps its part inside of this pattern. What tendon armature adds to qfrc_bias is left out,
as in MuJoCo. Writes: qDeriv = d (qfrc_passive + qfrc_actuator - qfrc_bias) / d qvel.
"""

from ..dynamics.damping import damping_derivative, resistance_slope, tendon_damping
from ..dynamics.sleep_state import BODIES, BODIES_END, DOFS, DOFS_END, tendon_sleeps
from ..kernel import kernel, stage
from ..kernel.ops import maximum
from ..types import DisableBit, Integrator
from .derivative_actuator import add_actuator_derivative
from .derivative_fluid import add_fluid_derivative, fluid_slopes, has_medium, symmetric_fluid_slopes
from .derivative_rne import add_bias_derivative, composite_rates
from .sparse_lu import add_outer_product, diagonal


@kernel
def add_damper_derivative(m, d, matrix):
    """Add d qfrc_damper / d qvel, of joints and tendons."""
    for run in range(d.nawake_run[0]):
        for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
            matrix[diagonal(m, i)] -= damping_derivative(m, d, i)
    for t in range(m.ntendon):
        if not tendon_sleeps(m, d, t):
            slope = resistance_slope(tendon_damping(m, t), d.ten_velocity[t])
            first = m.ten_J_rowadr[t]
            add_outer_product(m, matrix, d.ten_J, m.ten_J_colind, first, first + m.ten_J_rownnz[t], -slope)


@kernel
def add_passive_derivative(m, d, matrix, symmetric):
    """Add d qfrc_passive / d qvel, if asked its symmetric part whatever the integrator. MuJoCo's mjd_passive_vel."""
    if has_medium(m):
        if symmetric:
            symmetric_fluid_slopes(m, d)
        else:
            fluid_slopes(m, d)
        for run in range(d.nawake_run[0]):
            add_fluid_derivative(m, d, matrix, run)
    if m.opt_disableflags & DisableBit.DAMPER == 0:
        add_damper_derivative(m, d, matrix)


@kernel
def set_damping(m, d):
    """The part of qDeriv that `implicitfast` has, whatever the integrator, and symmetric for all bodies."""
    for at in range(m.nD):
        d.qDeriv[at] = 0.0
    add_actuator_derivative(m, d, d.qDeriv)
    add_passive_derivative(m, d, d.qDeriv, True)


@kernel
def set_damping_diagonal(m, d):
    """The same where nothing couples dofs: only the diagonal is written, in time linear in their number."""
    for i in range(m.nv):
        d.qDeriv[diagonal(m, i)] = 0.0
    add_actuator_derivative(m, d, d.qDeriv)
    if m.opt_disableflags & DisableBit.DAMPER == 0:
        add_damper_derivative(m, d, d.qDeriv)


@stage
def smooth_derivative(m, d):
    """Derivative of smooth forces by qvel: qDeriv; for implicitfast without bias forces. MuJoCo's mjd_smooth_vel."""
    for run in range(d.nawake_run[0]):
        for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
            for at in range(m.D_rowadr[i], m.D_rowadr[i] + m.D_rownnz[i]):
                d.qDeriv[at] = 0.0
    add_actuator_derivative(m, d, d.qDeriv)
    add_passive_derivative(m, d, d.qDeriv, False)
    if m.opt_integrator != Integrator.IMPLICITFAST:
        for run in range(d.nawake_run[0] - 1, -1, -1):
            composite_rates(m, d, maximum(d.awake_run[run, BODIES], 1), d.awake_run[run, BODIES_END])
            add_bias_derivative(m, d, d.qDeriv, -1.0, d.awake_run[run, DOFS], d.awake_run[run, DOFS_END])
