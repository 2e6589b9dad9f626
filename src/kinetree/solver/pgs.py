"""Projected Gauss-Seidel on the dual problem: forces f in their bounds and cones that minimise f' (A + R) f / 2 + f' b.

MuJoCo: mj_solPGS, and its warm start. Each block, a row or an elliptic contact, is solved with the others held; blocks are
visited in a shuffled order, and between sweeps forces are extrapolated (Nesterov's momentum) unless that pointed the wrong
way (O'Donoghue and Candes 2015, "Adaptive restart for accelerated gradient schemes"). Each group of constraints is solved for
itself, and in it each world stops by itself.
Reads: the rows, efc_b, qacc_warmstart and what `dual.py` reads. Writes: efc_force and what `dual.py` writes.
"""

from ..constraint.island import END, FIRST, ROWS, ROWS_END
from ..constraint.rows import is_sparse
from ..kernel import kernel, stage
from ..kernel.guard import interrupted
from ..kernel.ops import any_, maximum, minimum, not_, sqrt, where, zero
from ..math.constants import MIN_VALUE
from ..needs import solver
from ..types import Constraint, DisableBit, Solver
from .cost import update_rows
from .dual import acceleration, add_force, finish, product, project, see_forces, see_forces_of, set_force
from .own_rows import end_alone, has_rows, take_own_rows
from .primal import report, residuals, scaling, size_of, sum_over_rows, sum_up
from .qcqp import solve_on_disc
from .shuffle import FIRST as FIRST_NUMBER
from .shuffle import shuffle

WORSE = 1e-10  # an update that raises the cost by more is taken back


@kernel
def rows_of(d, i):
    """How many rows the block that begins with row i has."""
    return d.contact_dim[d.efc_id[i]] if d.efc_type[i] == Constraint.CONTACT_ELLIPTIC else 1


@kernel
def make_blocks(d, g):
    """Where a group's blocks begin, the inverse diagonal of A + R, its blocks for elliptic contacts; how many there are."""
    count = 0
    for s in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        i = d.row_run[s, FIRST]
        while i < d.row_run[s, END]:
            n = rows_of(d, i)
            for j in range(n):
                d.efc_ARinv[i + j] = 1.0 / (product(d, i + j, i + j) + d.efc_R[i + j])
                if n > 1:
                    set_cone_row(d, d.efc_id[i], i, j, n)
            d.efc_block[count] = i
            count += 1
            i += n
    return count


@kernel
def set_cone_row(d, k, i, j, n):
    """Row j of the block of A + R of an elliptic contact."""
    d.contact_H[k, n * j + j] = 1.0 / d.efc_ARinv[i + j]
    for c in range(j):
        a = product(d, i + j, i + c)
        d.contact_H[k, n * j + c] = a
        d.contact_H[k, n * c + j] = a


@kernel
def start(m, d):
    """Forces at the last step's acceleration, or none where they cost more than that: efc_force, sol_Yf."""
    if m.opt_disableflags & DisableBit.WARMSTART == 0:
        residuals(m, d, d.qacc_warmstart)
        update_rows(m, d, False)
    else:
        for i in range(d.nefc[0]):
            d.efc_force[i] = 0.0
    see_forces(m, d)
    cost = zero(d.time[0])
    for i in range(m.nv):
        cost += d.sol_Yf[i] * d.sol_Yf[i]
    for i in range(d.nefc[0]):
        cost += d.efc_force[i] * (2.0 * d.efc_b[i] + d.efc_R[i] * d.efc_force[i])
    for i in range(d.nefc[0]):
        d.efc_force[i] = where(cost > 0.0, 0.0, d.efc_force[i])
        d.efc_before[i] = d.efc_force[i]


@kernel
def bounded(d, i, force):
    """The force of a single row within its bounds."""
    if i < d.ne[0]:
        return where(d.efc_D[i] > 0.0, force, 0.0)  # on lanes there is none where the equality is off
    if i < d.ne[0] + d.nf[0]:
        return minimum(d.efc_frictionloss[i], maximum(-d.efc_frictionloss[i], force))
    return maximum(0.0, force)


