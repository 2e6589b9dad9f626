"""A world's own rows: on lanes, what it has of the rows that exist in some world of its block.

Rows that a world lacks are neutral there, and would change no solution; but they would change its digits, its islands and its
iterations, which must not hang on its neighbours. So whoever solves for one world moves its own rows up to follow each other,
as they would stand if it were alone, finds its own islands, and puts everything back in the end. Lanes run one after the other
meanwhile, and what they share is this world's. A world that has all the rows, as every one on floats, is left as it is.
MuJoCo: nothing of that kind. Reads and writes: the rows, islands and groups; efc_force, efc_weight.
"""

from ..constraint.island import add_couplings, find_islands
from ..constraint.rows import count_supernodes, is_sparse, same_columns
from ..dynamics.sleep_state import dof_sleeps
from ..kernel import kernel
from ..kernel.ops import happens, zero
from ..types import Constraint, EnableBit, EqType

NEFC, NE, NF, NL, NJ, NROW, NENTRY = range(7)  # places in all_count
TYPE, ID, NNZ, ADR, SUPER = range(5)  # columns of all_row
MASS, SOFTNESS, REFERENCE, LOSS, LINEAR = range(5)  # columns of all_real


@kernel(scalar=True)
def is_awake(m, d, r):
    """Whether a row has a column of a tree that is awake in this world."""
    if m.opt_enableflags & EnableBit.SLEEP == 0:
        return True
    for at in range(d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]):
        if not dof_sleeps(m, d, d.efc_J_colind[at]):
            return True
    return False


@kernel(scalar=True)
def is_own(m, d, r):
    """Whether a row is there in this world."""
    if happens(d.efc_D[r] == 0.0):
        return False
    if Constraint.FRICTION_DOF <= d.efc_type[r] <= Constraint.FRICTION_TENDON and happens(d.efc_frictionloss[r] == 0.0):
        return False
    return is_awake(m, d, r)


@kernel(scalar=True)
def own_type(d, r, end):
    """The type of a row in this world: a contact in the gap, held by adhesion, has a normal and no friction."""
    kind = d.efc_type[r]
    if kind > Constraint.CONTACT_FRICTIONLESS and r + 1 < end and d.efc_id[r + 1] == d.efc_id[r]:
        if happens(d.efc_D[r + 1] == 0.0):
            return Constraint.CONTACT_FRICTIONLESS
    return kind


@kernel
def couples(d, r):
    """Whether a row couples dofs in the metric."""
    return r >= d.nefc[0]


@kernel
def goes_by_trees(m, d, r):
    """Whether a row has only trees in which something is not zero: of tendons, where MuJoCo's Jacobian is dense."""
    if m.ntendon == 0 or is_sparse(m):
        return False
    kind = d.efc_type[r]
    if kind == Constraint.EQUALITY:
        return m.eq_type[d.efc_id[r]] == EqType.TENDON
    return kind == Constraint.FRICTION_TENDON or kind == Constraint.LIMIT_TENDON


@kernel(scalar=True)
def entry_stays(m, d, of_actuator, by_trees, at, first, end):
    """Whether a row, with entries from `first` up to `end`, has an entry in this world too."""
    if by_trees:
        tree = m.dof_treeid[d.efc_J_colind[at]]
        for k in range(first, end):
            if m.dof_treeid[d.efc_J_colind[k]] == tree and not happens(d.efc_J[k] == 0.0):
                return True
        return False
    return not dof_sleeps(m, d, d.efc_J_colind[at]) and not (of_actuator and happens(d.efc_J[at] == 0.0))


@kernel(scalar=True)
def put_entries(m, d, r, to):
    """Move the entries that a row has in this world to places from `to` on, not behind where they are; how many there are."""
    first, n, coupled = d.efc_J_rowadr[r], d.efc_J_rownnz[r], r >= d.all_count[NEFC]
    of_actuator, by_trees = coupled and d.efc_id[r] >= m.ntendon, False
    if not coupled:
        by_trees = goes_by_trees(m, d, r)
    if not coupled and not by_trees:
        for k in range(n):
            d.efc_J[to + k], d.efc_J_colind[to + k] = d.efc_J[first + k], d.efc_J_colind[first + k]
        return n
    at = to
    for k in range(first, first + n):
        d.own_entry[k] = entry_stays(m, d, of_actuator, by_trees, k, first, first + n)
    for k in range(first, first + n):
        if d.own_entry[k] != 0:
            d.efc_J[at], d.efc_J_colind[at] = d.efc_J[k], d.efc_J_colind[k]
            at += 1
    return at - to


