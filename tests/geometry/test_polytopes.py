"""GJK and EPA against brute force: distances and depths of random polytopes from all triangles of their difference."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.spatial import ConvexHull

import kinetree as kt
from kinetree.conformance.states import random_quaternion

PAIRS, POSES = 8, 10
KINDS = {"far": (0.5, 2.0), "near": (1e-4, 1e-2), "touching": (-1e-9, 1e-9), "shallow": (-1e-2, -1e-4), "deep": None}
EXACT = 1e-9  # m: the walk ends at corners, so that only rounding is left
TOLERANCE = 1e-6  # m, opt.ccd_tolerance: nearer than this is touching


def polytope(rng: np.random.Generator) -> np.ndarray:
    """Random points in a ball, stretched up to tenfold; every fourth one has all points on a sphere, or few of them."""
    count = int(rng.choice([4, 5, 8, 15, 40, 120]))
    points = rng.normal(size=(count, 3))
    if rng.random() < 0.5:
        points /= np.linalg.norm(points, axis=1)[:, None]
    return 0.1 * points * np.exp(rng.uniform(-1.15, 1.15, 3))


def scene(first: np.ndarray, second: np.ndarray) -> mujoco.MjModel:
    """Two meshes, each a free body."""

    def text(points):
        return " ".join(f"{x:.7f}" for x in points.ravel())

    return mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><mesh name="a" vertex="{text(first)}"/><mesh name="b" vertex="{text(second)}"/></asset><worldbody>'
        '<body><freejoint/><geom type="mesh" mesh="a" mass="1"/></body>'
        '<body><freejoint/><geom type="mesh" mesh="b" mass="1"/></body></worldbody></mujoco>'
    )


def corners(model: kt.Model, data: kt.Data, g: int) -> np.ndarray:
    """Vertices of a mesh in the world."""
    begin, count = model.mesh_vertadr[model.geom_dataid[g]], model.mesh_vertnum[model.geom_dataid[g]]
    return model.mesh_vert[begin : begin + count].astype(float) @ data.geom_xmat[g].reshape(3, 3).T + data.geom_xpos[g]


def on_segments(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Distance of the origin from each segment."""
    way = q - p
    x = np.clip(-(p * way).sum(1) / np.maximum((way * way).sum(1), 1e-300), 0, 1)
    return np.linalg.norm(p + x[:, None] * way, axis=1)


def on_triangles(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Distance of the origin from each triangle: from its plane if the foot is inside, else from its sides."""
    n = np.cross(b - a, c - a)
    length = np.linalg.norm(n, axis=1)
    n = n / np.maximum(length, 1e-300)[:, None]
    foot = (a * n).sum(1)[:, None] * n
    inside = length > 0
    for p, q in ((a, b), (b, c), (c, a)):
        inside &= (np.cross(q - p, foot - p) * n).sum(1) >= 0
    sides = np.minimum(on_segments(a, b), np.minimum(on_segments(b, c), on_segments(c, a)))
    return np.where(inside, np.linalg.norm(foot, axis=1), sides)


def brute_force(model: kt.Model, data: kt.Data) -> float:
    """Signed distance of the origin from the boundary of the difference of both polytopes."""
    difference = (corners(model, data, 0)[:, None] - corners(model, data, 1)[None]).reshape(-1, 3)
    hull = ConvexHull(difference)
    height = hull.equations[:, 3].max()
    return height if height <= 0 else float(on_triangles(*(difference[hull.simplices[:, k]] for k in range(3))).min())


def separate(model: kt.Model, data: kt.Data, rng: np.random.Generator, wanted: float) -> None:
    """Move the second polytope along a random direction until brute force finds the wanted distance."""
    way = rng.normal(size=3)
    way /= np.linalg.norm(way)
    low, high = 0.0, 8.0
    start = data.qpos[7:10].copy()
    for _ in range(60):
        middle = 0.5 * (low + high)
        data.qpos[7:10] = start + middle * way
        kt.kinematics(model, data)
        left = brute_force(model, data) - wanted
        if abs(left) < 1e-10:
            return
        low, high = (middle, high) if left < 0 else (low, middle)


@pytest.mark.parametrize("seed", range(PAIRS))
@pytest.mark.parametrize("kind", KINDS)
def test_distances_are_those_of_brute_force(kind, seed):
    rng = np.random.default_rng(seed)
    model = kt.load(scene(polytope(rng), polytope(rng)))
    data = kt.Data(model)
    for k in range(POSES):
        place = rng.uniform(-0.02, 0.02, 3)
        data.qpos = np.concatenate(([0, 0, 0], random_quaternion(rng), place, random_quaternion(rng)))
        kt.kinematics(model, data)
        if KINDS[kind] is not None:
            separate(model, data, rng, rng.uniform(*KINDS[kind]))
        wanted = brute_force(model, data)
        got, (start, end) = kt.geom_distance(model, data, 0, 1, 10.0)
        what = f"{kind}, pair {seed}, pose {k} {data.qpos.tolist()}: {got} against {wanted}"
        assert abs(got - wanted) <= (EXACT if kind != "touching" else 2 * TOLERANCE), what
        only_overlap, _ = kt.geom_distance(model, data, 0, 1, 0.0)  # another way through GJK
        assert abs(only_overlap - min(wanted, 0.0)) <= (EXACT if kind != "touching" else 2 * TOLERANCE), what
        if kind != "touching":
            assert abs(np.linalg.norm(end - start) - abs(got)) <= EXACT, what
            inside = ConvexHull(corners(model, data, 0)).equations @ [*start, 1.0]
            assert inside.max() <= 1e-7, f"{what}: the first point is {inside.max()} outside the first polytope"
