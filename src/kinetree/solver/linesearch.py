"""Line search along the solver's step, on a cost that is convex and piecewise quadratic or smooth.

MuJoCo: PrimalSearch in engine_solver.c. Newton's iteration on the slope until it is beyond the minimum, then between the last
two points from both ends and by halves. It ends where the slope is small, or when ls_iterations evaluations are spent: at least
two, and a round that has begun is finished. Steps are MuJoCo's for any budget, also where it ends on a cost that is higher.
Each world stops by itself. Reads: efc_jar, efc_Jv, sol_Ma, sol_Mv, sol_step, qfrc_smooth and what `cost.py` reads.
"""

from ..constraint.island import DOFS, DOFS_END, END, FIRST, ROWS, ROWS_END
from ..kernel import kernel
from ..kernel.ops import absolute, any_, maximum, minimum, not_, sqrt, where, zero
from ..math.constants import MIN_VALUE, coarse
from ..types import Constraint
from .cone import middle_mass, scale_of, zones
from .cost import friction_bound

LENGTH, COST, SLOPE, BEND = 0, 1, 2, 3  # of a point on the line


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
    inside, was_inside = absolute(x) < bound, absolute(start) < bound
    slope = where(inside, mass * x, where(x > 0.0, f, -f)) * v
    change = friction_cost(x, f, bound, mass) - friction_cost(start, f, bound, mass)
    # on one piece from the step alone: the difference of two costs would drown small changes in rounding
    change = where(inside & was_inside, a * v * mass * (start + 0.5 * a * v), change)
    change = where((x >= bound) & (start >= bound), a * v * f, change)
    change = where((x <= -bound) & (start <= -bound), -a * v * f, change)
    return change, slope, where(inside, mass * v * v, 0.0)


@kernel
def cone_cost(normal, tangent, mu, curvature, stuck_cost):
    """Cost of an elliptic contact, and masks of the zones: bottom, middle."""
    stuck, between = zones(normal, tangent, 1.0, mu)
    gap = normal - mu * tangent
    return where(stuck, stuck_cost, where(between, 0.5 * curvature * gap * gap, 0.0)), stuck, between


@kernel
def along_elliptic(d, at, step, masses, k, i, n, a):
    """Change of cost, slope and curvature of an elliptic contact k at step length a; n entries from i on are its own."""
    mu, curvature = scale_of(d, k, 0), middle_mass(masses[i], scale_of(d, k, 0))
    u0, v0 = at[i] * mu, step[i] * mu
    uu = uv = vv = quad0 = quad1 = quad2 = zero(u0)
    for j in range(n):
        x, v, mass = at[i + j], step[i + j], masses[i + j]
        quad0 += 0.5 * mass * x * x
        quad1 += mass * x * v
        quad2 += mass * v * v
        if j > 0:
            f = scale_of(d, k, j)
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
    both = between & was_between  # the difference of squares as a product, for the same reason
    slide = a * (v0 - mu * (2.0 * uv + a * vv) / where(both, tangent + start, 1.0))
    change = where(both, 0.5 * curvature * slide * (gap + u0 - mu * start), change)
    slope = where(stuck, quad1 + a * quad2, where(between, curvature * gap * gap1, 0.0))
    bend = where(stuck, quad2, where(between, curvature * (gap1 * gap1 - gap * mu * t2), 0.0))
    return change, slope, bend


