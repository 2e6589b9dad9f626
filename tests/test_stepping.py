"""Stepping: agreement with MuJoCo over whole trajectories, the parts of a step, bad states, callbacks."""

from __future__ import annotations

import copy
import functools
import pickle
import warnings

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.states import copy_state, random_state
from kinetree.conformance.tolerances import ACCELERATION, TRAJECTORY_SMOOTH
from kinetree.types import GainType, WarningType
from tests.corpora import own_models
from tests.trees import random_tree

SMOOTH = kt.DisableBit.CONSTRAINT | kt.DisableBit.SENSOR
INTEGRATORS = (kt.Integrator.EULER, kt.Integrator.RK4, kt.Integrator.IMPLICIT, kt.Integrator.IMPLICITFAST)


@functools.cache
def tree(seed, integrator=kt.Integrator.EULER):
    model = kt.load(random_tree(seed, nbody=9))
    model.opt.disableflags = SMOOTH
    model.opt.integrator = integrator
    return model


def paired(model, seed=0, scale=1.0):
    """The same random state in both."""
    mj = model.to_mujoco()
    theirs = random_state(mj, np.random.default_rng(seed))
    theirs.qvel[:] *= scale
    ours = kt.Data(model)
    copy_state(theirs, ours)
    return ours, mj, theirs


def same(model, field, ours, theirs, tolerance):
    ours, theirs = np.atleast_1d(ours), np.atleast_1d(theirs)
    if ours.size:
        error = np.abs(ours - theirs) / max(1.0, np.abs(theirs).max())
        at = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
        assert error[at] <= tolerance, f"{model.title}: {field}{list(at)} is {ours[at]}, MuJoCo's {theirs[at]}"


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
@pytest.mark.parametrize("seed", range(5))
def test_trajectory_equals_mujocos(seed, integrator):
    model = tree(seed, integrator)
    ours, mj, theirs = paired(model, seed, scale=0.2)
    kt.step(model, ours, nstep=100)
    mujoco.mj_step(mj, theirs, 100)
    for field in ("qpos", "qvel", "act", "time", "qacc", "qacc_warmstart"):
        same(model, field, getattr(ours, field), getattr(theirs, field), TRAJECTORY_SMOOTH)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
@pytest.mark.parametrize("name, path", own_models(), ids=[name for name, _ in own_models()])
def test_steps_of_our_models_equal_mujocos_with_every_integrator(name, path, integrator):
    """Three steps from a random state. Orientation servos at their torque limit are left out: there MuJoCo's slope of the
    implicit integrators hangs on the rounding of a norm."""
    model = kt.load(path)
    model.opt.disableflags, model.opt.integrator = SMOOTH, integrator
    servo = model.actuator_gaintype == GainType.SO3
    model.actuator_forcerange[servo] = -1e9, 1e9
    ours, mj, theirs = paired(model, 1, scale=0.1)
    if not model.nv:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kt.step(model, ours, nstep=3)
    mujoco.mj_step(mj, theirs, 3)
    for field in ("qpos", "qvel", "act", "plastic"):
        same(model, field, getattr(ours, field), getattr(theirs, field), TRAJECTORY_SMOOTH)


def test_many_steps_are_one_step_many_times():
    model = tree(1)
    together, apart = paired(model)[0], paired(model)[0]
    kt.step(model, together, nstep=25)
    for _ in range(25):
        kt.step(model, apart)
    np.testing.assert_array_equal(together.qpos, apart.qpos)
    before = together.qpos.copy()
    kt.step(model, together, nstep=0)
    np.testing.assert_array_equal(together.qpos, before)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_two_halves_are_a_step(integrator):
    """step1 and step2, with controls set in between; RK4 counts as Euler there, as in MuJoCo."""
    model = kt.load("humanoid")
    model.opt.disableflags = SMOOTH
    model.opt.integrator = integrator
    ours, mj, theirs = paired(model, 3, scale=0.1)
    for k in range(10):
        kt.step1(model, ours)
        mujoco.mj_step1(mj, theirs)
        ours.ctrl[:] = theirs.ctrl[:] = 0.1 * np.sin(k + np.arange(model.nu))
        kt.step2(model, ours)
        mujoco.mj_step2(mj, theirs)
    same(model, "qpos", ours.qpos, theirs.qpos, TRAJECTORY_SMOOTH)
    same(model, "qvel", ours.qvel, theirs.qvel, TRAJECTORY_SMOOTH)


