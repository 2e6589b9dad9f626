"""The pipeline: the order in which stages run. The table of contents of the physics."""

from .collision.driver import box_with_box, capsule_with_box, collision
from .collision.plane_mesh import lowest_corners
from .constraint.contact_force import FORCE_MAKERS, contact_wrenches
from .constraint.diagonal import exact_diagonal
from .constraint.equality import equality_rows
from .constraint.make import make_constraint
from .constraint.reference import reference_constraint
from .constraint.rne_post import rne_post_constraint
from .dynamics.aba import aba
from .dynamics.acceleration import fwd_acceleration
from .dynamics.actuation import actuator_dynamics, actuator_forces, fwd_actuation
from .dynamics.camlight import camlight
from .dynamics.com import com_pos
from .dynamics.crb import crb, make_m
from .dynamics.energy import energy_pos, energy_vel
from .dynamics.factor import factor_m, multiply
from .dynamics.fluid import fluid
from .dynamics.kinematics import kinematics
from .dynamics.passive import passive
from .dynamics.rne import rne_bias, rne_inverse
from .dynamics.subtree import subtree_vel
from .dynamics.tendon import tendon, tendon_bias, tendon_path, tendon_velocity
from .dynamics.transmission import actuator_velocities, transmission
from .dynamics.velocity import com_vel
from .integrator.derivative import smooth_derivative
from .integrator.euler import euler
from .integrator.implicit import discrete_acceleration, implicit, implicitfast
from .integrator.rk4 import rk4_finish, rk4_move, rk4_record, rk4_start, rk4_undo
from .kernel import function, stage
from .sensor.acceleration import acceleration_readings
from .sensor.contact import contact_readings
from .sensor.delivery import sensor_acc, sensor_history, sensor_pos, sensor_vel
from .sensor.position import position_readings
from .sensor.rays import rangefinders
from .sensor.velocity import velocity_readings
from .solver.cg import solve_cg
from .solver.inverse import bring_back_forward, difference, inv_constraint, keep_forward
from .solver.newton import newton_direction, solve_newton
from .solver.noslip import solve_noslip
from .solver.pgs import solve_pgs
from .solver.solve import fwd_constraint
from .types import EnableBit, Integrator

RK4, IMPLICIT, IMPLICITFAST = int(Integrator.RK4), int(Integrator.IMPLICIT), int(Integrator.IMPLICITFAST)
ENERGY, INVDISCRETE, DIAGEXACT = (int(bit) for bit in (EnableBit.ENERGY, EnableBit.INVDISCRETE, EnableBit.DIAGEXACT))


@stage
def fwd_position(m, d):
    """All that depends on positions alone. MuJoCo's mj_fwdPosition."""
    d.flg_energypos[0] = False
    kinematics(m, d)
    com_pos(m, d)
    camlight(m, d)
    tendon(m, d)
    tendon_path(m, d)
    make_m(m, d)
    factor_m(m, d)
    collision(m, d)
    make_constraint(m, d)
    if m.opt_enableflags & DIAGEXACT:
        exact_diagonal(m, d)
    transmission(m, d)


@stage
def fwd_velocity(m, d):
    """All that depends on positions and velocities. MuJoCo's mj_fwdVelocity."""
    d.flg_subtreevel[0] = False
    d.flg_energyvel[0] = False
    tendon_velocity(m, d)
    actuator_velocities(m, d)
    com_vel(m, d)
    passive(m, d)
    reference_constraint(m, d)
    rne_bias(m, d)
    tendon_bias(m, d)


@stage
def energy_after_position(m, d):
    """Potential energy if the flag asks and no sensor did; without the flag both are zero. Part of MuJoCo's mj_forward."""
    if not d.flg_energypos[0]:
        if m.opt_enableflags & ENERGY:
            energy_pos(m, d)
        else:
            d.energy[0] = 0.0
            d.energy[1] = 0.0


@stage
def energy_after_velocity(m, d):
    """Kinetic energy if the flag asks for it and no sensor did. Part of MuJoCo's mj_forward."""
    if m.opt_enableflags & ENERGY and not d.flg_energyvel[0]:
        energy_vel(m, d)


@stage
def forward(m, d):
    """Forward dynamics: from state, controls and applied forces to accelerations. MuJoCo's mj_forward."""
    fwd_position(m, d)
    if m.nsensor > 0:
        sensor_pos(m, d)
    energy_after_position(m, d)
    fwd_velocity(m, d)
    if m.nsensor > 0:
        sensor_vel(m, d)
    energy_after_velocity(m, d)
    fwd_actuation(m, d)
    fwd_acceleration(m, d)
    fwd_constraint(m, d)
    d.flg_rnepost[0] = False
    if m.nsensor > 0:
        sensor_acc(m, d)


