"""Forward dynamics and steps under stable PD: the order of the stages, with the controller's solve in the place of M's.

The order is that of `pipeline.py`, a step that of `stepping.py`; here stand the kernels that differ, and the tables of the
places they take. Torques leave out what they do not need. A step has all of a forward pass, then semi-implicit Euler without a
factor of its own. Trees that the controller acts on never sleep; others do as in `kt.step`.
Writes: what `kt.forward` writes, but for qLD and qfrc_smooth, and with maba M (unless constraints or the kinetic energy ask
for it) and qfrc_bias: these are not needed, and `data.is_stale` says so.
"""

from .. import pipeline, stepping
from ..bad_states import KINDS_OF_RETURN, LACKS_ROOM, any_new_warning, begin_pass, lacked_room, remember_warnings
from ..constraint.diagonal import set_exact_diagonal, take_bare_diagonal
from ..constraint.impedance import make_impedance
from ..constraint.reference_acceleration import set_references
from ..dynamics.applied import add_applied_wrenches
from ..dynamics.sleep import FULLY_AWAKE, fall_asleep, list_awake, note_positions
from ..dynamics.sleep_state import some_sleep
from ..dynamics.waking import wake_circles
from ..integrator.coupling import armature_couples, damping_couples
from ..integrator.euler import euler_acceleration
from ..integrator.sparse_lu import diagonal
from ..kernel import kernel
from ..kernel.ops import any_, where
from ..kernel.variant import nothing, variant
from ..sensor.distance import reserve_for_distances
from ..types import EnableBit, SensorType
from .arrays import declare
from .error import controller_force, is_doubtful
from .limits import solve_within_limits
from .solvers import MABA

DOUBTFUL = -KINDS_OF_RETURN  # the target must be checked first
COUPLED = -2 * KINDS_OF_RETURN  # the solver must be chosen anew: maba does not see what couples the dofs of this model


@kernel
def model_damping(m, d, a):
    """What the damping of the model, taken at the end of the step, adds to M: qDeriv, damping, coupled."""
    a.coupled = 1 if a.solver != MABA and damping_couples(m) else 0
    if a.coupled != 0:
        pipeline.damping(m, d)
    else:
        pipeline.damping_diagonal(m, d)
    for i in range(m.nv):
        a.damping[i] = -a.h[0] * d.qDeriv[diagonal(m, i)]


@kernel(apart=True)  # rows may have been given more room just before
def respond(m, d, a):
    """Torque and acceleration, once positions, velocities and all other forces are known."""
    for i in range(m.nv):
        a.smooth[i] = d.qfrc_passive[i] + d.qfrc_applied[i] + d.qfrc_actuator[i]
    add_applied_wrenches(m, d, a.smooth)
    controller_force(m, d, a)
    model_damping(m, d, a)
    solve_within_limits(m, d, a)


@kernel
def forget_diagonal(m, d):
    """Leave the inertia as it is for whoever calls `aba` next."""
    for i in range(m.nv):
        d.aba_diagonal[i] = 0.0


@kernel
def keep_awake(m, d, a):
    """Trees with gains stay awake: the controller is a force on them."""
    if m.opt_enableflags & EnableBit.SLEEP:
        slept = d.time[0] != d.time[0]
        for i in range(m.nv):
            held, t = (a.kp[i] != 0.0) | (a.kd[i] != 0.0), m.dof_treeid[i]
            slept = slept | (held & (d.tree_asleep[t] >= 0))
            d.tree_asleep[t] = where(held, FULLY_AWAKE, d.tree_asleep[t])
        if any_(slept):  # else all circles are whole
            wake_circles(m, d, FULLY_AWAKE)
        if some_sleep(m, d):
            list_awake(m, d)


@kernel
def needs_inertia(m, d, a):
    """Whether a step needs M: for the solver, for constraints, or for the kinetic energy."""
    if a.solver != MABA or d.nefc[0] > 0 or m.opt_enableflags & EnableBit.ENERGY != 0:
        return True
    for i in range(m.nsensor):
        if m.sensor_type[i] == SensorType.E_KINETIC:
            return True
    return False


@kernel
def inertia_for_step(m, d, a):
    """M where it is needed, its factor for the exact diagonal alone."""
    if needs_inertia(m, d, a):
        pipeline.make_m(m, d)
    if m.opt_enableflags & EnableBit.DIAGEXACT and d.nefc[0] > 0:
        pipeline.factor_m(m, d)


@kernel
def inertia_for_torque(m, d, a):
    """M, which the recursion of maba does without."""
    if a.solver != MABA:
        pipeline.make_m(m, d)


@kernel
def bias_for_solver(m, d, a):
    """The bias, which is part of the recursion of maba."""
    if a.solver != MABA:
        pipeline.make_bias(m, d)


@kernel
def accelerate_freely(m, d, a):
    """Torque and acceleration without constraints."""
    a.constrained = 0
    respond(m, d, a)
    forget_diagonal(m, d)


