"""Gains, limits, targets and choices: what they mean, that assignment checks, and that bad input is told clearly."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.control.choice import choose, lead_of_maba
from tests.dynamics.test_aba import STAR

ARM = """<mujoco model="arm"><option><flag contact="disable"/></option><worldbody>
  <body name="base"><freejoint name="root"/><geom size=".1"/>
    <body pos="0 0 .2"><joint name="shoulder" type="ball"/><geom size=".1" pos="0 0 .2"/>
      <body pos="0 0 .4"><joint name="elbow" axis="0 1 0"/><geom size=".1" pos="0 0 .2"/>
        <body pos="0 0 .4"><joint type="slide" axis="0 0 1"/><geom size=".1"/></body></body></body></body>
  </worldbody></mujoco>"""
HEAVY_TENDON = STAR.replace("</mujoco>", """<tendon><fixed name="band" armature="0.1"><joint joint="hinge" coef="1"/>
  <joint joint="slide" coef="2"/></fixed></tendon></mujoco>""")  # fmt: skip
ROOT, SHOULDER, ELBOW, SLIDE = slice(0, 6), slice(6, 9), slice(9, 10), slice(10, 11)


def test_a_model_with_the_discrete_integrator_is_warned_of_once():
    model = kt.load(ARM)
    spd, data = kt.StablePD(model, 100.0, 10.0), kt.Data(model)
    spd.step(data)
    model.opt.integrator = kt.Integrator.DISCRETE
    with pytest.warns(kt.SimulationWarning, match="does not use the model's integrator, discrete"):
        spd.step(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spd.step(data)


@pytest.fixture(scope="module")
def arm():
    return kt.load(ARM)


@pytest.fixture
def spd(arm):
    return kt.StablePD(arm, 100.0, 10.0)


# meaning


def test_one_number_is_for_all_joints_but_free_ones(arm, spd):
    np.testing.assert_array_equal(spd.kp, [0.0] * 6 + [100.0] * 5)
    np.testing.assert_array_equal(spd.kd, [0.0] * 6 + [10.0] * 5)
    data = kt.Data(arm)
    assert not spd.torque(data, kt.integrate_pos(arm, arm.qpos0, np.ones(11), 1.0))[ROOT].any()


def test_a_dictionary_names_joints(arm, spd):
    spd.kp = {"shoulder": [1.0, 2.0, 3.0], "elbow": 4.0, 3: 5}
    np.testing.assert_array_equal(spd.kp, [0.0] * 6 + [1.0, 2.0, 3.0, 4.0, 5.0])
    spd.kd = {"root": 7.0}
    np.testing.assert_array_equal(spd.kd, [7.0] * 6 + [0.0] * 5)


def test_a_vector_is_for_all_dofs_also_of_the_root(arm, spd):
    spd.kp = np.arange(11)
    np.testing.assert_array_equal(spd.kp, np.arange(11.0))
    assert spd.torque(kt.Data(arm), kt.integrate_pos(arm, arm.qpos0, np.ones(11), 0.1))[ROOT].any()


def test_limits(arm, spd):
    assert np.isinf(spd.torque_limit).all()
    spd.torque_limit = 5.0
    np.testing.assert_array_equal(spd.torque_limit, np.full(11, 5.0))
    spd.torque_limit = {"elbow": 2.0}
    assert spd.torque_limit[ELBOW] == 2.0 and np.isinf(np.delete(spd.torque_limit, 9)).all()
    far = kt.integrate_pos(arm, arm.qpos0, np.ones(11), 1.0)
    assert abs(spd.torque(kt.Data(arm), far)[9]) == 2.0
    spd.torque_limit = None
    assert abs(spd.torque(kt.Data(arm), far)[9]) > 2.0


def test_gains_can_be_changed(arm, spd):
    data, far = kt.Data(arm), kt.integrate_pos(arm, arm.qpos0, np.ones(11), 0.2)
    spd.kp, spd.kd, spd.mode, spd.h = 20.0, {"elbow": 3.0}, "implicit", 0.05
    other = kt.StablePD(arm, 20.0, {"elbow": 3.0}, 0.05, "implicit")
    np.testing.assert_array_equal(spd.torque(data, far), other.torque(data, far))


def test_the_target_can_be_assigned(arm, spd):
    data, far = kt.Data(arm), kt.integrate_pos(arm, arm.qpos0, np.ones(11), 0.2)
    np.testing.assert_array_equal(spd.target, arm.qpos0)
    given = spd.torque(data, far)
    spd.target = far
    np.testing.assert_array_equal(spd.torque(data), given)
    np.testing.assert_array_equal(spd.force(data), spd.force(data, far))
    np.testing.assert_array_equal(spd.acceleration(data), spd.acceleration(data, far))
    assert spd.torque(data, arm.qpos0) is not None
    np.testing.assert_array_equal(spd.torque(data), given)  # a target in a call is for that call
    spd.target = [2.0 * x if 3 <= k < 7 else x for k, x in enumerate(far)]
    np.testing.assert_allclose(np.linalg.norm(spd.target[3:7]), 1.0)


def test_results_are_the_callers(arm, spd):
    data, far = kt.Data(arm), kt.integrate_pos(arm, arm.qpos0, np.ones(11), 0.2)
    for call in (spd.force, spd.torque, spd.acceleration, spd.step):
        first = call(data, far)
        kept = first.copy()
        call(data)
        np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize("solver", ["dense", "sparse", "maba"])
def test_asking_leaves_data_as_it_is(arm, solver):
    data = kt.Data(arm)
    data.qvel = np.ones(11)
    kt.step(arm, data, 3)
    before = data.buffer.copy()
    spd = kt.StablePD(arm, 100.0, 10.0, solver=solver, torque_limit=1.0)
    for call in (spd.force, spd.torque, spd.acceleration):
        call(data)
        call(data, arm.qpos0)
        np.testing.assert_array_equal(data.buffer, before, err_msg=call.__name__)


# which solver


def test_auto_says_what_it_took(arm, spd):
    assert spd.solver == "maba" and "solver maba (chosen by auto)" in repr(spd)
    spd.solver = "sparse"
    assert spd.solver == "sparse" and "solver sparse, h 0.002 s" in repr(spd)
    spd.solver, spd.mode = "auto", "implicit"
    assert repr(spd) == "<kinetree.StablePD of 'arm': mode implicit, solver maba (chosen by auto), h 0.002 s>"


def test_auto_goes_by_the_shape_of_the_tree():
    """Deep chains take the recursion, by a lead that grows like the cube; a bush of hinges takes the factor."""
    from benchmarks.trees import tree

    leads = [lead_of_maba(kt.load(tree(n, 1, "hinge"))) for n in (50, 100, 200)]
    assert 0 < 6 * leads[0] < 6 * leads[1] < 6 * 8 * leads[1] and leads[2] > 5 * leads[1]
    assert choose(kt.load(tree(100, 1, "ball"))) == choose(kt.load(tree(100, 2, "ball"))) == "maba"
    assert choose(kt.load(tree(100, 10, "hinge"))) == "sparse"


def test_tendon_armature_is_refused_by_name_and_auto_takes_sparse():
    model = kt.load(HEAVY_TENDON)
    assert kt.StablePD(model, 1.0, 1.0).solver == "sparse"
    with pytest.raises(kt.UnsupportedFeatureError, match=r"maba of 'star' .* armature \(tendon 'band'\)"):
        kt.StablePD(model, 1.0, 1.0, solver="maba")
    light = model.replace(tendon_armature=0.0)
    spd = kt.StablePD(light, 1.0, 1.0, solver="maba")
    auto = kt.StablePD(light, 1.0, 1.0)
    assert auto.solver == "maba"
    spd.torque(kt.Data(light))
    light.tendon_armature[:] = 0.2  # also when it comes later
    with pytest.raises(kt.UnsupportedFeatureError, match="band"):
        spd.torque(kt.Data(light))
    auto.torque(kt.Data(light))
    assert auto.solver == "sparse"


# bad input


@pytest.mark.parametrize("name", ["kp", "kd"])
@pytest.mark.parametrize("value, error, message", [
    (-1.0, ValueError, "{0}[6] (joint 'shoulder') is -1: it must not be negative"),
    ({"elbow": -2.0}, ValueError, "{0}[9] (joint 'elbow') is -2"),
    (np.nan, ValueError, "{0} is nan"),
    (np.inf, ValueError, "{0} is inf"),
    ([1.0] * 10 + [np.nan], ValueError, "{0}[10] is nan"),
    ({"elbow": np.nan}, ValueError, "{0} of joint 'elbow' is nan"),
    ({"shoulder": [1, np.inf, 2]}, ValueError, "{0} of joint 'shoulder'[1] is inf"),
    ([1.0, 2.0], ValueError, "{0}: expected shape (11,), got (2,)"),
    (np.ones((11, 1)), ValueError, "{0}: expected shape (11,), got (11, 1)"),
    ({"shoulder": [1.0, 2.0]}, ValueError, "{0} of joint 'shoulder': expected shape (3,), got (2,)"),
    ({"elbo": 1.0}, KeyError, "no joint is called 'elbo': did you mean 'elbow'?"),
    ({7: 1.0}, IndexError, "joint id 7 is outside"),
    ({None: 1.0}, TypeError, "joint: expected a name or an id"),
    ("stiff", TypeError, "{0}: expected numbers, got 'stiff'"),
    (None, TypeError, "{0}: expected numbers, got None"),
    (True, TypeError, "{0}: expected numbers, got True"),
])  # fmt: skip
def test_bad_gains(arm, spd, name, value, error, message):
    kept = getattr(spd, name).copy()
    with pytest.raises(error) as caught:
        setattr(spd, name, value)
    assert message.format(name) in str(caught.value)
    np.testing.assert_array_equal(getattr(spd, name), kept)
    with pytest.raises(error):
        kt.StablePD(arm, **{"kp": 1.0, "kd": 1.0, name: value})


@pytest.mark.parametrize("value, error, message", [
    (-5.0, ValueError, "torque_limit[0] (joint 'root') is -5: it must not be negative"),
    ({"elbow": -5.0}, ValueError, "torque_limit[9] (joint 'elbow') is -5"),
    (-np.inf, ValueError, "torque_limit[0] (joint 'root') is -inf"),
    (np.nan, ValueError, "torque_limit is nan"),
    ([1.0], ValueError, "torque_limit: expected shape (11,), got (1,)"),
    ({"wrist": 1.0}, KeyError, "no joint is called 'wrist'"),
    ("strong", TypeError, "torque_limit: expected numbers, got 'strong'"),
])  # fmt: skip
def test_bad_limits(spd, value, error, message):
    with pytest.raises(error) as caught:
        spd.torque_limit = value
    assert message in str(caught.value)
    assert np.isinf(spd.torque_limit).all()


def bad_quaternion(first):
    target = np.zeros(13)
    target[3], target[7] = 1.0, 1.0
    target[first] = 0.0
    return target


@pytest.mark.parametrize("value, error, message", [
    (np.zeros(12), ValueError, "target: expected shape (13,), got (12,)"),
    (np.zeros((1, 13)), ValueError, "target: expected shape (13,), got (1, 13)"),
    (0.5, ValueError, "target: expected shape (13,), one entry for each of qpos, got one number"),
    (bad_quaternion(3), ValueError, "target: the quaternion of joint 'root', target[3:7], is zero"),
    (bad_quaternion(7), ValueError, "target: the quaternion of joint 'shoulder', target[7:11], is zero"),
    (list(bad_quaternion(7)), ValueError, "joint 'shoulder'"),
    (np.full(13, np.nan), ValueError, "target[0] is nan"),
    ([1.0] * 12 + [np.inf], ValueError, "target[12] is inf"),
    ("home", TypeError, "target: expected numbers, got 'home'"),
    (["a"] * 13, TypeError, "target: expected numbers"),
])  # fmt: skip
def test_bad_targets(arm, spd, value, error, message):
    data = kt.Data(arm)
    before = data.buffer.copy()
    for call in (spd.torque, spd.acceleration, spd.force, spd.step):
        with pytest.raises(error) as caught:
            call(data, value)
        assert message in str(caught.value)
    with pytest.raises(error):
        spd.target = value
    np.testing.assert_array_equal(spd.target, arm.qpos0)
    np.testing.assert_array_equal(data.buffer, before)


@pytest.mark.parametrize("h, error, message", [
    (0.0, ValueError, "h: the time step must be positive, got 0.0"), (-0.01, ValueError, "must be positive, got -0.01"),
    (np.nan, ValueError, "h is nan"), (np.inf, ValueError, "h is inf"), ([0.1, 0.2], ValueError, "h: expected one number"),
    ("fast", TypeError, "h: expected numbers"), (True, TypeError, "h: expected numbers"),
])  # fmt: skip
def test_bad_time_steps(arm, spd, h, error, message):
    for act in (lambda: setattr(spd, "h", h), lambda: kt.StablePD(arm, 1.0, 1.0, h=h)):
        with pytest.raises(error) as caught:
            act()
        assert message in str(caught.value)


@pytest.mark.parametrize("act, error, message", [
    (lambda s: setattr(s, "mode", "explicit"), ValueError, "no mode is called 'explicit': did you mean"),
    (lambda s: setattr(s, "mode", 1), TypeError, "mode is one of 'spd', 'implicit', not int"),
    (lambda s: setattr(s, "solver", "mabe"), ValueError, "no solver is called 'mabe': did you mean 'maba'"),
    (lambda s: setattr(s, "solver", None), TypeError, "solver is one of 'auto', 'dense', 'sparse', 'maba', not NoneType"),
    (lambda s: setattr(s, "max_solves", 0), ValueError, "max_solves must be at least 1"),
    (lambda s: setattr(s, "max_solves", 1.5), TypeError, "max_solves: expected whole numbers"),
    (lambda s: setattr(s, "Kp", 1.0), AttributeError, "Kp"),
    (lambda s: setattr(s, "model", None), AttributeError, "model"),
    (lambda s: s.kp.__setitem__(0, 1.0), ValueError, "read-only"),
    (lambda s: s.target.__setitem__(0, 1.0), ValueError, "read-only"),
    (lambda s: kt.StablePD(None, 1.0, 1.0), TypeError, "StablePD needs a kinetree Model, got NoneType"),
    (lambda s: kt.StablePD(s.model), TypeError, "kp"),
    (lambda s: s.torque(None), TypeError, "StablePD.torque: the second argument must be a kinetree Data, got NoneType"),
    (lambda s: s.step(s.model), TypeError, "StablePD.step: the second argument must be a kinetree Data, got Model"),
    (lambda s: s.force(kt.Data(kt.load("cartpole"))), ValueError, "StablePD.force: this Data belongs to another model"),
])  # fmt: skip
def test_other_bad_arguments(spd, act, error, message):
    with pytest.raises(error) as caught:
        act(spd)
    assert message in str(caught.value)


# copies


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_are_of_their_own(arm, duplicate):
    spd = kt.StablePD(arm, 100.0, {"elbow": 3.0}, 0.01, "implicit", "dense", {"elbow": 2.0})
    spd.target, spd.max_solves = kt.integrate_pos(arm, arm.qpos0, np.ones(11), 0.2), 7
    other, data = duplicate(spd), kt.Data(arm)
    assert repr(other) == repr(spd) and other.max_solves == 7
    np.testing.assert_array_equal(other.torque_limit, spd.torque_limit)
    wanted = spd.torque(data)
    spd.kp, spd.target = 1.0, arm.qpos0
    np.testing.assert_array_equal(other.torque(kt.Data(other.model)), wanted)
    auto = duplicate(kt.StablePD(arm, 1.0, 1.0))
    assert "chosen by auto" in repr(auto) and auto.h == arm.opt.timestep


def test_a_second_thread_is_refused_the_controller():
    """Its arrays are for one thread, also where each has a Data of its own; the first one goes on as if alone."""
    model = kt.load("arm")
    shared, own = kt.StablePD(model, 100.0, 10.0), kt.StablePD(model, 100.0, 10.0)
    mine, twin, other = kt.Data(model), kt.Data(model), kt.Data(model)
    shared.step(mine)
    own.step(twin)
    deeds = {
        "step": lambda: shared.step(other), "torque": lambda: shared.torque(other), "force": lambda: shared.force(other),
        "kp": lambda: setattr(shared, "kp", 1.0), "target": lambda: setattr(shared, "target", other.qpos),
    }  # fmt: skip
    thread = threading.Thread(target=lambda: shared.step(mine, nstep=100_000))
    thread.start()
    while mine.time < 10 * model.opt.timestep:
        pass
    for what, deed in deeds.items():
        with pytest.raises(kt.BusyError, match="this StablePD is in use by another thread"):
            deed()
        assert thread.is_alive(), what
    thread.join()
    own.step(twin, nstep=100_000)
    np.testing.assert_array_equal(mine.get_state(), twin.get_state())
    assert other.time == 0.0
