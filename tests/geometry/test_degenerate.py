"""Shapes in one place, and hulls that are flat, thin or repeat themselves: contacts where shapes overlap, and always an end."""

from __future__ import annotations

import itertools
import math

import mujoco
import numpy as np
import pytest
from scipy.spatial import ConvexHull

import kinetree as kt
from kinetree import geom_distance
from kinetree.conformance.poses import square_quaternion
from kinetree.conformance.states import random_quaternion
from kinetree.geometry.convex import convex
from kinetree.geometry.driver import PAIRS, collision
from kinetree.types import GeomType
from tests.geometry.scenes import OTHER_SIZES, SIZES, both, detect, prism, vertices
from tests.geometry.test_gjk import corners, placed

CUBE = " ".join(f"{x} {y} {z}" for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1))
HULLS = {"ball": vertices(20), "wedge": prism(3), "block": prism(4), "drum": prism(40), "cube": CUBE}
SOLIDS = ("sphere", "capsule", "ellipsoid", "cylinder", "box", *HULLS)
THIN = {  # what the compiler lets through, some of it only with another way to get its inertia
    "needle": "0 0 -.3  1e-4 0 .3  0 1e-4 .3  -1e-4 -1e-4 .3",
    "slab": " ".join(f"{x} {y} {z}" for x in (-0.2, 0.2) for y in (-0.15, 0.15) for z in (-1e-5, 1e-5)),
    "leaf": " ".join(f"{x} {y} {z}" for x in (-0.2, 0.2) for y in (-0.15, 0.15) for z in (-1e-8, 1e-8)),
    "repeated": " ".join([CUBE] * 3),
    "nearly repeated": f"{CUBE} " + CUBE.replace("0.1", "0.100000001"),
    "splinter": "0 0 0  .3 0 0  .3 1e-6 0  .15 0 1e-6",
    "on edges": CUBE + " 0 .1 .1  0 -.1 .1  .1 0 .1  .1 .1 0  0 0 .1",
    "huge": " ".join(f"{100 * float(x)}" for x in CUBE.split()),
    "tiny": " ".join(f"{1e-3 * float(x)}" for x in CUBE.split()),
}  # fmt: skip
SQUASHED = {  # what becomes of the vertices of a cube that is edited at run time
    "flat": np.array([1.0, 1.0, 0.0]), "line": np.array([1.0, 0.0, 0.0]), "point": np.zeros(3),
    "inside out": np.array([-1.0, 1.0, 1.0]), "huge": np.full(3, 1e6),
}  # fmt: skip
POSES = 40
AROUND = 2e-4  # m; what 300 steps of EPA leave of a depth that is the same in all directions


def model_of(first, second, hulls, sizes=OTHER_SIZES):
    """Two geoms on free bodies; names of shapes or of hulls."""

    def geom(kind, sizes):
        return f'type="mesh" mesh="{kind}"' if kind in hulls else f'type="{kind}" size="{sizes[kind]}"'

    assets = "".join(f'<mesh name="{name}" vertex="{text}" inertia="convex"/>' for name, text in hulls.items())
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><asset>{assets}</asset><worldbody><body>{inertial}<freejoint/><geom name="a" {geom(first, SIZES)}/></body>'
        f'<body>{inertial}<freejoint/><geom name="b" {geom(second, sizes)}/></body></worldbody></mujoco>'
    )


@pytest.mark.parametrize("pair", list(itertools.combinations_with_replacement(SOLIDS, 2)), ids=" ".join)
def test_shapes_around_one_centre_touch(pair):
    """Equal and different shapes, turned by right angles or not, exactly in one place or nearly: there is no way out of these.

    The closed forms of MuJoCo miss some capsules in boxes, and ours with them.
    """
    rng = np.random.default_rng(6)
    turns = [np.array([1.0, 0, 0, 0]), *(square_quaternion(rng) for _ in range(3)), random_quaternion(rng)]
    for sizes in (SIZES, OTHER_SIZES):
        mj = model_of(*pair, HULLS, sizes)
        theirs, model, ours = both(mj)
        for first, second, shift in itertools.product(turns, turns, (0.0, 1e-17, 1e-15, 1e-12, 1e-9, 1e-6)):
            theirs.qpos[:] = np.concatenate(([0, 0, 0], first, [shift, -shift, 0.5 * shift], second))
            detect(mj, theirs, model, ours)
            known = pair == ("capsule", "box") and theirs.ncon == 0
            assert ours.ncon > 0 or known, f"{pair}: no contact at {theirs.qpos.tolist()}"
            assert np.isfinite(ours.contact_pos).all() and np.isfinite(ours.contact_frame).all()


def about(axis, angle):
    """A turn about an axis."""
    return np.array([math.cos(0.5 * angle), *(math.sin(0.5 * angle) * np.array(axis))])


