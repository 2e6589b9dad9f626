"""Lazy passes: when each of the four flags rises and falls, and how often a pass runs."""

from __future__ import annotations

import copy
import pickle

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.states import copy_state
from tests import naive
from tests.pipeline.both import (
    ENERGIES,
    ENERGY,
    FLAGS,
    FORCES,
    FRAME_ACC,
    HARMLESS,
    INTEGRATORS,
    PASS_OF,
    PASSES,
    SENSOR,
    SUBTREE,
    TREE,
    close,
    counted,
    load,
    raise_all,
    reading,
    run,
    sensing,
    tree,
)

# the life cycle, flag by flag


@pytest.mark.criteria("001-AC9", "P-LAZY-ENERGYPOS", "P-LAZY-ENERGYVEL", "P-LAZY-SUBTREE", "P-LAZY-RNEPOST")
@pytest.mark.parametrize("disable", [0, SENSOR], ids=["sensors", "no sensors"])
def test_stages_clear_the_flags_of_what_they_make_old(disable):
    """Every flag is set by hand before each call: those that the call clears, and no others, are down afterwards."""
    cleared = {
        "fwd_position": {"flg_energypos"},
        "fwd_velocity": {"flg_energyvel", "flg_subtreevel"},
        "fwd_actuation": set(),
        "fwd_acceleration": set(),
        "fwd_constraint": set(),
        "sensor_pos": set(),
        "sensor_vel": set(),
        "sensor_acc": set(),
        "step1": {"flg_energypos", "flg_energyvel", "flg_subtreevel"},
        "step2": {"flg_rnepost"},
        "forward": set(FLAGS),
        "inverse": set(FLAGS),
        "step": set(FLAGS),
    }
    pair = tree(HARMLESS, disable=disable)
    run(pair, kt.forward, mujoco.mj_forward)
    for name, wanted in cleared.items():
        raise_all(pair)
        theirs = getattr(mujoco, "mj_" + "".join(part.title() if i else part for i, part in enumerate(name.split("_"))))
        run(pair, getattr(kt, name), theirs)
        pair.same_flags(name)
        assert {flag for flag, up in pair.flags()[0].items() if not up} == wanted, name


@pytest.mark.criteria("P-LAZY-RNEPOST")
@pytest.mark.parametrize("disable", [0, SENSOR], ids=["sensors", "no sensors"])
@pytest.mark.parametrize("skip_sensors", [False, True])
@pytest.mark.parametrize("skip", [kt.Stage.NONE, kt.Stage.POS, kt.Stage.VEL], ids=lambda s: s.name)
@pytest.mark.parametrize("function", ["forward_skip", "inverse_skip"])
def test_a_caller_who_skips_sensors_leaves_the_flag_of_accelerations(function, skip, skip_sensors, disable):
    pair = tree(HARMLESS, disable=disable)
    run(pair, kt.forward, mujoco.mj_forward)
    raise_all(pair)
    theirs = {"forward_skip": mujoco.mj_forwardSkip, "inverse_skip": mujoco.mj_inverseSkip}[function]
    run(pair, getattr(kt, function), theirs, skip, skip_sensors)
    pair.same_flags(f"{function}({skip.name}, {skip_sensors})")
    assert pair.flags()[0]["flg_rnepost"] == skip_sensors
    assert pair.flags()[0]["flg_subtreevel"] == (skip == kt.Stage.VEL)
    assert pair.flags()[0]["flg_energypos"] == (skip != kt.Stage.NONE)


@pytest.mark.criteria("000-AC10", "P-LAZY-RK4")
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_flags_after_a_step(integrator):
    """RK4 clears the flag of momenta in its substeps and leaves that of accelerations; the others leave both standing."""
    pair = tree(SUBTREE + FORCES, integrator=int(integrator))
    for _ in range(3):
        run(pair, kt.step, mujoco.mj_step)
        pair.same_flags(integrator.name)
        flags, _ = pair.flags()
        assert flags["flg_rnepost"] and flags["flg_subtreevel"] == (integrator != kt.Integrator.RK4)
        copy_state(pair.theirs, pair.ours)


