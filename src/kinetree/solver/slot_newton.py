"""Newton's method in constraint space: the iterates of `newton.py`, in another base.

Accelerations are a = qacc_smooth + s r + M^-1 J' lam, with r what the start leaves after its own forces, and s its share: 1,
and less with each step. With G = J M^-1 J', b = J qacc_smooth - aref, x = J a - aref and curvature W = C C', Newton's step
leads to forces c - C z with (I + C' G C) z = C' (b + G c), and s = 0; c = f + W x is what of the force f no curvature explains:
of friction losses alone, as the other costs are homogeneous. So where the step leads to does not depend on where it begins. The
matrix is as large as the slots that push, and dense: no pattern, no fill-in, the same text for all worlds on lanes. The slope
along the step p is minus its curvature, a sum of squares in which nothing cancels: v'v + |C'u|^2 with v = D^(1/2) L p, u = J p.
Where an island has more slots than dofs the Hessian of accelerations is the smaller matrix, and `newton.py` solves.
The iteration, when it stops and the search along the step are those of `newton.py` and `linesearch.py`, by other kernels in
some places. Reads: the rows, qfrc_smooth, qacc_smooth, M and its factor, or the metric. Writes: qacc, efc_jar, qfrc_constraint.
"""

from ..constraint.island import PLACES, PLACES_END
from ..constraint.rows import is_sparse
from ..dynamics.joined import NONE
from ..kernel import kernel, stage
from ..kernel.ops import absolute, any_, maximum, not_, sqrt, where, zero
from ..kernel.variant import nothing, variant
from ..math.constants import coarse
from ..needs import solver
from ..types import Solver
from .cost import update_group
from .linesearch import search
from .metric import solve_tree
from .newton import hessian_size, iterate, newton_direction, turn_back
from .pattern import set_pattern
from .primal import MOST_ISLANDS, gradient, jacobian_size, move, prepare_step, promised
from .slot_cost import search_slots, update_slots
from .slot_factor import bent_square, solve_slots
from .slot_pack import fill_slots, unpack_slots
from .slot_product import add_panels, length_of_step, make_B, make_G, trace_of, whiten_start, whiten_step
from .slots import CONES, GROUPS, MOST, PASS, TREES


@kernel
def add_forces_left(m, d, n):
    """sol_grad += J' (lam - f); its norm."""
    for k in range(3 * n):
        d.slot_z[k] = d.slot_lam[k] - d.slot_force[k]
    add_panels(m, d, d.slot_J, n, d.slot_z, d.sol_grad)
    square = zero(d.slot_share[0])
    for q in range(d.slot_at[TREES]):
        t = d.pass_tree[q]
        for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
            square += d.sol_grad[i] * d.sol_grad[i]
    least = 4.0 * coarse(square)
    return sqrt(where(square < least * least * d.slot_terms[0], 0.0, square))


@kernel
def slot_gradient(m, d, n):
    """sol_grad = s M r + J' (lam - f) and its norm; in single precision zero if there is no more to it than rounding."""
    for q in range(d.slot_at[TREES]):
        t = d.pass_tree[q]
        for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
            d.sol_grad[i] = d.slot_share[0] * d.sol_Mv[i]
    return add_forces_left(m, d, n)


@kernel
def first_gradient(m, d, n):
    """The same where the search begins: M qacc - qfrc_smooth - J' f, in worlds that have the island at hand."""
    terms = zero(d.time[0])
    for k in range(3 * n):
        d.slot_lam[k] = 0.0
    for q in range(d.slot_at[TREES]):
        t = d.pass_tree[q]
        on = d.pass_of_tree[t] == d.slot_at[PASS]
        for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
            d.sol_grad[i] = where(on, d.sol_Ma[i] - d.qfrc_smooth[i], 0.0)
            if any_(coarse(terms) > 0.0):
                size = where(on, absolute(d.sol_Ma[i]) + 2.0 * absolute(d.qfrc_smooth[i]), 0.0)
                terms += size * size
    d.slot_terms[0] = terms
    return add_forces_left(m, d, n)


@kernel
def slot_direction(m, d):
    """The step to where the cost, if it kept its curvature, would be least. Part of MuJoCo's mj_solNewton."""
    n = d.slot_at[GROUPS]
    solve_slots(d, n)
    d.slot_square[0] = whiten_step(m, d, n, d.slot_mu, d.slot_share[0])
    d.slot_fall[0] = d.slot_square[0] + bent_square(d)


@kernel
def slot_promised(d, n, scale):
    """By how much the cost could still fall, scaled."""
    return maximum(0.0, 0.5 * scale * d.slot_fall[0])


@kernel
def move_slots(d, n, length):
    """Go along the step."""
    for k in range(3 * n):
        d.slot_lam[k] += length * d.slot_mu[k]
        d.slot_x[k] += length * d.slot_u[k]
    d.slot_share[0] -= length * d.slot_share[0]


