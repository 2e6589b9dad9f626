"""Newton's method in constraint space, against the one in acceleration space, against MuJoCo, and world by world on lanes."""

from __future__ import annotations

from itertools import product

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import LaneData
from kinetree.pipeline import forward, fwd_constraint
from kinetree.types import Cone, Constraint, ConstraintState, DisableBit, Integrator, Jacobian
from tests.constraint.test_make import corpus
from tests.dynamics.paired import same
from tests.solver.slot_scene import both, in_slots, model_of, put, solve_accelerations, states

SAME = 1e-10  # the same iterates in another base: rounding, amplified by the stiffness of rows
SINGLE = 2e-4  # float32: a thousand roundings of the largest entry
RESULTS = ("qacc", "efc_force", "qfrc_constraint")
CASES = {
    "one": {}, "two apart": {"count": 2}, "two joined": {"count": 2, "joined": True},
    "three, two joined": {"count": 3, "joined": True},
    "no islands": {"count": 2, "disable": DisableBit.ISLAND}, "discrete": {"count": 2, "integrator": Integrator.DISCRETE},
    "sparse": {"count": 2, "jacobian": Jacobian.SPARSE}, "cold": {"disable": DisableBit.WARMSTART},
}  # fmt: skip


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("case", CASES)
def test_iterates_are_mujocos(case, cone):
    mj, seen, dims = model_of(cone=cone, **CASES[case]), set(), set()
    for k, state in enumerate(states(mj, 8)):
        pair = both(mj, state)
        what = f"{case} {cone.name} state {k}"
        assert in_slots(pair.ours), what
        for name in RESULTS:
            same(getattr(pair.ours, name), getattr(pair.theirs, name), SAME, f"{what} {name}")
        assert (pair.ours.solver_niter == pair.theirs.solver_niter).all(), what
        if case == "no islands":  # else MuJoCo does not bring states back from its islands
            assert (pair.ours.efc_state == pair.theirs.efc_state).all(), what
        seen |= {(int(t), int(s)) for t, s in zip(pair.ours.efc_type, pair.ours.efc_state, strict=True)}
        dims |= set(pair.theirs.contact.dim.tolist())
    kind = Constraint.CONTACT_ELLIPTIC if cone == Cone.ELLIPTIC else Constraint.CONTACT_PYRAMIDAL
    wanted = (
        Constraint.EQUALITY,
        Constraint.FRICTION_DOF,
        Constraint.FRICTION_TENDON,
        Constraint.CONTACT_FRICTIONLESS,
        kind,
    )
    assert {int(t) for t in wanted} <= {t for t, _ in seen} and dims == {1, 3, 4, 6}
    assert {
        (int(Constraint.FRICTION_DOF), int(s)) for s in (ConstraintState.QUADRATIC, ConstraintState.LINEARPOS)
    } <= seen


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("case", CASES)
def test_equals_acceleration_space(case, cone):
    """Results, iterations and their statistics are those of the Hessian's solver."""
    mj = model_of(cone=cone, **CASES[case])
    for k, state in enumerate(states(mj, 4, seed=1)):
        pair, what = both(mj, state), f"{case} {cone.name} state {k}"
        put(pair.ours, state)
        fwd_constraint(pair.model, pair.ours)
        assert in_slots(pair.ours)
        names = (*RESULTS, "efc_b", "solver_niter", "solver_nnz", "efc_state", "contact_H")
        mine = {name: np.array(getattr(pair.ours, name)) for name in names}
        stats = [np.array(getattr(pair.ours, f"solver_{name}")) for name in ("improvement", "gradient", "lineslope")]
        solve_accelerations(pair.model, pair.ours)
        for name in names:
            same(mine[name], getattr(pair.ours, name), SAME, f"{what} {name}")
        count = int(pair.ours.solver_niter.sum())
        assert count > 0
        for name, got in zip(("improvement", "gradient", "lineslope"), stats, strict=True):
            same(got[:count], getattr(pair.ours, f"solver_{name}")[:count], 1e-7, f"{what} {name}")


@pytest.mark.parametrize("cone", list(Cone))
def test_any_budget_gives_mujocos_accelerations(cone):
    mj = model_of(count=2, joined=True, cone=cone)
    for state, limit, evaluations in product(states(mj, 3), (1, 2, 3), (1, 2, 3, 5, 50)):
        mj.opt.iterations, mj.opt.ls_iterations = limit, evaluations
        pair = both(mj, state)
        assert in_slots(pair.ours)
        same(pair.ours.qacc, pair.theirs.qacc, 1e-9, f"{cone.name} {limit} iterations, {evaluations} evaluations")


