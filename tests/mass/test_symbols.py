"""CasADi SX and MX, JAX and other scalars go through the same text: against floats and finite differences."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import MASS, MASS_GRADIENT
from tests.mass.bodies import random_body, rotation

MP = kt.MassProperties
TURN = rotation(np.array((1.0, 2, 3, 4)))
TANK = MP.solid_box(3, 1, 2, 3, cg=(0.5, -1, 2))

# Each takes three scalars and gives mass properties: every constructor and operation that symbols may go through.
PROGRAMS = {
    "point": lambda a, b, c: MP.point_mass(a, (b, c, 1.0)),
    "sum": lambda a, b, c: MP.point_mass(a, (b, 0, 1)) + TANK * b + MP.solid_sphere(c, a),
    "hole": lambda a, b, c: TANK - MP.solid_sphere(a, b, cg=(c, 0, 0)),
    "aggregate": lambda a, b, c: kt.aggregate(
        [MP.point_mass(a, (b, 0, c)), TANK, MP.solid_box(b, a, c, 1, cg=(a, b, c))]
    ),
    "divided": lambda a, b, c: (TANK / a + TANK.translated((b, c, 0))) / c,
    "transform": lambda a, b, c: MP.solid_box(a, b, c, 1, cg=(a, b, c)).transform(TURN, (a, 1, c)),
    "mirror": lambda a, b, c: MP.solid_box(a, b, c, 1, cg=(a, b, c)).mirrored((a, b, c), (0, b, 0)),
    "components": lambda a, b, c: MP.from_components(a, (b, c, 0), a + b, b + c, c + a, 0.1 * a, 0.2 * b, 0.3 * c),
    "diagonal": lambda a, b, c: MP.diagonal(a, b, c, b + c) + MP.diagonal(a, (1, b, c), a, b, a + b),
    "full tensor": lambda a, b, c: MP(a, (b, c, 0), [[a, 0.1, 0.2], [0.1, b, 0.3], [0.2, 0.3, c]]),
    "gyration": lambda a, b, c: MP.from_radii_of_gyration(a, b, c, c),
    "pseudo-inertia": lambda a, b, c: MP.from_pseudo_inertia(MP.solid_box(a, b, c, 1, cg=(a, b, c)).pseudo_inertia()),
    "log-Cholesky": lambda a, b, c: MP.from_log_cholesky([a, b, c, 0.1, a, b, c, 1.0, b, c]),
    "aggregator": lambda a, b, c: kt.MassAggregator(
        {"tank": lambda t: TANK * t, "rest": MP.point_mass(b, (c, 1, 0))}
    ).total(a),
    "ellipsoid": lambda a, b, c: MP.solid_ellipsoid(None, a, b, c, density=2.0),
    "capsule": lambda a, b, c: MP.solid_capsule(None, a, b, density=c),
    "cone": lambda a, b, c: MP.solid_cone(None, a, b, density=c),
    "hollow sphere": lambda a, b, c: MP.hollow_sphere(None, a, a + b, density=c),
    "tube": lambda a, b, c: MP.tube(None, a, a + b, c, density=2.0),
    "thin box": lambda a, b, c: MP.thin_box(None, a, b, c, density=2.0),
    "thin cone": lambda a, b, c: MP.thin_cone(None, a, b, density=c),
    "thin cylinder": lambda a, b, c: MP.thin_cylinder(None, a, b, density=c) + MP.thin_sphere(a, b),
    "flat": lambda a, b, c: MP.rod(a, b) + MP.disc(b, c) + MP.plate(a, b, c),
}
AT = np.array([0.7, 1.3, 0.4])


def outputs(body):
    """Everything that a program could want of the result, row by row."""
    about = body.inertia_components_about_point((1.0, 2.0, 3.0))
    return [
        body.mass,
        *(body.cg[i] for i in range(3)),
        *(body.inertia[i, j] for i in range(3) for j in range(3)),
        *about,
    ]


def by_numbers(program, at):
    return np.array(outputs(program(*map(float, at))))


def differences(program, at):
    h = 1e-6
    return np.column_stack(
        [(by_numbers(program, at + h * e) - by_numbers(program, at - h * e)) / (2 * h) for e in np.eye(3)]
    )


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
@pytest.mark.parametrize("name", PROGRAMS)
def test_casadi(name, kind):
    symbols = [kind.sym(letter) for letter in "abc"]
    result = ca.vertcat(*outputs(PROGRAMS[name](*symbols)))
    values = ca.Function("f", symbols, [result])(*AT).full().ravel()
    expected = by_numbers(PROGRAMS[name], AT)
    np.testing.assert_allclose(values, expected, rtol=0, atol=MASS * max(1, np.abs(expected).max()))
    jacobian = ca.Function("j", symbols, [ca.jacobian(result, ca.vertcat(*symbols))])(*AT).full()
    np.testing.assert_allclose(jacobian, differences(PROGRAMS[name], AT), rtol=MASS_GRADIENT, atol=MASS_GRADIENT)


@pytest.mark.parametrize("name", PROGRAMS)
def test_jax(name):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        jnp = jax.numpy

        def flat(x):
            return jnp.stack(outputs(PROGRAMS[name](x[0], x[1], x[2])))

        expected = by_numbers(PROGRAMS[name], AT)
        tolerance = MASS * max(1, np.abs(expected).max())
        np.testing.assert_allclose(flat(jnp.array(AT)), expected, rtol=0, atol=tolerance)
        np.testing.assert_allclose(jax.jit(flat)(jnp.array(AT)), expected, rtol=0, atol=tolerance)
        jacobian = jax.jacobian(flat)(jnp.array(AT))
        np.testing.assert_allclose(jacobian, differences(PROGRAMS[name], AT), rtol=MASS_GRADIENT, atol=MASS_GRADIENT)


def test_jax_batches_and_whole_arrays():
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        jnp = jax.numpy
        masses, points = np.arange(1.0, 5), np.random.default_rng(0).normal(size=(4, 3))
        batch = MP.point_mass(jnp.array(masses), jnp.array(points))
        total = kt.aggregate(batch)
        expected = kt.aggregate(MP.point_mass(masses, points))
        assert batch.shape == (4,) and batch.cg.shape == (4, 3) and isinstance(total.cg, jax.Array)
        np.testing.assert_allclose(total.inertia, expected.inertia, atol=MASS)
        assert total.isclose(expected, rtol=MASS) and total.is_physically_valid() and total == total
        assert kt.aggregate(batch[:2]).isclose(batch[0] + batch[1], rtol=MASS)
        # no mass: neither the value nor its derivative is NaN
        gone = jax.jacobian(lambda m: (MP.point_mass(m, (1, 0, 0)) - MP.point_mass(1.0, (0, 0, 0))).cg)(1.0)
        assert np.isfinite(np.asarray(gone)).all()
        value = (MP.point_mass(jnp.array(1.0), (1, 0, 0)) - MP.point_mass(1.0, (0, 0, 0))).cg
        np.testing.assert_array_equal(value, (0.5, 0, 0))
        assert (
            float((2.0 * MP.point_mass(jnp.array(3.0), 0)).mass)
            == float((jnp.array(2.0) * MP.point_mass(3, 0)).mass)
            == 6
        )


def test_casadi_vectors_and_matrices_go_in_and_come_out():
    for kind in (ca.SX, ca.MX):
        mass, cg, tensor = kind.sym("m"), kind.sym("c", 3), kind.sym("I", 3, 3)
        body = MP(mass, cg, tensor)
        assert body.cg.shape == (3, 1) and body.inertia.shape == (3, 3) and body.pseudo_inertia().shape == (4, 4)
        assert type(body.cg) is type(body.inertia) is kind and MP.point_mass(mass, cg.T).cg.shape == (3, 1)
        numbers = random_body(np.random.default_rng(0))
        f = ca.Function("f", [mass, cg, tensor], [body.mass, body.cg, body.inertia])
        for ours, theirs in zip(
            f(numbers.mass, numbers.cg, numbers.inertia), (numbers.mass, numbers.cg, numbers.inertia), strict=True
        ):
            np.testing.assert_array_equal(ours.full().squeeze(), theirs)
        theta = kind.sym("theta", 10)
        body = MP.from_log_cholesky(theta)
        value = ca.Function("g", [theta], [body.inertia])(numbers.log_cholesky()).full()
        np.testing.assert_allclose(value, numbers.inertia, rtol=0, atol=1e-10)
        assert "m" in repr(MP.point_mass(mass, 0))
        assert (mass * TANK).mass.shape == (TANK * mass).mass.shape == (1, 1)
    dm = MP(ca.DM(2), ca.DM([1, 2, 3]), ca.DM.eye(3))
    assert dm == MP(2, (1, 2, 3), np.eye(3)), "DM are numbers"


def test_a_zero_total_of_symbols_is_divided_as_it_is():
    m = ca.SX.sym("m")
    total = MP.point_mass(m, (1, 0, 0)) + MP.point_mass(1.0, (0, 0, 0))
    f = ca.Function("f", [m], [total.cg])
    assert not np.isfinite(f(-1).full()).all() and float(f(1)[0]) == 0.5


NUMERIC = {
    "validity": lambda b: b.is_physically_valid(), "validate": lambda b: b.validate(), "problems": lambda b: b.problems(),
    "moments": lambda b: b.principal_moments(), "axes": lambda b: b.principal_axes(), "point": lambda b: b.is_point_mass(),
    "==": lambda b: b == b, "isclose": lambda b: b.isclose(b), "hash": hash, "log_cholesky": lambda b: b.log_cholesky(),
    "nearest": lambda b: b.nearest_valid(), "mjcf": lambda b: b.to_mjcf(), "urdf": lambda b: b.to_urdf(),
    "dict": lambda b: b.to_dict(), "stack": lambda b: MP.stack([b]),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMERIC)
def test_decisions_need_numbers(name):
    for body in (MP.solid_sphere(ca.SX.sym("m"), 1), MP.solid_sphere(ca.MX.sym("m"), 1), MP.solid_sphere(1, 2 + 1j)):
        with pytest.raises(TypeError, match="needs numbers and cannot decide on symbols"):
            NUMERIC[name](body)


@pytest.mark.parametrize("name", NUMERIC)
def test_decisions_need_numbers_of_jax_too(name):
    jax = pytest.importorskip("jax")

    def traced(m):
        with pytest.raises(TypeError, match="cannot decide on symbols"):
            NUMERIC[name](MP.solid_sphere(m, 1.0))
        return m

    jax.jit(traced)(2.0)


def test_symbols_do_not_mix_with_batches():
    with pytest.raises(TypeError, match="cannot be mixed"):
        MP.point_mass(np.ones(3), 0) + MP.point_mass(ca.SX.sym("m"), 0)
    with pytest.raises(ValueError, match="one number, got a CasADi SX of shape"):
        MP.point_mass(ca.SX.sym("m", 2), 0)
    with pytest.raises(ValueError, match="3 numbers, got a CasADi SX"):
        MP.point_mass(1, ca.SX.sym("c", 4))
    with pytest.raises(ValueError, match="3 x 3 numbers, got a CasADi MX"):
        MP(1, 0, ca.MX.sym("c", 9))


def test_complex_steps_give_derivatives():
    """Any scalar with + - * / will do."""
    h = 1e-30
    for name in ("sum", "aggregate", "transform"):
        expected = differences(PROGRAMS[name], AT)
        for k, step in enumerate(np.eye(3)):
            values = outputs(PROGRAMS[name](*(complex(a, h * s) for a, s in zip(AT, step, strict=True))))
            np.testing.assert_allclose([np.imag(v) / h for v in values], expected[:, k], rtol=1e-6, atol=1e-6)


def test_neither_casadi_nor_jax_is_imported():
    """Not by the text, and not by using it."""
    for path in Path(sys.modules["kinetree.mass"].__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [n for n in names if n.split(".")[0] in ("casadi", "jax")], path
    program = """
import sys
import kinetree as kt
total = kt.MassProperties.solid_sphere(1, 2) + kt.MassProperties.point_mass(1, (1, 2, 3))
total.validate().to_mjcf()
loaded = {"casadi", "jax", "trimesh"} & set(sys.modules)
assert not loaded, loaded
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