@pytest.mark.criteria("000-AC10", "001-AC9")
def test_callbacks_see_the_flag_fall_and_rise_within_a_step():
    """Up from the last step until the velocity stage, down at its start, up again once a sensor has asked."""
    text = sensing(TREE, f'<user dim="1" needstage="pos"/>{SUBTREE}<user dim="1" needstage="acc"/>', nbody=5)
    model, data = load(text)
    seen = []
    model.callbacks.passive = lambda m, d: seen.append(("passive", d.flg_subtreevel))
    model.callbacks.control = lambda m, d: seen.append(("control", d.flg_subtreevel))
    model.callbacks.sensor = lambda m, d, s: seen.append((s.name, d.flg_subtreevel))
    kt.step(model, data)
    seen.clear()
    kt.step(model, data)
    assert seen == [("POS", True), ("passive", False), ("control", True), ("ACC", True)]


# the model with no sensor that asks


@pytest.mark.criteria("000-AC8", "000-T7", "001-AC5", "001-AC6", "001-T6", "P-LAZY-NONE")
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
@pytest.mark.parametrize("sensors", ["", HARMLESS], ids=["no sensor", "other sensors"])
def test_nobody_asks_and_nothing_runs(sensors, integrator):
    pair = tree(sensors, integrator=int(integrator))
    model, data = pair.model, pair.ours
    data.qvel *= 0.1
    for _ in range(100):
        kt.step(model, data)
        assert not data.flg_subtreevel and not data.flg_rnepost
    for flag, names in PASSES.items():
        assert data.stage_runs[PASS_OF[flag].stage_index] == 0, flag
        for name in names:
            assert not np.any(getattr(data, name)), name


@pytest.mark.criteria("P-LAZY-NONE")
def test_fields_that_nobody_refreshes_keep_what_they_had():
    pair = tree(HARMLESS)
    run(pair, kt.forward, mujoco.mj_forward)
    raise_all(pair)
    old = {name: getattr(pair.ours, name).copy() for names in PASSES.values() for name in names if name != "energy"}
    pair.ours.qvel[:] *= 2.0
    kt.step(pair.model, pair.ours, nstep=3)
    for name, wanted in old.items():
        np.testing.assert_array_equal(getattr(pair.ours, name), wanted, err_msg=name)


# at most once


@pytest.mark.criteria("000-AC9", "000-T8", "001-AC7", "001-AC8", "001-T7", "P-LAZY-ONCE")
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
@pytest.mark.parametrize(
    ("stage", "sensors"),
    [
        (
            kt.subtree_vel,
            "".join(f'<subtreelinvel body="b{b}"/>' for b in range(1, 6)) + '<user dim="1" needstage="vel"/>',
        ),
        (kt.subtree_vel, '<subtreeangmom body="b1"/><subtreelinvel body="b1"/><subtreeangmom body="b4"/>'),
        (kt.rne_post_constraint, "".join(f'<accelerometer site="s{b}"/>' for b in range(1, 4))),
        (kt.rne_post_constraint, f'{FORCES}<torque site="s1"/>{FRAME_ACC}<user dim="1" needstage="acc"/>'),
        (kt.energy_pos, "<e_potential/><e_potential/>"),
        (kt.energy_vel, "<e_kinetic/><e_kinetic/>"),
    ],
    ids=["linear momenta", "both momenta", "accelerometers", "forces", "potential", "kinetic"],
)
def test_a_pass_runs_once_for_all_sensors_that_ask(stage, sensors, integrator):
    """Counted in the table of compiled stages, and by the Data itself; also many steps in one call, and with callbacks."""
    pair = tree(sensors, integrator=int(integrator))
    model, data = pair.model, pair.ours
    data.qvel *= 0.1
    kt.forward(model, data)
    kt.step(model, data)
    before = int(data.stage_runs[stage.stage_index])
    with counted(stage) as count:
        kt.forward(model, data)
        assert count == [1]
        kt.step(model, data)
        assert count == [2]
        kt.step(model, data, nstep=10)
        assert count == [12]
    model.callbacks.passive = lambda m, d: None
    kt.step(model, data)
    assert data.stage_runs[stage.stage_index] - before == 13


