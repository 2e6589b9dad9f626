"""Which rows of each world go into slots: its own, island by island of its own.

Newton's method in constraint space (`slot_newton.py`) works on slots, three to a group. A group is a contact of three slots,
or up to three single rows; a contact of dimension 4 or 6 is wide, and takes two groups. Pyramids take a slot for the normal and
one for each pair of edges: edges are sums and differences of these. In pass k every world solves its own island k, so that the
size of its problem, and every digit, is its own affair; groups that a world does not fill hold zeros, which change no sum.
A world is left to other solvers if an island has many more slots than dofs, or if rows couple dofs in the metric.
Reads: the rows. Writes: solve_alone, pass_of_tree, pass_part, pass_block, npass, pass_size.
"""

from ..constraint.contact_rows import contact_width
from ..dynamics.feedback import takes_couplings
from ..dynamics.joined import NONE, unite, unite_tied
from ..kernel import kernel, stage
from ..kernel.ops import maximum
from ..math.constants import coarse
from ..needs import solver
from ..types import Constraint, DisableBit, Solver
from .own_rows import goes_by_trees, is_own

SIZE, WIDE, NARROW, SINGLE, BEGIN, FINISH = range(6)  # columns of pass_part: dofs; blocks by kind; places in pass_block
BLOCKS, MOST, WORLDS, WIDEST, LARGEST = range(5)  # entries of npass
WIDE_GROUPS, OTHER_GROUPS = 0, 1  # columns of pass_size
PASS, WIDE_AT_HAND, GROUPS, TREES, CONES = range(5)  # entries of slot_at
PYRAMID, CONE = 1, 2  # in slot_contact
# With more slots than so many for each dof the Hessian of accelerations is the smaller matrix: of one world, and of worlds on
# lanes, which are left to a solver that takes them one by one.
SLOTS_PER_DOF, SLOTS_PER_DOF_ON_LANES = 1.0, 3.0


@kernel
def list_blocks(d):
    """Rows that belong together, those of a contact with friction or one, and what they take: two groups, one, or a slot."""
    r, count = 0, 0
    while r < d.nefc[0]:
        d.row_block[count], d.block_kind[count] = r, SINGLE
        size = 1
        if d.efc_type[r] == Constraint.CONTACT_PYRAMIDAL or d.efc_type[r] == Constraint.CONTACT_ELLIPTIC:
            dim = d.contact_dim[d.efc_id[r]]
            d.block_kind[count], size = NARROW if dim == 3 else WIDE, contact_width(d.efc_type[r], dim)
        r += size
        count += 1
    d.npass[BLOCKS] = count


@kernel(scalar=True)
def kind_of(d, b):
    """What a block takes in this world. A contact that only pulls across a gap has one row to speak of."""
    if d.block_kind[b] != SINGLE and d.efc_D[d.row_block[b] + 1] == 0.0:
        return SINGLE
    return d.block_kind[b]


@kernel(scalar=True)
def has_tree(m, d, b, tree):
    """Whether a block moves a tree in this world: tendons tell by the values where MuJoCo's Jacobian is dense."""
    r = d.row_block[b]
    if not goes_by_trees(m, d, r):
        return True
    for at in range(d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]):
        if m.dof_treeid[d.efc_J_colind[at]] == tree and d.efc_J[at] != 0.0:
            return True
    return False


@kernel(scalar=True)
def unite_own(m, d, b):
    """Unite the trees that a block of this world moves."""
    r = d.row_block[b]
    first, end, lowest, tree = d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r], NONE, NONE
    if (
        m.dof_treeid[d.efc_J_colind[first]] == m.dof_treeid[d.efc_J_colind[end - 1]]
    ):  # columns ascend, and so do their trees
        lowest = m.dof_treeid[d.efc_J_colind[first]]
        unite(d.pass_of_tree, lowest, lowest)
    else:
        for at in range(first, end):
            if m.dof_treeid[d.efc_J_colind[at]] != tree:
                tree = m.dof_treeid[d.efc_J_colind[at]]
                if has_tree(m, d, b, tree):
                    lowest = tree if lowest == NONE else lowest
                    unite(d.pass_of_tree, lowest, tree)


@kernel(scalar=True)
def tree_of(m, d, b):
    """A tree that a block moves in this world."""
    r = d.row_block[b]
    first, end = d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]
    tree = m.dof_treeid[d.efc_J_colind[first]]
    if tree != m.dof_treeid[d.efc_J_colind[end - 1]] and not has_tree(m, d, b, tree):
        for at in range(first, end):
            if d.efc_J[at] != 0.0:
                return m.dof_treeid[d.efc_J_colind[at]]
    return tree


@kernel(scalar=True)
def take_block(d, k, b):
    """Append a block to those of an island."""
    d.pass_block[d.pass_part[k, FINISH]] = b
    d.pass_part[k, FINISH] += 1
    d.pass_part[k, kind_of(d, b)] += 1


