"""The order of trees in the Hessian: that of minimum degree, by sets; it fills in less than the model's; results stay."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from tests.solver.test_pattern import Pair, eliminated, factored, our_pattern, patterned

BODY = "<body pos='{x} {y} {z}'><freejoint/><geom type='sphere' size='.1'/></body>"
ARM = (
    "<body pos='{x} {y} {z}'><joint axis='0 1 0'/><geom type='capsule' size='.1' fromto='0 0 0 .2 0 0'/>"
    "<body pos='.2 0 0'><joint axis='0 0 1'/><geom type='sphere' size='.1'/></body></body>"
)


def heap(seed: int, bodies: int, cone: str = "pyramidal") -> Pair:
    """Overlapping balls and short arms at random places of a small room, in a random order."""
    rng, parts = np.random.default_rng(seed), []
    for k in range(bodies):
        x, y, z = rng.uniform(0.0, 0.17 * bodies ** (1 / 3), 3)
        parts.append((ARM if k % 4 == 3 else BODY).format(x=x, y=y, z=z))
    world = "<geom type='plane' size='5 5 .1' pos='0 0 .05'/>" + "".join(parts)
    mj = mujoco.MjModel.from_xml_string(
        f"<mujoco><option cone='{cone}'><flag island='disable'/></option><worldbody>{world}</worldbody></mujoco>"
    )
    mj.opt.noslip_iterations = 1  # only the solver in acceleration space leaves what it works on
    model, theirs = kt.load(mj), mujoco.MjData(mj)
    ours = kt.Data(model)
    ours.qvel[:] = theirs.qvel[:] = rng.normal(size=model.nv)
    mujoco.mj_forward(mj, theirs)
    kt.forward(model, ours)
    return Pair(mj, theirs, model, ours)


def couplings(pair: Pair) -> list[set[int]]:
    """The trees that share a row with each tree."""
    ours, tree = pair.ours, pair.model.dof_treeid
    out: list[set[int]] = [set() for _ in range(pair.model.ntree)]
    for r in range(ours.nefc):
        columns = ours.efc_J_colind[ours.efc_J_rowadr[r] :][: ours.efc_J_rownnz[r]]
        trees = {int(tree[c]) for c in columns}
        for t in trees:
            out[t] |= trees - {t}
    return out


def minimum_degree(pair: Pair) -> list[int]:
    """Trees in the order of elimination: fewest coupled dofs first, the last one of several."""
    coupled, size, out = couplings(pair), pair.model.tree_dofnum, []
    left = set(range(pair.model.ntree))
    while left:
        t = min(left, key=lambda t: (sum(int(size[u]) for u in coupled[t]), -t))
        left.remove(t)
        out.append(t)
        for u in coupled[t]:
            coupled[u] = (coupled[u] | coupled[t]) - {t, u}
    return out


@pytest.mark.parametrize("seed, bodies", [(0, 3), (1, 5), (2, 9), (3, 20), (4, 40), (5, 40)])
def test_order_is_that_of_minimum_degree(seed, bodies):
    pair = heap(seed, bodies)
    assert any(couplings(pair))
    trees = pair.model.dof_treeid[pair.ours._arrays["H_order"][::-1]].tolist()
    assert list(dict.fromkeys(trees)) == minimum_degree(pair)
    assert (np.sort(pair.ours._arrays["H_order"]) == np.arange(pair.model.nv)).all()
    assert our_pattern(pair) == eliminated(pair)


def test_order_fills_in_less_than_that_of_the_model():
    pair = heap(7, 60)
    ours = sum(map(len, our_pattern(pair)))
    pair.ours._arrays["H_place"][:] = pair.ours._arrays["H_order"][:] = np.arange(pair.model.nv)
    assert ours < 0.8 * sum(map(len, eliminated(pair)))


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("seed, bodies", [(0, 3), (3, 20), (5, 40)])
def test_accelerations_are_those_of_mujoco(seed, bodies, cone):
    pair = heap(seed, bodies, cone)
    assert pair.ours.nefc == pair.theirs.nefc and pair.ours.solver_niter[0] > 0
    scale = 1.0 + np.abs(pair.theirs.qacc).max()
    worst = int(np.abs(pair.ours.qacc - pair.theirs.qacc).argmax())
    assert np.abs(pair.ours.qacc - pair.theirs.qacc).max() < 1e-6 * scale, (
        f"heap {seed}, {cone}, qacc[{worst}]: {pair.ours.qacc[worst]} != {pair.theirs.qacc[worst]}"
    )


@pytest.mark.parametrize("seed", range(4))
def test_results_do_not_depend_on_the_order_before(seed):
    """A Data that has seen other heaps of the same model gives what a fresh one gives, to the last digit."""
    pair = heap(seed, 12)
    model, used = pair.model, pair.ours
    for shift in np.random.default_rng(seed).normal(scale=0.05, size=(6, model.nv)):
        fresh = kt.Data(model)
        used.qpos = fresh.qpos = kt.integrate_pos(model, model.qpos0, shift, 1.0)
        used.qvel = fresh.qvel = shift
        used.qacc_warmstart = fresh.qacc_warmstart = 0.0 * shift
        kt.forward(model, used)
        kt.forward(model, fresh)
        patterned(model, fresh)
        assert (used._arrays["H_order"] == fresh._arrays["H_order"]).all() or used.nefc == 0
        assert (used.qacc == fresh.qacc).all()


def test_trees_that_nothing_couples_keep_their_order():
    pair = heap(0, 20)
    pair.ours._arrays["nefc"][0] = pair.ours._arrays["nrow"][0] = 0
    factored(pair.model, pair.ours)
    assert (pair.ours._arrays["H_order"] == np.arange(pair.model.nv)).all()
