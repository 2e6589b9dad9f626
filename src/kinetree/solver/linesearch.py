"""Exact line search along the solver's step: the cost is convex and piecewise quadratic or smooth, so Newton finds its minimum.

MuJoCo: PrimalSearch in engine_solver.c. Newton's iteration on the slope, kept inside a bracket once there is one; each world
stops by itself. Reads: efc_jar, efc_Jv, sol_Ma, sol_Mv, sol_step, qfrc_smooth and what `cost.py` reads.
"""

from ..constraint.island import DOFS, DOFS_END, END, FIRST, ROWS, ROWS_END
from ..kernel import kernel
from ..kernel.ops import absolute, any_, maximum, minimum, not_, sqrt, where, zero
from ..math.quaternion import MIN_VALUE
from ..types import Constraint
from .cost import friction_bound, middle_mass

ELLIPTIC = int(Constraint.CONTACT_ELLIPTIC)
MOST = 50  # evaluations until the cost is lower at all, even if the model allows less


@kernel
def friction_cost(x, f, bound, mass):
    """Cost of a friction row at x."""
    size = absolute(x)
    return where(size < bound, 0.5 * mass * x * x, f * (size - 0.5 * bound))


@kernel
def along_friction(d, i, a):
    """Change of cost, slope and curvature of a friction row at step length a."""
    start, v, mass = d.efc_jar[i], d.efc_Jv[i], d.efc_D[i]
    x, f, bound = start + a * v, d.efc_frictionloss[i], friction_bound(d, i)
    inside = absolute(x) < bound
    slope = where(inside, mass * x, where(x > 0.0, f, -f)) * v
    change = friction_cost(x, f, bound, mass) - friction_cost(start, f, bound, mass)
    return change, slope, where(inside, mass * v * v, 0.0)


@kernel
def cone_cost(normal, tangent, mu, curvature, stuck_cost):
    """Cost of an elliptic contact, and masks of the zones: bottom, middle."""
    free = (normal >= mu * tangent) | ((tangent <= 0.0) & (normal >= 0.0))
    stuck = not_(free) & ((mu * normal + tangent <= 0.0) | (tangent <= 0.0))
    gap = normal - mu * tangent
    cost = where(free, 0.0, where(stuck, stuck_cost, 0.5 * curvature * gap * gap))
    return cost, stuck, not_(free | stuck)


@kernel
def along_elliptic(d, k, i, n, a):
    """Change of cost, slope and curvature of an elliptic contact at step length a."""
    mu, curvature = d.contact_mu[k], middle_mass(d.efc_D[i], d.contact_mu[k])
    u0, v0 = d.efc_jar[i] * mu, d.efc_Jv[i] * mu
    uu = uv = vv = quad0 = quad1 = quad2 = zero(u0)
    for j in range(n):
        x, v, mass = d.efc_jar[i + j], d.efc_Jv[i + j], d.efc_D[i + j]
        quad0 += 0.5 * mass * x * x
        quad1 += mass * x * v
        quad2 += mass * v * v
        if j > 0:
            f = d.contact_friction[k, j - 1]
            uu += x * x * f * f
            uv += x * v * f * f
            vv += v * v * f * f
    start = sqrt(uu)
    before, was_stuck, was_between = cone_cost(u0, start, mu, curvature, quad0)
    square = uu + a * (2.0 * uv + a * vv)
    normal, tangent = u0 + a * v0, sqrt(where(square > 0.0, square, 0.0))
    rise = a * (quad1 + 0.5 * a * quad2)
    cost, stuck, between = cone_cost(normal, tangent, mu, curvature, quad0 + rise)
    change = where(stuck & was_stuck, rise, cost - before)
    t = where(between, tangent, 1.0)
    t1 = (uv + a * vv) / t
    t2 = vv / t - t1 * t1 / t
    gap, gap1 = normal - mu * tangent, v0 - mu * t1
    both = between & was_between  # the difference of squares as a product: else small changes drown in rounding
    slide = a * (v0 - mu * (2.0 * uv + a * vv) / where(both, tangent + start, 1.0))
    change = where(both, 0.5 * curvature * slide * (gap + u0 - mu * start), change)
    slope = where(stuck, quad1 + a * quad2, where(between, curvature * gap * gap1, 0.0))
    bend = where(stuck, quad2, where(between, curvature * (gap1 * gap1 - gap * mu * t2), 0.0))
    return change, slope, bend


