"""Contacts of convex pairs without a closed form against MuJoCo: sets of contacts, margins, faces that lie on each other."""

from __future__ import annotations

import platform

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.poses import square_quaternion
from kinetree.conformance.states import random_quaternion
from kinetree.geometry.convex import convex
from kinetree.geometry.driver import PAIRS, collision
from tests.geometry.scenes import both, detect, prism, random_pose, rows, two_geoms, vertices

NAMES = [f"{a.name.lower()} {b.name.lower()}" for (a, b), row in PAIRS.items() if row is convex]
EXACT = {"sphere mesh", "capsule mesh", "box mesh", "mesh mesh"}
DIGITS = 1e-13  # m: all but the last
SAME = 1e-5  # m: curved surfaces are found to opt.ccd_tolerance, and their nearest points less well
SHARE = {True: 1.0, False: 0.95}  # of poses with MuJoCo's set of contacts, for pairs that are exact or not
POSES = 150


def listed(pair, margin=0.0, mesh="", flags=""):
    """Two geoms that collide as an explicit pair."""
    mj = two_geoms(*pair.split(), 'contype="0" conaffinity="0"', f'<pair geom1="a" geom2="b" margin="{margin}"/>', mesh)
    if flags == "one contact":
        mj.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MULTICCD
    return mj


def difference(theirs, ours):
    """Largest difference of distances and places between two sets of contacts, infinite if their sizes differ."""
    if theirs.ncon != ours.ncon:
        return np.inf
    free, worst = list(range(ours.ncon)), 0.0
    for k in range(theirs.ncon):
        near = min(free, key=lambda j: np.linalg.norm(rows(ours, "pos")[j] - theirs.contact.pos[k]))
        free.remove(near)
        worst = max(worst, np.abs(rows(ours, "pos")[near] - theirs.contact.pos[k]).max())
        worst = max(worst, abs(ours.contact_dist[near] - theirs.contact.dist[k]))
    return worst


def share(mj, poses, what, tolerance):
    """Share of the poses with contact in which both sides have the same set of contacts."""
    theirs, model, ours = both(mj)
    same = touching = several = 0
    for pose in poses:
        theirs.qpos[:] = pose
        detect(mj, theirs, model, ours)
        touching += theirs.ncon > 0
        several += theirs.ncon > 1
        same += theirs.ncon > 0 and difference(theirs, ours) <= tolerance
        assert (theirs.ncon > 0) == (ours.ncon > 0), (
            f"{what}: {ours.ncon} contacts against MuJoCo's {theirs.ncon} in {pose.tolist()}"
        )
    assert touching > len(poses) // 6, f"{what}: {touching} of {len(poses)} poses touch"
    return same / touching, several


@pytest.mark.parametrize("flags", ["several contacts", "one contact"])
@pytest.mark.parametrize("margin", [0.0, 0.03, -0.02])
@pytest.mark.parametrize("pair", NAMES)
def test_random_poses(pair, margin, flags):
    rng = np.random.default_rng(len(pair))
    poses = [np.concatenate([random_pose(rng, "any") for _ in range(2)]) for _ in range(POSES)]
    what, exact = f"{pair}, margin {margin}, {flags}", pair in EXACT
    found, _ = share(listed(pair, margin, flags=flags), poses, what, 1e-9 if exact else SAME)
    assert found >= SHARE[exact], f"{what}: the same contacts in {found:.3f} of the poses"


def on_top(rng, tilt):
    """Poses in which the second geom lies on the first, nearly parallel to its faces."""
    turn = np.array([1.0, *(tilt * rng.normal(size=2)), rng.uniform(-2, 2)])
    place = [*rng.uniform(-0.05, 0.05, 2), 0.0]
    return np.concatenate((place, [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0], turn / np.linalg.norm(turn)))


@pytest.mark.parametrize("mesh", [prism(3), prism(4), prism(8), prism(40)], ids=["3", "4", "8", "40"])
@pytest.mark.parametrize("pair", ["box mesh", "mesh mesh", "cylinder mesh"])
def test_faces_on_faces(pair, mesh):
    """Four contacts where faces lie on each other, and MuJoCo's four but for ties of equal areas."""
    mj = listed(pair, mesh=mesh)
    rng = np.random.default_rng(2)
    half = {"box": mj.geom_size[0, 2], "mesh": 0.07, "cylinder": mj.geom_size[0, 1]}[pair.split()[0]]
    poses = []
    for _ in range(60):
        pose = on_top(rng, 3e-3)
        pose[9] = half + 0.07 - 0.003
        poses.append(pose)
    found, several = share(mj, poses, f"{pair} on faces", SAME)
    assert several > 40 and found > 0.9, f"{pair}: the same contacts in {found:.3f}, several in {several}"