@pytest.mark.parametrize("skip", [kt.Stage.NONE, kt.Stage.POS, kt.Stage.VEL])
def test_forward_skip_equals_mujocos(skip):
    model = tree(2)
    ours, mj, theirs = paired(model)
    kt.forward(model, ours)
    mujoco.mj_forward(mj, theirs)
    ours.qpos[:] = theirs.qpos[:] = kt.integrate_pos(model, ours.qpos, ours.qvel, 0.1)
    ours.qvel[:] = theirs.qvel[:] = 0.5 * ours.qvel
    kt.forward_skip(model, ours, skip)
    mujoco.mj_forwardSkip(mj, theirs, int(skip), 1)
    same(model, "qacc", ours.qacc, theirs.qacc, ACCELERATION)


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_inverse_equals_mujocos_and_undoes_forward(integrator, discrete):
    model = kt.load("humanoid")
    model.opt.disableflags = SMOOTH
    model.opt.integrator = integrator
    model.opt.enableflags = kt.EnableBit.INVDISCRETE if discrete else 0
    ours, mj, theirs = paired(model, 5)
    kt.forward(model, ours)
    if discrete and integrator == kt.Integrator.RK4:
        with pytest.raises(ValueError, match="invdiscrete.*RK4"):
            kt.inverse(model, ours)
        return
    mujoco.mj_forward(mj, theirs)
    theirs.qacc[:] = ours.qacc
    kt.inverse(model, ours)
    mujoco.mj_inverse(mj, theirs)
    same(model, "qfrc_inverse", ours.qfrc_inverse, theirs.qfrc_inverse, ACCELERATION)
    np.testing.assert_array_equal(ours.qacc, theirs.qacc)
    if not discrete:
        applied = ours.qfrc_applied + ours.qfrc_actuator
        for b in range(1, model.nbody):
            f = ours.xfrc_applied[b]
            applied += kt.apply_ft(model, ours, f[:3], f[3:], ours.xipos[b], b)
        np.testing.assert_allclose(ours.qfrc_inverse, applied, atol=1e-10 * max(1.0, np.abs(applied).max()))


def test_discrete_inverse_undoes_a_step():
    """With invdiscrete the acceleration is the change of velocity over a step."""
    for integrator in (kt.Integrator.EULER, kt.Integrator.IMPLICIT, kt.Integrator.IMPLICITFAST):
        model = kt.load("humanoid")
        model.opt.disableflags = SMOOTH
        model.opt.integrator = integrator
        model.opt.enableflags = kt.EnableBit.INVDISCRETE
        data, _, _ = paired(model, 8, scale=0.5)
        data.xfrc_applied = 0.0
        start = data.copy()
        kt.step(model, data)
        applied = start.qfrc_applied + data.qfrc_actuator
        start.qacc = (data.qvel - start.qvel) / model.opt.timestep
        kt.inverse(model, start)
        np.testing.assert_allclose(start.qfrc_inverse, applied, atol=1e-8 * max(1.0, np.abs(applied).max()))


# bad states


