"""The metric of the discrete integrator: M with damping and stiffness at the end of the step, M^ = M + h D + h^2 K.

    M^ qacc = f - h K qvel + J' efc_force,   qvel' = qvel + h qacc,   qpos' = qpos + h qvel'

So qacc is the change of velocity over the step, and constraints are solved against the inertia that makes it. D and K are
derivatives of smooth forces, term by term where they slow down or pull back: springs and dampers of joints, drag, and unless
the solver is PGS springs and dampers of tendons and what actuators feed back. What acts on several dofs by one force stands in
rows of its own (`metric_rows`). Rows of constraints follow: how soft they are goes by the metric, and their springs and
dampers too act at the end of the step.

MuJoCo: the metric of mj_forward with mjINT_DISCRETE (4.0.0). Reads: M, qpos, qvel, plastic, tendons, actuators and their
forces, the rows. Writes: nmetric, metric, metric_LD, metric_LDiagInv, metric_diag, metric_shift, masses of the metric's rows,
and what `impedance` and `reference_acceleration` write. With a medium also qDeriv.
"""

from ..capacity import MAXMETRIC, fits
from ..constraint.diagonal import scale_diagonal, set_exact_diagonal
from ..constraint.impedance import make_impedance
from ..constraint.reference_acceleration import set_implicit_references
from ..dynamics.damping import damping_derivative, resistance_slope, tendon_damping
from ..dynamics.factor import copy_rows, factor_part
from ..dynamics.feedback import actuator_is_implicit, takes_couplings, tendon_is_implicit
from ..dynamics.sleep_state import DOFS, DOFS_END, JOINTS, JOINTS_END, actuator_sleeps, tendon_sleeps
from ..dynamics.spring import (
    is_stiff,
    joint_stiffness,
    rotation_displacement,
    scalar_displacement,
    tendon_displacement,
    tendon_stiffness,
    translation_displacement,
)
from ..kernel import kernel, stage
from ..kernel.ops import maximum, needs, where, zero
from ..math.vec3 import dot, root
from ..needs import integrator
from ..types import DisableBit, EnableBit, Integrator, JointType
from .derivative_actuator import actuator_slope
from .derivative_fluid import add_fluid_derivative, drag_slopes, has_medium
from .derivative_position import length_slope
from .implicit_inertia import add_to_diagonal, place, start_with_derivative, start_with_inertia
from .metric_rows import is_diagonal


@kernel
def pull_slope(stiffness, x):
    """Derivative of the pull of a spring by the displacement x, where it pulls back."""
    return maximum(0.0, stiffness[0] + x * (2.0 * stiffness[1] + x * 3.0 * stiffness[2]))


@kernel
def stiffen(m, d, first, n, slope):
    """Note the stiffness of n dofs: metric_diag, to which dampers are added."""
    for i in range(first, first + n):
        d.metric_diag[i] = m.opt_timestep * slope


@kernel
def add_joint_springs(m, d, first, end):
    """Stiffness of some joints, the same for all dofs that a spring acts on."""
    for j in range(first, end):
        stiffness = joint_stiffness(m, j)
        if needs(is_stiff(stiffness)):
            v, a, kind = m.jnt_dofadr[j], m.jnt_qposadr[j], m.jnt_type[j]
            if kind == JointType.FREE:
                x = translation_displacement(m, d, a)
                stiffen(m, d, v, 3, pull_slope(stiffness, root(dot(x, x))))
                v += 3
                a += 3
            if kind == JointType.FREE or kind == JointType.BALL:
                x = rotation_displacement(m, d, j, a)
                stiffen(m, d, v, 3, pull_slope(stiffness, root(dot(x, x))))
            else:
                stiffen(m, d, v, 1, pull_slope(stiffness, scalar_displacement(m, d, j)))


@kernel
def set_joint_terms(m, d, first, end):
    """What springs and dampers of joints add to the diagonal, and how springs will have changed; whether there is any."""
    h, some = m.opt_timestep, zero(d.time[0])
    for i in range(first, end):
        stiffness, slope = d.metric_diag[i], zero(some)
        if m.opt_disableflags & DisableBit.DAMPER == 0:
            slope = maximum(0.0, damping_derivative(m, d, i))
        d.metric_diag[i] = h * slope + h * stiffness
        d.metric_shift[i] = -stiffness * d.qvel[i]
        some += d.metric_diag[i]
    return some


@kernel
def set_joints(m, d):
    """The same for all that is awake."""
    some = zero(d.time[0])
    for i in range(m.nv):
        d.metric_diag[i], d.metric_shift[i] = 0.0, 0.0
    for run in range(d.nawake_run[0]):
        if m.opt_disableflags & DisableBit.SPRING == 0:
            add_joint_springs(m, d, d.awake_run[run, JOINTS], d.awake_run[run, JOINTS_END])
        some += set_joint_terms(m, d, d.awake_run[run, DOFS], d.awake_run[run, DOFS_END])
    return some


@kernel
def add_coupling(m, d, row, who, values, columns, first, n, rate, stiffness, slope):
    """A term along a row of a Jacobian: onto the diagonal if it has one dof, else as the mass of its own row.

    stiffness, slope: of the force against the row's displacement and rate. What became implicit after rows were given, by the
    user's controls, has none and is left out. Returns the next row of couplings.
    """
    h = m.opt_timestep
    weight = h * h * stiffness + h * slope
    while row < d.nrow[0] and d.efc_id[row] < who:  # is not implicit any more
        row += 1
    alone = n > 0 and is_diagonal(m, columns, first, n)
    listed = not alone and row < d.nrow[0] and d.efc_id[row] == who
    if alone:
        d.metric_diag[columns[first]] += weight * values[first] * values[first]
    elif listed:
        d.efc_D[row] = weight
        row += 1
    if alone or listed:
        for at in range(first, first + n):
            d.metric_shift[columns[at]] -= values[at] * (h * stiffness * rate)
    return row


