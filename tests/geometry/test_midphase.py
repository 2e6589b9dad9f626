"""Bodies of many geoms, whose trees are walked: the same contacts as MuJoCo, in the same order, with and without trees."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.states import random_quaternion
from kinetree.geometry.driver import collision
from kinetree.geometry.midphase import FIXED, MANY
from tests.geometry.scenes import agree

MIDPHASE = kt.DisableBit.MIDPHASE


def cluster(rng, count, size, attributes=""):
    """Geoms scattered around a body's origin, some of them without contacts."""
    kinds = ('type="sphere" size=".05"', 'type="capsule" size=".04 .05"', 'type="box" size=".04 .05 .06"')
    out = ""
    for k in range(count):
        place, turn = rng.uniform(-size, size, 3), random_quaternion(rng)
        bits = 'contype="0" conaffinity="0"' if k % 10 == 9 else f'contype="{rng.integers(1, 4)}" conaffinity="3"'
        pose = f'pos="{place[0]:.3f} {place[1]:.3f} {place[2]:.3f}" quat="{" ".join(f"{x:.4f}" for x in turn)}"'
        out += f"<geom {kinds[k % 3]} {pose} {bits} {attributes}/>"
    return out


def scene(seed, flags="", attributes="", extra=""):
    """Two planes and many fixed geoms in the world, two large moving bodies, one on a mocap body, and some small ones."""
    rng = np.random.default_rng(seed)
    bodies = [cluster(rng, 2 * MANY, 0.4, attributes) for _ in range(2)] + [
        cluster(rng, 3, 0.1, attributes) for _ in range(6)
    ]
    free = "".join(f'<body name="b{k}"><freejoint/>{geoms}</body>' for k, geoms in enumerate(bodies))
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option o_margin='.03'><flag {flags}/></option><worldbody>{cluster(rng, 4 * FIXED, 1.0, attributes)}"
        '<geom type="plane" size="1 1 1" pos="0 0 -.3"/><geom type="plane" size="0 0 1" pos="0 0 -1" euler="0 30 0"/>'
        f'<body mocap="true" pos=".5 0 0">{cluster(rng, 2 * FIXED, 0.4, attributes)}</body>{free}</worldbody>'
        f"{extra}</mujoco>"
    )


def scatter(mj, data, rng):
    """Put the free bodies somewhere near each other."""
    for k in range(mj.njnt):
        data.qpos[7 * k : 7 * k + 3] = rng.uniform(-0.8, 0.8, 3)
        data.qpos[7 * k + 3 : 7 * k + 7] = random_quaternion(rng)
    data.mocap_pos[:] = rng.uniform(-0.5, 0.5, 3)
    data.mocap_quat[:] = random_quaternion(rng)


def compare(mj, model, seed, poses=6):
    """Contacts in some random poses, in order; returns how many there are."""
    rng = np.random.default_rng(seed)
    theirs, ours, total = mujoco.MjData(mj), kt.Data(model), 0
    for pose in range(poses):
        scatter(mj, theirs, rng)
        mujoco.mj_kinematics(mj, theirs)
        mujoco.mj_comPos(mj, theirs)
        mujoco.mj_collision(mj, theirs)
        ours.qpos, ours.mocap_pos, ours.mocap_quat = theirs.qpos, theirs.mocap_pos, theirs.mocap_quat
        kt.kinematics(model, ours)
        for name in ("geom_xpos", "geom_xmat"):  # boxes side by side are sensitive to the last digit
            getattr(ours, name)[:] = getattr(theirs, name)
        collision(model, ours)
        agree(theirs, ours, f"pose {pose}")
        total += theirs.ncon
    return total


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("flags", ["", 'midphase="disable"', 'override="enable"', 'filterparent="disable"'])
def test_contacts_are_mujocos(flags, seed):
    mj = scene(seed, flags)
    assert compare(mj, kt.load(mj), seed) > 50


def test_margins_and_gaps_count():
    mj = scene(3, attributes='margin=".02" gap=".01"')
    assert compare(mj, kt.load(mj), 3) > 100


