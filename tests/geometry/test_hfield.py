"""Contacts with height fields against MuJoCo: every shape, over, beside and below the terrain, with margins, many at once."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.states import random_quaternion
from kinetree.geometry.driver import collision
from kinetree.work_fields import MAX_OF_PAIR
from tests.geometry.scenes import GEOMETRY, OTHER_SIZES, both, detect, rows, vertices

SHAPES = ("sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")
CURVED = ("ellipsoid", "cylinder")  # their contacts are found to opt.ccd_tolerance, and nearest points less well
MARGINS = {"none": (0.0, 0.0), "margin and gap": (0.04, 0.02), "negative": (-0.02, 0.0)}
EXACT = 1e-9
SAME = {True: 2e-4, False: EXACT}
CORNERED = 0.9
"""Share of equal contacts of boxes and meshes without margin, where MuJoCo ends EPA at the second sight of a corner, with
whatever depth it has by then; its way there is not ours everywhere."""
POSES = 150


def scene(
    shape, margin=0.0, gap=0.0, heights="random", rows=12, cols=15, place='pos=".1 0 .05" euler="20 -10 30"', size=""
):
    """One geom on a free body over a height field."""
    kind = 'mesh="shape"' if shape == "mesh" else f'size="{size or OTHER_SIZES[shape]}"'
    mj = mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><hfield name="terrain" nrow="{rows}" ncol="{cols}" size="1 .8 .4 .2"/>'
        f'<mesh name="shape" vertex="{vertices(20)}"/></asset>'
        f'<worldbody><geom name="a" type="hfield" hfield="terrain" {place}/>'
        f'<body><freejoint/><geom name="b" type="{shape}" {kind} margin="{margin}" gap="{gap}"/></body></worldbody></mujoco>'
    )
    if heights == "random":
        mj.hfield_data[:] = np.random.default_rng(rows).uniform(size=mj.nhfielddata)
    return mj


def random_poses(rng, count):
    """Poses around the terrain: over it, in it, past its rim, below its base."""
    return [
        np.concatenate((rng.uniform((-1.3, -1.1, -0.5), (1.3, 1.1, 0.7)), random_quaternion(rng))) for _ in range(count)
    ]


def compare(mj, poses, what, tolerance=EXACT):
    """The same number of contacts everywhere; returns how many there are, and how many have MuJoCo's depth, place, normal."""
    theirs, model, ours = both(mj)
    total = same = 0
    for pose in poses:
        theirs.qpos[:] = pose
        detect(mj, theirs, model, ours)
        assert ours.ncon == theirs.ncon, (
            f"{what}: {ours.ncon} contacts against MuJoCo's {theirs.ncon} in {pose.tolist()}"
        )
        total += ours.ncon
        off = [np.abs(rows(ours, name) - rows(theirs, name))[:, :3].max(axis=1, initial=0.0) for name in GEOMETRY]
        same += int(((off[0] <= tolerance) & (off[1] <= tolerance) & (off[2] <= 100 * tolerance)).sum())
    return total, same


@pytest.mark.parametrize("margins", MARGINS)
@pytest.mark.parametrize("shape", SHAPES)
def test_random_poses(shape, margins):
    rng = np.random.default_rng(len(shape))
    what = f"{shape}, margin {margins}"
    total, same = compare(scene(shape, *MARGINS[margins]), random_poses(rng, POSES), what, SAME[shape in CURVED])
    assert total > 2 * POSES
    least = CORNERED if shape in ("box", "mesh") and margins == "none" else 0.99 if shape in CURVED else 1.0
    assert same >= least * total, f"{what}: {same} of {total} contacts are MuJoCo's"


@pytest.mark.parametrize("shape", ["sphere", "capsule", "ellipsoid"])
def test_coarse_grids(shape):
    """Two samples by three: geoms are smaller than a cell."""
    rng = np.random.default_rng(1)
    mj = scene(shape, rows=2, cols=3)
    total, same = compare(mj, random_poses(rng, POSES), shape, SAME[shape in CURVED])
    assert total > 30 and same >= 0.99 * total


