"""The shortest path of a tendon from a point to another past a sphere or an endless cylinder.

MuJoCo: mju_wrap, with the side sites of 4.0.0. Both geoms are a circle about the origin of a plane: that of the sphere's
centre and the two points, or the cross-section of the cylinder, along whose axis the path climbs at a constant slope.

* Without a side site the path goes round the shorter way, and round nothing where the straight segment clears the circle.
* With one outside the geom it goes round as the polyline from the first point through the side site to the second does.
* With one inside the geom it must touch or cross the circle: it is bent there, at equal angles, where it would miss.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, asin, atan2, cos, maximum, minimum, needs, not_, sin, sqrt, where, zero
from ..math.constants import MIN_VALUE
from ..math.vec3 import add_scaled, column, cross, dot, get3, get9, mul_mat_t_vec, mul_mat_vec, norm, root, scale, sub
from ..types import WrapType

HALF_PI, TWO_PI = 1.5707963267948966, 6.283185307179586
ITERATIONS, TOLERANCE = 20, 1e-6  # MuJoCo's, of the angle of an inside path
SAME_DIRECTION = 4.5e-8  # below this angle between the points such a path is bent half way [rad]


@kernel
def both(a, b):
    """Whether two conditions hold, also for symbols, which have no `&`."""
    return where(a, b, a)


@kernel
def either(a, b):
    """Whether one of two conditions holds, also for symbols, which have no `|`."""
    return where(a, a, b)


@kernel
def choose2(condition, a, b):
    """One of two vectors of a plane."""
    return where(condition, a[0], b[0]), where(condition, a[1], b[1])


@kernel
def choose3(condition, a, b):
    """One of two vectors."""
    return where(condition, a[0], b[0]), where(condition, a[1], b[1]), where(condition, a[2], b[2])


@kernel
def dot2(a, b):
    """Inner product in the plane."""
    return a[0] * b[0] + a[1] * b[1]


@kernel
def cross2(a, b):
    """Sine of the angle from a to b, times both lengths."""
    return a[0] * b[1] - a[1] * b[0]


@kernel
def unit2(a):
    """The unit vector along a, which has a length."""
    s = 1.0 / sqrt(dot2(a, a))
    return a[0] * s, a[1] * s


@kernel
def sign(x):
    """1, or -1 where x is negative."""
    return where(x < 0.0, zero(x) - 1.0, 1.0)


@kernel
def segment(p, q):
    """Length of a segment and the unit vector along it; x where it has no length, as MuJoCo's mju_normalize3 gives."""
    v = sub(q, p)
    length = root(dot(v, v))
    tiny = length < MIN_VALUE
    s = 1.0 / where(tiny, 1.0, length)
    return length, (where(tiny, 1.0, v[0] * s), where(tiny, 0.0, v[1] * s), where(tiny, 0.0, v[2] * s))


@kernel
def any_normal(mat, axis):
    """A unit vector across an axis: MuJoCo's choice, made in the frame of the geom."""
    a = mul_mat_t_vec(mat, axis)
    x, y, z = absolute(a[0]), absolute(a[1]), absolute(a[2])
    along_y, along_z = y > maximum(x, z), z > maximum(x, y)
    along_x = not_(either(along_y, along_z))
    none = zero(x)
    other = where(along_x, none, 1.0), where(along_y, none, 1.0), where(along_z, none, 1.0)
    n = cross(a, other)
    return mul_mat_vec(mat, scale(n, 1.0 / norm(n)))


@kernel
def plane_of(mat, a, b):
    """Axes of the plane through the origin and two points: the first along a, b on the side of the second."""
    length = norm(a)
    x = scale(a, 1.0 / where(length < MIN_VALUE, 1.0, length))
    normal = cross(a, b)
    size = root(dot(normal, normal))
    in_line = size < MIN_VALUE
    normal = scale(normal, 1.0 / where(in_line, 1.0, size))
    if needs(both(in_line, length >= MIN_VALUE)):
        normal = choose3(in_line, any_normal(mat, x), normal)
    return x, cross(normal, x)


