"""Rows of each world into slots, and values at slots back to rows.

Wide contacts come first, then contacts of three slots; single rows fill groups from the last one on. A slot that is not filled
is a row without mass. Reads: the rows, pass_part, pass_block, efc_b, efc_jar. Writes: slot_J, slot_col, slot_ncol, slot_mass,
slot_root, slot_low, slot_high, slot_scale, slot_contact, slot_b, slot_x; on the way back efc_jar.
"""

from ..capacity import MAXPANEL, MAXSLOT, MAXSQUARE, fits
from ..kernel import kernel, stage
from ..kernel.ops import any_, huge, sqrt, zero
from ..needs import solver
from ..types import Cone, Solver
from .cone import scale_of
from .cost import friction_bound
from .slots import (
    BEGIN,
    CONE,
    CONES,
    FINISH,
    GROUPS,
    NARROW,
    OTHER_GROUPS,
    PASS,
    PYRAMID,
    SINGLE,
    TREES,
    WIDE,
    WIDE_AT_HAND,
    WIDE_GROUPS,
    kind_of,
)


@kernel
def has_slots(m, d, n):
    """Whether there is room for so many groups; if not, it is noted."""
    slots_fit = fits(d, MAXSLOT, 3 * n)
    panels_fit = fits(d, MAXPANEL, n * m.nv)
    squares_fit = fits(d, MAXSQUARE, n * 3 * n)
    return slots_fit and panels_fit and squares_fit


@kernel
def clear_slots(m, d, n):
    """Empty slots."""
    o = zero(d.time[0])
    for g in range(n):
        for q in range(d.slot_at[TREES]):
            first = g * m.nv + m.tree_dofadr[d.pass_tree[q]]
            for at in range(first, first + m.tree_dofnum[d.pass_tree[q]]):
                d.slot_mark[at] = 0
                d.slot_J[at, 0], d.slot_J[at, 1], d.slot_J[at, 2] = o, o, o
    for k in range(3 * n):
        d.slot_mass[k], d.slot_low[k], d.slot_high[k], d.slot_scale[k] = o, o, o, o
        d.slot_b[k], d.slot_x[k] = o, o
    for g in range(n):
        d.slot_contact[g] = 0


@kernel(scalar=True)
def place_of(d, wide, narrow, single, kind):
    """First slot of the next contact or row of a kind, so many of each being placed."""
    if kind == WIDE:
        return 6 * wide
    if kind == NARROW:
        return 3 * (d.slot_at[WIDE_AT_HAND] + narrow)
    return 3 * (d.slot_at[GROUPS] - 1 - single // 3) + single % 3


@kernel(scalar=True)
def put_row(m, d, r, k):
    """A row as it is into slot k."""
    g, j = k // 3, k % 3
    for at in range(d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]):
        place = g * m.nv + d.efc_J_colind[at]
        d.slot_mark[place] = 1
        d.slot_J[place, j] = d.efc_J[at]
    d.slot_b[k], d.slot_x[k] = d.efc_b[r], d.efc_jar[r]


@kernel(scalar=True)
def put_pyramid(m, d, r, k):
    """A pyramid of dimension 3: half the sum of the first pair of edges, half the difference of either pair."""
    first, a, n = k // 3 * m.nv, d.efc_J_rowadr[r], d.efc_J_rownnz[r]
    for at in range(a, a + n):
        place, e0, e1 = first + d.efc_J_colind[at], d.efc_J[at], d.efc_J[at + n]
        d.slot_mark[place] = 1
        d.slot_J[place, 0], d.slot_J[place, 1] = 0.5 * (e0 + e1), 0.5 * (e0 - e1)
        d.slot_J[place, 2] = 0.5 * (d.efc_J[at + 2 * n] - d.efc_J[at + 3 * n])
    put_halves(d, r, k, 3)


