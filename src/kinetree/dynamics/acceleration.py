"""Acceleration without constraints: all smooth forces, then a solve with the joint-space inertia.

MuJoCo: mj_fwdAcceleration. Reads: qfrc_passive, qfrc_bias, qfrc_applied, qfrc_actuator, xfrc_applied, qLD, qLDiagInv.
Writes: qfrc_smooth, qacc_smooth.
"""

from ..kernel import stage
from .applied import add_applied_wrenches
from .factor import solve_part
from .sleep_state import DOFS, DOFS_END


@stage
def fwd_acceleration(m, d):
    """Smooth forces and accelerations: qfrc_smooth, qacc_smooth. MuJoCo's mj_fwdAcceleration."""
    for run in range(d.nawake_run[0]):
        for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
            d.qfrc_smooth[i] = d.qfrc_passive[i] - d.qfrc_bias[i] + d.qfrc_applied[i] + d.qfrc_actuator[i]
    add_applied_wrenches(m, d, d.qfrc_smooth)
    for run in range(d.nawake_run[0]):
        first, end = d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]
        for i in range(first, end):
            d.qacc_smooth[i] = d.qfrc_smooth[i]
        solve_part(m, d.qLD, d.qLDiagInv, d.qacc_smooth, first, end)
