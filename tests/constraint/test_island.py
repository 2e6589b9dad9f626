"""Islands against MuJoCo's: which trees, dofs and rows are in which, for rows of every kind."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.types import Cone, DisableBit, Jacobian
from tests.constraint.archipelago import archipelago, both
from tests.dynamics.paired import Pair

FIELDS = (
    "nefc", "nisland", "nidof", "tree_island", "island_ntree", "island_itreeadr", "map_itree2tree", "dof_island", "island_nv",
    "island_idofadr", "island_dofadr", "map_dof2idof", "map_idof2dof", "efc_island", "island_ne", "island_nf", "island_nefc",
    "island_iefcadr", "map_efc2iefc", "map_iefc2efc",
)  # fmt: skip


def agree(pair: Pair, note: str = "") -> None:
    """All that describes islands equals MuJoCo's."""
    for name in FIELDS:
        ours, theirs = (np.asarray(getattr(side, name)).tolist() for side in (pair.ours, pair.theirs))
        assert ours == theirs, f"{pair.model.title} {note} {name}: {ours} against {theirs}"


@pytest.mark.parametrize("jacobian", [Jacobian.DENSE, Jacobian.SPARSE])
@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("seed", range(4))
def test_islands_equal_mujocos(seed, cone, jacobian):
    pair = both(archipelago(seed), seed, cone=cone, jacobian=jacobian)
    mujoco.mj_forward(pair.mj, pair.theirs)
    kt.forward(pair.model, pair.ours)
    assert pair.ours.nisland > 3 and pair.ours.nidof < pair.model.nv and pair.ours.island_ntree.max() > 1
    assert pair.ours.island_ne.max() > 0 and pair.ours.island_nf.max() > 0
    agree(pair)


@pytest.mark.parametrize("jacobian", [Jacobian.DENSE, Jacobian.SPARSE])
@pytest.mark.parametrize("slope, arm", [(0.0, 2.0), (0.5, 0.0), (0.0, 0.0)])
def test_entries_of_zero_join_trees_in_sparse_jacobians_alone(slope, arm, jacobian):
    pair = both(archipelago(1, 4, slope, arm), jacobian=jacobian)
    mujoco.mj_forward(pair.mj, pair.theirs)
    kt.forward(pair.model, pair.ours)
    agree(pair)


def test_islands_come_and_go():
    pair = both(archipelago(7))
    found = set()
    for step in range(60):
        mujoco.mj_step(pair.mj, pair.theirs)
        kt.step(pair.model, pair.ours)
        pair.ours.qpos, pair.ours.qvel = pair.theirs.qpos, pair.theirs.qvel
        pair.ours.qacc_warmstart = pair.theirs.qacc_warmstart
        agree(pair, f"step {step}")
        found.add(tuple(pair.ours.tree_island))
    assert len(found) > 2


def test_none_without_rows_or_when_disabled():
    for options in ({"disable": DisableBit.ISLAND}, {"disable": DisableBit.CONSTRAINT}):
        pair = both(archipelago(0), **options)
        kt.forward(pair.model, pair.ours)
        assert pair.ours.nisland == pair.ours.nidof == pair.ours.island_nv.size == 0
        assert (pair.ours.tree_island == -1).all() and (pair.ours.dof_island == -1).all()
    model = kt.load("<mujoco/>")
    data = kt.Data(model)
    kt.forward(model, data)
    assert data.nisland == 0


def test_lanes_have_the_islands_of_all_worlds_together():
    """Two balls that touch in one world, and a third which touches the floor in another."""
    model = kt.load("""<mujoco><option gravity="0 0 0"/><worldbody><geom type="plane" size="1 1 1"/>
        <body pos="0 0 1"><freejoint/><geom size=".1"/></body><body pos="0 0 2"><freejoint/><geom size=".1"/></body>
        <body pos="0 0 3"><freejoint/><geom size=".1"/></body></worldbody></mujoco>""")
    worlds = [kt.Data(model) for _ in range(8)]
    worlds[2].qpos[9] = 1.15
    worlds[5].qpos[16] = 0.05
    lanes = lanes_of(model, worlds)
    lanes.run(kt.fwd_position)
    assert lanes.arrays["tree_island"].tolist() == [0, 0, 1] and lanes.arrays["nisland"].tolist() == [2]
    for data, wanted in zip(worlds, ([-1] * 3, [-1] * 3, [0, 0, -1], [-1] * 3, [-1] * 3, [-1, -1, 0]), strict=False):
        kt.fwd_position(model, data)
        assert data.tree_island.tolist() == wanted