@pytest.mark.criteria("000-T8")
def test_all_sensors_of_a_pass_have_their_values():
    model, data = load(sensing(TREE, "".join(f'<subtreelinvel name="{b}" body="b{b}"/>' for b in (1, 3, 5)), nbody=5))
    data.qvel = np.random.default_rng(0).normal(size=model.nv)
    kt.step(model, data.copy())
    kt.forward(model, data)
    assert data.flg_subtreevel
    for b in (1, 3, 5):
        wanted = naive.subtree_linvel(model, data, model.id("body", f"b{b}"))
        close(reading(model, data, str(b)), wanted, 1e-12, f"sensor of b{b}")


@pytest.mark.criteria("P-LAZY-ONCE")
def test_the_energy_flag_asks_after_the_sensors_and_not_again():
    pair = tree(ENERGIES, enable=ENERGY)
    model, data = pair.model, pair.ours
    kt.step(model, data)
    for stage in (kt.energy_pos, kt.energy_vel):
        with counted(stage) as count:
            kt.step(model, data, nstep=4)
        assert count == [4], stage.__name__


@pytest.mark.criteria("P-LAZY-HAND")
@pytest.mark.parametrize(
    ("flag", "sensors", "sense"),
    [
        ("flg_energypos", "<e_potential/>", kt.sensor_pos),
        ("flg_energyvel", "<e_kinetic/>", kt.sensor_pos),
        ("flg_subtreevel", SUBTREE, kt.sensor_vel),
        ("flg_rnepost", FORCES, kt.sensor_acc),
    ],
)
def test_a_pass_made_by_hand_is_reused_by_the_sensors_that_follow(flag, sensors, sense):
    pair = tree(sensors)
    model, data = pair.model, pair.ours
    kt.forward_skip(model, data, kt.Stage.NONE, True)
    assert not getattr(data, flag)
    PASS_OF[flag](model, data)
    assert getattr(data, flag)
    runs = int(data.stage_runs[PASS_OF[flag].stage_index])
    sense(model, data)
    first = data.sensordata.copy()
    assert np.any(first)
    for name in PASSES[flag]:
        getattr(data, name)[...] = 7.0
    sense(model, data)
    assert data.stage_runs[PASS_OF[flag].stage_index] == runs
    assert not np.array_equal(data.sensordata, first), "the sensors must read what stands in the fields"


# inverse


@pytest.mark.criteria("001-AC11", "001-T8", "P-LAZY-INVERSE")
def test_inverse_asks_for_nothing_by_itself():
    pair = tree(HARMLESS)
    run(pair, kt.forward, mujoco.mj_forward)
    run(pair, kt.inverse, mujoco.mj_inverse)
    pair.same_flags("inverse")
    assert not pair.ours.flg_rnepost and not np.any(pair.ours.cacc) and not np.any(pair.theirs.cacc)


@pytest.mark.criteria("001-AC11", "P-LAZY-INVERSE")
@pytest.mark.parametrize("enable", [0, int(kt.EnableBit.INVDISCRETE)], ids=["continuous", "discrete"])
def test_inverse_runs_the_pass_for_a_sensor_that_asks(enable):
    """With the acceleration of continuous time, where the given one is that of a step."""
    pair = tree(FORCES, enable=enable, integrator=int(kt.Integrator.IMPLICITFAST))
    pair.model.dof_damping[:] = pair.mj.dof_damping[:] = 0.3
    run(pair, kt.forward, mujoco.mj_forward)
    qacc = np.random.default_rng(3).normal(size=pair.model.nv)
    pair.state_from(lambda d: d.qacc.__setitem__(slice(None), qacc))
    run(pair, kt.inverse, mujoco.mj_inverse)
    pair.same_flags("inverse")
    assert pair.ours.flg_rnepost
    pair.same(("sensordata", "qfrc_inverse", "qacc", "cacc", "cfrc_int"), 1e-10, "inverse")


