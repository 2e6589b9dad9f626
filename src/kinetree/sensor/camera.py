"""Lenses: focal lengths and principal points in pixels, from the camera's own numbers. MuJoCo: mju_camIntrinsics.

A camera has a vertical field of view, or a sensor of a given size behind a lens; MuJoCo computes the latter in single
precision, and so do we.
"""

from ..kernel import kernel
from ..kernel.ops import cos, sin

HALF_DEGREE = 3.14159265358979323846 / 360.0  # half of it in radians
SPLITTER = 2.0**29 + 1.0


@kernel
def single(x):
    """x rounded to single precision. (Veltkamp's splitting.)"""
    upper = SPLITTER * x
    return upper - (upper - x)


@kernel
def has_lens(m, c):
    """Whether camera c has a sensor of its own size; a question to the model alone."""
    return m.cam_sensorsize[c, 0] != 0.0 and m.cam_sensorsize[c, 1] != 0.0


@kernel
def in_pixels(m, c, axis, length):
    """A length [m] on the sensor, in pixels."""
    return single(single(float(length) / float(m.cam_sensorsize[c, axis])) * m.cam_resolution[c, axis])


@kernel
def focal_length(m, c, axis):
    """Distance of the image plane at which a pixel has size 1."""
    if has_lens(m, c):
        return in_pixels(m, c, axis, m.cam_intrinsic[c, axis])
    angle = m.cam_fovy[c] * HALF_DEGREE
    return 0.5 * cos(angle) / sin(angle) * m.cam_resolution[c, 1]
