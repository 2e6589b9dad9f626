"""The pipeline: the order in which stages run. The table of contents of the physics.

There is no other order: with a controller it is this text with other kernels in a few places (`control/forward.py`), to which
the controller's arrays are passed on. They are `controller`, which is empty here.
"""

from .callbacks import ACTUATOR, PASSIVE, SENSOR
from .constraint.contact_force import contact_wrenches
from .constraint.diagonal import exact_diagonal
from .constraint.make import make_constraint
from .constraint.reference_acceleration import reference_constraint
from .constraint.rne_post import rne_post_constraint
from .dynamics.aba import aba
from .dynamics.actuation import actuator_dynamics, actuator_forces
from .dynamics.camlight import camlight
from .dynamics.com import com_pos
from .dynamics.crb import crb, make_m
from .dynamics.energy import energy_pos, energy_vel
from .dynamics.factor import factor_m, multiply
from .dynamics.fluid import fluid
from .dynamics.kinematics import kinematics
from .dynamics.passive import passive
from .dynamics.rne import rne_bias, rne_inverse
from .dynamics.sleep import (
    begin_repeat,
    end_repeat,
    fall_asleep,
    hold_asleep,
    list_awake,
    note_inputs,
    note_positions,
    stay_asleep,
    update_sleep,
)
from .dynamics.sleep_state import some_sleep, some_sleep_apart
from .dynamics.subtree import subtree_vel
from .dynamics.tendon import tendon, tendon_bias, tendon_path, tendon_velocity
from .dynamics.transmission import actuator_velocities, transmission
from .dynamics.velocity import com_vel
from .dynamics.waking import wake, wake_by_contacts, wake_by_equalities, wake_by_tendons
from .geometry.driver import collision
from .hooks import USER_ACTUATORS, USER_PASSIVE, USER_SENSORS, begin_part, hook, makes_room, user_control
from .integrator.advance import advance_inputs, advance_state
from .integrator.derivative import set_damping, set_damping_diagonal, smooth_derivative
from .integrator.derivative_actuator import refresh_controls
from .integrator.euler import euler_acceleration
from .integrator.implicit import discrete_acceleration, implicit_acceleration, implicitfast_acceleration
from .integrator.lone_bodies import spin_lone_bodies, weigh_lone_bodies
from .integrator.metric import effective_metric
from .integrator.metric_rows import metric_rows
from .integrator.rk4 import rk4_combine, rk4_finish, rk4_move, rk4_record, rk4_start, rk4_undo
from .kernel import kernel, stage
from .kernel.guard import hear_again, hear_nothing
from .kernel.ops import any_
from .needs import SLEEPS, flag, integrator, on_request
from .sensor.acceleration import acceleration_readings
from .sensor.contact_sensor import contact_readings
from .sensor.delivery import sensor_acc, sensor_history, sensor_pos, sensor_vel
from .sensor.distance import distance_readings, reserve_for_distances
from .sensor.enclosed import enclosures
from .sensor.position import position_readings
from .sensor.rays import rangefinders
from .sensor.velocity import velocity_readings
from .solver.acceleration import fwd_acceleration
from .solver.inverse import bring_back_forward, difference, inv_constraint, keep_forward
from .solver.metric import weigh
from .solver.solve import fwd_constraint
from .types import DisableBit, EnableBit, Integrator, Stage


@kernel
def fwd_kinematics(m, d):
    """Poses of everything; a tendon at its limit wakes what it pulls. MuJoCo's mj_fwdKinematics."""
    kinematics(m, d)
    com_pos(m, d)
    camlight(m, d)
    tendon(m, d)
    tendon_path(m, d)
    if some_sleep(m, d):
        wake_by_tendons(m, d)
        list_awake(m, d)


