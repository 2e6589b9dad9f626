"""The ten right values: what anyone can check by hand."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given

import kinetree as kt
from kinetree.conformance.tolerances import MASS, MASS_GRADIENT
from tests.mass.bodies import assert_same, bodies

MP = kt.MassProperties


def same(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=MASS)


def test_1_point_mass():
    p = MP.point_mass(10, (1, 2, 3))
    assert p.mass == 10 and p.cg.tolist() == [1, 2, 3] and p.inertia.tolist() == [[0] * 3] * 3


def test_2_solid_sphere():
    same(MP.solid_sphere(100, 2).inertia, 160 * np.eye(3))


def test_3_two_point_masses():
    total = MP.point_mass(1, (0, 0, 0)) + MP.point_mass(1, (2, 0, 0))
    same(total.mass, 2)
    same(total.cg, (1, 0, 0))
    same(total.inertia, np.diag((0, 2, 2)))
    assert total.is_physically_valid()


def test_4_parallel_axis():
    p = MP.point_mass(1, (0, 0, 0))
    same(p.inertia_about_point((1, 0, 0)), np.diag((0, 1, 1)))
    same(p.inertia_components_about_point((1, 0, 0)), (0, 1, 1, 0, 0, 0))


def test_5_unequal_masses():
    total = MP.point_mass(2, (0, 0, 0)) + MP.point_mass(1, (3, 0, 0))
    same(total.mass, 3)
    same(total.cg, (1, 0, 0))
    same(total.inertia, np.diag((0, 6, 6)))


def test_6_hole():
    hole = MP.point_mass(2, (1, 0, 0))
    point = MP.point_mass(10, (0, 0, 0)) - hole
    same(point.mass, 8)
    same(point.cg, (-0.25, 0, 0))
    same(point.inertia, np.diag((0, -2.5, -2.5)))
    assert not point.is_physically_valid()
    with pytest.raises(ValueError, match=r"principal moment I1 is negative: -2\.5 kg"):
        point.validate()
    assert (MP.solid_sphere(10, 2) - hole).validate().is_physically_valid()


def test_7_impossible_inertia():
    body = MP.diagonal(1, 1, 1, 3)
    assert not body.is_physically_valid()
    with pytest.raises(ValueError, match=r"triangle inequality I1 \+ I2 >= I3 fails: 1 \+ 1 < 3"):
        body.validate()


def test_8_four_arguments():
    body = MP.diagonal(100, 10, 20, 30)
    assert body == MP.diagonal(100, (0, 0, 0), 10, 20, 30) == MP(100, (0, 0, 0), np.diag((10, 20, 30)))


@pytest.mark.parametrize("kind", [ca.MX, ca.SX])
def test_9_symbols(kind):
    m1, m2, x1, x2 = symbols = [kind.sym(name) for name in ("m1", "m2", "x1", "x2")]
    total = MP.point_mass(m1, (x1, 0, 0)) + MP.point_mass(m2, (x2, 0, 0))
    f = ca.Function("f", symbols, [total.mass, total.cg[0]])
    mass, x = f(1, 1, 0, 2)
    same(float(mass), 2)
    same(float(x), 1)
    outputs = ca.vertcat(total.mass, total.cg, ca.vec(total.inertia))
    at = np.array([1.5, 0.7, -0.3, 2.0])
    jacobian = ca.Function("j", symbols, [ca.jacobian(outputs, ca.vertcat(*symbols))])(*at).full()
    g = ca.Function("g", symbols, [outputs])
    for k in range(4):
        h = 1e-6 * np.eye(4)[k]
        difference = (g(*(at + h)).full() - g(*(at - h)).full()).ravel() / 2e-6
        np.testing.assert_allclose(jacobian[:, k], difference, rtol=0, atol=MASS_GRADIENT)


@given(bodies(), bodies(), bodies())
def test_10_associative(a, b, c):
    assert_same((a + b) + c, a + (b + c))


@given(bodies(), bodies())
def test_10_inverse(a, b):
    """To 1e-12 of the sum, from whose numbers the second body is taken away again."""
    total = a + b
    scale = float(np.abs(total.inertia_about_point(0)).max())
    assert_same(total - b, a, scale=scale)
