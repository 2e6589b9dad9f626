"""Bodies whose mass properties are symbols, against models with the same numbers."""

from __future__ import annotations

import functools
import pickle

import casadi
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import SYMBOLS, SYMBOLS_GRADIENT
from kinetree.errors import UnknownNameError
from tests.symbols import numeric
from tests.symbols.differences import slope
from tests.symbols.test_regressor import body as random_body
from tests.trees import random_tree

FREE = """<mujoco><worldbody>
  <body name="b2" pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.2 0.05"/></body>
  <body name="b3"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><geom size="0.1"/></body>
</worldbody></mujoco>"""
SOURCES = {"tree": random_tree(2, nbody=6, massless=0.0), "simple": FREE}
KINDS = {"SX": casadi.SX, "MX": casadi.MX}
RESULTS = ("M", "qacc", "qpos", "qvel", "energy", "angmom")
X = np.array([1.3, 0.2])  # mass and length of the link below


@functools.cache
def model_of(name):
    return kt.load(SOURCES[name])


def link(x, scale=1.0):
    """A body off its origin, turned, with all products of inertia, that depends on two numbers."""
    mass, length = x[0] * scale, x[1]
    inertia = [
        [0.4 * mass * length, 0.02 * length, 0.03 * mass],
        [0.02 * length, 0.5 * mass * length, -0.01],
        [0.03 * mass, -0.01, 0.6 * mass * length],
    ]
    return kt.MassProperties(mass=mass, cg=(0.3 * length, -0.1, 0.2 + length), inertia=inertia)


def symbolic_results(sym, s, *values):
    """Everything that mass properties have a say in, in the order of RESULTS."""
    q, v = sym.step(s.q, s.v, s.tau, *values)
    return (
        sym.mass_matrix(s.q, *values), sym.forward_dynamics(s.q, s.v, s.tau, *values), q, v,
        casadi.vertcat(*sym.energy(s.q, s.v, *values)), sym.subtree(0)(s.q, s.v, *values)[3],
    )  # fmt: skip


def numeric_results(model, s):
    model = numeric.smooth(model, driven=False)
    data, after = numeric.forward(model, s), numeric.stepped(model, s)
    return kt.full_m(model, data), data.qacc, after.qpos, after.qvel, data.energy, data.subtree_angmom[0]


def compare(got, wanted, tolerance, what):
    for name, a, b in zip(RESULTS, got, wanted, strict=True):
        numeric.same(a, b, tolerance, f"{what}: {name}")


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("kind", KINDS)
def test_symbols_equal_numbers(kind, name):
    model = model_of(name)
    s, x = numeric.random(model, 51), KINDS[kind].sym("x", 2)
    sym = kt.symbolic(model).with_body("b2", link(x), inputs=[x])
    assert sym.mass_matrix.name_in() == ["q", "x"] and sym.mass_matrix.size_in("x") == (2, 1)
    wanted = numeric_results(kt.set_body_mass_properties(model, "b2", link(X)), s)
    compare(symbolic_results(sym, s, X), wanted, SYMBOLS, f"{name} {kind}")


@pytest.mark.parametrize("name", SOURCES)
def test_plain_numbers_need_no_inputs(name):
    model, mp = model_of(name), random_body(8)
    s, sym = numeric.random(model, 52), kt.symbolic(model).with_body("b3", mp)
    assert sym.bias.name_in() == ["q", "v"]
    wanted = numeric_results(kt.set_body_mass_properties(model, "b3", mp), s)
    compare(symbolic_results(sym, s), wanted, SYMBOLS, name)


