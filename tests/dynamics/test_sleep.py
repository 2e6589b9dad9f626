"""Trees that fall asleep and wake, step by step against MuJoCo: counters, lists, states, and every way to wake."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.conformance import convert
from kinetree.conformance.states import copy_state
from kinetree.types import DisableBit, Integrator
from tests.dynamics.paired import Pair, same

LISTS = (
    "tree_asleep", "tree_awake", "body_awake", "body_awake_ind", "parent_awake_ind", "dof_awake_ind", "ntree_awake",
    "nbody_awake", "nparent_awake", "nv_awake",
)  # fmt: skip
BOX = '<geom type="box" size=".1 .1 .1"/>'
HEAD = '<mujoco><option><flag sleep="enable"/></option><worldbody><geom type="plane" size="5 5 1"/>'
STACKS = f"""{HEAD}
  <body name="a" pos="0 0 .12"><freejoint/>{BOX}</body><body name="b" pos="0 0 .33"><freejoint/>{BOX}</body>
  <body name="c" pos="0 1 .1"><freejoint/>{BOX}<site name="c" pos=".1 0 0"/></body>
  <body name="d" pos="0 2 .1"><freejoint/>{BOX}</body>
  <body name="rod" pos="2 0 1"><joint name="rod" axis="0 1 0" damping="1" frictionloss=".1"/>
    <geom type="capsule" size=".05" fromto="0 0 0 0 0 -.4"/></body>
  <body name="hand" mocap="true" pos="0 2 1">{BOX}</body>
  </worldbody>
  <equality><weld name="bond" body1="c" body2="d" active="false" relpose="0 1 0 1 0 0 0"/></equality>
  <sensor><velocimeter site="c"/><accelerometer site="c"/><framepos objtype="site" objname="c"/><jointvel joint="rod"/>
    <clock/></sensor></mujoco>"""
RESTING = STACKS.replace('damping="1" frictionloss=".1"', 'damping="5"').replace('pos="0 0 .12"', 'pos="0 0 .1"')
FALLING = STACKS.replace('<body name="d" pos="0 2 .1">', '<body name="d" pos="0 0 3">')
ROPES = f"""{HEAD}
  <body name="a" pos="0 0 .1"><freejoint/>{BOX}<site name="a"/></body>
  <body name="b" pos="1 0 .1"><freejoint/>{BOX}<site name="b"/></body>
  <body name="c" pos="2 0 .1"><freejoint/>{BOX}<site name="c"/></body></worldbody>
  <tendon><spatial limited="true" range="0 1.02"><site site="a"/><site site="b"/></spatial>
    <spatial limited="true" range="0 3"><site site="b"/><site site="c"/></spatial></tendon></mujoco>"""

Event = Callable[[Any], None]


def pair_of(text: str, **options: Any) -> Pair:
    mj = mujoco.MjModel.from_xml_string(text)
    for name, value in {"tolerance": 1e-14, **options}.items():
        setattr(mj.opt, name, value)
    model = kt.load(mj)
    return Pair(mj, mujoco.MjData(mj), model, kt.Data(model))


def agree(pair: Pair, note: str) -> None:
    """Sleep lists equal MuJoCo's as far as they are filled, and so do positions and velocities."""
    for name in LISTS:
        ours, theirs = getattr(pair.ours, name), getattr(pair.theirs, name)
        if name.endswith("_ind"):
            count = getattr(pair.theirs, {"body": "nbody", "pare": "nparent", "dof_": "nv"}[name[:4]] + "_awake")
            ours, theirs = ours[:count], theirs[:count]
        assert np.array_equal(ours, theirs), f"{note} {name}: {ours} against {theirs}"
    for name in ("qpos", "qvel", "sensordata"):
        ours, theirs = getattr(pair.ours, name), getattr(pair.theirs, name)
        error = np.abs(ours - theirs)
        assert not error.size or error.max() < 1e-6, f"{note} {name}[{error.argmax()}]: {ours} against {theirs}"


def follow(pair: Pair, steps: int, events: dict[int, Event] | None = None) -> list[tuple[int, ...]]:
    """Step both sides together and do to both what events say; the sets of trees that were awake, one after the other."""
    seen: list[tuple[int, ...]] = []
    for k in range(steps):
        if events and k in events:
            events[k](pair.theirs)
            events[k](pair.ours)
        mujoco.mj_step(pair.mj, pair.theirs)
        kt.step(pair.model, pair.ours)
        agree(pair, f"step {k}")
        awake = tuple(pair.ours.tree_awake.tolist())
        if not seen or awake != seen[-1]:
            seen.append(awake)
    return seen


