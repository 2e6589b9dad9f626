"""The Hessian of the solver's cost, H = M + J' W J, its factors L'DL, and solves with them. M is what `metric.py` gives.

MuJoCo: MakeHessian, HessianCone, FactorizeHessian in engine_solver.c, which factor from scratch or update a factor; here the
factor is so sparse that it is always made anew. W is diagonal (efc_weight), with a block for elliptic contacts that slide.
What has the same columns goes together, up to four rows of J or four dofs at a time: sums are read and written once for all.
Columns of rows are dofs in the order of `order.py`, and every row has all columns of what is added to it, in the same order.
Reads: M, efc_J, efc_weight, contact_H, the pattern. Writes: H (its factors in the end), H_diaginv.
"""

from ..constraint.island import COUPLED, COUPLED_END, DOFS, DOFS_END, END, FIRST, PLACES, PLACES_END, ROWS, ROWS_END
from ..dynamics.factor import pivot_inverse
from ..kernel import kernel
from ..kernel.ops import maximum, minimum, needs, zero
from ..types import Cone, Constraint
from .order import segment_end


@kernel
def columns_in_row(d, i, columns, first, n):
    """Where row i of H has the n columns of a list, the last of them i, if they stand side by side; else -1.

    The row has all of them, so they do if as many from the end begin with the same column.
    """
    at = d.H_rowadr[i] + d.H_rownnz[i] - n
    return at if d.H_colind[at] == columns[first] else -1


@kernel
def find(d, i, columns, first, n):
    """The same where the last column need not be i."""
    if columns[first + n - 1] == i:
        return columns_in_row(d, i, columns, first, n)
    at = d.H_rowadr[i]
    while d.H_colind[at] != columns[first]:
        at += d.H_run[at] if d.H_place[d.H_colind[at]] + d.H_run[at] <= d.H_place[columns[first]] else 1
    return at if d.H_colind[at + n - 1] == columns[first + n - 1] else -1


@kernel
def add_scaled(d, i, r, first, n, x0, x1, x2, x3, count):
    """Row i of H += n entries of `count` rows of J from r on, which have the same columns, each times its factor."""
    a, size = d.efc_J_rowadr[r] + first, d.efc_J_rownnz[r]
    at = find(d, i, d.efc_J_colind, a, n)
    if at >= 0:
        if count == 4:
            b, c, e = a + size, a + 2 * size, a + 3 * size
            for q in range(n):
                d.H[at + q] += (x0 * d.efc_J[a + q] + x1 * d.efc_J[b + q]) + (x2 * d.efc_J[c + q] + x3 * d.efc_J[e + q])
        elif count == 3:
            b, c = a + size, a + 2 * size
            for q in range(n):
                d.H[at + q] += (x0 * d.efc_J[a + q] + x1 * d.efc_J[b + q]) + x2 * d.efc_J[c + q]
        elif count == 2:
            b = a + size
            for q in range(n):
                d.H[at + q] += x0 * d.efc_J[a + q] + x1 * d.efc_J[b + q]
        else:
            for q in range(n):
                d.H[at + q] += x0 * d.efc_J[a + q]
    else:
        at = d.H_rowadr[i]
        for q in range(a, a + n):
            while d.H_colind[at] != d.efc_J_colind[q]:
                at += 1
            total = x0 * d.efc_J[q]
            if count > 1:
                total += x1 * d.efc_J[q + size]
            if count > 2:
                total += x2 * d.efc_J[q + 2 * size]
            if count > 3:
                total += x3 * d.efc_J[q + 3 * size]
            d.H[at] += total


@kernel
def goes_before(d, p, q):
    """Whether column p of J comes before column q in H."""
    return d.H_place[d.efc_J_colind[p]] < d.H_place[d.efc_J_colind[q]]


