"""Fields of a model as symbols: values and derivatives against models in which the field was replaced."""

from __future__ import annotations

import copy
import functools

import casadi
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import SYMBOLS, SYMBOLS_GRADIENT
from kinetree.io.simple import without_simple
from kinetree.symbols.parameters import DIRECTIONS, GEOMETRIC, INPUTS, PARAMETERS, value_of
from tests.symbols import numeric
from tests.symbols.differences import slope

# Something of every kind of field: two media, springs, tendons, every way to drive a joint, a body moved by hand.
EVERYTHING = """
<mujoco model="everything">
  <compiler angle="radian"/>
  <option density="80" viscosity="0.5" wind="0.4 -0.2 0.1" gravity="0.3 0.1 -9.5" magnetic="0.2 -0.4 0.3"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <site name="hook" pos="0.1 0.3 1.4"/>
    <body name="carrier" mocap="true" pos="0.1 -0.2 1" quat="0.8 0.2 0.5 0.1"><site name="held" pos="0.1 0.2 0.1"/></body>
    <body name="upper" pos="0 0 1" euler="0.1 0.2 0.3" gravcomp="0.4">
      <joint name="ball" type="ball" stiffness="2 0.5 0.3" damping="0.2 0.1 0.05" pos="0.02 0.01 0" armature="0.02"/>
      <geom type="box" size="0.1 0.05 0.02" pos="0.03 0 0.01"/>
      <site name="pivot" pos="0.1 0.05 0.1" euler="0.3 0.2 0.5"/>
      <body name="lower" pos="0.1 0 0.1" euler="0.3 0 0.2" gravcomp="0.7">
        <joint name="hinge" axis="0.2 1 0.1" pos="0 0.02 0.01" stiffness="3 0.5 0.2" damping="0.1 0.05 0.02" springref="0.3"
          armature="0.02" ref="0.1"/>
        <geom name="rod" type="capsule" size="0.03" fromto="0 0 0 0.1 0.1 0"/>
        <site name="pin" pos="0.05 0.1 0.02" euler="0.2 0.1 0.4"/>
        <body name="slider" pos="0.1 0.1 0" euler="0 0.4 0">
          <joint name="slide" type="slide" axis="0.1 0.2 1" stiffness="40 3 2" springref="0.05" damping="1 0.3 0.2"/>
          <geom name="fin" type="ellipsoid" size="0.1 0.06 0.02" pos="0.02 0.01 0" euler="0.2 0.1 0.4" fluidshape="ellipsoid"
            fluidcoef="0.5 0.25 1.5 1 1"/>
          <site name="tip" pos="0 0.1 0.15" euler="0.5 0.1 0.3"/>
        </body>
      </body>
    </body>
    <body name="simple" pos="1 0 1"><freejoint/><geom type="box" size="0.1 0.2 0.05"/><site name="top" pos="0.1 0 0.1"/></body>
  </worldbody>
  <tendon>
    <spatial name="string" springlength="0.1 0.2" stiffness="5 2 1" damping="0.2 0.1 0.1" armature="0.02">
      <site site="hook"/><site site="pin"/><site site="tip"/><site site="held"/>
    </spatial>
  </tendon>
  <actuator>
    <general name="affine" joint="hinge" gear="2" gaintype="affine" gainprm="10 2 -0.5" biastype="affine" biasprm="0.1 -3 -0.2"
      dyntype="filter" dynprm="0.1" armature="0.01" damping="0.1 0.02 0.01"/>
    <motor name="crank" cranksite="pin" slidersite="pivot" cranklength="0.5" gear="40"/>
    <motor name="winch" tendon="string" gear="3" armature="0.02" damping="0.03 0.02 0.01"/>
    <motor name="thrust" site="top" gear="0.3 0.1 3 0.1 0.02 0.5"/>
  </actuator>
  <sensor><magnetometer name="compass" site="tip"/><accelerometer name="imu" site="tip"/></sensor>
</mujoco>
"""
YIELDING = EVERYTHING.replace('springref="0.3"', 'springref="0.3" springyield="0.1"')
# Perturbed in proportion to what they are, and where they are something at all; others by lengths and angles.
MOVED = (
    *(name for name in GEOMETRIC if name != "geom_size"),
    *INPUTS,
    "body_ipos",
    "body_iquat",
    "qpos_spring",
    "opt_gravity",
    "opt_wind",
    "opt_magnetic",
)
HUMANOID = kt.models.path("humanoid")
INERTIAL_OF_HUMANOID = ("body_mass", "body_ipos", "body_inertia")


