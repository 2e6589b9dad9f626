"""Contacts that geoms will have before the next step is over: speculative contacts, of geoms that might jump over each other.

MuJoCo: EnableBit.SPECULATIVE in mj_collision, mjc_advanceGeomPair. Where a pair of geoms has no contact that gives force and
one of them is fast (`motion.py`), both are moved on until they meet (`advancement.py`). The points in which they do are
carried back to where they are now; between them stands the contact, if nothing is in the way (`sight.py`). Its distance is
not that of the surfaces, but one for which the row's reference acceleration takes off as much speed as lets them just meet
at the end of the step.
Scratch: a row of swept_near for each contact: distance (FAR: none; before the stage runs, 0 in row 0 where it is asked),
points of both geoms where they are now and where they meet, normal.
"""

from ..capacity import MAXCON
from ..kernel import kernel, stage
from ..kernel.ops import all_, any_, maximum, minimum, sqrt, where, zero
from ..math.constants import MIN_VALUE
from ..math.vec3 import add, add_scaled, get3, get9, mul_mat_t_vec, mul_mat_vec, scale, sub
from ..needs import flag
from ..types import DisableBit, EnableBit, GeomType, Integrator
from .advancement import advance, direction
from .clip import MOST, add_neighbours
from .contact_list import ANY_TANGENT, FAR, add_contact
from .convex import REACH, first_near, second_near
from .gjk import note_near
from .hull import keep_simplex
from .motion import is_fast, is_swept, motion_of, travel
from .parameters import margin_of, solimp_of, solref_of
from .sight import is_hidden, pair_of
from .support import KIND, orientation, position

NOW, THEN, NORMAL = 1, 7, 13  # columns of swept_near: points of both geoms, now and when they meet; the normal
DEFAULT = (0.02, 1.0)  # reference in place of one whose numbers have different signs
LEAST, MOST_IMPEDANCE = 1e-4, 0.9999


@kernel(scalar=True)
def rows_are_implicit(m, d):
    """Whether rows will act at the end of the step: with the discrete integrator, but not under a controller."""
    return m.opt_integrator == Integrator.DISCRETE and d.continuous[0] == 0


@kernel(scalar=True)
def spring_and_damper(m, d, solref, high):
    """Stiffness and damping of a reference over one step, without units: h^2 k and h b. high: the largest impedance."""
    time, ratio = solref
    h = 1.0 * m.opt_timestep
    safe = m.opt_disableflags & DisableBit.REFSAFE == 0
    if (time > 0.0) != (ratio > 0.0):
        time, ratio = zero(time) + DEFAULT[0], zero(time) + DEFAULT[1]
    if time <= 0.0:
        return -time * h * h, -ratio * h
    implicit = rows_are_implicit(m, d)
    time = maximum(time, 2.0 * h if safe and not implicit else MIN_VALUE)
    ratio = maximum(ratio, MIN_VALUE)
    k, b = h * h / maximum(time * time * ratio * ratio, MIN_VALUE), 2.0 * h / time
    if implicit and safe and k > high:  # what refsafe is there: no stiffer than the impedance allows
        most = MOST_IMPEDANCE * (1.0 - high) / maximum((1.0 - MOST_IMPEDANCE) * high, MIN_VALUE) - 2.0
        b = minimum(b / sqrt(k / high), high * maximum(most, 0.0))
        k = zero(k) + high
    return k, b


@kernel(scalar=True)
def effective_distance(m, d, g0, g1, margin, share, speed):
    """The distance [m] at which a contact takes off (1 - share) of the speed within one step.

    share: of the step, until the surfaces meet. speed: at which they close [m per step]. Solved for the position in the
    reference acceleration -b v - k (distance - margin); for implicit rows, in that at the end of the step.
    """
    pair = pair_of(m, g0, g1)
    solref = solref_of(m, g0, g1, pair, 0), solref_of(m, g0, g1, pair, 1)
    high = minimum(MOST_IMPEDANCE, maximum(LEAST, solimp_of(m, g0, g1, pair, 1)))
    k, b = spring_and_damper(m, d, solref, high)
    if k <= MIN_VALUE or m.opt_timestep <= 0.0:  # without a spring any violation does
        return margin - maximum(LEAST, solimp_of(m, g0, g1, pair, 2))
    damped = share * (b + k) if rows_are_implicit(m, d) else b
    return margin - (1.0 - share - damped) / k * speed


@kernel(scalar=True)
def carried_back(d, side, geom, point):
    """Where a point of a shape that has been moved on is now."""
    local = mul_mat_t_vec(orientation(d, side), sub(point, position(d, side)))
    return add(get3(d.geom_xpos, geom), mul_mat_vec(get9(d.geom_xmat, geom), local))


@kernel(scalar=True)
def keep_meeting(d, row, first, second, normal):
    """Fill in a row of swept_near with two points of shapes that have been moved on."""
    before0, before1 = carried_back(d, 0, d.narrow_geom[0], first), carried_back(d, 1, d.narrow_geom[1], second)
    d.swept_near[row, 0] = 0.0
    for k in range(3):
        d.swept_near[row, NOW + k] = before0[k]
        d.swept_near[row, NOW + 3 + k] = before1[k]
        d.swept_near[row, THEN + k] = first[k]
        d.swept_near[row, THEN + 3 + k] = second[k]
        d.swept_near[row, NORMAL + k] = normal[k]