@kernel
def find_contacts(m, d):
    """Contacts, which wake what sleeps; so do equalities. What woke has contacts that were left out. Part of mj_fwdPosition."""
    collision(m, d)
    if some_sleep(m, d):
        awake = d.ntree_awake[0]
        wake_by_contacts(m, d)
        list_awake(m, d)
        if any_(d.ntree_awake[0] > awake):
            collision(m, d)
        wake_by_equalities(m, d)
        list_awake(m, d)


@kernel
def make_inertia(m, d):
    """M and its factor. Part of mj_fwdPosition, where it stands before contacts: a controller may need M for these alone."""
    make_m(m, d)
    factor_m(m, d)


@stage
def fwd_position(m, d, *controller):
    """All that depends on positions alone. MuJoCo's mj_fwdPosition."""
    d.flg_energypos[0] = False
    fwd_kinematics(m, d)
    find_contacts(m, d)
    make_constraint(m, d)
    make_inertia(m, d, *controller)
    if m.opt_enableflags & EnableBit.DIAGEXACT:
        exact_diagonal(m, d)
    transmission(m, d)
    if m.opt_integrator == Integrator.DISCRETE:
        metric_rows(m, d)


@kernel
def make_bias(m, d):
    """Coriolis, centrifugal and gravity forces: qfrc_bias. Part of mj_fwdVelocity."""
    rne_bias(m, d)
    tendon_bias(m, d)


@stage
def fwd_velocity_smooth(m, d, *controller):
    """Velocities, passive forces and bias: what rows of constraints have no part in. Part of MuJoCo's mj_fwdVelocity."""
    d.flg_subtreevel[0] = False
    d.flg_energyvel[0] = False
    tendon_velocity(m, d)
    actuator_velocities(m, d)
    com_vel(m, d)
    passive(m, d)
    hook(m, d, PASSIVE, USER_PASSIVE)
    make_bias(m, d, *controller)


@stage
def fwd_velocity(m, d, *controller):
    """All that depends on positions and velocities. MuJoCo's mj_fwdVelocity."""
    fwd_velocity_smooth(m, d, *controller)
    reference_constraint(m, d)


@stage
def fwd_actuation(m, d):
    """Activation rates and actuator forces: act_dot, actuator_force, qfrc_actuator. MuJoCo's mj_fwdActuation."""
    actuator_dynamics(m, d)
    if m.opt_disableflags & DisableBit.ACTUATION == 0:
        hook(m, d, ACTUATOR, USER_ACTUATORS)
    actuator_forces(m, d)


@kernel
def energy_after_position(m, d):
    """Potential energy if the flag asks and no sensor did; without the flag both are zero. Part of MuJoCo's mj_forward."""
    if not d.flg_energypos[0]:
        if m.opt_enableflags & EnableBit.ENERGY:
            energy_pos(m, d)
        else:
            d.energy[0] = 0.0
            d.energy[1] = 0.0


@kernel
def energy_after_velocity(m, d):
    """Kinetic energy if the flag asks for it and no sensor did. Part of MuJoCo's mj_forward."""
    if m.opt_enableflags & EnableBit.ENERGY and not d.flg_energyvel[0]:
        energy_vel(m, d)


@kernel
def positions_and_sensors(m, d, senses, *controller):
    """Positions and their sensors. Part of MuJoCo's mj_forwardSkip and mj_inverseSkip."""
    begin_part(m, d)
    fwd_position(m, d, *controller)
    while makes_room(m, d):
        fwd_position(m, d, *controller)
    if m.nsensor > 0 and senses:
        sensor_pos(m, d)
        hook(m, d, SENSOR, USER_SENSORS + Stage.POS)
    elif m.nsensor > 0:
        reserve_for_distances(m, d)


@kernel
def position_part(m, d, senses, *controller):
    """Positions, their sensors and energy. The first part of MuJoCo's mj_forwardSkip."""
    positions_and_sensors(m, d, senses, *controller)
    energy_after_position(m, d)