def test_a_crowded_world_is_left_to_the_hessian():
    """A box on four corners has four times as many slots as dofs."""
    mj = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><geom type="plane" size="1 1 1"/>{BOX}</worldbody></mujoco>"""
    )
    pair = both(mj, {"qvel": np.full(6, 0.1), "qpos": np.array([0.0, 0.0, 0.099, 1.0, 0.0, 0.0, 0.0])})
    assert pair.ours.nefc == 40 and not in_slots(pair.ours)
    same(pair.ours.qacc, pair.theirs.qacc, SAME, "qacc")


def test_room_grows_and_what_was_there_before_changes_nothing():
    """A Data that has solved other states gives what a fresh one gives, to the last digit."""
    mj = model_of(count=2)
    model = kt.load(mj)
    used, visited = kt.Data(model), states(mj, 6)
    for state in visited:
        fresh = kt.Data(model)
        for data in (used, fresh):
            put(data, state)
            kt.forward(model, data)
        for name in RESULTS:
            assert (getattr(used, name) == getattr(fresh, name)).all()


def world_of(lanes: LaneData, lane: int) -> list[np.ndarray]:
    """What must not depend on neighbours: acceleration, forces of its own rows, iterations."""
    a = lanes.arrays
    rows = a["nefc"][0]
    own = a["efc_D"][:rows, lane] != 0.0
    return [a["qacc"][:, lane].copy(), a["efc_force"][:rows, lane][own], a["solver_niter"][:, lane].copy()]


def solve_block(lanes: LaneData, visited: list, chosen: np.ndarray) -> list[list[np.ndarray]]:
    """Some of the states on the lanes of a block."""
    for lane, k in enumerate(chosen):
        for name, value in visited[k].items():
            lanes.arrays[name][:, lane] = value
    lanes.run(forward)
    return [world_of(lanes, lane) for lane in range(len(chosen))]


def lane_states(name: str) -> tuple[mujoco.MjModel, list]:
    """A model and states of it in which different worlds touch with different parts."""
    if name in CASES:
        mj = model_of(**CASES[name])
        return mj, states(mj, 6) + states(mj, 6, seed=1)
    if (
        name == "with a box"
    ):  # where it lies on the floor, with four times as many slots as dofs, the world is left to others
        mj = model_of(more=BOX)
        out = states(mj, 12)
        for k, state in enumerate(out):
            state["qpos"][-7:] = 0, 9, 0.099 if k % 3 == 0 else 3, 1, 0, 0, 0
        return mj, out
    mj = mujoco.MjModel.from_xml_path(str(corpus(name)))
    mj.opt.cone = Cone.PYRAMIDAL
    out = []
    for seed in range(3):
        out += states(mj, 10, seed)[-4:]
    return mj, out


BOX = '<body pos="0 9 3"><freejoint/><geom type="box" size=".1 .1 .1" condim="6"/></body>'
LANES = [(8, "float64"), (16, "float32")]


@pytest.mark.parametrize("width, real", LANES)
@pytest.mark.parametrize("name", ["two apart", "no islands", "discrete", "with a box", "dm_control/suite/humanoid.xml"])
def test_neighbours_change_no_digit(name, width, real):
    """A world among copies of itself, among others in any order, and on any lane."""
    mj, visited = lane_states(name)
    lanes, rng, alone = LaneData(kt.load(mj), width, real), np.random.default_rng(2), {}
    sizes = set()
    for _ in range(6):
        chosen = rng.permutation(np.resize(rng.permutation(len(visited)), width))
        for k, got in zip(chosen, solve_block(lanes, visited, chosen), strict=True):
            if k not in alone:
                alone[k] = solve_block(lanes, visited, np.full(width, k))[0]
            for field, a, b in zip(("qacc", "efc_force", "solver_niter"), alone[k], got, strict=True):
                assert np.array_equal(a, b), f"{name} world {k} {field}: {a} against {b}"
            sizes.add(len(got[1]))
    assert len(sizes) > 2


@pytest.mark.parametrize("width, real", LANES)
@pytest.mark.parametrize("cone", list(Cone))
def test_lanes_equal_floats(cone, width, real):
    mj = model_of(count=2, cone=cone)
    model, visited = kt.load(mj), states(mj, 8)
    lanes, single, within = LaneData(model, width, real), kt.Data(model), SAME if real == "float64" else SINGLE
    for k, got in enumerate(solve_block(lanes, visited, np.resize(np.arange(8), width))[:8]):
        put(single, visited[k])
        kt.forward(model, single)
        same(got[0], single.qacc, within, f"{cone.name} world {k} qacc")
        same(got[1], single.efc_force, within * (1.0 if real == "float64" else 5.0), f"{cone.name} world {k} efc_force")
        if real == "float64":
            assert (got[2] == single.solver_niter).all()
