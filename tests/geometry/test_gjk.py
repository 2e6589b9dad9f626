"""Distances and depths of convex geoms against MuJoCo, and against all faces of the difference of small polytopes."""

from __future__ import annotations

import itertools
import math

import mujoco
import numpy as np
import pytest
from scipy.spatial import ConvexHull

import kinetree as kt
from kinetree.geometry.convex import convex
from kinetree.geometry.distance import geom_distance
from kinetree.geometry.driver import PAIRS
from tests.geometry.scenes import both, prism, random_pose, two_geoms, vertices

KINDS = ("sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")
POLYTOPES = ("box", "mesh")
GENERAL = [f"{a.name.lower()} {b.name.lower()}".split() for (a, b), row in PAIRS.items() if row is convex]
POSES = 100
SMOOTH, EXACT = 2e-6, 1e-12  # of curved shapes twice opt.ccd_tolerance; of polytopes rounding


def placed(mj, theirs, model, ours, pose):
    """Put both sides into a pose."""
    theirs.qpos[:] = pose
    mujoco.mj_kinematics(mj, theirs)
    ours.qpos = pose
    kt.kinematics(model, ours)


def corners(mj, data, g):
    """Corners of a box or vertices of a mesh, in the world."""
    if mj.geom_type[g] == mujoco.mjtGeom.mjGEOM_BOX:
        points = np.array(list(itertools.product((-1, 1), repeat=3))) * mj.geom_size[g]
    else:
        mesh = mj.geom_dataid[g]
        points = mj.mesh_vert[mj.mesh_vertadr[mesh] :][: mj.mesh_vertnum[mesh]].astype(float)
    return points @ data.geom_xmat[g].reshape(3, 3).T + data.geom_xpos[g]


@pytest.mark.parametrize("pair", GENERAL, ids=" ".join)
def test_distances_are_mujocos(pair):
    mj = two_geoms(*pair)
    theirs, model, ours = both(mj)
    rng = np.random.default_rng(len(pair[0]) + len(pair[1]))
    tolerance = EXACT if set(pair) <= set(POLYTOPES) else SMOOTH
    overlaps = 0
    for k in range(POSES):
        pose = np.concatenate((random_pose(rng, "any"), random_pose(rng, "any")))
        placed(mj, theirs, model, ours, pose)
        ends = np.zeros(6)
        wanted = mujoco.mj_geomDistance(mj, theirs, 0, 1, 10.0, ends)
        got, points = geom_distance(model, ours, "a", "b", 10.0)
        overlaps += wanted < 0
        assert abs(got - wanted) <= tolerance, f"{pair}, pose {k} {pose.tolist()}: {got} against MuJoCo's {wanted}"
        # MuJoCo's points may be others at the same distance; ours must have that distance
        assert np.linalg.norm(points[1] - points[0]) == pytest.approx(abs(got), abs=2 * tolerance), (pair, k)
    assert 5 < overlaps < POSES - 5


@pytest.mark.parametrize("second", [5, 12, 30])
@pytest.mark.parametrize("first", ["box", "mesh"])
def test_depth_is_that_of_the_nearest_face_of_the_difference(first, second):
    mj = two_geoms(first, "mesh", mesh=vertices(second, seed=second))
    theirs, model, ours = both(mj)
    rng = np.random.default_rng(second)
    for k in range(60):
        pose = np.concatenate((random_pose(rng, "any"), random_pose(rng, "any")))
        placed(mj, theirs, model, ours, pose)
        difference = (corners(mj, theirs, 0)[:, None] - corners(mj, theirs, 1)[None]).reshape(-1, 3)
        height = ConvexHull(difference).equations[:, 3].max()  # of the origin over the face it is least behind
        got, _ = geom_distance(model, ours, 0, 1)
        if height < -1e-6:
            assert got == pytest.approx(height, abs=1e-9), f"pose {k} {pose.tolist()}"
        elif height > 1e-6:
            assert got >= height - 1e-9, f"pose {k} {pose.tolist()}: apart by at least {height}, got {got}"


def test_closed_forms_are_met():
    mj = two_geoms("sphere", "box")
    theirs, model, ours = both(mj)
    identity = [1.0, 0.0, 0.0, 0.0]
    for x in (0.4, 0.15):
        placed(mj, theirs, model, ours, [x, 0, 0, *identity, 0, 0, 0, *identity])
        wanted = x - mj.geom_size[0, 0] - mj.geom_size[1, 0]
        assert geom_distance(model, ours, "a", "b")[0] == pytest.approx(wanted, abs=1e-9)


def test_beyond_the_cutoff():
    mj = two_geoms("mesh", "mesh")
    theirs, model, ours = both(mj)
    placed(mj, theirs, model, ours, [3.0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])
    dist, points = geom_distance(model, ours, 0, 1, 0.5)
    assert dist == 0.5 and not points.any()
    assert 2.0 < geom_distance(model, ours, 0, 1)[0] < 3.0
    assert geom_distance(model, ours, 0, 1, math.inf)[0] == geom_distance(model, ours, 1, 0)[0]


def needle() -> str:
    """A thin, long tetrahedron, with a vertex twice."""
    return "0 0 -.3  1e-4 0 .3  0 1e-4 .3  -1e-4 -1e-4 .3  -1e-4 -1e-4 .3"


def slab() -> str:
    """A prism that is almost flat."""
    return " ".join(f"{x} {y} {z}" for x in (-0.2, 0.2) for y in (-0.15, 0.15) for z in (-1e-5, 1e-5))


@pytest.mark.parametrize("second", ["box", "ellipsoid", "mesh", "capsule", "cylinder"])
@pytest.mark.parametrize("mesh", [needle(), slab(), prism(40)], ids=["needle", "slab", "prism"])
def test_thin_hulls_end_and_agree(mesh, second):
    """Distances are finite and not below MuJoCo's by more than the tolerance, in random and in exact poses."""
    mj = two_geoms(*sorted(("mesh", second), key=KINDS.index), mesh=mesh)
    theirs, model, ours = both(mj)
    rng = np.random.default_rng(3)
    for k in range(80):
        pose = np.concatenate([random_pose(rng, "any" if k % 2 else "right angles") for _ in range(2)])
        placed(mj, theirs, model, ours, pose)
        wanted = mujoco.mj_geomDistance(mj, theirs, 0, 1, 10.0, None)
        got, points = geom_distance(model, ours, 0, 1, 10.0)
        assert math.isfinite(got) and np.isfinite(points).all(), (second, k)
        if wanted > 1e-5:
            assert got == pytest.approx(wanted, abs=1e-5), f"{second}, pose {k} {pose.tolist()}"