@kernel
def into_cone(d, k, i, n):
    """Put the forces of an elliptic contact into its cone, the normal one first."""
    normal, square = d.efc_force[i], zero(d.time[0])
    for j in range(1, n):
        f = d.efc_force[i + j] / d.contact_friction[k, j - 1]
        square += f * f
    out = square > normal * normal
    scale = where(out, sqrt(normal * normal / where(out, maximum(MIN_VALUE, square), 1.0)), 1.0)
    for j in range(n):
        f = d.efc_force[i + j] if j == 0 else scale * d.efc_force[i + j]
        d.efc_force[i + j] = where(normal < 0.0, 0.0, f)


@kernel
def extrapolate_run(d, first, end, beta):
    """Move forces of some rows on by a share of their last change, which is zero in worlds that do not; remember both."""
    if any_(beta > 0.0):
        i = first
        while i < end:
            n = rows_of(d, i)
            for j in range(i, i + n):
                f = d.efc_force[j]
                d.efc_force[j] = f + beta * (f - d.efc_before[j])
                d.efc_before[j] = f
            if n > 1:
                into_cone(d, d.efc_id[i], i, n)
            else:
                d.efc_force[i] = bounded(d, i, d.efc_force[i])
            i += n
    else:
        for i in range(first, end):
            d.efc_before[i] = d.efc_force[i]
    for i in range(first, end):
        d.efc_ahead[i] = d.efc_force[i]


@kernel
def extrapolate(d, g, beta):
    """The same for a group."""
    for s in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        extrapolate_run(d, d.row_run[s, FIRST], d.row_run[s, END], beta)
    see_forces_of(d, g)  # afresh, so that rounding does not add up


@kernel
def update_row(d, i, active):
    """Solve for a single force; by how much the cost fell."""
    force = d.efc_force[i]
    residual = acceleration(d, i) + d.efc_R[i] * force
    change = bounded(d, i, force - residual * d.efc_ARinv[i]) - force
    cost = change * (0.5 * change / d.efc_ARinv[i] + residual)
    keep = active & not_(cost > WORSE)
    change = where(keep, change, 0.0)
    d.efc_force[i] = force + change
    add_force(d, i, change)
    return where(keep, -cost, 0.0)


@kernel
def next_normal(d, k, i, n):
    """The normal force with friction in proportion, or without where there is none to speak of."""
    along = bend = zero(d.time[0])
    for a in range(n):
        along += d.efc_force[i + a] * d.cone_res[a]
        for b in range(n):
            bend += d.efc_force[i + a] * d.contact_H[k, n * a + b] * d.efc_force[i + b]
    force, flat = d.efc_force[i], bend < MIN_VALUE
    ray = maximum(-1.0, where(flat, 0.0, -along / where(flat, 1.0, bend)))
    return where(force < MIN_VALUE, maximum(0.0, force - d.cone_res[0] * d.efc_ARinv[i]), force + ray * force)


@kernel
def set_friction_problem(d, k, i, n, normal):
    """disc_A, disc_b: the cost as a function of the scaled friction forces under a new normal force."""
    for a in range(1, n):
        scale, b = d.contact_friction[k, a - 1], d.cone_res[a] + d.contact_H[k, n * a] * (normal - d.efc_force[i])
        for c in range(1, n):
            b -= d.contact_H[k, n * a + c] * d.efc_force[i + c]
            d.disc_A[(n - 1) * (a - 1) + c - 1] = d.contact_H[k, n * a + c] * scale * d.contact_friction[k, c - 1]
        d.disc_b[a - 1] = b * scale


@kernel
def cone_cost_change(d, k, i, n):
    """Change of the cost from the forces of a contact to those in cone_new."""
    total = zero(d.time[0])
    for a in range(n):
        change, slope = d.cone_new[a] - d.efc_force[i + a], d.cone_res[a]
        for b in range(n):
            slope += 0.5 * d.contact_H[k, n * a + b] * (d.cone_new[b] - d.efc_force[i + b])
        total += change * slope
    return total


