"""Pseudo-inertia and log-Cholesky parameters: definitions, round trips, and that any ten numbers are a body."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinetree as kt
from kinetree.conformance.tolerances import MASS
from tests.mass.bodies import assert_same, bodies, naive_sum, numbers

MP = kt.MassProperties


def test_pseudo_inertia_is_the_sum_over_points():
    rng = np.random.default_rng(0)
    masses, points = rng.uniform(0.1, 2, 7), rng.normal(size=(7, 3))
    homogeneous = np.column_stack([points, np.ones(7)])
    expected = np.einsum("k,ki,kj->ij", masses, homogeneous, homogeneous)
    np.testing.assert_allclose(naive_sum(masses, points).pseudo_inertia(), expected, rtol=0, atol=MASS * 30)
    assert_same(MP.from_pseudo_inertia(expected), naive_sum(masses, points), scale=30)


@given(bodies())
def test_pseudo_inertia_round_trip(body):
    matrix = body.pseudo_inertia()
    assert_same(MP.from_pseudo_inertia(matrix), body, scale=np.abs(matrix).max())
    assert np.linalg.eigvalsh(matrix).min() > -1e-12 * np.abs(matrix).max(), "possible bodies are positive semidefinite"


@given(bodies(flat=False))
def test_log_cholesky_round_trip(body):
    """Thin bodies lose digits: the smallest pivot is a difference."""
    assert_same(MP.from_log_cholesky(body.log_cholesky()), body, rtol=1e-10)


@given(st.lists(numbers(-4, 4), min_size=10, max_size=10))
def test_any_ten_numbers_are_a_possible_body(parameters):
    body = MP.from_log_cholesky(parameters)
    assert body.is_physically_valid(), (parameters, body.problems())
    assert body.mass == pytest.approx(np.exp(2 * parameters[0])) and body.cg.tolist() == parameters[7:]


def test_log_cholesky_is_the_factor_of_the_pseudo_inertia():
    rng = np.random.default_rng(4)
    theta = rng.normal(size=10)
    alpha, d1, d2, d3, s12, s23, s13, *t = theta
    upper = np.exp(alpha) * np.array(
        [[np.exp(d1), s12, s13, t[0]], [0, np.exp(d2), s23, t[1]], [0, 0, np.exp(d3), t[2]], [0, 0, 0, 1]]
    )
    body = MP.from_log_cholesky(theta)
    np.testing.assert_allclose(body.pseudo_inertia(), upper @ upper.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(body.log_cholesky(), theta, rtol=1e-9, atol=1e-9)


def test_large_and_small_parameters_give_numbers_or_an_error():
    for value in (-1e3, -300.0, -30.0):
        tiny = MP.from_log_cholesky([value] * 4 + [0.0] * 6)
        assert np.isfinite(tiny.inertia).all() and tiny.is_physically_valid()
    for place in (0, 1, 4):
        parameters = np.zeros(10)
        parameters[place] = 1e200 if place == 4 else 1e3
        with pytest.raises(ValueError, match="too large"):
            MP.from_log_cholesky(parameters)
    with pytest.raises(ValueError, match="10 numbers"):
        MP.from_log_cholesky([0.0] * 9)


@pytest.mark.parametrize("body, reason", [
    (MP.rod(1, 2), "three directions"), (MP.plate(1, 1, 2), "three directions"), (MP.point_mass(1, 0), "three directions"),
    (MP.zero(), "positive mass"), (MP.solid_sphere(-1, 1), "positive mass"), (MP.point_mass([np.nan], 0)[0], "finite"),
])  # fmt: skip
def test_bodies_without_volume_have_no_logarithm(body, reason):
    with pytest.raises(ValueError, match=reason):
        body.log_cholesky()


def test_bad_matrices_are_told():
    with pytest.raises(ValueError, match="not symmetric"):
        MP.from_pseudo_inertia(np.arange(16.0).reshape(4, 4))
    with pytest.raises(ValueError, match="4 x 4"):
        MP.from_pseudo_inertia(np.eye(3))
    assert not np.isnan(MP.from_pseudo_inertia(np.zeros((4, 4))).cg).any()