@kernel
def velocity_part(m, d, senses, *controller):
    """Velocities, their sensors and energy. The second part of MuJoCo's mj_forwardSkip."""
    fwd_velocity(m, d, *controller)
    if m.nsensor > 0 and senses:
        sensor_vel(m, d)
        hook(m, d, SENSOR, USER_SENSORS + Stage.VEL)
    energy_after_velocity(m, d)


@kernel
def accelerate(m, d):
    """Accelerations under all forces and constraints, once the metric is known."""
    fwd_acceleration(m, d)
    fwd_constraint(m, d)
    if m.opt_integrator == Integrator.DISCRETE:
        spin_lone_bodies(m, d)


@kernel
def accelerate_in_metric(m, d, *controller):
    """What may lack room among forces and accelerations: the metric of the discrete integrator, then all the rest."""
    if m.opt_integrator == Integrator.DISCRETE:
        effective_metric(m, d)
    accelerate(m, d, *controller)


@kernel
def sense_accelerations(m, d):
    """Sensors of accelerations and forces; what `rne_post_constraint` found before is no longer valid."""
    d.flg_rnepost[0] = False
    if m.nsensor > 0:
        sensor_acc(m, d)
        hook(m, d, SENSOR, USER_SENSORS + Stage.ACC)


@kernel
def acceleration_part(m, d, senses, *controller):
    """Forces, accelerations and their sensors. The last part of MuJoCo's mj_forwardSkip."""
    fwd_actuation(m, d)
    begin_part(m, d)
    accelerate_in_metric(m, d, *controller)
    while makes_room(m, d):
        accelerate_in_metric(m, d, *controller)
    if some_sleep_apart(m, d):
        hold_asleep(m, d)
    if senses:
        sense_accelerations(m, d)


@kernel
def forward_from(m, d, done, senses, *controller):
    """Forward dynamics without the stages up to `done`, and with sensors or without. MuJoCo's mj_forwardSkip."""
    if done < Stage.POS:
        position_part(m, d, senses, *controller)
    if done < Stage.VEL:
        velocity_part(m, d, senses, *controller)
    user_control(m, d)
    acceleration_part(m, d, senses, *controller)


@stage
def forward(m, d, *controller):
    """Forward dynamics: from state, controls and applied forces to accelerations. MuJoCo's mj_forward."""
    forward_from(m, d, Stage.NONE, True, *controller)


@stage
def forward_without_sensors(m, d, *controller):
    """Forward dynamics with sensors skipped, for the substeps of integrators. MuJoCo's mj_forwardSkip."""
    forward_from(m, d, Stage.NONE, False, *controller)


@stage(when=SLEEPS)
def lie_down(m, d):
    """Put trees to sleep that are ready for it. MuJoCo's mj_sleep and mj_updateSleep."""
    note_positions(m, d)
    fall_asleep(m, d)
    update_sleep(m, d)


@stage(part_of="integrate")
def settle(m, d):
    """Let trees at rest fall asleep; what depends on velocities is then computed anew. Part of MuJoCo's mj_advance."""
    if fall_asleep(m, d):
        hear_nothing(d)  # inputs have moved on, and the state must follow
        begin_repeat(m, d)
        forward_from(m, d, Stage.POS, True)
        end_repeat(m, d)
        hear_again(d)
        update_sleep(m, d)


@kernel
def come_to_rest(m, d):
    """Trees that move no more fall asleep, if the flag lets them. Part of MuJoCo's mj_advance."""
    if m.opt_enableflags & EnableBit.SLEEP:
        note_positions(m, d)
        settle(m, d)


@kernel
def take_step_map(m, d):
    """Accelerations as they are by now: with the discrete integrator they are those of the step."""
    for i in range(m.nv):
        d.step_acc[i] = d.qacc[i]


