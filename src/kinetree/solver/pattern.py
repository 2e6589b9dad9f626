"""Which entries of the solver's Hessian M + J' W J are non-zero, once it is factored as L'DL from the leaves.

A row that only touches one chain of dofs puts nothing outside the tree's own pattern (each dof with its ancestors): with
contacts against what does not move, factoring costs what factoring M does. Rows across branches fill in; then the pattern
is found by merging each row into the next dof that it reaches, in the order of `order.py`. It stays as long as these rows have
the same columns. One that covers them with room to spare would not do: its entries to spare are zero, but which dofs go
together, and so how sums round, hangs on them. Reference: George and Liu 1981, ch. 5 (elimination trees).
Reads: dof_parentid, efc_J_rownnz, efc_J_rowadr, efc_J_rowsuper, efc_J_colind (ascending). Writes: H_rownnz, H_rowadr,
H_colind (in that order), H_run, H_super, H_pattern, H_row, H_column.
"""

from ..capacity import MAXH, fits
from ..kernel import kernel
from .order import keep_order, last_column, order_trees

NONE = -1
FIRST_ROW, FIRST_CHILD, NEXT_CHILD = 0, 1, 2  # columns of H_link


@kernel
def tree_row(m, d, i, start):
    """Write dof i after its ancestors from `start` on; how many there are."""
    n, j = 0, i
    while j >= 0:
        n += 1
        j = m.dof_parentid[j]
    if fits(d, MAXH, start + n):
        j, at, run = i, start + n - 1, 1
        while j >= 0:
            d.H_colind[at] = j
            d.H_run[at] = run
            at -= 1
            run = run + 1 if m.dof_parentid[j] == j - 1 else 1
            j = m.dof_parentid[j]
    return n


@kernel
def set_tree_pattern(m, d):
    """Every dof with its ancestors."""
    start = 0
    for i in range(m.nv):
        n = tree_row(m, d, i, start)
        d.H_rowadr[i], d.H_rownnz[i] = start, n
        start += n


@kernel
def is_chain(m, d, r):
    """Whether the dofs of a row are all on one chain: each an ancestor of the next."""
    at = d.efc_J_rowadr[r] + d.efc_J_rownnz[r] - 1
    j = d.efc_J_colind[at] if d.efc_J_rownnz[r] > 0 else NONE
    while at >= d.efc_J_rowadr[r]:
        while j > d.efc_J_colind[at]:
            j = m.dof_parentid[j]
        if j != d.efc_J_colind[at]:
            return False
        at -= 1
    return True


@kernel
def note_columns(d, r, count, to):
    """Note the columns of a row between branches, the `count`th, from `to` on; whether others were noted there before."""
    first, n = d.efc_J_rowadr[r], d.efc_J_rownnz[r]
    differs = d.H_row[count] != n
    d.H_row[count] = n
    for k in range(n):
        if d.H_column[to + k] != d.efc_J_colind[first + k]:
            d.H_column[to + k] = d.efc_J_colind[first + k]
            differs = True
    return differs


@kernel
def note_crossing(m, d):
    """How many runs of rows with the same columns cross between branches; whether they differ from those of the last call."""
    count = r = to = 0
    differs = False
    while r < d.nrow[0]:
        if not is_chain(m, d, r):
            if note_columns(d, r, count, to):
                differs = True
            count, to = count + 1, to + d.efc_J_rownnz[r]
        r += d.efc_J_rowsuper[r] + 1
    return count, differs


@kernel
def mark_columns(d, columns, first, n, place):
    """Mark the columns of a list that come before a place; how many were not marked before."""
    new = 0
    for at in range(first, first + n):
        c = columns[at]
        if d.H_place[c] < place and d.H_mark[c] == 0:
            d.H_mark[c] = 1
            new += 1
    return new


@kernel
def collect_row(m, d, i):
    """Mark all columns before dof i: its ancestors, rows that reach up to it, dofs merged into it; how many there are."""
    n, j, place = 0, m.dof_parentid[i], d.H_place[i]
    while j >= 0:
        d.H_mark[j] = 1
        n += 1
        j = m.dof_parentid[j]
    r = d.H_link[i, FIRST_ROW]
    while r >= 0:
        n += mark_columns(d, d.efc_J_colind, d.efc_J_rowadr[r], d.efc_J_rownnz[r], place)
        r = d.efc_next[r]
    k = d.H_link[i, FIRST_CHILD]
    while k >= 0:
        if d.capacity[MAXH] >= d.H_rowadr[k] + d.H_rownnz[k]:
            n += mark_columns(d, d.H_colind, d.H_rowadr[k], d.H_rownnz[k] - 1, place)
        k = d.H_link[k, NEXT_CHILD]
    return n