@kernel
def add_tendons(m, d, row):
    """Springs and dampers of tendons. Returns the next row of couplings."""
    for t in range(m.ntendon):
        if tendon_is_implicit(m, t) and not tendon_sleeps(m, d, t):
            stiffness = slope = zero(d.ten_length[t])
            if m.opt_disableflags & DisableBit.SPRING == 0:
                x = tendon_displacement(m, d, t)
                stiffness = where(x == 0.0, 0.0, pull_slope(tendon_stiffness(m, t), x))
            if m.opt_disableflags & DisableBit.DAMPER == 0:
                slope = maximum(0.0, resistance_slope(tendon_damping(m, t), d.ten_velocity[t]))
            first, n = m.ten_J_rowadr[t], m.ten_J_rownnz[t]
            row = add_coupling(m, d, row, t, d.ten_J, m.ten_J_colind, first, n, d.ten_velocity[t], stiffness, slope)
    return row


@kernel
def add_actuators(m, d, row):
    """What actuators feed back from length and velocity. Returns the next row of couplings."""
    for k in range(m.nactuator):
        if actuator_is_implicit(m, k) and not actuator_sleeps(m, d, k):
            stiffness = maximum(0.0, -length_slope(m, d, k))
            slope = maximum(0.0, -actuator_slope(m, d, k))
            for out in range(m.actuator_outadr[k], m.actuator_outadr[k] + m.actuator_outnum[k]):
                first, n, who = d.moment_rowadr[out], d.moment_rownnz[out], m.ntendon + out
                rate = d.actuator_velocity[out]
                row = add_coupling(m, d, row, who, d.actuator_moment, d.moment_colind, first, n, rate, stiffness, slope)
    return row


@kernel
def set_drag(m, d):
    """The slope of drag in the square pattern: qDeriv."""
    drag_slopes(m, d)
    for run in range(d.nawake_run[0]):
        for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
            for at in range(m.D_rowadr[i], m.D_rowadr[i] + m.D_rownnz[i]):
                d.qDeriv[at] = 0.0
        add_fluid_derivative(m, d, d.qDeriv, run)


@kernel
def set_metric(m, d, drags):
    """What is in the pattern of M: metric."""
    start_with_inertia(m, d, d.metric, 0, m.nv)
    for run in range(d.nawake_run[0]):
        first, end = d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]
        if drags:
            start_with_derivative(m, d, d.metric, m.opt_timestep, first, end)
        add_to_diagonal(m, d.metric, d.metric_diag, first, end)


@kernel
def factor_metric(m, d):
    """Factor it with the diagonal of what its rows couple, and note what the diagonal has more than M's: metric_diag."""
    copy_rows(m, d.metric, d.metric_LD, 0, m.nv)
    for row in range(d.nefc[0], d.nrow[0]):
        for at in range(d.efc_J_rowadr[row], d.efc_J_rowadr[row] + d.efc_J_rownnz[row]):
            d.metric_LD[place(m, d.efc_J_colind[at])] += d.efc_D[row] * d.efc_J[at] * d.efc_J[at]
    for i in range(m.nv):
        d.metric_diag[i] = d.metric_LD[place(m, i)] - d.M[place(m, i)]
    for run in range(d.nawake_run[0]):
        factor_part(m, d.metric_LD, d.metric_LDiagInv, d.awake_run[run, DOFS], d.awake_run[run, DOFS_END])


@kernel
def set_terms(m, d):
    """All that is implicit, if there is any: the metric and its factor."""
    some, drags = set_joints(m, d), has_medium(m)
    row, couples = d.nefc[0], False
    for r in range(d.nefc[0], d.nrow[0]):
        d.efc_D[r] = 0.0
    if takes_couplings(m):
        row = add_actuators(m, d, add_tendons(m, d, row))
        for i in range(m.nv):
            some += d.metric_diag[i]
        couples = d.nrow[0] > d.nefc[0]
    if drags or couples or needs(some != 0.0):
        if drags:
            set_drag(m, d)
        set_metric(m, d, drags)
        factor_metric(m, d)
        d.nmetric[0] = m.nC


@kernel
def set_rows(m, d):
    """Impedances and references of rows in the metric."""
    if m.opt_enableflags & EnableBit.DIAGEXACT:
        if d.nmetric[0] != 0:
            set_exact_diagonal(m, d, d.metric_LD, d.metric_LDiagInv)
        else:
            set_exact_diagonal(m, d, d.qLD, d.qLDiagInv)
    else:
        scale_diagonal(m, d)
    make_impedance(m, d, True)
    set_implicit_references(m, d)


@stage(when=integrator(Integrator.DISCRETE))
def effective_metric(m, d):
    """The inertia with damping and stiffness at the end of the step, and rows of constraints that go by it.

    Comes after positions, velocities and actuation, before accelerations: part of MuJoCo's mj_forward. Without room there is
    none, and this pass will run again.
    """
    d.nmetric[0] = 0
    if fits(d, MAXMETRIC, m.nC):
        set_terms(m, d)
        if d.nefc[0] > 0:
            set_rows(m, d)
