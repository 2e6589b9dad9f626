"""Three-dimensional vectors and 3 x 3 matrices (nine numbers, row by row) as tuples of scalars."""

from ..kernel import kernel
from ..kernel.ops import sqrt, where, zero

MIN_SQUARE = 1e-30  # of MuJoCo's mjMINVAL: below this a squared length counts as zero


@kernel
def get3(field, i):
    """Row i of a field with three columns."""
    return field[i, 0], field[i, 1], field[i, 2]


@kernel
def set3(field, i, v):
    """Write row i of a field with three columns."""
    field[i, 0] = v[0]
    field[i, 1] = v[1]
    field[i, 2] = v[2]


@kernel
def get9(field, i):
    """Row i of a field with nine columns: a matrix."""
    return (
        field[i, 0], field[i, 1], field[i, 2], field[i, 3], field[i, 4], field[i, 5], field[i, 6], field[i, 7],
        field[i, 8],
    )  # fmt: skip


@kernel
def set9(field, i, a):
    """Write row i of a field with nine columns."""
    field[i, 0] = a[0]
    field[i, 1] = a[1]
    field[i, 2] = a[2]
    field[i, 3] = a[3]
    field[i, 4] = a[4]
    field[i, 5] = a[5]
    field[i, 6] = a[6]
    field[i, 7] = a[7]
    field[i, 8] = a[8]


@kernel
def add(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def sub(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def scale(a, s):
    """a times a scalar."""
    return a[0] * s, a[1] * s, a[2] * s


@kernel
def add_scaled(a, b, s):
    """a + s b."""
    return a[0] + b[0] * s, a[1] + b[1] * s, a[2] + b[2] * s


@kernel
def dot(a, b):
    """Inner product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a, b):
    """Vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def norm(a):
    """Length."""
    return sqrt(dot(a, a))


@kernel
def unit(a):
    """The vector of length one along a; the x axis where a has no length. MuJoCo's mju_normalize3."""
    square = dot(a, a)
    none = square < MIN_SQUARE
    s = where(none, 0.0, 1.0 / sqrt(where(none, 1.0, square)))
    return where(none, 1.0, a[0] * s), a[1] * s, a[2] * s


@kernel
def where3(condition, a, b):
    """a where the condition holds, else b."""
    return where(condition, a[0], b[0]), where(condition, a[1], b[1]), where(condition, a[2], b[2])


@kernel
def root(x):
    """Square root of x >= 0 whose derivative is 0, not infinite, where x is 0: for lengths that may vanish."""
    none = x == 0.0
    return where(none, 0.0, sqrt(where(none, 1.0, x)))


@kernel
def mul_mat_vec(a, v):
    """Matrix times vector."""
    return (
        a[0] * v[0] + a[1] * v[1] + a[2] * v[2],
        a[3] * v[0] + a[4] * v[1] + a[5] * v[2],
        a[6] * v[0] + a[7] * v[1] + a[8] * v[2],
    )


@kernel
def mul_mat_t_vec(a, v):
    """Transposed matrix times vector."""
    return (
        a[0] * v[0] + a[3] * v[1] + a[6] * v[2],
        a[1] * v[0] + a[4] * v[1] + a[7] * v[2],
        a[2] * v[0] + a[5] * v[1] + a[8] * v[2],
    )


@kernel
def column(a, k):
    """Column k of a matrix."""
    return a[k], a[3 + k], a[6 + k]


@kernel
def add9(a, b):
    """Sum of two matrices."""
    return (
        a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5], a[6] + b[6], a[7] + b[7],
        a[8] + b[8],
    )  # fmt: skip


@kernel
def scale9(a, s):
    """Matrix times a scalar."""
    return a[0] * s, a[1] * s, a[2] * s, a[3] * s, a[4] * s, a[5] * s, a[6] * s, a[7] * s, a[8] * s


@kernel
def transposed(a):
    """The matrix with rows and columns exchanged."""
    return a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]


@kernel
def outer(a, b):
    """The matrix a b'."""
    return (
        a[0] * b[0], a[0] * b[1], a[0] * b[2], a[1] * b[0], a[1] * b[1], a[1] * b[2], a[2] * b[0], a[2] * b[1],
        a[2] * b[2],
    )  # fmt: skip


@kernel
def add_diagonal(a, d):
    """Matrix plus a diagonal one."""
    return a[0] + d[0], a[1], a[2], a[3], a[4] + d[1], a[5], a[6], a[7], a[8] + d[2]


@kernel
def cross_matrix(a):
    """The matrix that makes a x v of v."""
    none = zero(a[0])
    return none, -a[2], a[1], a[2], none, -a[0], -a[1], a[0], none


@kernel
def mul_mat_mat(a, b):
    """Matrix times matrix."""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6],
        a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6],
        a[3] * b[1] + a[4] * b[4] + a[5] * b[7],
        a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6],
        a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )
