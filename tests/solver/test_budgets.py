"""Solvers that are cut short against MuJoCo's: any number of iterations, any number of evaluations in a line search.

What they leave then is not the optimum, and may cost more than the start: only the same steps lead to the same acceleration.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.states import copy_state
from kinetree.types import Cone, DisableBit, Solver
from tests.constraint.archipelago import archipelago
from tests.constraint.test_make import corpus
from tests.physics.random_scene import random_scene, spread_joints
from tests.solver.lanes_solved import solve_side_by_side
from tests.solver.solved import agree, agree_by_iteration, scene, solved

SAME = 1e-9  # the same steps: only rounding differs, amplified by the stiffness of rows
NEARBY, RUNS = 1e-13, 200  # how far MuJoCo's own start is moved, and how often, where ours differs more than that
SPREADS = 3.0  # how many of the largest differences between its own runs ours may be off then
PRIMAL = [Solver.NEWTON, Solver.CG]
SEARCHES = [*range(1, 11), 50]
# Models with contacts, limits, dry friction and equalities, in one island and in many, and the steps between two states.
MODELS = {
    "kinetree/models/humanoid.xml": 40, "dm_control/suite/humanoid.xml": 40, "gymnasium/envs/mujoco/assets/ant.xml": 20,
    "archipelago": 7, "dry": 30,
}  # fmt: skip
# A chain with dry friction in its joints and along a tendon, whose end is dragged over the floor.
DRY = """<mujoco model="dry"><worldbody><geom type="plane" size="5 5 1"/><body pos="0 0 .5"><freejoint/>
  <geom type="box" size=".2 .1 .05"/><body pos=".2 0 0"><joint name="a" axis="0 1 0" frictionloss=".8" damping=".05"/>
  <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/><body pos=".3 0 0">
  <joint name="b" axis="0 1 .3" frictionloss=".5" range="-40 40" limited="true"/>
  <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/></body></body></body></worldbody>
  <tendon><fixed frictionloss=".6"><joint joint="a" coef="1"/><joint joint="b" coef="-.7"/></fixed></tendon>
  <actuator><motor joint="a" gear="9"/><motor joint="b" gear="5"/></actuator></mujoco>"""


def model_of(name: str, cone: Cone) -> mujoco.MjModel:
    """MuJoCo's model by name."""
    if name in ("archipelago", "dry"):
        mj = mujoco.MjModel.from_xml_string(archipelago(5) if name == "archipelago" else DRY)
    else:
        mj = mujoco.MjModel.from_xml_path(str(corpus(name)))
    mj.opt.cone = cone
    return mj


def states(mj: mujoco.MjModel, steps: int, count: int) -> list[mujoco.MjData]:
    """States with constraints on a motion of MuJoCo's under random controls."""
    rng, data, out = np.random.default_rng(11), mujoco.MjData(mj), []
    while len(out) < count:
        data.ctrl[:] = rng.uniform(-1.0, 1.0, mj.nu)
        for _ in range(steps):
            mujoco.mj_step(mj, data)
        if data.nefc > 0:
            mujoco.mj_forward(mj, data)
            out.append(mujoco.MjData(mj))
            copy_state(data, out[-1])
            out[-1].qacc_warmstart[:] += rng.normal(scale=2.0, size=mj.nv)  # else most are solved before they begin
    return out


def theirs_from(mj: mujoco.MjModel, state: mujoco.MjData, data: mujoco.MjData, rng: Any = None) -> np.ndarray:
    """MuJoCo's acceleration from a state, or from one close by."""
    copy_state(state, data)
    if rng is not None:
        for start in (data.qvel, data.qacc_warmstart):
            start += NEARBY * rng.normal(size=mj.nv) * np.maximum(1.0, abs(start))
    mujoco.mj_forward(mj, data)
    return data.qacc.copy()


