"""Velocity and angular momentum of every subtree, about its own centre of mass, in linear time.

MuJoCo: mj_subtreeVel. Reference: Featherstone 2008, sec. 2.10 (momenta add once they are at one point).
Reads: cvel, xpos, xipos, ximat, subtree_com, subtree_mass, body_mass, body_inertia.
Writes: subtree_linvel [m/s], subtree_angmom [kg m^2/s about subtree_com], world axes; flg_subtreevel.
"""

from ..kernel import kernel, stage
from ..kernel.ops import maximum
from ..math.constants import MIN_VALUE
from ..math.spatial import angular, get6, linear, shift_motion
from ..math.vec3 import add, add_scaled, cross, get3, get9, mul_mat_t_vec, mul_mat_vec, scale, set3, sub
from ..needs import sensor
from ..types import SensorType


@kernel
def velocity_of_centre(d, b):
    """Velocity of a body's centre of mass."""
    return linear(shift_motion(get6(d.cvel, b), sub(get3(d.xipos, b), get3(d.xpos, b))))


@kernel
def spin(m, d, b):
    """Angular momentum of a body about its own centre of mass."""
    axes, inertia = get9(d.ximat, b), get3(m.body_inertia, b)
    w = mul_mat_t_vec(axes, angular(get6(d.cvel, b)))
    return mul_mat_vec(axes, (w[0] * inertia[0], w[1] * inertia[1], w[2] * inertia[2]))


@kernel
def to_velocity(d, b, momentum):
    """Velocity of a subtree's centre of mass; zero where there is no mass, since then there is no momentum."""
    return scale(momentum, 1.0 / maximum(MIN_VALUE, d.subtree_mass[b]))


@kernel
def orbit(mass, from_point, to_point, velocity, reference):
    """Angular momentum about `to_point` of a mass at `from_point`, its velocity counted from that of the reference.

    For one body this is not the change of reference point: it leaves out a term with the reference's velocity. In the sum
    over a subtree that term vanishes, since masses times arms from the common centre add up to nothing.
    """
    return scale(cross(sub(from_point, to_point), sub(velocity, reference)), mass)


@stage(when=sensor(SensorType.SUBTREELINVEL, SensorType.SUBTREEANGMOM, SensorType.USER))
def subtree_vel(m, d):
    """Velocity of each subtree's centre of mass and angular momentum about it. MuJoCo's mj_subtreeVel."""
    for b in range(m.nbody):
        set3(d.subtree_linvel, b, (0.0, 0.0, 0.0))
        set3(d.subtree_angmom, b, (0.0, 0.0, 0.0))
    for b in range(m.nbody - 1, 0, -1):  # momenta of children are here before their parent's turn
        p = m.body_parentid[b]
        momentum = add_scaled(get3(d.subtree_linvel, b), velocity_of_centre(d, b), m.body_mass[b])
        set3(d.subtree_linvel, p, add(get3(d.subtree_linvel, p), momentum))
        set3(d.subtree_linvel, b, to_velocity(d, b, momentum))
    set3(d.subtree_linvel, 0, to_velocity(d, 0, get3(d.subtree_linvel, 0)))
    for b in range(m.nbody - 1, 0, -1):
        p = m.body_parentid[b]
        centre, velocity = get3(d.subtree_com, b), get3(d.subtree_linvel, b)
        own = orbit(m.body_mass[b], get3(d.xipos, b), centre, velocity_of_centre(d, b), velocity)
        momentum = add(get3(d.subtree_angmom, b), add(own, spin(m, d, b)))
        set3(d.subtree_angmom, b, momentum)
        moved = orbit(d.subtree_mass[b], centre, get3(d.subtree_com, p), velocity, get3(d.subtree_linvel, p))
        set3(d.subtree_angmom, p, add(get3(d.subtree_angmom, p), add(momentum, moved)))
    d.flg_subtreevel[0] = True
