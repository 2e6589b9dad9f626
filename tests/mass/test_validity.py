"""What can exist: closed forms, clouds of points, and the boundary on which plates and rods lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import kinetree as kt
from tests.mass.bodies import assert_same, bodies, naive_sum, numbers, rotations, vectors

MP = kt.MassProperties


@pytest.mark.parametrize("count", [1, 2, 3, 4, 10])
def test_any_cloud_of_points_can_exist(count):
    """One point, two on a line, three in a plane: the boundary, and beyond it a body."""
    rng = np.random.default_rng(count)
    for _ in range(200):
        masses, points = rng.uniform(0.01, 10, count), rng.normal(size=(count, 3)) * 10 ** rng.uniform(-3, 3)
        body = kt.aggregate([MP.point_mass(m, p) for m, p in zip(masses, points, strict=True)])
        assert_same(body, naive_sum(masses, points))
        assert body.is_physically_valid(), body.problems()
        assert body.is_point_mass() == (count == 1)


def test_plates_need_a_tolerance():
    """A third or so of exact plates, turned, fail a test that allows no rounding."""
    rng = np.random.default_rng(0)
    strict = []
    for _ in range(300):
        q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        plate = MP.plate(1, *rng.uniform(0.1, 2, 2)).rotated(q * np.sign(np.linalg.det(q)))
        assert plate.is_physically_valid()
        strict.append(plate.is_physically_valid(rtol=0.0))
    assert 0.2 < np.mean(strict) < 0.9


@given(bodies(), rotations, vectors())
def test_validity_does_not_depend_on_the_frame(body, turn, shift):
    for moved in (body, body.transform(turn, shift), body.translated(shift), body.mirrored("y")):
        assert moved.is_physically_valid(), moved.problems()


@given(bodies(flat=False), rotations, numbers(0.01, 1.0))
def test_impossible_ones_are_so_in_every_frame(body, turn, excess):
    moments = body.principal_moments()
    moments[2] = (moments[0] + moments[1]) * (1 + excess)
    wrong = MP.diagonal(body.mass, body.cg, *moments).rotated(turn)
    assert not wrong.is_physically_valid()
    assert any("triangle inequality" in problem for problem in wrong.problems())


@pytest.mark.parametrize("body, words", [
    (lambda: MP.point_mass(-1, 0), "mass is negative: -1 kg"),
    (lambda: MP.point_mass([np.nan], 0)[0], "mass is not finite: nan"),
    (lambda: MP.point_mass(1, (0, np.inf, 0)), "cg is not finite: 0, inf, 0"),
    (lambda: MP.diagonal(1, np.nan, 1, 1), "inertia is not finite: nan, 0, 0, 0, 1, 0, 0, 0, 1"),
    (lambda: MP(1, 0, [[1, 0.1, 0], [0.2, 1, 0], [0, 0, 1]]), "inertia is not symmetric: Ixy = 0.1 but Iyx = 0.2"),
    (lambda: MP(1, 0, [[1, 0, 0], [0, 1, 0.3], [0, 0, 1]]), "inertia is not symmetric: Iyz = 0.3 but Izy = 0"),
    (lambda: MP.diagonal(1, -1, 2, 2), "principal moment I1 is negative: -1 kg·m²"),
    (lambda: MP.diagonal(1, 1, 2, 4), "triangle inequality I1 + I2 >= I3 fails: 1 + 2 < 4 kg·m²"),
    (lambda: MP.diagonal(0, 1, 1, 1), "inertia without mass: 1 kg·m²"),
])  # fmt: skip
def test_every_condition_is_named_with_its_number(body, words):
    body = body()
    assert body.is_physically_valid() is False
    assert words in body.problems()
    with pytest.raises(ValueError, match="^not physically possible: "):
        body.validate()


def test_valid_ones_come_back():
    body = MP.solid_box(1, 1, 2, 3)
    assert body.validate() is body and body.problems() == []
    assert MP.rod(1, 2).is_physically_valid() and MP.point_mass(1, (1, 2, 3)).is_physically_valid()


def test_a_tensor_that_is_not_symmetric_is_kept_as_given_and_nothing_is_done_with_it():
    given_tensor = np.array([[1, 0.1, 0], [0.2, 1, 0], [0, 0, 1.0]])
    body = MP(1, 0, given_tensor)
    np.testing.assert_array_equal(body.inertia, given_tensor)
    assert body != MP(1, 0, given_tensor.T) and "0.2" in repr(body)
    for action in (
        lambda: body + body,
        lambda: 2 * body,
        body.principal_axes,
        body.to_mjcf,
        lambda: body.rotated(np.eye(3)),
    ):
        with pytest.raises(ValueError, match="not symmetric"):
            action()
    np.testing.assert_allclose(body.nearest_valid().inertia, [[1, 0.15, 0], [0.15, 1, 0], [0, 0, 1]])
    almost = MP(1, 0, given_tensor * [[1, 1, 1], [0.5, 1, 1], [1, 1, 1]] + 1e-15 * np.eye(3)[[1, 2, 0]])
    assert almost.is_physically_valid()


def test_point_masses():
    assert MP.point_mass(3, (1, 2, 3)).is_point_mass() is True
    assert MP.solid_sphere(1, 1e-6).is_point_mass() is False
    assert MP.solid_sphere(1, 1e-6).is_point_mass(atol=1e-9)


# principal axes


@given(bodies())
def test_principal_axes_are_a_proper_rotation(body):
    moments, axes = body.principal_moments(), body.principal_axes()
    scale = np.abs(body.inertia).max()
    assert (np.diff(moments) >= 0).all()
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(axes @ np.diag(moments) @ axes.T, body.inertia, rtol=0, atol=1e-12 * scale)


# the nearest possible body


@given(bodies())
def test_what_is_possible_stays(body):
    near = body.nearest_valid(rtol=1e-9)
    assert near is body


@given(numbers(0.1, 2), st.tuples(*[numbers(-2, 2)] * 6))
def test_the_nearest_is_possible(mass, six):
    body = MP.from_components(mass, (1, 2, 3), *six)
    near = body.nearest_valid()
    assert near.is_physically_valid(), near.problems()
    assert near.mass == mass and near.cg.tolist() == [1, 2, 3]
    assert_same(near.nearest_valid(), near)


def test_nothing_possible_is_nearer():
    """Against a minimiser over pseudo-inertias P = L Lᵀ, all of which are possible."""
    rng = np.random.default_rng(2)
    for _ in range(8):
        a = rng.normal(size=(3, 3))
        tensor = a + a.T
        near = MP(1.0, 0, tensor).nearest_valid().inertia

        def distance(x, tensor=tensor):
            lower = x.reshape(3, 3)
            spread = lower @ lower.T
            return np.square(np.trace(spread) * np.eye(3) - spread - tensor).sum()

        best = min(minimize(distance, rng.normal(size=9), tol=1e-12).fun for _ in range(4))
        assert np.square(near - tensor).sum() <= best + 1e-7


def test_nearest_of_impossible_masses():
    assert MP.solid_sphere(-1, 1).nearest_valid() == MP.point_mass(0, 0)
    assert MP.diagonal(0, 1, 1, 1).nearest_valid() == MP.zero()
    with pytest.raises(ValueError, match="finite"):
        MP.point_mass([np.nan], 0)[0].nearest_valid()


def test_a_tensor_symmetric_but_for_rounding_can_be_used():
    """As every product R I R' is."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        tensor = axes @ np.diag([1.0, 2.0, 2.5]) @ axes.T
        body = kt.MassProperties(1.0, 0.0, tensor)
        np.testing.assert_allclose((body + body).inertia, 2 * tensor, rtol=1e-12, atol=1e-15)
        body.validate()


@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1.0, 1e20, 1e160])
def test_nearest_valid_at_any_scale(scale):
    near = kt.MassProperties.diagonal(1.0, scale, scale, 3 * scale).nearest_valid()
    np.testing.assert_allclose(np.diag(near.inertia) / scale, [4 / 3, 4 / 3, 8 / 3], rtol=1e-12)
