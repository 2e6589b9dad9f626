"""The cost of rows in slots: forces, roots of curvatures, and what changes along a step.

A group that is a pyramid has four edges, sums and differences of its slots; one that is not has three rows. Each edge or row
has a cost that is quadratic between two ends and goes on along a line: D h (x - h / 2) with h the place held between the ends.
So a limit or an edge ends at 0, a friction loss at both sides, an equality nowhere. Elliptic cones are those of `cone.py`.
Roots C of the curvature W = C C' are upper triangles, known without roots or divisions for pyramids, whose edges have one mass.
What of the force is not -W x is the constant part of friction losses beyond their ends (slot_rest).
Reads: slot_x, slot_u, slot_mass, slot_root, slot_low, slot_high, slot_scale, slot_contact.
Writes: slot_force, slot_C, slot_rest, slot_live, slot_nlive.
"""

from ..kernel import kernel
from ..kernel.ops import any_, eps, huge, maximum, minimum, sqrt, where, zero
from ..kernel.variant import variant
from ..math.constants import MIN_VALUE
from ..types import Cone
from .cone import put_curvature, scale_of, set_cone_hessian, update_cone
from .linesearch import along, along_elliptic, origin, quadratic_part, search
from .slot_product import length_of_step, trace_of
from .slots import CONE, CONES, GROUPS, PYRAMID, WIDE_AT_HAND

ROOT2 = 1.4142135623730951
FORCE, ROOT, REST = 0, 1, 2  # of an edge


@kernel
def scale_of_slot(d, k, j):
    """By what coordinate j of the elliptic contact in slots from k on is scaled to make its cone circular."""
    return d.slot_scale[k + j]


@kernel
def put_slot_curvature(d, k, place, value):
    """An entry of the curvature of the contact at hand."""
    d.slot_W[place] = value


update_slot_cone = variant("slots", update_cone, {scale_of: scale_of_slot})
set_slot_hessian = variant("slots", set_cone_hessian, {scale_of: scale_of_slot, put_curvature: put_slot_curvature})
along_slot_cone = variant("slots", along_elliptic, {scale_of: scale_of_slot})


@kernel
def edges(d, x, k, pyramid):
    """Places of four edges where a group is a pyramid, else of its three rows, and a zero."""
    x0, x1, x2 = x[k], x[k + 1], x[k + 2]
    return (
        where(pyramid, x0 + x1, x0),
        where(pyramid, x0 - x1, x1),
        where(pyramid, x0 + x2, x2),
        where(pyramid, x0 - x2, 0.0),
    )


@kernel
def edge_cost(d, k, x):
    """Force, root of the curvature and constant part of the force of an edge or row with the mass of slot k."""
    held = minimum(d.slot_high[k], maximum(d.slot_low[k], x))  # x is what is left if it is not a number
    inside = (x > d.slot_low[k]) & (x < d.slot_high[k])
    force = -d.slot_mass[k] * held
    return force, where(inside, d.slot_root[k], 0.0), where(inside, 0.0, force)


@kernel
def put_three(d, k, forces, roots):
    """Forces of a group and the upper triangle of its root."""
    d.slot_force[k], d.slot_force[k + 1], d.slot_force[k + 2] = forces[0], forces[1], forces[2]
    d.slot_C[k, 0], d.slot_C[k, 1], d.slot_C[k, 2] = roots[0], roots[1], roots[2]
    d.slot_C[k + 1, 1], d.slot_C[k + 1, 2], d.slot_C[k + 2, 2] = roots[3], roots[4], roots[5]


