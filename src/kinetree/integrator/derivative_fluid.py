"""Derivative of the forces of the surrounding medium by joint velocities.

MuJoCo: mjd_inertiaBoxFluid, mjd_ellipsoidFluid. The slope of a body's wrench by its velocity is a 6 x 6 matrix, kept as four
3 x 3 blocks: torque by angular velocity, torque by velocity, force by angular velocity, force by velocity. Slopes are
added up over subtrees at xpos in world axes, so that every pair of dofs is visited once.
Divisors are guarded as in MuJoCo, where a body is almost at rest.
Reads: cvel, xpos, xipos, ximat, geom_xpos, geom_xmat, cdof; opt_density, opt_viscosity, opt_wind. Scratch: fluid_slope.
"""

from ..dynamics.fluid import (
    PI,
    added_mass,
    any_ellipsoid,
    box_coefficients,
    drag_area,
    drag_moments,
    local_velocity,
    magnus_lift,
    semiaxes,
    times,
    viscous_moving,
    viscous_turning,
)
from ..dynamics.sleep_state import BODIES, BODIES_END, DOFS, DOFS_END
from ..kernel import kernel, stage
from ..kernel.ops import absolute, any_, maximum, needs, where, zero
from ..math.constants import MIN_VALUE
from ..math.spatial import angular, dot6, get6, join, linear, shift_force
from ..math.vec3 import (
    add,
    add9,
    add_diagonal,
    add_scaled,
    cross_matrix,
    dot,
    get3,
    get9,
    mul_mat_mat,
    mul_mat_t_vec,
    mul_mat_vec,
    outer,
    root,
    scale,
    scale9,
    sub,
    transposed,
)
from ..needs import MEDIUM, both, integrator, on_request
from ..types import DisableBit, Integrator
from .derivative_rne import is_lone_body
from .sparse_lu import diagonal, lower, upper


@kernel
def has_medium(m):
    """Whether there is a medium, and it acts: its force on a body slows all dofs that move the body."""
    passive = m.opt_disableflags & DisableBit.SPRING == 0 or m.opt_disableflags & DisableBit.DAMPER == 0
    return passive and needs((m.opt_density > 0.0) | (m.opt_viscosity > 0.0))


@kernel
def none9(x):
    """A matrix of zeros of x's scalar type."""
    o = zero(x)
    return o, o, o, o, o, o, o, o, o


@kernel
def box_slope(m, b, w, v):
    """Slope of the wrench on a body's inertia box: of a - c |x| x it is a - 2 c |x|, axis by axis."""
    twist, slow, spin, push = box_coefficients(m, b)
    torque = (
        twist - 2.0 * spin[0] * absolute(w[0]),
        twist - 2.0 * spin[1] * absolute(w[1]),
        twist - 2.0 * spin[2] * absolute(w[2]),
    )
    force = (
        slow - 2.0 * push[0] * absolute(v[0]),
        slow - 2.0 * push[1] * absolute(v[1]),
        slow - 2.0 * push[2] * absolute(v[2]),
    )
    o = none9(w[0])
    return add_diagonal(o, torque), o, o, add_diagonal(o, force)


@kernel
def added_mass_slope(m, g, w, v):
    """Slope of the wrench of the medium that moves along: with p = M v and q = I w, torque p x v + q x w, force p x w."""
    mass, inertia = added_mass(m, g)
    by_momentum, by_spin = cross_matrix(times(mass, v)), cross_matrix(times(inertia, w))
    return (
        add9(by_spin, scale_columns(cross_matrix(w), scale(inertia, -1.0))),
        add9(by_momentum, scale_columns(cross_matrix(v), scale(mass, -1.0))),
        by_momentum,
        scale_columns(cross_matrix(w), scale(mass, -1.0)),
    )


@kernel
def scale_columns(a, s):
    """Matrix times a diagonal one."""
    return (
        a[0] * s[0], a[1] * s[1], a[2] * s[2], a[3] * s[0], a[4] * s[1], a[5] * s[2], a[6] * s[0], a[7] * s[1],
        a[8] * s[2],
    )  # fmt: skip