iterate_slots = variant("slots", iterate, {
    newton_direction: slot_direction, promised: slot_promised, turn_back: nothing, prepare_step: nothing, search: search_slots,
    move: move_slots, update_group: update_slots, gradient: slot_gradient,
})  # fmt: skip


@kernel
def is_solved_at_once(m, d, norm, scale):
    """Whether the first guess is good enough in every world, which needs no curvature to tell. Scratch: sol_Mgrad."""
    if any_(not_(norm < m.opt_tolerance)):
        return False
    total = zero(norm)
    for q in range(d.slot_at[TREES]):
        t = d.pass_tree[q]
        first, end = m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]
        for i in range(first, end):
            d.sol_Mgrad[i] = d.sol_grad[i]
        solve_tree(m, d, d.sol_Mgrad, first, end)
        for i in range(first, end):
            total += d.sol_grad[i] * d.sol_Mgrad[i]
    return not any_(not_(0.5 * scale * total < m.opt_tolerance))


@kernel
def recentre(m, d, n):
    """Write the start as qacc_smooth + r + M^-1 J' f with M r its gradient: most of another r is M^-1 J' f, and cancels."""
    for k in range(3 * n):
        d.slot_lam[k] = d.slot_force[k]
    for q in range(d.slot_at[TREES]):
        t = d.pass_tree[q]
        for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
            d.sol_Mv[i] = d.sol_grad[i]
    d.slot_share[0] = 1.0
    whiten_start(m, d)


@kernel
def finish_pass(m, d, n):
    """qfrc_constraint = J' f in worlds that have the island at hand, and efc_jar of its rows."""
    for q in range(d.slot_at[TREES]):
        t = d.pass_tree[q]
        for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
            d.sol_grad[i] = 0.0
    add_panels(m, d, d.slot_J, n, d.slot_force, d.sol_grad)
    for q in range(d.slot_at[TREES]):
        t = d.pass_tree[q]
        on = d.pass_of_tree[t] == d.slot_at[PASS]
        for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
            d.qfrc_constraint[i] = where(on, d.sol_grad[i], d.qfrc_constraint[i])
    unpack_slots(m, d)


@kernel
def accelerate_slots(m, d, n, moved):
    """qacc = qacc_smooth + s r + M^-1 J' lam in worlds that have moved."""
    if any_(moved):
        whiten_step(m, d, n, d.slot_lam, -d.slot_share[0])
        length_of_step(m, d)
        for q in range(d.slot_at[TREES]):
            t = d.pass_tree[q]
            on = (d.pass_of_tree[t] == d.slot_at[PASS]) & moved
            for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
                d.qacc[i] = where(on, d.qacc_smooth[i] + d.sol_step[i], d.qacc[i])


@kernel
def note_size(m, d, p, solved):
    """Non-zeros of MuJoCo's matrix."""
    if p < d.ngroup[0] and p < MOST_ISLANDS:
        if solved:
            d.solver_nnz[p] = jacobian_size(m, d, p)
        elif is_sparse(m):
            d.solver_nnz[p] = hessian_size(m, d, p)
        else:
            size = d.group_part[p, PLACES_END] - d.group_part[p, PLACES]
            d.solver_nnz[p] = size * size


@kernel
def solve_pass(m, d, p):
    """Solve island p of every world that has one."""
    n = fill_slots(m, d, p)
    if n > 0:
        update_slots(d, n, d.slot_at[CONES] != 0)
        scale = 1.0 / trace_of(m, d)
        norm = scale * first_gradient(m, d, n)
        solved = is_solved_at_once(m, d, norm, scale)
        if not solved:
            make_B(m, d, n)
            make_G(m, d, n)
            recentre(m, d, n)
            count = iterate_slots(m, d, n, norm, scale)
            if p < MOST_ISLANDS:
                d.solver_niter[p] += count
            accelerate_slots(m, d, n, where(count > 0, zero(norm) + 1.0, 0.0) > 0.0)
        finish_pass(m, d, n)
        note_size(m, d, p, solved)


@stage(when=solver(Solver.NEWTON), part_of="fwd_constraint")
def solve_slots_of_worlds(m, d):
    """The constrained acceleration and its forces, of worlds that are not left to others. MuJoCo's mj_solNewton."""
    if is_sparse(m):
        set_pattern(m, d)
        if d.overflow[0] != 0:
            return
    for t in range(m.ntree):
        off = d.pass_of_tree[t] == NONE
        for i in range(m.tree_dofadr[t], m.tree_dofadr[t] + m.tree_dofnum[t]):
            d.qacc[i] = where(off, d.qacc_smooth[i], d.qacc[i])
            d.qfrc_constraint[i] = where(off, 0.0, d.qfrc_constraint[i])
    for p in range(d.npass[MOST]):
        solve_pass(m, d, p)
