"""Square matrices with the pattern of the tree, and their LU factors.

Entry (i, k) may be non-zero where one of the dofs i and k moves the other: the pattern D of the model. A row lists the
dofs above its own one, itself, and the dofs below it, which follow it without a gap. So the place of an entry follows
from the number of dofs above each dof, `D_diag`, and nothing needs to be searched.
MuJoCo: mju_factorLUSparse, mju_solveLUSparse. Eliminated from the leaves, the pattern fills nothing in (Featherstone 2008,
sec. 6.5). The factors are U with a unit diagonal, above the diagonal, and L, on and below it: matrix = U L.
"""

from ..dynamics.warning import warn
from ..kernel import kernel
from ..kernel.ops import absolute, happens, where, zero
from ..math.constants import MIN_VALUE
from ..types import WarningType


@kernel
def diagonal(m, i):
    """Place of entry (i, i)."""
    return m.D_rowadr[i] + m.D_diag[i]


@kernel
def is_above(m, k, i):
    """Whether dof k moves dof i, for k <= i."""
    return i - k < m.D_rownnz[k] - m.D_diag[k]


@kernel
def lower(m, i, k):
    """Place of entry (i, k) where k is above i: it has as many dofs before it in row i as above it in the tree."""
    return m.D_rowadr[i] + m.D_diag[k]


@kernel
def upper(m, k, i):
    """Place of entry (k, i) where k is above i."""
    return m.D_rowadr[k] + m.D_diag[k] + i - k


@kernel
def add_outer_product(m, matrix, values, columns, first, end, weight):
    """Add weight r'r to the pattern, for the sparse row r = values[first:end]; pairs outside of the pattern are left out."""
    for a in range(first, end):
        i, share = columns[a], weight * values[a]
        matrix[diagonal(m, i)] += share * values[a]
        for b in range(first, a):
            k = columns[b]
            if is_above(m, k, i):
                matrix[lower(m, i, k)] += share * values[b]
                matrix[upper(m, k, i)] += share * values[b]


@kernel
def nonzero(pivot):
    """The pivot, at least as large as MuJoCo's smallest number."""
    least = where(pivot < 0.0, zero(pivot) - MIN_VALUE, MIN_VALUE)
    return where(absolute(pivot) < MIN_VALUE, least, pivot)


@kernel
def factor_lu(m, matrix, first, end):
    """Replace the rows of whole trees, dofs first..end - 1, by their factors."""
    for i in range(end - 1, first - 1, -1):
        row, n = m.D_rowadr[i], m.D_diag[i]
        matrix[row + n] = nonzero(matrix[row + n])
        inverse = 1.0 / matrix[row + n]
        j = m.dof_parentid[i]
        while j >= 0:
            above = m.D_diag[j]
            target, place = m.D_rowadr[j], upper(m, j, i)
            weight = matrix[place] * inverse
            matrix[place] = weight
            for c in range(above + 1):
                matrix[target + c] -= matrix[row + c] * weight
            for c in range(above + 1, n):
                matrix[upper(m, j, m.D_colind[row + c])] -= matrix[row + c] * weight
            j = m.dof_parentid[j]


@kernel
def warn_of_lu_pivots(m, d, factors, first, end):
    """Count a warning for each dof whose pivot was replaced, as it vanished."""
    for i in range(first, end):
        singular = absolute(factors[diagonal(m, i)]) <= MIN_VALUE
        if happens(singular):
            warn(d, WarningType.INERTIA, singular, i)


@kernel
def solve_lu(m, factors, x, first, end):
    """Replace x by the solution of (U L) y = x, for whole trees."""
    for i in range(end - 1, first - 1, -1):
        start = diagonal(m, i)
        value = x[i]
        for c in range(1, m.D_rownnz[i] - m.D_diag[i]):
            value -= factors[start + c] * x[i + c]
        x[i] = value
    for i in range(first, end):
        row, n = m.D_rowadr[i], m.D_diag[i]
        value = x[i]
        for c in range(n):
            value -= factors[row + c] * x[m.D_colind[row + c]]
        x[i] = value / factors[row + n]


@kernel
def multiply_rows(m, matrix, x, y, first, end):
    """y = matrix x, for dofs first..end - 1."""
    for i in range(first, end):
        value = 0.0
        for at in range(m.D_rowadr[i], m.D_rowadr[i] + m.D_rownnz[i]):
            value += matrix[at] * x[m.D_colind[at]]
        y[i] = value
