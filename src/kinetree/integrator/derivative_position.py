"""Derivative of actuator forces by their lengths, with the limits that hold for that by velocity (`derivative_actuator`).

MuJoCo: the counterpart of mjd_actuator_vel that the discrete integrator has. Reads: what that one reads.
"""

from ..dynamics.actuation import input_of
from ..dynamics.muscle import (
    guarded,
    normalized_length,
    optimal_length,
    peak_force,
    velocity_curve,
)
from ..kernel import kernel
from ..kernel.ops import cos, where, zero
from ..types import BiasType, GainType
from .derivative_actuator import motor_response, within_limits


@kernel
def length_curve_slope(x, low, high):
    """Derivative of a muscle's active force by its normalised length."""
    a, b = 0.5 * (low + 1.0), 0.5 * (1.0 + high)
    p, q = (x - low) / guarded(a - low), (1.0 - x) / guarded(1.0 - a)
    r, s = (x - 1.0) / guarded(b - 1.0), (high - x) / guarded(high - b)
    rising = where(x <= a, p / guarded(a - low), q / guarded(1.0 - a))
    falling = where(x <= b, -r / guarded(b - 1.0), -s / guarded(high - b))
    return where((x < low) | (x > high), 0.0, where(x <= 1.0, rising, falling))


@kernel
def muscle_gain_stiffening(m, d, k, row):
    """Derivative of a muscle's gain by its length."""
    length, scale = normalized_length(m, d, m.actuator_gainprm, k, row), optimal_length(m, m.actuator_gainprm, k, row)
    fastest = guarded(scale * m.actuator_gainprm[k, 6])
    by_velocity = velocity_curve(d.actuator_velocity[row] / fastest, m.actuator_gainprm[k, 8])
    by_length = length_curve_slope(length, m.actuator_gainprm[k, 4], m.actuator_gainprm[k, 5])
    return -peak_force(m, m.actuator_gainprm, k, row) * by_length * by_velocity / guarded(scale)


@kernel
def muscle_bias_stiffening(m, d, k, row):
    """Derivative of a muscle's passive force by its length."""
    length, scale = normalized_length(m, d, m.actuator_biasprm, k, row), optimal_length(m, m.actuator_biasprm, k, row)
    span = guarded(0.5 * (1.0 + m.actuator_biasprm[k, 5]) - 1.0)
    x = (length - 1.0) / span
    slope = where(length <= 1.0, 0.0, where(x <= 1.0, x, 1.0)) / span
    return -peak_force(m, m.actuator_biasprm, k, row) * m.actuator_biasprm[k, 7] * slope / guarded(scale)


@kernel
def cogging_slope(m, d, k):
    """Derivative of a motor's cogging torque by its angle."""
    period = m.actuator_biasprm[k, 1]
    angle = period * d.actuator_length[m.actuator_outadr[k]] + m.actuator_biasprm[k, 2]
    return m.actuator_biasprm[k, 0] * period * cos(angle)


@kernel
def length_slope(m, d, k):
    """Derivative of the force of actuator k by its length."""
    gain, bias, row = m.actuator_gaintype[k], m.actuator_biastype[k], m.actuator_outadr[k]
    slope = zero(d.actuator_length[row])
    if bias == BiasType.AFFINE or bias == BiasType.SO3:
        slope += m.actuator_biasprm[k, 1]
    elif bias == BiasType.MUSCLE:
        slope += muscle_bias_stiffening(m, d, k, row)
    if gain == GainType.AFFINE:
        slope += m.actuator_gainprm[k, 1] * input_of(m, d, k, row)
    elif gain == GainType.MUSCLE:
        slope += muscle_gain_stiffening(m, d, k, row) * input_of(m, d, k, row)
    elif gain == GainType.DCMOTOR:
        slope += motor_response(m, d, k, m.actuator_gainprm[k, 4], 0.0)
    if bias == BiasType.DCMOTOR:
        slope += cogging_slope(m, d, k)
    return within_limits(m, d, k, slope)