def spun(rng, count):
    """Orientations of two shapes: square, about an axis or any, the second as the first but spun about their common z axis."""
    bases = (
        lambda: np.array([1.0, 0, 0, 0]),
        lambda: square_quaternion(rng),
        lambda: about((1, 0, 0), rng.uniform(0, 2 * math.pi)),
        lambda: about((0, 1, 0), rng.uniform(0, 2 * math.pi)),
        lambda: random_quaternion(rng),
    )
    out = []
    for k in range(count):
        first, second = bases[k % 5](), np.zeros(4)
        mujoco.mju_mulQuat(second, first, about((0, 0, 1), rng.uniform(0, 2 * math.pi) * (k // 5 % 3 > 0)))
        out.append((first, second))
    return out


def fill_in(pair, size, iterations):
    """A shape and one `size` times as large; how many steps GJK and EPA may take."""
    hulls = {name: HULLS[name] for name in pair if name in HULLS}
    scaled = {name: " ".join(str(size * float(x)) for x in text.split()) for name, text in SIZES.items()}
    inner = pair[1]
    if inner in HULLS:
        inner = f"inner {inner}"
        hulls[inner] = " ".join(str(size * float(x)) for x in HULLS[pair[1]].split())
    mj = model_of(pair[0], inner, hulls, scaled)
    mj.opt.ccd_iterations = iterations
    return mj


def coaxial(pair, iterations, count, visit):
    """Visit shapes on one axis: equal and nested, in one place or hairs apart along the axis, across or anywhere."""
    rng = np.random.default_rng(11)
    for size in (1.0, 0.5, 0.8, 1.7):
        mj = fill_in(pair, size, iterations)
        theirs, model, ours = both(mj)
        for k, (first, second) in enumerate(spun(rng, count)):
            axis = np.zeros(3)
            mujoco.mju_rotVecQuat(axis, np.array([0, 0, 1.0]), first)
            way = (axis, np.array([1.0, 0, 0]), rng.normal(size=3))[k % 3]
            for shift in (0.0, 1e-12, 1e-10, 1e-8, 1e-6):
                placed(mj, theirs, model, ours, np.concatenate(([0, 0, 0], first, shift * way, second)))
                mujoco.mj_collision(mj, theirs)
                collision(model, ours)
                visit(mj, theirs, model, ours, f"{pair}, {size} times as large, at {theirs.qpos.tolist()}")


ITERATED = [
    pair
    for pair in itertools.combinations_with_replacement(SOLIDS, 2)
    if PAIRS[tuple(GeomType.MESH if name in HULLS else GeomType[name.upper()] for name in pair)] is convex
]


@pytest.mark.parametrize("pair", ITERATED, ids=" ".join)
def test_shapes_on_one_axis_touch(pair):
    """Also where MuJoCo misses them, as equal cubes."""

    def visit(mj, theirs, model, ours, what):
        assert ours.ncon > 0, f"{what}: no contact, MuJoCo has {theirs.ncon}"
        assert geom_distance(model, ours, 0, 1)[0] < -0.01, f"{what}: no depth"

    coaxial(pair, 35, 20, visit)


@pytest.mark.parametrize("pair", ITERATED, ids=" ".join)
def test_shapes_on_one_axis_are_as_deep_as_in_mujoco(pair):
    """Given the steps that round shapes need, where any direction is as good as another."""

    def visit(mj, theirs, model, ours, what):
        wanted, got = mujoco.mj_geomDistance(mj, theirs, 0, 1, 1.0, np.zeros(6)), geom_distance(model, ours, 0, 1)[0]
        assert wanted >= 0.0 or got == pytest.approx(wanted, abs=AROUND), f"{what}: distance"
        if theirs.ncon:
            wanted, got = theirs.contact.dist.min(), ours.contact_dist.min()
            assert got == pytest.approx(wanted, abs=AROUND), f"{what}: contact"

    coaxial(pair, 300, 5, visit)


@pytest.mark.parametrize("pair", ["sphere ellipsoid", "capsule ellipsoid", "ellipsoid ellipsoid", "ellipsoid box"])
def test_centres_hairs_apart_give_mujocos_depth(pair):
    """Where EPA runs out of steps its depth hangs on the direction that GJK began with: from centre to centre, however near."""
    mj = model_of(*pair.split(), {})
    theirs, model, ours = both(mj)
    rng = np.random.default_rng(13)
    for shift in (1e-14, 1e-12, 1e-10, 1e-8, 1e-7, 9e-7, 1e-5):
        for _ in range(10):
            way = rng.normal(size=3)
            turns = random_quaternion(rng), shift * way / np.linalg.norm(way), random_quaternion(rng)
            placed(mj, theirs, model, ours, np.concatenate(([0, 0, 0], *turns)))
            wanted = mujoco.mj_geomDistance(mj, theirs, 0, 1, 1.0, None)
            got, _ = geom_distance(model, ours, 0, 1)
            assert got == pytest.approx(wanted, abs=1e-6), f"{pair} at {theirs.qpos.tolist()}"


def own_depths(mj, data):
    """What MuJoCo finds in this pose and a last digit beside it: EPA may end on a triangle next to the nearest."""
    rng, pose, out = np.random.default_rng(1), data.qpos.copy(), []
    for size in (0.0, *np.repeat([1e-16, 1e-15], 20)):
        data.qpos[:] = pose + size * rng.normal(size=pose.size)
        mujoco.mj_kinematics(mj, data)
        out.append(mujoco.mj_geomDistance(mj, data, 0, 1, 10.0, None))
    data.qpos[:] = pose
    mujoco.mj_kinematics(mj, data)
    return [depth for depth in out if depth < 0.0]


@pytest.mark.parametrize("pair", list(itertools.combinations_with_replacement(("box", *HULLS), 2)), ids=" ".join)
def test_their_depth_is_that_of_the_nearest_face(pair):
    """In one place, where EPA has to be helped: against all faces of the difference."""
    mj = model_of(*pair, HULLS, SIZES)
    mj.opt.ccd_iterations = 500  # two drums have 6400 corners
    theirs, model, ours = both(mj)
    rng = np.random.default_rng(7)
    turns = [np.array([1.0, 0, 0, 0]), square_quaternion(rng), random_quaternion(rng)]
    for first, second, shift in itertools.product(turns, turns, (0.0, 1e-15, 1e-9)):
        placed(mj, theirs, model, ours, np.concatenate(([0, 0, 0], first, [shift, -shift, 0.5 * shift], second)))
        difference = (corners(mj, theirs, 0)[:, None] - corners(mj, theirs, 1)[None]).reshape(-1, 3)
        wanted = ConvexHull(difference).equations[:, 3].max()
        got, _ = geom_distance(model, ours, 0, 1)
        what = f"{pair} at {theirs.qpos.tolist()}: {got}, not {wanted}"
        near = abs(got - wanted) < 1e-5
        assert near or min(abs(got - other) for other in own_depths(mj, theirs)) < 1e-9, what


@pytest.mark.parametrize("second", ["sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"])
@pytest.mark.parametrize("hull", THIN)
def test_thin_hulls_end(hull, second):
    """Contacts and distances are finite in random and exact poses, near and far."""
    hulls = {hull: THIN[hull], "mesh": vertices(12)}
    pair = (hull, "mesh") if second == "mesh" else (second, hull)
    model = kt.load(model_of(*pair, hulls))
    data = kt.Data(model)
    rng = np.random.default_rng(8)
    for k in range(POSES):
        turns = [random_quaternion(rng) if k % 2 else square_quaternion(rng) for _ in range(2)]
        place = rng.uniform(-0.1, 0.1, 3) * (k % 3)
        data.qpos = np.concatenate(([0, 0, 0], turns[0], place, turns[1]))
        kt.kinematics(model, data)
        collision(model, data)
        assert np.isfinite(data.contact_pos).all() and np.isfinite(data.contact_frame).all(), (hull, second, k)
        dist, ends = geom_distance(model, data, 0, 1)
        assert math.isfinite(dist) and np.isfinite(ends).all(), (hull, second, k)
    kt.forward(model, data)
    assert np.isfinite(data.qacc).all()


@pytest.mark.parametrize("second", ["sphere", "ellipsoid", "box", "cube"])
@pytest.mark.parametrize("how", SQUASHED)
def test_meshes_edited_at_run_time_end(how, second):
    model = kt.load(model_of(*(("cube", "cube") if second == "cube" else (second, "cube")), HULLS))
    model.mesh_vert[:] = (model.mesh_vert * SQUASHED[how]).astype(np.float32)
    data = kt.Data(model)
    rng = np.random.default_rng(9)
    for k in range(POSES):
        turns = [random_quaternion(rng) if k % 2 else square_quaternion(rng) for _ in range(2)]
        data.qpos = np.concatenate(([0, 0, 0], turns[0], rng.uniform(-0.05, 0.05, 3) * (k % 3), turns[1]))
        kt.kinematics(model, data)
        collision(model, data)
        assert np.isfinite(data.contact_pos).all() and np.isfinite(data.contact_dist).all(), (how, second, k)


def test_boxes_that_just_touch_have_no_contact():
    """Helping EPA must not make contacts of nothing."""
    mj = model_of("box", "cube", HULLS, SIZES)
    theirs, model, ours = both(mj)
    for axis in range(3):
        place = np.zeros(3)
        place[axis] = mj.geom_size[0, axis] + 0.1 + 1e-8
        for turn in ([1.0, 0, 0, 0], [0.0, 0, 0, 1.0]):
            placed(mj, theirs, model, ours, np.concatenate(([0, 0, 0], [1.0, 0, 0, 0], place, turn)))
            collision(model, ours)
            assert ours.ncon == 0, f"axis {axis}: {ours.contact_dist}"
