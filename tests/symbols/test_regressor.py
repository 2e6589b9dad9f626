"""The regressor of inverse dynamics: joint forces are linear in ten numbers per body."""

from __future__ import annotations

import functools

import casadi
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import MASS, REGRESSOR
from tests.symbols import numeric
from tests.symbols.test_functions import LARGEST, SOURCES
from tests.trees import random_tree

JOINTS = (("free", "ball", "slide", "hinge"), ("ball", "hinge"), ("slide",), ("free",))
TREES = {f"tree {'-'.join(kinds)}": functools.partial(random_tree, 1, nbody=8, joints=kinds) for kinds in JOINTS}


def newton_euler(model, s):
    """Joint forces of the bare tree, by the compiled recursion."""
    data = numeric.data_of(model, s, tau=False)
    kt.forward(model, data)
    data.qacc[:] = s.a
    return kt.rne(model, data, True).copy()


def body(seed, batch=()):
    """A random body that may exist: points of positive mass."""
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.1, 1.0, size=(*batch, 6)), rng.normal(size=(*batch, 6, 3))
    mass = masses.sum(axis=-1)
    cg = (masses[..., None] * points).sum(axis=-2) / mass[..., None]
    r = points - cg[..., None, :]
    squares = np.einsum("...k,...ki,...kj->...ij", masses, r, r)
    tensor = np.trace(squares, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - squares
    return kt.MassProperties(mass=mass, cg=cg, inertia=tensor)


@pytest.mark.parametrize("name", [*SOURCES, *TREES])
def test_regressor_times_parameters_is_newton_euler(name):
    model = kt.load((SOURCES | TREES)[name]())
    if not 0 < model.nv <= LARGEST:
        pytest.skip(f"nothing moves, or more than {LARGEST} dofs do: {model.nv}")
    model, sym = numeric.smooth(model), kt.symbolic(model)
    s = numeric.random(model, 41)
    y = np.asarray(sym.regressor(s.q, s.v, s.a))
    assert y.shape == (model.nv, 10 * (model.nbody - 1))
    numeric.same(y @ sym.inertial_parameters, newton_euler(model, s), REGRESSOR, f"{name}: Y theta")


@pytest.mark.parametrize("name", TREES)
def test_regressor_knows_other_bodies(name):
    """Y does not depend on what the bodies weigh: with new parameters it gives the forces of the new model."""
    model = numeric.smooth(kt.load(TREES[name]()))
    s, sym = numeric.random(model, 42), kt.symbolic(model)
    y, theta = np.asarray(sym.regressor(s.q, s.v, s.a)), sym.inertial_parameters
    heavy = np.flatnonzero(model.body_mass > 0)
    for b in heavy[:: max(1, len(heavy) // 3)]:
        other = body(int(b))
        theta[sym.inertial_columns(int(b))] = other.inertial_parameters()
        model = kt.set_body_mass_properties(model, int(b), other)
    numeric.same(y @ theta, newton_euler(model, s), REGRESSOR, f"{name}: Y theta of other bodies")
    numeric.same(kt.symbolic(model).inertial_parameters, theta, REGRESSOR, f"{name}: theta of the new model")


def test_columns_of_the_world_are_refused():
    sym = kt.symbolic("cartpole")
    with pytest.raises(ValueError, match="world"):
        sym.inertial_columns(0)


def test_parameters_by_hand():
    """m, m c and the tensor about the origin by Steiner's theorem."""
    mp = kt.MassProperties(
        mass=2.0, cg=(0.1, -0.2, 0.3), inertia=np.array([[3, 0.1, 0.2], [0.1, 4, 0.3], [0.2, 0.3, 5]])
    )
    wanted = [
        2,
        0.2,
        -0.4,
        0.6,
        3 + 2 * 0.13,
        4 + 2 * 0.1,
        5 + 2 * 0.05,
        0.1 + 2 * 0.02,
        0.2 - 2 * 0.03,
        0.3 + 2 * 0.06,
    ]
    np.testing.assert_allclose(mp.inertial_parameters(), wanted, rtol=MASS)


@pytest.mark.parametrize("batch", [(), (5,), (2, 3)])
def test_round_trip_of_numbers_and_batches(batch):
    mp = body(3, batch)
    parameters = mp.inertial_parameters()
    assert np.shape(parameters) == (*batch, 10)
    back = kt.MassProperties.from_inertial_parameters(parameters)
    for name in ("mass", "cg", "inertia"):
        np.testing.assert_allclose(getattr(back, name), getattr(mp, name), atol=MASS, err_msg=name)


@pytest.mark.parametrize("kind", [casadi.SX, casadi.MX])
def test_round_trip_of_symbols(kind):
    x = kind.sym("x", 10)
    back = kt.MassProperties.from_inertial_parameters(x).inertial_parameters()
    function = casadi.Function("f", [x], [back])
    wanted = body(4).inertial_parameters()
    np.testing.assert_allclose(np.asarray(function(wanted)).ravel(), wanted, atol=MASS)
