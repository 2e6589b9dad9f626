"""One Data, used in turn with models of the same sizes and another topology: as if it were a fresh one in that state."""

from __future__ import annotations

import gc
import pickle

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import LaneData
from kinetree.conformance.tolerances import ACCELERATION
from kinetree.data_fields import DATA_FIELDS
from kinetree.fields import REAL
from tests.pipeline.both import close, quietly
from tests.pipeline.twins import TWINS

# What a pass computes, as far as it does not depend on what the Data held before.
RESULTS = [
    name
    for name, field in DATA_FIELDS.items()
    if field.stage in ("kinematics", "com_pos", "tendon", "make_m", "transmission", "com_vel", "collision", "make_constraint",
                       "reference_constraint", "passive", "rne", "fwd_actuation", "fwd_acceleration", "fwd_constraint",
                       "sensor", "user", "update_sleep")
    and field.shown
    and name not in ("contact_H", "contact_mu", "efc_Y", "efc_Y_rownnz", "efc_Y_rowadr", "efc_Y_colind", "nY", "efc_J",
                     "solver_nnz", "solver_improvement", "solver_gradient", "solver_lineslope", "wrap_xpos", "wrap_obj")
]  # fmt: skip
BOOKS = ("stage_clock", "stage_runs", "capacity", "warning_pass", "tree_pass", "flg_energy_pass")  # how often, how much
SOLVERS = (kt.Solver.NEWTON, kt.Solver.CG, kt.Solver.PGS)


def twins(name: str) -> list[kt.Model]:
    models = [kt.load(mujoco.MjModel.from_xml_string(text)) for text in TWINS[name]]
    assert models[0].sizes is models[1].sizes
    assert any(not np.array_equal(a, b) for a, b in zip(*(m._arrays.values() for m in models), strict=True))
    return models


def fresh(model: kt.Model, data: kt.Data) -> kt.Data:
    """A Data of the model with the state of another."""
    out = kt.Data(model)
    out.set_state(data.get_state())
    return out


def in_motion(model: kt.Model, seed: int) -> kt.Data:
    data, rng = kt.Data(model), np.random.default_rng(seed)
    if model.jnt_type.size and model.jnt_type[0] != kt.JointType.FREE:
        data.qpos[:] = rng.uniform(-0.5, 0.5, model.nq)
    data.qvel[:] = 0.1 * rng.normal(size=model.nv)
    return data


def same(a: kt.Data, b: kt.Data, where: str) -> None:
    for name in RESULTS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=f"{where}: {name}")


@pytest.mark.parametrize("name", TWINS)
def test_a_pass_is_that_of_a_fresh_data_and_mujocos(name):
    models = twins(name)
    data, mjs = in_motion(models[0], 1), [model.to_mujoco() for model in models]
    for k in range(6):
        model, mj = models[k % 2], mjs[k % 2]
        other = fresh(model, data)
        kt.forward(model, data)
        kt.forward(model, other)
        same(data, other, f"{name}, pass {k}")
        theirs = mujoco.MjData(mj)
        theirs.qpos[:], theirs.qvel[:], theirs.qacc_warmstart[:] = data.qpos, data.qvel, data.qacc_warmstart
        if mj.nhistory == 0 and name != "convex":  # where shapes lie flush, digits decide which points touch
            mujoco.mj_forward(mj, theirs)
            close(data.qacc, theirs.qacc, ACCELERATION, f"{name}, pass {k}: qacc")
            assert (data.ncon, data.nefc) == (theirs.ncon, theirs.nefc)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
@pytest.mark.parametrize("name", TWINS)
def test_steps_and_inverse_dynamics_are_those_of_a_fresh_data(name, solver):
    models = twins(name)
    for model in models:
        model.opt.solver = solver
    data = in_motion(models[0], 2)
    with quietly():
        for k in range(4):
            model = models[k % 2]
            other = fresh(model, data)
            for side in (data, other):
                kt.step(model, side, nstep=2 + k)
                side.qacc[:] = 0.3
                kt.inverse(model, side)
            same(data, other, f"{name}, {solver.name}, round {k}")


def test_trees_that_slept_with_one_model_are_awake_with_another():
    models = twins("sleep")
    data = kt.Data(models[0])
    kt.step(models[0], data, nstep=400)
    assert data.ntree_awake < models[0].ntree, "nothing fell asleep: the test is not one"
    other = fresh(models[1], data)
    kt.step(models[1], data)
    kt.step(models[1], other)
    assert data.ntree_awake == models[1].ntree
    same(data, other, "after the change")