@kernel(scalar=True)
def meeting_points(m, d, n, reach):
    """Where two shapes meet, into swept_near: the nearest points, or corners of faces that are not farther apart than reach."""
    first, second, normal = first_near(d, 0), second_near(d, 0), direction(d)
    keep_meeting(d, 0, first, second, normal)
    plane = m.geom_type[d.narrow_geom[0]] == GeomType.PLANE
    if n > 0 and n < 4 and (plane or m.opt_disableflags & DisableBit.MULTICCD == 0):
        half = 0.5 * reach
        note_near(d, 0, -reach, add_scaled(first, normal, half), add_scaled(second, normal, -half), normal)
        for side in range(2):
            d.convex_side[side, KIND] = m.geom_type[d.narrow_geom[side]]
            d.convex_grown[side] = half
        keep_simplex(d, n)
        for row in range(add_neighbours(m, d, 0, reach)):
            own = (d.convex_near[row, 7], d.convex_near[row, 8], d.convex_near[row, 9])
            aside = scale(
                sub(own, normal), half
            )  # as MuJoCo takes the thickness off along another normal than it put it on
            keep_meeting(d, row, add(first_near(d, row), aside), sub(second_near(d, row), aside), normal)


@kernel(scalar=True)
def row_point(d, row, at):
    """One of the points of a row of swept_near."""
    return d.swept_near[row, at], d.swept_near[row, at + 1], d.swept_near[row, at + 2]


@kernel(scalar=True)
def is_row_hidden(m, d, row, front, back):
    """Whether something is in the way of either point, or between both where they meet. front: what travels farther."""
    g0, g1 = d.narrow_geom[0], d.narrow_geom[1]
    return (
        is_hidden(m, d, g0, g1, row_point(d, row, NOW), row_point(d, row, THEN))
        or is_hidden(m, d, g1, g0, row_point(d, row, NOW + 3), row_point(d, row, THEN + 3))
        or is_hidden(m, d, front, back, row_point(d, row, THEN), row_point(d, row, THEN + 3))
    )


@kernel(scalar=True)
def own_travel(m, d, g):
    """The farthest that a point of a geom gets."""
    turn, displacement = motion_of(m, d, g)
    return travel(m, g, turn, displacement)


@stage(scalar=True, when=flag(EnableBit.SPECULATIVE), part_of="collision", unfused=True)
def swept_points(m, d):
    """Speculative contacts of the pair in narrow_geom, in swept_near, whose first points become the places of the contacts.

    Part of MuJoCo's mj_collision.
    """
    asked, g0, g1 = d.swept_near[0, 0] < FAR, d.narrow_geom[0], d.narrow_geom[1]
    for row in range(MOST):
        d.swept_near[row, 0] = FAR
    if asked:
        margin = 1.0 * d.narrow_work[REACH]
        n, share, speed = advance(m, d, margin)
        if speed > 0.0:
            gap = maximum(d.convex_near[0, 0], 0.0)
            meeting_points(m, d, n, 2.0 * gap + speed * (1.0 - share) + m.opt_ccd_tolerance)
            travel0, travel1 = own_travel(m, d, g0), own_travel(m, d, g1)
            front, back = (g0, g1) if travel0 >= travel1 else (g1, g0)
            dist = effective_distance(m, d, g0, g1, margin, share, speed)
            for row in range(MOST):
                if d.swept_near[row, 0] < FAR:
                    d.swept_near[row, 0] = FAR if is_row_hidden(m, d, row, front, back) else dist
                    a, b = row_point(d, row, NOW), row_point(d, row, NOW + 3)
                    place = add(scale(a, travel0 / (travel0 + travel1)), scale(b, travel1 / (travel0 + travel1)))
                    for k in range(3):
                        d.swept_near[row, NOW + k] = place[k]


@kernel
def foresee(m, d, g0, g1, pair, begin):
    """Put speculative contacts of two geoms behind those that they have from `begin` on, of which none gives force.

    Where there are some, the others are dropped; returns where they begin.
    """
    margin, end = margin_of(m, g0, g1, pair), minimum(d.ncon[0], d.capacity[MAXCON])
    if not ((m.geom_type[g0] == GeomType.PLANE or is_swept(m, g0)) and is_swept(m, g1)):
        return d.ncon[0]
    asked = is_fast(m, d, g0, g1)
    for k in range(begin, end):
        asked = asked & (d.contact_dist[k] >= margin)
    if not any_(asked):
        return d.ncon[0]
    d.narrow_geom[0], d.narrow_geom[1], d.narrow_work[REACH] = g0, g1, margin
    none = zero(d.geom_xpos[g0, 0])
    d.swept_near[0, 0] = where(asked, none, FAR)
    swept_points(m, d)
    met = d.swept_near[0, 0] < FAR
    for row in range(1, MOST):
        met = met | (d.swept_near[row, 0] < FAR)
    if all_(met):
        d.ncon[0] = begin
    for k in range(begin, minimum(d.ncon[0], end)):
        d.contact_dist[k] = where(met, FAR, d.contact_dist[k])
    first = d.ncon[0]
    for row in range(MOST):
        dist, normal = (
            d.swept_near[row, 0],
            (d.swept_near[row, NORMAL], d.swept_near[row, NORMAL + 1], d.swept_near[row, NORMAL + 2]),
        )
        place = (d.swept_near[row, NOW], d.swept_near[row, NOW + 1], d.swept_near[row, NOW + 2])
        add_contact(d, g0, g1, dist < FAR, dist, place, normal, ANY_TANGENT)
    return first
