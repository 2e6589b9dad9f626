"""Symbolic functions against the compiled kernels, on every model of the corpus of up to 60 degrees of freedom."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import SYMBOLS
from kinetree.symbols.sensors import is_smooth
from kinetree.types import JointType, SensorType
from tests.corpora import entries
from tests.symbols import numeric
from tests.trees import random_tree

LARGEST = 60  # dofs
LARGEST_RK4 = (
    12  # dofs of models whose RK4 is traced every day; it is four times forward dynamics, so others wait for soak
)
MODELS = Path(__file__).parents[1] / "models"
ELEMENTS = {"body": "", "site": "site_", "geom": "geom_"}
# What is part of neither state nor parameters: rest positions that yield, and the past of controls.
WITH_A_PAST = re.compile(r' (springyield|delay|nsample|interp|interval)="[^"]*"')


def without_past(name):
    """One of our test models without yielding springs and delays, which are refused."""
    return mujoco.MjModel.from_xml_string(WITH_A_PAST.sub("", (MODELS / f"{name}.xml").read_text(encoding="utf-8")))


SOURCES = {entry.name: entry.source for entry in entries()}
SOURCES |= {f"tree {seed}": functools.partial(random_tree, seed, nbody=8) for seed in range(3)}
LIVELY = {f"{name} without past": functools.partial(without_past, name)
          for name in ("actuators", "asleep", "passive", "plugins", "servos", "tendons")}  # fmt: skip
SOURCES |= LIVELY


class Pair:
    """A model with its symbolic functions, in a random state."""

    def __init__(self, name: str, model: kt.Model):
        self.name, self.sym = name, kt.symbolic(model)
        self.driven, self.undriven = numeric.smooth(model), numeric.smooth(model, driven=False)
        if (
            model.opt.integrator == kt.Integrator.DISCRETE
        ):  # whose acceleration is that of the step, as functions have none
            self.undriven.opt.integrator = kt.Integrator.EULER
        self.model, self.state = self.driven, numeric.random(self.driven, 11)
        self.data = numeric.forward(self.undriven, self.state)

    def compare(self, what, got, wanted, scale=None):
        numeric.same(got, wanted, SYMBOLS, f"{self.name}: {what}", scale)

    def accelerations(self):
        """The scale of each."""
        return numeric.reach_of_rounding(self.undriven, self.data, self.state.tau)

    @property
    def is_delayed(self):
        return bool((self.model.actuator_delay > 0).any())


def some(count):
    """Ids of the first, the middle and the last."""
    return sorted({0, count // 2, count - 1}) if count else []


@pytest.mark.parametrize("name", SOURCES)
def test_functions_equal_kernels(name):
    model = kt.load(SOURCES[name]())
    if not 0 < model.nv <= LARGEST:
        pytest.skip(f"nothing moves, or more than {LARGEST} dofs do: {model.nv}")
    pair = Pair(name, model)
    compare_dynamics(pair)
    compare_configurations(pair)
    compare_stable_pd(pair)
    compare_subtrees(pair)
    compare_frames(pair)
    compare_sensors(pair)
    compare_actuation(pair)
    compare_steps(pair)


@pytest.mark.soak
@pytest.mark.parametrize("name", SOURCES)
def test_steps_equal_kernels(name):
    model = kt.load(SOURCES[name]())
    if not LARGEST_RK4 < model.nv <= LARGEST:
        pytest.skip(f"traced every day, or too large: {model.nv} dofs")
    compare_steps(Pair(name, model), all_integrators=True)


def compare_dynamics(p):
    sym, s, data = p.sym, p.state, p.data
    p.compare("mass_matrix", sym.mass_matrix(s.q), kt.full_m(p.undriven, data))
    p.compare("bias", sym.bias(s.q, s.v), data.qfrc_bias)
    p.compare("passive", sym.passive(s.q, s.v), data.qfrc_passive)
    p.compare("inverse_dynamics", sym.inverse_dynamics(s.q, s.v, s.a), numeric.inverse(p.undriven, s))
    p.compare("forward_dynamics", sym.forward_dynamics(s.q, s.v, s.tau), data.qacc, p.accelerations())
    p.compare("energy", np.ravel(sym.energy(s.q, s.v)), data.energy)


def compare_configurations(p):
    sym, s, other = p.sym, p.state, numeric.random(p.model, 12).q
    p.compare("integrate_pos", sym.integrate_pos(s.q, s.v, 0.3), kt.integrate_pos(p.model, s.q, s.v, 0.3))
    wanted = kt.differentiate_pos(p.model, 0.3, s.q, other)
    p.compare("differentiate_pos", sym.differentiate_pos(0.3, s.q, other), wanted)


def compare_stable_pd(p):
    """Free joints have no gains, all others random ones over two decades."""
    s, rng = p.state, np.random.default_rng(5)
    free = p.model.jnt_type[p.model.dof_jntid] == JointType.FREE
    kp, kd = (np.where(free, 0.0, 10.0 ** rng.uniform(low, low + 2, p.model.nv)) for low in (0, -1))
    target, data = numeric.random(p.model, 13).q, numeric.data_of(p.undriven, s, tau=False)
    for mode, function in {"spd": p.sym.stable_pd_torque, "implicit": p.sym.implicit_pd_torque}.items():
        controller = kt.StablePD(p.undriven, kp, kd, mode=mode)
        tau, a = function(s.q, s.v, target, kp, kd)
        force, diagonal = controller.force(data, target), controller.h * (kd + (mode == "implicit") * controller.h * kp)
        accelerations = numeric.reach_of_rounding(p.undriven, p.data, force, diagonal)
        p.compare(f"{mode} acceleration", a, controller.acceleration(data, target), accelerations)
        p.compare(f"{mode} torque", tau, controller.torque(data, target), np.abs(force) + diagonal * accelerations)


def compare_subtrees(p):
    s, data = p.state, numeric.forward(p.driven, p.state)
    for b in some(p.model.nbody):
        results = zip(("mass", "com", "linvel", "angmom"), p.sym.subtree(b)(s.q, s.v), strict=True)
        for what, got in results:
            p.compare(f"subtree {b} {what}", got, getattr(data, f"subtree_{what}")[b])


def compare_frames(p):
    q, data = p.state.q, numeric.forward(p.driven, p.state)
    for kind, prefix in ELEMENTS.items():
        for i in some(getattr(p.model, f"n{kind}")):
            pos, quat, mat = p.sym.forward_kinematics(**{kind: i})(q)
            p.compare(f"{kind} {i} pos", pos, getattr(data, f"{prefix}xpos")[i])
            p.compare(f"{kind} {i} quat", quat, getattr(data, f"{prefix}xquat")[i])
            p.compare(f"{kind} {i} mat", mat, np.reshape(getattr(data, f"{prefix}xmat")[i], (3, 3)))
            jacp, jacr = p.sym.jacobian(**{kind: i})(q)
            wanted = getattr(kt, f"jac_{kind}")(p.driven, data, i)
            p.compare(f"{kind} {i} jacp", jacp, wanted[0])
            p.compare(f"{kind} {i} jacr", jacr, wanted[1])


def compare_sensors(p):
    """Readings without delay and interval, at the acceleration of the state itself."""
    model, data = p.model, numeric.forward(p.driven, p.state, tau=False)
    given = p.state._replace(a=data.qacc)._asdict()
    for i in range(model.nsensor):
        what = f"sensor {i} ({SensorType(int(model.sensor_type[i])).name})"
        if not is_smooth(model, i):
            with pytest.raises(kt.UnsupportedFeatureError, match=SensorType(int(model.sensor_type[i])).name.lower()):
                p.sym.sensor(i)
        elif not model.sensor_delay[i] and not model.sensor_interval[i].any():
            try:
                function = p.sym.sensor(i)
            except kt.UnsupportedFeatureError as error:
                assert p.is_delayed and "delay" in str(error), what
                continue
            first = model.sensor_adr[i]
            wanted = data.sensordata[first : first + model.sensor_dim[i]]
            p.compare(what, function(*(given[name] for name in function.name_in())), wanted)


def compare_actuation(p):
    s = p.state
    if p.is_delayed:
        for name in ("actuation", "controlled_step"):
            with pytest.raises(kt.UnsupportedFeatureError, match="delay"):
                getattr(p.sym, name)
        return
    data = numeric.forward(p.driven, s, tau=False)
    tau, act_dot = p.sym.actuation(s.q, s.v, s.act, s.ctrl)
    p.compare("actuation tau", tau, data.qfrc_actuator)
    p.compare("actuation act_dot", act_dot, data.act_dot)


def compare_steps(p, all_integrators=False):
    sym, s = p.sym, p.state
    if p.model.nplastic:
        for name in ("step", "euler", "rk4", "controlled_step"):
            with pytest.raises(kt.UnsupportedFeatureError, match="springyield|delay"):
                getattr(sym, name)
        return
    h = p.model.opt.timestep
    velocities = np.abs(s.v) + h * p.accelerations()
    positions = np.abs(s.q).max() + h * velocities.max()

    def compare(function, q, v, data):
        largest = np.abs(data.qvel).max()  # RK4 explodes on some, whose dampers are made for implicit steps
        p.compare(f"{function} v_next", v, data.qvel, np.maximum(velocities, largest))
        p.compare(f"{function} q_next", q, data.qpos, max(positions, h * largest))

    own, integrators = p.model.opt.integrator, {}
    if all_integrators or p.model.nv <= LARGEST_RK4:
        integrators = {
            "rk4": kt.Integrator.RK4,
            **({} if own == kt.Integrator.EULER else {"euler": kt.Integrator.EULER}),
        }
    for function, integrator in {"step": own, **integrators}.items():
        data = numeric.stepped(numeric.smooth(p.undriven, driven=False, integrator=integrator), s)
        q, v = getattr(sym, function)(s.q, s.v, s.tau)
        compare(function, q, v, data)
    if not p.is_delayed:
        data = numeric.stepped(p.driven, s, tau=False)
        q, v, act = sym.controlled_step(s.q, s.v, s.act, s.ctrl)
        compare("controlled_step", q, v, data)
        p.compare("controlled_step act_next", act, data.act)


@pytest.mark.parametrize("name", ["kinetree/models/humanoid.xml", "dm_control/suite/humanoid.xml"])
def test_forward_dynamics_of_a_humanoid_is_short(name):
    """What we promise: no more instructions than that."""
    assert kt.symbolic(SOURCES[name]()).forward_dynamics.n_instructions() <= 15_000


@pytest.mark.parametrize("feature", ["passive", "act_dyn", "act_gain", "act_bias"])
def test_callbacks_are_refused_by_name(feature):
    model = kt.load(SOURCES["kinetree/models/cartpole.xml"]())
    setattr(model.callbacks, feature, lambda *arguments: 0.0)
    with pytest.raises(kt.UnsupportedFeatureError, match=feature):
        kt.symbolic(model)
