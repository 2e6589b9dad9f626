"""Forces of constraints for a given acceleration, and how far forward and inverse dynamics differ.

MuJoCo: mj_invConstraint, mj_compareFwdInv. The cost of a row alone gives its force: nothing has to be solved.
Reads: qacc and the rows. Writes: efc_force, efc_state, qfrc_constraint; solver_fwdinv.
"""

from ..constraint.jacobian_product import add_J_transpose
from ..dynamics.applied import add_applied_wrenches
from ..kernel import kernel, stage
from ..kernel.ops import sqrt, zero
from .cost import update_rows
from .primal import residuals
from .solve import set_states


@stage
def inv_constraint(m, d):
    """Forces of constraints that go with qacc: efc_force, qfrc_constraint. MuJoCo's mj_invConstraint."""
    for i in range(m.nv):
        d.qfrc_constraint[i] = 0.0
    if d.nefc[0] > 0:
        residuals(m, d, d.qacc)
        update_rows(m, d, False)
        set_states(m, d)
        add_J_transpose(m, d, d.efc_force, d.qfrc_constraint)


@kernel
def keep_forward(m, d):
    """Keep what inverse dynamics will overwrite, and the sum of applied forces that it should find."""
    for i in range(m.nv):
        d.saved_constraint[i] = d.qfrc_constraint[i]
        d.saved_applied[i] = d.qfrc_applied[i] + d.qfrc_actuator[i]
    add_applied_wrenches(m, d, d.saved_applied)
    for r in range(d.nefc[0]):
        d.saved_efc_force[r] = d.efc_force[r]


@kernel
def difference(m, a, b):
    """Norm of the difference of two vectors over the dofs."""
    total = zero(a[0])
    for i in range(m.nv):
        total += (a[i] - b[i]) * (a[i] - b[i])
    return sqrt(total)


@kernel
def bring_back_forward(m, d):
    """Put back what `keep_forward` kept."""
    for i in range(m.nv):
        d.qfrc_constraint[i] = d.saved_constraint[i]
    for r in range(d.nefc[0]):
        d.efc_force[r] = d.saved_efc_force[r]
