"""The pattern of the Hessian and its factors, for random rows across branches, against dense matrices."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.states import copy_state, random_state
from kinetree.constraint.island import find_islands, group_all
from kinetree.kernel import stage
from kinetree.solver.hessian import make_hessian, solve_hessian
from kinetree.solver.pattern import set_pattern
from kinetree.types import Cone, Constraint, DisableBit
from tests.constraint.paired_rows import our_jacobian
from tests.dynamics.paired import Pair, same
from tests.solver.solved import inertia
from tests.trees import random_tree


@stage
def patterned(m, d):
    """The pattern alone."""
    find_islands(m, d)
    set_pattern(m, d)


@stage
def factored(m, d):
    """qacc = H^-1 qfrc_smooth, with all rows in one group."""
    find_islands(m, d)
    group_all(m, d)
    set_pattern(m, d)
    if d.overflow[0] == 0:
        make_hessian(m, d, 0)
        for i in range(m.nv):
            d.qacc[i] = d.qfrc_smooth[i]
        solve_hessian(m, d, 0, d.qacc)


def tree(seed: int, nbody: int = 12, cone: Cone = Cone.ELLIPTIC) -> Pair:
    """A random tree in a random state."""
    mj = mujoco.MjModel.from_xml_string(random_tree(seed, nbody))
    mj.opt.cone = cone
    mj.opt.disableflags |= DisableBit.ISLAND
    theirs, model = random_state(mj, np.random.default_rng(seed)), kt.load(mj)
    ours = kt.Data(model)
    copy_state(theirs, ours)
    kt.fwd_position(model, ours)
    return Pair(mj, theirs, model, ours)


def chain(model: kt.Model, dof: int) -> list[int]:
    out = []
    while dof >= 0:
        out.append(dof)
        dof = int(model.dof_parentid[dof])
    return out[::-1]


def random_columns(model: kt.Model, rng: np.random.Generator) -> list[int]:
    """Columns of a row: one chain, the difference of two chains as for contacts, several chains, or anything."""
    kind, dofs = rng.integers(4), rng.integers(0, model.nv, 3)
    if kind == 0:
        return chain(model, dofs[0])
    if kind == 1:
        return sorted(set(chain(model, dofs[0])) ^ set(chain(model, dofs[1])))
    if kind == 2:
        return sorted(set().union(*(chain(model, dof) for dof in dofs)))
    return sorted(set(rng.integers(0, model.nv, 4).tolist()))


def put_rows(pair: Pair, rng: np.random.Generator, runs: int, only_chains: bool = False) -> None:
    """Rows with random entries and weights, in runs of rows with the same columns; some of them elliptic contacts."""
    ours, model = pair.ours, pair.model
    lists = [random_columns(model, rng) for _ in range(runs)]
    lists = [chain(model, rng.integers(model.nv)) if only_chains else columns for columns in lists]
    sizes = rng.choice([1, 2, 3, 4, 6, 7, 9], runs)
    room = {
        "maxefc": int(sizes.sum()),
        "maxJ": sum(len(c) * n for c, n in zip(lists, sizes, strict=True)),
        "maxcon": runs,
    }
    ours._make_room({name: max(ours._arrays.capacity[name], room.get(name, 0)) for name in ours._arrays.capacity})
    a, row, at = ours._arrays, 0, 0
    a["ncon"][0] = runs
    for k, (columns, n) in enumerate(zip(lists, sizes, strict=True)):
        contact = n in (3, 4, 6)
        a["contact_efc_address"][k], a["contact_dim"][k] = (row, n) if contact else (-1, 1)
        root = rng.normal(size=(n, n))
        a["contact_H"][k].fill(0.0)
        if contact and rng.random() < 0.7:
            a["contact_H"][k, : n * n] = (root @ root.T).ravel()
        for s in range(n):
            a["efc_type"][row] = Constraint.CONTACT_ELLIPTIC if contact else Constraint.LIMIT_JOINT
            a["efc_id"][row], a["efc_J_rowsuper"][row] = k, n - 1 - s
            a["efc_J_rowadr"][row], a["efc_J_rownnz"][row] = at, len(columns)
            a["efc_J_colind"][at : at + len(columns)] = columns
            a["efc_J"][at : at + len(columns)] = rng.normal(size=len(columns))
            a["efc_weight"][row] = rng.uniform(0.1, 10.0) * (rng.random() < 0.7)
            row, at = row + 1, at + len(columns)
    a["nefc"][0], a["nJ"][0] = a["nrow"][0], a["nentry"][0] = row, at


def dense_hessian(pair: Pair) -> np.ndarray:
    """M + J' W J."""
    ours, jacobian = pair.ours, our_jacobian(pair.ours)
    weight = np.diag(ours._arrays["efc_weight"][: ours.nefc])
    for k in np.flatnonzero(ours.contact_efc_address >= 0):
        row, n = ours.contact_efc_address[k], int(ours.contact_dim[k])
        weight[row : row + n, row : row + n] += ours.contact_H[k, : n * n].reshape(n, n)
    return inertia(pair) + jacobian.T @ weight @ jacobian


