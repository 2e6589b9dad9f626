"""Factor and solve with the joint-space inertia, in the sparse order of the tree: M = L'DL.

MuJoCo: mj_factorM, mj_factorI, mj_solveM, mj_mulM. Reference: Featherstone 2008, sec. 6.5.
A row holds the ancestors of a dof and then the dof itself, so eliminating from the leaves fills nothing in.
"""

from ..kernel import kernel, stage
from ..kernel.ops import happens, not_, where
from ..math.constants import MIN_VALUE
from ..types import WarningType
from .sleep_state import DOFS, DOFS_END
from .warning import warn


@kernel
def eliminate_dof(m, matrix, row, n, inverse):
    """Take a dof with n ancestors out of their rows; its own row becomes L, from the end on."""
    for p in range(n - 1, -1, -1):
        above = m.M_rowadr[m.M_colind[row + p]]
        weight = matrix[row + p] * inverse
        for c in range(p + 1):
            matrix[above + c] -= matrix[row + c] * weight
        matrix[row + p] = weight


@kernel
def eliminate_pair(m, matrix, row, parent, n, inverse, parent_inverse):
    """The same for a dof and its parent, with n ancestors in common, these two by two: half the reads and writes each way."""
    for p in range(n - 1, 0, -2):
        a, b = m.M_rowadr[m.M_colind[row + p]], m.M_rowadr[m.M_colind[row + p - 1]]
        xa, ya = matrix[row + p] * inverse, matrix[parent + p] * parent_inverse
        xb, yb = matrix[row + p - 1] * inverse, matrix[parent + p - 1] * parent_inverse
        for c in range(p):
            x, y = matrix[row + c], matrix[parent + c]
            matrix[a + c] = matrix[a + c] - x * xa - y * ya
            matrix[b + c] = matrix[b + c] - x * xb - y * yb
        matrix[a + p] = matrix[a + p] - matrix[row + p] * xa - matrix[parent + p] * ya
        matrix[row + p], matrix[parent + p] = xa, ya
        matrix[row + p - 1], matrix[parent + p - 1] = xb, yb
    if n % 2 == 1:
        a = m.M_rowadr[m.M_colind[row]]
        xa, ya = matrix[row] * inverse, matrix[parent] * parent_inverse
        matrix[a] = matrix[a] - matrix[row] * xa - matrix[parent] * ya
        matrix[row], matrix[parent] = xa, ya


@kernel
def pivot_inverse(pivot):
    """1 / pivot; a pivot that is not positive counts as MuJoCo's smallest number."""
    singular = not_(pivot >= MIN_VALUE)
    if happens(singular):
        return where(singular, 1.0 / MIN_VALUE, 1.0 / pivot)
    return 1.0 / pivot


@kernel
def copy_rows(m, source, target, first, end):
    """Copy the rows of dofs from `first` up to `end` of a matrix of M's sparsity."""
    if first < end:
        for at in range(m.M_rowadr[first], m.M_rowadr[end - 1] + m.M_rownnz[end - 1]):
            target[at] = source[at]


@kernel
def factor_part(m, matrix, diagonal_inverse, first, end):
    """Replace a matrix of M's sparsity by its factors: L below the diagonal, D on it; for dofs of whole trees.

    The ancestor at place p of a row has p ancestors itself: those before it in the row.
    """
    k = end - 1
    while k >= first:
        row = m.M_rowadr[k]
        n = m.M_rownnz[k] - 1
        inverse = pivot_inverse(matrix[row + n])
        diagonal_inverse[k] = inverse
        if n > 0 and m.M_colind[row + n - 1] == k - 1:
            n -= 1
            parent = m.M_rowadr[k - 1]
            weight = matrix[row + n] * inverse
            for c in range(n + 1):
                matrix[parent + c] -= matrix[row + c] * weight
            matrix[row + n] = weight
            parent_inverse = pivot_inverse(matrix[parent + n])
            diagonal_inverse[k - 1] = parent_inverse
            eliminate_pair(m, matrix, row, parent, n, inverse, parent_inverse)
            k -= 2
        else:
            eliminate_dof(m, matrix, row, n, inverse)
            k -= 1


@kernel
def warn_of_pivots(m, d, factor, diagonal_inverse, first, end):
    """Count a warning for each dof whose pivot was replaced, as it was not positive."""
    for i in range(first, end):
        replaced = diagonal_inverse[i] >= 1.0 / MIN_VALUE
        if happens(replaced):
            pivot = factor[m.M_rowadr[i] + m.M_rownnz[i] - 1]
            warn(d, WarningType.INERTIA, replaced & (pivot == pivot), i)  # no number has another cause


@kernel
def factor_in_place(m, matrix, diagonal_inverse):
    """Replace a matrix of M's sparsity by its factors."""
    factor_part(m, matrix, diagonal_inverse, 0, m.nv)


@kernel
def pass_up(m, factor, x, i):
    """Take entry i of x, which is returned, out of those of its ancestors; from the last dof to the first, this is x L^-1."""
    start, value = m.M_rowadr[i], x[i]
    for at in range(start, start + m.M_rownnz[i] - 1):
        x[m.M_colind[at]] -= factor[at] * value
    return value


@kernel
def solve_part(m, factor, diagonal_inverse, x, first, end):
    """Replace x by the solution of (L'DL) y = x for dofs from `first` up to `end`, which must be whole trees."""
    for i in range(end - 1, first - 1, -1):
        pass_up(m, factor, x, i)
    for i in range(first, end):
        start = m.M_rowadr[i]
        value = x[i] * diagonal_inverse[i]
        for at in range(start, start + m.M_rownnz[i] - 1):
            value -= factor[at] * x[m.M_colind[at]]
        x[i] = value


@kernel
def solve_in_place(m, factor, diagonal_inverse, x):
    """Replace x by the solution of (L'DL) y = x."""
    solve_part(m, factor, diagonal_inverse, x, 0, m.nv)


@kernel
def multiply_part(m, matrix, x, y, first, end):
    """y = matrix x for a symmetric matrix of M's sparsity and dofs from `first` up to `end`, which must be whole trees."""
    for i in range(first, end):
        start = m.M_rowadr[i]
        end = start + m.M_rownnz[i] - 1
        value = matrix[end] * x[i]
        for at in range(start, end):
            value += matrix[at] * x[m.M_colind[at]]
            y[m.M_colind[at]] += matrix[at] * x[i]
        y[i] = value


@kernel
def multiply(m, matrix, x, y):
    """y = matrix x for a symmetric matrix of M's sparsity."""
    multiply_part(m, matrix, x, y, 0, m.nv)


@stage
def factor_m(m, d):
    """Factor M into qLD and qLDiagInv; counts a warning where M is singular. MuJoCo's mj_factorM."""
    for run in range(d.nawake_run[0]):
        first, end = d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]
        copy_rows(m, d.M, d.qLD, first, end)
        factor_part(m, d.qLD, d.qLDiagInv, first, end)
        warn_of_pivots(m, d, d.qLD, d.qLDiagInv, first, end)