def explained(mj: mujoco.MjModel, state: mujoco.MjData, ours: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether no entry is off by more than some spreads of MuJoCo's own between starts that only rounding tells apart.

    On dry friction a search can go back and forth between two points of opposite slope: the last digit says which is flatter.
    """
    rng, data = np.random.default_rng(0), mujoco.MjData(mj)
    spread = np.max([abs(theirs_from(mj, state, data, rng) - wanted) for _ in range(RUNS)], axis=0)
    size = max(1.0, abs(wanted).max())
    return bool((abs(ours - wanted) <= SAME * size + SPREADS * spread).all())


def compare(name: str, cone: Cone, count: int, iterations: list[int]) -> None:
    """Every budget of both solvers, with islands and without, in states of a model."""
    mj = model_of(name, cone)
    model, visited = kt.load(mj), states(mj, MODELS[name], count)
    theirs, ours, flags, raised, lenient = mujoco.MjData(mj), kt.Data(model), mj.opt.disableflags, 0, 0
    for disable, solver, limit, evaluations in product((0, DisableBit.ISLAND), PRIMAL, iterations, SEARCHES):
        for opt in (mj.opt, model.opt):
            opt.disableflags, opt.solver = int(flags | disable), int(solver)
            opt.iterations, opt.ls_iterations = limit, evaluations
        for k, state in enumerate(visited):
            wanted = theirs_from(mj, state, theirs)
            copy_state(state, ours)
            kt.forward(model, ours)
            error = abs(ours.qacc - wanted) / max(1.0, abs(wanted).max())
            raised += any(theirs.solver[i].improvement < 0.0 for i in range(theirs.solver_niter[0]))
            if error.max() > SAME:
                what = f"{name} {cone.name} state {k} {solver.name} {limit} iterations, {evaluations} evaluations, {disable}"
                assert explained(mj, state, ours.qacc, wanted), f"{what}: {error.max()} at {error.argmax()}"
                lenient += 1
    assert raised > 0 and lenient < 0.05 * count * len(iterations) * 4 * len(SEARCHES)


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", MODELS)
def test_any_budget_gives_mujocos_accelerations(name, cone):
    compare(name, cone, 5, [1, 2, 4])


@pytest.mark.soak
@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", MODELS)
def test_any_budget_in_many_states(name, cone):
    compare(name, cone, 100, [1, 2, 3, 4, 5])


def violent(mj: mujoco.MjModel, speed: float, rng: np.random.Generator) -> mujoco.MjData:
    """A state of which the constraints cost many orders more than the tolerance: bodies fly at such a speed."""
    out = mujoco.MjData(mj)
    spread_joints(mj, out.qpos, rng)
    out.qvel[:] = speed * rng.normal(size=mj.nv)
    out.qacc_warmstart[:] = speed * rng.normal(size=mj.nv)
    return out


def counts(mj: mujoco.MjModel, state: mujoco.MjData, data: mujoco.MjData) -> set[int]:
    """Iterations of MuJoCo's own runs from starts that only rounding tells apart."""
    rng, out = np.random.default_rng(0), set()
    for run in range(20):
        theirs_from(mj, state, data, rng if run else None)
        out.add(int(data.solver_niter[0]))
    return out


def in_random_scenes(seeds: range, budgets: list[int]) -> None:
    """CG in violent states of random scenes: iterations and accelerations within MuJoCo's own.

    A decrease that is told by the difference of two large costs is noise, by which CG would go on to its limit.
    """
    seen, odd = 0, []
    for seed, speed in product(seeds, (1.0, 1e3, 1e5)):
        mj, rng = random_scene(seed), np.random.default_rng(seed)
        mj.opt.solver, mj.opt.noslip_iterations = int(Solver.CG), 0
        model, state = kt.load(mj), violent(mj, speed, rng)
        theirs, ours = mujoco.MjData(mj), kt.Data(model)
        for limit in budgets:
            mj.opt.iterations = model.opt.iterations = limit
            wanted = theirs_from(mj, state, theirs)
            if theirs.nefc == 0:
                break
            copy_state(state, ours)
            kt.forward(model, ours)
            seen += 1
            own = counts(mj, state, theirs)
            close = abs(ours.qacc - wanted).max() <= SAME * max(1.0, abs(wanted).max())
            if not min(own) <= ours.solver_niter[0] <= max(own) or not (
                close or explained(mj, state, ours.qacc, wanted)
            ):
                odd.append(f"scene {seed}, speed {speed}, limit {limit}: {ours.solver_niter[0]} against {sorted(own)}")
    assert seen > len(seeds) * len(budgets) and len(odd) <= 0.01 * seen, "\n".join(odd)


def test_cg_stops_where_mujoco_does():
    in_random_scenes(range(12), [1, 2, 3, 5, 8, 13, 20, 100])


@pytest.mark.soak
def test_cg_stops_where_mujoco_does_in_many_scenes():
    in_random_scenes(range(150), [*range(1, 21), 100])


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("solver", PRIMAL)
@pytest.mark.parametrize("name", ["contacts", "limits", "equalities", "dm_control/suite/humanoid_CMU.xml"])
def test_every_short_search_equals_mujocos(name, solver, limit):
    """Iteration by iteration: what the cost fell or rose by, the gradient, the slope where the search ended."""
    for cone in Cone:
        pair = solved(scene(name, solver=solver, cone=cone, ls_iterations=limit, iterations=5))
        agree(pair, SAME, str(cone))
        agree_by_iteration(pair, 1e-7, str(cone))


@pytest.mark.parametrize("solver", PRIMAL)
@pytest.mark.parametrize("limit", [1, 4])
def test_lanes_search_for_themselves(limit, solver):
    """Worlds that are in different phases of a search, or done with it, have what they have alone."""
    for cone in Cone:
        counts = solve_side_by_side(
            "dm_control/suite/humanoid.xml", 1e-8, solver=solver, cone=cone, ls_iterations=limit, iterations=3
        )
        assert max(counts) == 3