@kernel
def update_edges(d, k, pyramid):
    """A group of a pyramid or of single rows."""
    x = edges(d, d.slot_x, k, pyramid)
    p, q = edge_cost(d, k, x[0]), edge_cost(d, k + 1, x[1])
    r, s = edge_cost(d, k + 2, x[2]), edge_cost(d, k + 2, x[3])
    last, root = where(pyramid, s[FORCE], 0.0), where(pyramid, s[ROOT], 0.0)
    f0 = p[FORCE] + where(pyramid, q[FORCE] + (r[FORCE] + last), 0.0)
    f1, f2 = where(pyramid, p[FORCE] - q[FORCE], q[FORCE]), r[FORCE] - last
    m1, m2 = minimum(p[ROOT], q[ROOT]), minimum(r[ROOT], root)
    c00 = where(pyramid, ROOT2 * maximum(m1, m2) + (2.0 - ROOT2) * minimum(m1, m2), p[ROOT])
    c01, c02 = where(pyramid, p[ROOT] - q[ROOT], 0.0), where(pyramid, r[ROOT] - root, 0.0)
    c11 = where(pyramid, maximum(p[ROOT], q[ROOT]) + (ROOT2 - 1.0) * m1, q[ROOT])
    c22 = maximum(r[ROOT], root) + (ROOT2 - 1.0) * m2
    put_three(d, k, (f0, f1, f2), (c00, c01, c02, c11, zero(c22), c22))
    d.slot_rest[k], d.slot_rest[k + 1] = where(pyramid, 0.0, p[REST]), where(pyramid, 0.0, q[REST])
    d.slot_rest[k + 2] = where(pyramid, 0.0, r[REST])


@kernel
def update_wide_pyramid(d, k):
    """A pyramid of dimension 4 or 6, from slot k on: pairs of edges across the same normal."""
    total = square = zero(d.slot_x[k])
    for j in range(1, 6):
        up, down = d.slot_x[k] + d.slot_x[k + j], d.slot_x[k] - d.slot_x[k + j]
        mass, root = d.slot_mass[k + j], d.slot_root[k + j]
        above, below = -mass * minimum(0.0, up), -mass * minimum(0.0, down)
        a, b = where(up < 0.0, root, 0.0), where(down < 0.0, root, 0.0)
        for i in range(1, j):
            d.slot_C[k + i, j] = 0.0
        d.slot_C[k, j], d.slot_C[k + j, j] = a - b, maximum(a, b) + (ROOT2 - 1.0) * minimum(a, b)
        d.slot_force[k + j] = above - below
        total += above + below
        square += 2.0 * minimum(a, b) * minimum(a, b)
    d.slot_force[k], d.slot_C[k, 0] = total, sqrt(square)


@kernel
def factor_curvature(d, k, n):
    """slot_W = C C' with an upper triangle C, into slots from k on. It has no curvature along the edge of a cone."""
    for j in range(n):
        d.slot_z[k + j] = d.slot_W[n * j + j]
    for j in range(n - 1, -1, -1):
        pivot = d.slot_W[n * j + j]
        positive = pivot > 8.0 * eps(pivot) * d.slot_z[k + j]
        root = sqrt(where(positive, pivot, 0.0))
        inverse = where(positive, 1.0 / where(positive, root, 1.0), 0.0)
        d.slot_C[k + j, j] = root
        for i in range(j):
            d.slot_C[k + i, j] = d.slot_W[n * i + j] * inverse
        for i in range(j):
            for h in range(i, j):
                d.slot_W[n * i + h] -= d.slot_C[k + i, j] * d.slot_C[k + h, j]


@kernel
def update_elliptic(d, k, n):
    """An elliptic contact in n slots from k on."""
    part, in_middle, normal, tangent, curvature = update_slot_cone(
        d, d.slot_x, d.slot_mass, d.slot_force, d.slot_half, k, k, n
    )
    set_slot_hessian(d, d.slot_x, k, k, n, in_middle, normal, tangent, curvature)
    for j in range(n):
        d.slot_W[n * j + j] += d.slot_half[k + j]
    factor_curvature(d, k, n)