@kernel(scalar=True)
def lacks_entries(m, d, r):
    """Whether a row has entries that are none of this world's."""
    coupled = couples(d, r)
    by_trees = not coupled and goes_by_trees(m, d, r)
    if coupled or by_trees:
        of_actuator = coupled and d.efc_id[r] >= m.ntendon
        first, end = d.efc_J_rowadr[r], d.efc_J_rowadr[r] + d.efc_J_rownnz[r]
        for at in range(first, end):
            if not entry_stays(m, d, of_actuator, by_trees, at, first, end):
                return True
    return False


@kernel(scalar=True)
def lacks_rows(m, d):
    """Whether some row, or entry of a row, is none of this world's."""
    for r in range(d.nefc[0]):
        if not is_own(m, d, r) or lacks_entries(m, d, r):
            return True
    for r in range(d.nefc[0], d.nrow[0]):
        if lacks_entries(m, d, r):
            return True
    return False


@kernel
def keep_all(d):
    """Keep the rows of all worlds."""
    d.all_count[NEFC], d.all_count[NE], d.all_count[NF] = d.nefc[0], d.ne[0], d.nf[0]
    d.all_count[NL], d.all_count[NJ] = d.nl[0], d.nJ[0]
    d.all_count[NROW], d.all_count[NENTRY] = d.nrow[0], d.nentry[0]
    for r in range(d.nrow[0]):
        d.all_row[r, TYPE], d.all_row[r, ID], d.all_row[r, NNZ] = d.efc_type[r], d.efc_id[r], d.efc_J_rownnz[r]
        d.all_row[r, ADR], d.all_row[r, SUPER] = d.efc_J_rowadr[r], d.efc_J_rowsuper[r]
        d.all_real[r, MASS], d.all_real[r, SOFTNESS] = d.efc_D[r], d.efc_R[r]
        d.all_real[r, REFERENCE], d.all_real[r, LOSS], d.all_real[r, LINEAR] = (
            d.efc_aref[r],
            d.efc_frictionloss[r],
            d.efc_b[r],
        )
    for at in range(d.nentry[0]):
        d.all_J[at], d.all_colind[at] = d.efc_J[at], d.efc_J_colind[at]


@kernel
def bring_all_back(d):
    """The opposite."""
    d.nefc[0], d.ne[0], d.nf[0] = d.all_count[NEFC], d.all_count[NE], d.all_count[NF]
    d.nl[0], d.nJ[0] = d.all_count[NL], d.all_count[NJ]
    d.nrow[0], d.nentry[0] = d.all_count[NROW], d.all_count[NENTRY]
    for r in range(d.nrow[0]):
        d.efc_type[r], d.efc_id[r], d.efc_J_rownnz[r] = d.all_row[r, TYPE], d.all_row[r, ID], d.all_row[r, NNZ]
        d.efc_J_rowadr[r], d.efc_J_rowsuper[r] = d.all_row[r, ADR], d.all_row[r, SUPER]
        d.efc_D[r], d.efc_R[r] = d.all_real[r, MASS], d.all_real[r, SOFTNESS]
        d.efc_aref[r], d.efc_frictionloss[r], d.efc_b[r] = (
            d.all_real[r, REFERENCE],
            d.all_real[r, LOSS],
            d.all_real[r, LINEAR],
        )
    for at in range(d.nentry[0]):
        d.efc_J[at], d.efc_J_colind[at] = d.all_J[at], d.all_colind[at]


@kernel
def move_row(d, r, to, kind, at, n):
    """Row r, whose n entries are put already, becomes row `to`, of that kind."""
    d.efc_type[to], d.efc_id[to] = kind, d.efc_id[r]
    d.efc_D[to], d.efc_R[to], d.efc_aref[to] = d.efc_D[r], d.efc_R[r], d.efc_aref[r]
    d.efc_frictionloss[to], d.efc_b[to], d.efc_force[to] = d.efc_frictionloss[r], d.efc_b[r], d.efc_force[r]
    d.efc_J_rowadr[to], d.efc_J_rownnz[to], d.efc_J_rowsuper[to] = at, n, 0
    d.own_row[to] = r


