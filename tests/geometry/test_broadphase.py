"""The broad phase drops nothing: against MuJoCo and against all pairs, in scenes that move, grow and change their shape."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.geometry.driver import collision
from kinetree.memory import START
from tests.geometry.scenes import agree, both, detect, rows, scatter, zoo


def balls(count: int, seed: int, walls: bool = True) -> mujoco.MjModel:
    """Spheres and capsules on free bodies, in a bowl of planes."""
    rng = np.random.default_rng(seed)
    world = '<geom type="plane" size="5 5 1"/>'
    if walls:
        for tilt, place in (("0 30 0", "-1 0 0"), ("0 -30 0", "1 0 0"), ("30 0 0", "0 1 0"), ("-30 0 0", "0 -1 0")):
            world += f'<geom type="plane" size="5 5 1" euler="{tilt}" pos="{place}"/>'
    for k in range(count):
        shape = 'type="capsule" size=".06 .06"' if k % 2 else f'size="{rng.uniform(0.04, 0.1):.3f}"'
        world += f"<body><freejoint/><geom {shape}/></body>"
    return mujoco.MjModel.from_xml_string(f"<mujoco model='balls'><worldbody>{world}</worldbody></mujoco>")


def near_pairs(mj: mujoco.MjModel, data: mujoco.MjData) -> set[tuple[int, int]]:
    """All pairs of geoms of different free bodies whose balls overlap, by trying every one."""
    out = set()
    moving = np.flatnonzero(mj.geom_bodyid > 0)
    for k, g in enumerate(moving):
        later = moving[k + 1 :]
        gap = np.linalg.norm(data.geom_xpos[later] - data.geom_xpos[g], axis=1)
        near = later[gap <= mj.geom_rbound[later] + mj.geom_rbound[g]]
        out |= {(int(g), int(h)) for h in near if mj.geom_bodyid[g] != mj.geom_bodyid[h]}
    return out


@pytest.mark.parametrize("seed", range(6))
def test_all_shapes_scattered(seed):
    """One Data goes through unrelated states: the order that it keeps from the last one must not matter."""
    mj = zoo(count=4)
    theirs, model, ours = both(mj)
    rng = np.random.default_rng(seed)
    for k in range(20):
        scatter(mj, theirs, rng, size=rng.choice([0.4, 0.8, 2.0]))
        detect(mj, theirs, model, ours)
        agree(theirs, ours, f"zoo, seed {seed}, state {k}")


@pytest.mark.parametrize("stretch", [(1, 1, 1), (9, 1, 1), (1, 9, 1), (1, 1, 9)])
def test_every_near_pair_is_found_and_no_far_one(stretch):
    """For spheres the balls are the geoms: the contacts are the near pairs. Stretched scenes are swept along that axis."""
    mj = balls(60, 1, walls=False)
    theirs, model, ours = both(mj)
    rng = np.random.default_rng(2)
    for k in range(10):
        scatter(mj, theirs, rng, size=0.5)
        for joint in range(mj.njnt):
            theirs.qpos[7 * joint : 7 * joint + 3] *= stretch
        detect(mj, theirs, model, ours)
        agree(theirs, ours, f"stretched {stretch}, state {k}")
        spheres = mj.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE
        expected = {pair for pair in near_pairs(mj, theirs) if spheres[list(pair)].all()}
        found = {tuple(pair) for pair in rows(ours, "geom").astype(int).tolist() if spheres[pair].all()}
        assert found == expected
    if max(stretch) > 1:
        assert (ours._arrays["sweep_axis"][0] - 1) % 3 == int(np.argmax(stretch))


def test_a_motion_step_by_step():
    """What the sweep keeps from step to step does not spoil the next one."""
    mj = balls(100, 3)
    theirs, model, ours = both(mj)
    rng = np.random.default_rng(4)
    scatter(mj, theirs, rng)
    most = 0
    for step in range(150):
        mujoco.mj_step(mj, theirs)
        if step % 5 == 0:
            detect(mj, theirs, model, ours)
            agree(theirs, ours, f"balls in a bowl, step {step}")
            most = max(most, theirs.ncon)
    assert most > 60


def test_many_fixed_geoms_and_few_that_move():
    """A terrain of boxes on the world, and boxes on static and mocap bodies; fixed geoms are not compared with each other."""
    rng = np.random.default_rng(5)
    world = ""
    for x in range(15):
        for y in range(15):
            geom = f'<geom type="box" size=".1 .1 {rng.uniform(0.05, 0.2):.3f}" pos="{0.2 * x} {0.2 * y} 0"/>'
            kind = (x + y) % 5
            mocap = 'mocap="true"' if kind == 0 else ""
            world += f"<body {mocap}>{geom}</body>" if kind < 2 else geom
    for _ in range(8):
        world += (
            '<body><freejoint/><geom type="capsule" size=".05 .1"/><geom type="sphere" size=".08" pos=".1 0 0"/></body>'
        )
    mj = mujoco.MjModel.from_xml_string(f"<mujoco model='terrain'><worldbody>{world}</worldbody></mujoco>")
    theirs, model, ours = both(mj)
    contacts = 0
    for k in range(15):
        for joint in range(mj.njnt):
            theirs.qpos[7 * joint : 7 * joint + 3] = rng.uniform((0, 0, 0), (3, 3, 0.4))
            theirs.qpos[7 * joint + 3 : 7 * joint + 7] = rng.normal(size=4)
        detect(mj, theirs, model, ours)
        agree(theirs, ours, f"terrain, state {k}")
        contacts += theirs.ncon
    assert contacts > 100


def test_room_grows_from_the_smallest():
    """A fresh Data has room for few pairs and contacts; one run makes as much as is needed, and nothing is dropped."""
    mj = balls(200, 6)
    theirs, model, ours = both(mj)
    scatter(mj, theirs, np.random.default_rng(7))
    assert ours._arrays.capacity["maxcon"] == ours._arrays.capacity["maxpair"] == START
    detect(mj, theirs, model, ours)
    agree(theirs, ours, "from the smallest room")
    assert theirs.ncon > 4 * START and ours._arrays["ncandidate"][0] > 4 * START
    room = dict(ours._arrays.capacity)
    collision(model, ours)
    assert room == ours._arrays.capacity and not ours._arrays["overflow"][0]


def test_a_lost_world_leaves_no_trace():
    """NaN in one state must not spoil the next: the order of the sweep stays a permutation."""
    mj = balls(20, 8)
    theirs, model, ours = both(mj)
    rng = np.random.default_rng(9)
    for k in range(6):
        scatter(mj, theirs, rng, size=0.3)
        detect(mj, theirs, model, ours)
        agree(theirs, ours, f"state {k}")
        ours.geom_xpos[rng.integers(5, mj.ngeom)] = np.nan
        collision(model, ours)
        assert sorted(ours._arrays["sweep_order"].tolist()) == list(range(mj.ngeom))


def test_models_without_geoms_or_with_one():
    for world in ("", '<geom size=".1"/>', '<body><freejoint/><geom size=".1"/></body>'):
        model = kt.load(f"<mujoco><worldbody>{world}</worldbody></mujoco>")
        data = kt.Data(model)
        kt.kinematics(model, data)
        collision(model, data)
        assert data.ncon == 0