@kernel
def sort_rows(m, d):
    """Lists of rows by the last dof that they reach."""
    for i in range(m.nv):
        d.H_link[i, FIRST_ROW], d.H_link[i, FIRST_CHILD], d.H_mark[i] = NONE, NONE, 0
    r = 0
    while r < d.nrow[0]:
        if d.efc_J_rownnz[r] > 0:
            last = last_column(m, d, r)
            d.efc_next[r] = d.H_link[last, FIRST_ROW]
            d.H_link[last, FIRST_ROW] = r
        r += d.efc_J_rowsuper[r] + 1


@kernel
def adds_nothing(m, d, i):
    """Whether the row of dof i is that of dof i + 1 but for its last column: it is merged into i, and nothing else is."""
    if d.H_link[i, FIRST_ROW] >= 0 or d.H_link[i, FIRST_CHILD] != i + 1:
        return False
    return m.dof_parentid[i + 1] == i and d.H_link[i + 1, NEXT_CHILD] < 0


@kernel
def copy_row(d, i, start, n):
    """Write the n columns of dof i, and i itself, from the row of dof i + 1."""
    source = d.H_rowadr[i + 1]
    for k in range(n + 1):
        d.H_colind[start + k] = d.H_colind[source + k]
        d.H_run[start + k] = d.H_run[source + k]


@kernel
def write_row(d, i, start, n, room):
    """Write the n columns that are marked, and dof i."""
    at, p, run = start + n, d.H_place[i], 1
    if room:
        d.H_colind[at] = i
        d.H_run[at] = run
    while at > start:  # from the dof down to the lowest that is marked: all are at places before it
        p -= 1
        c = d.H_order[p]
        if d.H_mark[c] != 0:
            d.H_mark[c] = 0
            at -= 1
            run += 1
            if room:
                d.H_colind[at] = c
                d.H_run[at] = run
        else:
            run = 0


@kernel
def set_filled_pattern(m, d):
    """The pattern with all that elimination fills in; rows lie in the order of elimination."""
    sort_rows(m, d)
    for i in range(m.nv):
        d.H_mark[i] = 0
    start = 0
    for place in range(m.nv - 1, -1, -1):
        i = d.H_order[place]
        if adds_nothing(m, d, i):
            n = d.H_rownnz[i + 1] - 2
            room = fits(d, MAXH, start + n + 1)
            if room:
                copy_row(d, i, start, n)
        else:
            n = collect_row(m, d, i)
            room = fits(d, MAXH, start + n + 1)
            write_row(d, i, start, n, room)
        d.H_rowadr[i], d.H_rownnz[i] = start, n + 1
        if room and n > 0:
            above = d.H_colind[start + n - 1]
            d.H_link[i, NEXT_CHILD] = d.H_link[above, FIRST_CHILD]
            d.H_link[above, FIRST_CHILD] = i
        start += n + 1


@kernel
def joins(d, i):
    """Whether dof i - 1 comes right before dof i and has all its columns but i itself."""
    if i == 0 or d.H_place[i - 1] != d.H_place[i] - 1:
        return False
    return d.H_rownnz[i - 1] == d.H_rownnz[i] - 1 and d.H_colind[d.H_rowadr[i] + d.H_rownnz[i] - 2] == i - 1


@kernel
def find_supernodes(m, d):
    """Count for each dof those right before it that have its columns, as far as they can: they are eliminated together."""
    for i in range(m.nv):
        d.H_super[i] = d.H_super[i - 1] + 1 if joins(d, i) else 0


@kernel
def set_pattern(m, d):
    """Find the pattern for the rows of this step, unless the last one will do."""
    crossing, differs = note_crossing(m, d)
    if crossing > 0:
        stale = order_trees(m, d) or differs
    else:
        keep_order(m, d)
        stale = False  # the pattern of trees is the same in any order
    if stale or d.H_pattern[0] != crossing + 1:
        if crossing == 0:
            set_tree_pattern(m, d)
        else:
            set_filled_pattern(m, d)
        d.H_pattern[0] = 0
        if d.overflow[0] == 0:
            d.H_pattern[0] = crossing + 1
            find_supernodes(m, d)
