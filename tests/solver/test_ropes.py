"""Spatial tendons over several trees, some of which they wrap and some only might, against MuJoCo.

A tendon has columns in the tree of a geom that it does not wrap, all of them zero: whether that tree is in the tendon's island
hangs on how the Jacobian is stored, and the solver's matrices must follow.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.pipeline import forward
from kinetree.types import DisableBit, Jacobian, Solver
from tests.constraint.archipelago import both
from tests.constraint.test_island import agree as agree_on_islands
from tests.dynamics.paired import same

WITHIN = {Solver.NEWTON: 1e-10, Solver.CG: 1e-8, Solver.PGS: 1e-9}  # the same iterations: only rounding differs
KINDS = ("limit", "friction loss", "equality", "all")
# A limited tendon that passes a cylinder on a tree which nothing else touches, and a hinge far away.
PASSING = """<mujoco model="a rope that passes"><worldbody><site name="wall" pos="-.5 0 0"/>
  <body pos="0 {offset} 0"><freejoint/><geom name="post" type="cylinder" size=".1 .3"/></body>
  <body pos="1 .02 0"><freejoint/><geom size=".05"/><site name="end"/></body>
  <body pos="9 0 0"><joint axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
  <tendon><spatial range="0 .7" limited="true"><site site="wall"/><geom geom="post"/><site site="end"/></spatial>
  </tendon></mujoco>"""


def ropes(seed: int, kind: str) -> str:
    """Two to four trees in a row, and tendons between them past posts that stand in the way or beside it."""
    rng = np.random.default_rng(seed)
    trees, world, extra, tendons, equalities = rng.integers(2, 5), '<site name="s0" pos="-.6 0 0"/>', "", "", ""
    for k in range(1, trees + 1):
        joint = rng.choice(
            ["<freejoint/>", '<joint axis="0 1 .2"/>', '<joint type="ball"/>', '<joint type="slide" axis=".6 .3 .7"/>']
        )
        shape = rng.choice(['type="cylinder" size=".1 .3"', 'type="sphere" size=".12"'])
        world += f"""<body pos="{k} {rng.choice([0.0, 0.05, 2.0])} 0">{joint}<geom name="g{k}" {shape} pos="-.3 0 0"/>
            <geom size=".04"/><site name="s{k}" pos="{rng.normal(scale=0.02)} {rng.normal(scale=0.02)} 0"/></body>"""
    for t in range(rng.integers(1, 4)):
        ends = rng.choice(trees + 1, 2, replace=False)
        post = rng.integers(1, trees + 1)
        path = f'<site site="s{ends[0]}"/><geom geom="g{post}"/><site site="s{ends[1]}"/>'
        limit = 'range="0 .3" limited="true"' if kind in ("limit", "all") else ""
        loss = 'frictionloss="2"' if kind in ("friction loss", "all") else ""
        tendons += f'<spatial name="t{t}" {limit} {loss}>{path}</spatial>'
        if kind in ("equality", "all"):
            other = f'tendon2="t{t - 1}"' if t > 0 and rng.random() < 0.7 else ""
            equalities += f'<tendon tendon1="t{t}" {other} polycoef=".1 {rng.choice([0.0, 0.8])} 0 0 0"/>'
    if equalities:
        extra = f"<equality>{equalities}</equality>"
    return f"""<mujoco model="ropes {seed} {kind}"><option gravity="0 .3 -9.8"/><worldbody>{world}</worldbody>
        <tendon>{tendons}</tendon>{extra}</mujoco>"""


def stay_in_islands(pair, note: str) -> None:
    """No row has a column beyond its island, where the solver's matrices have no place for it."""
    ours, columns = pair.ours, pair.ours._arrays["efc_J_colind"]
    for row, (at, n) in enumerate(zip(ours._arrays["efc_J_rowadr"], ours._arrays["efc_J_rownnz"], strict=False)):
        if row < ours.nefc:
            found = set(ours.dof_island[columns[at : at + n]])
            assert found == {ours.efc_island[row]}, f"{pair.model.title} {note} row {row}: islands {found}"


def agree(pair, within: float, note: str) -> None:
    """Islands and accelerations equal MuJoCo's."""
    mujoco.mj_forward(pair.mj, pair.theirs)
    kt.forward(pair.model, pair.ours)
    if pair.theirs.nisland:
        stay_in_islands(pair, note)
        agree_on_islands(pair, note)
    assert pair.ours.nisland == pair.theirs.nisland, f"{pair.model.title} {note} nisland"
    for name in ("qacc", "efc_force", "qfrc_constraint"):
        same(getattr(pair.ours, name), getattr(pair.theirs, name), within, f"{pair.model.title} {note} {name}")


@pytest.mark.parametrize("jacobian", [Jacobian.DENSE, Jacobian.SPARSE])
@pytest.mark.parametrize("solver", list(Solver))
@pytest.mark.parametrize("offset", [0.0, 2.0])
def test_a_rope_that_may_pass_a_tree(offset, solver, jacobian):
    pair = both(PASSING.format(offset=offset), solver=solver, jacobian=jacobian)
    agree(pair, WITHIN[solver], "")
    joined = offset == 0.0 or jacobian == Jacobian.SPARSE
    assert pair.ours.tree_island.tolist() == [0 if joined else -1, 0, -1]


def sweep(seeds, kind: str, solver: Solver, jacobian: Jacobian) -> int:
    """Compare many models with islands and without; in how many a tree that tendons pass is left out."""
    apart = 0
    for seed in seeds:
        for disable in (0, DisableBit.ISLAND):
            most = 5 if solver == Solver.CG else 100  # later iterations drift apart by rounding
            pair = both(ropes(seed, kind), seed, disable=disable, solver=solver, jacobian=jacobian, iterations=most)
            agree(pair, WITHIN[solver], f"{solver.name} {jacobian.name} {disable}")
            apart += pair.ours.nisland > 0 and pair.ours.nidof < pair.model.nv
    return apart


@pytest.mark.parametrize("jacobian", [Jacobian.DENSE, Jacobian.SPARSE])
@pytest.mark.parametrize("solver", list(Solver))
@pytest.mark.parametrize("kind", KINDS)
def test_ropes_equal_mujocos(kind, solver, jacobian):
    assert sweep(range(12), kind, solver, jacobian) > 3


@pytest.mark.soak
@pytest.mark.parametrize("solver", list(Solver))
@pytest.mark.parametrize("kind", KINDS)
def test_many_ropes_equal_mujocos(kind, solver):
    for jacobian in (Jacobian.DENSE, Jacobian.SPARSE):
        sweep(range(100, 200), kind, solver, jacobian)


def test_lanes_have_the_trees_of_all_worlds():
    """The post stands in the way in one world alone: there it is pulled, in the others it is not."""
    pair = both(PASSING.format(offset=2.0), jacobian=Jacobian.DENSE)
    worlds = []
    for lane in range(8):
        data = kt.Data(pair.model)
        data.qpos[1] = 0.0 if lane == 3 else 2.0
        worlds.append(data)
    lanes = lanes_of(pair.model, worlds)
    lanes.run(forward)
    assert lanes.arrays["tree_island"].tolist() == [0, 0, -1]
    for lane, data in enumerate(worlds):
        kt.forward(pair.model, data)
        same(lanes.arrays["qacc"][:, lane], data.qacc, 1e-9, f"lane {lane} qacc")
