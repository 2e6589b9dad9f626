"""Products with the slots of all worlds: B = J M^(-1/2), G = B B' = J M^-1 J', and those of J, B and M along a step.

A panel holds three rows of a group side by side, so that every product is one of 3 x 3 tiles. B is whitened column by column
from the leaves, a dof and its parent at once: which are pairs is the model's affair, as the order of sums hangs on it. M is
what `metric.py` gives.
Reads: slot_J, slot_col, slot_ncol, M and its factor, or the metric. Writes: slot_B, slot_G, sol_root, sol_*.
"""

from ..kernel import kernel
from ..kernel.ops import any_, sqrt, where, zero
from .metric import pass_up_tree, pivot_inverse_of
from .slots import PASS, TREES


@kernel
def whiten(m, d, g):
    """Rows of B from those of J for a group."""
    nv, count, col, a, b = m.nv, d.slot_ncol[g], d.slot_col, d.slot_J, d.slot_B
    factor = d.metric_LD if d.nmetric[0] != 0 else d.qLD
    first, q = g * nv, d.slot_ncol[g] - 1
    while q >= 0:
        c = col[first + q]
        depth, at, j = m.M_rownnz[c] - 1, first + col[first + q], q + 1
        x0, x1, x2 = a[at, 0], a[at, 1], a[at, 2]
        if depth % 2 == 1 and m.M_colind[m.M_rowadr[c] + depth - 1] == c - 1:  # with its parent, in any list of dofs
            y0, y1, y2 = a[at - 1, 0], a[at - 1, 1], a[at - 1, 2]
            while j < count and m.M_rownnz[col[first + j]] - 1 > depth:
                k = m.M_rowadr[col[first + j]] + depth
                below = first + col[first + j]
                f, h, v0, v1, v2 = factor[k], factor[k - 1], b[below, 0], b[below, 1], b[below, 2]
                x0, x1, x2 = x0 - f * v0, x1 - f * v1, x2 - f * v2
                y0, y1, y2 = y0 - h * v0, y1 - h * v1, y2 - h * v2
                j += 1
            h = factor[m.M_rowadr[c] + depth - 1]
            y0, y1, y2 = y0 - h * x0, y1 - h * x1, y2 - h * x2
            while j < count and m.M_rownnz[col[first + j]] - 1 > depth - 1:
                h, below = factor[m.M_rowadr[col[first + j]] + depth - 1], first + col[first + j]
                y0, y1, y2 = y0 - h * b[below, 0], y1 - h * b[below, 1], y2 - h * b[below, 2]
                j += 1
            b[at - 1, 0], b[at - 1, 1], b[at - 1, 2] = y0, y1, y2
            q -= 1
        else:
            while j < count and m.M_rownnz[col[first + j]] - 1 > depth:
                f, below = factor[m.M_rowadr[col[first + j]] + depth], first + col[first + j]
                x0, x1, x2 = x0 - f * b[below, 0], x1 - f * b[below, 1], x2 - f * b[below, 2]
                j += 1
        b[at, 0], b[at, 1], b[at, 2] = x0, x1, x2
        q -= 1
    for q in range(count):
        at, root = first + col[first + q], d.sol_root[col[first + q]]
        b[at, 0], b[at, 1], b[at, 2] = b[at, 0] * root, b[at, 1] * root, b[at, 2] * root


@kernel
def clear_panel(m, d, g):
    """Zero in B."""
    o = zero(d.time[0])
    for q in range(d.slot_at[TREES]):
        first = g * m.nv + m.tree_dofadr[d.pass_tree[q]]
        for at in range(first, first + m.tree_dofnum[d.pass_tree[q]]):
            d.slot_B[at, 0], d.slot_B[at, 1], d.slot_B[at, 2] = o, o, o


@kernel
def make_B(m, d, n):
    """B = J L^-1 D^(-1/2)."""
    for q in range(d.slot_at[TREES]):
        t = d.pass_tree[q]
        for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
            d.sol_root[i] = sqrt(pivot_inverse_of(d, i))
    for g in range(n):
        clear_panel(m, d, g)
        whiten(m, d, g)


@kernel
def tile(y, a, z, b, size):
    """Products of the three rows of a panel with the three of another, over so many columns."""
    o = zero(y[a, 0])
    s00 = s01 = s02 = s10 = s11 = s12 = s20 = s21 = s22 = o
    for p in range(size):
        a0, a1, a2, b0, b1, b2 = y[a + p, 0], y[a + p, 1], y[a + p, 2], z[b + p, 0], z[b + p, 1], z[b + p, 2]
        s00, s01, s02 = s00 + a0 * b0, s01 + a0 * b1, s02 + a0 * b2
        s10, s11, s12 = s10 + a1 * b0, s11 + a1 * b1, s12 + a1 * b2
        s20, s21, s22 = s20 + a2 * b0, s21 + a2 * b1, s22 + a2 * b2
    return s00, s01, s02, s10, s11, s12, s20, s21, s22


