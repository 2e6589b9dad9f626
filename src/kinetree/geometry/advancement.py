"""When within the next step two shapes that move will meet: conservative advancement.

MuJoCo: mjc_advanceGeomPair. Both shapes are moved on by as much of the step as cannot bring them together, whatever they turn,
and measured again, until they are almost within reach: a fiftieth of the way at first is left.
Reference: Mirtich 1996, "Impulse-based dynamic simulation of rigid body systems", ch. 2; MuJoCo's documentation, "Speculative
contacts". Everything here branches on values: lanes treat one world at a time.
Scratch: narrow_geom holds both geoms, convex_pose where they have got to, row 0 of convex_near their nearest points there.
"""

from ..kernel import kernel
from ..kernel.ops import maximum, zero
from ..math.constants import MIN_VALUE
from ..math.quaternion import axis_angle, to_matrix
from ..math.vec3 import add, add_scaled, cross, dot, mul_mat_mat, mul_mat_t_vec, mul_mat_vec, norm, scale, sub
from .convex import first_near, second_near
from .motion import motion_of, travel
from .separation import place_core, radius, separation
from .support import orientation, position

CLEARANCE = 0.02  # share of the distance at first that may be left
STEPS = 16


@kernel(scalar=True)
def direction(d):
    """From the first nearest point to the second."""
    return d.convex_near[0, 7], d.convex_near[0, 8], d.convex_near[0, 9]


@kernel(scalar=True)
def carry(d, side, point, turn, displacement, share):
    """Move a shape on by a share of its motion; returns where a point of it has got to."""
    local = mul_mat_t_vec(orientation(d, side), sub(point, position(d, side)))
    place, angle = add_scaled(position(d, side), displacement, share), share * norm(turn)
    for k in range(3):
        d.convex_pose[side, k] = place[k]
    if angle >= MIN_VALUE:
        axes = mul_mat_mat(to_matrix(axis_angle(scale(turn, 1.0 / norm(turn)), angle)), orientation(d, side))
        for k in range(9):
            d.convex_pose[side, 3 + k] = axes[k]
    return add(place, mul_mat_vec(orientation(d, side), local))


@kernel(scalar=True)
def velocity(d, side, point, turn, displacement):
    """Motion of a point of a shape, where it has got to."""
    return add(displacement, cross(turn, sub(point, position(d, side))))


@kernel(scalar=True)
def advance(m, d, margin):
    """(corners of the last simplex, share of the step at which two geoms meet, speed at which they close then).

    margin [m]: how far apart they are when they meet. The speed is in metres per step; it is 0 if they do not meet, or at once.
    """
    turn0, way0 = motion_of(m, d, d.narrow_geom[0])
    turn1, way1 = motion_of(m, d, d.narrow_geom[1])
    travel0, travel1 = travel(m, d.narrow_geom[0], turn0, way0), travel(m, d.narrow_geom[1], turn1, way1)
    most, turning = travel0 + travel1, (travel0 - norm(way0)) + (travel1 - norm(way1))
    share = zero(most)
    place_core(m, d, 0)
    place_core(m, d, 1)
    n, start = separation(m, d, margin + most, position(d, 0), position(d, 1))
    if most < MIN_VALUE or start <= margin or start - margin > most:
        return 0, share, zero(most)
    target = margin + CLEARANCE * (start - margin)
    slack, dist, steps = maximum(0.5 * (target - margin), m.opt_ccd_tolerance), start, 0
    while dist - target > slack and steps < STEPS:
        normal = direction(d)
        bound = dot(normal, sub(way0, way1)) + turning
        if bound <= MIN_VALUE:
            return 0, share, zero(most)
        step = (dist - target) / bound
        share = share + step
        if share >= 1.0:
            return 0, share, zero(most)
        first = carry(d, 0, add_scaled(first_near(d, 0), normal, -radius(m, d, 0)), turn0, way0, step)
        second = carry(d, 1, add_scaled(second_near(d, 0), normal, radius(m, d, 1)), turn1, way1, step)
        n, dist = separation(m, d, margin + most, first, second)
        if dist - margin > (1.0 - share) * most:
            return 0, share, zero(most)
        steps += 1
    closing = sub(velocity(d, 0, first_near(d, 0), turn0, way0), velocity(d, 1, second_near(d, 0), turn1, way1))
    rate, mean = dot(direction(d), closing), (start - dist) / maximum(share, MIN_VALUE)
    if dist - target > slack:  # out of steps: go on in a straight line
        if rate <= MIN_VALUE or dist - margin > (1.0 - share) * rate:
            return 0, share, zero(most)
        share = share + (dist - target) / rate
    return n, share, maximum(maximum(rate, mean), 0.0)
