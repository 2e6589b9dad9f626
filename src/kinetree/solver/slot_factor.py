"""The linear system of Newton's step in constraint space: (I + C' G C) z = C' (b + G c), a small dense matrix.

G is that of `slot_product.py`, C the roots of curvatures, c the constant part of forces; only groups that have some are in it.
The factor is L D L', tile by tile, with no square roots, and the right side is solved along. Then the forces aimed at are
c - C z, and what they change slots by follows from G.
Reads: slot_G, slot_C, slot_b, slot_x, slot_lam, slot_rest, slot_live. Writes: slot_L, slot_pivot, slot_half, slot_z, slot_mu,
slot_u.
"""

from ..kernel import kernel
from ..kernel.ops import zero
from .slot_product import tile
from .slots import WIDE_AT_HAND


@kernel
def column_of(d, g):
    """Where the own columns of a group begin in slot_C: behind those of its contact's first group."""
    return 3 if is_second(d, g) else 0


@kernel
def own_root(d, g):
    """Upper triangle of the root of a group, row by row."""
    k, c = 3 * g, column_of(d, g)
    y = d.slot_C
    return y[k, c], y[k, c + 1], y[k, c + 2], y[k + 1, c + 1], y[k + 1, c + 2], y[k + 2, c + 2]


@kernel
def cross_root(d, g):
    """Rows of the first group of a wide contact, columns of the second, g."""
    y, k = d.slot_C, 3 * g - 3
    x = y[k, 3], y[k, 4], y[k, 5], y[k + 1, 3], y[k + 1, 4], y[k + 1, 5]
    return x[0], x[1], x[2], x[3], x[4], x[5], y[k + 2, 3], y[k + 2, 4], y[k + 2, 5]


@kernel
def G_tile(d, n, i, j):
    """A tile of G, row by row."""
    y, p = d.slot_G, i * 3 * n + 3 * j
    x = y[p, 0], y[p + 1, 0], y[p + 2, 0], y[p, 1], y[p + 1, 1], y[p + 2, 1]
    return x[0], x[1], x[2], x[3], x[4], x[5], y[p, 2], y[p + 1, 2], y[p + 2, 2]


@kernel
def times_triangle(t, c):
    """A tile times an upper triangle."""
    return (
        t[0] * c[0],
        t[0] * c[1] + t[1] * c[3],
        t[0] * c[2] + t[1] * c[4] + t[2] * c[5],
        t[3] * c[0],
        t[3] * c[1] + t[4] * c[3],
        t[3] * c[2] + t[4] * c[4] + t[5] * c[5],
        t[6] * c[0],
        t[6] * c[1] + t[7] * c[3],
        t[6] * c[2] + t[7] * c[4] + t[8] * c[5],
    )


@kernel
def triangle_times(c, t):
    """The transpose of an upper triangle times a tile."""
    return (
        c[0] * t[0],
        c[0] * t[1],
        c[0] * t[2],
        c[1] * t[0] + c[3] * t[3],
        c[1] * t[1] + c[3] * t[4],
        c[1] * t[2] + c[3] * t[5],
        c[2] * t[0] + c[4] * t[3] + c[5] * t[6],
        c[2] * t[1] + c[4] * t[4] + c[5] * t[7],
        c[2] * t[2] + c[4] * t[5] + c[5] * t[8],
    )


@kernel
def is_second(d, g):
    """Whether a group is the second of a wide contact."""
    return g < d.slot_at[WIDE_AT_HAND] and g % 2 == 1


@kernel
def GC_tile(d, n, i, j):
    """A tile of G C."""
    t = times_triangle(G_tile(d, n, i, j), own_root(d, j))
    if is_second(d, j):
        t = add9(t, mul_mat(G_tile(d, n, i, j - 1), cross_root(d, j)))
    return t


@kernel
def weighed_tile(d, n, i, j):
    """A tile of C' G C."""
    t = triangle_times(own_root(d, i), GC_tile(d, n, i, j))
    if is_second(d, i):
        t = add9(t, mul_mat_transposed(cross_root(d, i), GC_tile(d, n, i - 1, j)))
    return t


@kernel
def add9(a, b):
    """Sum of two tiles."""
    return (
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
        a[8] + b[8],
    )


@kernel
def less9(a, b):
    """Difference of two tiles."""
    return (
        a[0] - b[0],
        a[1] - b[1],
        a[2] - b[2],
        a[3] - b[3],
        a[4] - b[4],
        a[5] - b[5],
        a[6] - b[6],
        a[7] - b[7],
        a[8] - b[8],
    )


@kernel
def mul_mat(a, b):
    """Product of two tiles."""
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


@kernel
def mul_mat_transposed(a, b):
    """Product of the transpose of a tile with another."""
    return mul_mat((a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]), b)