@kernel
def angular_drag_slope(m, g, s, w):
    """Slope of the torque -(viscous + density |c w|) w against turning, with c a factor for each axis."""
    c = drag_moments(m, g, s)
    moment = times(c, w)
    growth = scale(times(c, moment), -m.opt_density / maximum(MIN_VALUE, root(dot(moment, moment))))
    along = dot(w, growth) - viscous_turning(m, s)
    return add_diagonal(outer(w, growth), (along, along, along))


@kernel
def inverse(x):
    """1 / x, or 0 where x is too small to divide by."""
    tiny = x <= MIN_VALUE
    return where(tiny, 0.0, 1.0 / where(tiny, 1.0, x))


@kernel
def shadow_shape(s, v):
    """Speed and direction e of a motion, and of the shadow that the ellipsoid casts along it: a size, weights a, normal n.

    n = a e, with the weights scaled so that n.e = 1; the shadow's area is size * sqrt(n.n).
    """
    longest = maximum(maximum(s[0], s[1]), s[2])
    speed = root(dot(v, v))
    e, t = scale(v, inverse(speed)), scale(s, inverse(longest))
    yz, zx, xy = t[1] * t[2], t[2] * t[0], t[0] * t[1]
    weights = yz * yz, zx * zx, xy * xy
    along = dot(weights, times(e, e))
    weights = scale(weights, inverse(along))
    return speed, e, PI * longest * longest * root(along), weights, times(weights, e)


@kernel
def drag_slope(m, g, s, shape):
    """Slope of the force -(viscous + density |v| area) v, where the area follows the shadow that v casts."""
    speed, e, size, weights, normal = shape
    blunt, slender = m.geom_fluid[g, 1], m.geom_fluid[g, 2]
    square = dot(normal, normal)
    area = drag_area(m, g, s, size * root(square))
    growth = sub(times(weights, normal), scale(normal, square))  # of the shadow by e, but for a factor
    growth = scale(growth, (blunt - slender) * size * inverse(root(square)))
    pull = -m.opt_density * speed
    straight = pull * area - viscous_moving(m, s)
    return add_diagonal(scale9(outer(e, add_scaled(growth, e, area)), pull), (straight, straight, straight))


@kernel
def kutta_slope(m, g, shape):
    """Slope of the lift C (n x v) x v = C (v n.v - n v.v), with C proportional to sqrt(n.v / (n.n v.v))."""
    speed, e, size, weights, normal = shape
    square = dot(normal, normal)
    fall = sub(sub(normal, e), scale(times(weights, normal), inverse(square)))  # of log C by e
    turn = add9(outer(e, normal), scale9(outer(normal, e), -1.0))
    slope = add9(scale9(turn, 2.0), outer(sub(e, normal), fall))
    slope = add_diagonal(slope, (1.0 - weights[0], 1.0 - weights[1], 1.0 - weights[2]))
    return scale9(slope, m.geom_fluid[g, 4] * m.opt_density * size * speed * inverse(root(square)))


@kernel
def ellipsoid_slope(m, g, w, v):
    """Slope of the wrench on the ellipsoid that stands for geom g, in its own axes."""
    s = semiaxes(m, g)
    shape = shadow_shape(s, v)
    magnus = magnus_lift(m, g, s)
    torque_w, torque_v, force_w, force_v = added_mass_slope(m, g, w, v)
    torque_w = add9(torque_w, angular_drag_slope(m, g, s, w))
    force_w = add9(force_w, scale9(cross_matrix(v), -magnus))
    force_v = add9(force_v, scale9(cross_matrix(w), magnus))
    force_v = add9(force_v, add9(drag_slope(m, g, s, shape), kutta_slope(m, g, shape)))
    return torque_w, torque_v, force_w, force_v