@pytest.mark.criteria("001-AC11")
def test_sensors_after_inverse_do_not_repeat_the_pass():
    pair = tree(FORCES)
    model, data = pair.model, pair.ours
    kt.forward(model, data)
    kt.inverse(model, data)
    kt.sensor_acc(model, data)
    runs = data.stage_runs[kt.rne_post_constraint.stage_index]
    assert runs == 2 and data.flg_rnepost


# sensors disabled


@pytest.mark.criteria("000-T14", "001-AC12", "001-T11", "P-STAGE-SENSOR")
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_with_sensors_disabled_no_pass_runs_and_nothing_is_written(integrator):
    pair = tree(SUBTREE + FORCES + HARMLESS, disable=SENSOR, integrator=int(integrator))
    run(pair, kt.forward, mujoco.mj_forward)
    pair.same_flags("forward")
    assert not any(pair.flags()[0].values())
    fields = ("sensordata", "subtree_linvel", "subtree_angmom", "cacc", "cfrc_int", "cfrc_ext")
    for name in fields:
        assert not np.any(getattr(pair.ours, name)), name
        getattr(pair.ours, name)[...] = 7.0
    run(pair, kt.step, mujoco.mj_step)
    run(pair, kt.inverse, mujoco.mj_inverse)
    for sense in (kt.sensor_pos, kt.sensor_vel, kt.sensor_acc):
        sense(pair.model, pair.ours)
    pair.same_flags("step, inverse, sensors")
    for name in fields:
        assert np.all(getattr(pair.ours, name) == 7.0), name


# reset and copies


@pytest.mark.criteria("000-AC11", "000-T10", "001-AC10", "001-T9", "P-LAZY-RESET")
@pytest.mark.parametrize("how", ["reset", "keyframe"])
def test_reset_zeroes_the_fields_and_clears_all_flags(how):
    text = sensing(
        TREE, SUBTREE + FORCES + ENERGIES, nbody=5, extra='<keyframe><key name="start" time="1"/></keyframe>'
    )
    model, data = load(text)
    data.qvel[:] = 1.0
    kt.step(model, data)
    kt.energy_vel(model, data)
    assert all(getattr(data, flag) for flag in FLAGS)
    if how == "reset":
        data.reset()
    else:
        data.reset_keyframe("start")
    for flag in FLAGS:
        assert getattr(data, flag) is False, flag
        for name in PASSES[flag]:
            assert not np.any(getattr(data, name)), name
    assert not np.any(data.sensordata) and not np.any(data.stage_runs)


@pytest.mark.criteria("P-LAZY-COPY")
@pytest.mark.parametrize("clone", [kt.Data.copy, copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))],
                         ids=["copy()", "copy", "deepcopy", "pickle"])  # fmt: skip
@pytest.mark.parametrize("sensors", [SUBTREE, FORCES, ENERGIES, ""])
def test_copies_carry_fields_and_flags(sensors, clone):
    pair = tree(sensors)
    kt.forward(pair.model, pair.ours)
    other = clone(pair.ours)
    for flag in FLAGS:
        assert getattr(other, flag) == getattr(pair.ours, flag), flag
        for name in PASSES[flag]:
            np.testing.assert_array_equal(getattr(other, name), getattr(pair.ours, name), err_msg=name)
            assert other.is_stale(name) == pair.ours.is_stale(name), name
    before = pair.ours.subtree_linvel.copy()
    other.require("subtree_linvel")[...] = 7.0
    np.testing.assert_array_equal(pair.ours.subtree_linvel, before)