@kernel(scalar=True)
def take_all(m, d):
    """All trees and blocks of this world in one island; how many there are: none if there are no rows."""
    for column in range(SIZE, FINISH + 1):
        d.pass_part[0, column] = 0
    for b in range(d.npass[BLOCKS]):
        if is_own(m, d, d.row_block[b]):
            take_block(d, 0, b)
    count = 1 if d.pass_part[0, FINISH] > 0 else 0
    d.pass_part[0, SIZE] = m.nv
    for t in range(m.ntree):
        d.pass_of_tree[t] = count - 1
    return count


@kernel(scalar=True)
def name_passes(m, d):
    """Number the islands of this world by their lowest trees."""
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
def take_by_island(m, d):
    """The islands of this world, and the blocks of each; how many there are."""
    some = False
    for t in range(m.ntree):
        d.pass_of_tree[t] = NONE
    for b in range(d.npass[BLOCKS]):
        if is_own(m, d, d.row_block[b]):
            unite_own(m, d, b)
            some = True
    if some and takes_couplings(m):
        unite_tied(m, d, d.pass_of_tree)
    count = name_passes(m, d)
    for k in range(m.ntree):
        for column in range(SIZE, FINISH + 1):
            d.pass_part[k, column] = 0
    for t in range(m.ntree):
        if d.pass_of_tree[t] >= 0:
            d.pass_part[d.pass_of_tree[t], SIZE] += m.tree_dofnum[t]
    for b in range(d.npass[BLOCKS]):
        if is_own(m, d, d.row_block[b]):
            d.pass_part[d.pass_of_tree[tree_of(m, d, b)], FINISH] += 1
    place = 0
    for k in range(count):
        end = place + d.pass_part[k, FINISH]
        d.pass_part[k, BEGIN], d.pass_part[k, FINISH] = place, place
        place = end
    for b in range(d.npass[BLOCKS]):
        if is_own(m, d, d.row_block[b]):
            take_block(d, d.pass_of_tree[tree_of(m, d, b)], b)
    return count


@kernel(scalar=True)
def groups_of(d, k):
    """How many groups the narrow contacts and single rows of an island fill."""
    return d.pass_part[k, NARROW] + (d.pass_part[k, SINGLE] + 2) // 3


@kernel(scalar=True)
def is_crowded(d, k):
    """Whether an island has so many slots that the world is better left to others."""
    few = d.npass[WORLDS] == 1 or coarse(d.time[0]) > 0.0  # forces of many rows are found less well in single precision
    most = SLOTS_PER_DOF if few else SLOTS_PER_DOF_ON_LANES
    return 3.0 * (2 * d.pass_part[k, WIDE] + groups_of(d, k)) > most * d.pass_part[k, SIZE]


@kernel(scalar=True)
def some_crowded(d, count):
    """Whether an island of this world is; room that others take is noted, as this one may be asleep by the end of the step."""
    crowded = False
    for k in range(count):
        if is_crowded(d, k):
            crowded = True
        else:
            d.npass[WIDEST] = maximum(d.npass[WIDEST], 2 * d.pass_part[k, WIDE])
            d.npass[LARGEST] = maximum(d.npass[LARGEST], groups_of(d, k))
    return crowded


@stage(scalar=True, when=solver(Solver.NEWTON), part_of="fwd_constraint")
def count_worlds(m, d):
    """How many worlds there are side by side, of which MuJoCo has one."""
    d.npass[WORLDS] += 1


@stage(scalar=True, when=solver(Solver.NEWTON), part_of="fwd_constraint")
def sort_own_rows(m, d):
    """Find the islands of each world and its rows in them, and decide who solves it. Part of MuJoCo's mj_island."""
    together, coupled = m.ntree == 1 or m.opt_disableflags & DisableBit.ISLAND != 0, False
    count = take_all(m, d) if together else take_by_island(m, d)
    for r in range(d.nefc[0], d.nrow[0]):
        coupled = coupled or d.efc_D[r] != 0.0
    if coarse(d.time[0]) > 0.0:
        for r in range(d.ne[0]):  # and those of stiff loops
            coupled = coupled or d.efc_D[r] != 0.0
    alone = some_crowded(d, count) or coupled
    d.solve_alone[0] = alone
    if alone:
        for t in range(m.ntree):
            d.pass_of_tree[t] = NONE
            for column in range(SIZE, FINISH + 1):
                d.pass_part[t, column] = 0
    else:
        d.npass[MOST] = maximum(d.npass[MOST], count)
        for k in range(count):
            d.pass_size[k, WIDE_GROUPS] = maximum(d.pass_size[k, WIDE_GROUPS], 2 * d.pass_part[k, WIDE])
            d.pass_size[k, OTHER_GROUPS] = maximum(d.pass_size[k, OTHER_GROUPS], groups_of(d, k))


@kernel
def choose_worlds(m, d):
    """Decide which worlds are solved in constraint space, and how much room each pass takes there."""
    d.npass[MOST], d.npass[WIDEST], d.npass[LARGEST] = 0, 0, 0
    for k in range(m.ntree):
        d.pass_size[k, WIDE_GROUPS], d.pass_size[k, OTHER_GROUPS] = 0, 0
    d.npass[WORLDS] = 0
    count_worlds(m, d)
    list_blocks(d)
    sort_own_rows(m, d)