@pytest.mark.criteria("P-STAGE-SLEEP")
@pytest.mark.parametrize("integrator", [Integrator.EULER, Integrator.IMPLICIT, Integrator.IMPLICITFAST, Integrator.RK4])
def test_what_comes_to_rest_falls_asleep_and_wakes_when_hit(integrator):
    seen = follow(pair_of(FALLING, integrator=integrator), 900)
    if integrator != Integrator.RK4:  # with which the stack rocks longer, in MuJoCo too
        assert (0, 0, 0, 1, 0) in seen and (1, 1, 0, 1, 0) in seen, (
            "a stack slept while a box fell, and woke as it was hit"
        )
        assert seen[-1] == (0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    "options, sleeps",
    [
        ({"integrator": Integrator.RK4}, True),
        ({"disableflags": DisableBit.ISLAND}, False),
        ({"disableflags": DisableBit.ISLAND | DisableBit.CONSTRAINT, "gravity": (0, 0, 0)}, True),
    ],
    ids=["RK4", "no islands", "no islands and no constraints"],
)
def test_what_the_guide_says_of_other_options(options, sleeps):
    """With RK4 trees fall asleep too; with islands disabled as long as there is no constraint."""
    seen = follow(pair_of(RESTING, **options), 120)
    assert any(0 in awake for awake in seen) == sleeps


def push(name: str, index: Any, value: Any) -> Event:
    def event(data: Any) -> None:
        getattr(data, name)[index] = value

    return event


def test_control_alone_does_not_wake():
    text = STACKS.replace("</mujoco>", '<actuator><motor joint="rod"/></actuator></mujoco>').replace(
        '<body name="rod"', '<body name="rod" sleep="allowed"'
    )
    pair = pair_of(text)
    assert follow(pair, 400)[-1] == (0, 0, 0, 0, 0)
    assert follow(pair, 5, {1: push("ctrl", 0, 1.0)})[-1] == (0, 0, 0, 0, 0)


def test_limited_tendon_wakes():
    """A rope that gets tight wakes what it pulls; one that is slack does not."""
    pair = pair_of(ROPES)
    seen = follow(pair, 400)
    assert seen[-1] == (0, 0, 0)
    seen = follow(pair, 150, {1: push("qvel", 0, -0.8)})
    assert (1, 0, 0) in seen and (1, 1, 0) in seen


@pytest.mark.parametrize("policy", ["never", "allowed", "auto"])
def test_policies(policy):
    pair = pair_of(STACKS.replace('<body name="c"', f'<body name="c" sleep="{policy}"'))
    seen = follow(pair, 300)
    assert seen[-1] == (0, 0, 1 if policy == "never" else 0, 0, 0)


@pytest.mark.parametrize("tolerance", [0.0, 1e-5, 1e-1])
def test_tolerance(tolerance):
    follow(pair_of(STACKS, sleep_tolerance=tolerance), 300)


def test_nothing_sleeps_without_islands_or_flag():
    for options in ({"disableflags": int(DisableBit.ISLAND)}, {"enableflags": 0}):
        assert follow(pair_of(STACKS, **options), 200) == [(1, 1, 1, 1, 1)]


def test_all_wake_when_the_flag_falls():
    pair = pair_of(STACKS)
    follow(pair, 300)
    pair.mj.opt.enableflags = 0
    pair.model.opt.enableflags = 0
    assert follow(pair, 3)[-1] == (1, 1, 1, 1, 1)


