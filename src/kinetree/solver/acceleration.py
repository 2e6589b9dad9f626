"""Acceleration without constraints: all smooth forces, then a solve with the joint-space inertia, or the metric.

MuJoCo: mj_fwdAcceleration. Reads: qfrc_passive, qfrc_bias, qfrc_applied, qfrc_actuator, xfrc_applied, qLD, qLDiagInv, or the
metric. Writes: qfrc_smooth, qacc_smooth. Scratch: sol_step.
"""

from ..dynamics.applied import add_applied_wrenches
from ..dynamics.factor import solve_part
from ..dynamics.sleep_state import DOFS, DOFS_END
from ..integrator.metric_rows import metric_couples
from ..kernel import kernel, stage
from ..needs import both, integrator
from ..types import Integrator
from .hessian import make_smooth_hessian, solve_factored
from .metric import solve_tree
from .own_rows import begin_apart, end_apart, give_rows_back, take_own_rows
from .pattern import set_pattern


@stage(when=both(integrator(Integrator.DISCRETE), metric_couples), scalar=True, part_of="fwd_acceleration")
def solve_coupled(m, d):
    """Replace sol_step by accelerations in a metric with couplings, by the solver's Hessian without rows of constraints.

    Part of MuJoCo's mj_fwdAcceleration.
    """
    lacks = take_own_rows(m, d)
    if d.nrow[0] > d.nefc[0]:
        set_pattern(m, d)
        if d.overflow[0] == 0:
            make_smooth_hessian(m, d)
            solve_factored(m, d, d.sol_step, 0, m.nv)
    else:
        solve_tree(m, d, d.sol_step, 0, m.nv)
    if lacks:
        give_rows_back(d)


@kernel
def solve_metric(m, d, x):
    """Replace x by the solution of M^ y = x; of what sleeps it stays. Scratch: sol_step."""
    if d.nrow[0] > d.nefc[0]:
        for i in range(m.nv):
            d.sol_step[i] = 0.0
        for run in range(d.nawake_run[0]):
            for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
                d.sol_step[i] = x[i]
        solve_coupled(m, d)
        for run in range(d.nawake_run[0]):
            for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
                x[i] = d.sol_step[i]
    else:
        for run in range(d.nawake_run[0]):
            solve_tree(m, d, x, d.awake_run[run, DOFS], d.awake_run[run, DOFS_END])


@kernel
def solve_in_metric(m, d):
    """Accelerations qacc_smooth from smooth forces, with springs at the end of the step."""
    for run in range(d.nawake_run[0]):
        for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
            d.qacc_smooth[i] = d.qfrc_smooth[i] + d.metric_shift[i]
    begin_apart(d)
    solve_metric(m, d, d.qacc_smooth)
    end_apart(m, d)


@stage
def fwd_acceleration(m, d):
    """Smooth forces and accelerations: qfrc_smooth, qacc_smooth. MuJoCo's mj_fwdAcceleration."""
    for run in range(d.nawake_run[0]):
        for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
            d.qfrc_smooth[i] = d.qfrc_passive[i] - d.qfrc_bias[i] + d.qfrc_applied[i] + d.qfrc_actuator[i]
    add_applied_wrenches(m, d, d.qfrc_smooth)
    if d.nmetric[0] != 0:
        solve_in_metric(m, d)
    else:
        for run in range(d.nawake_run[0]):
            first, end = d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]
            for i in range(first, end):
                d.qacc_smooth[i] = d.qfrc_smooth[i]
            solve_part(m, d.qLD, d.qLDiagInv, d.qacc_smooth, first, end)
