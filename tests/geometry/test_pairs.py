"""Every pair of shapes with a closed form against MuJoCo, in poses apart, touching, deep and degenerate."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kinetree.conformance.poses import square_quaternion
from kinetree.conformance.states import random_quaternion
from kinetree.geometry.convex import convex
from kinetree.geometry.driver import PAIRS
from kinetree.geometry.hfield import terrain
from kinetree.types import GeomType
from tests.geometry.scenes import ROTATIONS, agree, both, detect, prism, random_pose, two_geoms, vertices

POSES = 150
SHAPES = [kind.name.lower() for kind in GeomType if kind <= GeomType.MESH]
NAMES = [f"{a.name.lower()} {b.name.lower()}" for (a, b), row in PAIRS.items() if row not in (convex, terrain)]
MESHES = {
    "5 vertices": vertices(5),
    "40 vertices": vertices(40),
    "triangle": prism(3),
    "square": prism(4),
    "octagon": prism(8),
}


def listed(pair, margin=0.0, gap=0.0, mesh=""):
    """Two geoms that collide as an explicit pair: MuJoCo's broad phase may separate what its narrow phase would not."""
    contact = f'<pair geom1="a" geom2="b" margin="{margin}" gap="{gap}"/>'
    return two_geoms(*pair.split(), 'contype="0" conaffinity="0"', contact, mesh)


def in_order(pair, rotation="right angles"):
    """Whether the order is MuJoCo's too: if boxes are parallel, rounding chooses the face from which the list starts."""
    return pair != "box box" or rotation == "any"


def compare(mj, poses, what, ordered=True):
    """Contacts in all poses; returns how many poses have some."""
    theirs, model, ours = both(mj)
    touching = 0
    for k, pose in enumerate(poses):
        theirs.qpos[:] = pose[-mj.nq :]
        detect(mj, theirs, model, ours)
        agree(theirs, ours, f"{what}, pose {k} {pose.tolist()}", ordered)
        touching += theirs.ncon > 0
    return touching


@pytest.mark.parametrize("margin, gap", [(0.0, 0.0), (0.03, 0.02), (-0.02, 0.03)])
@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("pair", NAMES)
def test_random_poses(pair, rotation, margin, gap):
    rng = np.random.default_rng(len(pair))
    poses = [np.concatenate([random_pose(rng, rotation), random_pose(rng, rotation)]) for _ in range(POSES)]
    what = f"{pair}, {rotation}, margin {margin}, gap {gap}"
    touching = compare(listed(pair, margin, gap), poses, what, in_order(pair, rotation))
    assert POSES // 5 < touching < POSES, f"{what}: {touching} of {POSES} poses touch"


@pytest.mark.parametrize("pair", NAMES)
def test_parallel_axes(pair):
    """Both geoms have the same rotation; along one axis after the other they are side by side.

    Where a capsule lies beside a box, the sign of a component that should be zero decides about its second contact: there
    the rotations are exact.
    """
    rng = np.random.default_rng(1)
    poses = []
    for k in range(POSES):
        rotation = random_quaternion(rng) if k % 2 and pair != "capsule box" else square_quaternion(rng)
        offset = rng.uniform(-0.25, 0.25, 3) * (np.arange(3) == k % 3) if k % 4 else rng.uniform(-0.15, 0.15, 3)
        poses.append(np.concatenate((np.zeros(3), rotation, offset, rotation)))
    compare(listed(pair), poses, f"{pair}, parallel", in_order(pair))


@pytest.mark.parametrize("angle", [1e-15, 1e-12, 1e-9, 1e-7, 1e-5, 9e-5, 1.1e-4, 1e-3])
@pytest.mark.parametrize(
    "pair", ["capsule capsule", "capsule box", "sphere cylinder", "plane cylinder", "plane capsule"]
)
def test_nearly_parallel_axes(pair, angle):
    rng = np.random.default_rng(2)
    poses = []
    for _ in range(40):
        axis = rng.normal(size=3)
        tilt = np.concatenate(([1.0], 0.5 * angle * axis / np.linalg.norm(axis)))
        place = rng.uniform(-0.15, 0.15, 3)
        poses.append(np.concatenate((np.zeros(3), [1.0, 0.0, 0.0, 0.0], place, tilt / np.linalg.norm(tilt))))
    compare(listed(pair), poses, f"{pair}, angle {angle}")


@pytest.mark.parametrize("pair", NAMES)
def test_coincident_centres(pair):
    rng = np.random.default_rng(3)
    turns = [square_quaternion(rng) for _ in range(10)] + [random_quaternion(rng) for _ in range(10)]
    turns = [np.array([1.0, 0.0, 0.0, 0.0]), *turns]
    poses = [np.concatenate((np.zeros(3), a, np.zeros(3), b)) for a, b in itertools.product(turns[:8], turns)]
    compare(listed(pair), poses, f"{pair}, same centre", ordered=False)


@pytest.mark.parametrize("distance", [1e-3, 1e-7, -1e-7, -1e-3])
@pytest.mark.parametrize("pair", NAMES)
def test_just_touching(pair, distance):
    """A contact is moved along its normal until only that distance is left."""
    rng = np.random.default_rng(4)
    mj = listed(pair, 0.02)
    theirs, model, ours = both(mj)
    tried = 0
    for _ in range(200):
        theirs.qpos[:] = np.concatenate([random_pose(rng, "any"), random_pose(rng, "any")])[-mj.nq :]
        detect(mj, theirs, model, ours)
        if theirs.ncon and theirs.contact[0].dist > -0.02:
            contact = theirs.contact[0]
            theirs.qpos[-7:-4] += (distance - contact.dist) * contact.frame[:3]
            detect(mj, theirs, model, ours)
            agree(theirs, ours, f"{pair} at distance {distance}, pose {theirs.qpos.tolist()}")
            tried += 1
    assert tried > 5


@pytest.mark.parametrize("margin", [0.0, 0.02])
@pytest.mark.parametrize("mesh", MESHES)
def test_meshes_on_a_plane(mesh, margin):
    """Few and many vertices, faces of three, four and more corners, tilted and flat."""
    rng = np.random.default_rng(5)
    poses = [random_pose(rng, "any") for _ in range(POSES)]
    for k in range(40):  # lying flat, or nearly
        tilt = np.array([1.0, *(10.0 ** -rng.integers(2, 9) * rng.normal(size=2) * (k > 3)), rng.uniform(-2, 2)])
        poses.append(np.concatenate(([0.0, 0.0, 0.06], tilt / np.linalg.norm(tilt))))
    compare(listed("plane mesh", margin, mesh=MESHES[mesh]), poses, f"mesh {mesh} margin {margin}")


def test_every_pair_of_shapes_has_a_kernel():
    """But planes and height fields, which only static bodies have, and which do not meet."""
    known = {frozenset(pair) for pair in PAIRS}
    for first, second in itertools.combinations_with_replacement(SHAPES, 2):
        if second not in ("plane", "hfield"):
            assert frozenset((GeomType[first.upper()], GeomType[second.upper()])) in known, (first, second)