@pytest.mark.parametrize("callbacks", [False, True])
def test_a_bad_state_is_reset_to_that_of_the_model_in_use(callbacks):
    mjs = [
        mujoco.MjModel.from_xml_string(TWINS["parents"][0].replace("<joint", f'<joint ref="{ref}"'))
        for ref in (0.1, 0.7)
    ]
    first, second = (kt.load(mj) for mj in mjs)
    data, theirs = kt.Data(first), mujoco.MjData(mjs[1])
    kt.forward(first, data)
    data.qvel[0] = theirs.qvel[0] = np.nan
    if callbacks:
        second.callbacks.passive = lambda m, d: None
    with pytest.warns(kt.SimulationWarning, match="reset"):
        kt.step(second, data)
    mujoco.mj_step(mjs[1], theirs)
    close(data.qpos, theirs.qpos, ACCELERATION, "qpos")


def test_functions_do_not_read_what_another_model_computed():
    """Positions are computed anew, and where forces are missing they say so, as after a reset."""
    first, second = twins("parents")
    data = in_motion(first, 3)
    kt.forward(first, data)
    other = fresh(second, data)
    np.testing.assert_array_equal(kt.full_m(second, data), kt.full_m(second, other))
    for call in (lambda m, d: kt.contact_forces(m, d), lambda m, d: kt.rne_post_constraint(m, d),
                 lambda m, d: kt.ray(m, d, [0, 0, 1], [0, 0, -1]), lambda m, d: kt.step2(m, d)):  # fmt: skip
        kt.forward(first, data)
        with pytest.raises(ValueError, match="call kt"):
            call(second, data)
    kt.forward(first, data)
    assert not data.is_stale("cvel")
    kt.kinematics(second, data)
    assert data.is_stale("cvel")


def test_what_is_computed_on_demand_is_that_of_the_model_of_the_last_pass():
    first, second = twins("parents")
    data = in_motion(first, 4)
    kt.forward(first, data)
    kt.forward(second, data)
    other = fresh(second, data)
    kt.forward(second, other)
    for name in ("energy", "subtree_angmom", "cfrc_int"):
        np.testing.assert_array_equal(data.require(name), other.require(name), err_msg=name)


@pytest.mark.parametrize("name", ["parents", "islands", "wrapping"])
def test_copies_and_pickles_remember_whose_they_are(name):
    first, second = twins(name)
    data = in_motion(first, 5)
    kt.forward(first, data)
    kt.forward(second, data)
    for twin in (data.copy(), pickle.loads(pickle.dumps(data))):
        for model in (first, second, twin.model):
            other = fresh(model, twin)
            kt.forward(model, twin)
            kt.forward(model, other)
            same(twin, other, "a copy")


@pytest.mark.parametrize("name", ["parents", "islands"])
def test_lanes_do_not_take_over_what_another_model_left(name):
    first, second = twins(name)
    worlds = [in_motion(first, k) for k in range(8)]
    for world in worlds:
        kt.forward(first, world)
        kt.forward(second, world)
    lanes, clean = LaneData(first), LaneData(first)
    for lane, world in enumerate(worlds):
        lanes.load(lane, world)
        clean.load(lane, fresh(first, world))
    for field in DATA_FIELDS.values():  # numbers may stay, but nothing that leads from place to place
        if field.dtype != REAL and not field.growing and field.name not in BOOKS:
            np.testing.assert_array_equal(getattr(lanes, field.name), getattr(clean, field.name), err_msg=field.name)
    lanes.store(0, worlds[0])
    other = fresh(second, worlds[0])
    kt.forward(second, worlds[0])
    kt.forward(second, other)
    same(worlds[0], other, "after lanes")


@pytest.mark.parametrize("name", ["parents", "shapes"])
def test_stable_pd_steps_a_data_that_another_model_used(name):
    models = twins(name)
    data = in_motion(models[0], 6)
    with quietly():
        for k in range(4):
            model = models[k % 2]
            pd, other = kt.StablePD(model, 10.0, 1.0), fresh(model, data)
            np.testing.assert_array_equal(pd.step(data, nstep=2), pd.step(other, nstep=2))
            same(data, other, f"{name}, round {k}")


def test_a_data_used_with_a_model_that_is_gone():
    """Its address may be that of the next one."""
    text = TWINS["parents"]
    keeper = kt.load(mujoco.MjModel.from_xml_string(text[0]))
    data = in_motion(keeper, 7)
    for k in range(6):
        model = kt.load(mujoco.MjModel.from_xml_string(text[k % 2]))
        other = fresh(model, data)
        kt.forward(model, data)
        kt.forward(model, other)
        same(data, other, f"model {k}")
        del model, other
        gc.collect()
    with pytest.raises(ValueError, match="no longer exists"):
        data.require("cfrc_int")
