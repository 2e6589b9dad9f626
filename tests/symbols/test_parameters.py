"""Fields of a model as symbols: values and derivatives against models in which the field was replaced."""

from __future__ import annotations

import functools

import casadi
import mujoco
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
  <option density="1.3" viscosity="0.05" wind="0.4 -0.2 0.1" gravity="0.3 0.1 -9.5" magnetic="0.2 -0.4 0.3"/>
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
    <motor name="crank" cranksite="pin" slidersite="pivot" cranklength="0.5" gear="2"/>
    <motor name="winch" tendon="string" gear="3" armature="0.02" damping="0.03 0.02 0.01"/>
    <motor name="thrust" site="top" gear="0.3 0.1 3 0.1 0.02 0.5"/>
  </actuator>
  <sensor><magnetometer name="compass" site="tip"/><accelerometer name="imu" site="tip"/></sensor>
</mujoco>
"""
# Perturbed in proportion to what they are, and where they are something at all; others by lengths and angles.
MOVED = (*GEOMETRIC, *INPUTS, "body_ipos", "body_iquat", "qpos_spring", "opt_gravity", "opt_wind", "opt_magnetic")
HUMANOID = kt.models.path("humanoid")
INERTIAL_OF_HUMANOID = ("body_mass", "body_ipos", "body_inertia")


@functools.cache
def system():
    """The model, its numeric side with room in M for every body, and a state."""
    model = kt.load(EVERYTHING)
    opened = functools.reduce(without_simple, map(int, np.flatnonzero(model.body_simple)), model)
    return model, opened, numeric.random(numeric.smooth(model), 31)


def direction(model, name, rng):
    """A random direction in which a field may change; what belongs to the world stays."""
    value = value_of(model, name)
    out = rng.normal(size=value.shape) * (0.1 if name in MOVED else np.abs(value))
    if name.startswith("body_") or name == "xfrc_applied":
        out[0] = 0.0
    return out


def symbolic_results(sym, s, x):
    """Everything that parameters have a say in, in one vector of symbols."""
    results = [
        sym.inverse_dynamics(s.q, s.v, s.a, x), sym.forward_dynamics(s.q, s.v, s.tau, x), *sym.energy(s.q, s.v, x),
        *sym.actuation(s.q, s.v, s.act, s.ctrl, x), *sym.euler(s.q, s.v, s.tau, x),
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
        backward.qfrc_inverse - wrenches, data.qacc, data.energy, controlled.qfrc_actuator, controlled.act_dot, euler.qpos,
        euler.qvel, data.site_xpos[site], data.site_xquat[site], data.geom_xpos[geom], data.geom_xquat[geom],
        backward.sensordata,
    ]  # fmt: skip
    return np.concatenate(parts)


def replaced(model, s, name, value):
    """Results of the model with another value of a field."""
    if name in DIRECTIONS:
        value = value / np.linalg.norm(value, axis=1, keepdims=True)
    if name in INPUTS:
        return numeric_results(model, s, **{name: value})
    return numeric_results(model.replace(**{name: value}), s)


@pytest.mark.parametrize("name", PARAMETERS)
def test_values_and_derivatives_equal_replaced_models(name):
    model, opened, s = system()
    sym, rng = kt.symbolic(model, name), np.random.default_rng(PARAMETERS.index(name))
    (value,) = sym.values
    x, along = (
        casadi.SX.sym("x", *np.atleast_2d(value.T).T.shape),
        casadi.SX.sym("along", *np.atleast_2d(value.T).T.shape),
    )
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
