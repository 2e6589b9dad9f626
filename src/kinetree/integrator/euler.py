"""Semi-implicit Euler, with joint damping taken implicitly.

MuJoCo: mj_Euler. Reads: qacc, M, qvel, qfrc_smooth, qfrc_constraint. Writes: the next state; qH, qHDiagInv, step_acc (scratch).
"""

from ..dynamics.damping import damping_derivative
from ..dynamics.factor import factor_in_place, solve_in_place
from ..kernel import kernel, stage
from ..kernel.ops import absolute, needs
from ..types import DisableBit
from .advance import advance

EXPLICIT = int(DisableBit.EULERDAMP) | int(DisableBit.DAMPER)


@kernel
def any_damping(m):
    """Whether some degree of freedom is damped, by itself or by an actuator."""
    for i in range(m.nv):
        if m.jnt_actuatorid[m.dof_jntid[i]] != -1:
            return True
        slope = absolute(m.dof_damping[i]) + absolute(m.dof_dampingpoly[i, 0]) + absolute(m.dof_dampingpoly[i, 1])
        if needs(slope > 0.0):
            return True
    return False


@kernel
def implicit_damping(m, d):
    """Accelerations from (M + h B) qacc = force, where B is the slope of the damping force."""
    for i in range(m.nC):
        d.qH[i] = d.M[i]
    for i in range(m.nv):
        d.qH[m.M_rowadr[i] + m.M_rownnz[i] - 1] += m.opt_timestep * damping_derivative(m, d, i)
        d.step_acc[i] = d.qfrc_smooth[i] + d.qfrc_constraint[i]
    factor_in_place(m, d.qH, d.qHDiagInv)
    solve_in_place(m, d.qH, d.qHDiagInv, d.step_acc)


@stage(rare=True)
def euler(m, d):
    """One semi-implicit Euler step from the accelerations of `forward`. MuJoCo's mj_Euler."""
    if m.opt_disableflags & EXPLICIT == 0 and any_damping(m):
        implicit_damping(m, d)
    else:
        for i in range(m.nv):
            d.step_acc[i] = d.qacc[i]
    advance(m, d, d.act_dot, d.step_acc)
