"""Every way to wake a tree that sleeps, and what does not, against MuJoCo: the step of the event, and the time beyond."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.waking import sleep_together, wake_tree
from kinetree.kernel.stage import plain
from kinetree.types import EnableBit
from tests.dynamics.test_sleep import BOX, HEAD, STACKS, agree, follow, pair_of, push
from tests.pipeline.twins import SLEEPY, SPHERE, bodies_apart

ALL_ASLEEP = (0, 0, 0, 0, 0)
WAKES = {
    "a force on a body": (push("xfrc_applied", (3, 2), 1.0), (0, 0, 1, 0, 0)),
    "a torque on a body": (push("xfrc_applied", (4, 5), 1e-9), (0, 0, 0, 1, 0)),
    "a generalised force": (push("qfrc_applied", 18, 1.0), (0, 0, 0, 1, 0)),
    "minus zero as a force": (push("qfrc_applied", 18, -0.0), (0, 0, 0, 1, 0)),
    "minus zero as a wrench": (push("xfrc_applied", (3, 2), -0.0), (0, 0, 1, 0, 0)),
    "minus zero as a velocity": (push("qvel", 24, -0.0), (0, 0, 0, 0, 1)),
    "a velocity": (push("qvel", 12, 1e-3), (0, 0, 1, 0, 0)),
    "a velocity of one in a stack": (push("qvel", 8, 1e-3), (1, 1, 0, 0, 0)),
    "a new position": (push("qpos", 14, 0.001), (0, 0, 1, 0, 0)),
    "a new position of one in a stack": (push("qpos", 0, 0.001), (1, 1, 0, 0, 0)),
    "a new orientation": (push("qpos", 25, 1e-9), (0, 0, 0, 1, 0)),
    "a new angle": (push("qpos", 28, 0.05), (0, 0, 0, 0, 1)),
    "contact with a mocap body": (push("mocap_pos", (0, 2), 0.29), (0, 0, 0, 1, 0)),
    "an equality between trees that sleep apart": (push("eq_active", 0, 1), (0, 0, 1, 1, 0)),
    "a mocap body that touches nothing": (push("mocap_pos", (0, 2), 1.5), ALL_ASLEEP),
    "the time": (lambda data: setattr(data, "time", 7.0), ALL_ASLEEP),
    "a warm start": (push("qacc_warmstart", 0, 1.0), ALL_ASLEEP),
    "nothing": (lambda data: None, ALL_ASLEEP),
}


def asleep(text: str = STACKS, **options):
    pair = pair_of(text, **options)
    assert not any(follow(pair, 400)[-1])
    return pair


@pytest.mark.parametrize("what", WAKES)
def test_waking(what):
    event, awake = WAKES[what]
    pair = asleep()
    seen = follow(pair, 3, {1: event})
    assert seen[-1] == awake
    follow(pair, 200)


HUNG = f"""{HEAD}<body name="hand" mocap="true" pos="0 0 1"><geom size=".05"/>
  <body pos="0 0 -.1"><joint name="ball" type="ball" damping=".1"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 -.2"/>
    <body pos="0 0 -.3"><joint name="hinge" axis="0 1 0" damping=".1"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 -.2"/>
    </body></body></body>
  <body name="shelf" pos="2 0 1"><geom type="box" size=".3 .3 .02"/>
    <body pos="0 0 -.1"><joint axis="0 1 0" damping=".1"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 -.3"/></body></body>
  <body pos="1 0 .1"><freejoint/>{BOX}</body></worldbody></mujoco>"""


@pytest.mark.parametrize("where", ["mocap_pos", "mocap_quat"])
def test_what_hangs_on_a_mocap_body_wakes_when_that_moves(where):
    pair = asleep(HUNG)
    seen = follow(pair, 3, {1: push(where, (0, 1), 0.003)})
    assert seen[-1] == (1, 0, 0)
    follow(pair, 300)


def test_the_same_mocap_pose_written_again_wakes_nothing():
    pair = asleep(HUNG)
    assert follow(pair, 3, {1: push("mocap_pos", 0, (0.0, 0.0, 1.0))})[-1] == (0, 0, 0)


@pytest.mark.parametrize(
    "field, row, awake",
    [("body_pos", 3, (1, 0, 0)), ("body_quat", 2, (1, 0, 0)), ("body_pos", 5, (0, 1, 0)), ("body_pos", 6, (0, 0, 0))],
)
def test_an_edited_frame_wakes(field, row, awake):
    """In place and without `set_const`, as MuJoCo sees it; that of a free body, which its qpos overrules, does not."""
    pair = asleep(HUNG)
    value = getattr(pair.mj, field)[row].copy()
    value[1] += 0.01
    for model in (pair.mj, pair.model):
        getattr(model, field)[row] = value / np.linalg.norm(value) if field == "body_quat" else value
    assert follow(pair, 2)[-1] == awake
    follow(pair, 200)


def test_set_const_wakes_all():
    pair = asleep()
    qpos = pair.theirs.qpos.copy()
    mujoco.mj_setConst(pair.mj, pair.theirs)
    pair.theirs.qpos[:] = qpos  # which it leaves at qpos0
    kt.set_const(pair.model)
    assert follow(pair, 2)[-1] == (1, 1, 1, 1, 1)
    assert follow(pair, 100)[-1] == ALL_ASLEEP, "and they fall asleep again"
    assert follow(pair, 20)[-1] == ALL_ASLEEP


def test_another_model_wakes_all():
    pair = asleep()
    heavier = pair.model.replace(body_mass=1.1 * pair.model.body_mass)
    kt.step(heavier, pair.ours)
    assert pair.ours.tree_awake.all()
    copied = copy.copy(pair.model)
    kt.step(pair.model, pair.ours, 200)
    kt.step(copied, pair.ours)
    assert not pair.ours.tree_awake.any(), "a model of the same values is no other"


@pytest.mark.parametrize("edit", ["replace", "copy"])
def test_models_made_alike_from_one_are_others(edit):
    """Both are one edition away from the first: what fell asleep with one was not asleep with the other."""
    pair = asleep()
    models = []
    for share in (1.1, 1.2):
        model = copy.copy(pair.model)
        model.body_mass[:] *= share
        kt.set_const(model)
        models.append(model if edit == "copy" else pair.model.replace(body_mass=share * pair.model.body_mass))
    for model in models:
        kt.step(model, pair.ours)
        assert pair.ours.tree_awake.all()
        kt.step(model, pair.ours, 200)
        assert not pair.ours.tree_awake.any()


def test_gravity_turned_round_does_not_wake():
    pair = asleep()
    for model in (pair.mj, pair.model):
        model.opt.gravity[2] = 9.81
    assert follow(pair, 5)[-1] == ALL_ASLEEP


def test_a_limit_of_a_tendon_wakes_with_the_counter_of_what_pulls():
    """`agree` compares tree_asleep: what a rope or a contact wakes is as awake as what woke it."""
    text = f"""{HEAD}<body pos="0 0 .1"><freejoint/>{BOX}<site name="a"/></body>
      <body pos="1 0 .1"><freejoint/>{BOX}<site name="b"/></body></worldbody>
      <tendon><spatial limited="true" range="0 1.005"><site site="a"/><site site="b"/></spatial></tendon></mujoco>"""
    pair = asleep(text)
    seen = follow(pair, 200, {1: push("qvel", 0, -0.4)})
    assert (1, 0) in seen and (1, 1) in seen


GEARED = """<mujoco><option><flag sleep="enable"/></option>
  <default><geom size=".05"/><joint type="slide" axis="1 0 0" damping="20"/></default>
  <worldbody><body><joint name="a"/><geom/></body><body pos="0 1 0"><joint name="b"/><geom/></body>
    <body pos="0 2 0"><joint name="c"/><geom/></body><body pos="0 3 0"><joint name="d"/><geom/></body></worldbody>
  <tendon><fixed name="ab"><joint joint="a" coef="1"/><joint joint="b" coef=".5"/></fixed>
    <fixed name="c"><joint joint="c" coef="1"/></fixed></tendon>
  <equality><tendon name="gear" tendon1="{}" tendon2="{}" polycoef="0 2 0 0 0"/></equality></mujoco>"""


@pytest.mark.parametrize("tendons", [("ab", "c"), ("c", "ab")])
@pytest.mark.parametrize("pushed", range(4))
def test_an_equality_of_tendons_wakes_what_it_ties(tendons, pushed):
    """MuJoCo stops with an error where such trees sleep; all awake, it says how they move."""
    mj = mujoco.MjModel.from_xml_string(GEARED.format(*tendons))
    model = kt.load(mj)
    ours = kt.Data(model)
    kt.step(model, ours, 20)
    assert not ours.tree_awake.any()
    mj.opt.enableflags &= ~int(EnableBit.SLEEP)
    theirs = mujoco.MjData(mj)
    theirs.qvel[pushed] = ours.qvel[pushed] = 1.0
    for _ in range(30):
        mujoco.mj_step(mj, theirs)
        kt.step(model, ours)
        np.testing.assert_allclose(ours.qpos, theirs.qpos, atol=1e-9)
    assert tuple(ours.tree_awake) == ((0, 0, 0, 1) if pushed == 3 else (1, 1, 1, 0))
    kt.step(model, ours, 2000)
    assert not ours.tree_awake.any(), "and they fall asleep again"


def test_an_equality_of_tendons_that_is_switched_on_wakes_what_sleeps_apart():
    model = kt.load(GEARED.format("ab", "c"))
    data = kt.Data(model)
    data.eq_active[0], data.qpos[2] = False, 0.1
    kt.step(model, data, 20)
    assert not data.tree_awake.any()
    data.eq_active[0] = True
    kt.step(model, data)
    assert tuple(data.tree_awake) == (1, 1, 1, 0)
    kt.step(model, data, 300)
    assert data.qpos[0] + 0.5 * data.qpos[1] == pytest.approx(2 * data.qpos[2], abs=1e-3)


def copies(data):
    other = kt.Data(data.model)
    other.set_state(data.get_state())
    return {"copy": data.copy(), "pickle": pickle.loads(pickle.dumps(data)), "state": other}


@pytest.mark.parametrize("way", ["copy", "pickle", "state"])
def test_copies_sleep_on_but_a_state_alone_is_awake(way):
    pair = asleep()
    data = copies(pair.ours)[way]
    kt.step(data.model, data)
    assert data.tree_awake.tolist() == [1 if way == "state" else 0] * 5
    other = pair._replace(ours=data, model=data.model, theirs=copy.copy(pair.theirs))
    if way == "state":
        return
    mujoco.mj_step(other.mj, other.theirs)
    agree(other, way)
    assert follow(other, 20, {3: push("qvel", 12, 0.5)})[-1] == (0, 0, 1, 0, 0)


def test_states_and_keyframes_wake_what_they_move():
    key = STACKS.replace("</worldbody>", "</worldbody><keyframe><key name='k' time='3'/></keyframe>")
    pair = asleep(key)
    state = pair.ours.get_state()
    follow(pair, 10)
    pair.ours.set_state(state)
    kt.step(pair.model, pair.ours)
    assert not pair.ours.tree_awake.any(), "the same positions wake nothing"
    mujoco.mj_resetDataKeyframe(pair.mj, pair.theirs, 0)
    pair.ours.reset_keyframe("k")
    agree(pair, "keyframe")
    assert follow(pair, 5)[-1] == (1, 1, 1, 1, 1)


def test_sleep_switched_on_later():
    pair = pair_of(STACKS, enableflags=0)
    follow(pair, 50)
    for model in (pair.mj, pair.model):
        model.opt.enableflags = int(EnableBit.SLEEP)
    assert follow(pair, 300)[-1] == ALL_ASLEEP


def touch(data) -> None:
    data.qvel[12] = 0.2
    data.ctrl[:] = 0.0


@pytest.mark.parametrize("integrator", range(4))
def test_callbacks_take_part_when_trees_fall_asleep(integrator):
    """A user's sensor and passive force, in both engines: readings and forces of the step in which a tree falls asleep."""
    text = STACKS.replace("</sensor>", '<user dim="1" needstage="vel"/><user dim="1" needstage="acc"/></sensor>')
    pair = pair_of(text, integrator=integrator)

    def passive(model, data):
        data.qfrc_passive[24] -= 0.1 * data.qvel[24]

    def sensor(model, data, stage):
        if int(stage) == int(mujoco.mjtStage.mjSTAGE_VEL):
            data.sensordata[11] = 1.0 + data.qvel[0]
        elif int(stage) == int(mujoco.mjtStage.mjSTAGE_ACC):
            data.sensordata[12] = 2.0 + data.qvel[24]

    pair.model.callbacks.passive, pair.model.callbacks.sensor = passive, sensor
    mujoco.set_mjcb_passive(passive)
    mujoco.set_mjcb_sensor(sensor)
    try:
        assert follow(pair, 300)[-1][4] == 0
        assert follow(pair, 30, {1: push("qvel", 24, 0.5)})[-1][4] == 1
    finally:
        mujoco.set_mjcb_passive(None)
        mujoco.set_mjcb_sensor(None)
    assert pair.ours.sensordata[11] > 0.5