def broken(field, index, value, **options):
    model = kt.load("humanoid")
    model.opt.disableflags = SMOOTH | options.get("flags", 0)
    data = kt.Data(model)
    getattr(data, field)[index] = value
    return model, data


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e11])
@pytest.mark.parametrize("field, joint", [("qpos", "abdomen"), ("qvel", "knee")])
def test_a_bad_state_is_reset_with_a_warning(field, joint, value):
    index = 12
    model, data = broken(field, index, value)
    with pytest.warns(kt.SimulationWarning, match=rf"{field}\[{index}\] \(joint .*reset"):
        kt.step(model, data, nstep=3)
    fresh = kt.Data(model)
    kt.step(model, fresh, nstep=3)
    np.testing.assert_array_equal(data.qpos, fresh.qpos)
    assert data.time == fresh.time
    kind = WarningType.BADQPOS if field == "qpos" else WarningType.BADQVEL
    assert data.warning_number[kind] == 1 and data.warning_lastinfo[kind] == index


def test_a_bad_acceleration_is_reset_as_in_mujoco():
    model, data = broken("qfrc_applied", 3, np.inf)
    mj = model.to_mujoco()
    theirs = mujoco.MjData(mj)
    theirs.qfrc_applied[3] = np.inf
    with pytest.warns(kt.SimulationWarning, match="qacc.*reset"):
        kt.step(model, data, nstep=2)
    mujoco.mj_step(mj, theirs, 2)
    same(model, "qpos", data.qpos, theirs.qpos, 1e-12)
    assert data.time == theirs.time


def test_without_autoreset_the_bad_state_stays():
    model, data = broken("qvel", 8, 1e12, flags=kt.DisableBit.AUTORESET)
    with pytest.warns(kt.SimulationWarning, match="unstable"):
        kt.step(model, data)
    assert np.abs(data.qvel).max() > 1e10


def test_bad_controls_are_zero_with_a_warning():
    model, data = broken("ctrl", 2, np.nan)
    free = kt.Data(model)
    with pytest.warns(kt.SimulationWarning, match=r"ctrl\[2\].*zero"):
        kt.step(model, data)
    kt.step(model, free)
    np.testing.assert_array_equal(data.qpos, free.qpos)
    assert np.isnan(data.ctrl[2])


def test_a_moving_body_without_mass_is_refused_by_name():
    model = kt.load("arm")
    b = model.nbody - 1
    mass, inertia = model.body_mass.copy(), model.body_inertia.copy()
    mass[b], inertia[b] = 0.0, 0.0
    with pytest.raises(kt.ModelError, match=f"moving bodies.*{model.name('body', b)}"):
        model.replace(body_mass=mass, body_inertia=inertia)
    with pytest.raises(kt.ModelError, match="moving bodies.*ghost"):
        kt.load('<mujoco><worldbody><body name="ghost"><joint/><geom size=".1" mass="0"/></body></worldbody></mujoco>')


def test_a_singular_inertia_met_while_stepping_names_the_body():
    """Edited in place and never checked: MuJoCo's warning, as a Python warning."""
    model = kt.load("arm")
    model.opt.disableflags = SMOOTH
    b = int(model.dof_bodyid[-1])
    model.body_mass[b], model.body_inertia[b], model.dof_armature[:] = 0.0, 0.0, 0.0
    data = kt.Data(model)
    with pytest.warns(kt.SimulationWarning, match=f"inertia.*{model.name('body', b)}"):
        kt.step(model, data)


@pytest.mark.parametrize("how", ["step", "forward", "halves", "callback", "skip"])
def test_every_way_of_stepping_warns_of_bad_controls_again_after_a_reset(how):
    model, data = broken("ctrl", 2, np.nan)
    if how == "callback":
        model.callbacks.passive = lambda m, d: None

    def go():
        if how in ("step", "callback"):
            kt.step(model, data)
        elif how == "forward":
            kt.forward(model, data)
        elif how == "skip":
            kt.forward_skip(model, data, kt.Stage.NONE)
        else:
            kt.step1(model, data)
            kt.step2(model, data)

    for _ in range(2):
        with pytest.warns(kt.SimulationWarning, match=rf"ctrl\[2\] \(actuator '{model.name('actuator', 2)}'\).*zero"):
            go()
        data.reset()
        data.ctrl[2] = np.nan
    copied = data.copy()
    copied.ctrl[2] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kt.step(model, copied)


