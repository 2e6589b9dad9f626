"""Friction forces of one contact under a given normal force: a quadratic over an ellipsoid.

MuJoCo: mju_QCQP2, mju_QCQP3, mju_QCQP. Scaled by the friction coefficients the problem is min v' A v / 2 + v' b over |v| <= r.
Newton's method finds the multiplier l >= 0 at which v = -(A + l)^-1 b has that length. Scratch: disc_A, disc_b (input),
disc_v (result), disc_L, disc_w. As in MuJoCo the result is zero where A is singular by its measure.
"""

from ..kernel import kernel
from ..kernel.ops import any_, maximum, not_, sqrt, where, zero
from ..math.constants import MIN_VALUE, resolved

SINGULAR = 1e-10  # determinant of 2 x 2 and 3 x 3, pivot of larger ones
CLOSE = 1e-10  # in the square of the length, and in the multiplier
ITERATIONS = 20


@kernel
def invert_two(d, shift):
    """disc_L = (A + shift)^-1 for two dimensions; where it is regular."""
    a, b, c = d.disc_A[0] + shift, d.disc_A[1], d.disc_A[3] + shift
    det = a * c - b * b
    regular = not_(det < SINGULAR)
    scale = 1.0 / where(regular, det, 1.0)
    d.disc_L[0], d.disc_L[1], d.disc_L[2], d.disc_L[3] = c * scale, -b * scale, -b * scale, a * scale
    return regular


@kernel
def invert_three(d, shift):
    """The same for three dimensions."""
    a, b, c = d.disc_A[0] + shift, d.disc_A[4] + shift, d.disc_A[8] + shift
    ab, ac, bc = d.disc_A[1], d.disc_A[2], d.disc_A[5]
    p00, p01, p02 = b * c - bc * bc, ac * bc - ab * c, ab * bc - ac * b
    det = a * p00 + ab * p01 + ac * p02
    regular = not_(det < SINGULAR)
    scale = 1.0 / where(regular, det, 1.0)
    d.disc_L[0], d.disc_L[1], d.disc_L[2] = p00 * scale, p01 * scale, p02 * scale
    d.disc_L[3], d.disc_L[4], d.disc_L[5] = p01 * scale, (a * c - ac * ac) * scale, (ab * ac - bc * a) * scale
    d.disc_L[6], d.disc_L[7], d.disc_L[8] = p02 * scale, d.disc_L[5], (a * b - ab * ab) * scale
    return regular


@kernel
def factor_more(d, n, shift):
    """disc_L = Cholesky's factor of A + shift, with inverse diagonal; where it is regular."""
    regular = shift == shift
    for j in range(n):
        pivot = d.disc_A[n * j + j] + shift
        for k in range(j):
            pivot -= d.disc_L[n * j + k] * d.disc_L[n * j + k]
        regular = regular & not_(pivot < SINGULAR)
        inverse = 1.0 / sqrt(where(pivot < SINGULAR, 1.0, pivot))
        d.disc_L[n * j + j] = inverse
        for i in range(j + 1, n):
            value = d.disc_A[n * i + j]
            for k in range(j):
                value -= d.disc_L[n * i + k] * d.disc_L[n * j + k]
            d.disc_L[n * i + j] = value * inverse
    return regular


@kernel
def invert(d, n, shift):
    """Prepare solves with A + shift; where it is regular."""
    if n == 2:
        return invert_two(d, shift)
    if n == 3:
        return invert_three(d, shift)
    return factor_more(d, n, shift)


@kernel
def solve_factored(d, n, x):
    """disc_w = (A + shift)^-1 x by Cholesky's factor."""
    for i in range(n):
        value = x[i]
        for k in range(i):
            value -= d.disc_L[n * i + k] * d.disc_w[k]
        d.disc_w[i] = value * d.disc_L[n * i + i]
    for i in range(n - 1, -1, -1):
        value = d.disc_w[i]
        for k in range(i + 1, n):
            value -= d.disc_L[n * k + i] * d.disc_w[k]
        d.disc_w[i] = value * d.disc_L[n * i + i]


@kernel
def solve(d, n, x):
    """disc_w = (A + shift)^-1 x."""
    if n > 3:
        solve_factored(d, n, x)
    else:
        for i in range(n):
            value = zero(x[i])
            for k in range(n):
                value += d.disc_L[n * i + k] * x[k]
            d.disc_w[i] = value


@kernel
def square(d, n):
    """Square of the length of disc_v."""
    total = zero(d.time[0])
    for i in range(n):
        total += d.disc_v[i] * d.disc_v[i]
    return total


@kernel
def solve_on_disc(d, n, radius, mask):
    """disc_v = the minimum over |v| <= radius, in the worlds of the mask; in the others it is zero."""
    for i in range(n):
        d.disc_v[i] = 0.0
    shift, going, k = zero(radius), mask, 0
    while k < ITERATIONS and any_(going):
        regular = invert(d, n, shift)
        solve(d, n, d.disc_b)
        shift = where(going & not_(regular), 0.0, shift)
        for i in range(n):
            d.disc_v[i] = where(going, where(regular, -d.disc_w[i], 0.0), d.disc_v[i])
        excess = square(d, n) - radius * radius
        going = going & regular & not_(excess < resolved(CLOSE, excess))
        if any_(going):
            solve(d, n, d.disc_v)
            slope = zero(radius)
            for i in range(n):
                slope += 2.0 * d.disc_v[i] * d.disc_w[i]
            change = excess / where(going, slope, 1.0)
            going = going & not_(change < resolved(CLOSE, change))
            shift = where(going, shift + change, shift)
        k += 1
    onto = where(shift != 0.0, sqrt(radius * radius / maximum(MIN_VALUE, square(d, n))), 1.0)  # it is but nearly there
    for i in range(n):
        d.disc_v[i] *= onto
