"""Forces of the surrounding medium on moving bodies, by one of two models.

MuJoCo: mj_fluid, mj_inertiaBoxFluidModel, mj_ellipsoidFluidModel; its documentation's chapter on fluid forces has the formulas.
A body with a geom of `fluidshape="ellipsoid"` feels the medium through its geoms, any other through the box that has its
inertia. Reads: cvel, xpos, xipos, ximat, geom_xpos, geom_xmat, cdof; opt_density, opt_viscosity, opt_wind. Scratch: body_frc.
Writes: qfrc_fluid.
"""

from ..kernel import kernel, stage
from ..kernel.ops import absolute, any_, maximum, minimum, sqrt, where, zero
from ..math.constants import MIN_VALUE
from ..math.spatial import add6, angular, get6, join, linear, scale6, set6, shift_force
from ..math.vec3 import add, cross, dot, get3, get9, mul_mat_t_vec, mul_mat_vec, root, scale, sub
from ..needs import MEDIUM
from ..types import GeomType
from .objects import velocity_at
from .rne import project_awake
from .sleep_state import BODIES, BODIES_END

PI = 3.141592653589793


@kernel
def local_velocity(m, d, b, point, axes):
    """Velocity of body b against the medium at a point, along given axes: angular, linear."""
    v = velocity_at(d, b, point)
    wind = m.opt_wind[0], m.opt_wind[1], m.opt_wind[2]
    return mul_mat_t_vec(axes, angular(v)), mul_mat_t_vec(axes, sub(linear(v), wind))


@kernel
def wrench_at_origin(d, b, point, axes, torque, force):
    """A wrench along given axes at a point of body b, as a spatial force at xpos[b]."""
    world = join(mul_mat_vec(axes, torque), mul_mat_vec(axes, force))
    return shift_force(world, sub(get3(d.xpos, b), point))


@kernel
def box_edge(m, b, inertia):
    """Edge [m] of the box with the body's mass and inertia; `inertia` is that of the other two axes less its own."""
    mass = maximum(m.body_mass[b], MIN_VALUE)
    return sqrt(6.0 * maximum(inertia, MIN_VALUE) / mass)


@kernel
def drag(coefficient, v):
    """Quadratic drag against v."""
    return -coefficient * absolute(v) * v


@kernel
def times(a, b):
    """Products of the components of two vectors."""
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


@kernel
def box_coefficients(m, b):
    """What the medium does to a body's inertia box, against turning and against moving.

    By Stokes' law for the sphere of the mean edge, for all axes [N m s, N s/m]; then quadratic drag, for each axis
    [N m s^2, N s^2/m^2].
    """
    i0, i1, i2 = get3(m.body_inertia, b)
    x, y, z = box_edge(m, b, i1 + i2 - i0), box_edge(m, b, i0 + i2 - i1), box_edge(m, b, i0 + i1 - i2)
    diameter = (x + y + z) * (1.0 / 3.0)
    viscosity, density = maximum(m.opt_viscosity, 0.0), maximum(m.opt_density, 0.0)
    twist, slow = -PI * viscosity * diameter * diameter * diameter, -3.0 * PI * viscosity * diameter
    x4, y4, z4 = x * x * x * x, y * y * y * y, z * z * z * z
    spin, push = density * (1.0 / 64.0), density * 0.5
    turning = spin * x * (y4 + z4), spin * y * (x4 + z4), spin * z * (x4 + y4)
    return twist, slow, turning, (push * y * z, push * x * z, push * x * y)


@kernel
def box_wrench(m, b, w, v):
    """Torque and force on a body's inertia box."""
    twist, slow, spin, push = box_coefficients(m, b)
    torque = twist * w[0] + drag(spin[0], w[0]), twist * w[1] + drag(spin[1], w[1]), twist * w[2] + drag(spin[2], w[2])
    force = slow * v[0] + drag(push[0], v[0]), slow * v[1] + drag(push[1], v[1]), slow * v[2] + drag(push[2], v[2])
    return torque, force


@kernel
def semiaxes(m, g):
    """Semiaxes [m] of the ellipsoid that stands for geom g."""
    a, b, c = get3(m.geom_size, g)
    kind = m.geom_type[g]
    if kind == GeomType.SPHERE:
        return a, a, a
    if kind == GeomType.CAPSULE:
        return a, a, a + b
    if kind == GeomType.CYLINDER:
        return a, a, b
    return a, b, c


@kernel
def added_mass(m, g):
    """Mass and inertia of the medium that moves along, for each axis."""
    mass = scale((m.geom_fluid[g, 6], m.geom_fluid[g, 7], m.geom_fluid[g, 8]), m.opt_density)
    return mass, scale((m.geom_fluid[g, 9], m.geom_fluid[g, 10], m.geom_fluid[g, 11]), m.opt_density)


@kernel
def added_mass_wrench(m, g, w, v):
    """Torque and force of the medium that moves along, for a steady motion."""
    mass, inertia = added_mass(m, g)
    momentum, spin = times(mass, v), times(inertia, w)
    return add(cross(momentum, v), cross(spin, w)), cross(momentum, w)


@kernel
def sort3(s):
    """Smallest, middle and largest of three."""
    high, low = maximum(maximum(s[0], s[1]), s[2]), minimum(minimum(s[0], s[1]), s[2])
    return low, s[0] + s[1] + s[2] - high - low, high


@kernel
def swept_moment(radius, other):
    """Largest second moment of an ellipsoid of revolution: 8/15 pi r R^4."""
    square = other * other
    return (8.0 / 15.0) * PI * radius * square * square


@kernel
def mean_diameter(s):
    """Diameter [m] of the sphere that stands for an ellipsoid in Stokes' law."""
    return (2.0 / 3.0) * (s[0] + s[1] + s[2])


@kernel
def viscous_turning(m, s):
    """Torque by angular velocity, by Stokes' law."""
    diameter = mean_diameter(s)
    return m.opt_viscosity * PI * diameter * diameter * diameter


@kernel
def viscous_moving(m, s):
    """Force by velocity, by Stokes' law."""
    return 3.0 * PI * mean_diameter(s) * m.opt_viscosity


@kernel
def magnus_lift(m, g, s):
    """Force by w x v."""
    volume = (4.0 / 3.0) * PI * s[0] * s[1] * s[2]
    return m.geom_fluid[g, 5] * m.opt_density * volume


@kernel
def drag_area(m, g, s, shadow):
    """Area [m^2] by which quadratic drag goes, of an ellipsoid that casts such a shadow."""
    _, middle, high = sort3(s)
    return m.geom_fluid[g, 1] * shadow + m.geom_fluid[g, 2] * (PI * high * middle - shadow)


@kernel
def drag_moments(m, g, s):
    """Second moments by which quadratic drag against turning goes, for each axis."""
    slender, turning = m.geom_fluid[g, 2], m.geom_fluid[g, 3]
    _, middle, high = sort3(s)
    most = swept_moment(middle, high)
    i0 = swept_moment(s[0], maximum(s[1], s[2]))
    i1 = swept_moment(s[1], maximum(s[2], s[0]))
    i2 = swept_moment(s[2], maximum(s[0], s[1]))
    return (
        turning * i0 + slender * (most - i0),
        turning * i1 + slender * (most - i1),
        turning * i2 + slender * (most - i2),
    )


@kernel
def angular_drag(m, g, s, w):
    """Torque against turning: Stokes' law for the sphere of the mean diameter, and quadratic drag."""
    moment = times(drag_moments(m, g, s), w)
    return scale(w, -(viscous_turning(m, s) + m.opt_density * root(dot(moment, moment))))


@kernel
def lift_and_drag(m, g, s, w, v):
    """Force along and across the motion: viscous and quadratic drag, Magnus lift, Kutta lift."""
    density = m.opt_density
    speed = root(dot(v, v))
    u = scale(v, 1.0 / where(speed == 0.0, 1.0, speed))
    # The shadow that the ellipsoid casts along u is an ellipse; this is its normal, not of unit length.
    yz, zx, xy = s[1] * s[2], s[2] * s[0], s[0] * s[1]
    normal = yz * yz * u[0], zx * zx * u[1], xy * xy * u[2]
    square, along = dot(normal, normal), dot(normal, u)
    none = (square == 0.0) | (along == 0.0)
    shadow = PI * root(square / where(none, 1.0, along))
    circulation = scale(cross(normal, v), m.geom_fluid[g, 4] * density * shadow * along / where(none, 1.0, square))
    lift = add(scale(cross(w, v), magnus_lift(m, g, s)), cross(circulation, v))
    return add(lift, scale(v, -(viscous_moving(m, s) + density * speed * drag_area(m, g, s, shadow))))


@kernel
def ellipsoid_wrench(m, d, b, g):
    """Force of the medium on geom g of body b, at xpos[b] in world axes."""
    point, axes = get3(d.geom_xpos, g), get9(d.geom_xmat, g)
    w, v = local_velocity(m, d, b, point, axes)
    s = semiaxes(m, g)
    torque, force = added_mass_wrench(m, g, w, v)
    torque = add(torque, angular_drag(m, g, s, w))
    force = add(force, lift_and_drag(m, g, s, w, v))
    return scale6(wrench_at_origin(d, b, point, axes, torque, force), m.geom_fluid[g, 0])


@kernel
def any_ellipsoid(m, b):
    """Whether some geom of the body is an ellipsoid to the medium."""
    first = m.body_geomadr[b]
    for g in range(first, first + m.body_geomnum[b]):
        if any_(m.geom_fluid[g, 0] > 0.0):
            return True
    return False


@kernel
def set_body_force(m, d, b):
    """Force of the medium on one body at xpos[b], into the scratch array."""
    present = where(m.body_mass[b] < MIN_VALUE, zero(m.body_mass[b]), 1.0)  # the medium passes through a massless body
    if any_ellipsoid(m, b):
        set6(d.body_frc, b, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        first = m.body_geomadr[b]
        for g in range(first, first + m.body_geomnum[b]):
            if any_(m.geom_fluid[g, 0] != 0.0):
                wrench = scale6(ellipsoid_wrench(m, d, b, g), present)
                set6(d.body_frc, b, add6(get6(d.body_frc, b), wrench))
    else:
        point, axes = get3(d.xipos, b), get9(d.ximat, b)
        w, v = local_velocity(m, d, b, point, axes)
        torque, force = box_wrench(m, b, w, v)
        set6(d.body_frc, b, scale6(wrench_at_origin(d, b, point, axes, torque, force), present))


@stage(when=MEDIUM)
def fluid(m, d):
    """Joint forces of the medium: qfrc_fluid. MuJoCo's mj_fluid."""
    for run in range(d.nawake_run[0]):
        for b in range(maximum(d.awake_run[run, BODIES], 1), d.awake_run[run, BODIES_END]):
            if m.body_treeid[b] >= 0:
                set_body_force(m, d, b)
            else:
                set6(d.body_frc, b, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    project_awake(m, d, d.qfrc_fluid)