@functools.cache
def system(name):
    """The model, its numeric side with room in M for every body, and a state."""
    model = kt.load(YIELDING if name == "plastic" else EVERYTHING)
    opened = functools.reduce(without_simple, map(int, np.flatnonzero(model.body_simple)), model)
    return model, opened, numeric.random(numeric.smooth(model), 31)


def direction(model, name, rng):
    """A random direction in which a field may change; what belongs to the world stays."""
    value = value_of(model, name)
    out = rng.normal(size=np.shape(value)) * (0.1 if name in MOVED else np.abs(value))
    if name.startswith("body_") or name == "xfrc_applied":
        out[0] = 0.0
    return np.asarray(out)


def symbolic_results(sym, s, x):
    """Everything that parameters have a say in, in one vector of symbols."""
    results = [
        sym.inverse_dynamics(s.q, s.v, s.a, x), sym.forward_dynamics(s.q, s.v, s.tau, x), *sym.energy(s.q, s.v, x),
        *sym.actuation(s.q, s.v, s.act, s.ctrl, x), *(() if sym.model.nplastic else sym.euler(s.q, s.v, s.tau, x)),
        *sym.forward_kinematics(site="tip")(s.q, x)[:2], *sym.forward_kinematics(geom="rod")(s.q, x)[:2],
        sym.sensor("compass")(s.q, x), sym.sensor("imu")(s.q, s.v, s.a, x),
    ]  # fmt: skip
    return casadi.vertcat(*results)


def numeric_results(model, s, **inputs):
    """The same by the kernels. inputs: fields of the data."""
    driven, undriven = numeric.smooth(model), numeric.smooth(model, driven=False)
    data = numeric.data_of(undriven, s)
    controlled = numeric.data_of(driven, s, tau=False)
    euler = numeric.data_of(undriven, s)
    backward = numeric.data_of(undriven, s, tau=False)
    for d in (data, controlled, euler, backward):
        for name, value in inputs.items():
            getattr(d, name)[:] = value
    backward.qacc[:] = s.a
    kt.forward(undriven, data)
    kt.forward(driven, controlled)
    kt.inverse(undriven, backward)
    kt.step(numeric.smooth(undriven, driven=False, integrator=kt.Integrator.EULER), euler)
    wrenches = data.qfrc_smooth + data.qfrc_bias - data.qfrc_passive - s.tau  # of xfrc_applied
    site, geom = data.site("tip").id, data.geom("rod").id
    parts = [
        backward.qfrc_inverse - wrenches, data.qacc, data.energy, controlled.qfrc_actuator, controlled.act_dot,
        *(() if model.nplastic else (euler.qpos, euler.qvel)), data.site_xpos[site], data.site_xquat[site],
        data.geom_xpos[geom], data.geom_xquat[geom], backward.sensordata,
    ]  # fmt: skip
    return np.concatenate(parts)


def replaced(model, s, name, value):
    """Results of the model with another value of a field."""
    if name in DIRECTIONS:
        value = value / np.linalg.norm(value, axis=1, keepdims=True)
    inputs = {
        "mocap_pos": kt.Data(model).mocap_pos,
        "mocap_quat": kt.Data(model).mocap_quat,
    }  # not of the replaced model
    if name in INPUTS:
        return numeric_results(model, s, **{**inputs, name: value})
    other = copy.copy(model)
    if name == "geom_size":
        other.geom_size[:] = value  # replace would derive added masses from it, which symbols leave as they are
    else:
        other = model.replace(**{name: value})
    return numeric_results(other, s, **inputs)