@kernel
def along_one_sided(d, i, a):
    """Change of cost, slope and curvature of a row that pushes only."""
    start, v, mass = d.efc_jar[i], d.efc_Jv[i], d.efc_D[i]
    x = start + a * v
    pressed, was = where(x < 0.0, x, 0.0), where(start < 0.0, start, 0.0)
    weight = where(x < 0.0, mass, 0.0)
    return 0.5 * mass * (pressed - was) * (pressed + was), weight * x * v, weight * v * v


@kernel
def quadratic_part(m, d, g):
    """Slope at the start and curvature of what is quadratic all along the step: the Gauss part and equalities; its norm."""
    slope = bend = square = zero(d.time[0])
    for run in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        for i in range(d.dof_run[run, FIRST], d.dof_run[run, END]):
            v = d.sol_step[i]
            slope += v * (d.sol_Ma[i] - d.qfrc_smooth[i])
            bend += v * d.sol_Mv[i]
            square += v * v
    for run in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        for i in range(d.row_run[run, FIRST], minimum(d.row_run[run, END], d.ne[0])):
            v = d.efc_D[i] * d.efc_Jv[i]
            slope += v * d.efc_jar[i]
            bend += v * d.efc_Jv[i]
    return slope, bend, sqrt(square)


@kernel
def along(d, g, a, gauss1, gauss2):
    """Change of the group's cost, its slope and its curvature at step length a; gauss1, gauss2: of its quadratic part."""
    cost, slope, bend = a * (gauss1 + 0.5 * a * gauss2), gauss1 + a * gauss2, gauss2
    losses = d.ne[0] + d.nf[0]
    for run in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        first, end = d.row_run[run, FIRST], d.row_run[run, END]
        for i in range(maximum(first, d.ne[0]), minimum(end, losses)):
            c, s, b = along_friction(d, i, a)
            cost, slope, bend = cost + c, slope + s, bend + b
        i = maximum(first, losses)
        while i < end:
            n = 1
            if d.efc_type[i] == ELLIPTIC:
                n = d.contact_dim[d.efc_id[i]]
                c, s, b = along_elliptic(d, d.efc_id[i], i, n, a)
            else:
                c, s, b = along_one_sided(d, i, a)
            cost, slope, bend = cost + c, slope + s, bend + b
            i += n
    return cost, slope, where(bend > MIN_VALUE, bend, MIN_VALUE)


@kernel
def search(m, d, g, tolerance, active):
    """Length of a group's step, the decrease of the cost, and the slope that is left for a step of unit length.

    All are zero in worlds that are not active or do not get lower. tolerance: slope at which to stop, for a unit step.
    """
    gauss1, gauss2, norm = quadratic_part(m, d, g)
    _, slope, bend = along(d, g, zero(norm), gauss1, gauss2)
    going = active & (norm >= MIN_VALUE)
    a = where(going, -slope / bend, 0.0)
    low = high = best = cost = zero(a)
    left = absolute(slope)  # the slope at `best`
    bracketed, uphill = slope != slope, slope > 0.0  # the step leads downhill but for rounding: then the way is back
    count = 1
    while any_(going) and (count < m.opt_ls_iterations or (count < MOST and any_(going & not_(cost < 0.0)))):
        c, slope, bend = along(d, g, a, gauss1, gauss2)
        count += 1
        size = absolute(slope)
        better = going & (c < 0.0) & ((size <= left) | not_(cost < 0.0))
        best, cost, left = where(better, a, best), where(better, c, cost), where(better, size, left)
        going = going & not_((size < tolerance * norm) & (c < 0.0))
        rising = slope > 0.0
        high = where(going & rising, a, high)
        low = where(going & not_(rising), a, low)
        bracketed = bracketed | (going & ((rising & not_(uphill)) | (uphill & not_(rising))))
        newton = a - slope / bend
        outside = bracketed & ((newton <= low) | (newton >= high))
        following = where(outside, 0.5 * (low + high), newton)
        going = going & (following != a)
        a = where(going, following, a)
    return best, -cost, left / where(norm > 0.0, norm, 1.0)
