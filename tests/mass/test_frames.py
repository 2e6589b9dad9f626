"""Other points and frames: against the definition on clouds of points, and round trips to 1e-12."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import kinetree as kt
from kinetree.conformance.tolerances import MASS
from tests.mass.bodies import assert_same, bodies, naive_sum, rotation, rotations, vectors

MP = kt.MassProperties


def cloud(seed: int):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 2, 6), rng.normal(size=(6, 3)), rng


@pytest.mark.parametrize("seed", range(5))
def test_a_frame_moves_every_point(seed):
    """cg' = R (cg - t), and so does each point of the cloud."""
    masses, points, rng = cloud(seed)
    turn, shift = rotation(rng.normal(size=4)), rng.normal(size=3)
    body = naive_sum(masses, points)
    assert_same(body.transform(turn, shift), naive_sum(masses, (points - shift) @ turn.T))
    assert_same(body.rotated(turn), naive_sum(masses, points @ turn.T))
    assert_same(body.translated(shift), naive_sum(masses, points + shift))
    assert_same(body.translated(-shift), body.transform(np.eye(3), shift))


@pytest.mark.parametrize(
    "names, axis", [(("x", "yz", (2, 0, 0)), 0), (("y", "xz", (0, -1, 0)), 1), (("z", "xy", (0, 0, 3)), 2)]
)
def test_a_mirror_flips_every_point(names, axis):
    masses, points, _ = cloud(11)
    flipped = points.copy()
    flipped[:, axis] = 2 * 0.5 - flipped[:, axis]
    point = 0.5 * np.eye(3)[axis]
    for normal in names:
        assert_same(naive_sum(masses, points).mirrored(normal, point), naive_sum(masses, flipped))


def test_a_slanted_mirror():
    masses, points, rng = cloud(12)
    n = rng.normal(size=3)
    flipped = points - 2 * np.outer(points @ n, n) / (n @ n)
    assert_same(naive_sum(masses, points).mirrored(n), naive_sum(masses, flipped))


@pytest.mark.parametrize("seed", range(5))
def test_inertia_about_a_point(seed):
    masses, points, rng = cloud(seed)
    p = rng.normal(size=3)
    expected = sum(
        m * ((q - p) @ (q - p) * np.eye(3) - np.outer(q - p, q - p)) for m, q in zip(masses, points, strict=True)
    )
    body = naive_sum(masses, points)
    np.testing.assert_allclose(body.inertia_about_point(p), expected, rtol=0, atol=MASS * np.abs(expected).max())
    np.testing.assert_array_equal(body.inertia_about_point(body.cg), body.inertia)
    six = body.inertia_components_about_point(p)
    np.testing.assert_array_equal(six, body.inertia_about_point(p)[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])


@given(bodies(), rotations, vectors())
def test_round_trips(body, turn, shift):
    back = body.transform(turn, shift).transform(turn.T, -turn @ np.array(shift))
    assert_same(back, body, scale=100.0)
    assert_same(body.rotated(turn).rotated(turn.T), body)
    assert_same(body.translated(shift).translated(-np.array(shift)), body, scale=100.0)
    assert_same(body.mirrored("y").mirrored("xz"), body)


@given(bodies(), bodies(), rotations, vectors())
def test_frames_and_sums_commute(a, b, turn, shift):
    assert_same((a + b).transform(turn, shift), a.transform(turn, shift) + b.transform(turn, shift), scale=100.0)


@given(bodies(), rotations)
def test_what_stays_in_any_frame(body, turn):
    turned = body.rotated(turn)
    scale = np.abs(body.inertia).max()
    np.testing.assert_allclose(turned.principal_moments(), body.principal_moments(), rtol=0, atol=MASS * scale)
    assert np.trace(turned.inertia) == pytest.approx(np.trace(body.inertia), rel=1e-12)


def test_bad_frames_are_told():
    body = MP.solid_box(1, 1, 2, 3)
    with pytest.raises(ValueError, match="not orthogonal: R Rᵀ differs from 1 by 3"):
        body.rotated(2 * np.eye(3))
    with pytest.raises(ValueError, match="it mirrors: see mirrored"):
        body.rotated(np.diag((1, 1, -1)))
    with pytest.raises(ValueError, match="not orthogonal"):
        body.transform(np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match="3 x 3 numbers"):
        body.rotated((1, 0, 0, 0))
    with pytest.raises(ValueError, match="expected a vector or one of"):
        body.mirrored("q")
    with pytest.raises(ValueError, match="no direction"):
        body.mirrored((0, 0, 0))
    with pytest.raises(ValueError, match="point: expected 3 numbers"):
        body.inertia_about_point((1, 2))