@stage
def forward_without_sensors(m, d):
    """Forward dynamics with sensors skipped, for the substeps of integrators. MuJoCo's mj_forwardSkip."""
    fwd_position(m, d)
    energy_after_position(m, d)
    fwd_velocity(m, d)
    energy_after_velocity(m, d)
    fwd_actuation(m, d)
    fwd_acceleration(m, d)
    fwd_constraint(m, d)


@function(k=int, share="1")
def rk4_move_to(m, d, a):
    rk4_move(m, d, a.k, a.share[0])


@function(k=int, share="1")
def rk4_keep(m, d, a):
    rk4_record(m, d, a.k, a.share[0])


@stage
def rk4_begin(m, d):
    """The start of an RK4 step, for stepping with callbacks. Part of MuJoCo's mj_RungeKutta."""
    rk4_start(m, d)


@stage
def rk4_end(m, d):
    """The end of an RK4 step, for stepping with callbacks. Part of MuJoCo's mj_RungeKutta."""
    rk4_finish(m, d)


@stage(rare=True)
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
    rk4_finish(m, d)


@stage
def integrate(m, d):
    """The next state from the accelerations of `forward`, by the integrator of the model. MuJoCo's mj_Euler and others."""
    if m.opt_integrator == RK4:
        rk4(m, d)
    elif m.opt_integrator == IMPLICIT:
        implicit(m, d)
    elif m.opt_integrator == IMPLICITFAST:
        implicitfast(m, d)
    else:
        euler(m, d)


@stage
def inverse_acceleration(m, d):
    """Joint forces that explain qacc, after the position and velocity stages: qfrc_inverse. Part of MuJoCo's mj_inverse.

    With discrete inverse dynamics qacc is left as that of continuous time, for the sensors, until `restore_acceleration`.
    """
    for i in range(m.nv):
        d.saved_acc[i] = d.qacc[i]
    if m.opt_enableflags & INVDISCRETE:
        discrete_acceleration(m, d)
    inv_constraint(m, d)
    multiply(m, d.M, d.qacc, d.qfrc_inverse)
    for i in range(m.nv):
        d.qfrc_inverse[i] += d.qfrc_bias[i] - d.qfrc_passive[i] - d.qfrc_constraint[i]


@stage
def restore_acceleration(m, d):
    """Put qacc back as the user gave it. The end of MuJoCo's mj_inverse."""
    for i in range(m.nv):
        d.qacc[i] = d.saved_acc[i]


@stage(rare=True)
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


@stage
def inverse(m, d):
    """Inverse dynamics: the joint forces that give qacc: qfrc_inverse. MuJoCo's mj_inverse."""
    fwd_position(m, d)
    if m.nsensor > 0:
        sensor_pos(m, d)
    if m.opt_enableflags & ENERGY and not d.flg_energypos[0]:
        energy_pos(m, d)
    fwd_velocity(m, d)
    if m.nsensor > 0:
        sensor_vel(m, d)
    energy_after_velocity(m, d)
    inverse_acceleration(m, d)
    d.flg_rnepost[0] = False
    if m.nsensor > 0:
        sensor_acc(m, d)
    restore_acceleration(m, d)


FORCE_MAKERS += [fwd_constraint, inv_constraint]

__all__ = [
    "aba",
    "acceleration_readings",
    "actuator_dynamics",
    "actuator_forces",
    "box_with_box",
    "camlight",
    "capsule_with_box",
    "com_pos",
    "collision",
    "com_vel",
    "compare_fwd_inv",
    "contact_readings",
    "contact_wrenches",
    "crb",
    "discrete_acceleration",
    "energy_after_position",
    "energy_after_velocity",
    "energy_pos",
    "energy_vel",
    "equality_rows",
    "euler",
    "exact_diagonal",
    "factor_m",
    "fluid",
    "forward",
    "forward_without_sensors",
    "fwd_acceleration",
    "fwd_actuation",
    "fwd_constraint",
    "fwd_position",
    "fwd_velocity",
    "implicit",
    "implicitfast",
    "integrate",
    "inv_constraint",
    "inverse",
    "inverse_acceleration",
    "kinematics",
    "lowest_corners",
    "make_constraint",
    "make_m",
    "newton_direction",
    "passive",
    "position_readings",
    "rangefinders",
    "reference_constraint",
    "restore_acceleration",
    "rk4",
    "rk4_begin",
    "rk4_end",
    "rk4_keep",
    "rk4_move_to",
    "rne_bias",
    "rne_inverse",
    "rne_post_constraint",
    "sensor_acc",
    "sensor_history",
    "sensor_pos",
    "sensor_vel",
    "smooth_derivative",
    "solve_cg",
    "solve_newton",
    "solve_noslip",
    "solve_pgs",
    "subtree_vel",
    "tendon",
    "tendon_bias",
    "tendon_path",
    "tendon_velocity",
    "transmission",
    "velocity_readings",
]