@kernel
def listed_tile(m, d, i, j):
    """Products of the rows of two groups in B, over the columns of that which has fewer."""
    nv, y, col = m.nv, d.slot_B, d.slot_col
    g = i if d.slot_ncol[i] < d.slot_ncol[j] else j
    o = zero(d.time[0])
    s00 = s01 = s02 = s10 = s11 = s12 = s20 = s21 = s22 = o
    for q in range(g * nv, g * nv + d.slot_ncol[g]):
        a, b = i * nv + col[q], j * nv + col[q]
        a0, a1, a2, b0, b1, b2 = y[a, 0], y[a, 1], y[a, 2], y[b, 0], y[b, 1], y[b, 2]
        s00, s01, s02 = s00 + a0 * b0, s01 + a0 * b1, s02 + a0 * b2
        s10, s11, s12 = s10 + a1 * b0, s11 + a1 * b1, s12 + a1 * b2
        s20, s21, s22 = s20 + a2 * b0, s21 + a2 * b1, s22 + a2 * b2
    return s00, s01, s02, s10, s11, s12, s20, s21, s22


@kernel
def make_G(m, d, n):
    """G = B B', all of it: panel i is its rows 3 i to 3 i + 2."""
    y, size = d.slot_G, 3 * n
    for i in range(n):
        for j in range(i + 1):
            s00, s01, s02, s10, s11, s12, s20, s21, s22 = listed_tile(m, d, i, j)
            p, q = i * size + 3 * j, j * size + 3 * i
            y[p, 0], y[p, 1], y[p, 2] = s00, s10, s20
            y[p + 1, 0], y[p + 1, 1], y[p + 1, 2] = s01, s11, s21
            y[p + 2, 0], y[p + 2, 1], y[p + 2, 2] = s02, s12, s22
            if i != j:
                y[q, 0], y[q, 1], y[q, 2] = s00, s01, s02
                y[q + 1, 0], y[q + 1, 1], y[q + 1, 2] = s10, s11, s12
                y[q + 2, 0], y[q + 2, 1], y[q + 2, 2] = s20, s21, s22


@kernel
def add_panels(m, d, panels, n, x, target):
    """target += panels' x, over the columns of each group."""
    for g in range(n):
        x0, x1, x2 = x[3 * g], x[3 * g + 1], x[3 * g + 2]
        if any_((x0 != 0.0) | (x1 != 0.0) | (x2 != 0.0)):
            for q in range(g * m.nv, g * m.nv + d.slot_ncol[g]):
                i, at = d.slot_col[q], g * m.nv + d.slot_col[q]
                target[i] = target[i] + x0 * panels[at, 0] + x1 * panels[at, 1] + x2 * panels[at, 2]


@kernel
def whiten_start(m, d):
    """sol_Mgrad = D^(-1/2) L^-T of what M times the rest of the start is, sol_Mv."""
    x = d.sol_Mgrad
    for q in range(d.slot_at[TREES]):
        t = d.pass_tree[q]
        first = m.tree_dofadr[t]
        for i in range(first, first + m.tree_dofnum[t]):
            x[i] = d.sol_Mv[i]
        for i in range(first + m.tree_dofnum[t] - 1, first - 1, -1):
            x[i] = pass_up_tree(m, d, x, i) * d.sol_root[i]


@kernel
def whiten_step(m, d, n, forces, share):
    """D^(1/2) L (M^-1 J' forces - share r) in sol_step, as for the step that takes so much of the start away; its square."""
    x = d.sol_step
    for q in range(d.slot_at[TREES]):
        t = d.pass_tree[q]
        for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
            x[i] = -share * d.sol_Mgrad[i]
    add_panels(m, d, d.slot_B, n, forces, x)
    square = zero(share)
    for q in range(d.slot_at[TREES]):
        t = d.pass_tree[q]
        for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
            square += x[i] * x[i]
    return square


@kernel
def length_of_step(m, d):
    """Length of the step that sol_step is made of; the step itself is left there."""
    factor = d.metric_LD if d.nmetric[0] != 0 else d.qLD
    x, total = d.sol_step, zero(d.time[0])
    for q in range(d.slot_at[TREES]):
        t = d.pass_tree[q]
        for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
            start, end = m.M_rowadr[i], m.M_rowadr[i] + m.M_rownnz[i] - 1
            value, more = x[i] * d.sol_root[i], zero(total)
            for at in range(start, end - 1, 2):  # two sums do not wait for each other
                value, more = value - factor[at] * x[m.M_colind[at]], more - factor[at + 1] * x[m.M_colind[at + 1]]
            if (end - start) % 2 == 1:
                value -= factor[end - 1] * x[m.M_colind[end - 1]]
            value += more
            x[i] = value
            total += value * value
    return sqrt(total)


@kernel
def trace_of(m, d):
    """Trace of M over the dofs of each world's island at hand; one where it has none."""
    trace = zero(d.time[0])
    for q in range(d.slot_at[TREES]):
        t = d.pass_tree[q]
        on = d.pass_of_tree[t] == d.slot_at[PASS]
        for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
            trace += where(on, d.M[m.M_rowadr[i] + m.M_rownnz[i] - 1], 0.0)
    return where(trace > 0.0, trace, 1.0)