@kernel
def update_either(d, k, contact, never):
    """A group of an elliptic contact of dimension 3 or of single rows; none is a pyramid."""
    update_elliptic(d, k, 3)
    f0, f1, f2 = d.slot_force[k], d.slot_force[k + 1], d.slot_force[k + 2]
    c00, c01, c02 = d.slot_C[k, 0], d.slot_C[k, 1], d.slot_C[k, 2]
    c11, c12, c22 = d.slot_C[k + 1, 1], d.slot_C[k + 1, 2], d.slot_C[k + 2, 2]
    update_edges(d, k, never)
    for j in range(3):
        d.slot_rest[k + j] = where(contact, 0.0, d.slot_rest[k + j])
    d.slot_force[k], d.slot_force[k + 1] = where(contact, f0, d.slot_force[k]), where(contact, f1, d.slot_force[k + 1])
    d.slot_force[k + 2] = where(contact, f2, d.slot_force[k + 2])
    d.slot_C[k, 0], d.slot_C[k, 1] = where(contact, c00, d.slot_C[k, 0]), where(contact, c01, d.slot_C[k, 1])
    d.slot_C[k, 2], d.slot_C[k + 1, 1] = where(contact, c02, d.slot_C[k, 2]), where(contact, c11, d.slot_C[k + 1, 1])
    d.slot_C[k + 1, 2], d.slot_C[k + 2, 2] = where(contact, c12, 0.0), where(contact, c22, d.slot_C[k + 2, 2])


@kernel
def bends(d, g):
    """Whether a group has curvature or a constant force."""
    k, column = 3 * g, 3 if g < d.slot_at[WIDE_AT_HAND] and g % 2 == 1 else 0
    root = d.slot_C[k, column] + d.slot_C[k + 1, column + 1] + d.slot_C[k + 2, column + 2]
    return (root > 0.0) | (d.slot_rest[k] != 0.0) | (d.slot_rest[k + 1] != 0.0) | (d.slot_rest[k + 2] != 0.0)


@kernel
def list_live(d):
    """Groups that have some in any world; both of a wide contact."""
    count, g = 0, 0
    while g < d.slot_at[GROUPS]:
        wide = g < d.slot_at[WIDE_AT_HAND]
        there = bends(d, g) | bends(d, g + 1) if wide else bends(d, g)
        if any_(there):
            d.slot_live[count] = g
            count += 1
            if wide:
                d.slot_live[count] = g + 1
                count += 1
        g += 2 if wide else 1
    d.slot_nlive[0] = count


@kernel
def update_slots(d, n, cones):
    """Forces and roots of curvatures at slot_x. cones: whether contacts are elliptic."""
    wide = d.slot_at[WIDE_AT_HAND]
    for g in range(0, wide, 2):
        for j in range(6):
            d.slot_rest[3 * g + j] = 0.0
        if cones:
            update_elliptic(d, 3 * g, 6)
        else:
            update_wide_pyramid(d, 3 * g)
    for g in range(wide, n):
        if cones:
            update_either(d, 3 * g, d.slot_contact[g] == CONE, d.slot_contact[g] == PYRAMID)
        else:
            update_edges(d, 3 * g, d.slot_contact[g] == PYRAMID)
    list_live(d)


@kernel
def edge_change(mass, low, high, s, v, a):
    """By how much cost, slope and curvature of an edge or row differ at step length a from a parabola that fits the start."""
    x = s + a * v
    held, held_before = minimum(high, maximum(low, x)), minimum(high, maximum(low, s))
    was, stays = (s > low) & (s < high), (x > low) & (x < high)
    slope = where(was, held - x, held - held_before)
    by = where(was, x - held, 2.0 * x - (held + held_before))
    bend = where(stays, mass, 0.0) - where(was, mass, 0.0)
    return 0.5 * (mass * slope) * by, mass * slope * v, bend * v * v


@kernel
def change_of(d, k, s, v, a):
    """The same of an edge or row with the mass of slot k."""
    return edge_change(d.slot_mass[k], d.slot_low[k], d.slot_high[k], s, v, a)


@kernel
def along_edges(d, k, pyramid, a):
    """The same of a pyramid of dimension 3 or of single rows."""
    s, v = edges(d, d.slot_x, k, pyramid), edges(d, d.slot_u, k, pyramid)
    p, q = change_of(d, k, s[0], v[0], a), change_of(d, k + 1, s[1], v[1], a)
    r, t = change_of(d, k + 2, s[2], v[2], a), change_of(d, k + 2, s[3], v[3], a)
    return (
        p[0] + q[0] + (r[0] + where(pyramid, t[0], 0.0)),
        p[1] + q[1] + (r[1] + where(pyramid, t[1], 0.0)),
        p[2] + q[2] + (r[2] + where(pyramid, t[2], 0.0)),
    )