@kernel
def root_transposed_times(d, g, x):
    """Entries of C' x of a group."""
    k, c = 3 * g, own_root(d, g)
    x0, x1, x2 = x[k], x[k + 1], x[k + 2]
    y0, y1, y2 = c[0] * x0, c[1] * x0 + c[3] * x1, c[2] * x0 + c[4] * x1 + c[5] * x2
    if is_second(d, g):
        b = cross_root(d, g)
        w0, w1, w2 = x[k - 3], x[k - 2], x[k - 1]
        y0 = y0 + b[0] * w0 + b[3] * w1 + b[6] * w2
        y1 = y1 + b[1] * w0 + b[4] * w1 + b[7] * w2
        y2 = y2 + b[2] * w0 + b[5] * w1 + b[8] * w2
    return y0, y1, y2


@kernel
def add_G_times(d, n, g, x, y0, y1, y2):
    """Three numbers plus those of G x of a group, x over slots of groups that are live."""
    y = d.slot_G
    for i in range(d.slot_nlive[0]):
        k = 3 * d.slot_live[i]
        p = g * 3 * n + k
        w0, w1, w2 = x[k], x[k + 1], x[k + 2]
        y0 = y0 + y[p, 0] * w0 + y[p + 1, 0] * w1 + y[p + 2, 0] * w2
        y1 = y1 + y[p, 1] * w0 + y[p + 1, 1] * w1 + y[p + 2, 1] * w2
        y2 = y2 + y[p, 2] * w0 + y[p + 1, 2] * w1 + y[p + 2, 2] * w2
    return y0, y1, y2


@kernel
def set_right_side(d, n):
    """slot_half = C' (b + G c), for live groups."""
    y = d.slot_u
    for g in range(n):
        k = 3 * g
        y[k], y[k + 1], y[k + 2] = d.slot_b[k], d.slot_b[k + 1], d.slot_b[k + 2]
    if d.nf[0] > 0:
        for i in range(d.slot_nlive[0]):
            k = 3 * d.slot_live[i]
            y[k], y[k + 1], y[k + 2] = add_G_times(d, n, d.slot_live[i], d.slot_rest, y[k], y[k + 1], y[k + 2])
    for i in range(d.slot_nlive[0]):
        k = 3 * i
        d.slot_half[k], d.slot_half[k + 1], d.slot_half[k + 2] = root_transposed_times(d, d.slot_live[i], y)


@kernel
def put_pivot(d, n, i, a):
    """Factor the tile on the diagonal, and solve the right side so far."""
    k, at = 3 * i, i * 3 * n + 3 * i
    i0 = 1.0 / (1.0 + a[0])
    l10, l20 = a[3] * i0, a[6] * i0
    i1 = 1.0 / (1.0 + a[4] - a[3] * l10)
    a21 = a[7] - a[6] * l10
    l21 = a21 * i1
    i2 = 1.0 / (1.0 + a[8] - a[6] * l20 - a21 * l21)
    d.slot_pivot[k], d.slot_pivot[k + 1], d.slot_pivot[k + 2] = i0, i1, i2
    d.slot_L[at, 1], d.slot_L[at, 2], d.slot_L[at + 1, 2] = l10, l20, l21
    r0, r1, r2, row = d.slot_half[k], d.slot_half[k + 1], d.slot_half[k + 2], i * 3 * n
    for p in range(k):
        x = d.slot_half[p]
        r0, r1, r2 = r0 - d.slot_L[row + p, 0] * x, r1 - d.slot_L[row + p, 1] * x, r2 - d.slot_L[row + p, 2] * x
    r1 = r1 - l10 * r0
    d.slot_half[k], d.slot_half[k + 1], d.slot_half[k + 2] = r0, r1, r2 - l20 * r0 - l21 * r1


@kernel
def put_tile(d, n, i, j, a):
    """Solve the rows of a tile with the factor of column j."""
    k, at, to, x, y = 3 * j, j * 3 * n + 3 * j, i * 3 * n + 3 * j, d.slot_line, d.slot_L
    l10, l20, l21 = y[at, 1], y[at, 2], y[at + 1, 2]
    d0, d1, d2 = d.slot_pivot[k], d.slot_pivot[k + 1], d.slot_pivot[k + 2]
    a01, a11, a21 = a[1] - a[0] * l10, a[4] - a[3] * l10, a[7] - a[6] * l10
    a02, a12 = a[2] - a[0] * l20 - a01 * l21, a[5] - a[3] * l20 - a11 * l21
    a22 = a[8] - a[6] * l20 - a21 * l21
    x[k, 0], x[k, 1], x[k, 2] = a[0], a[3], a[6]
    x[k + 1, 0], x[k + 1, 1], x[k + 1, 2] = a01, a11, a21
    x[k + 2, 0], x[k + 2, 1], x[k + 2, 2] = a02, a12, a22
    y[to, 0], y[to, 1], y[to, 2] = a[0] * d0, a[3] * d0, a[6] * d0
    y[to + 1, 0], y[to + 1, 1], y[to + 1, 2] = a01 * d1, a11 * d1, a21 * d1
    y[to + 2, 0], y[to + 2, 1], y[to + 2, 2] = a02 * d2, a12 * d2, a22 * d2


