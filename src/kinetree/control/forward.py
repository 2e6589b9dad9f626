"""Forward dynamics and steps under stable PD: the order of the stages, with the controller's solve in the place of M's.

`evaluate` leaves out what torque and acceleration do not need. `step_once` is a whole step: forward pass with sensors and
energy, then semi-implicit Euler. Trees that the controller acts on never sleep; others do as in `kt.step`.
Writes: what `kt.forward` writes, but for qLD and qfrc_smooth, and with maba M (unless constraints or the kinetic energy ask
for it) and qfrc_bias: these are not needed, and `data.is_stale` says so.
"""

from .. import pipeline
from ..bad_states import (
    KINDS_OF_RETURN,
    LACKS_ROOM,
    PAUSED,
    any_new_warning,
    begin_pass,
    lacked_room,
    motion_is_bad,
    position_is_bad,
    remember_warnings,
)
from ..callbacks import PASSIVE, SENSOR
from ..dynamics.applied import add_applied_wrenches
from ..dynamics.sleep import FULLY_AWAKE, fall_asleep, note_positions
from ..dynamics.waking import count_awake, wake_tree
from ..hooks import USER_PASSIVE, USER_SENSORS, begin_part, hook, makes_room, user_control
from ..integrator.advance import advance_inputs, advance_state
from ..integrator.coupling import armature_couples, damping_couples
from ..kernel import kernel
from ..kernel.guard import STEPS, time_is_up
from ..kernel.ops import any_
from ..math.sparse_lu import diagonal
from ..types import EnableBit, SensorType, Stage, WarningType
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


@kernel
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
def smooth_velocity(m, d, a):
    """Velocities, passive forces and the bias, which is part of the recursion of maba."""
    pipeline.tendon_velocity(m, d)
    pipeline.actuator_velocities(m, d)
    pipeline.com_vel(m, d)
    pipeline.passive(m, d)
    hook(m, d, PASSIVE, USER_PASSIVE)
    if a.solver != MABA:
        pipeline.rne_bias(m, d)
        pipeline.tendon_bias(m, d)


@kernel
def evaluate(m, d, a):
    """Torque and acceleration at the state of d, without constraints."""
    keep_awake(m, d, a)
    pipeline.kinematics(m, d)
    pipeline.com_pos(m, d)
    pipeline.tendon(m, d)
    pipeline.transmission(m, d)
    if a.solver != MABA:
        pipeline.make_m(m, d)
    smooth_velocity(m, d, a)
    user_control(m, d)
    pipeline.fwd_actuation(m, d)
    a.constrained = 0
    respond(m, d, a)
    forget_diagonal(m, d)
    return 0


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
def accelerate(m, d, a):
    """Accelerations under the controller and constraints, from the forces that the velocity stage and actuation left."""
    respond(m, d, a)
    if d.nefc[0] == 0:
        for i in range(m.nv):
            d.qacc_smooth[i] = a.acceleration[i]
        pipeline.fwd_constraint(m, d)
    forget_diagonal(m, d)


@kernel
def keep_awake(m, d, a):
    """Trees with gains stay awake: the controller is a force on them."""
    if m.opt_enableflags & EnableBit.SLEEP:
        before = d.ntree_awake[0]
        for i in range(m.nv):
            if any_((a.kp[i] != 0.0) | (a.kd[i] != 0.0)):
                wake_tree(m, d, m.dof_treeid[i], FULLY_AWAKE)
        if count_awake(m, d) > before:
            pipeline.update_sleep(m, d)


@kernel
def positions(m, d, a):
    """All that depends on positions; M only where it is needed."""
    d.flg_energypos[0] = False
    keep_awake(m, d, a)
    pipeline.fwd_kinematics(m, d)
    pipeline.find_contacts(m, d)
    pipeline.make_constraint(m, d)
    if needs_inertia(m, d, a):
        pipeline.make_m(m, d)
    if m.opt_enableflags & EnableBit.DIAGEXACT and d.nefc[0] > 0:
        pipeline.factor_m(m, d)
        pipeline.exact_diagonal(m, d)
    pipeline.transmission(m, d)