@kernel
def add_weighted(m, d, r, w0, w1, w2, w3, count):
    """H += the products of rows r... of J with themselves, each times its weight; the lower triangle only."""
    a, size = d.efc_J_rowadr[r], d.efc_J_rownnz[r]
    o, begin = zero(w0), 0
    while (
        begin < size
    ):  # once, unless trees have an order of their own: then each tree's columns with those before them
        end, first = segment_end(m, d, a + begin, a + size) - a, 0
        while first < size:
            last = segment_end(m, d, a + first, a + size) - a
            if first == begin or goes_before(d, a + first, a + begin):
                for p in range(begin, end):
                    x0, x1, x2, x3 = w0 * d.efc_J[a + p], o, o, o
                    if count > 1:
                        x1 = w1 * d.efc_J[a + size + p]
                    if count > 2:
                        x2 = w2 * d.efc_J[a + 2 * size + p]
                    if count > 3:
                        x3 = w3 * d.efc_J[a + 3 * size + p]
                    n = (p + 1 if first == begin else last) - first
                    add_scaled(d, d.efc_J_colind[a + p], r, first, n, x0, x1, x2, x3, count)
            first = last
        begin = end


@kernel
def cone_row(d, k, n, row, a, size, p):
    """One row of contact_H times a column of the contact's Jacobian."""
    total = zero(d.time[0])
    for j in range(n):
        total += d.contact_H[k, n * row + j] * d.efc_J[a + j * size + p]
    return total


@kernel
def add_cone_column(d, k, r, n, p, first, width):
    """Add column p of J times contact_H J, from column `first` on so many entries."""
    a, size = d.efc_J_rowadr[r], d.efc_J_rownnz[r]
    j = 0
    while j < n:
        count = minimum(4, n - j)
        x0 = cone_row(d, k, n, j, a, size, p)
        x1 = x2 = x3 = zero(x0)
        if count > 1:
            x1 = cone_row(d, k, n, j + 1, a, size, p)
        if count > 2:
            x2 = cone_row(d, k, n, j + 2, a, size, p)
        if count > 3:
            x3 = cone_row(d, k, n, j + 3, a, size, p)
        add_scaled(d, d.efc_J_colind[a + p], r + j, first, width, x0, x1, x2, x3, count)
        j += 4


@kernel
def add_cone(m, d, k, r, n):
    """H += J' contact_H J for an elliptic contact k with n rows from r on."""
    a, size, begin = d.efc_J_rowadr[r], d.efc_J_rownnz[r], 0
    while begin < size:  # as above
        end, first = segment_end(m, d, a + begin, a + size) - a, 0
        while first < size:
            last = segment_end(m, d, a + first, a + size) - a
            if first == begin or goes_before(d, a + first, a + begin):
                for p in range(begin, end):
                    add_cone_column(d, k, r, n, p, first, (p + 1 if first == begin else last) - first)
            first = last
        begin = end


@kernel
def start_with_inertia(m, d, first, end):
    """H = M for dofs from `first` up to `end`, without couplings."""
    matrix = d.metric if d.nmetric[0] != 0 else d.M
    for i in range(first, end):
        row, n = d.H_rowadr[i], d.H_rownnz[i]
        source, count = m.M_rowadr[i], m.M_rownnz[i]
        at = columns_in_row(d, i, m.M_colind, source, count)
        if at >= 0:
            for k in range(row, at):
                d.H[k] = 0.0
            for k in range(count):
                d.H[at + k] = matrix[source + k]
        else:
            for k in range(n):
                d.H[row + k] = 0.0
            at = row
            for k in range(count):
                while d.H_colind[at] != m.M_colind[source + k]:
                    at += 1
                d.H[at] = matrix[source + k]


@kernel
def add_rows(m, d, first, end):
    """H += J' W J of rows from `first` up to `end`, but for the sliding cones."""
    r = first
    while r < end:
        more, w0 = d.efc_J_rowsuper[r], d.efc_weight[r]
        count = 4 if more >= 3 else (2 if more >= 1 else 1)
        w1 = w2 = w3 = zero(w0)
        if count > 1:
            w1 = d.efc_weight[r + 1]
        if count > 2:
            w2, w3 = d.efc_weight[r + 2], d.efc_weight[r + 3]
        if needs((w0 != 0.0) | (w1 != 0.0) | (w2 != 0.0) | (w3 != 0.0)):
            add_weighted(m, d, r, w0, w1, w2, w3, count)
        r += count