def pushed_in(rng, mj, theirs, first, second, depth):
    """Move the second geom along a random direction until it is as deep in the first as wanted."""
    way = rng.normal(size=3)
    way /= np.linalg.norm(way)
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        theirs.qpos[:] = np.concatenate(([0, 0, 0], first, middle * way, second))
        mujoco.mj_kinematics(mj, theirs)
        inside = mujoco.mj_geomDistance(mj, theirs, 0, 1, 1.0, None) < -depth
        low, high = (middle, high) if inside else (low, middle)


def contacts_of(theirs):
    """Depths and places of their contacts, one row for each."""
    return np.column_stack((theirs.contact.dist, theirs.contact.pos))


def is_settled(rng, mj, theirs, other):
    """Whether their contacts stay the same, in the same order, when everything moves by some rounding errors."""
    wanted = contacts_of(theirs)
    for _ in range(30):
        other.qpos[:] = theirs.qpos + 1e-12 * rng.normal(size=14)
        mujoco.mj_kinematics(mj, other)
        mujoco.mj_collision(mj, other)
        got = contacts_of(other)
        if got.shape != wanted.shape or np.abs(got - wanted).max() > SAME:
            return False
    return True


@pytest.mark.parametrize("mesh", [prism(8), vertices(20)], ids=["prism", "stone"])
@pytest.mark.parametrize("pair", ["cylinder box", "cylinder mesh", "capsule mesh", "box mesh", "mesh mesh"])
def test_order_is_mujocos_where_that_is_settled(pair, mesh):
    """Lines and faces nearly parallel to faces, or in any pose, to the last contact."""
    mj = two_geoms(*pair.split(), mesh=mesh)
    theirs, model, ours = both(mj)
    other, rng = mujoco.MjData(mj), np.random.default_rng(12)
    lines = faces = 0
    for k in range(120):
        first, second = random_quaternion(rng), random_quaternion(rng)
        if k % 4:
            first, second = np.array([1.0, 0, 0, 0]), square_quaternion(rng) + 1e-3 * rng.normal(size=4)
        pushed_in(rng, mj, theirs, first, second / np.linalg.norm(second), rng.uniform(0, 3e-3))
        detect(mj, theirs, model, ours)
        if theirs.ncon and is_settled(rng, mj, theirs, other):
            got, wanted = np.column_stack((ours.contact_dist, ours.contact_pos)), contacts_of(theirs)
            equal = got.shape == wanted.shape and np.abs(got - wanted).max() < SAME
            assert equal, f"{pair}: {got} against MuJoCo's {wanted} in {theirs.qpos.tolist()}"
            lines, faces = lines + (theirs.ncon == 2), faces + (theirs.ncon > 3)
    assert lines > 5 and (faces > 5 or mesh != prism(8) or pair == "capsule mesh"), (
        f"{pair}: {lines} lines, {faces} faces"
    )


