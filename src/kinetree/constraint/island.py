"""Islands: sets of kinematic trees that constraints join, and what the solver solves at once.

MuJoCo: mj_island. Trees that a row has columns in are united; a tree that no row touches is in no island. Islands are
numbered by their lowest tree. Solvers take them as groups; with islands disabled there is one group of everything. A group is
a few runs of dofs and rows that follow each other, mostly one of each: solvers keep straight loops and copy nothing.
Rows are the same in every world, and so are islands. Reads: the rows. Writes: nisland, nidof, tree_island, dof_island,
efc_island, island_*, map_*, ngroup, group_part, dof_run, row_run.
"""

from ..dynamics.feedback import takes_couplings
from ..dynamics.joined import NONE, unite_tied, unite_trees
from ..kernel import kernel
from ..types import DisableBit

DOFS, DOFS_END, ROWS, ROWS_END, PLACES, PLACES_END, COUPLED, COUPLED_END = range(8)  # columns of group_part
FIRST, END = 0, 1  # columns of dof_run, row_run
IN_ORDER = 2  # tree_order: with the island that all trees are in added, 0 if they are sorted


@kernel
def name_islands(m, d):
    """Number the islands by their lowest trees, and count their trees and dofs."""
    d.nisland[0] = 0
    d.nidof[0] = 0
    for t in range(m.ntree):
        above = d.tree_island[t]
        if above == t:
            k = d.nisland[0]
            d.nisland[0] = k + 1
            d.island_ntree[k], d.island_nv[k], d.island_dofadr[k] = 0, 0, m.tree_dofadr[t]
            d.island_ne[k], d.island_nf[k], d.island_nefc[k] = 0, 0, 0
        else:
            k = d.tree_island[above] if above >= 0 else NONE  # what is above has a lower number: its island is known
        d.tree_island[t] = k
        if k >= 0:
            d.island_ntree[k] += 1
            d.island_nv[k] += m.tree_dofnum[t]
            d.nidof[0] += m.tree_dofnum[t]


@kernel
def take_tree(m, d, t, place, at):
    """Put a tree at a place among trees, and its dofs from a place on among dofs."""
    d.map_itree2tree[place] = t
    first, island = m.tree_dofadr[t], d.tree_island[t]
    for k in range(m.tree_dofnum[t]):
        d.map_idof2dof[at + k] = first + k
        d.map_dof2idof[first + k] = at + k
        d.dof_island[first + k] = island


@kernel
def sort_trees(m, d):
    """Trees and dofs by island; those in none come last."""
    tree = dof = 0
    for k in range(d.nisland[0]):
        d.island_itreeadr[k], d.island_idofadr[k] = tree, dof
        tree += d.island_ntree[k]
        dof += d.island_nv[k]
        d.island_ntree[k], d.island_nv[k] = 0, 0  # counted again as they come
    for t in range(m.ntree):
        k = d.tree_island[t]
        if k >= 0:
            take_tree(m, d, t, d.island_itreeadr[k] + d.island_ntree[k], d.island_idofadr[k] + d.island_nv[k])
            d.island_ntree[k] += 1
            d.island_nv[k] += m.tree_dofnum[t]
        else:
            take_tree(m, d, t, tree, dof)
            tree += 1
            dof += m.tree_dofnum[t]


@kernel
def fill_rows(d):
    """All rows are in one island, as they come."""
    d.island_ne[0], d.island_nf[0], d.island_nefc[0], d.island_iefcadr[0] = d.ne[0], d.nf[0], d.nefc[0], 0
    for r in range(int(d.nefc[0])):
        d.efc_island[r], d.map_efc2iefc[r], d.map_iefc2efc[r] = 0, r, r


@kernel
def sort_rows(d):
    """Rows by island; until then efc_island is a tree of each."""
    for r in range(d.nefc[0]):
        k = d.tree_island[d.efc_island[r]]
        d.efc_island[r] = k
        d.island_nefc[k] += 1
        if r < d.ne[0]:
            d.island_ne[k] += 1
        elif r < d.ne[0] + d.nf[0]:
            d.island_nf[k] += 1
    at = 0
    for k in range(d.nisland[0]):
        d.island_iefcadr[k] = at
        at += d.island_nefc[k]
        d.island_nefc[k] = 0
    for r in range(d.nefc[0]):
        k = d.efc_island[r]
        place = d.island_iefcadr[k] + d.island_nefc[k]
        d.map_efc2iefc[r], d.map_iefc2efc[place] = place, r
        d.island_nefc[k] += 1


@kernel
def add_to_runs(runs, begun, count, first, end):
    """Append a range to a group's runs, or to the last of them if it follows; how many runs there are then."""
    if count > begun and runs[count - 1, END] == first:
        runs[count - 1, END] = end
        return count
    runs[count, FIRST], runs[count, END] = first, end
    return count + 1