@kernel
def hits_circle(a, b, radius):
    """Whether the segment from a to b, which both lie outside, comes closer to the origin than the radius."""
    ab = b[0] - a[0], b[1] - a[1]
    comes_and_goes = maximum(dot2(a, ab), -dot2(b, ab)) < 0.0
    offset = cross2(a, ab)
    return both(comes_and_goes, offset * offset < radius * radius * dot2(ab, ab))


@kernel
def is_bent(a, b, long_way, inside, radius):
    """Whether a path has to leave the straight segment from a to b."""
    ab = b[0] - a[0], b[1] - a[1]
    lowest, rr = minimum(dot2(a, a), dot2(b, b)), radius * radius
    hit = hits_circle(a, b, radius)
    outside = both(lowest >= rr, both(dot2(ab, ab) >= MIN_VALUE, radius >= MIN_VALUE))
    return where(inside, both(lowest > rr, not_(hit)), both(outside, either(long_way, hit)))


@kernel
def way_past(a, side, b):
    """Sense (1 counterclockwise) in which a polyline goes round the origin, and whether by more than half a turn."""
    first, second, straight = cross2(a, side), cross2(side, b), cross2(a, b)
    onward = first * second > 0.0
    sense = sign(where(onward, first, straight))
    return sense, both(onward, first * straight < 0.0)


@kernel
def round_circle(a, b, sense, long_way, radius):
    """Touching points, directions there, and lengths of the three parts of a path round the circle."""
    aa, bb, rr = dot2(a, a), dot2(b, b), radius * radius
    before, after = root(maximum(aa - rr, 0.0)), root(maximum(bb - rr, 0.0))
    s = sense * radius
    p = (rr * a[0] - s * before * a[1]) / aa, (rr * a[1] + s * before * a[0]) / aa
    q = (rr * b[0] + s * after * b[1]) / bb, (rr * b[1] - s * after * b[0]) / bb
    angle = atan2(sense * cross2(p, q), dot2(p, q))
    # Below half a turn only rounding makes the arc negative, where the straight segment just touches.
    angle = where(long_way, where(angle < 0.0, angle + TWO_PI, angle), maximum(angle, 0.0))
    s = sense / radius
    return p, q, (-s * p[1], s * p[0]), (-s * q[1], s * q[0]), before, radius * angle, after


@kernel
def bend_residual(t, wide_a, wide_b, angle):
    """What is missing from equal angles if a line hits the circle at t from its normal."""
    s = sin(t)
    return asin(wide_a * s) + asin(wide_b * s) - 2.0 * t + angle


@kernel
def through_circle(a, b, radius):
    """As `round_circle`, for the path bent at the point of the circle where both parts meet it at the same angle."""
    turn = cross2(a, b)
    size_a, size_b = sqrt(dot2(a, a)), sqrt(dot2(b, b))
    wide_a, wide_b = radius / size_a, radius / size_b
    angle = atan2(absolute(turn), dot2(a, b))
    same = angle < SAME_DIRECTION
    t = zero(turn) + HALF_PI
    error = bend_residual(t, wide_a, wide_b, angle)
    active = both(not_(same), absolute(error) > TOLERANCE)
    for _ in range(ITERATIONS):
        if not needs(active):
            break
        s, c = sin(t), cos(t)
        over_a, over_b = wide_a * s, wide_b * s
        slope = wide_a * c / sqrt(1.0 - over_a * over_a) + wide_b * c / sqrt(1.0 - over_b * over_b) - 2.0
        t = where(active, t - error / slope, t)
        error = bend_residual(t, wide_a, wide_b, angle)
        active = both(active, absolute(error) > TOLERANCE)
    ahead = turn > 0.0
    start = choose2(ahead, (a[0] / size_a, a[1] / size_a), (b[0] / size_b, b[1] / size_b))
    rest = t - asin(where(ahead, wide_a, wide_b) * sin(t))
    s, c = sin(rest), cos(rest)
    p = radius * (c * start[0] - s * start[1]), radius * (s * start[0] + c * start[1])
    half_way = unit2(choose2(same, (a[0] + b[0], a[1] + b[1]), start))
    p = choose2(same, (radius * half_way[0], radius * half_way[1]), p)
    into, out = (p[0] - a[0], p[1] - a[1]), (b[0] - p[0], b[1] - p[1])
    none = zero(turn)
    return p, p, unit2(into), unit2(out), sqrt(dot2(into, into)), none, sqrt(dot2(out, out))