def eliminated(pair: Pair) -> list[list[int]]:
    """The columns of each row after symbolic elimination in our order, from its last dof on, by sets."""
    model, ours = pair.model, pair.ours
    place = ours._arrays["H_place"]
    rows = [set(chain(model, i)) for i in range(model.nv)]
    for r in range(ours.nefc):
        columns = ours.efc_J_colind[ours.efc_J_rowadr[r] :][: ours.efc_J_rownnz[r]].tolist()
        for c in columns:
            rows[c] |= {b for b in columns if place[b] <= place[c]}
    for k in ours._arrays["H_order"][::-1]:
        for c in rows[k] - {k}:
            rows[c] |= {b for b in rows[k] if place[b] <= place[c]}
    return [sorted(row, key=place.__getitem__) for row in rows]


def our_pattern(pair: Pair) -> list[list[int]]:
    a = pair.ours._arrays
    return [a["H_colind"][first : first + n].tolist() for first, n in zip(a["H_rowadr"], a["H_rownnz"], strict=True)]


@pytest.mark.parametrize("seed", range(25))
def test_pattern_is_that_of_elimination(seed):
    """No entry too few and none too many, also where the room grows on the way."""
    pair, rng = tree(seed, 4 + seed), np.random.default_rng(seed)
    put_rows(pair, rng, 1 + seed // 2, only_chains=seed % 5 == 0)
    patterned(pair.model, pair.ours)
    assert our_pattern(pair) == eliminated(pair)


@pytest.mark.parametrize("seed", range(25))
def test_factor_solves_as_the_dense_matrix_does(seed):
    pair, rng = tree(seed, 4 + seed, Cone.ELLIPTIC), np.random.default_rng(seed)
    put_rows(pair, rng, 1 + seed // 2, only_chains=seed % 5 == 0)
    pair.ours.qfrc_smooth[:] = rng.normal(size=pair.model.nv)
    factored(pair.model, pair.ours)
    hessian = dense_hessian(pair)
    same(hessian @ pair.ours.qacc, pair.ours.qfrc_smooth, 1e-9, f"tree {seed} H x")
    same(pair.ours.qacc, np.linalg.solve(hessian, pair.ours.qfrc_smooth), 1e-7, f"tree {seed} x")


@pytest.mark.parametrize("seed", range(10))
def test_pattern_stays_only_while_it_covers_the_rows(seed):
    """Rows that come, go and change in one Data give what a fresh Data gives, to the last digit."""
    pair, rng = tree(seed, 14), np.random.default_rng(seed)
    for k in range(12):
        put_rows(pair, rng, int(rng.integers(1, 6)), only_chains=k % 4 == 0)
        pair.ours.qfrc_smooth[:] = rng.normal(size=pair.model.nv)
        fresh = pair.ours.copy()
        fresh._arrays["H_pattern"][0] = 0
        factored(pair.model, pair.ours)
        factored(pair.model, fresh)
        assert (pair.ours.qacc == fresh.qacc).all()
        covered = [set(row) for row in our_pattern(pair)]
        assert all(set(row) <= covered[i] for i, row in enumerate(eliminated(pair)))


def test_reset_forgets_the_pattern():
    pair, rng = tree(3), np.random.default_rng(3)
    put_rows(pair, rng, 4)
    patterned(pair.model, pair.ours)
    pair.ours.reset()
    kt.fwd_position(pair.model, pair.ours)
    put_rows(pair, rng, 2, only_chains=True)
    patterned(pair.model, pair.ours)
    assert our_pattern(pair) == eliminated(pair)