def test_two_bodies_share_a_symbol():
    model = model_of("tree")
    s, x = numeric.random(model, 53), casadi.SX.sym("x", 2)
    sym = kt.symbolic(model).with_body("b2", link(x), inputs=[x]).with_body("b3", link(x, 2.0), inputs=[x])
    assert sym.mass_matrix.name_in() == ["q", "x"]
    other = kt.set_body_mass_properties(model, "b2", link(X))
    wanted = numeric_results(kt.set_body_mass_properties(other, "b3", link(X, 2.0)), s)
    compare(symbolic_results(sym, s, X), wanted, SYMBOLS, "two bodies")


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_by_the_symbol_equal_differences(kind, name):
    model = model_of(name)
    s, x = numeric.random(model, 54), KINDS[kind].sym("x", 2)
    sym = kt.symbolic(model).with_body("b2", link(x), inputs=[x])
    results = symbolic_results(sym, s, x)
    for i, along in enumerate(np.eye(2)):
        slopes = casadi.Function("slopes", [x], [casadi.jtimes(casadi.vec(r), x, casadi.DM(along)) for r in results])
        got = slopes.call([X])

        def at(by, which, along=along):
            return numeric_results(kt.set_body_mass_properties(model, "b2", link(X + by * along)), s)[which].ravel("F")

        for which, result in enumerate(RESULTS):
            wanted = slope(functools.partial(at, which=which))
            numeric.same(got[which], wanted, SYMBOLS_GRADIENT, f"{name} {kind}: d {result} / d x[{i}] ")


def test_parameters_come_before_bodies():
    model, mass = model_of("tree"), casadi.SX.sym("mass")
    mp = kt.MassProperties(mass=mass, cg=(0.1, 0.0, 0.2), inertia=np.diag([0.1, 0.1, 0.1]))
    sym = kt.symbolic(model, "dof_armature").with_body("b2", mp)
    assert sym.forward_dynamics.name_in() == ["q", "v", "tau", "dof_armature", "mass"]
    assert "b2" in repr(sym)


def test_symbols_are_found_one_by_one_in_the_order_of_their_names():
    mass, x = casadi.SX.sym("mass"), casadi.SX.sym("x", 11)
    mp = kt.MassProperties(mass=mass, cg=(x[10], x[2], x[0]), inertia=np.eye(3) * 0.1)
    names = kt.symbolic(model_of("tree")).with_body("b2", mp).mass_matrix.name_in()
    assert names == ["q", "mass", "x_0", "x_2", "x_10"]


def test_a_system_with_bodies_is_pickled():
    model, s, x = model_of("tree"), numeric.random(model_of("tree"), 58), casadi.SX.sym("x", 2)
    sym = kt.symbolic(model, "dof_damping").with_body("b2", link(x), inputs=[x])
    copied = pickle.loads(pickle.dumps(sym))
    given = s.q, s.v, s.tau, *sym.values, X
    np.testing.assert_array_equal(copied.forward_dynamics(*given).full(), sym.forward_dynamics(*given).full())


def test_inertial_parameters_are_not_those_of_another_body():
    sym = kt.symbolic(model_of("tree")).with_body("b2", random_body(1))
    with pytest.raises(ValueError, match="inertial_columns"):
        _ = sym.inertial_parameters


def test_sensors_of_principal_axes_are_refused():
    """A tensor of symbols has no principal axes; the place of its centre, and a site, are as before."""
    sensors = """<sensor>
      <framequat name="axes" objtype="body" objname="b2"/><framepos name="centre" objtype="body" objname="b2"/>
      <framepos name="seen" objtype="body" objname="b3" reftype="body" refname="b2"/>
      <framequat name="own" objtype="xbody" objname="b2"/></sensor></mujoco>"""
    model = kt.load(random_tree(3, nbody=6).replace("</mujoco>", sensors))
    sym = kt.symbolic(model).with_body("b2", random_body(1))
    for name in ("axes", "seen"):
        with pytest.raises(kt.UnsupportedFeatureError, match=f"{name}.*principal axes"):
            sym.sensor(name)
    s, other = numeric.random(model, 59), kt.set_body_mass_properties(model, "b2", random_body(1))
    wanted = numeric.forward(other, s)
    for name in ("centre", "own"):
        numeric.same(sym.sensor(name)(s.q).full().ravel(), wanted.sensor(name).data, SYMBOLS, name)


def test_impossible_bodies_and_batches_are_refused():
    sym = kt.symbolic(model_of("tree"))
    with pytest.raises(ValueError, match="mass is negative"):
        sym.with_body("b2", kt.MassProperties.solid_sphere(-1.0, 0.1))
    with pytest.raises(TypeError, match="not a batch"):
        sym.with_body("b2", kt.MassProperties.solid_sphere(np.ones(2), 0.1))