@kernel
def forward(m, d, a):
    """The forward pass of a step."""
    begin_part(m, d)
    positions(m, d, a)
    while makes_room(m, d):
        positions(m, d, a)
    pipeline.sensor_pos(m, d)
    hook(m, d, SENSOR, USER_SENSORS + Stage.POS)
    pipeline.energy_after_position(m, d)
    if m.opt_enableflags & EnableBit.SLEEP:
        note_positions(m, d)
        fall_asleep(m, d)  # here, where what depends on velocities is still to come
    d.flg_subtreevel[0] = False
    d.flg_energyvel[0] = False
    smooth_velocity(m, d, a)
    pipeline.reference_constraint(m, d)
    pipeline.sensor_vel(m, d)
    hook(m, d, SENSOR, USER_SENSORS + Stage.VEL)
    pipeline.energy_after_velocity(m, d)
    user_control(m, d)
    pipeline.fwd_actuation(m, d)
    a.constrained = 1
    begin_part(m, d)
    accelerate(m, d, a)
    while makes_room(m, d):
        accelerate(m, d, a)
    d.flg_rnepost[0] = False
    pipeline.sensor_acc(m, d)
    hook(m, d, SENSOR, USER_SENSORS + Stage.ACC)


@kernel
def move_on(m, d, a):
    """The next state, by semi-implicit Euler; what fell asleep stays behind."""
    for i in range(m.nv):
        d.step_acc[i] = d.qacc[i]
    if m.opt_enableflags & EnableBit.SLEEP:
        pipeline.update_sleep(m, d)
    advance_inputs(m, d)
    advance_state(m, d)
    return 0


@kernel
def step_once(m, d, a):
    """One step without a look at bad states: what a step is on lanes. LACKS_ROOM if it must be made again, with more room."""
    forward(m, d, a)
    return LACKS_ROOM if d.overflow[0] != 0 else move_on(m, d, a)


@kernel(scalar=True)
def obstacle(m, a):
    """What must be seen to before anything is done: DOUBTFUL, COUPLED, or 0."""
    if is_doubtful(m, a):
        return DOUBTFUL
    return COUPLED if a.solver == MABA and (armature_couples(m) or damping_couples(m)) else 0


@kernel(scalar=True)
def run_evaluate(m, d, a):
    """`evaluate`; 1 if there is something to warn of, LACKS_ROOM if it was broken off, the obstacle if nothing was done."""
    if obstacle(m, a) != 0:
        return obstacle(m, a)
    remember_warnings(d)
    begin_pass(m, d)
    evaluate(m, d, a)
    if lacked_room(m, d):
        return LACKS_ROOM
    return 1 if any_new_warning(d) != 0 or a.unsettled > 0 else 0


@kernel(scalar=True)
def run_force(m, d, a):
    """Q alone, which needs no forward pass."""
    if is_doubtful(m, a):
        return DOUBTFUL
    controller_force(m, d, a)
    return 0


@kernel(scalar=True)
def run_steps(m, d, a):
    """Up to a.steps steps; 0 if nothing happened, the obstacle if nothing was done.

    The result says how many steps are missing, negative after a bad forward pass. a.unchecked: the first acceleration may be
    bad, as it is that of a state just reset. d.steps_left tells the first entry from one after a pause, where warnings before
    it count as new.
    """
    if obstacle(m, a) != 0:
        return obstacle(m, a)
    if d.steps_left[0] != a.steps:
        remember_warnings(d)
    d.steps_left[0] = 0
    for k in range(a.steps):
        if k > 0 and time_is_up(d, STEPS):
            d.steps_left[0] = a.steps - k
            return PAUSED + KINDS_OF_RETURN * (a.steps - k)
        if position_is_bad(m, d) or motion_is_bad(m, d, d.qvel, WarningType.BADQVEL):
            return 1 + KINDS_OF_RETURN * (a.steps - k)
        begin_pass(m, d)
        forward(m, d, a)
        if lacked_room(m, d):
            d.steps_left[0] = a.steps - k
            return LACKS_ROOM + KINDS_OF_RETURN * (a.steps - k)
        if (k > 0 or a.unchecked == 0) and motion_is_bad(m, d, d.qacc, WarningType.BADQACC):
            return 1 + KINDS_OF_RETURN * (k - a.steps)
        move_on(m, d, a)
    return 1 if any_new_warning(d) != 0 or a.unsettled > 0 else 0


declare(run_evaluate, run_force, run_steps, step_once, evaluate)