@kernel
def ellipsoid_drag_slope(m, g, w, v):
    """What of this slope is drag: the part that takes energy away, made symmetric."""
    s = semiaxes(m, g)
    o = none9(w[0])
    return symmetrized((angular_drag_slope(m, g, s, w), o, o, drag_slope(m, g, s, shadow_shape(s, v))))


@kernel
def symmetrized(slope):
    """The symmetric part of a slope."""
    torque_w, torque_v, force_w, force_v = slope
    across = scale9(add9(torque_v, transposed(force_w)), 0.5)
    return (
        scale9(add9(torque_w, transposed(torque_w)), 0.5),
        across,
        transposed(across),
        scale9(add9(force_v, transposed(force_v)), 0.5),
    )


@kernel
def turned(a, axes):
    """A matrix in given axes, taken to world axes."""
    return mul_mat_mat(mul_mat_mat(axes, a), transposed(axes))


@kernel
def shifted(slope, r):
    """A slope at a point further on by r: both the wrench and the velocity are then those of that point."""
    torque_w, torque_v, force_w, force_v = slope
    arm = cross_matrix(r)
    back = scale9(arm, -1.0)
    force_w = add9(force_w, mul_mat_mat(force_v, arm))
    torque_w = add9(add9(torque_w, mul_mat_mat(torque_v, arm)), mul_mat_mat(back, force_w))
    return torque_w, add9(torque_v, mul_mat_mat(back, force_v)), force_w, force_v


@kernel
def add_block(field, b, k, a, weight):
    """Add weight times a matrix to nine numbers of row b, from column k on."""
    field[b, k] += weight * a[0]
    field[b, k + 1] += weight * a[1]
    field[b, k + 2] += weight * a[2]
    field[b, k + 3] += weight * a[3]
    field[b, k + 4] += weight * a[4]
    field[b, k + 5] += weight * a[5]
    field[b, k + 6] += weight * a[6]
    field[b, k + 7] += weight * a[7]
    field[b, k + 8] += weight * a[8]


@kernel
def add_slope(field, b, slope, weight):
    """Add weight times a slope to that of body b."""
    add_block(field, b, 0, slope[0], weight)
    add_block(field, b, 9, slope[1], weight)
    add_block(field, b, 18, slope[2], weight)
    add_block(field, b, 27, slope[3], weight)


@kernel
def get_slope(field, b):
    """The slope of body b."""
    return get_block(field, b, 0), get_block(field, b, 9), get_block(field, b, 18), get_block(field, b, 27)


@kernel
def get_block(field, b, k):
    """Nine numbers of row b, from column k on."""
    return (
        field[b, k], field[b, k + 1], field[b, k + 2], field[b, k + 3], field[b, k + 4], field[b, k + 5],
        field[b, k + 6], field[b, k + 7], field[b, k + 8],
    )  # fmt: skip


@kernel
def in_world(d, b, slope, point, axes):
    """A slope along given axes at a point of body b, as one at xpos[b] in world axes."""
    world = turned(slope[0], axes), turned(slope[1], axes), turned(slope[2], axes), turned(slope[3], axes)
    return shifted(world, sub(get3(d.xpos, b), point))


@kernel
def set_body_slope(m, d, b, symmetric, drag):
    """Slope of the force on one body at xpos[b], into the scratch array; its symmetric part or that of drag alone, if asked.

    implicitfast takes the symmetric part, but of bodies that fly alone.
    """
    present = where(m.body_mass[b] < MIN_VALUE, zero(m.body_mass[b]), 1.0)  # the medium passes through a massless body
    if any_ellipsoid(m, b):
        first = m.body_geomadr[b]
        for g in range(first, first + m.body_geomnum[b]):
            if any_(m.geom_fluid[g, 0] != 0.0):
                point, axes = get3(d.geom_xpos, g), get9(d.geom_xmat, g)
                w, v = local_velocity(m, d, b, point, axes)
                if drag:
                    slope = ellipsoid_drag_slope(m, g, w, v)
                else:
                    slope = ellipsoid_slope(m, g, w, v)
                    fast = m.opt_integrator == Integrator.IMPLICITFAST
                    if symmetric or (fast and not is_lone_body(m, m.body_rootid[b])):
                        slope = symmetrized(slope)
                add_slope(d.fluid_slope, b, in_world(d, b, slope, point, axes), present * m.geom_fluid[g, 0])
    else:
        point, axes = get3(d.xipos, b), get9(d.ximat, b)
        w, v = local_velocity(m, d, b, point, axes)
        add_slope(d.fluid_slope, b, in_world(d, b, box_slope(m, b, w, v), point, axes), present)


