"""CasADi's derivatives against differences of the compiled kernels, also where lengths vanish: at rest, and not moving."""

from __future__ import annotations

import functools

import casadi
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import SYMBOLS_GRADIENT
from kinetree.symbols.sensors import is_smooth
from kinetree.types import SensorType
from tests.symbols import numeric
from tests.symbols.differences import differences, tangent_jacobian
from tests.symbols.test_functions import SOURCES
from tests.trees import random_tree

FLEXIBLE = ("passive without past", "tendons without past", "kinetree/models/tendon_finger.xml")
NAMES = ("tests/models/joints.xml", "tree", *FLEXIBLE)
SENSORS, ACTUATORS = "tests/models/sensors.xml", ("actuators without past", "servos without past")
STATE = ("q", "v", "a", "act", "ctrl")
PLACES = ("somewhere", "at rest")
OWN = {**SOURCES, "tree": functools.partial(random_tree, 1, nbody=4)}


@functools.cache
def system(name):
    model = kt.load(OWN[name]())
    return numeric.smooth(model), numeric.smooth(model, driven=False), kt.symbolic(model)


def next_state(model, state):
    data = numeric.stepped(model, state)
    return np.concatenate((data.qpos, data.qvel))


def pose(body, model, state):
    data = numeric.data_of(model, state)
    kt.kinematics(model, data)
    return np.concatenate((data.xpos[body], data.xquat[body], np.reshape(data.xmat[body], (3, 3)).ravel(order="F")))


def readings(model, state):
    """Of all sensors, at a given acceleration and under given controls."""
    data = numeric.data_of(model, state, tau=False)
    kt.forward(model, data)
    data.qacc[:] = state.a
    kt.inverse(model, data)
    return data.sensordata.copy()


def forces_of_actuators(model, state):
    data = numeric.forward(model, state, tau=False)
    return np.concatenate((data.qfrc_actuator, data.act_dot))


CASES = {
    "forward_dynamics": (lambda m, s: numeric.forward(m, s).qacc.copy(), ("q", "v", "tau"), NAMES),
    "inverse_dynamics": (numeric.inverse, ("q", "v", "a"), NAMES),
    "passive": (lambda m, s: numeric.forward(m, s).qfrc_passive.copy(), ("q", "v"), NAMES),
    "energy": (lambda m, s: numeric.forward(m, s).energy.copy(), ("q", "v"), NAMES),
    "actuation": (forces_of_actuators, ("q", "v", "act", "ctrl"), ACTUATORS),
    "euler": (next_state, ("q", "v", "tau"), ("tree", "tendons without past")),
    "rk4": (next_state, ("q", "v", "tau"), ("tree", "kinetree/models/tendon_finger.xml")),
}
INTEGRATORS = {"euler": kt.Integrator.EULER, "rk4": kt.Integrator.RK4}


def state_of(model, where):
    return numeric.at_rest(model) if where == "at rest" else numeric.random(model, 21)


def compare(name, where, function, reference, sym, model, inputs):
    s = state_of(model, where)
    smooth = where != "at rest" and function.name() != "actuation"  # which has limits everywhere
    for which in inputs:
        got = tangent_jacobian(sym, function, s, which)
        wanted = differences(model, functools.partial(reference, model), s, which, smooth)
        numeric.same(got, wanted, SYMBOLS_GRADIENT, f"{name} {where}: d {function.name()} / d {which} ")


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("function, name", [(function, name) for function, case in CASES.items() for name in case[2]])
def test_jacobians_equal_differences(function, name, where):
    driven, undriven, sym = system(name)
    reference, inputs, _ = CASES[function]
    model = driven if function == "actuation" else undriven
    if function in INTEGRATORS:
        model = numeric.smooth(model, driven=False, integrator=INTEGRATORS[function])
    compare(name, where, getattr(sym, function), reference, sym, model, inputs)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("where", PLACES)
def test_jacobians_of_poses_equal_differences(where, name):
    model, _, sym = system(name)
    for body in (model.nbody // 2, model.nbody - 1):
        compare(name, where, sym.forward_kinematics(body), functools.partial(pose, body), sym, model, ("q",))


@pytest.mark.parametrize("where", PLACES)
def test_jacobians_of_sensors_equal_differences(where):
    model, _, sym = system(SENSORS)
    s = state_of(model, where)
    reference = functools.partial(readings, model)
    wanted = {which: differences(model, reference, s, which, smooth=where != "at rest") for which in STATE}
    for i in range(model.nsensor):
        if is_smooth(model, i) and not model.sensor_delay[i] and not model.sensor_interval[i].any():
            function, rows = sym.sensor(i), slice(model.sensor_adr[i], model.sensor_adr[i] + model.sensor_dim[i])
            for which in function.name_in():
                what = f"sensor {i} ({SensorType(int(model.sensor_type[i])).name}) {where}: d / d {which} "
                numeric.same(tangent_jacobian(sym, function, s, which), wanted[which][rows], SYMBOLS_GRADIENT, what)


@pytest.mark.parametrize(
    "name", ["tests/models/joints.xml", "passive without past", "kinetree/models/tendon_finger.xml"]
)
def test_hessian_of_the_potential_is_the_stiffness_at_rest(name):
    """Lengths of springs at rest have no derivative, but the energy of one has two."""
    _, model, sym = system(name)
    s, step = numeric.at_rest(model), casadi.SX.sym("step", model.nv)
    potential, _ = sym.energy(sym.integrate_pos(s.q, step, 1.0), s.v)
    hessian, gradient = casadi.hessian(potential, step)
    got = np.asarray(casadi.Function("H", [step], [hessian])(np.zeros(model.nv)))
    slope = casadi.Function("g", [step], [gradient])
    wanted = [(slope(h * e) - slope(-h * e)).full().ravel() / (2 * h) for h in [1e-6] for e in np.eye(model.nv)]
    numeric.same(got, np.array(wanted).T, SYMBOLS_GRADIENT, f"{name}: Hessian of the potential energy ")


def test_second_derivatives_of_rotations_are_right_at_rest():
    """q exp(v dt) by Taylor: w falls as 1 - |v dt|^2 / 8."""
    sym = kt.symbolic("<mujoco><worldbody><body><joint type='ball'/><geom size='1'/></body></worldbody></mujoco>")
    v = casadi.SX.sym("v", 3)
    w = sym.integrate_pos([1.0, 0.0, 0.0, 0.0], v, 0.5)[0]
    hessian = casadi.Function("H", [v], [casadi.hessian(w, v)[0]])
    np.testing.assert_allclose(np.asarray(hessian([0.0, 0.0, 0.0])), -np.eye(3) / 16.0, atol=1e-15)
