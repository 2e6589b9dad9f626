"""Semi-implicit Euler, with joint damping taken implicitly.

MuJoCo: mj_Euler. Reads: qacc, M, qvel, qfrc_smooth, qfrc_constraint. Writes: step_acc; qH, qHDiagInv (scratch).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dynamics.damping import damping_derivative
from ..dynamics.factor import factor_part, solve_part, warn_of_pivots
from ..dynamics.sleep_state import DOFS, DOFS_END
from ..kernel import kernel, stage
from ..kernel.ops import absolute, maximum, needs
from ..needs import both, integrator
from ..types import DisableBit, Integrator
from .implicit_inertia import place, start_with_inertia

if TYPE_CHECKING:
    from ..model import Model

EXPLICIT = DisableBit.EULERDAMP | DisableBit.DAMPER


def is_damped(model: Model) -> bool:
    """Some degree of freedom is damped, by itself or by an actuator, and its damping is not to be explicit."""
    damped = (model.dof_damping > 0.0).any() or model.dof_dampingpoly.any() or (model.jnt_actuatorid != -1).any()
    return bool(damped and not model.opt.disableflags & EXPLICIT)


@kernel
def any_damping(m, d):
    """Whether some degree of freedom that is awake is damped, by itself or by an actuator; not if all of it is negative."""
    for run in range(d.nawake_run[0]):
        for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
            if m.jnt_actuatorid[m.dof_jntid[i]] != -1:
                return True
            higher = absolute(m.dof_dampingpoly[i, 0]) + absolute(m.dof_dampingpoly[i, 1])
            if needs(maximum(m.dof_damping[i], 0.0) + higher > 0.0):
                return True
    return False


@stage(when=both(integrator(Integrator.EULER), is_damped), part_of="euler")
def factor_damped(m, d):
    """Factor M + h B, where B is the slope of the damping force: qH, qHDiagInv. Part of MuJoCo's mj_Euler."""
    for run in range(d.nawake_run[0]):
        first, end = d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]
        start_with_inertia(m, d, d.qH, first, end)
        for i in range(first, end):
            d.qH[place(m, i)] += m.opt_timestep * damping_derivative(m, d, i)
        factor_part(m, d.qH, d.qHDiagInv, first, end)
        warn_of_pivots(m, d, d.qH, d.qHDiagInv, first, end)


@kernel
def solve_damped(m, d):
    """Accelerations from (M + h B) qacc = force."""
    for run in range(d.nawake_run[0]):
        first, end = d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]
        for i in range(first, end):
            d.step_acc[i] = d.qfrc_smooth[i] + d.qfrc_constraint[i]
        solve_part(m, d.qH, d.qHDiagInv, d.step_acc, first, end)


@kernel
def euler_acceleration(m, d):
    """The acceleration of a semi-implicit Euler step: step_acc."""
    if m.opt_disableflags & EXPLICIT == 0 and any_damping(m, d):
        factor_damped(m, d)
        solve_damped(m, d)
    else:
        for run in range(d.nawake_run[0]):
            for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
                d.step_acc[i] = d.qacc[i]