def test_a_bad_control_is_told_with_the_actuator_that_takes_it():
    """Actuators may take several controls; the first that is bad is named."""
    xml = """<mujoco><worldbody><body><joint name="arm"/><geom size=".1"/><body pos=".3 0 0"><joint name="neck" type="ball"/>
    <geom size=".1"/></body></body></worldbody><actuator><motor name="shoulder" joint="arm"/>
    <orientation name="head" joint="neck" kp="2"/><motor joint="arm"/></actuator></mujoco>"""
    model = kt.load(xml)
    owners = ["'shoulder'", "'head'", "'head'", "'head'", "2"]
    assert model.nu == len(owners)
    for i, owner in enumerate(owners):
        data = kt.Data(model)
        data.ctrl[i:] = np.nan
        with pytest.warns(kt.SimulationWarning, match=rf"ctrl\[{i}\] \(actuator {owner}\) is not a number"):
            kt.step(model, data)


def test_a_bad_wrench_is_not_passed_over():
    model, data = broken("xfrc_applied", (1, 0), np.nan)
    with pytest.warns(kt.SimulationWarning, match="qacc.*reset"):
        kt.step(model, data)


def test_step2_goes_on_after_a_bad_acceleration_as_in_mujoco():
    model, data = broken("qvel", 8, 0.1)
    mj = model.to_mujoco()
    theirs = mujoco.MjData(mj)
    theirs.qvel[8] = 0.1
    kt.step1(model, data)
    mujoco.mj_step1(mj, theirs)
    data.qfrc_applied[3] = theirs.qfrc_applied[3] = np.inf
    with pytest.warns(kt.SimulationWarning, match="qacc.*reset"):
        kt.step2(model, data)
    mujoco.mj_step2(mj, theirs)
    same(model, "qpos", data.qpos, theirs.qpos, 1e-12)
    assert data.time == theirs.time


