"""The order in which kinematic trees are eliminated from the solver's Hessian.

Within a tree, dofs go from the leaves to the root: that fills nothing in. Trees that rows couple (bodies in a heap) fill in,
much or little depending on which goes first: here it is the one that is coupled to the fewest dofs at that moment, and what
it couples is then counted as coupled. Islands have places of their own, one after the other, and those within an island are
found for it alone. A place in the order is counted from what goes last. The order depends on the rows of
this step alone, so that results do not depend on what came before. Reference: George and Liu 1981, ch. 5 (minimum degree).
Reads: map_itree2tree, map_idof2dof, dof_treeid, tree_dofadr, tree_dofnum, efc_J_colind.
Writes: H_order, H_place, H_reordered, H_tree. Scratch: tree_link, H_link.
"""

from ..capacity import MAXLINK, fits
from ..kernel import kernel

DEGREE, NEIGHBOUR = 0, 1  # columns of H_link, here of a tree each
GONE = -1
MOST_TREES = 4000  # with more of them the order is that of the model: tree_link has their number squared


@kernel
def segment_end(m, d, first, end):
    """Where the columns of a row stop to be of one tree, from `first` on; its end if trees are in the model's order."""
    if d.H_reordered[0] == 0:
        return end
    tree = m.dof_treeid[d.efc_J_colind[first]]
    last = m.tree_dofadr[tree] + m.tree_dofnum[tree]
    at = first + 1
    while at < end and d.efc_J_colind[at] < last:
        at += 1
    return at


@kernel
def last_column(m, d, r):
    """The dof of a row that is eliminated first."""
    end = d.efc_J_rowadr[r] + d.efc_J_rownnz[r]
    out, at = d.efc_J_colind[end - 1], d.efc_J_rowadr[r]
    while at < end:
        at = segment_end(m, d, at, end)
        if d.H_place[d.efc_J_colind[at - 1]] > d.H_place[out]:
            out = d.efc_J_colind[at - 1]
    return out


@kernel
def couple(m, d, a, b):
    """Note that two trees are coupled."""
    if a != b and d.tree_link[a * m.ntree + b] == 0:
        d.tree_link[a * m.ntree + b] = 1
        d.tree_link[b * m.ntree + a] = 1
        d.H_link[a, DEGREE] += m.tree_dofnum[b]
        d.H_link[b, DEGREE] += m.tree_dofnum[a]


@kernel
def couple_trees(m, d):
    """Couple the trees that have columns in one row; whether there are such rows."""
    for k in range(m.ntree * m.ntree):
        d.tree_link[k] = 0
    for t in range(m.ntree):
        d.H_link[t, DEGREE] = 0
    some, r = False, 0
    while r < d.nrow[0]:
        first, n = d.efc_J_rowadr[r], d.efc_J_rownnz[r]
        if n > 0 and m.dof_treeid[d.efc_J_colind[first]] != m.dof_treeid[d.efc_J_colind[first + n - 1]]:
            some = True
            for p in range(first + 1, first + n):
                tree = m.dof_treeid[d.efc_J_colind[p]]
                if tree != m.dof_treeid[d.efc_J_colind[p - 1]]:
                    for q in range(first, p):
                        couple(m, d, tree, m.dof_treeid[d.efc_J_colind[q]])
        r += d.efc_J_rowsuper[r] + 1
    return some


@kernel
def least_coupled(m, d, first, end):
    """The last tree among those left of an island, given by places, that are coupled to the fewest dofs."""
    best, degree = -1, m.nv + 1
    for place in range(end - 1, first - 1, -1):
        t = d.map_itree2tree[place]
        if d.H_link[t, DEGREE] != GONE and d.H_link[t, DEGREE] < degree:
            best, degree = t, d.H_link[t, DEGREE]
    return best


@kernel
def take_out(m, d, t, first, end):
    """Eliminate a tree: all of its island that it is coupled to is coupled from now on."""
    count = 0
    for place in range(first, end):
        u = d.map_itree2tree[place]
        if d.tree_link[t * m.ntree + u] != 0:
            d.tree_link[u * m.ntree + t] = 0
            d.H_link[u, DEGREE] -= m.tree_dofnum[t]
            d.H_link[count, NEIGHBOUR] = u
            count += 1
    d.H_link[t, DEGREE] = GONE
    for p in range(count):
        for q in range(p):
            couple(m, d, d.H_link[p, NEIGHBOUR], d.H_link[q, NEIGHBOUR])


@kernel
def give_places(m, d, t, end):
    """Put the dofs of a tree before place `end`; whether one of them was elsewhere."""
    first, n, moved = m.tree_dofadr[t], m.tree_dofnum[t], False
    if d.H_order[end - n] != first or d.H_order[end - 1] != first + n - 1:
        moved = True
        for k in range(n):
            d.H_order[end - n + k] = first + k
            d.H_place[first + k] = end - n + k
    return moved


@kernel
def is_regrouped(m, d):
    """Whether islands are others than at the last call."""
    changed = d.H_pattern[0] == 0
    for t in range(m.ntree):
        changed = changed or d.H_tree[t] != d.tree_island[t]
        d.H_tree[t] = d.tree_island[t]
    return changed


@kernel
def keep_order(m, d):
    """The order of the model, island by island; whether it was another one."""
    moved = is_regrouped(m, d) or d.H_reordered[0] != 0
    if moved:
        for place in range(m.nv):
            i = d.map_idof2dof[place]
            d.H_order[place] = i
            d.H_place[i] = place
    d.H_reordered[0] = 0
    return moved


@kernel
def order_island(m, d, first, end, after):
    """Find the order of an island's trees, given by places, whose dofs come before place `after`; whether it is another."""
    moved = False
    for _ in range(first, end):
        t = least_coupled(m, d, first, end)
        take_out(m, d, t, first, end)
        moved = give_places(m, d, t, after) or moved
        after -= m.tree_dofnum[t]
    return moved


@kernel
def order_trees(m, d):
    """Find the order for the rows of this step; whether it, or what is an island, is another than before."""
    if m.ntree < 3 or m.ntree > MOST_TREES or not fits(d, MAXLINK, m.ntree * m.ntree) or not couple_trees(m, d):
        return keep_order(m, d)
    moved = is_regrouped(m, d)
    if moved:
        d.H_reordered[0] = 1
        keep_order(m, d)  # dofs in no island have places too
    if d.nisland[0] == 0:
        moved = order_island(m, d, 0, m.ntree, m.nv) or moved
    for k in range(d.nisland[0]):
        first = d.island_itreeadr[k]
        after = d.island_idofadr[k] + d.island_nv[k]
        moved = order_island(m, d, first, first + d.island_ntree[k], after) or moved
    d.H_reordered[0] = 1
    return moved
