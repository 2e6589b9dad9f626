"""Trees that rows join, as disjoint sets: in an array of a number for each tree every tree leads to the lowest of its set.

Islands are found so for all worlds at once (`constraint/island.py`), and on lanes where rows differ for one world (`sleep.py`).
Reference: Galler, Fischer 1964. Reads: the columns of rows. Writes: the array.
"""

from ..kernel import kernel

NONE = -1  # of a tree that no row touches


@kernel
def root_of(joined, tree):
    """The lowest tree that a tree is united with."""
    while joined[tree] != tree:
        tree = joined[tree]
    return tree


@kernel
def unite(joined, a, b):
    """Put two trees, or one with itself, into one set."""
    if joined[a] == NONE:
        joined[a] = a
    if joined[b] == NONE:
        joined[b] = b
    a, b = root_of(joined, a), root_of(joined, b)
    if a < b:
        joined[b] = a
    elif b < a:
        joined[a] = b


@kernel
def unite_trees(m, d, joined, r):
    """Unite the trees that a row has columns in; the lowest of them."""
    first, end = d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]
    lowest, highest = m.dof_treeid[d.efc_J_colind[first]], m.dof_treeid[d.efc_J_colind[end - 1]]
    unite(joined, lowest, lowest)
    if lowest != highest:  # columns ascend, and so do their trees
        for at in range(first + 1, end):
            tree = m.dof_treeid[d.efc_J_colind[at]]
            if tree != m.dof_treeid[d.efc_J_colind[at - 1]]:
                unite(joined, lowest, tree)
    return lowest