def test_geoms_on_the_lines_of_the_grid():
    """A ball, an exact number of cells wide, over a flat field: contacts in the cells that it reaches into."""
    mj = scene("sphere", heights="flat", rows=9, cols=11, place="", size=".2")
    poses = [
        np.array([x, y, z, 1.0, 0, 0, 0])
        for x in (-1.2, -1, -0.2, 0, 0.3, 1.2)
        for y in (0, 0.4, 1)
        for z in (0.19, 0.1)
    ]
    total, same = compare(mj, poses, "on the grid")
    assert total > 20 and same == total


def test_no_more_contacts_than_mujoco_keeps():
    mj = scene("box", rows=40, cols=40, size=".5 .5 .1", margin=0.01)
    total, same = compare(mj, [np.array([0.1, 0, 0.2, 1.0, 0, 0, 0])], "many")
    assert total == same == MAX_OF_PAIR


def test_depth_over_flat_ground_is_that_of_a_plane():
    """A sphere in the middle of a large triangle, from above."""
    model = kt.load(scene("sphere", heights="flat", rows=2, cols=2, place=""))
    data = kt.Data(model)
    radius = model.geom_size[1, 0]
    data.qpos = [0.3, -0.3, radius - 0.01, 1, 0, 0, 0]
    kt.forward(model, data)
    assert data.ncon == 1
    assert data.contact_dist[0] == pytest.approx(-0.01, abs=1e-12)
    assert data.contact_frame[0, :3] == pytest.approx([0, 0, 1], abs=1e-12)


@pytest.mark.parametrize("shape", ["sphere", "box"])
def test_lanes_are_floats(shape):
    """Eight worlds in different poses, with different numbers of contacts."""
    model = kt.load(scene(shape, 0.01))
    worlds = []
    for pose in random_poses(np.random.default_rng(4), 8):
        data = kt.Data(model)
        data.qpos = pose
        kt.kinematics(model, data)
        worlds.append(data)
    lanes = lanes_of(model, worlds)
    counts = []
    for _ in range(2):  # the second time what the first left must not be taken for contacts
        lanes.run(collision)
    for lane, world in enumerate(worlds):
        collision(model, world)
        counts.append(world.ncon)
        there = lanes.contact_dist[: int(lanes.ncon[0]), lane] < 1e9
        assert there.sum() == world.ncon, f"{shape}, world {lane}"
        got, wanted = lanes.contact_pos[: int(lanes.ncon[0]), :, lane][there], world.contact_pos[: world.ncon]
        assert np.abs(got - wanted).max(initial=0.0) < EXACT, f"{shape}, world {lane}"
    assert len(set(counts)) > 2


def test_lanes_of_single_precision_find_the_same_contacts():
    """Sixteen worlds, with a margin so that the last digit decides about nothing."""
    model = kt.load(scene("box", 0.01))
    worlds = []
    for pose in random_poses(np.random.default_rng(4), 16):
        worlds.append(kt.Data(model))
        worlds[-1].qpos = pose
        kt.kinematics(model, worlds[-1])
    lanes = lanes_of(model, worlds, "float32")
    lanes.run(collision)
    for lane, world in enumerate(worlds):
        collision(model, world)
        assert (lanes.contact_dist[: int(lanes.ncon[0]), lane] < 1e9).sum() == world.ncon, f"world {lane}"


def test_a_step_over_terrain_is_mujocos():
    """A box, a ball and a capsule fall on rough ground: positions after 120 steps."""
    bodies = "".join(
        f'<body pos="{x} 0 .3"><freejoint/><geom type="{shape}" size="{OTHER_SIZES[shape]}" margin="1e-3"/></body>'
        for x, shape in ((-0.5, "box"), (0.0, "sphere"), (0.5, "capsule"))
    )
    mj = mujoco.MjModel.from_xml_string(
        '<mujoco><asset><hfield name="terrain" nrow="20" ncol="20" size="1 1 .1 .1"/></asset><worldbody>'
        f'<geom type="hfield" hfield="terrain"/>{bodies}</worldbody></mujoco>'
    )
    mj.hfield_data[:] = np.random.default_rng(5).uniform(size=mj.nhfielddata)
    theirs, model, ours = both(mj)
    touching = 0
    for _ in range(120):
        mujoco.mj_step(mj, theirs)
        kt.step(model, ours)
        touching += ours.ncon > 0
    assert touching > 40
    assert np.abs(ours.qpos - theirs.qpos).max() < 1e-5
