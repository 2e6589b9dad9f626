"""Which rows of each world go into slots: its own, island by island of its own.

Newton's method in constraint space (`slot_newton.py`) works on slots, three to a group. A group is a contact of three slots, or
up to three single rows; a contact of dimension 4 or 6 is wide, and takes two groups. Pyramids take a slot for the normal and one
for each pair of edges: edges are sums and differences of these. In pass k every world solves its own island k, so that the size
of its problem, and every digit, is its own affair; groups that a world does not fill hold zeros, which change no sum.
A world is left to other solvers if an island has more slots than dofs, or if rows couple dofs in the metric.
Reads: the rows. Writes: solve_alone, pass_of_tree, pass_part, pass_row, npass, pass_size.
"""

from ..constraint.contact_rows import contact_width
from ..constraint.rows import is_sparse
from ..dynamics.feedback import takes_couplings
from ..dynamics.joined import NONE, unite, unite_tied
from ..kernel import kernel, stage
from ..kernel.ops import maximum
from ..needs import solver
from ..types import Constraint, DisableBit, EnableBit, Solver

SIZE, WIDE, NARROW, SINGLE, BEGIN, FINISH = range(6)  # columns of pass_part: dofs; contacts and rows by kind; places in pass_row
WIDE_GROUPS, OTHER_GROUPS = 0, 1  # columns of pass_size
PASS, WIDE_AT_HAND, GROUPS, TREES, CONES = range(5)  # entries of slot_at
PYRAMID, CONE = 1, 2  # in slot_contact
SLOTS_PER_DOF = 1.0  # with more of them the Hessian of accelerations is the smaller matrix


@kernel
def block_size(d, r):
    """How many rows belong together from row r on: those of a contact with friction, or one."""
    if d.efc_type[r] == Constraint.CONTACT_PYRAMIDAL or d.efc_type[r] == Constraint.CONTACT_ELLIPTIC:
        return contact_width(d.efc_type[r], d.contact_dim[d.efc_id[r]])
    return 1


@kernel(scalar=True)
def is_own(m, d, r):
    """Whether a row is one of this world: it is not neutral, and not of trees alone that sleep here but not in others."""
    if m.opt_enableflags & EnableBit.SLEEP:
        for at in range(d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]):
            if d.tree_awake[m.dof_treeid[d.efc_J_colind[at]]] != 0:
                return d.efc_D[r] != 0.0
        return False
    return d.efc_D[r] != 0.0


@kernel(scalar=True)
def kind_of(d, r):
    """What the rows from r on take: two groups, one, or a slot. A contact that only pulls across a gap has one row to speak of."""
    if block_size(d, r) == 1 or d.efc_D[r + 1] == 0.0:
        return SINGLE
    return NARROW if d.contact_dim[d.efc_id[r]] == 3 else WIDE


@kernel(scalar=True)
def has_tree(m, d, r, tree):
    """Whether a row moves a tree in this world; MuJoCo tells by the values where its Jacobian is dense."""
    if is_sparse(m) or block_size(d, r) > 1:
        return True
    for at in range(d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]):
        if m.dof_treeid[d.efc_J_colind[at]] == tree and d.efc_J[at] != 0.0:
            return True
    return False


@kernel(scalar=True)
def unite_own(m, d, r):
    """Unite the trees that a row of this world moves."""
    first, end, lowest, tree = d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r], NONE, NONE
    if m.dof_treeid[d.efc_J_colind[first]] == m.dof_treeid[d.efc_J_colind[end - 1]]:  # columns ascend, and so do their trees
        lowest = m.dof_treeid[d.efc_J_colind[first]]
        unite(d.pass_of_tree, lowest, lowest)
    else:
        for at in range(first, end):
            if m.dof_treeid[d.efc_J_colind[at]] != tree:
                tree = m.dof_treeid[d.efc_J_colind[at]]
                if has_tree(m, d, r, tree):
                    lowest = tree if lowest == NONE else lowest
                    unite(d.pass_of_tree, lowest, tree)


@kernel(scalar=True)
def tree_of(m, d, r):
    """A tree that a row moves in this world."""
    first, end = d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]
    tree = m.dof_treeid[d.efc_J_colind[first]]
    if tree != m.dof_treeid[d.efc_J_colind[end - 1]] and not has_tree(m, d, r, tree):
        for at in range(first, end):
            if d.efc_J[at] != 0.0:
                return m.dof_treeid[d.efc_J_colind[at]]
    return tree


