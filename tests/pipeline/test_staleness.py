"""Stale fields: `data.require`, `data.is_stale`, and what fields describe after a step."""

from __future__ import annotations

import gc

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.data_fields import DATA_FIELDS
from tests.pipeline.both import (
    ALL_LAZY,
    FLAGS,
    HARMLESS,
    INTEGRATORS,
    PASSES,
    SUBTREE,
    TREE,
    close,
    load,
    run,
    sensing,
    tree,
)


@pytest.mark.criteria("P-LAZY-REQUIRE")
@pytest.mark.parametrize("name", ALL_LAZY)
def test_require_runs_a_stale_pass_once_and_returns_the_array(name):
    pair = tree("")
    model, data = pair.model, pair.ours
    kt.forward(model, data)
    mujoco.mj_forward(pair.mj, pair.theirs)
    for theirs in (mujoco.mj_energyPos, mujoco.mj_energyVel, mujoco.mj_subtreeVel, mujoco.mj_rnePostConstraint):
        theirs(pair.mj, pair.theirs)
    assert data.is_stale(name)
    array = data.require(name)
    assert array is getattr(data, name) and not data.is_stale(name)
    pair.same((name,), 1e-10)
    assert [f for f in FLAGS if getattr(data, f)] == [f for f in FLAGS if name in PASSES[f]]
    runs = data.stage_runs.copy()
    array[...] = 7.0
    assert np.all(data.require(name) == 7.0)
    np.testing.assert_array_equal(data.stage_runs, runs)


@pytest.mark.criteria("P-LAZY-REQUIRE")
@pytest.mark.parametrize("name", ["qpos", "qvel", "ctrl", "xfrc_applied", "mocap_pos", "userdata", "time"])
def test_states_and_inputs_are_never_stale(name):
    model, data = load(sensing(TREE, "", nbody=5))
    assert not data.is_stale(name)
    kt.step(model, data)
    assert not data.is_stale(name)
    np.testing.assert_array_equal(data.require(name), getattr(data, name))


@pytest.mark.criteria("P-LAZY-STALE")
def test_fields_of_stages_are_stale_until_the_stage_has_run():
    model, data = load(sensing(TREE, HARMLESS, nbody=5))
    position, velocity, rest = (
        ("xpos", "site_xmat", "subtree_com", "cdof", "M", "qLD"),
        ("cvel", "qfrc_bias"),
        ("qacc", "qacc_smooth"),
    )
    for name in position + velocity + rest + ("sensordata",):
        assert data.is_stale(name), name
        with pytest.raises(ValueError, match="forward"):
            data.require(name)
    kt.fwd_position(model, data)
    assert not [n for n in position if data.is_stale(n)] and all(data.is_stale(n) for n in velocity + rest)
    kt.fwd_velocity(model, data)
    assert not [n for n in position + velocity if data.is_stale(n)] and all(data.is_stale(n) for n in rest)
    kt.forward(model, data)
    assert not [n for n in position + velocity + rest + ("sensordata",) if data.is_stale(n)]
    np.testing.assert_array_equal(data.require("xpos"), data.xpos)
    data.reset()
    assert all(data.is_stale(n) for n in position + velocity + rest + tuple(ALL_LAZY))


@pytest.mark.criteria("P-LAZY-STALE")
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
@pytest.mark.parametrize("how", ["forward", "step", "halves", "callback"])
def test_nothing_that_forward_computes_is_stale_afterwards(how, integrator):
    """Only passes nobody asked for, results of `inverse` and `aba`, and matrices of integrators that did not run."""
    pair = tree(HARMLESS, integrator=int(integrator))
    model, data = pair.model, pair.ours
    if how == "callback":
        model.callbacks.passive = lambda m, d: None
    if how == "halves":
        kt.step1(model, data)
        kt.step2(model, data)
    else:
        (kt.forward if how == "forward" else kt.step)(model, data)
    stale = {name for name, field in DATA_FIELDS.items() if field.shown and data.is_stale(name)}
    assert set(ALL_LAZY) <= stale <= {*ALL_LAZY, "qfrc_inverse", "qDeriv", "solver_fwdinv", "aba_qacc"}


@pytest.mark.criteria("P-LAZY-STALE")
@pytest.mark.parametrize("name", ALL_LAZY)
def test_require_says_what_to_run_when_nothing_has(name):
    """A pass on poses that were never computed would return zeros, or worse."""
    _, data = load(sensing(TREE, "", nbody=5))
    with pytest.raises(ValueError, match="forward"):
        data.require(name)
    data.reset()
    assert data.is_stale(name)


