"""Friction without slip: after any solver, friction forces are solved for once more as if friction were hard.

MuJoCo: mj_solNoSlip. Gauss-Seidel over friction alone, with A in place of A + R and normal forces held: friction losses one by
one, opposite edges of a pyramid in pairs with their sum held, the friction of an elliptic contact at once.
Reads: efc_force and what `dual.py` reads. Writes: efc_force, and again what the solvers write.
"""

from ..constraint.island import END, FIRST, ROWS, ROWS_END
from ..kernel import kernel, stage
from ..kernel.guard import interrupted
from ..kernel.ops import any_, maximum, minimum, not_, where, zero
from ..math.constants import MIN_VALUE
from ..needs import option
from ..types import Constraint, Solver
from .dual import acceleration, add_force, finish, product, project, see_forces, set_force
from .own_rows import give_rows_back, take_own_rows
from .pgs import WORSE, bounded
from .primal import MOST_ISLANDS, report, scaling
from .qcqp import solve_on_disc

LEAST = 1e-10  # on the diagonal of a block


@kernel
def stiffen_loss(d, i, active):
    """A friction loss; by how much the cost fell."""
    force, residual, a = d.efc_force[i], acceleration(d, i), maximum(MIN_VALUE, product(d, i, i))
    change = where(active, bounded(d, i, force - residual / a) - force, 0.0)
    d.efc_force[i] = force + change
    add_force(d, i, change)
    return -change * (0.5 * change * a + residual)


@kernel
def stiffen_pair(d, i, active):
    """Two opposite edges of a pyramid, whose sum stays; by how much the cost fell."""
    a, b, c = maximum(LEAST, product(d, i, i)), product(d, i, i + 1), maximum(LEAST, product(d, i + 1, i + 1))
    old0, old1, res0, res1 = d.efc_force[i], d.efc_force[i + 1], acceleration(d, i), acceleration(d, i + 1)
    middle = 0.5 * (old0 + old1)
    b0, b1 = res0 - a * old0 - b * old1, res1 - b * old0 - c * old1
    bend = a + c - 2.0 * b
    flat = bend < MIN_VALUE
    off = where(flat, 0.0, -(middle * (a - c) + b0 - b1) / where(flat, 1.0, bend))
    off = where(off < -middle, -middle, where(off > middle, middle, off))
    x, y = middle + off - old0, middle - off - old1
    cost = 0.5 * (x * x * a + 2.0 * x * y * b + y * y * c) + x * res0 + y * res1
    keep = active & not_(cost > WORSE)
    set_force(d, i, where(keep, old0 + x, old0))
    set_force(d, i + 1, where(keep, old1 + y, old1))
    return where(keep, -cost, 0.0)


@kernel
def set_hard_problem(d, k, i, n):
    """disc_A, disc_b: the cost as a function of the scaled friction forces; its block of A stays in contact_H."""
    for a in range(n):
        for c in range(a + 1):
            value = product(d, i + a, i + c)
            value = maximum(LEAST, value) if a == c else value
            d.contact_H[k, n * a + c] = value
            d.contact_H[k, n * c + a] = value
    for a in range(n):
        d.cone_res[a] = acceleration(d, i + a)
        scale, b = d.contact_friction[k, a], d.cone_res[a]
        for c in range(n):
            b -= d.contact_H[k, n * a + c] * d.efc_force[i + c]
            d.disc_A[n * a + c] = d.contact_H[k, n * a + c] * scale * d.contact_friction[k, c]
        d.disc_b[a] = b * scale


@kernel
def stiffen_cone(d, k, i, n, active):
    """The n friction forces of an elliptic contact from row i on, behind its normal one; by how much the cost fell."""
    set_hard_problem(d, k, i, n)
    normal, cost = d.efc_force[i - 1], zero(d.time[0])
    solve_on_disc(d, n, normal, active & not_(normal < MIN_VALUE))
    for a in range(n):
        d.cone_new[a] = d.disc_v[a] * d.contact_friction[k, a] - d.efc_force[i + a]
    for a in range(n):
        slope = d.cone_res[a]
        for c in range(n):
            slope += 0.5 * d.contact_H[k, n * a + c] * d.cone_new[c]
        cost += d.cone_new[a] * slope
    keep = active & not_(cost > WORSE)
    for a in range(n):
        set_force(d, i + a, where(keep, d.efc_force[i + a] + d.cone_new[a], d.efc_force[i + a]))
    return where(keep, -cost, 0.0)


@kernel
def stiffen_run(d, first, end, active):
    """Visit all that is friction among rows from `first` up to `end`; by how much the cost fell."""
    improvement, losses = zero(d.time[0]), d.ne[0] + d.nf[0]
    for i in range(maximum(first, d.ne[0]), minimum(end, losses)):
        improvement += stiffen_loss(d, i, active)
    i = maximum(first, losses)
    while i < end:
        if d.efc_type[i] == Constraint.CONTACT_PYRAMIDAL:
            improvement += stiffen_pair(d, i, active)
            i += 2
        elif d.efc_type[i] == Constraint.CONTACT_ELLIPTIC:
            n = d.contact_dim[d.efc_id[i]]
            improvement += stiffen_cone(d, d.efc_id[i], i + 1, n - 1, active)
            i += n
        else:
            i += 1
    return improvement


@kernel
def softness(d, g):
    """What the regularisation of a group's rows costs."""
    total = zero(d.time[0])
    for s in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
        for i in range(d.row_run[s, FIRST], d.row_run[s, END]):
            total += 0.5 * d.efc_force[i] * d.efc_force[i] * d.efc_R[i]
    return total


@kernel
def stiffen(m, d, g):
    """Sweep over the friction of a group until it holds; how often in each world."""
    soft, scale, k, count = softness(d, g), scaling(m, d, g), 0, 0
    active = soft == soft
    while k < m.opt_noslip_iterations and any_(active) and not (k % 4 == 3 and interrupted(d)):
        improvement = soft if k == 0 else zero(soft)
        for s in range(d.group_part[g, ROWS], d.group_part[g, ROWS_END]):
            improvement += stiffen_run(d, d.row_run[s, FIRST], d.row_run[s, END], active)
        improvement = scale * improvement
        report(d, improvement, 0.0, 0.0)
        count = count + where(active, 1, 0)
        active = active & not_(improvement < m.opt_noslip_tolerance)
        k += 1
    return count


@kernel
def make_firm(m, d):
    """Solve for friction anew on the rows at hand."""
    if m.opt_solver != Solver.PGS or d.apart[0] != 0:  # else the rows Y are there already
        project(m, d)
        if d.overflow[0] != 0:
            return
    see_forces(m, d)
    for g in range(d.ngroup[0]):
        k = stiffen(m, d, g)
        if g < MOST_ISLANDS:
            d.solver_niter[g] += k
    finish(m, d)


@stage(when=option("noslip_iterations"), scalar=True, part_of="fwd_constraint")
def solve_noslip(m, d):
    """Friction forces anew, and the accelerations that follow. MuJoCo's mj_solNoSlip."""
    if d.solve_alone[0] and d.overflow[0] == 0:
        lacks = take_own_rows(m, d)
        if d.nefc[0] > 0:
            d.solver_nstat[0] = d.reports[0]
            make_firm(m, d)
        if lacks:
            give_rows_back(d)
