"""Articulated inertias: symmetric 6 x 6 matrices as tuples of 21 scalars, at a reference point in world axes.

In the order [angular; linear] of `spatial`: the tensor (xx, yy, zz, xy, xz, yz), the torque per linear acceleration as a
matrix by rows, and the force per linear acceleration (xx, yy, zz, xy, xz, yz), which joints make a matrix, not one mass.
Reference: Featherstone 2008, sec. 7.1.
"""

from ..kernel import kernel
from ..kernel.ops import zero


@kernel
def get21(field, i):
    """Row i of a field with 21 columns."""
    return (
        field[i, 0], field[i, 1], field[i, 2], field[i, 3], field[i, 4], field[i, 5], field[i, 6], field[i, 7],
        field[i, 8], field[i, 9], field[i, 10], field[i, 11], field[i, 12], field[i, 13], field[i, 14], field[i, 15],
        field[i, 16], field[i, 17], field[i, 18], field[i, 19], field[i, 20],
    )  # fmt: skip


@kernel
def set21(field, i, a):
    """Write row i of a field with 21 columns."""
    field[i, 0] = a[0]
    field[i, 1] = a[1]
    field[i, 2] = a[2]
    field[i, 3] = a[3]
    field[i, 4] = a[4]
    field[i, 5] = a[5]
    field[i, 6] = a[6]
    field[i, 7] = a[7]
    field[i, 8] = a[8]
    field[i, 9] = a[9]
    field[i, 10] = a[10]
    field[i, 11] = a[11]
    field[i, 12] = a[12]
    field[i, 13] = a[13]
    field[i, 14] = a[14]
    field[i, 15] = a[15]
    field[i, 16] = a[16]
    field[i, 17] = a[17]
    field[i, 18] = a[18]
    field[i, 19] = a[19]
    field[i, 20] = a[20]


@kernel
def no_inertia(x):
    """The inertia of nothing, in the scalar type of x."""
    o = zero(x)
    return o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o


@kernel
def add21(a, b):
    """a + b."""
    return (
        a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5], a[6] + b[6], a[7] + b[7],
        a[8] + b[8], a[9] + b[9], a[10] + b[10], a[11] + b[11], a[12] + b[12], a[13] + b[13], a[14] + b[14],
        a[15] + b[15], a[16] + b[16], a[17] + b[17], a[18] + b[18], a[19] + b[19], a[20] + b[20],
    )  # fmt: skip


@kernel
def add_rigid(a, c):
    """An articulated inertia plus that of a rigid body, ten scalars as in cinert."""
    return (
        a[0] + c[0], a[1] + c[1], a[2] + c[2], a[3] + c[3], a[4] + c[4], a[5] + c[5],
        a[6], a[7] - c[8], a[8] + c[7],
        a[9] + c[8], a[10], a[11] - c[6],
        a[12] - c[7], a[13] + c[6], a[14],
        a[15] + c[9], a[16] + c[9], a[17] + c[9], a[18], a[19], a[20],
    )  # fmt: skip


@kernel
def mul_articulated(a, s):
    """Inertia times motion: the force that a unit of this acceleration takes."""
    return (
        a[0] * s[0] + a[3] * s[1] + a[4] * s[2] + a[6] * s[3] + a[7] * s[4] + a[8] * s[5],
        a[3] * s[0] + a[1] * s[1] + a[5] * s[2] + a[9] * s[3] + a[10] * s[4] + a[11] * s[5],
        a[4] * s[0] + a[5] * s[1] + a[2] * s[2] + a[12] * s[3] + a[13] * s[4] + a[14] * s[5],
        a[6] * s[0] + a[9] * s[1] + a[12] * s[2] + a[15] * s[3] + a[18] * s[4] + a[19] * s[5],
        a[7] * s[0] + a[10] * s[1] + a[13] * s[2] + a[18] * s[3] + a[16] * s[4] + a[20] * s[5],
        a[8] * s[0] + a[11] * s[1] + a[14] * s[2] + a[19] * s[3] + a[20] * s[4] + a[17] * s[5],
    )


@kernel
def subtract_outer(a, u, w):
    """a - u w', for w parallel to u."""
    return (
        a[0] - u[0] * w[0], a[1] - u[1] * w[1], a[2] - u[2] * w[2],
        a[3] - u[0] * w[1], a[4] - u[0] * w[2], a[5] - u[1] * w[2],
        a[6] - u[0] * w[3], a[7] - u[0] * w[4], a[8] - u[0] * w[5],
        a[9] - u[1] * w[3], a[10] - u[1] * w[4], a[11] - u[1] * w[5],
        a[12] - u[2] * w[3], a[13] - u[2] * w[4], a[14] - u[2] * w[5],
        a[15] - u[3] * w[3], a[16] - u[4] * w[4], a[17] - u[5] * w[5],
        a[18] - u[3] * w[4], a[19] - u[3] * w[5], a[20] - u[4] * w[5],
    )  # fmt: skip


@kernel
def shift_articulated(a, r):
    """The same inertia about a point further on by r: coupling H - r x M, tensor I - r x H' - (r x (H - r x M)')'."""
    x, y, z = r
    h00, h01, h02 = a[6] - y * a[19] + z * a[18], a[7] - y * a[20] + z * a[16], a[8] - y * a[17] + z * a[20]
    h10, h11, h12 = a[9] - z * a[15] + x * a[19], a[10] - z * a[18] + x * a[20], a[11] - z * a[19] + x * a[17]
    h20, h21, h22 = a[12] - x * a[18] + y * a[15], a[13] - x * a[16] + y * a[18], a[14] - x * a[20] + y * a[19]
    return (
        a[0] - y * a[8] + z * a[7] - y * h02 + z * h01,
        a[1] - z * a[9] + x * a[11] - z * h10 + x * h12,
        a[2] - x * a[13] + y * a[12] - x * h21 + y * h20,
        a[3] - y * a[11] + z * a[10] - z * h00 + x * h02,
        a[4] - y * a[14] + z * a[13] - x * h01 + y * h00,
        a[5] - z * a[12] + x * a[14] - x * h11 + y * h10,
        h00, h01, h02, h10, h11, h12, h20, h21, h22,
        a[15], a[16], a[17], a[18], a[19], a[20],
    )  # fmt: skip