@kernel
def update_cone(d, k, i, n, active):
    """Solve for the forces of an elliptic contact, first the normal, then friction; by how much the cost fell."""
    for j in range(n):
        d.cone_res[j] = acceleration(d, i + j) + d.efc_R[i + j] * d.efc_force[i + j]
    normal = next_normal(d, k, i, n)
    set_friction_problem(d, k, i, n, normal)
    solve_on_disc(d, n - 1, normal, active & not_(normal < MIN_VALUE))
    d.cone_new[0] = normal
    for j in range(1, n):
        d.cone_new[j] = d.disc_v[j - 1] * d.contact_friction[k, j - 1]
    cost = cone_cost_change(d, k, i, n)
    keep = active & not_(cost > WORSE)
    for j in range(n):
        set_force(d, i + j, where(keep, d.cone_new[j], d.efc_force[i + j]))
    return where(keep, -cost, 0.0)


@kernel
def sweep(d, blocks, active):
    """Visit all blocks; by how much the cost fell."""
    improvement = zero(d.time[0])
    for b in range(blocks):
        i = d.efc_block[b]
        if d.efc_type[i] == Constraint.CONTACT_ELLIPTIC:
            k = d.efc_id[i]
            improvement += update_cone(d, k, i, d.contact_dim[k], active)
        else:
            improvement += update_row(d, i, active)
    return improvement


@kernel
def overshot(d, g):
    """Where the sweep went back on the extrapolation."""
    total = zero(d.time[0])
    for s in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        for i in range(d.row_run[s, FIRST], d.row_run[s, END]):
            total += (d.efc_force[i] - d.efc_ahead[i]) * (d.efc_ahead[i] - d.efc_before[i])
    return total < 0.0


@kernel
def dual_size(m, d, g):
    """Numbers in MuJoCo's matrix of a group's dual problem if it is dense, in ours if it is sparse."""
    _, rows = size_of(d, g)
    return sum_over_rows(d, g, d.efc_Y_rownnz) if is_sparse(m) else rows * rows


@kernel
def solve_group(m, d, g):
    """Solve one group; how many sweeps it took each world."""
    blocks, scale, k, count = make_blocks(d, g), scaling(m, d, g), 0, 0
    high, low = FIRST_NUMBER
    age = zero(d.time[0])  # sweeps since the momentum was lost
    active = age == 0.0
    while k < m.opt_iterations and any_(active) and not (k % 4 == 3 and interrupted(d)):
        extrapolate(d, g, where(active & (age > 1.0), (age - 1.0) / (age + 2.0), 0.0))
        high, low = shuffle(d.efc_block, blocks, high, low)
        improvement = scale * sweep(d, blocks, active)
        report(d, improvement, 0.0, 0.0)
        age = where(overshot(d, g) & (k > 0), 0.0, age + 1.0)
        count = count + where(active, 1, 0)
        active = active & not_(improvement < m.opt_tolerance)
        k += 1
    return count


@kernel
def gauss_seidel(m, d):
    """Projected Gauss-Seidel on the rows at hand."""
    project(m, d)
    if d.overflow[0] != 0:
        return
    start(m, d)
    for g in range(d.ngroup[0]):
        k = solve_group(m, d, g)
        sum_up(d, g, k, dual_size(m, d, g))
    finish(m, d)


@stage(when=solver(Solver.PGS), scalar=True, part_of="fwd_constraint")
def solve_pgs(m, d):
    """The constrained acceleration qacc and the forces efc_force, qfrc_constraint. MuJoCo's mj_solPGS."""
    if d.solve_alone[0] and d.overflow[0] == 0:
        lacks = take_own_rows(m, d)
        if has_rows(m, d):
            gauss_seidel(m, d)
        end_alone(d, lacks)