@kernel
def factor_slots(d, n):
    """L and D of I + C' G C over live groups, and L^-1 of the right side."""
    set_right_side(d, n)
    for i in range(d.slot_nlive[0]):
        for j in range(i + 1):
            a = weighed_tile(d, n, d.slot_live[i], d.slot_live[j])
            s = tile(d.slot_line, 0, d.slot_L, j * 3 * n, 3 * j)
            a = less9(a, s)
            if i == j:
                put_pivot(d, n, i, a)
            else:
                put_tile(d, n, i, j, a)


@kernel
def solve_back(d, n):
    """slot_z = (L D L')^-1 of the right side, in the order of live groups."""
    size, y = 3 * d.slot_nlive[0], d.slot_L
    for i in range(d.slot_nlive[0] - 1, -1, -1):
        k, at = 3 * i, i * 3 * n + 3 * i
        z0, z1 = d.slot_half[k] * d.slot_pivot[k], d.slot_half[k + 1] * d.slot_pivot[k + 1]
        z2 = d.slot_half[k + 2] * d.slot_pivot[k + 2]
        for j in range(k + 3, size, 3):
            p = j * n + k
            x0, x1, x2 = d.slot_z[j], d.slot_z[j + 1], d.slot_z[j + 2]
            z0 = z0 - y[p, 0] * x0 - y[p, 1] * x1 - y[p, 2] * x2
            z1 = z1 - y[p + 1, 0] * x0 - y[p + 1, 1] * x1 - y[p + 1, 2] * x2
            z2 = z2 - y[p + 2, 0] * x0 - y[p + 2, 1] * x1 - y[p + 2, 2] * x2
        z1 = z1 - y[at + 1, 2] * z2
        d.slot_z[k], d.slot_z[k + 1], d.slot_z[k + 2] = z0 - y[at, 1] * z1 - y[at, 2] * z2, z1, z2


@kernel
def aim(d, n):
    """Forces aimed at, c - C z, less slot_lam, in slot_mu."""
    for k in range(3 * n):
        d.slot_mu[k] = 0.0
    for i in range(d.slot_nlive[0]):
        g, j = d.slot_live[i], 3 * i
        k, c = 3 * g, own_root(d, g)
        z0, z1, z2 = d.slot_z[j], d.slot_z[j + 1], d.slot_z[j + 2]
        y0, y1, y2 = c[0] * z0 + c[1] * z1 + c[2] * z2, c[3] * z1 + c[4] * z2, c[5] * z2
        d.slot_mu[k], d.slot_mu[k + 1], d.slot_mu[k + 2] = (
            d.slot_rest[k] - y0,
            d.slot_rest[k + 1] - y1,
            d.slot_rest[k + 2] - y2,
        )
        if is_second(d, g):
            b = cross_root(d, g)
            d.slot_mu[k - 3] -= b[0] * z0 + b[1] * z1 + b[2] * z2
            d.slot_mu[k - 2] -= b[3] * z0 + b[4] * z1 + b[5] * z2
            d.slot_mu[k - 1] -= b[6] * z0 + b[7] * z1 + b[8] * z2


@kernel
def solve_slots(d, n):
    """Step of the forces, slot_mu, and of the slots, slot_u = b + G (lam + mu) - x."""
    factor_slots(d, n)
    solve_back(d, n)
    aim(d, n)
    for g in range(n):
        k, u = 3 * g, d.slot_u
        u[k], u[k + 1], u[k + 2] = add_G_times(
            d,
            n,
            g,
            d.slot_mu,
            d.slot_b[k] - d.slot_x[k],
            d.slot_b[k + 1] - d.slot_x[k + 1],
            d.slot_b[k + 2] - d.slot_x[k + 2],
        )
    for k in range(3 * n):
        d.slot_mu[k] -= d.slot_lam[k]


@kernel
def bent_square(d):
    """The square of slot_u by the curvature."""
    total = zero(d.slot_u[0])
    for i in range(d.slot_nlive[0]):
        y0, y1, y2 = root_transposed_times(d, d.slot_live[i], d.slot_u)
        total += y0 * y0 + (y1 * y1 + y2 * y2)
    return total