@kernel
def composite_slopes(m, d, first, end, symmetric, drag):
    """Slope of the force on every subtree at xpos of its root, for some bodies of whole trees."""
    for b in range(first, end):
        for k in range(36):
            d.fluid_slope[b, k] = 0.0
        if m.body_treeid[b] >= 0:
            set_body_slope(m, d, b, symmetric, drag)
    for b in range(end - 1, first - 1, -1):
        p = m.body_parentid[b]
        if p > 0 and m.body_treeid[p] >= 0:
            to_parent = sub(get3(d.xpos, p), get3(d.xpos, b))
            add_slope(d.fluid_slope, p, shifted(get_slope(d.fluid_slope, b), to_parent), 1.0)


@kernel
def set_slopes(m, d, symmetric, drag):
    """Slopes of all subtrees that are awake."""
    for run in range(d.nawake_run[0]):
        first, end = maximum(d.awake_run[run, BODIES], 1), d.awake_run[run, BODIES_END]
        composite_slopes(m, d, first, end, symmetric, drag)


@stage(when=both(MEDIUM, integrator(Integrator.IMPLICIT, Integrator.IMPLICITFAST)), part_of="implicit")
def fluid_slopes(m, d):
    """Slopes for the model's integrator; apart, as most models are in no medium. Part of MuJoCo's mjd_passive_vel."""
    set_slopes(m, d, False, False)


@stage(when=on_request, part_of="damping")
def symmetric_fluid_slopes(m, d):
    """Their symmetric parts, which stable PD takes whatever the integrator. Part of MuJoCo's mjd_passive_vel."""
    set_slopes(m, d, True, False)


@stage(when=both(MEDIUM, integrator(Integrator.DISCRETE)), part_of="effective_metric")
def drag_slopes(m, d):
    """Slopes of drag, for the metric. Part of MuJoCo's metric after mj_passive."""
    set_slopes(m, d, True, True)


@kernel
def force_of(slope, v):
    """Slope times motion."""
    w, u = angular(v), linear(v)
    return join(
        add(mul_mat_vec(slope[0], w), mul_mat_vec(slope[1], u)), add(mul_mat_vec(slope[2], w), mul_mat_vec(slope[3], u))
    )


@kernel
def felt_through(slope, v):
    """Transposed slope times motion."""
    w, u = angular(v), linear(v)
    return join(
        add(mul_mat_t_vec(slope[0], w), mul_mat_t_vec(slope[2], u)),
        add(mul_mat_t_vec(slope[1], w), mul_mat_t_vec(slope[3], u)),
    )


@kernel
def add_fluid_derivative(m, d, matrix, run):
    """Add d qfrc_fluid / d qvel for a run of bodies whose slopes are known."""
    for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
        b = m.dof_bodyid[i]
        axis, slope = get6(d.cdof, i), get_slope(d.fluid_slope, b)
        force, felt = force_of(slope, axis), felt_through(slope, axis)
        matrix[diagonal(m, i)] += dot6(axis, force)
        k = m.dof_parentid[i]
        while k >= 0:
            if m.dof_bodyid[k] != b:
                up = sub(get3(d.xpos, m.dof_bodyid[k]), get3(d.xpos, b))
                force, felt = shift_force(force, up), shift_force(felt, up)
                b = m.dof_bodyid[k]
            above = get6(d.cdof, k)
            matrix[upper(m, k, i)] += dot6(above, force)
            matrix[lower(m, i, k)] += dot6(above, felt)
            k = m.dof_parentid[k]
