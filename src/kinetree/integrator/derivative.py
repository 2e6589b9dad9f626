"""Derivative of smooth forces by joint velocities.

MuJoCo: mjd_smooth_vel, mjd_passive_vel. Entries exist where one dof moves the other (see math/sparse_lu); a tendon or
actuator that couples other dofs keeps its part inside of this pattern. What tendon armature adds to qfrc_bias is left out,
as in MuJoCo. Writes: qDeriv = d (qfrc_passive + qfrc_actuator - qfrc_bias) / d qvel.
"""

from ..dynamics.damping import damping_derivative, resistance_slope, tendon_damping
from ..kernel import kernel, stage
from ..kernel.ops import needs
from ..math.sparse_lu import add_outer_product, diagonal
from ..types import DisableBit, Integrator
from .derivative_actuator import add_actuator_derivative
from .derivative_fluid import add_fluid_derivative
from .derivative_rne import add_bias_derivative, composite_rates

IMPLICITFAST = int(Integrator.IMPLICITFAST)
NO_SPRING, NO_DAMPER = int(DisableBit.SPRING), int(DisableBit.DAMPER)


@kernel
def add_damper_derivative(m, d, matrix):
    """Add d qfrc_damper / d qvel, of joints and tendons."""
    for i in range(m.nv):
        matrix[diagonal(m, i)] -= damping_derivative(m, d, i)
    for t in range(m.ntendon):
        slope = resistance_slope(tendon_damping(m, t), d.ten_velocity[t])
        first = m.ten_J_rowadr[t]
        add_outer_product(m, matrix, d.ten_J, m.ten_J_colind, first, first + m.ten_J_rownnz[t], -slope)


@kernel
def add_passive_derivative(m, d, matrix):
    """Add d qfrc_passive / d qvel. MuJoCo's mjd_passive_vel."""
    disabled = m.opt_disableflags
    if disabled & NO_SPRING != 0 and disabled & NO_DAMPER != 0:
        return
    if needs((m.opt_density > 0.0) | (m.opt_viscosity > 0.0)):
        add_fluid_derivative(m, d, matrix)
    if disabled & NO_DAMPER == 0:
        add_damper_derivative(m, d, matrix)


@stage
def smooth_derivative(m, d):
    """Derivative of smooth forces by qvel: qDeriv; for implicitfast without bias forces. MuJoCo's mjd_smooth_vel."""
    for at in range(m.nD):
        d.qDeriv[at] = 0.0
    add_actuator_derivative(m, d, d.qDeriv)
    add_passive_derivative(m, d, d.qDeriv)
    if m.opt_integrator != IMPLICITFAST:
        composite_rates(m, d, 1, m.nbody)
        add_bias_derivative(m, d, d.qDeriv, -1.0, 0, m.nv)