def test_excluded_bodies_and_explicit_pairs():
    mj = scene(4, extra='<contact><exclude body1="b0" body2="b1"/><exclude body1="world" body2="b0"/></contact>')
    assert compare(mj, kt.load(mj), 4) > 20


def test_the_flag_may_change_at_any_time():
    """The list that is swept over changes with it."""
    mj = scene(5)
    model, theirs = kt.load(mj), mujoco.MjData(mj)
    data = kt.Data(model)
    rng = np.random.default_rng(5)
    found = []
    for k in range(6):
        scatter(mj, theirs, rng)
        data.qpos = theirs.qpos
        kt.kinematics(model, data)
        sets = []
        for off in (k % 2 == 0, k % 2 == 1):
            model.opt.disableflags = MIDPHASE if off else 0
            collision(model, data)
            sets.append({tuple(pair) for pair in data.contact_geom.tolist()})
        assert sets[0] == sets[1], f"pose {k}"
        found.append(len(sets[0]))
    assert sum(found) > 50


@pytest.mark.parametrize("flags", [(0, MIDPHASE), (MIDPHASE, 0), (0, MIDPHASE, 0), (MIDPHASE, 0, MIDPHASE)])
def test_the_flag_may_change_while_a_body_sleeps(flags):
    """A board of many boxes sleeps on a floor, and a ball meets it all the same."""
    rows = "".join(
        f'<geom type="box" size=".05 .05 .05" pos="{0.1 * (k % 10):.1f} {0.1 * (k // 10):.1f} 0"/>'
        for k in range(MANY + 6)
    )
    mj = mujoco.MjModel.from_xml_string(
        '<mujoco><option><flag sleep="enable"/></option><worldbody><geom type="plane" size="9 9 .1" pos="0 0 -.05"/>'
        f'<body><freejoint/>{rows}</body><body pos=".31 .22 1.5"><freejoint/><geom size=".05"/></body></worldbody></mujoco>'
    )
    mj.opt.disableflags = flags[0]
    model, theirs = kt.load(mj), mujoco.MjData(mj)
    ours, slept = kt.Data(model), 0
    for k in range(400):
        mj.opt.disableflags = model.opt.disableflags = flags[min(k // 100, len(flags) - 1)]
        kt.step(model, ours)
        mujoco.mj_step(mj, theirs)
        slept += theirs.tree_asleep[0] >= 0
        assert ours.tree_asleep.tolist() == theirs.tree_asleep.tolist(), f"step {k}"
        touching = {tuple(pair) for pair in ours.contact_geom[: ours.ncon].tolist()}
        assert touching == {tuple(pair) for pair in theirs.contact.geom.tolist()}, f"step {k}"
        assert np.abs(ours.qpos - theirs.qpos).max() < 1e-6, f"step {k}"
    assert slept > 150 and theirs.tree_asleep[0] < 0 and theirs.qpos[9] > 0.05


def test_lanes_are_floats():
    mj = scene(6)
    model, theirs, rng = kt.load(mj), mujoco.MjData(mj), np.random.default_rng(6)
    worlds = []
    for _ in range(8):
        scatter(mj, theirs, rng)
        worlds.append(kt.Data(model))
        worlds[-1].qpos, worlds[-1].mocap_pos, worlds[-1].mocap_quat = theirs.qpos, theirs.mocap_pos, theirs.mocap_quat
        kt.kinematics(model, worlds[-1])
    lanes = lanes_of(model, worlds)
    lanes.run(collision)
    for lane, world in enumerate(worlds):
        collision(model, world)
        n = int(lanes.ncon[0])
        there = lanes.contact_dist[:n, lane] < 1e9
        assert (lanes.contact_geom[:n][there] == world.contact_geom).all(), f"world {lane}"
        assert np.abs(lanes.contact_pos[:n, :, lane][there] - world.contact_pos).max(initial=0.0) < 1e-9, (
            f"world {lane}"
        )