@kernel
def along_wide_pyramid(d, k, a):
    """The same of a pyramid of dimension 4 or 6."""
    o = zero(a)
    cost = slope = bend = o
    for j in range(1, 6):
        x, y, u, w, mass = d.slot_x[k], d.slot_x[k + j], d.slot_u[k], d.slot_u[k + j], d.slot_mass[k + j]
        p, q = edge_change(mass, -huge(a), o, x + y, u + w, a), edge_change(mass, -huge(a), o, x - y, u - w, a)
        cost, slope, bend = cost + (p[0] + q[0]), slope + (p[1] + q[1]), bend + (p[2] + q[2])
    return cost, slope, bend


@kernel
def along_elliptic_slots(d, k, n, contact, a):
    """Change of cost, slope and curvature of an elliptic contact in n slots from k on, where there is one."""
    cost, slope, bend = along_slot_cone(d, d.slot_x, d.slot_u, d.slot_mass, k, k, n, a)
    return where(contact, cost, 0.0), where(contact, slope, 0.0), where(contact, bend, 0.0)


@kernel
def along_cones(d, n, a):
    """The same of all elliptic contacts."""
    cost = slope = bend = zero(a)
    g = 0
    while g < n:
        wide = g < d.slot_at[WIDE_AT_HAND]
        c, s, b = along_elliptic_slots(d, 3 * g, 6 if wide else 3, d.slot_contact[g] == CONE, a)
        cost, slope, bend = cost + c, slope + s, bend + b
        g += 2 if wide else 1
    return cost, slope, bend


@kernel
def slot_parabola(m, d, n):
    """Slope at the start and curvature of what is quadratic all along the step but for changes of edges and cones; its length.

    The slope is minus the curvature, as the step is Newton's. The length tells what slope at its end is small: where that is
    nothing at all, a lower bound will do.
    """
    gauss1, gauss2 = -d.slot_fall[0], d.slot_fall[0]
    if m.opt_cone == Cone.ELLIPTIC:
        _, slope, bend = along_cones(d, n, zero(gauss1))
        gauss1, gauss2 = gauss1 - slope, gauss2 - bend
    _, slope, _ = along_slots(d, n, zero(gauss1) + 1.0, gauss1, gauss2)
    length = sqrt(d.slot_square[0] / trace_of(m, d))
    if any_(slope != 0.0):
        length = where(slope != 0.0, length_of_step(m, d), length)
    return gauss1, gauss2, length


@kernel
def slot_origin(d, n, least, gauss1, gauss2):
    """The point at which the step begins, from where Newton's iteration leads to its end."""
    fall = d.slot_fall[0]
    return zero(fall), zero(fall), -fall, where(fall > 0.0, fall, MIN_VALUE)


@kernel
def along_slots(d, n, a, gauss1, gauss2):
    """Change of the cost, its slope and its curvature at step length a. Only edges that change add to the parabola."""
    cost, slope, bend = a * (gauss1 + 0.5 * a * gauss2), gauss1 + a * gauss2, gauss2
    wide, cones = d.slot_at[WIDE_AT_HAND], d.slot_at[CONES] != 0
    if cones:
        c, s, b = along_cones(d, n, a)
        cost, slope, bend = cost + c, slope + s, bend + b
    else:
        for g in range(0, wide, 2):
            c, s, b = along_wide_pyramid(d, 3 * g, a)
            cost, slope, bend = cost + c, slope + s, bend + b
    for g in range(wide, n):
        c, s, b = along_edges(d, 3 * g, d.slot_contact[g] == PYRAMID, a)
        if cones:
            single = d.slot_contact[g] != CONE
            c, s, b = where(single, c, 0.0), where(single, s, 0.0), where(single, b, 0.0)
        cost, slope, bend = cost + c, slope + s, bend + b
    return cost, slope, where(bend > 0.0, bend, MIN_VALUE)


search_slots = variant("slots", search, {quadratic_part: slot_parabola, origin: slot_origin, along: along_slots})
