"""The outline of a shape against slow or closed-form answers."""

import numpy as np
import pytest

from kinetree.cli.figure import LOOK, RIGHT, UP, _surface, convex_hull
from kinetree.types import GeomType


def test_view_is_a_right_handed_frame():
    frame = np.array([RIGHT, UP, -LOOK])
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(frame) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(5))
def test_hull_contains_all_points_and_only_corners(seed):
    points = np.random.default_rng(seed).normal(size=(40, 2))
    hull = convex_hull(points)
    edges = np.roll(hull, -1, axis=0) - hull
    for corner, edge in zip(hull, edges, strict=True):
        side = edge[0] * (points - corner)[:, 1] - edge[1] * (points - corner)[:, 0]
        assert side.min() > -1e-12, "a point lies outside"
    assert {tuple(p) for p in hull} <= {tuple(p) for p in points}


@pytest.mark.parametrize("points", [[[1.0, 2.0]], [[1.0, 2.0]] * 3, [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]])
def test_hull_of_degenerate_points(points):
    hull = convex_hull(np.array(points))
    assert 1 <= len(hull) <= 2 and {tuple(p) for p in hull} <= {tuple(p) for p in points}


def area(hull):
    x, y = hull.T
    return 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))


SHADOWS = [  # seen along z of the geom
    ("SPHERE", (0.3, 0, 0), np.pi * 0.09),
    ("ELLIPSOID", (0.3, 0.2, 0.7), np.pi * 0.06),
    ("CAPSULE", (0.1, 0.5, 0), np.pi * 0.01),
    ("CYLINDER", (0.2, 0.5, 0), np.pi * 0.04),
    ("BOX", (0.2, 0.3, 0.4), 0.24),
    ("MESH", (0.2, 0.3, 0.4), 0.24),
]


@pytest.mark.parametrize("kind, size, expected", SHADOWS, ids=[kind for kind, _, _ in SHADOWS])
def test_silhouette_has_the_area_of_the_shape(kind, size, expected):
    points = _surface(GeomType[kind], np.array(size))
    assert area(convex_hull(points[:, :2])) == pytest.approx(expected, rel=0.05)