@kernel(scalar=True)
def put_wide_pyramid(m, d, r, k, dim):
    """The same of dimension 4 or 6, in two groups."""
    first, a, n = k // 3 * m.nv, d.efc_J_rowadr[r], d.efc_J_rownnz[r]
    for at in range(a, a + n):
        place = first + d.efc_J_colind[at]
        d.slot_mark[place] = d.slot_mark[place + m.nv] = 1
        d.slot_J[place, 0] = 0.5 * (d.efc_J[at] + d.efc_J[at + n])
        for j in range(1, dim):
            to = place + m.nv * (j // 3)
            d.slot_J[to, j % 3] = 0.5 * (d.efc_J[at + (2 * j - 2) * n] - d.efc_J[at + (2 * j - 1) * n])
    put_halves(d, r, k, dim)


@kernel(scalar=True)
def put_halves(d, r, k, dim):
    """Values at a pyramid's slots from those at its edges, which all have one mass; they push only."""
    d.slot_b[k], d.slot_x[k] = 0.5 * (d.efc_b[r] + d.efc_b[r + 1]), 0.5 * (d.efc_jar[r] + d.efc_jar[r + 1])
    for j in range(dim):
        if j > 0:
            e = r + 2 * j - 2
            d.slot_b[k + j], d.slot_x[k + j] = (
                0.5 * (d.efc_b[e] - d.efc_b[e + 1]),
                0.5 * (d.efc_jar[e] - d.efc_jar[e + 1]),
            )
        d.slot_mass[k + j], d.slot_low[k + j] = d.efc_D[r], -huge(d.efc_D[r])


@kernel(scalar=True)
def put_single(m, d, r, k):
    """A row on its own: its cost is quadratic between two ends, and goes on along a line."""
    put_row(m, d, r, k)
    mass = d.efc_D[r]
    d.slot_mass[k] = mass
    if r < d.ne[0]:
        d.slot_low[k], d.slot_high[k] = -huge(mass), huge(mass)
    elif r < d.ne[0] + d.nf[0]:
        d.slot_low[k], d.slot_high[k] = -friction_bound(d, r), friction_bound(d, r)
    else:
        d.slot_low[k] = -huge(mass)


@kernel(scalar=True)
def put_contact(m, d, r, k):
    """A contact with friction: the normal, then what is across."""
    contact = d.efc_id[r]
    dim = d.contact_dim[contact]
    if m.opt_cone == Cone.ELLIPTIC:
        d.slot_contact[k // 3] = CONE
        for j in range(dim):
            put_row(m, d, r + j, k + j)
            d.slot_mass[k + j], d.slot_scale[k + j] = d.efc_D[r + j], scale_of(d, contact, j)
    else:
        d.slot_contact[k // 3] = PYRAMID
        if dim == 3:
            put_pyramid(m, d, r, k)
        else:
            put_wide_pyramid(m, d, r, k, dim)


@stage(scalar=True, when=solver(Solver.NEWTON), part_of="fwd_constraint")
def pack_slots(m, d):
    """Put the rows of each world's island at hand into slots, which MuJoCo has none of."""
    p = d.slot_at[PASS]
    wide = narrow = single = 0
    for place in range(d.pass_part[p, BEGIN], d.pass_part[p, FINISH]):
        b = d.pass_block[place]
        r, kind = d.row_block[b], kind_of(d, b)
        k = place_of(d, wide, narrow, single, kind)
        if kind == SINGLE:
            put_single(m, d, r, k)
            single += 1
        else:
            put_contact(m, d, r, k)
            wide, narrow = wide + (1 if kind == WIDE else 0), narrow + (1 if kind == NARROW else 0)


@stage(scalar=True, when=solver(Solver.NEWTON), part_of="fwd_constraint")
def unpack_slots(m, d):
    """efc_jar of each world's island at hand from slot_x, which MuJoCo has none of."""
    p = d.slot_at[PASS]
    wide = narrow = single = 0
    for place in range(d.pass_part[p, BEGIN], d.pass_part[p, FINISH]):
        b = d.pass_block[place]
        r, kind = d.row_block[b], kind_of(d, b)
        k = place_of(d, wide, narrow, single, kind)
        if kind == SINGLE:
            d.efc_jar[r] = d.slot_x[k]
            single += 1
        else:
            for j in range(d.contact_dim[d.efc_id[r]]):
                if m.opt_cone == Cone.ELLIPTIC:
                    d.efc_jar[r + j] = d.slot_x[k + j]
                elif j > 0:
                    d.efc_jar[r + 2 * j - 2] = d.slot_x[k] + d.slot_x[k + j]
                    d.efc_jar[r + 2 * j - 1] = d.slot_x[k] - d.slot_x[k + j]
            wide, narrow = wide + (1 if kind == WIDE else 0), narrow + (1 if kind == NARROW else 0)


@kernel
def list_columns(m, d, n):
    """The dofs of each group in any world with their ancestors, in ascending order."""
    for g in range(n):
        panel, count = g * m.nv, 0
        for q in range(d.slot_at[TREES]):
            first = m.tree_dofadr[d.pass_tree[q]]
            end = first + m.tree_dofnum[d.pass_tree[q]]
            for i in range(end - 1, first - 1, -1):
                if d.slot_mark[panel + i] != 0 and m.M_rownnz[i] > 1:
                    d.slot_mark[panel + m.dof_parentid[i]] = 1
            for i in range(first, end):
                if d.slot_mark[panel + i] != 0:
                    d.slot_col[panel + count] = i
                    count += 1
        d.slot_ncol[g] = count


@kernel
def list_trees(m, d, p):
    """Trees that are in island p in some world."""
    count = 0
    for t in range(m.ntree):
        if any_(d.pass_of_tree[t] == p):
            d.pass_tree[count] = t
            count += 1
    d.slot_at[TREES] = count


@kernel
def fill_slots(m, d, p):
    """Put island p of every world into slots; how many groups these are, 0 if there is no room."""
    n = d.pass_size[p, WIDE_GROUPS] + d.pass_size[p, OTHER_GROUPS]
    d.slot_at[PASS], d.slot_at[WIDE_AT_HAND], d.slot_at[GROUPS] = p, d.pass_size[p, WIDE_GROUPS], n
    d.slot_at[CONES] = 1 if m.opt_cone == Cone.ELLIPTIC else 0
    if not has_slots(m, d, n):
        return 0
    list_trees(m, d, p)
    clear_slots(m, d, n)
    pack_slots(m, d)
    list_columns(m, d, n)
    for k in range(3 * n):
        d.slot_root[k] = sqrt(d.slot_mass[k])
    return n
