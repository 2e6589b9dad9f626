"""Bodies that fly alone under the discrete integrator: derivatives of bias forces, without which fast spins gain energy.

It is not symmetric, so the metric cannot have it. Where nothing else acts on such a body, neither a constraint nor a coupling,
its six dofs are solved for once more with it. MuJoCo: mj_discreteGyro, mjd_freeBias_vel.
Reads: the metric, rows, qfrc_smooth, velocities. Writes: qacc; qLU (scratch).
"""

from ..dynamics.sleep_state import JOINTS, JOINTS_END
from ..kernel import kernel, stage
from ..kernel.ops import any_, not_, where
from ..needs import integrator
from ..types import Integrator, JointType
from .derivative_rne import add_bias_derivative, composite_rates, is_lone_body
from .sparse_lu import factor_lu, multiply_rows, solve_lu


@kernel
def set_lone_block(m, d, v, body):
    """The metric with the derivative of bias forces, for the six dofs from v on: rows of qLU."""
    for i in range(v, v + 6):
        for at in range(m.D_rowadr[i], m.D_rowadr[i] + m.D_rownnz[i]):
            d.qLU[at] = 0.0
            if m.mapM2D[at] >= 0:
                d.qLU[at] += d.metric[m.mapM2D[at]] if d.nmetric[0] != 0 else d.M[m.mapM2D[at]]
    end = body + 1
    while end < m.nbody and m.body_rootid[end] == body:
        end += 1
    composite_rates(m, d, body, end)
    add_bias_derivative(m, d, d.qLU, m.opt_timestep, v, v + 6)


@kernel
def reaches(m, d, r, at):
    """Where row r, of a constraint or coupling, counts for the dof of its entry.

    Actuators that pull at it in other worlds alone have a zero there; MuJoCo leaves out zeros of actuators, of nothing else.
    """
    there = d.efc_D[r] != 0.0
    if r >= d.nefc[0] and d.efc_id[r] >= m.ntendon:
        there = there & (d.efc_J[at] != 0.0)
    return there


@kernel
def is_free(m, d, v):
    """Where no row of a constraint or coupling reaches the six dofs from v on."""
    free = d.time[0] == d.time[0]
    if d.nefc[0] == d.nrow[0] and d.nisland[0] > 0 and d.dof_island[v] < 0:
        return free
    for r in range(d.nrow[0]):
        for at in range(d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]):
            if v <= d.efc_J_colind[at] < v + 6:
                free = free & not_(reaches(m, d, r, at))
    return free


@stage(when=integrator(Integrator.DISCRETE))
def spin_lone_bodies(m, d):
    """Accelerations of free bodies alone, with gyroscopic forces at the end of the step. MuJoCo's mj_discreteGyro."""
    for run in range(d.nawake_run[0]):
        for j in range(d.awake_run[run, JOINTS], d.awake_run[run, JOINTS_END]):
            if m.jnt_type[j] == JointType.FREE and is_lone_body(m, m.jnt_bodyid[j]):
                v = m.jnt_dofadr[j]
                free = is_free(m, d, v)
                if any_(free):
                    set_lone_block(m, d, v, m.jnt_bodyid[j])
                    for i in range(v, v + 6):
                        d.step_acc[i] = d.qfrc_smooth[i]
                        if d.nmetric[0] != 0:
                            d.step_acc[i] += d.metric_shift[i]
                    factor_lu(m, d.qLU, v, v + 6)
                    solve_lu(m, d.qLU, d.step_acc, v, v + 6)
                    for i in range(v, v + 6):
                        d.qacc[i] = where(free, d.step_acc[i], d.qacc[i])


@kernel
def weigh_lone_bodies(m, d, forces):
    """Forces that give such bodies qacc, where the metric alone was taken into account. Scratch: step_acc."""
    for j in range(m.njnt):
        if m.jnt_type[j] == JointType.FREE and is_lone_body(m, m.jnt_bodyid[j]):
            v = m.jnt_dofadr[j]
            free = is_free(m, d, v)
            if any_(free):
                set_lone_block(m, d, v, m.jnt_bodyid[j])
                multiply_rows(m, d.qLU, d.qacc, d.step_acc, v, v + 6)
                for i in range(v, v + 6):
                    shifted = d.step_acc[i]
                    if d.nmetric[0] != 0:
                        shifted -= d.metric_shift[i]
                    forces[i] = where(free, shifted, forces[i])
