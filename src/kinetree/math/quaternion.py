"""Unit quaternions (w, x, y, z) as tuples of scalars. MuJoCo's mju_mulQuat, mju_quat2Mat, mju_normalize4, ..."""

from ..kernel import kernel
from ..kernel.ops import absolute, cos, happens, needs, not_, sin, sqrt, where, where_needed
from .constants import MIN_VALUE


@kernel
def get4(field, i):
    """Row i of a field with four columns."""
    return field[i, 0], field[i, 1], field[i, 2], field[i, 3]


@kernel
def set4(field, i, q):
    """Write row i of a field with four columns."""
    field[i, 0] = q[0]
    field[i, 1] = q[1]
    field[i, 2] = q[2]
    field[i, 3] = q[3]


@kernel
def mul_quat(a, b):
    """The rotation b followed by a."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@kernel
def is_off(square):
    """Whether a squared length is not one up to rounding."""
    return not_(absolute(square - 1.0) <= 2.0 * MIN_VALUE)


@kernel
def squared_length4(q):
    """The squared length of a quaternion."""
    return q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]


@kernel
def to_length_one(q, square):
    """The unit quaternion along q, whose squared length is given; no rotation where it has none, and q where that is one."""
    tiny = square < MIN_VALUE * MIN_VALUE
    s = where_needed(is_off(square), 1.0 / sqrt(where(tiny, 1.0, square)), 1.0)
    s = where(tiny, 0.0, s)
    return where(tiny, 1.0, q[0] * s), q[1] * s, q[2] * s, q[3] * s


@kernel
def normalize4(q):
    """The unit quaternion along q; no rotation where q has no length."""
    square = squared_length4(q)
    if needs(is_off(square)):  # almost never: the root stays off the critical path
        q = to_length_one(q, square)
    return q


@kernel
def renormalize4(q):
    """A product of unit quaternions without what rounding did to its length; symbols do not round."""
    square = squared_length4(q)
    if happens(is_off(square)):
        q = to_length_one(q, square)
    return q


@kernel
def axis_angle(axis, angle):
    """The rotation by an angle [rad] about a unit axis."""
    half = 0.5 * angle
    s = sin(half)
    return cos(half), axis[0] * s, axis[1] * s, axis[2] * s


@kernel
def rotate(q, v):
    """The vector v turned by the unit quaternion q."""
    t0 = q[0] * v[0] + q[2] * v[2] - q[3] * v[1]
    t1 = q[0] * v[1] + q[3] * v[0] - q[1] * v[2]
    t2 = q[0] * v[2] + q[1] * v[1] - q[2] * v[0]
    return (
        v[0] + 2.0 * (q[2] * t2 - q[3] * t1),
        v[1] + 2.0 * (q[3] * t0 - q[1] * t2),
        v[2] + 2.0 * (q[1] * t1 - q[2] * t0),
    )


@kernel
def to_matrix(q):
    """The rotation matrix of a unit quaternion, row by row."""
    w, x, y, z = q
    x2, y2, z2 = x + x, y + y, z + z
    ww, yy = w * w, y * y
    a, b, c, e = ww + x * x, yy + z * z, ww - x * x, yy - z * z
    xy, xz, yz = x2 * y, x2 * z, y2 * z
    return (
        a - b, xy - w * z2, xz + w * y2,
        xy + w * z2, c + e, yz - w * x2,
        xz - w * y2, yz + w * x2, c - e,
    )  # fmt: skip
