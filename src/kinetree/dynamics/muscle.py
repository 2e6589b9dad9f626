"""Muscles: activation dynamics, active force by length and velocity, passive force.

MuJoCo: mju_muscleDynamics, mju_muscleGain, mju_muscleBias. Reference: Millard et al. 2013, doi 10.1115/1.4023390.
Parameters of gain and bias: range (2), peak force, scale, lmin, lmax, vmax, fpmax, fvmax; lengths are in units of the
optimal length. Forces are negative: a muscle pulls.
"""

from ..kernel import kernel
from ..kernel.ops import maximum, minimum, where
from ..math.constants import MIN_VALUE


@kernel
def guarded(x):
    """x, but never zero or negative: for divisors."""
    return maximum(MIN_VALUE, x)


@kernel
def smooth_step(x):
    """From 0 at x = 0 to 1 at x = 1 with two derivatives zero at either end. MuJoCo's mju_sigmoid."""
    x = minimum(1.0, maximum(0.0, x))
    return x * x * x * (3.0 * x * (2.0 * x - 5.0) + 10.0)


@kernel
def muscle_dynamics(m, k, ctrl, act):
    """Rate of the activation; rising and falling have time constants of their own, with a sharp or smooth switch."""
    excitation = minimum(1.0, maximum(0.0, ctrl)) - act
    effort = 0.5 + 1.5 * minimum(1.0, maximum(0.0, act))
    rising, falling = m.actuator_dynprm[k, 0] * effort, m.actuator_dynprm[k, 1] / effort
    width = m.actuator_dynprm[k, 2]
    sharp = where(excitation > 0.0, rising, falling)
    smooth = falling + (rising - falling) * smooth_step(excitation / guarded(width) + 0.5)
    return excitation / guarded(where(width < MIN_VALUE, sharp, smooth))


@kernel
def peak_force(m, prm, k, row):
    """Largest active force; if negative in the model, scaled by the inertia it moves."""
    return where(prm[k, 2] < 0.0, prm[k, 3] / guarded(m.actuator_acc0[row]), prm[k, 2])


@kernel
def optimal_length(m, prm, k, row):
    """Length that the curves take as 1: the actuator's range over that of the muscle."""
    return (m.actuator_lengthrange[row, 1] - m.actuator_lengthrange[row, 0]) / guarded(prm[k, 1] - prm[k, 0])


@kernel
def normalized_length(m, d, prm, k, row):
    """Length in units of the optimal one."""
    travel = d.actuator_length[row] - m.actuator_lengthrange[row, 0]
    return prm[k, 0] + travel / guarded(optimal_length(m, prm, k, row))


@kernel
def length_curve(x, low, high):
    """Active force by length: a bump of four parabolas from `low` over 1 to `high`."""
    a, b = 0.5 * (low + 1.0), 0.5 * (1.0 + high)
    p, q = (x - low) / guarded(a - low), (1.0 - x) / guarded(1.0 - a)
    r, s = (x - 1.0) / guarded(b - 1.0), (high - x) / guarded(high - b)
    rising = where(x <= a, 0.5 * p * p, 1.0 - 0.5 * q * q)
    falling = where(x <= b, 1.0 - 0.5 * r * r, 0.5 * s * s)
    return where((x < low) | (x > high), 0.0, where(x <= 1.0, rising, falling))


@kernel
def velocity_curve(x, most):
    """Active force by velocity: none at full contraction (-1), 1 at rest, `most` when stretched fast."""
    y = most - 1.0
    shortening = where(x <= -1.0, 0.0, (x + 1.0) * (x + 1.0))
    lengthening = where(x <= y, most - (y - x) * (y - x) / guarded(y), most)
    return where(x <= 0.0, shortening, lengthening)


@kernel
def muscle_gain(m, d, k, row):
    """Active force of a full activation."""
    length = normalized_length(m, d, m.actuator_gainprm, k, row)
    fastest = optimal_length(m, m.actuator_gainprm, k, row) * m.actuator_gainprm[k, 6]
    velocity = d.actuator_velocity[row] / guarded(fastest)
    by_length = length_curve(length, m.actuator_gainprm[k, 4], m.actuator_gainprm[k, 5])
    by_velocity = velocity_curve(velocity, m.actuator_gainprm[k, 8])
    return -peak_force(m, m.actuator_gainprm, k, row) * by_length * by_velocity


@kernel
def muscle_bias(m, d, k, row):
    """Passive force: none up to the optimal length, then a parabola, then a straight line."""
    length = normalized_length(m, d, m.actuator_biasprm, k, row)
    half = 0.5 * (1.0 + m.actuator_biasprm[k, 5])
    x, y = (length - 1.0) / guarded(half - 1.0), (length - half) / guarded(half - 1.0)
    stretch = where(length <= 1.0, 0.0, where(length <= half, 0.5 * x * x, 0.5 + y))
    return -peak_force(m, m.actuator_biasprm, k, row) * m.actuator_biasprm[k, 7] * stretch