def test_a_body_replaced_again_takes_the_last():
    model, s = model_of("tree"), numeric.random(model_of("tree"), 55)
    first, last = random_body(1), random_body(2)
    sym = kt.symbolic(model).with_body("b2", first).with_body("b2", last)
    wanted = numeric_results(kt.set_body_mass_properties(model, "b2", last), s)
    compare(symbolic_results(sym, s), wanted, SYMBOLS, "last")


def test_the_original_stays_as_it_is():
    sym, s = kt.symbolic(model_of("tree")), numeric.random(model_of("tree"), 56)
    before = np.asarray(sym.mass_matrix(s.q))
    _ = sym.with_body("b2", random_body(1)).mass_matrix
    np.testing.assert_array_equal(np.asarray(sym.mass_matrix(s.q)), before)
    numeric.same(sym.bias(s.q, s.v), numeric.forward(model_of("tree"), s).qfrc_bias, SYMBOLS, "bias traced afterwards ")


def of_mass(symbol):
    return kt.MassProperties(mass=symbol, cg=(0.0, 0.0, 0.0), inertia=np.eye(3))


def test_what_is_no_body_is_refused():
    sym = kt.symbolic(model_of("tree"))
    with pytest.raises(ValueError, match="world"):
        sym.with_body(0, random_body(1))
    with pytest.raises(TypeError, match="MassProperties"):
        sym.with_body("b2", 3.0)
    with pytest.raises(UnknownNameError, match="b22"):
        sym.with_body("b22", random_body(1))


@pytest.mark.parametrize("name", ["q", "tau", "dof_armature", "M", "A", "xpos"])
def test_two_inputs_of_one_name_are_refused(name):
    sym = kt.symbolic(model_of("tree"), "dof_armature")
    with pytest.raises(ValueError, match=f"two inputs.* are called '{name}'"):
        sym.with_body("b2", of_mass(casadi.SX.sym(name)))


def test_two_symbols_of_one_name_are_not_one():
    sym = kt.symbolic(model_of("tree")).with_body("b2", of_mass(casadi.SX.sym("mass")))
    for other in (casadi.SX.sym("mass"), casadi.MX.sym("mass")):
        with pytest.raises(ValueError, match="two inputs.* are called 'mass'"):
            sym.with_body("b3", of_mass(other))
    a, b = casadi.SX.sym("mass"), casadi.SX.sym("mass")
    with pytest.raises(ValueError, match="two inputs.* are called 'mass'"):
        sym.with_body("b2", of_mass(a + b))


def test_inputs_must_cover_the_symbols_and_be_symbols():
    sym, a, b = kt.symbolic(model_of("tree")), casadi.SX.sym("a"), casadi.SX.sym("b")
    with pytest.raises(ValueError, match="lack symbols.*a"):
        sym.with_body("b2", of_mass(a), inputs=[b])
    with pytest.raises(TypeError, match="symbols of the same kind"):
        sym.with_body("b2", of_mass(a), inputs=[casadi.MX.sym("a")])
    with pytest.raises(TypeError, match="symbols of the same kind"):
        sym.with_body("b2", of_mass(a), inputs=[2 * a])
    with pytest.raises(ValueError, match="cannot be the name"):
        sym.with_body("b2", of_mass(casadi.SX.sym("a b")))


def test_a_medium_is_refused():
    model = kt.load(FREE.replace("<worldbody>", "<option density='1.2'/><worldbody>", 1))
    with pytest.raises(kt.UnsupportedFeatureError, match="medium"):
        kt.symbolic(model).with_body("b2", random_body(1))
    with pytest.raises(kt.UnsupportedFeatureError, match="medium"):
        kt.symbolic(model_of("tree"), "opt_viscosity").with_body("b2", random_body(1))


def test_bodies_of_both_kinds_mix():
    """A body of SX symbols and one of MX: the functions are of MX."""
    model, s = model_of("tree"), numeric.random(model_of("tree"), 57)
    x, y = casadi.SX.sym("x", 2), casadi.MX.sym("y", 2)
    sym = kt.symbolic(model).with_body("b2", link(x), inputs=[x]).with_body("b3", link(y, 2.0), inputs=[y])
    other = kt.set_body_mass_properties(model, "b2", link(X))
    wanted = numeric_results(kt.set_body_mass_properties(other, "b3", link(X, 2.0)), s)
    compare(symbolic_results(sym, s, X, X), wanted, SYMBOLS, "both kinds")
