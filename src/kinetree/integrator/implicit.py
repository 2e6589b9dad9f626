"""Implicit in velocity: forces are taken at the end of the step, to first order in the change of velocity.

MuJoCo: mj_implicit, mjd_freeMhat, mj_discreteAcc. The acceleration solves (M - h D) a = force with D = qDeriv.
`implicit` has the full D, which is not symmetric, and factors by LU. `implicitfast` leaves out the derivative of bias forces
and factors like M; only for bodies that fly alone, where those forces make fast spins unstable, it solves a full 6 x 6 block.
Reads: M, qfrc_smooth, qfrc_constraint and what `smooth_derivative` reads. Writes: step_acc; qDeriv, qLU or qH and
qHDiagInv (scratch). With implicitfast, the blocks of lone bodies are in qLU.
"""

from ..dynamics.damping import damping_derivative
from ..dynamics.factor import copy_rows, factor_part, multiply, solve_in_place, solve_part, warn_of_pivots
from ..dynamics.sleep_state import DOFS, DOFS_END, JOINTS, JOINTS_END
from ..kernel import kernel, stage
from ..needs import flag
from ..types import EnableBit, Integrator, JointType
from .derivative import smooth_derivative
from .derivative_actuator import refresh_controls
from .derivative_rne import add_bias_derivative, composite_rates, is_lone_body
from .euler import EXPLICIT, any_damping
from .implicit_inertia import start_with_derivative
from .sparse_lu import factor_lu, multiply_rows, solve_lu, warn_of_lu_pivots


@kernel
def set_full_rows(m, d, first, end):
    """M - h D in the square pattern, for dofs first..end - 1: qLU."""
    for i in range(first, end):
        for at in range(m.D_rowadr[i], m.D_rowadr[i] + m.D_rownnz[i]):
            d.qLU[at] = -m.opt_timestep * d.qDeriv[at]
            if m.mapM2D[at] >= 0:
                d.qLU[at] += d.M[m.mapM2D[at]]


@kernel
def set_lone_block(m, d, j):
    """M - h D with the derivative of bias forces, for the six dofs of a body that flies alone: rows of qLU."""
    b, v = m.jnt_bodyid[j], m.jnt_dofadr[j]
    end = b + 1
    while end < m.nbody and m.body_rootid[end] == b:
        end += 1
    set_full_rows(m, d, v, v + 6)
    composite_rates(m, d, b, end)
    add_bias_derivative(m, d, d.qLU, m.opt_timestep, v, v + 6)


@kernel
def set_forces(m, d, first, end):
    """What accelerates: step_acc, to be solved for the acceleration."""
    for i in range(first, end):
        d.step_acc[i] = d.qfrc_smooth[i] + d.qfrc_constraint[i]


@kernel
def solve_symmetric(m, d, run):
    """Accelerations from the symmetric system of a run of bodies; rows of lone bodies are M's, only to be well defined."""
    first, end = d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]
    start_with_derivative(m, d, d.qH, m.opt_timestep, first, end)
    for j in range(d.awake_run[run, JOINTS], d.awake_run[run, JOINTS_END]):
        if m.jnt_type[j] == JointType.FREE and is_lone_body(m, m.jnt_bodyid[j]):
            copy_rows(m, d.M, d.qH, m.jnt_dofadr[j], m.jnt_dofadr[j] + 6)
    factor_part(m, d.qH, d.qHDiagInv, first, end)
    warn_of_pivots(m, d, d.qH, d.qHDiagInv, first, end)
    solve_part(m, d.qH, d.qHDiagInv, d.step_acc, first, end)


@kernel
def solve_lone_bodies(m, d, first, end):
    """Accelerations of bodies that fly alone, over those of the symmetric system, for some joints."""
    for j in range(first, end):
        if m.jnt_type[j] == JointType.FREE and is_lone_body(m, m.jnt_bodyid[j]):
            v = m.jnt_dofadr[j]
            set_lone_block(m, d, j)
            set_forces(m, d, v, v + 6)
            factor_lu(m, d.qLU, v, v + 6)
            solve_lu(m, d.qLU, d.step_acc, v, v + 6)


@kernel
def implicit_acceleration(m, d):
    """The acceleration of a step of the full implicit integrator: step_acc."""
    smooth_derivative(m, d)
    for run in range(d.nawake_run[0]):
        first, end = d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]
        set_full_rows(m, d, first, end)
        set_forces(m, d, first, end)
        factor_lu(m, d.qLU, first, end)
        warn_of_lu_pivots(m, d, d.qLU, first, end)
        solve_lu(m, d.qLU, d.step_acc, first, end)


@kernel
def implicitfast_acceleration(m, d):
    """The acceleration of a step of the fast implicit integrator: step_acc."""
    smooth_derivative(m, d)
    for run in range(d.nawake_run[0]):
        set_forces(m, d, d.awake_run[run, DOFS], d.awake_run[run, DOFS_END])
        solve_symmetric(m, d, run)
        solve_lone_bodies(m, d, d.awake_run[run, JOINTS], d.awake_run[run, JOINTS_END])


@kernel
def discrete_forces(m, d):
    """The forces (M - h D) qacc that belong to an acceleration over the step, by integrator: step_acc."""
    kind = m.opt_integrator
    if kind == Integrator.EULER:
        multiply(m, d.M, d.qacc, d.step_acc)
        for i in range(m.nv):
            d.step_acc[i] += m.opt_timestep * damping_derivative(m, d, i) * d.qacc[i]
        return
    refresh_controls(m, d)  # an inverse runs no actuation
    smooth_derivative(m, d)
    if kind == Integrator.IMPLICIT:
        set_full_rows(m, d, 0, m.nv)
        multiply_rows(m, d.qLU, d.qacc, d.step_acc, 0, m.nv)
    else:
        start_with_derivative(m, d, d.qH, m.opt_timestep, 0, m.nv)
        multiply(m, d.qH, d.qacc, d.step_acc)
        for j in range(m.njnt):
            if m.jnt_type[j] == JointType.FREE and is_lone_body(m, m.jnt_bodyid[j]):
                set_lone_block(m, d, j)
                multiply_rows(m, d.qLU, d.qacc, d.step_acc, m.jnt_dofadr[j], m.jnt_dofadr[j] + 6)


@stage(when=flag(EnableBit.INVDISCRETE))
def discrete_acceleration(m, d):
    """Replace qacc, the change of velocity over a step, by the acceleration that causes it. MuJoCo's mj_discreteAcc.

    For Euler, implicit and implicitfast; of RK4 there is no such inverse, and qacc stays as it is.
    """
    kind = m.opt_integrator
    damped = kind == Integrator.EULER and m.opt_disableflags & EXPLICIT == 0 and any_damping(m, d)
    if kind == Integrator.IMPLICIT or kind == Integrator.IMPLICITFAST or damped:
        discrete_forces(m, d)
        for i in range(m.nv):
            d.qacc[i] = d.step_acc[i]
        solve_in_place(m, d.qLD, d.qLDiagInv, d.qacc)