@pytest.mark.parametrize("name", PARAMETERS)
def test_values_and_derivatives_equal_replaced_models(name):
    model, opened, s = system(name)
    sym, rng = kt.symbolic(model, name), np.random.default_rng(PARAMETERS.index(name))
    (value,) = sym.values
    x, along = (casadi.SX.sym(which, *np.shape(value)) for which in ("x", "along"))
    results = symbolic_results(sym, s, x)
    function = casadi.Function("f", [x, along], [results, casadi.jtimes(results, x, along)])
    for _ in range(2):
        step = direction(model, name, rng)
        assert step.any(), f"the model has no {name}"
        there = value + 0.1 * step
        got, got_slope = function(there, step)
        numeric.same(got, replaced(opened, s, name, there), SYMBOLS, f"{name}: ")
        wanted = slope(lambda by, at=there, d=step: replaced(opened, s, name, at + by * d))
        assert np.abs(wanted).max() > 1e-3, f"{name} does nothing"
        numeric.same(got_slope, wanted, SYMBOLS_GRADIENT, f"d / d {name}: ")


def test_derivatives_of_the_humanoid_by_inertial_fields():
    """Joint forces under all inertial fields at once, each along a random direction."""
    model, fields = kt.load(HUMANOID), INERTIAL_OF_HUMANOID
    s, rng = numeric.random(model, 32), np.random.default_rng(6)
    sym, undriven = kt.symbolic(model, fields), numeric.smooth(model, driven=False)
    symbols = [casadi.SX.sym(name, *value.shape) for name, value in zip(fields, sym.values, strict=True)]
    forces = sym.inverse_dynamics(s.q, s.v, s.a, *symbols)
    for name, x, value in zip(fields, symbols, sym.values, strict=True):
        step = direction(model, name, rng)
        along = casadi.jtimes(forces, x, casadi.DM(step))
        got = casadi.Function("slope", symbols, [along])(*sym.values)
        wanted = slope(lambda by, d=step, n=name, p=value: numeric.inverse(undriven.replace(**{n: p + by * d}), s))
        numeric.same(got, wanted, SYMBOLS_GRADIENT, f"humanoid: d forces / d {name} ")


def test_a_simple_body_may_lose_its_balance():
    """MuJoCo gives a free body with its centre at the origin a diagonal block of M; as a symbol the centre may move."""
    xml = """<mujoco><worldbody><body name="b" pos="0 0 1" quat="0.8 0.2 0.5 0.1"><freejoint/>
      <inertial mass="2" pos="{}" diaginertia="0.1 0.2 0.25"/></body></worldbody></mujoco>"""
    balanced, off = kt.load(xml.format("0 0 0")), numeric.smooth(kt.load(xml.format("0.1 -0.2 0.3")))
    assert balanced.body_simple[1] and not off.body_simple[1]
    s = numeric.random(off, 33)
    data = numeric.forward(off, s)
    sym = kt.symbolic(balanced, "body_ipos")
    numeric.same(sym.mass_matrix(s.q, off.body_ipos), kt.full_m(off, data), SYMBOLS, "M")
    numeric.same(sym.forward_dynamics(s.q, s.v, s.tau, off.body_ipos), data.qacc, SYMBOLS, "qacc")


@pytest.mark.parametrize("name", ["actuator_armature", "actuator_damping", "actuator_dampingpoly"])
@pytest.mark.parametrize("driven", ["joint", "tendon"])
def test_actuators_that_lend_nothing_may_lend_something(driven, name):
    """Loading notes which actuators have armature or damping; none has here."""
    model = kt.load(f"""<mujoco>
      <worldbody><body><joint name="hinge" axis="1 2 3"/><geom size=".1" pos=".1 .2 0"/></body></worldbody>
      <tendon><fixed name="cord"><joint joint="hinge" coef="0.7"/></fixed></tendon>
      <actuator><motor {driven}="{"hinge" if driven == "joint" else "cord"}" gear="3"/></actuator></mujoco>""")
    value = value_of(model, name) + 0.3
    replaced_model, sym = model.replace(**{name: value}), kt.symbolic(model, name)
    s = numeric.random(model, 81)
    data = numeric.forward(numeric.smooth(replaced_model, driven=False), s)
    numeric.same(sym.mass_matrix(s.q, value).full(), kt.full_m(replaced_model, data), SYMBOLS, f"{name} M ")
    numeric.same(sym.passive(s.q, s.v, value).full().ravel(), data.qfrc_passive, SYMBOLS, f"{name} passive ")
