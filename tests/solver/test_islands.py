"""Islands solved apart, against MuJoCo island by island and against the solution of all rows at once."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.pipeline import forward
from kinetree.types import Cone, DisableBit, Jacobian, Solver
from tests.constraint.archipelago import archipelago, both
from tests.dynamics.paired import Pair, same

WITHIN = {Solver.NEWTON: 1e-10, Solver.CG: 1e-8, Solver.PGS: 1e-9}  # the same iterations: only rounding differs


def solved(text: str, seed: int, **options) -> Pair:
    """Both sides after a few steps of MuJoCo's, solved from the same start."""
    pair = both(text, seed, **options)
    for _ in range(3):
        mujoco.mj_step(pair.mj, pair.theirs)
    for name in ("qpos", "qvel", "qacc_warmstart"):
        setattr(pair.ours, name, getattr(pair.theirs, name))
    mujoco.mj_forward(pair.mj, pair.theirs)
    kt.forward(pair.model, pair.ours)
    return pair


def agree(pair: Pair, within: float) -> None:
    what = pair.model.title
    for name in ("qacc", "efc_force", "qfrc_constraint"):
        same(getattr(pair.ours, name), getattr(pair.theirs, name), within, f"{what} {name}")
    assert pair.ours.solver_niter.tolist() == pair.theirs.solver_niter.tolist(), f"{what} solver_niter"


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("solver", list(Solver))
@pytest.mark.parametrize("seed", range(3))
def test_every_island_equals_mujocos(seed, solver, cone):
    pair = solved(archipelago(seed), seed, solver=solver, cone=cone)
    assert pair.ours.nisland > 3 and len(set(pair.ours.solver_niter[: pair.ours.nisland])) > 1
    agree(pair, WITHIN[solver])
    free = pair.ours.dof_island < 0
    assert (pair.ours.qacc[free] == pair.ours.qacc_smooth[free]).all() and not pair.ours.qfrc_constraint[free].any()


@pytest.mark.parametrize("solver", list(Solver))
def test_statistics_follow_each_other_by_island(solver):
    pair = solved(archipelago(1, 8), 1, solver=solver)
    at = 0
    for island, count in enumerate(pair.theirs.solver_niter[: pair.ours.nisland]):
        for k in range(min(count, 200 - at)):
            stat = pair.theirs.solver[200 * island + k]
            for name in ("improvement", "gradient"):
                got, wanted = getattr(pair.ours, f"solver_{name}")[at], getattr(stat, name)
                assert abs(got - wanted) <= 1e-9 + 1e-5 * abs(wanted), f"island {island} {name}[{k}]: {got}, {wanted}"
            at += 1
    assert at > 5


@pytest.mark.parametrize("solver", list(Solver))
def test_dense_sizes_equal_mujocos(solver):
    pair = solved(archipelago(2, 6), 2, solver=solver, jacobian=Jacobian.DENSE)
    count = pair.ours.nisland
    assert pair.ours.solver_nnz[:count].tolist() == pair.theirs.solver_nnz[:count].tolist()


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("solver", list(Solver))
def test_noslip_goes_by_island(solver, cone):
    pair = solved(archipelago(2, 10), 2, solver=solver, cone=cone, noslip_iterations=8)
    agree(pair, 1e-7)


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("solver", [Solver.NEWTON, Solver.CG])
@pytest.mark.parametrize("seed", range(3))
def test_result_is_that_of_all_rows_at_once(seed, solver, cone):
    apart, joint = (
        solved(archipelago(seed), seed, solver=solver, cone=cone, tolerance=1e-15, iterations=1000, disable=disable)
        for disable in (0, DisableBit.ISLAND)
    )
    assert apart.ours.nisland > 3 and joint.ours.nisland == 0
    joint.ours.qpos, joint.ours.qvel = apart.ours.qpos, apart.ours.qvel
    joint.ours.qacc_warmstart = apart.ours.qacc_warmstart
    kt.forward(joint.model, joint.ours)
    for name in ("qacc", "efc_force", "qfrc_constraint"):
        same(getattr(apart.ours, name), getattr(joint.ours, name), 1e-6, f"{apart.model.title} {name}")


def test_more_islands_than_are_counted():
    balls = "".join(f'<body pos="{k} 0 .095"><freejoint/><geom size=".1"/></body>' for k in range(30))
    pair = solved(f'<mujoco><worldbody><geom type="plane" size="1 1 1"/>{balls}</worldbody></mujoco>', 0)
    assert pair.ours.nisland == 30
    agree(pair, 1e-10)