@kernel
def path_in_plane(a, b, sense, long_way, inside, radius):
    """As `round_circle`, bent instead where the path must go through the inside."""
    p, q, u, v, before, arc, after = round_circle(a, b, sense, long_way, radius)
    if needs(inside):
        p1, q1, u1, v1, before1, arc1, after1 = through_circle(a, b, radius)
        p, q, u, v = choose2(inside, p1, p), choose2(inside, q1, q), choose2(inside, u1, u), choose2(inside, v1, v)
        before, arc, after = where(inside, before1, before), where(inside, arc1, arc), where(inside, after1, after)
    return p, q, u, v, before, arc, after


@kernel
def lift(origin, axes, p, height):
    """The point of space at coordinates p of the plane and a height above it."""
    x, y, z = axes
    return add_scaled(add_scaled(add_scaled(origin, x, p[0]), y, p[1]), z, height)


@kernel
def holds_side_site(m, d, geom, side):
    """Whether a side site is inside a geom: within its radius of the centre."""
    radius = m.geom_size[geom, 0]
    if m.geom_bodyid[geom] == m.site_bodyid[side]:  # fixed to each other: the model decides, and symbols stay small
        arm = sub(get3(m.site_pos, side), get3(m.geom_pos, geom))
        return dot(arm, arm) < radius * radius
    arm = sub(get3(d.site_xpos, side), get3(d.geom_xpos, geom))
    return dot(arm, arm) < radius * radius


@kernel
def wrap(m, d, start, end, geom, kind, side):
    """A path from start to end past a geom, on the side of a site or, where that is -1, on either.

    Returns whether it touches the geom, its length, its directions at start and end, and the first and last point on the
    geom. Where the path is straight, both points are its end.
    """
    length, straight = segment(start, end)
    centre, mat, radius = get3(d.geom_xpos, geom), get9(d.geom_xmat, geom), m.geom_size[geom, 0]
    from_, to = sub(start, centre), sub(end, centre)
    if kind == WrapType.SPHERE:
        x, y = plane_of(mat, from_, to)
    else:
        x, y = column(mat, 0), column(mat, 1)
    a, b = (dot(from_, x), dot(from_, y)), (dot(to, x), dot(to, y))
    sense, long_way, inside = sign(cross2(a, b)), False, False
    if side >= 0:
        arm = sub(get3(d.site_xpos, side), centre)
        s = dot(arm, x), dot(arm, y)
        on_axis = dot2(s, s) < MIN_VALUE * MIN_VALUE
        sense, long_way = way_past(a, (where(on_axis, 1.0, s[0]), where(on_axis, 0.0, s[1])), b)
        inside = holds_side_site(m, d, geom, side)
    touches = is_bent(a, b, long_way, inside, radius)
    p, q, first, last = end, end, straight, straight
    if needs(touches):
        none, apart = zero(length), 2.0 * radius
        a, b = choose2(touches, a, (apart, none)), choose2(touches, b, (none, apart))  # elsewhere: no division by zero
        p2, q2, u, v, before, arc, after = path_in_plane(a, b, sense, long_way, inside, radius)
        flat = before + arc + after
        z, low, rise = column(mat, 2), none, none
        if kind != WrapType.SPHERE:
            low = dot(from_, z)
            rise = dot(to, z) - low
        total = sqrt(flat * flat + rise * rise)
        axes, here, slope, run = (x, y, z), (none, none, none), rise / total, flat / total
        length = where(touches, total, length)
        first = choose3(touches, lift(here, axes, (run * u[0], run * u[1]), slope), straight)
        last = choose3(touches, lift(here, axes, (run * v[0], run * v[1]), slope), straight)
        p = choose3(touches, lift(centre, axes, p2, low + rise * (before / flat)), end)
        q = choose3(touches, lift(centre, axes, q2, low + rise * ((before + arc) / flat)), end)
    return touches, length, first, last, p, q