def test_asleep_from_the_start():
    """One that rests, one in the air, and one that cannot: another stands on it, which is awake."""
    text = f"""{HEAD}<body pos="0 0 .1" sleep="init"><freejoint/>{BOX}</body><body pos="1 0 .1"><freejoint/>{BOX}</body>
      <body pos="2 0 3" sleep="init"><freejoint/>{BOX}</body><body name="low" pos="3 0 .1" sleep="init"><freejoint/>{BOX}</body>
      <body pos="3 0 .299"><freejoint/>{BOX}</body></worldbody></mujoco>"""
    with pytest.warns(kt.SimulationWarning, match="1 of 3 trees with sleep='init' start awake.*'low'") as told:
        pair = pair_of(text)
    assert "tests" in told[0].filename, "the line to name is the user's"
    agree(pair, "reset")
    assert pair.ours.tree_awake.tolist() == [0, 1, 0, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it has been told once
        for other in (pair.ours.copy(), pickle.loads(pickle.dumps(pair.ours)), kt.Data(pair.model)):
            assert other.tree_awake.tolist() == [0, 1, 0, 1, 1]
    follow(pair, 200)


@pytest.mark.criteria("000-T15", "001-AC13", "001-T12", "P-LAZY-SLEEP")
def test_passes_on_demand_cover_what_sleeps():
    """A sensor on a rod that swings asks for both passes: they are computed for sleeping boxes too."""
    sensors = (
        '<subtreelinvel body="rod"/><subtreeangmom body="rod"/><framelinacc objtype="body" objname="rod"/></sensor>'
    )
    pair = pair_of(STACKS.replace("</sensor>", sensors))
    assert follow(pair, 400)[-1] == (0, 0, 0, 0, 0)
    assert follow(pair, 20, {1: push("qvel", 24, 2.0)})[-1] == (0, 0, 0, 0, 1)
    assert pair.ours.flg_subtreevel and pair.ours.flg_rnepost
    for name in ("subtree_com", "subtree_linvel", "subtree_angmom"):
        same(getattr(pair.ours, name), getattr(pair.theirs, name), 1e-9, name)
    masses = pair.model.body_mass
    same(pair.ours.subtree_com[0], masses @ pair.ours.xipos / masses.sum(), 1e-12, "centre of mass of all")
    same(pair.ours.qacc, pair.theirs.qacc, 1e-6, "qacc")
    same(pair.ours.cacc, convert.body_motion(pair.mj, pair.theirs, "cacc"), 1e-6, "cacc")
    for name in ("cfrc_int", "cfrc_ext"):  # but for the world, where MuJoCo adds up torques about different points
        same(getattr(pair.ours, name)[1:], convert.body_force(pair.mj, pair.theirs, name)[1:], 1e-5, name)


@pytest.mark.criteria("002-T9", "P-REF-SLEEP")
def test_sensors_of_what_sleeps_keep_their_reading():
    pair = pair_of(STACKS)
    follow(pair, 400)
    before = pair.ours.sensordata.copy()
    assert not before[:3].any(), "a tree that falls asleep has no velocity"
    follow(pair, 10)
    assert (pair.ours.sensordata[:10] == before[:10]).all() and pair.ours.sensordata[10] > before[10]


def test_lanes_sleep_world_by_world():
    pair = pair_of(STACKS)
    for _ in range(400):
        mujoco.mj_step(pair.mj, pair.theirs)
    worlds = [kt.Data(pair.model) for _ in range(8)]
    for data in worlds:
        copy_state(pair.theirs, data)
    worlds[3].xfrc_applied[3, 0] = 1e-3  # holds one tree awake, in this world
    lanes = lanes_of(pair.model, worlds)
    for _ in range(20):
        lanes.run(pipeline.forward)
        lanes.run(pipeline.integrate)
    awake = lanes.arrays["tree_awake"]
    assert awake[:, 3].tolist() == [0, 0, 1, 0, 0] and not np.delete(awake, 3, axis=1).any()
    assert lanes.nv_awake[0] == pair.model.tree_dofnum[2]


TIED = f"""<mujoco><option integrator="discrete" timestep=".01"><flag sleep="enable"/></option><worldbody>
  <geom type="plane" size="5 5 1"/><body pos="0 0 .0999"><freejoint/>{BOX}</body>
  <body pos="1 0 1"><joint name="a" type="slide" axis="1 0 0"/>{BOX}</body>
  <body pos="1 2 1"><joint name="b" type="slide" axis="1 0 0"/>{BOX}</body>
  <body pos="1 4 1"><joint type="slide" axis="1 0 0"/>{BOX}<site name="c"/></body>
  <body pos="1 6 1"><joint type="slide" axis="1 0 0"/>{BOX}<site name="d"/></body>
  <body pos="0 8 .0999"><freejoint/>{BOX}</body></worldbody>
  <tendon><fixed stiffness="5" springlength="-99 99"><joint joint="a" coef="1"/><joint joint="b" coef="1"/></fixed></tendon>
  <actuator><general site="c" refsite="d" gear="1 0 0 0 0 0" biastype="affine" biasprm="1e-300 0 0"/></actuator></mujoco>"""


def test_lanes_tie_trees_only_where_a_row_holds():
    """A slack spring and an actuator without feedback tie by type: where nothing touches the floor, trees sleep singly."""
    pair = pair_of(TIED)
    pair.mj.tree_sleep_policy[:] = 2
    model = kt.load(pair.mj)
    theirs, worlds = [mujoco.MjData(pair.mj) for _ in range(8)], [kt.Data(model) for _ in range(8)]
    for k, (world, own) in enumerate(zip(theirs, worlds, strict=True)):
        for data in (world, own):
            data.qvel[[7, 9]] = 0.5  # one of each two
            data.qpos[2] += 50.0 * (k & 1)
            data.qpos[13] += 50.0 * (k >> 1 & 1)
    lanes, singly = lanes_of(model, worlds), 0
    for step in range(30):
        lanes.step(1)
        for k, data in enumerate(theirs):
            mujoco.mj_step(pair.mj, data)
            ours = lanes.arrays["tree_asleep"][:, k].tolist()
            assert ours == data.tree_asleep.tolist(), f"step {step}, world {k}: {ours} against {data.tree_asleep}"
            singly += int(data.tree_asleep[3] == 3)
    assert singly