def test_sound_steps_do_not_warn():
    model, data = broken("qvel", 8, 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kt.step(model, data, nstep=50)


def test_a_model_with_constraints_does_not_warn():
    model = kt.load("humanoid")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kt.step(model, kt.Data(model))


@pytest.mark.parametrize("nstep", [-1, 1.5, "3", None, True])
def test_wrong_counts(nstep):
    model, data = broken("qvel", 8, 0.0)
    with pytest.raises(ValueError, match="nstep"):
        kt.step(model, data, nstep)


def test_wrong_arguments():
    model, data = broken("qvel", 8, 0.0)
    other = kt.Data(kt.load("cartpole"))
    with pytest.raises(TypeError, match="first argument"):
        kt.step(data, model)
    with pytest.raises(ValueError, match="another model"):
        kt.step(model, other)
    with pytest.raises(ValueError):
        kt.forward_skip(model, data, 17)


# callbacks


@pytest.fixture
def mujoco_callbacks():
    yield mujoco
    for name in ("control", "passive", "act_dyn", "act_gain", "act_bias"):
        getattr(mujoco, f"set_mjcb_{name}")(None)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_control_and_passive_callbacks_equal_mujocos(integrator, mujoco_callbacks):
    model = kt.load("quadruped")
    model.opt.disableflags = SMOOTH
    model.opt.integrator = integrator
    ours, mj, theirs = paired(model, 2, scale=0.1)

    def control(m, d):
        d.ctrl[:] = 0.2 * np.sin(10.0 * d.time + np.arange(m.nu))

    def passive(m, d):
        d.qfrc_passive[:] -= 0.3 * d.qvel

    model.callbacks.control, model.callbacks.passive = control, passive
    mujoco.set_mjcb_control(control)
    mujoco.set_mjcb_passive(passive)
    kt.step(model, ours, nstep=20)
    mujoco.mj_step(mj, theirs, 20)
    same(model, "qpos", ours.qpos, theirs.qpos, TRAJECTORY_SMOOTH)
    same(model, "qvel", ours.qvel, theirs.qvel, TRAJECTORY_SMOOTH)


def test_user_actuators_equal_mujocos(mujoco_callbacks):
    source = next(path for _, path in own_models() if path.name == "user.xml")
    model = kt.load(source)
    model.opt.disableflags = SMOOTH
    ours, mj, theirs = paired(model, 4, scale=0.1)

    def rate(m, d, k):
        first = m.actuator_actadr[k]
        d.act_dot[first : first + 2] = 0.5 - 2.0 * d.act[first], d.act[first]
        return 0.0

    def gain(m, d, k):
        return 1.5 + 0.1 * k

    def bias(m, d, k):
        return -0.2 * d.actuator_velocity[k]

    for name, f in (("act_dyn", rate), ("act_gain", gain), ("act_bias", bias)):
        setattr(model.callbacks, name, f)
        getattr(mujoco, f"set_mjcb_{name}")(f)
    kt.step(model, ours, nstep=10)
    mujoco.mj_step(mj, theirs, 10)
    for field in ("qpos", "qvel", "act", "actuator_force"):
        same(model, field, getattr(ours, field), getattr(theirs, field), TRAJECTORY_SMOOTH)


def test_sensor_callback_is_called_once_for_each_stage_with_user_sensors():
    source = """<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody><sensor>
      <user name="a" dim="2" needstage="pos"/><user name="b" dim="1" needstage="acc"/></sensor></mujoco>"""
    model = kt.load(source)
    data = kt.Data(model)
    stages = []

    def sense(m, d, stage):
        stages.append(stage)
        d.sensor("a").data[:] = 1.0, d.time

    model.callbacks.sensor = sense
    kt.step(model, data, nstep=2)
    assert stages == [kt.Stage.POS, kt.Stage.ACC] * 2
    np.testing.assert_array_equal(data.sensor("a").data, [1.0, model.opt.timestep])
    stages.clear()
    kt.forward_skip(model, data, skip_sensors=True)
    model.opt.disableflags = kt.DisableBit.SENSOR
    kt.step(model, data)
    assert not stages


def test_a_callback_that_raises_reaches_the_user_and_leaves_data_usable():
    model, data = broken("qvel", 8, 0.1)

    def fails(m, d):
        raise RuntimeError("my controller broke")

    model.callbacks.control = fails
    with pytest.raises(RuntimeError, match="my controller broke") as caught:
        kt.step(model, data, nstep=5)
    assert "callback 'control'" in caught.value.__notes__[0]
    model.callbacks.clear()
    kt.step(model, data, nstep=5)
    assert np.isfinite(data.qpos).all()


def test_callbacks_see_bad_states_too():
    model, data = broken("qpos", 9, np.nan)
    model.callbacks.control = lambda m, d: None
    with pytest.warns(kt.SimulationWarning, match=r"qpos\[9\].*reset"):
        kt.step(model, data)
    assert np.isfinite(data.qpos).all()


def test_copies_keep_callbacks_and_pickles_do_not():
    model = kt.load("cartpole")
    model.callbacks.control = print
    assert copy.copy(model).callbacks.control is print
    assert model.replace(opt_timestep=0.001).callbacks.control is print
    assert pickle.loads(pickle.dumps(model)).callbacks.control is None


def test_a_warning_points_at_the_line_of_the_user():
    model, data = broken("qpos", 9, np.nan)
    for call in (kt.step, kt.forward):
        data.ctrl[2] = np.nan
        with pytest.warns(kt.SimulationWarning) as caught:
            call(model, data)
        assert {w.filename for w in caught} == {__file__}


def test_wrong_callbacks():
    model = kt.load("cartpole")
    with pytest.raises(TypeError, match=r"function of \(model, data\)"):
        model.callbacks.control = 3
    with pytest.raises(AttributeError, match="contrl.*control"):
        model.callbacks.contrl = print