@kernel
def add_couplings(m, d, first, end):
    """H += J' D J of rows of couplings from `first` up to `end`."""
    for r in range(first, end):
        o = zero(d.efc_D[r])
        add_weighted(m, d, r, d.efc_D[r], o, o, o, 1)


@kernel
def add_cones(m, d, first, end):
    """H += J' W J of the sliding cones among rows from `first` up to `end`."""
    r = maximum(first, d.ne[0] + d.nf[0] + d.nl[0])
    while r < end:
        k, n = d.efc_id[r], 1
        if d.efc_type[r] == Constraint.CONTACT_ELLIPTIC:
            n = d.contact_dim[k]
            if needs(d.contact_H[k, 0] != 0.0):
                add_cone(m, d, k, r, n)
        r += n


@kernel
def subtract(d, i, row, n, x):
    """Row i of H less x times the first n entries of another row, the last of which is in column i."""
    at = columns_in_row(d, i, d.H_colind, row, n)
    if at >= 0:
        for c in range(n):
            d.H[at + c] -= d.H[row + c] * x
    else:
        at = d.H_rowadr[i]
        c = 0
        while c < n:
            while d.H_colind[at] != d.H_colind[row + c]:
                at += 1
            run = minimum(d.H_run[row + c], n - c)
            for q in range(run):
                d.H[at + q] -= d.H[row + c + q] * x
            c, at = c + run, at + run


@kernel
def subtract_four(d, i, a, b, c, e, n, x0, x1, x2, x3):
    """The same for four rows with the same columns."""
    at = columns_in_row(d, i, d.H_colind, a, n)
    if at >= 0:
        for q in range(n):
            d.H[at + q] -= (d.H[a + q] * x0 + d.H[b + q] * x1) + (d.H[c + q] * x2 + d.H[e + q] * x3)
    else:
        at, k = d.H_rowadr[i], 0
        while k < n:
            while d.H_colind[at] != d.H_colind[a + k]:
                at += 1
            run = minimum(d.H_run[a + k], n - k)
            at -= k
            for q in range(k, k + run):
                d.H[at + q] -= (d.H[a + q] * x0 + d.H[b + q] * x1) + (d.H[c + q] * x2 + d.H[e + q] * x3)
            k += run
            at += k


@kernel
def subtract_two(d, i, a, b, n, x0, x1):
    """The same for two rows with the same columns."""
    at = columns_in_row(d, i, d.H_colind, a, n)
    if at >= 0:
        for q in range(n):
            d.H[at + q] -= d.H[a + q] * x0 + d.H[b + q] * x1
    else:
        at, k = d.H_rowadr[i], 0
        while k < n:
            while d.H_colind[at] != d.H_colind[a + k]:
                at += 1
            run = minimum(d.H_run[a + k], n - k)
            at -= k
            for q in range(k, k + run):
                d.H[at + q] -= d.H[a + q] * x0 + d.H[b + q] * x1
            k += run
            at += k


@kernel
def eliminate(d, k, shared):
    """Take dof k out of the rows of its columns but the first `shared`; its own row becomes L there. The inverse pivot."""
    row, n = d.H_rowadr[k], d.H_rownnz[k] - 1
    inverse = pivot_inverse(d.H[row + n])
    d.H_diaginv[k] = inverse
    for p in range(n - 1, shared - 1, -1):
        x = d.H[row + p] * inverse
        subtract(d, d.H_colind[row + p], row, p + 1, x)
        d.H[row + p] = x
    return inverse


@kernel
def eliminate_two(d, k):
    """Take dofs k and k - 1, which have the same columns, out together."""
    a, b, n = d.H_rowadr[k], d.H_rowadr[k - 1], d.H_rownnz[k - 1] - 1
    inverse0, inverse1 = eliminate(d, k, n), eliminate(d, k - 1, n)
    for p in range(n - 1, -1, -1):
        x0, x1 = d.H[a + p] * inverse0, d.H[b + p] * inverse1
        subtract_two(d, d.H_colind[a + p], a, b, p + 1, x0, x1)
        d.H[a + p], d.H[b + p] = x0, x1