@kernel
def accelerate_within_constraints(m, d, a):
    """Torque, and accelerations under the controller and constraints."""
    a.constrained = 1
    respond(m, d, a)
    if d.nefc[0] == 0:
        for i in range(m.nv):
            d.qacc_smooth[i] = a.acceleration[i]
        pipeline.fwd_constraint(m, d)
    forget_diagonal(m, d)


@kernel
def continuous_rows(m, d):
    """Rows as they are in continuous time, which those of the discrete integrator otherwise are not."""
    if m.opt_enableflags & EnableBit.DIAGEXACT:
        set_exact_diagonal(m, d, d.qLD, d.qLDiagInv)
    else:
        take_bare_diagonal(d)
    make_impedance(m, d, False)
    set_references(m, d)


@kernel
def find_contacts_of_continuous_rows(m, d):
    """Contacts, of which speculative ones have the distances that these rows need."""
    d.continuous[0] = 1
    pipeline.find_contacts(m, d)
    d.continuous[0] = 0


torque_forward = variant("torque", pipeline.forward_without_sensors, {
    pipeline.make_inertia: inertia_for_torque,
    pipeline.make_bias: bias_for_solver,
    pipeline.accelerate: accelerate_freely,
    pipeline.camlight: nothing,
    pipeline.tendon_path: nothing,
    pipeline.wake_by_tendons: nothing,
    pipeline.find_contacts: nothing,
    pipeline.make_constraint: nothing,
    pipeline.exact_diagonal: nothing,
    pipeline.metric_rows: nothing,
    pipeline.effective_metric: nothing,
    pipeline.reference_constraint: nothing,
    pipeline.energy_after_position: nothing,
    pipeline.energy_after_velocity: nothing,
    reserve_for_distances: nothing,
})  # fmt: skip
placed = variant("controlled", pipeline.position_part, {
    pipeline.make_inertia: inertia_for_step,
    pipeline.find_contacts: find_contacts_of_continuous_rows,
    pipeline.metric_rows: nothing,
})  # fmt: skip


@kernel
def positions_before_sleep(m, d, senses, a):
    """Positions, then sleep: here, where what depends on velocities is still to come."""
    keep_awake(m, d, a)
    placed(m, d, senses, a)
    if m.opt_enableflags & EnableBit.SLEEP:
        note_positions(m, d)
        fall_asleep(m, d)


@kernel
def leave_sleepers(m, d, a):
    """The acceleration as it is: step_acc. What fell asleep in this step stays behind."""
    for i in range(m.nv):
        d.step_acc[i] = d.qacc[i]
    if m.opt_enableflags & EnableBit.SLEEP:
        pipeline.update_sleep(m, d)


controlled_forward = variant("controlled", pipeline.forward, {
    pipeline.position_part: positions_before_sleep,
    pipeline.make_bias: bias_for_solver,
    pipeline.effective_metric: continuous_rows,
    pipeline.accelerate: accelerate_within_constraints,
})  # fmt: skip
move_on = variant("controlled", pipeline.euler, {
    euler_acceleration: leave_sleepers,
    pipeline.come_to_rest: nothing,
})  # fmt: skip


@kernel
def anything_to_tell(d, a):
    """1 if there is something to warn of."""
    return 1 if any_new_warning(d) != 0 or a.unsettled > 0 else 0


controlled_steps = variant("controlled", stepping.run_steps, {
    pipeline.forward: controlled_forward,
    pipeline.compare_fwd_inv: nothing,
    pipeline.integrate: move_on,
    any_new_warning: anything_to_tell,
})  # fmt: skip


@kernel
def evaluate(m, d, a):
    """Torque and acceleration at the state of d, without constraints."""
    keep_awake(m, d, a)
    torque_forward(m, d, a)
    return 0


@kernel
def obstacle(m, a):
    """What must be seen to before anything is done, on lanes in some world: DOUBTFUL, COUPLED, or 0."""
    if is_doubtful(m, a):
        return DOUBTFUL
    return COUPLED if a.solver == MABA and (armature_couples(m) or damping_couples(m)) else 0


@kernel
def run_evaluate(m, d, a):
    """`evaluate`; 1 if there is something to warn of, LACKS_ROOM if it was broken off, the obstacle if nothing was done."""
    if obstacle(m, a) != 0:
        return obstacle(m, a)
    remember_warnings(d)
    begin_pass(m, d)
    evaluate(m, d, a)
    if lacked_room(m, d):
        return LACKS_ROOM
    return anything_to_tell(d, a)


@kernel
def run_force(m, d, a):
    """Q alone, which needs no forward pass."""
    if is_doubtful(m, a):
        return DOUBTFUL
    controller_force(m, d, a)
    return 0


@kernel
def run_steps(m, d, a, n):
    """Up to n steps, or -n, as in `kt.step`; the obstacle if nothing was done."""
    if obstacle(m, a) != 0:
        return obstacle(m, a)
    return controlled_steps(m, d, n, a)


declare(run_evaluate, run_force)
declare(run_steps, further=("int64",))