@pytest.mark.parametrize("solver", list(Solver))
def test_lanes_equal_floats(solver):
    """Worlds whose islands differ, on lanes in the islands of all together."""
    text = archipelago(3, 6, bonds=False)
    options = {"solver": solver, "tolerance": 1e-15, "iterations": 2000 if solver == Solver.PGS else 500}
    pairs = [solved(text, seed, speed=2.0, **options) for seed in range(8)]
    lanes = lanes_of(pairs[0].model, [pair.ours for pair in pairs])
    lanes.run(forward)
    for lane, pair in enumerate(pairs):
        for name in ("qacc", "qfrc_constraint"):
            same(lanes.arrays[name][:, lane], getattr(pair.ours, name), 1e-6, f"{pair.model.title} lane {lane} {name}")


def test_results_do_not_depend_on_islands_before():
    pair = both(archipelago(7), 7)
    rng = np.random.default_rng(7)
    for _ in range(15):
        fresh = kt.Data(pair.model)
        move = rng.normal(scale=0.1, size=pair.model.nv)
        for data in (pair.ours, fresh):
            data.qpos = kt.integrate_pos(pair.model, pair.model.qpos0, move, 1.0)
            data.qvel = data.qacc_warmstart = 0.0 * move
            kt.forward(pair.model, data)
        assert (pair.ours.qacc == fresh.qacc).all() and pair.ours.nisland == fresh.nisland


TIES = (
    '<general body="{a}" biastype="affine" biasprm="0 0 -20"/>',
    '<general site="{a}" refsite="{b}" gear="1 .3 .2 0 .1 0" biastype="affine" biasprm="0 -20 -{0}"/>',
    '<general site="{a}" gear="0 1 0 .1 0 0" biastype="affine" biasprm="0 0 -{0}" group="{1}"/>',
    '<general tendon="{tendon}" biastype="affine" biasprm="0 -10 -{0}" group="{1}"/>',
)


def tied_scene(seed: int) -> mujoco.MjModel:
    """Boxes on a floor and in the air, with gaps, tendons and actuators between them, some of which have no feedback."""
    rng, count = np.random.default_rng(seed), 7
    bodies = "".join(
        f'<body name="b{k}" pos="{0.21 * k:.3f} 0 {rng.choice([0.099, 2.0])}"><freejoint/>'
        f'<geom type="box" size=".1 .1 .1" gap="{rng.choice([0, 0.02])}"/><site name="b{k}" pos=".1 0 .05"/></body>'
        for k in range(count)
    )
    pairs = [rng.choice(count, 2, replace=False) for _ in range(2)]
    tendons = "".join(
        f'<spatial name="t{i}" stiffness="{rng.choice([0, 5])}"><site site="b{a}"/><site site="b{b}"/></spatial>'
        for i, (a, b) in enumerate(pairs)
    )
    actuators = ""
    for _ in range(4):
        a, b = rng.choice(count, 2, replace=False)
        text = TIES[rng.integers(len(TIES))]
        actuators += text.format(
            rng.choice([0, 3]), rng.choice([0, 1]), a=f"b{a}", b=f"b{b}", tendon=f"t{rng.integers(2)}"
        )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option integrator="discrete" actuatorgroupdisable="1"/><worldbody><geom type="plane" size="9 9 1"/>'
        f"{bodies}</worldbody><tendon>{tendons}</tendon><actuator>{actuators}</actuator></mujoco>"
    )


def test_every_row_lies_in_one_group():
    """Rows of constraints and of couplings: all their trees are of one island, and one group has them."""
    coupled = united = 0
    for seed in range(40):
        model = kt.load(tied_scene(seed))
        data = kt.Data(model)
        data.qvel = np.random.default_rng(seed).normal(size=model.nv)
        kt.forward(model, data)
        arrays = data._arrays
        nefc, nrow = int(arrays["nefc"][0]), int(arrays["nrow"][0])
        groups, seen = arrays["group_part"], np.zeros(nrow, int)
        for g in range(int(arrays["ngroup"][0])):
            for first, end in (groups[g, 2:4], groups[g, 6:8]):
                for run in arrays["row_run"][first:end]:
                    seen[run[0] : run[1]] += 1
        for row in range(nrow if nefc else 0):
            at = int(arrays["efc_J_rowadr"][row])
            trees = model.dof_treeid[arrays["efc_J_colind"][at : at + int(arrays["efc_J_rownnz"][row])]]
            islands = set(data.tree_island[trees].tolist())
            assert len(islands) == 1, f"seed {seed}, row {row} of {nefc} and {nrow}: trees {set(trees)} in {islands}"
            assert seen[row] == (islands != {-1}), f"seed {seed}, row {row} of {nefc} and {nrow}: in {seen[row]} groups"
            coupled, united = coupled + (row >= nefc), united + (row >= nefc and len(set(trees.tolist())) > 1)
    assert coupled > 40 and united > 10, f"{coupled} rows of couplings, {united} of several trees"