def lying_square(rng, mj, theirs):
    """Axes along axes, places in whole tenths of millimetres: everything that could be a tie is one."""
    axis, turn = rng.integers(3), square_quaternion(rng)
    aside = np.where(np.arange(3) == axis, 0.0, rng.choice([0.0, 0.0, 0.01, 0.03, -0.02], 3))
    way = rng.choice([-1.0, 1.0]) * np.eye(3)[axis]
    reaches, k, distance = np.arange(0.5, 0.0, -5e-4).round(4), 0, 1.0
    while distance >= -1e-6 and k < len(reaches):
        theirs.qpos[:] = np.concatenate(([0, 0, 0, 1, 0, 0, 0], reaches[k] * way + aside, turn))
        mujoco.mj_kinematics(mj, theirs)
        distance = mujoco.mj_geomDistance(mj, theirs, 0, 1, 1.0, None)
        k += max(1, int(distance / 5e-4) - 1)  # as far as they are apart, they cannot meet


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="elsewhere MuJoCo's compiler may fuse products and sums"
)
@pytest.mark.parametrize("kind", ["tilted", "square"])
@pytest.mark.parametrize("pair", ["cylinder box", "cylinder cylinder", "cylinder mesh", "box mesh", "mesh mesh"])
def test_same_digits_same_choice(pair, kind):
    """Caps have many quadrilaterals of one size and squares many triangles at one depth: MuJoCo's, where digits choose too."""
    mj = two_geoms(*pair.split(), mesh=prism(8))
    theirs, model, ours = both(mj)
    rng, several = np.random.default_rng(21), 0
    for _ in range(150):
        if kind == "square":
            lying_square(rng, mj, theirs)
        else:
            turn = square_quaternion(rng) + 1e-3 * rng.normal(size=4)
            pushed_in(rng, mj, theirs, np.array([1.0, 0, 0, 0]), turn / np.linalg.norm(turn), rng.uniform(0, 3e-3))
        detect(mj, theirs, model, ours)
        got, wanted = np.column_stack((ours.contact_dist, ours.contact_pos)), contacts_of(theirs)
        equal = got.shape == wanted.shape and np.abs(got - wanted).max(initial=0.0) < DIGITS
        assert equal, f"{pair}: {got} against MuJoCo's {wanted} in {theirs.qpos.tolist()}"
        several += theirs.ncon > 1
    assert several > 50, f"{pair}: several contacts in {several} poses"


@pytest.mark.parametrize("pair", ["ellipsoid ellipsoid", "cylinder box", "capsule mesh", "mesh mesh"])
def test_lanes_are_floats(pair):
    """Eight worlds in different poses, some apart."""
    model = kt.load(listed(pair, 0.01))
    rng = np.random.default_rng(4)
    worlds = []
    for _ in range(8):
        data = kt.Data(model)
        data.qpos = np.concatenate([random_pose(rng, "any") for _ in range(2)])
        kt.kinematics(model, data)
        worlds.append(data)
    lanes = lanes_of(model, worlds)
    lanes.run(collision)
    counts = []
    for lane, world in enumerate(worlds):
        collision(model, world)
        counts.append(world.ncon)
        there = lanes.contact_dist[: int(lanes.ncon[0]), lane] < 1e9
        assert there.sum() == world.ncon, f"{pair}, world {lane}"
        got, wanted = lanes.contact_pos[: int(lanes.ncon[0]), :, lane][there], world.contact_pos[: world.ncon]
        assert np.abs(got - wanted).max(initial=0.0) < 1e-9, f"{pair}, world {lane}"
    assert len(set(counts)) > 1


def test_a_stack_of_meshes_rests():
    """Four prisms on a plane stay where they are."""
    boxes = "".join(
        f'<body pos="0 0 {0.07 + 0.14 * k}"><freejoint/><geom type="mesh" mesh="shape"/></body>' for k in range(4)
    )
    model = kt.load(
        f'<mujoco><asset><mesh name="shape" vertex="{prism(8)}"/></asset><worldbody><geom type="plane" size="1 1 1"/>'
        f"{boxes}</worldbody></mujoco>"
    )
    data = kt.Data(model)
    kt.forward(model, data)
    start = data.xpos.copy()
    for _ in range(300):
        kt.step(model, data)
    assert np.abs(data.xpos - start).max() < 3e-3
    assert np.abs(data.qvel).max() < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_random_heaps_neither_crash_nor_explode(seed):
    rng = np.random.default_rng(seed)
    kinds = [
        'type="ellipsoid" size=".06 .08 .1"',
        'type="cylinder" size=".06 .08"',
        'type="mesh" mesh="a"',
        'type="mesh" mesh="b"',
    ]
    bodies = "".join(
        f'<body pos="{x:.3f} {y:.3f} {0.15 + 0.2 * k:.3f}" quat="{" ".join(f"{c:.4f}" for c in random_quaternion(rng))}">'
        f"<freejoint/><geom {kinds[k % 4]}/></body>"
        for k, (x, y) in enumerate(rng.uniform(-0.05, 0.05, (6, 2)))
    )
    model = kt.load(
        f'<mujoco><asset><mesh name="a" vertex="{vertices(12, seed)}"/><mesh name="b" vertex="{prism(5)}"/></asset>'
        f'<worldbody><geom type="plane" size="2 2 1"/>{bodies}</worldbody></mujoco>'
    )
    data = kt.Data(model)
    for _ in range(300):
        kt.step(model, data)
    assert np.isfinite(data.qpos).all() and np.abs(data.qvel).max() < 20.0
    assert data.xpos[1:, 2].min() > 0.0