@kernel(scalar=True)
def move_up(m, d):
    """Move this world's rows of constraints up, and count them."""
    rows, at, end = 0, 0, d.all_count[NEFC]
    d.ne[0], d.nf[0], d.nl[0] = 0, 0, 0
    for r in range(end):
        n = 0
        if is_own(m, d, r):
            n = put_entries(m, d, r, at)
        if n > 0:
            kind = own_type(d, r, end)
            if rows > 0 and same_columns(d, rows - 1, at, n):
                d.efc_J_rowsuper[rows - 1] = 1
            move_row(d, r, rows, kind, at, n)
            rows, at = rows + 1, at + n
            if kind == Constraint.EQUALITY:
                d.ne[0] += 1
            elif kind <= Constraint.FRICTION_TENDON:
                d.nf[0] += 1
            elif kind <= Constraint.LIMIT_TENDON:
                d.nl[0] += 1
    return rows, at


@kernel(scalar=True)
def move_couplings_up(m, d):
    """Move rows of couplings up behind them."""
    rows, at = d.nefc[0], d.nJ[0]
    for r in range(d.all_count[NEFC], d.all_count[NROW]):
        n = put_entries(m, d, r, at)
        if n > 0:
            move_row(d, r, rows, 0, at, n)
            rows, at = rows + 1, at + n
    d.nrow[0], d.nentry[0] = rows, at


@kernel
def group_anew(m, d):
    """Find the islands and groups of the rows at hand."""
    rows, entries = d.nrow[0], d.nentry[0]
    d.nrow[0], d.nentry[0] = d.nefc[0], d.nJ[0]
    find_islands(m, d)
    d.nrow[0], d.nentry[0] = rows, entries
    if rows > d.nefc[0] and d.nefc[0] > 0:
        add_couplings(m, d)


@kernel(scalar=True)
def take_own_rows(m, d):
    """Have this world's own rows alone, in their order, with its own islands; whether it lacks any of those there are.

    Where they are at hand already, this changes nothing.
    """
    if d.own_at_hand[0] != 0:
        return False
    lacks = lacks_rows(m, d)
    if lacks:
        d.own_at_hand[0] = 1
        keep_all(d)
        rows, entries = move_up(m, d)
        d.nefc[0], d.nJ[0] = rows, entries
        count_supernodes(d)
        move_couplings_up(m, d)
        d.apart[0], d.grouped_apart[0] = 1, 1
        group_anew(m, d)
    elif d.grouped_apart[0] != 0:
        d.grouped_apart[0] = 0
        group_anew(m, d)
    return lacks


@kernel(scalar=True)
def give_rows_back(d):
    """Have all rows again; this world's forces and curvatures are where they belong, and zero in the others."""
    k = d.nefc[0] - 1
    for r in range(d.all_count[NEFC] - 1, -1, -1):
        force = weight = zero(d.efc_D[r])
        if k >= 0 and d.own_row[k] == r:
            force, weight = d.efc_force[k], d.efc_weight[k]
            k -= 1
        d.efc_force[r], d.efc_weight[r] = force, weight
    bring_all_back(d)
    d.own_at_hand[0] = 0


@kernel
def begin_apart(d):
    """Before worlds take their own rows, one after the other."""
    d.apart[0], d.grouped_apart[0], d.own_at_hand[0] = 0, 0, 0


@kernel
def end_apart(m, d):
    """After that."""
    if d.grouped_apart[0] != 0:  # the last one had islands of its own
        group_anew(m, d)


@kernel
def has_rows(m, d):
    """Whether there are rows at hand to solve for; without any, acceleration is the smooth one."""
    d.solver_nstat[0] = 0
    if d.nefc[0] == 0:
        for i in range(m.nv):
            d.qacc[i] = d.qacc_smooth[i]
            d.qfrc_constraint[i] = 0.0
        return False
    return True


@kernel(scalar=True)
def end_alone(d, lacks):
    """After a solver: how much it has reported, and the rows back if the world lacks some."""
    d.reports[0] = d.solver_nstat[0]
    if lacks:
        give_rows_back(d)