@kernel(scalar=True)
def find_passes(m, d):
    """The island of each tree in this world; how many there are. With islands disabled all trees are in one, if there are rows."""
    together, r, count = m.ntree == 1 or m.opt_disableflags & DisableBit.ISLAND != 0, 0, 0
    for t in range(m.ntree):
        d.pass_of_tree[t] = NONE
    while r < d.nefc[0]:
        if is_own(m, d, r):
            count = 1
            if together:
                r = d.nefc[0]
            else:
                unite_own(m, d, r)
        if r < d.nefc[0]:
            r += block_size(d, r)
    if together:
        for t in range(m.ntree):
            d.pass_of_tree[t] = 0 if count > 0 else NONE
        return count
    if count > 0 and takes_couplings(m):
        unite_tied(m, d, d.pass_of_tree)
    count = 0
    for t in range(m.ntree):
        above = d.pass_of_tree[t]
        if above == t:
            d.pass_of_tree[t] = count
            count += 1
        elif above >= 0:
            d.pass_of_tree[t] = d.pass_of_tree[above]  # what is above has a lower number: its island is known
    return count


@kernel(scalar=True)
def count_parts(m, d, count):
    """Dofs of islands, and contacts and rows by kind."""
    for k in range(m.ntree):
        for column in range(SIZE, FINISH + 1):
            d.pass_part[k, column] = 0
    for t in range(m.ntree):
        if d.pass_of_tree[t] >= 0:
            d.pass_part[d.pass_of_tree[t], SIZE] += m.tree_dofnum[t]
    r = 0
    while r < d.nefc[0]:
        if is_own(m, d, r):
            d.pass_part[0 if count == 1 else d.pass_of_tree[tree_of(m, d, r)], kind_of(d, r)] += 1
        r += block_size(d, r)


@kernel(scalar=True)
def sort_blocks(m, d, count):
    """Write down where the rows of each island begin."""
    place = 0
    for k in range(count):
        d.pass_part[k, BEGIN] = d.pass_part[k, FINISH] = place
        place += d.pass_part[k, WIDE] + d.pass_part[k, NARROW] + d.pass_part[k, SINGLE]
    r = 0
    while r < d.nefc[0]:
        if is_own(m, d, r):
            k = 0 if count == 1 else d.pass_of_tree[tree_of(m, d, r)]
            d.pass_row[d.pass_part[k, FINISH]] = r
            d.pass_part[k, FINISH] += 1
        r += block_size(d, r)


@kernel(scalar=True)
def groups_of(d, k):
    """How many groups the narrow contacts and single rows of an island fill."""
    return d.pass_part[k, NARROW] + (d.pass_part[k, SINGLE] + 2) // 3


@kernel(scalar=True)
def is_crowded(d, count):
    """Whether an island has so many slots that the Hessian of accelerations is the smaller matrix."""
    for k in range(count):
        if 3.0 * (2 * d.pass_part[k, WIDE] + groups_of(d, k)) > SLOTS_PER_DOF * d.pass_part[k, SIZE]:
            return True
    return False


@stage(scalar=True, when=solver(Solver.NEWTON), part_of="fwd_constraint")
def sort_own_rows(m, d):
    """Find the islands of each world and its rows in them, and decide who solves it."""
    count, coupled = find_passes(m, d), False
    for r in range(d.nefc[0], d.nrow[0]):
        coupled = coupled or d.efc_D[r] != 0.0
    count_parts(m, d, count)
    alone = coupled or is_crowded(d, count)
    d.solve_alone[0] = alone
    if alone:
        for t in range(m.ntree):
            d.pass_of_tree[t] = NONE
            for column in range(SIZE, FINISH + 1):
                d.pass_part[t, column] = 0
    else:
        sort_blocks(m, d, count)
        d.npass[0] = maximum(d.npass[0], count)
        for k in range(count):
            d.pass_size[k, WIDE_GROUPS] = maximum(d.pass_size[k, WIDE_GROUPS], 2 * d.pass_part[k, WIDE])
            d.pass_size[k, OTHER_GROUPS] = maximum(d.pass_size[k, OTHER_GROUPS], groups_of(d, k))


@kernel
def choose_worlds(m, d):
    """Decide which worlds are solved in constraint space, and how much room each pass takes there."""
    d.npass[0] = 0
    for k in range(m.ntree):
        d.pass_size[k, WIDE_GROUPS], d.pass_size[k, OTHER_GROUPS] = 0, 0
    sort_own_rows(m, d)