def test_halves_of_a_step():
    """`step1` wakes, `step2` lets fall asleep; with RK4 it takes Euler's step."""
    for integrator in range(4):
        pair = pair_of(STACKS, integrator=integrator)
        for k in range(300):
            if k == 200:
                touch(pair.theirs)
                touch(pair.ours)
            mujoco.mj_step1(pair.mj, pair.theirs)
            mujoco.mj_step2(pair.mj, pair.theirs)
            kt.step1(pair.model, pair.ours)
            kt.step2(pair.model, pair.ours)
            agree(pair, f"integrator {integrator} step {k}")
            assert k != 199 or not pair.ours.tree_awake.any()


def test_circles_of_sleep_that_are_broken_come_to_an_end():
    """Lists of what is awake can be older than who sleeps: no search may go round and round."""
    model = SimpleNamespace(ntree=4)
    data = SimpleNamespace(tree_asleep=np.array([1, 2, 1, 3], np.int32))
    assert not plain(sleep_together)(model, data, 0, 3)
    assert plain(sleep_together)(model, data, 0, 2)
    plain(wake_tree)(model, data, 3, 1)
    plain(wake_tree)(model, data, 0, -5)
    assert data.tree_asleep.tolist() == [-5, -5, -5, -1]


def test_a_callback_that_raises_where_trees_fall_asleep_leaves_sound_lists():
    model = kt.load(bodies_apart((SPHERE,), options=SLEEPY))
    data, calls = kt.Data(model), []

    def passive(m, d):
        calls.append(d.time)
        if len(calls) > 1 and calls[-1] == calls[-2]:  # the pass that is made again, of trees that fell asleep
            raise RuntimeError("enough")

    model.callbacks.passive = passive
    with pytest.raises(RuntimeError, match="enough"):
        kt.step(model, data, nstep=2000)
    np.testing.assert_array_equal(data.tree_awake, data.tree_asleep < 0)
    assert data.ntree_awake == 1  # as before the step, which is taken back