@kernel
def group_islands(m, d):
    """A group for each island."""
    dofs = rows = 0
    for k in range(d.nisland[0]):
        d.group_part[k, DOFS], d.group_part[k, ROWS] = dofs, rows
        for at in range(d.island_itreeadr[k], d.island_itreeadr[k] + d.island_ntree[k]):
            first = m.tree_dofadr[d.map_itree2tree[at]]
            dofs = add_to_runs(
                d.dof_run, d.group_part[k, DOFS], dofs, first, first + m.tree_dofnum[d.map_itree2tree[at]]
            )
        at, end = d.island_iefcadr[k], d.island_iefcadr[k] + d.island_nefc[k]
        while at < end:
            first = d.map_iefc2efc[at]
            count = d.efc_J_rowsuper[first] + 1  # rows with the same columns are in one island
            rows = add_to_runs(d.row_run, d.group_part[k, ROWS], rows, first, first + count)
            at += count
        d.group_part[k, DOFS_END], d.group_part[k, ROWS_END] = dofs, rows
        d.group_part[k, COUPLED], d.group_part[k, COUPLED_END] = rows, rows
        d.group_part[k, PLACES], d.group_part[k, PLACES_END] = (
            d.island_idofadr[k],
            d.island_idofadr[k] + d.island_nv[k],
        )
    d.ngroup[0] = d.nisland[0]


@kernel
def group_all(m, d):
    """One group of all rows and dofs."""
    d.ngroup[0] = 1
    d.dof_run[0, FIRST], d.dof_run[0, END] = 0, m.nv
    d.row_run[0, FIRST], d.row_run[0, END] = 0, d.nefc[0]
    d.group_part[0, DOFS], d.group_part[0, DOFS_END] = 0, 1
    d.group_part[0, ROWS], d.group_part[0, ROWS_END] = 0, 1
    d.group_part[0, PLACES], d.group_part[0, PLACES_END] = 0, m.nv
    d.group_part[0, COUPLED], d.group_part[0, COUPLED_END] = 1, 1


@kernel
def couples_in(m, d, r, g):
    """Whether a row of couplings is in a group."""
    return d.nisland[0] == 0 or d.tree_island[m.dof_treeid[d.efc_J_colind[d.efc_J_rowadr[r]]]] == g


@kernel
def spans_islands(m, d, r):
    """Whether a row of couplings reaches trees that are not in one island."""
    first = d.tree_island[m.dof_treeid[d.efc_J_colind[d.efc_J_rowadr[r]]]]
    for at in range(d.efc_J_rowadr[r] + 1, d.efc_J_rowadr[r] + d.efc_J_rownnz[r]):
        if d.tree_island[m.dof_treeid[d.efc_J_colind[at]]] != first:
            return True
    return False


@kernel
def unite_coupled(m, d):
    """Find islands anew if a row of couplings spans several: of a body that adheres across a gap. There MuJoCo stops."""
    if d.nisland[0] > 0:
        for r in range(d.nefc[0], d.nrow[0]):
            if spans_islands(m, d, r):
                find_islands(m, d)
                return


@kernel
def add_couplings(m, d):
    """Put rows that couple dofs in the metric into the groups of their trees."""
    unite_coupled(m, d)
    runs = d.group_part[d.ngroup[0] - 1, ROWS_END]
    for g in range(d.ngroup[0]):
        d.group_part[g, COUPLED] = runs
        for r in range(d.nefc[0], d.nrow[0]):
            if couples_in(m, d, r, g):
                runs = add_to_runs(d.row_run, d.group_part[g, COUPLED], runs, r, r + 1)
        d.group_part[g, COUPLED_END] = runs


@kernel
def keep_order(m, d, island):
    """Trees and dofs as they come, all in one island or in none: what a search would find, without it.

    Mostly they are so already, from the step before.
    """
    if d.tree_order[0] != IN_ORDER + island:
        for t in range(m.ntree):
            d.tree_island[t], d.map_itree2tree[t] = island, t
        for i in range(m.nv):
            d.dof_island[i], d.map_idof2dof[i], d.map_dof2idof[i] = island, i, i
        d.tree_order[0] = IN_ORDER + island
    d.nisland[0], d.nidof[0] = 0, 0
    if island == 0:
        d.nisland[0], d.nidof[0] = 1, m.nv
        d.island_ntree[0], d.island_itreeadr[0] = m.ntree, 0
        d.island_nv[0], d.island_dofadr[0], d.island_idofadr[0] = m.nv, 0, 0


@kernel
def search(m, d):
    """Unite trees row by row, then sort everything by island. Rows of couplings are there only if this is done once more."""
    d.tree_order[0] = 0
    for t in range(m.ntree):
        d.tree_island[t] = NONE
    r = 0
    while r < d.nefc[0]:
        tree, end = unite_trees(m, d, d.tree_island, r), r + d.efc_J_rowsuper[r] + 1
        while r < end:
            d.efc_island[r] = tree
            r += 1
    for r in range(d.nefc[0], d.nrow[0]):
        unite_trees(m, d, d.tree_island, r)
    if takes_couplings(m):
        unite_tied(m, d, d.tree_island)
    name_islands(m, d)
    sort_trees(m, d)


@kernel
def find_islands(m, d):
    """Which trees constraints join. MuJoCo's mj_island."""
    if d.nefc[0] == 0 or m.opt_disableflags & DisableBit.ISLAND:
        keep_order(m, d, NONE)
    elif m.ntree == 1:
        keep_order(m, d, 0)
    else:
        search(m, d)
    d.ngroup[0] = 0
    if d.nisland[0] == 1:
        fill_rows(d)
    elif d.nisland[0] > 1:
        sort_rows(d)
    whole = d.nisland[0] == 0 or (d.nisland[0] == 1 and d.nidof[0] == m.nv)
    if whole and d.nefc[0] > 0:
        group_all(m, d)
    elif d.nisland[0] > 0:
        group_islands(m, d)