@kernel
def eliminate_four(d, k):
    """Take four dofs up to k, which have the same columns, out together."""
    a, b, c, e = d.H_rowadr[k], d.H_rowadr[k - 1], d.H_rowadr[k - 2], d.H_rowadr[k - 3]
    n = d.H_rownnz[k - 3] - 1
    inverse0, inverse1 = eliminate(d, k, n), eliminate(d, k - 1, n)
    inverse2, inverse3 = eliminate(d, k - 2, n), eliminate(d, k - 3, n)
    for p in range(n - 1, -1, -1):
        x0, x1, x2, x3 = d.H[a + p] * inverse0, d.H[b + p] * inverse1, d.H[c + p] * inverse2, d.H[e + p] * inverse3
        subtract_four(d, d.H_colind[a + p], a, b, c, e, p + 1, x0, x1, x2, x3)
        d.H[a + p], d.H[b + p], d.H[c + p], d.H[e + p] = x0, x1, x2, x3


@kernel
def factor_hessian(d, first, end):
    """Replace H by its factors, for places from `first` up to `end`."""
    at = end - 1
    while at >= first:
        k = d.H_order[at]
        if d.H_super[k] >= 3:
            eliminate_four(d, k)
            at -= 4
        elif d.H_super[k] >= 1:
            eliminate_two(d, k)
            at -= 2
        else:
            eliminate(d, k, 0)
            at -= 1


@kernel
def make_hessian(m, d, g):
    """Build H of a group at the present curvatures, and factor it."""
    for s in range(d.group_part[g, DOFS], d.group_part[g, DOFS_END]):
        start_with_inertia(m, d, d.dof_run[s, FIRST], d.dof_run[s, END])
    for s in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        add_rows(m, d, d.row_run[s, FIRST], d.row_run[s, END])
    for s in range(d.group_part[g, COUPLED], d.group_part[g, COUPLED_END]):
        add_couplings(m, d, d.row_run[s, FIRST], d.row_run[s, END])
    if m.opt_cone == Cone.ELLIPTIC:
        for s in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
            add_cones(m, d, d.row_run[s, FIRST], d.row_run[s, END])
    factor_hessian(d, d.group_part[g, PLACES], d.group_part[g, PLACES_END])


@kernel
def solve_hessian(m, d, g, x):
    """Replace x by the solution of H y = x for the dofs of a group."""
    solve_factored(m, d, x, d.group_part[g, PLACES], d.group_part[g, PLACES_END])


@kernel
def make_smooth_hessian(m, d):
    """The same for all dofs without constraints: the metric with its couplings, factored."""
    start_with_inertia(m, d, 0, m.nv)
    add_couplings(m, d, d.nefc[0], d.nrow[0])
    factor_hessian(d, 0, m.nv)


@kernel
def solve_factored(m, d, x, first, end):
    """Replace x by the solution of H y = x for places from `first` up to `end`."""
    p = end - 1
    while p >= first:
        i = d.H_order[p]
        start, n, value = d.H_rowadr[i], d.H_rownnz[i] - 1, x[i]
        if d.H_super[i] >= 1:
            other, n = d.H_rowadr[i - 1], n - 1
            second = x[i - 1] - d.H[start + n] * value
            x[i - 1] = second
            for k in range(n):
                x[d.H_colind[start + k]] -= d.H[start + k] * value + d.H[other + k] * second
            p -= 2
        else:
            for at in range(start, start + n):
                x[d.H_colind[at]] -= d.H[at] * value
            p -= 1
    p = first
    while p < end:
        i = d.H_order[p]
        start, n, value = d.H_rowadr[i], d.H_rownnz[i] - 1, x[i] * d.H_diaginv[i]
        if i + 1 < m.nv and d.H_super[i + 1] >= 1:
            other, second = d.H_rowadr[i + 1], x[i + 1] * d.H_diaginv[i + 1]
            for k in range(n):
                y = x[d.H_colind[start + k]]
                value -= d.H[start + k] * y
                second -= d.H[other + k] * y
            x[i] = value
            x[i + 1] = second - d.H[other + n] * value
            p += 2
        else:
            for at in range(start, start + n):
                value -= d.H[at] * x[d.H_colind[at]]
            x[i] = value
            p += 1
