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