@kernel
def advance(m, d, *controller):
    """The next state from step_acc. MuJoCo's mj_advance."""
    if d.overflow[0] != 0:  # a part of the integrator could not be compiled, and the driver raises
        return
    if m.opt_enableflags & EnableBit.SLEEP:
        note_inputs(m, d)
    advance_inputs(m, d)
    come_to_rest(m, d, *controller)
    if d.overflow[0] == 0:  # else a callback has raised, and the driver puts the state back
        if m.opt_integrator == Integrator.DISCRETE and m.opt_enableflags & EnableBit.SLEEP:
            take_step_map(m, d)
        advance_state(m, d)
        if some_sleep_apart(m, d):
            stay_asleep(m, d, d.qpos_asleep)


@stage(when=integrator(Integrator.EULER))
def euler(m, d, *controller):
    """One semi-implicit Euler step from the accelerations of `forward`. MuJoCo's mj_Euler."""
    euler_acceleration(m, d, *controller)
    advance(m, d, *controller)


@stage(when=integrator(Integrator.IMPLICIT))
def implicit(m, d):
    """One step of the full implicit integrator. MuJoCo's mj_implicit with mjINT_IMPLICIT."""
    implicit_acceleration(m, d)
    advance(m, d)


@stage(when=integrator(Integrator.IMPLICITFAST))
def implicitfast(m, d):
    """One step of the fast implicit integrator. MuJoCo's mj_implicit with mjINT_IMPLICITFAST."""
    implicitfast_acceleration(m, d)
    advance(m, d)


@kernel
def rk4_end(m, d):
    """The end of an RK4 step. Part of MuJoCo's mj_RungeKutta."""
    if m.opt_enableflags & EnableBit.SLEEP:
        note_positions(m, d)
    rk4_combine(m, d)
    if m.opt_enableflags & EnableBit.SLEEP:
        note_inputs(m, d)
        settle(m, d)
    if d.overflow[0] == 0:
        rk4_finish(m, d)
        if some_sleep_apart(m, d):
            stay_asleep(m, d, d.rk_qpos)


@stage(when=integrator(Integrator.DISCRETE))
def discrete(m, d):
    """One step of the discrete integrator, which `forward` has found: qacc is the change of velocity. MuJoCo's mj_advance."""
    take_step_map(m, d)
    advance(m, d)


@stage(when=integrator(Integrator.RK4))
def rk4(m, d):
    """Four forward passes, the first of which has been made. MuJoCo's mj_RungeKutta."""
    rk4_start(m, d)
    for k in range(1, 4):
        share = 1.0 if k == 3 else 0.5
        rk4_move(m, d, k, share)
        forward_without_sensors(m, d)
        if d.overflow[0] != 0:  # the step will be made again, with more room
            rk4_undo(m, d)
            return
        rk4_record(m, d, k, share)
    rk4_end(m, d)


@stage
def integrate(m, d):
    """The next state from the accelerations of `forward`, by the integrator of the model. MuJoCo's mj_Euler and others."""
    if m.opt_integrator == Integrator.RK4:
        rk4(m, d)
    elif m.opt_integrator == Integrator.IMPLICIT:
        implicit(m, d)
    elif m.opt_integrator == Integrator.IMPLICITFAST:
        implicitfast(m, d)
    elif m.opt_integrator == Integrator.DISCRETE:
        discrete(m, d)
    else:
        euler(m, d)


@stage
def inverse_acceleration(m, d):
    """Joint forces that explain qacc, after the position and velocity stages: qfrc_inverse. Part of MuJoCo's mj_inverse.

    With discrete inverse dynamics qacc is left as that of continuous time, for the sensors, until `restore_acceleration`.
    With the discrete integrator it is the change of velocity anyway.
    """
    for i in range(m.nv):
        d.saved_acc[i] = d.qacc[i]
    if m.opt_integrator == Integrator.DISCRETE:
        refresh_controls(m, d)
        effective_metric(m, d)
    if m.opt_enableflags & EnableBit.INVDISCRETE:
        discrete_acceleration(m, d)
    inv_constraint(m, d)
    if m.opt_integrator == Integrator.DISCRETE:
        weigh(m, d, d.qacc, d.qfrc_inverse)
        weigh_lone_bodies(m, d, d.qfrc_inverse)
    else:
        multiply(m, d.M, d.qacc, d.qfrc_inverse)
    for i in range(m.nv):
        d.qfrc_inverse[i] += d.qfrc_bias[i] - d.qfrc_passive[i] - d.qfrc_constraint[i]