@kernel
def along_one_sided(d, i, a):
    """Change of cost, slope and curvature of a row that pushes only; if it pushes all along, a parabola for the change.

    The parabola is the slope at the start and the curvature, zero of other rows.
    """
    start, v, mass = d.efc_jar[i], d.efc_Jv[i], d.efc_D[i]
    x = start + a * v
    weight, was = where(x < 0.0, mass, 0.0), where(start < 0.0, mass, 0.0)
    both = where(start < 0.0, weight, 0.0)
    return (
        0.5 * ((weight - both) * x * x - (was - both) * start * start),
        weight * x * v,
        weight * v * v,
        both * start * v,
        both * v * v,
    )


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
    """Change of the group's cost, its slope and its curvature at step length a; gauss1, gauss2: of its quadratic part.

    Parabolas are added up before the length is put in: what rounding does to the sums is then the same at all lengths, and
    changes are told apart that are far smaller than the cost.
    """
    cost, slope, bend = zero(a), gauss1 + a * gauss2, gauss2
    linear, square = gauss1, gauss2
    losses = d.ne[0] + d.nf[0]
    for run in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        first, end = d.row_run[run, FIRST], d.row_run[run, END]
        for i in range(maximum(first, d.ne[0]), minimum(end, losses)):
            c, s, b = along_friction(d, i, a)
            cost, slope, bend = cost + c, slope + s, bend + b
        i = maximum(first, losses)
        while i < end:
            n = 1
            if d.efc_type[i] == Constraint.CONTACT_ELLIPTIC:
                n = d.contact_dim[d.efc_id[i]]
                c, s, b = along_elliptic(d, d.efc_jar, d.efc_Jv, d.efc_D, d.efc_id[i], i, n, a)
            else:
                c, s, b, s0, b0 = along_one_sided(d, i, a)
                linear, square = linear + s0, square + b0
            cost, slope, bend = cost + c, slope + s, bend + b
            i += n
    return cost + a * (linear + 0.5 * a * square), slope, where(bend > 0.0, bend, MIN_VALUE)


@kernel
def point(d, g, a, gauss1, gauss2):
    """Step length a, and the change of cost, the slope and the curvature there."""
    cost, slope, bend = along(d, g, a, gauss1, gauss2)
    return a, cost, slope, bend


@kernel
def origin(d, g, least, gauss1, gauss2):
    """The point at which the step begins."""
    return point(d, g, zero(least), gauss1, gauss2)


@kernel
def pick(condition, p, q):
    """Point p where the condition holds, else q."""
    return (
        where(condition, p[LENGTH], q[LENGTH]),
        where(condition, p[COST], q[COST]),
        where(condition, p[SLOPE], q[SLOPE]),
        where(condition, p[BEND], q[BEND]),
    )


@kernel
def newton_length(p):
    """Where the parabola that fits the cost at a point has its minimum."""
    return p[LENGTH] - p[SLOPE] / p[BEND]


@kernel
def is_flat(p, least):
    """Whether the slope at a point is below `least`."""
    return absolute(p[SLOPE]) < least


@kernel
def flatter(p, q):
    """Whether q is on the same side of the minimum as p, and its slope is less."""
    falling = (p[SLOPE] < 0.0) & (q[SLOPE] < 0.0) & (p[SLOPE] < q[SLOPE])
    return falling | ((p[SLOPE] > 0.0) & (q[SLOPE] > 0.0) & (p[SLOPE] > q[SLOPE]))


@kernel
def tighten(p, first, second, third):
    """The flattest of an end of the bracket and three points on its side; whether it is another one."""
    by_first = flatter(p, first)
    p = pick(by_first, first, p)
    by_second = flatter(p, second)
    p = pick(by_second, second, p)
    by_third = flatter(p, third)
    return pick(by_third, third, p), by_first | by_second | by_third


@kernel
def lowest_flat(p, q, r, least):
    """Of three points that with the lowest cost among those that are flat; whether one is."""
    p_flat, q_flat, r_flat = is_flat(p, least), is_flat(q, least), is_flat(r, least)
    best = pick(q_flat & (not_(p_flat) | (q[COST] < p[COST])), q, p)
    best = pick(r_flat & (not_(p_flat | q_flat) | (r[COST] < best[COST])), r, best)
    return best, p_flat | q_flat | r_flat


