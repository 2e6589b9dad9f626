"""Trees that rows and the metric join, as disjoint sets: in an array every tree leads to the lowest of its set.

Islands are found so for all worlds at once (`constraint/island.py`), and on lanes where rows differ for one world (`sleep.py`).
Reference: Galler, Fischer 1964. Reads: the columns of rows, tendons, actuators. Writes: the array.
"""

from ..kernel import kernel
from ..types import DisableBit
from .feedback import tendon_ties, ties_by_sites, ties_trees
from .sleep_state import dof_sleeps

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


@kernel
def tree_sleeps(m, d, t):
    """Whether a tree sleeps."""
    return dof_sleeps(m, d, m.tree_dofadr[t])


@kernel
def unite_tied(m, d, joined):
    """Unite trees that tendons and actuators tie together in the metric, also where no row is. Part of MuJoCo's mj_island."""
    for t in range(m.ntendon):
        if tendon_ties(m, t):
            before = NONE
            for at in range(m.ten_J_rowadr[t], m.ten_J_rowadr[t] + m.ten_J_rownnz[t]):
                tree = m.dof_treeid[m.ten_J_colind[at]]
                if tree != before and not dof_sleeps(m, d, m.ten_J_colind[at]):
                    if before != NONE:
                        unite(joined, before, tree)
                    before = tree
    if m.opt_disableflags & DisableBit.ACTUATION == 0:
        for k in range(m.nactuator):
            if ties_by_sites(m, k) and ties_trees(m, k):
                a = m.body_treeid[m.site_bodyid[m.actuator_trnid[k, 0]]]
                b = m.body_treeid[m.site_bodyid[m.actuator_trnid[k, 1]]]
                if a != b and a >= 0 and b >= 0 and not tree_sleeps(m, d, a) and not tree_sleeps(m, d, b):
                    unite(joined, a, b)
