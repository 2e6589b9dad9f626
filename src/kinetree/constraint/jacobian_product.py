"""Products with the constraint Jacobian. MuJoCo: mj_mulJacVec, mj_mulJacTVec.

Rows that share their columns (efc_J_rowsuper) go four or two at a time: what the columns point to is then read once for all
of them, and their sums do not wait for each other.
"""

from ..kernel import kernel
from ..kernel.ops import needs, zero


@kernel
def times_four(d, r, x, y):
    """Four entries of J x."""
    a, n = d.efc_J_rowadr[r], d.efc_J_rownnz[r]
    s0 = s1 = s2 = s3 = zero(d.time[0])
    for at in range(a, a + n):
        v = x[d.efc_J_colind[at]]
        s0 += d.efc_J[at] * v
        s1 += d.efc_J[at + n] * v
        s2 += d.efc_J[at + 2 * n] * v
        s3 += d.efc_J[at + 3 * n] * v
    y[r], y[r + 1], y[r + 2], y[r + 3] = s0, s1, s2, s3


@kernel
def times_two(d, r, x, y):
    """Two entries of J x."""
    a, n = d.efc_J_rowadr[r], d.efc_J_rownnz[r]
    s0 = s1 = zero(d.time[0])
    for at in range(a, a + n):
        v = x[d.efc_J_colind[at]]
        s0 += d.efc_J[at] * v
        s1 += d.efc_J[at + n] * v
    y[r], y[r + 1] = s0, s1


@kernel
def times_one(d, r, x, y):
    """One entry of J x."""
    total = zero(d.time[0])
    for at in range(d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]):
        total += d.efc_J[at] * x[d.efc_J_colind[at]]
    y[r] = total


@kernel
def multiply_rows(d, x, y, first, end):
    """y = J x for rows from `first` up to `end`; rows with the same columns must not be parted."""
    r = first
    while r < end:
        more = d.efc_J_rowsuper[r]
        if more >= 3:
            times_four(d, r, x, y)
            r += 4
        elif more >= 1:
            times_two(d, r, x, y)
            r += 2
        else:
            times_one(d, r, x, y)
            r += 1


@kernel
def multiply_J(m, d, x, y):
    """y = J x."""
    multiply_rows(d, x, y, 0, d.nefc[0])


@kernel
def add_four(d, r, f, out):
    """Add four rows of J, each times its force; rows of open contacts have none."""
    a, n = d.efc_J_rowadr[r], d.efc_J_rownnz[r]
    f0, f1, f2, f3 = f[r], f[r + 1], f[r + 2], f[r + 3]
    if needs((f0 != 0.0) | (f1 != 0.0) | (f2 != 0.0) | (f3 != 0.0)):
        for at in range(a, a + n):
            i = d.efc_J_colind[at]
            total = d.efc_J[at] * f0 + d.efc_J[at + n] * f1
            out[i] += total + (d.efc_J[at + 2 * n] * f2 + d.efc_J[at + 3 * n] * f3)


@kernel
def add_two(d, r, f, out):
    """Add two rows of J, each times its force."""
    a, n = d.efc_J_rowadr[r], d.efc_J_rownnz[r]
    f0, f1 = f[r], f[r + 1]
    if needs((f0 != 0.0) | (f1 != 0.0)):
        for at in range(a, a + n):
            out[d.efc_J_colind[at]] += d.efc_J[at] * f0 + d.efc_J[at + n] * f1


@kernel
def add_one(d, r, f, out):
    """Add a row of J times its force."""
    force = f[r]
    if needs(force != 0.0):
        for at in range(d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]):
            out[d.efc_J_colind[at]] += d.efc_J[at] * force


@kernel
def add_transposed_rows(d, f, out, first, end):
    """out += J' f for rows from `first` up to `end`; rows with the same columns must not be parted."""
    r = first
    while r < end:
        more = d.efc_J_rowsuper[r]
        if more >= 3:
            add_four(d, r, f, out)
            r += 4
        elif more >= 1:
            add_two(d, r, f, out)
            r += 2
        else:
            add_one(d, r, f, out)
            r += 1


@kernel
def add_J_transpose(m, d, f, out):
    """out += J' f."""
    add_transposed_rows(d, f, out, 0, d.nefc[0])


@kernel
def spread_row(d, r, x):
    """Put the entries of row r of J where their columns are in x; what lies between stays."""
    for at in range(d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]):
        x[d.efc_J_colind[at]] = d.efc_J[at]