@pytest.mark.criteria("P-LAZY-STALE")
@pytest.mark.parametrize("function", ["require", "is_stale"])
@pytest.mark.parametrize("name", ["subtree_angmo", "", "copy", 3, None])
def test_unknown_names_are_refused(function, name):
    _, data = load(sensing(TREE, "", nbody=5))
    with pytest.raises((ValueError, AttributeError, TypeError)) as caught:
        getattr(data, function)(name)
    if name == "subtree_angmo":
        assert "subtree_angmom" in str(caught.value)


@pytest.mark.criteria("P-LAZY-RELATIVE")
def test_staleness_is_relative_to_the_last_stage_that_ran():
    """Writes into qpos are not noticed; a later run of an earlier stage is."""
    model, data = load(sensing(TREE, SUBTREE, nbody=5))
    kt.forward(model, data)
    data.qpos[0] += 0.3
    assert not data.is_stale("xpos") and not data.is_stale("subtree_linvel")
    kt.fwd_velocity(model, data)
    assert data.is_stale("subtree_linvel") and not data.is_stale("xpos")


@pytest.mark.criteria("P-LAZY-STEP")
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_after_a_step_fields_describe_the_last_forward_pass(integrator):
    """That is the state before the step, for RK4 the last of its substeps; passes on demand work on the same."""
    pair = tree("", integrator=int(integrator))
    pair.state_from(lambda d: d.qvel.__imul__(0.2))
    before = pair.ours.copy()
    kt.forward(pair.model, before)
    run(pair, kt.step, mujoco.mj_step)
    assert not np.array_equal(pair.ours.qpos, before.qpos) and not pair.ours.is_stale("xpos")
    if integrator != kt.Integrator.RK4:
        np.testing.assert_array_equal(pair.ours.xpos, before.xpos)
    pair.same(("xpos", "cvel", "qacc"), 1e-9, "after a step")
    assert all(pair.ours.is_stale(name) for name in ALL_LAZY)
    for name in ALL_LAZY:
        if integrator == kt.Integrator.RK4 and not name.startswith("subtree"):
            with pytest.raises(ValueError, match="RK4.*call kt.forward"):
                pair.ours.require(name)
        elif integrator == kt.Integrator.RK4:
            pair.ours.require(name)
        else:
            wanted, got = before.require(name), pair.ours.require(name)
            np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12, err_msg=name)
    if integrator == kt.Integrator.RK4:
        kt.energy_pos(pair.model, pair.ours)
    for theirs in (mujoco.mj_subtreeVel, mujoco.mj_energyPos):
        theirs(pair.mj, pair.theirs)
    pair.same(("subtree_linvel", "subtree_angmom"), 1e-9, "on demand after a step")
    close(pair.ours.energy[0], pair.theirs.energy[0], 1e-9, "potential energy")


def test_a_pass_runs_with_the_model_that_the_stages_ran_with():
    """A Data may be used with several models of the same sizes."""
    model = kt.load("arm")
    model.opt.disableflags = kt.DisableBit.CONSTRAINT
    heavy = model.replace(body_mass=3 * model.body_mass, body_inertia=3 * model.body_inertia)
    mine, other = kt.Data(model), kt.Data(heavy)
    for data in (mine, other):
        data.qvel[:] = 0.5
        kt.forward(heavy, data)
    for name in ALL_LAZY:
        np.testing.assert_array_equal(mine.require(name), other.require(name), err_msg=name)
    del heavy, other, data
    gc.collect()
    mine._arrays["flg_rnepost"][0] = False
    with pytest.raises(ValueError, match="no longer exists"):
        mine.require("cfrc_int")


def test_lazy_fields_are_stale_once_an_earlier_stage_has_run_again():
    model, data = load(sensing(TREE, HARMLESS, nbody=5))
    kt.forward(model, data)
    for name in ALL_LAZY:
        data.require(name)
    kt.camlight(model, data)  # nothing depends on it
    assert not [name for name in (*ALL_LAZY, "qacc", "sensordata") if data.is_stale(name)]
    kt.fwd_position(model, data)
    assert all(data.is_stale(name) for name in (*ALL_LAZY, "qacc", "cvel", "sensordata"))
    with pytest.raises(ValueError, match="forward"):
        data.require("cfrc_int")
    kt.fwd_velocity(model, data)
    data.require("subtree_linvel")
    assert data.is_stale("cacc") and data.is_stale("sensordata")