@stage
def restore_acceleration(m, d):
    """Put qacc back as the user gave it. The end of MuJoCo's mj_inverse."""
    for i in range(m.nv):
        d.qacc[i] = d.saved_acc[i]


@stage(when=flag(EnableBit.FWDINV))
def compare_fwd_inv(m, d):
    """How far forward and inverse dynamics differ in constraint and applied force: solver_fwdinv. MuJoCo's mj_compareFwdInv.

    Zero without constraints. Comes after `forward`, whose results stay, but for qfrc_inverse.
    """
    d.solver_fwdinv[0] = 0.0
    d.solver_fwdinv[1] = 0.0
    if d.nefc[0] > 0:
        keep_forward(m, d)
        inverse_acceleration(m, d)
        restore_acceleration(m, d)
        d.solver_fwdinv[0] = difference(m, d.saved_constraint, d.qfrc_constraint)
        d.solver_fwdinv[1] = difference(m, d.saved_applied, d.qfrc_inverse)
        bring_back_forward(m, d)


@kernel
def inverse_from(m, d, done, senses):
    """Inverse dynamics without the stages up to `done`, and with sensors or without. MuJoCo's mj_inverseSkip."""
    if done < Stage.POS:
        positions_and_sensors(m, d, senses)
        if m.opt_enableflags & EnableBit.ENERGY and not d.flg_energypos[0]:
            energy_pos(m, d)
    if done < Stage.VEL:
        velocity_part(m, d, senses)
    inverse_acceleration(m, d)
    if senses:
        sense_accelerations(m, d)
    restore_acceleration(m, d)


@stage
def inverse(m, d):
    """Inverse dynamics: the joint forces that give qacc: qfrc_inverse. MuJoCo's mj_inverse."""
    inverse_from(m, d, Stage.NONE, True)


@stage(when=on_request)
def damping(m, d):
    """Symmetric part of the derivative of passive and actuator forces by qvel: qDeriv. Part of MuJoCo's mjd_smooth_vel."""
    set_damping(m, d)


@stage
def damping_diagonal(m, d):
    """The same where nothing couples dofs: the diagonal of qDeriv alone. Part of MuJoCo's mjd_smooth_vel."""
    set_damping_diagonal(m, d)


__all__ = [
    "aba", "acceleration_readings", "actuator_dynamics", "actuator_forces", "camlight", "com_pos", "collision", "com_vel",
    "compare_fwd_inv", "contact_readings", "contact_wrenches", "crb", "damping", "damping_diagonal", "discrete",
    "discrete_acceleration", "distance_readings", "effective_metric", "enclosures", "energy_pos",
    "energy_vel", "euler", "exact_diagonal", "factor_m", "fluid", "forward", "forward_without_sensors",
    "fwd_acceleration", "fwd_actuation", "fwd_constraint", "fwd_position", "fwd_velocity", "fwd_velocity_smooth",
    "implicit", "implicitfast", "integrate", "inv_constraint", "inverse", "inverse_acceleration", "kinematics",
    "lie_down", "make_constraint", "make_m", "metric_rows", "passive", "position_readings", "rangefinders",
    "reference_constraint",
    "restore_acceleration", "rk4", "rne_bias", "rne_inverse", "rne_post_constraint", "sensor_acc",
    "sensor_history", "sensor_pos", "sensor_vel", "smooth_derivative", "spin_lone_bodies", "subtree_vel", "tendon",
    "tendon_bias", "tendon_path", "tendon_velocity", "transmission", "update_sleep", "velocity_readings", "wake",
    "wake_by_contacts", "wake_by_equalities", "wake_by_tendons",
]  # fmt: skip
