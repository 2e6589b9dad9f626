"""Torque limits inside the solve: a torque at its limit no longer answers to the acceleration.

The controller applies clamp(Q - diagonal qacc), so the acceleration solves

    (M + h D) qacc + bias = smooth + clamp(Q - diagonal qacc),    D the damping of the model,

and nothing else: clamping afterwards would leave an acceleration that no torque gives. Where the torque is at its limit it
is held there and its gains add nothing to the diagonal, while the damping of the model stays; the system is then linear,
and it is solved again until the set of held dofs agrees with its solution. There is one such set: the equation is the
gradient of a convex function of qacc, piecewise quadratic, and each solve is a step of Newton's method on it. A step that
passes the minimum on its way ends there, and so the steps come to an end (Sun 1997, On piecewise quadratic Newton and trust
region problems). Three solves are typical.
In a step constraints push as well. Their cost is convex too and is minimised as it is in each solve, so all of this holds: the
limits are those of the acceleration that constraints leave.
Writes: torque, acceleration, gave_up; aba_qacc. Scratch: held, start, start_force, end_force; aba_force, aba_diagonal.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, happens, maximum, minimum, needs, where, zero
from ..math.constants import resolved
from .constrained import constrain, constraint_force, has_rows, set_constraint_force
from .solvers import solve

ROUNDING = 1e-12  # a torque beyond its limit by this share of what it was computed from counts as at the limit
HALVINGS = 50  # of the way to a solution: the minimum must be met, or stiff gains take a hundred solves


@kernel
def clamped(a, i, torque):
    """The torque taken within the limits of dof i; one that is not a number stays none."""
    return where(torque != torque, torque, minimum(maximum(torque, -a.torque_range[i]), a.torque_range[i]))


@kernel
def asked(a, i, acceleration):
    """The torque of dof i that the controller would apply at an acceleration, were there no limit."""
    return a.force[i] - a.diagonal[i] * acceleration


@kernel
def taken(d, a, i):
    """The torque of dof i with which the system was solved last."""
    return where(a.held[i] > 0.5, a.torque[i], asked(a, i, d.aba_qacc[i]))


@kernel
def solve_with_held(m, d, a):
    """The acceleration aba_qacc, with torques given where they are held."""
    for i in range(m.nv):
        held = a.held[i] > 0.5
        d.aba_diagonal[i] = a.damping[i] + where(held, 0.0, a.diagonal[i])
        d.aba_force[i] = a.smooth[i] + where(held, a.torque[i], a.force[i])
    solve(m, d, a)
    if has_rows(d, a):
        constrain(m, d, a)


@kernel
def disagreement(m, d, a):
    """How far the torques of the last solve are from what limits make of them, beyond rounding; zero if they agree."""
    worst = zero(d.time[0])
    for i in range(m.nv):
        torque = asked(a, i, d.aba_qacc[i])
        size = absolute(a.force[i]) + absolute(a.diagonal[i] * d.aba_qacc[i])
        worst = maximum(worst, absolute(taken(d, a, i) - clamped(a, i, torque)) - resolved(ROUNDING, size) * size)
    return worst


@kernel
def hold(m, a, wrong):
    """Hold the torques that are beyond their limits at the start and free the others, in worlds that are wrong."""
    for i in range(m.nv):
        torque = asked(a, i, a.start[i])
        limited = clamped(a, i, torque)
        a.held[i] = where(wrong, where(limited == torque, zero(torque), 1.0), a.held[i])
        a.torque[i] = where(wrong, limited, a.torque[i])


@kernel
def slope(m, d, a, share):
    """Slope of the convex function on the way from the start to the last solution, where a share of it is done.

    The force that an acceleration takes is linear along the way, and known at both ends: M is not needed.
    """
    set_constraint_force(m, d, a, share)
    total = zero(d.time[0])
    for i in range(m.nv):
        way = d.aba_qacc[i] - a.start[i]
        force = a.start_force[i] + share * (a.end_force[i] - a.start_force[i])
        applied = clamped(a, i, asked(a, i, a.start[i] + share * way)) + constraint_force(d, a, i)
        total += way * (force - applied)
    return total


@kernel
def share_of_way(m, d, a):
    """How far to go: all the way, or to the minimum if that comes first."""
    low = zero(d.time[0])
    high = low + 1.0
    beyond = slope(m, d, a, high) > 0.0
    if needs(beyond):
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            rising = slope(m, d, a, middle) > 0.0
            high = where(beyond & rising, middle, high)
            low = where(rising, low, middle)
    return high


@kernel
def take_as_given(m, a, wrong):
    """Hold all torques at what the limits make of them, in worlds that are wrong."""
    for i in range(m.nv):
        a.torque[i] = where(wrong, clamped(a, i, asked(a, i, a.start[i])), a.torque[i])
        a.held[i] = where(wrong, 1.0, a.held[i])


@kernel
def set_start(m, d, a, count):
    """Where the next solve sets out: at the first solution, then on the way to the last one."""
    for i in range(m.nv):
        a.end_force[i] = taken(d, a, i) + constraint_force(d, a, i)
    share = share_of_way(m, d, a) if count > 1 else 1.0 + zero(d.time[0])
    for i in range(m.nv):
        if count == 1:
            a.start_force[i], a.start[i] = a.end_force[i], d.aba_qacc[i]
        else:
            a.start_force[i] += share * (a.end_force[i] - a.start_force[i])
            a.start[i] += share * (d.aba_qacc[i] - a.start[i])


@kernel
def must_go_on(m, d, a, count):
    """Whether another solve is needed after `count` of them, now with other torques held.

    When there have been too many, torques within limits are taken as given, and one more solve ends it.
    """
    if count > a.solves or d.overflow[0] != 0:
        return False
    wrong = disagreement(m, d, a) > 0.0
    if not needs(wrong):
        return False
    set_start(m, d, a, count)
    if count < a.solves:
        hold(m, a, wrong)
    else:
        take_as_given(m, a, wrong)
        if happens(wrong):
            a.unsettled += 1
            a.gave_up[0] = where(wrong, a.gave_up[0] + 1.0, a.gave_up[0])
    return True


@kernel
def solve_within_limits(m, d, a):
    """The torque of the controller and the acceleration under it."""
    for i in range(m.nv):
        a.held[i] = 0.0
        a.torque[i] = 0.0
    count, going = 0, True
    while going:
        solve_with_held(m, d, a)
        count += 1
        going = a.limited != 0 and must_go_on(m, d, a, count)
    for i in range(m.nv):
        torque = taken(d, a, i)
        a.torque[i] = clamped(a, i, torque) if a.limited != 0 else torque
        a.acceleration[i] = d.aba_qacc[i]
