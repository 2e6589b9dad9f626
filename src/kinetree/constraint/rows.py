"""How constraint rows are put down: room, description, and the columns of their Jacobian.

MuJoCo: mj_addConstraint. A row that exists in any world exists in all of them; where it does not hold it is neutral: its
Jacobian, position, margin, velocity and reference are zero, efc_D is 0 and efc_R is 1, so that it has no force and no cost.
The Jacobian is always sparse, with the columns of a row in ascending order. Rows with the same columns that follow each
other are counted in efc_J_rowsuper: products treat them together.
Whoever adds rows asks `has_room`, writes the entries behind the last ones, describes the rows, and counts them; without
room rows are only counted.
Writes: nefc, nJ, efc_type, efc_id, efc_J_rownnz, efc_J_rowadr, efc_J_rowsuper, efc_J_colind, efc_J, efc_pos, efc_margin,
efc_frictionloss, efc_D (until `impedance` sets it: 1 where the row holds, 0 where it is neutral).
"""

from ..capacity import MAXEFC, MAXJ, fits
from ..dynamics.jacobian import last_dof, last_of_chains
from ..efc import SPARSE_FROM
from ..kernel import kernel
from ..kernel.ops import any_, not_, where, zero
from ..types import Jacobian


@kernel
def is_sparse(m):
    """Whether MuJoCo stores the Jacobian sparse: then rows are left out for lack of columns, else for lack of values."""
    return m.opt_jacobian == Jacobian.SPARSE or (m.opt_jacobian == Jacobian.AUTO and m.nv >= SPARSE_FROM)


@kernel
def has_room(d, rows, nnz):
    """Whether so many more rows with nnz entries each fit; if not, it is noted."""
    rows_fit = fits(d, MAXEFC, d.nefc[0] + rows)
    entries_fit = fits(d, MAXJ, d.nJ[0] + rows * nnz)
    return rows_fit and entries_fit


@kernel
def same_columns(d, row, at, nnz):
    """Whether a row that was put down has the nnz columns from `at` on."""
    if d.efc_J_rownnz[row] != nnz:
        return False
    start, k = d.efc_J_rowadr[row], nnz - 1  # from the end on: that is where rows of different bodies differ
    while k >= 0 and d.efc_J_colind[start + k] == d.efc_J_colind[at + k]:
        k -= 1
    return k < 0


@kernel
def describe(d, kind, what, rows, nnz, holds, pos, margin, loss):
    """Describe the next rows, all with the same columns. holds: in which worlds; in the others they are neutral."""
    row, at = d.nefc[0], d.nJ[0]
    if row > 0 and same_columns(d, row - 1, at, nnz):
        d.efc_J_rowsuper[row - 1] = 1
    o = zero(d.time[0])
    pos, margin, weight = where(holds, o + pos, 0.0), where(holds, o + margin, 0.0), where(holds, o + 1.0, 0.0)
    for r in range(row, row + rows):
        d.efc_type[r] = kind
        d.efc_id[r] = what
        d.efc_J_rownnz[r] = nnz
        d.efc_J_rowadr[r] = at
        d.efc_J_rowsuper[r] = 1
        d.efc_pos[r] = pos
        d.efc_margin[r] = margin
        d.efc_frictionloss[r] = loss
        d.efc_D[r] = weight
        at += nnz
    d.efc_J_rowsuper[row + rows - 1] = 0


@kernel
def silence(d, rows, nnz, holds):
    """Make the next rows, which are written and described, neutral where they do not hold: on lanes alone."""
    if any_(not_(holds)):
        for at in range(d.nJ[0], d.nJ[0] + rows * nnz):
            d.efc_J[at] = where(holds, d.efc_J[at], 0.0)
        for row in range(d.nefc[0], d.nefc[0] + rows):
            d.efc_pos[row] = where(holds, d.efc_pos[row], 0.0)


@kernel
def put_entry(d, at, column, value):
    """Write an entry of the Jacobian."""
    d.efc_J_colind[at] = column
    d.efc_J[at] = value


@kernel
def has_entry(d, first, end):
    """Whether an entry of the Jacobian is not zero, in any world."""
    for at in range(first, end):
        if any_(d.efc_J[at] != 0.0):
            return True
    return False


@kernel
def take_out_trees(m, d, nnz):
    """Take trees in which all is zero out of the next row, whose entries are written; how many entries are left.

    A row joins the trees that it has columns in, and MuJoCo finds those of a dense Jacobian by its values: a tendon has no
    arm on a tree that carries a geom which it does not wrap.
    """
    if is_sparse(m):
        return nnz
    at, to, end = d.nJ[0], d.nJ[0], d.nJ[0] + nnz
    while at < end:
        tree, after = m.dof_treeid[d.efc_J_colind[at]], at
        while after < end and m.dof_treeid[d.efc_J_colind[after]] == tree:
            after += 1
        if has_entry(d, at, after):
            for k in range(at, after):
                put_entry(d, to, d.efc_J_colind[k], d.efc_J[k])
                to += 1
        at = after
    return to - d.nJ[0]


@kernel
def count(d, rows, nnz):
    """The rows are there, or would be if there were room."""
    d.nefc[0] += rows
    d.nJ[0] += rows * nnz


@kernel
def count_unless_empty(m, d, rows, nnz):
    """Count rows that were just described unless MuJoCo leaves them out: all their entries are zero, or there are none."""
    if nnz > 0 and (is_sparse(m) or has_entry(d, d.nJ[0], d.nJ[0] + rows * nnz)):
        count(d, rows, nnz)
    elif d.nefc[0] > 0:
        d.efc_J_rowsuper[d.nefc[0] - 1] = 0  # what follows is another row


@kernel
def count_supernodes(d):
    """Turn efc_J_rowsuper from whether the next row has the same columns into how many of the next rows have."""
    for row in range(d.nefc[0] - 2, -1, -1):
        if d.efc_J_rowsuper[row] != 0:
            d.efc_J_rowsuper[row] += d.efc_J_rowsuper[row + 1]


@kernel
def chain_union(m, body0, body1):
    """How many dofs move one of two bodies."""
    i, j, n = last_dof(m, body0), last_dof(m, body1), 0
    while i >= 0 or j >= 0:
        _, _, _, i, j = last_of_chains(m, i, j)
        n += 1
    return n


@kernel
def body_weight(m, body0, body1, k):
    """Inverse inertia of one body against another at qpos0: in translation (k = 0) or in rotation (k = 1)."""
    return m.body_invweight0[body0, k] + m.body_invweight0[body1, k]
