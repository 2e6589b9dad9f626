"""`kt.geom_distance` against MuJoCo for every pair of shapes, in both orders; what it leaves alone."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import CONTACT_CLOSED_FORM, CONTACT_CONVEX, CONVEX_POINTS
from kinetree.geometry.convex import convex
from kinetree.geometry.driver import PAIRS
from tests.geometry.scenes import SIZES, both, random_pose, two_geoms, vertices

SHAPES = ("plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")
NAMES = [f"{a} {b}" for i, a in enumerate(SHAPES) for b in SHAPES[max(i, 1) :]]
EXACT = ("sphere", "capsule", "box", "mesh")
REACHES = (5.0, 0.05, 0.0)


def tolerances(pair):
    """Of distances and of points."""
    kinds = pair.split()
    row = PAIRS[tuple(kt.GeomType[kind.upper()] for kind in kinds)]
    exact = row is not convex or set(kinds) <= set(EXACT)
    return (CONTACT_CLOSED_FORM,) * 2 if exact else (CONTACT_CONVEX, CONVEX_POINTS)


def put(mj, theirs, model, ours, pose):
    """Both sides into a pose; the first geom of a plane stays, and the other is lifted."""
    theirs.qpos[:] = pose
    if mj.nq == 7:
        theirs.qpos[2] += 0.2
    mujoco.mj_kinematics(mj, theirs)
    ours.qpos = theirs.qpos
    kt.kinematics(model, ours)


@pytest.mark.parametrize("rotation", ["any", "right angles"])
@pytest.mark.parametrize("pair", NAMES)
def test_distances_and_points_are_mujocos(pair, rotation):
    mj = two_geoms(*pair.split())
    theirs, model, ours = both(mj)
    rng = np.random.default_rng(len(pair))
    near, ends = tolerances(pair)
    signs = set()
    for k in range(60):
        put(mj, theirs, model, ours, np.concatenate([random_pose(rng, rotation) for _ in range(mj.nq // 7)]))
        before = ours.ncon
        for first, second in ((0, 1), (1, 0)):
            for reach in REACHES:
                segment = np.zeros(6)
                wanted = mujoco.mj_geomDistance(mj, theirs, first, second, reach, segment)
                got, points = kt.geom_distance(model, ours, first, second, reach)
                what = f"{pair}, pose {k} {theirs.qpos.tolist()}, geoms {first} {second}, within {reach}"
                assert abs(got - wanted) <= near, f"{what}: {got} against {wanted}"
                signs.add((reach, bool(wanted < 0), bool(wanted < reach)))
                if got < reach:
                    apart = np.linalg.norm(points[1] - points[0])
                    assert abs(apart - abs(got)) <= 2 * near, f"{what}: points are {apart} apart, not {got}"
                if rotation == "any":  # else several pairs of points may be equally near
                    error = np.abs(points.ravel() - segment).max()
                    assert error <= ends, f"{what}: {points.ravel()} against {segment}"
        assert ours.ncon == before
    assert {(0.0, True, True), (0.0, False, False), (0.05, False, True), (0.05, False, False)} <= signs


@pytest.mark.parametrize("pair", ["sphere sphere", "plane box", "mesh mesh", "box box"])
def test_names_and_no_limit(pair):
    mj = two_geoms(*pair.split())
    theirs, model, ours = both(mj)
    put(mj, theirs, model, ours, [0, 0, 3.0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0][: mj.nq])
    dist, points = kt.geom_distance(model, ours, "a", "b")
    assert type(dist) is float and points.shape == (2, 3)
    assert dist == pytest.approx(mujoco.mj_geomDistance(mj, theirs, 0, 1, 1e3, None), abs=1e-12)
    assert kt.geom_distance(model, ours, "a", "b", math.inf)[0] == dist
    back, swapped = kt.geom_distance(model, ours, "b", "a")
    assert back == pytest.approx(dist, abs=1e-12) and np.allclose(swapped, points[::-1], atol=1e-9)


def test_contacts_stay():
    """A query between two steps leaves contacts, rows and forces as they were."""
    model = kt.load(two_geoms("plane", "capsule"))
    data = kt.Data(model)
    data.qpos[2] = 0.05
    kt.forward(model, data)
    assert data.ncon > 0
    kept = data.contact_pos.copy(), data.efc_force.copy(), data.ncon
    for _ in range(3):
        kt.geom_distance(model, data, "a", "b", 10.0)
    assert data.ncon == kept[2]
    np.testing.assert_array_equal(data.contact_pos, kept[0])
    np.testing.assert_array_equal(data.efc_force, kept[1])


def test_planes_have_no_distance():
    """As in MuJoCo: the greatest distance, and no points."""
    model = kt.load(
        '<mujoco><worldbody><geom type="plane" size="1 1 1"/><geom type="plane" size="1 1 1" pos="0 0 1"/></worldbody></mujoco>'
    )
    data = kt.Data(model)
    kt.kinematics(model, data)
    for limit in (2.0, math.inf):
        dist, points = kt.geom_distance(model, data, 0, 1, limit)
        assert dist == limit and not points.any()


def test_bad_arguments():
    model = kt.load(two_geoms("sphere", "box"))
    data = kt.Data(model)
    with pytest.raises(ValueError, match="nothing is in its place yet"):
        kt.geom_distance(model, data, "a", "b")
    kt.kinematics(model, data)
    with pytest.raises(KeyError, match="geom"):
        kt.geom_distance(model, data, "a", "c")
    with pytest.raises(ValueError, match="distmax"):
        kt.geom_distance(model, data, "a", "b", math.nan)
    with pytest.raises(TypeError):
        kt.geom_distance(model, 3, "a", "b")


@pytest.mark.parametrize("kind", SHAPES[1:])
def test_height_fields(kind):
    """Their prisms are looked at one by one, and the nearest counts."""
    form = 'mesh="shape"' if kind == "mesh" else f'size="{SIZES[kind]}"'
    heights = " ".join(f"{x:.3f}" for x in np.random.default_rng(1).random(81))
    mj = mujoco.MjModel.from_xml_string(
        f"""<mujoco><asset><mesh name="shape" vertex="{vertices(20)}"/>
        <hfield name="hills" nrow="9" ncol="9" size="1 1 .3 .1" elevation="{heights}"/></asset><worldbody>
        <geom name="hills" type="hfield" hfield="hills"/><geom name="floor" type="plane" size="1 1 1"/>
        <body><freejoint/><geom name="stone" type="{kind}" {form}/></body></worldbody></mujoco>"""
    )
    theirs, model, ours = both(mj)
    rng, same, total = np.random.default_rng(0), 0, 0
    for _ in range(60):
        pose = random_pose(rng, "any")
        theirs.qpos[:] = [*(3 * pose[:2]), rng.uniform(0.05, 0.7), *pose[3:]]
        mujoco.mj_kinematics(mj, theirs)
        ours.qpos = theirs.qpos
        kt.kinematics(model, ours)
        for first, second in ((0, 2), (2, 0)):
            for limit in (0.0, 0.05, 2.0):
                reach = limit
                wanted = mujoco.mj_geomDistance(mj, theirs, first, second, reach, None)
                while 0 < wanted < reach:  # it counts fifty prisms within reach: is another nearer?
                    reach, wanted = wanted, mujoco.mj_geomDistance(mj, theirs, first, second, wanted, None)
                same += abs(kt.geom_distance(model, ours, first, second, limit)[0] - wanted) <= CONTACT_CONVEX
                total += 1
    least = 0.97 if kind in ("box", "mesh") else 1.0  # these have several contacts with a prism
    assert same >= least * total, f"{same} of {total}"
    assert kt.geom_distance(model, ours, "hills", "floor", 3.0)[0] == 3.0


@pytest.mark.parametrize("height", [0.05, 0.1001, 0.3, 3.0])
def test_a_wide_field_is_searched_until_nothing_is_nearer(height):
    """Closed form: a ball over flat ground of more prisms than count at a time."""
    model = kt.load(
        '<mujoco><asset><hfield name="h" nrow="25" ncol="25" size="1 1 .25 .1"/></asset><worldbody>'
        f'<geom type="hfield" hfield="h"/><body pos="0 0 {height}"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    data = kt.Data(model)
    kt.kinematics(model, data)
    for geoms in ((0, 1), (1, 0)):
        dist, points = kt.geom_distance(model, data, *geoms)
        assert dist == pytest.approx(height - 0.1, abs=1e-9)
        assert points[geoms.index(0), 2] == pytest.approx(0.0, abs=1e-9)