@kernel
def approach(m, d, g, gauss1, gauss2, least, going):
    """Newton's iteration on the slope until it is beyond the minimum.

    Returns the last two points, evaluations, who has to go on, and the slope that counts as none: single precision cannot tell
    less of it than a share of the first.
    """
    before = origin(d, g, least, gauss1, gauss2)
    if any_(coarse(least) > 0.0):
        least = maximum(least, 8.0 * coarse(least) * absolute(before[SLOPE]))
    here = point(d, g, newton_length(before), gauss1, gauss2)
    count = zero(least) + 2.0
    going = going & not_(is_flat(here, least) & ((here[LENGTH] == 0.0) | (here[COST] < 0.0)))
    side = where(here[SLOPE] < 0.0, zero(least) + 1.0, -1.0)
    moving = going & (here[SLOPE] * side <= -least) & (count < m.opt_ls_iterations)
    while any_(moving):
        before = pick(moving, here, before)
        here = pick(moving, point(d, g, newton_length(here), gauss1, gauss2), here)
        count = where(moving, count + 1.0, count)
        going = going & not_(moving & is_flat(here, least) & (here[COST] < 0.0))
        moving = moving & going & (here[SLOPE] * side <= -least) & (count < m.opt_ls_iterations)
    return here, before, count, going & (count < m.opt_ls_iterations), least


@kernel
def narrow(m, d, g, gauss1, gauss2, least, p, q, count, going):
    """From a bracket p, q on: Newton's iteration from both ends, and halves. Where it ends; p in worlds that do not go."""
    out, undecided = p, going
    next_p = next_q = middle = p
    move_p, move_q = going, going & not_(going)
    while any_(going):
        for which in range(3):  # so that what evaluates a point is there once
            a, wanted = newton_length(p), move_p
            if which == 1:
                a, wanted = newton_length(q), move_q
            elif which == 2:
                going = going & (count < m.opt_ls_iterations)
                a, wanted = 0.5 * (p[LENGTH] + q[LENGTH]), going
            if any_(wanted):
                new = point(d, g, a, gauss1, gauss2)
                count = where(wanted, count + 1.0, count)
                if which == 0:
                    next_p = pick(wanted, new, next_p)
                elif which == 1:
                    next_q = pick(wanted, new, next_q)
                else:
                    middle = pick(wanted, new, middle)
        best, flat = lowest_flat(next_p, next_q, middle, least)
        new_p, move_p = tighten(p, next_p, next_q, middle)
        new_q, move_q = tighten(q, next_p, next_q, middle)
        done = going & (flat | not_(move_p | move_q))  # else rounding leaves nothing between the ends
        out = pick(done, pick(flat, best, middle), out)
        going, undecided = going & not_(done), undecided & not_(done)
        move_p, move_q = move_p & going, move_q & going
        p, q = pick(move_p, new_p, p), pick(move_q, new_q, q)
    o = zero(least)
    q_low = (q[COST] <= p[COST]) & (q[COST] < 0.0)
    lower = pick((p[COST] <= q[COST]) & (p[COST] < 0.0), p, pick(q_low, q, (o, o, o, o)))
    return pick(undecided, lower, out)


@kernel
def search(m, d, g, tolerance, active):
    """Length of a group's step, the decrease of the cost, and the slope that is left for a step of unit length.

    All are zero in worlds that are not active. A budget that is spent before there is a bracket may end on a higher cost, and
    then the decrease is negative. tolerance: slope at which to stop, for a unit step.
    """
    gauss1, gauss2, norm = quadratic_part(m, d, g)
    going = active & (norm >= MIN_VALUE)
    here, before, count, unsettled, least = approach(m, d, g, gauss1, gauss2, tolerance * norm, going)
    if any_(unsettled):
        here = narrow(m, d, g, gauss1, gauss2, least, here, before, count, unsettled)
    slope = absolute(here[SLOPE]) / where(norm > 0.0, norm, 1.0)
    return where(going, here[LENGTH], 0.0), where(going, -here[COST], 0.0), where(going, slope, 0.0)
