"""Actuators of the plugin mujoco.pid: forces and states against MuJoCo with the plugin, along motions and in closed form."""

from __future__ import annotations

import copy
import itertools
import pickle

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import LaneData
from kinetree.conformance.tolerances import ACCELERATION, FORCE, LANES, SYMBOLS, TRAJECTORY_SMOOTH
from tests.dynamics.paired import MODELS, agree, paired, same
from tests.dynamics.test_actuation import FLAGS, fill_histories
from tests.pipeline.both import INTEGRATORS, both, close, quietly

PLUGINS = MODELS / "plugins.xml"
FIELDS = ["act_dot", "actuator_force", "qfrc_actuator"]
STATE = ("qpos", "qvel", "act")

# A ball, two hinges that are not parallel, anchors aside; an actuator with three outputs stands first.
ARM = """<mujoco model="arm"><option timestep=".01" integrator="{integrator}" {option}><flag {flag}/></option>
  <extension><plugin plugin="mujoco.pid"><instance name="p">{config}</instance></plugin></extension>{default}
  <worldbody><body pos="1 0 0"><joint name="ball" type="ball" damping=".1"/><geom size=".1" pos=".3 0 .1"/>
    <body pos=".1 .2 0"><joint name="elbow" axis="1 2 3" pos=".02 0 0"/><geom size=".1" pos=".3 0 0"/>
    <body pos="0 .4 .1"><joint name="wrist" axis="0 2 1"/><geom size=".1" pos=".3 0 0"/></body></body></body></worldbody>
  <tendon><fixed name="both" {tendon}><joint joint="elbow" coef="1"/><joint joint="wrist" coef="-.5"/></fixed></tendon>
  <actuator><orientation joint="ball" kp="1"/>{others}
    <plugin {attributes} plugin="mujoco.pid" instance="p"/></actuator></mujoco>"""
ON_WRIST = 'joint="wrist"'
CONFIGS = {
    "pd": {"kp": 10, "kd": 0.5},
    "integral": {"kp": 10, "kd": 0.5, "ki": 3},
    "slew": {"kp": 10, "kd": 0.2, "slewmax": 0.4},
    "clamped slew": {"kp": 10, "kd": 0.3, "ki": 30, "imax": 0.5, "slewmax": 0.6},
    "negative": {"kp": -1, "kd": 0.3, "ki": -3, "imax": -0.05},
    "held": {"kp": 5, "slewmax": 0},
}
DYNAMICS = ("none", "integrator", "filter", "filterexact")


def arm(config: dict[str, float], attributes: str = ON_WRIST, **parts: str) -> str:
    text = "".join(f'<config key="{key}" value="{value}"/>' for key, value in config.items())
    empty = dict.fromkeys(("option", "default", "tendon", "others"), "")
    return ARM.format(
        **{**empty, "integrator": "Euler", "flag": 'energy="disable"', **parts}, config=text, attributes=attributes
    )


def with_states(config: dict[str, float], dynamics: str, more: str = "") -> str:
    """Attributes of an actuator with as many states as it has."""
    states = sum(("ki" in config, "slewmax" in config, dynamics != "none"))
    return f'{ON_WRIST} actdim="{states}" dyntype="{dynamics}" dynprm=".3" {more}'


def follow(text: str, seed: int, steps: int = 150) -> np.ndarray:
    """Step both sides under the same random controls; states agree all along. Gives our activations."""
    pair, acts = both(text, seed), []
    for step in range(steps):
        for data in (pair.ours, pair.theirs):
            data.ctrl[:] = np.random.default_rng([seed, step]).normal(size=pair.mj.nu)
        mujoco.mj_step(pair.mj, pair.theirs)
        kt.step(pair.model, pair.ours)
        pair.same(STATE, TRAJECTORY_SMOOTH, f"step {step}")
        pair.same(("act_dot", "actuator_force"), TRAJECTORY_SMOOTH, f"step {step}")
        acts.append(pair.ours.act.copy())
    return np.array(acts)


# along motions


@pytest.mark.parametrize("label, dynamics", list(itertools.product(CONFIGS, DYNAMICS)))
def test_trajectories_equal_mujocos(label, dynamics):
    """Saturated integrals, rate limits and clamped activations, early or not, with every integrator."""
    config = CONFIGS[label]
    limits = ["", 'ctrlrange="-.2 .5" ctrllimited="true" forcerange="-2 2"']
    limits += [] if dynamics == "none" else ['actlimited="true" actrange="-.3 .3"', 'actearly="true"']
    for k, more in enumerate(limits):
        integrator = kt.Integrator(INTEGRATORS[(k + len(label) + len(dynamics)) % 4]).name.lower()
        integrator = {"euler": "Euler", "rk4": "RK4"}.get(integrator, integrator)
        follow(arm(config, with_states(config, dynamics, more), integrator=integrator), seed=k)


def test_limits_are_met():
    """In these motions the integral reaches its bound, and the setpoint moves by what it may in each step."""
    acts = follow(arm(CONFIGS["clamped slew"], with_states(CONFIGS["clamped slew"], "none")), seed=1)
    assert np.isclose(np.abs(acts[:, 0]).max(), 0.5 / 30) and (np.abs(acts[:, 0]) > 0.0166).sum() > 20
    moved = np.abs(np.diff(acts[:, 1]))
    assert np.isclose(moved.max(), 0.6 * 0.01) and (moved > 0.0059).sum() > 100


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit", "implicitfast"])
def test_a_whole_model_moves_like_mujocos(integrator):
    mj = mujoco.MjModel.from_xml_path(str(PLUGINS))
    mj.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    pair = both(mj, 3)
    for step in range(120):
        for data in (pair.ours, pair.theirs):
            data.ctrl[:] = np.random.default_rng([3, step]).normal(size=pair.mj.nu)
        mujoco.mj_step(pair.mj, pair.theirs)
        kt.step(pair.model, pair.ours)
        pair.same(STATE, TRAJECTORY_SMOOTH, f"step {step}")


# single stages


def actuated(seed: int, time: float = 1.0, **options):
    """A pair in a random state after actuation on both sides."""
    pair = paired(PLUGINS, seed, **options)
    fill_histories(pair, np.random.default_rng(seed))
    pair.ours.history[:] = pair.theirs.history
    pair.ours.time = pair.theirs.time = time
    pipeline.fwd_velocity(pair.model, pair.ours)
    mujoco.mj_fwdActuation(pair.mj, pair.theirs)
    pipeline.fwd_actuation(pair.model, pair.ours)
    return pair


@pytest.mark.parametrize("time", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_forces_equal_mujocos(seed, time):
    agree(actuated(seed, time), FIELDS, FORCE, f"seed {seed}")


@pytest.mark.parametrize("flags", FLAGS, ids=lambda f: getattr(f, "name", None) or "none")
def test_forces_equal_mujocos_under_every_flag(flags):
    agree(actuated(1, disable=int(flags)), FIELDS, FORCE)


@pytest.mark.parametrize("groups", [1, 1 << 2, 1 << 3, (1 << 2) | (1 << 3), 2**31 - 1])
def test_forces_equal_mujocos_with_groups_disabled(groups):
    """MuJoCo asks plugins whatever their groups; only their states stand still."""
    agree(actuated(2, disableactuator=groups), FIELDS, FORCE)
    follow(arm(CONFIGS["integral"], ON_WRIST + ' actdim="1" group="1"', option='actuatorgroupdisable="1"'), 4, 30)


LIMITED = 'actuatorfrclimited="true" actuatorfrcrange="-.3 .2"'


@pytest.mark.parametrize(
    "others", ["", '<motor tendon="both"/>', '<motor tendon="both" group="3"/>', '<motor joint="elbow"/>']
)
def test_limits_of_tendons_wait_for_an_actuator_of_mujocos_own(others):
    text = arm(CONFIGS["pd"], 'tendon="both"', tendon=LIMITED, others=others, option='actuatorgroupdisable="3"')
    for seed in range(3):
        follow(text, seed, 20)


@pytest.mark.parametrize("integrator", ["implicit", "implicitfast"])
def test_defaults_of_other_actuators_count_in_the_derivative_alone(integrator):
    """A bias that a default class brings in is no part of the plugin's force, but MuJoCo differentiates it."""
    default = '<default><general biastype="affine" biasprm="1 2 -30"/></default>'
    follow(arm(CONFIGS["pd"], default=default, integrator=integrator), 5, 50)


@pytest.mark.parametrize("value", [np.nan, 1e12])
def test_a_bad_control_reaches_the_plugin(value):
    """MuJoCo counts it as none, and warns, but the plugin reads it as given."""
    pair = both(arm(CONFIGS["pd"]), 6)
    for data in (pair.ours._arrays, {"ctrl": pair.theirs.ctrl}):
        data["ctrl"][-1] = value
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        mujoco.mj_forward(pair.mj, pair.theirs)
    finally:
        mujoco.set_mju_user_warning(None)
    with quietly():
        kt.forward(pair.model, pair.ours)
    np.testing.assert_allclose(pair.ours.actuator_force, pair.theirs.actuator_force, rtol=FORCE)
    kind = int(kt.types.WarningType.BADCTRL)
    assert pair.ours.warning_number[kind] == pair.theirs.warning[kind].number == 1


def test_in_closed_form():
    """A setpoint far away: the integral grows to its bound, the setpoint by a step's worth."""
    config = {"kp": 2, "ki": 10, "kd": 0.5, "imax": 0.3, "slewmax": 1.0}
    text = f"""<mujoco><option timestep=".01" gravity="0 0 0"/><extension><plugin plugin="mujoco.pid"/></extension><worldbody>
      <body><joint name="j" type="slide" axis="1 0 0"/><geom size=".1" mass="1e9"/></body></worldbody><actuator>
      <plugin joint="j" plugin="mujoco.pid" actdim="2">{"".join(f'<config key="{k}" value="{v}"/>' for k, v in config.items())}
      </plugin></actuator></mujoco>"""
    model = kt.load(text)
    data = kt.Data(model)
    data.ctrl[0] = 0.0
    kt.step(model, data)
    data.ctrl[0] = 5.0
    target = integral = 0.0
    for _ in range(60):
        kt.step(model, data)
        target = min(5.0, target + 0.01)
        integral = min(0.03, integral + target * 0.01)
        close(data.act, [integral, target], 1e-6, "integral and setpoint")
        close(data.actuator_force, [2 * target + 10 * integral], 1e-6, "force")


def test_a_sleeping_body_is_still_asked():
    """The integral of what sleeps goes on, as in MuJoCo, and so does the force, which wakes nobody."""
    config = {"kp": 3, "ki": 2, "slewmax": 0.5, "imax": 0.4}
    text = f"""<mujoco model="sleeper"><option timestep=".005"><flag sleep="enable"/></option>
      <extension><plugin plugin="mujoco.pid"/></extension><worldbody>
      <body pos="0 0 .2" sleep="allowed"><joint name="a" axis="1 2 3" damping="5"/>
      <geom size=".05" pos=".2 0 0" mass=".1"/></body>
      <body pos="-1 0 .5"><joint name="b" axis="1 2 3"/><geom size=".05" pos=".2 0 0" mass=".1"/></body></worldbody><actuator>
      <plugin joint="a" plugin="mujoco.pid" actdim="2">{"".join(f'<config key="{k}" value="{v}"/>' for k, v in config.items())}
      </plugin><motor joint="b"/></actuator></mujoco>"""
    mj, model = mujoco.MjModel.from_xml_string(text), kt.load(text)
    theirs, ours, asleep = mujoco.MjData(mj), kt.Data(model), 0
    for step in range(600):
        theirs.ctrl[:] = ours.ctrl[:] = 0.0 if step < 500 else 0.2, np.sin(0.1 * step)
        mujoco.mj_step(mj, theirs)
        kt.step(model, ours)
        assert np.array_equal(ours.tree_asleep, theirs.tree_asleep), step
        asleep += int(ours.tree_asleep[0] >= 0)
        for name in (*STATE, "act_dot", "actuator_force"):
            close(getattr(ours, name), getattr(theirs, name), TRAJECTORY_SMOOTH, f"step {step} {name}")
    assert asleep > 200 and ours.actuator_force[0] > 0.1


# other machines and ways


def test_worlds_have_gains_of_their_own():
    model, rng = (
        kt.load(arm(CONFIGS["clamped slew"], with_states(CONFIGS["clamped slew"], "filter"))),
        np.random.default_rng(0),
    )
    lanes, worlds = LaneData(model, 8, own=True), []
    for lane in range(8):
        other = copy.copy(model)
        for name in ("pid_kp", "pid_ki", "pid_kd", "pid_imax", "pid_slewmax"):
            getattr(other, name)[:] *= rng.uniform(0.5, 1.5)
        data = kt.Data(other)
        data.ctrl[:] = rng.normal(size=model.nu)
        lanes.set_model(lane, other)
        lanes.load(lane, data)
        worlds.append((other, data))
    lanes.step(30)
    for lane, (other, data) in enumerate(worlds):
        kt.step(other, data, 30)
        for name in STATE:
            same(getattr(lanes, name)[:, lane], getattr(data, name), LANES, f"lane {lane} {name}")


def test_symbols_equal_floats():
    """A time step as a CasADi function, under way: the first step, which no rate limits, is over."""
    model = kt.load(
        arm(CONFIGS["clamped slew"], with_states(CONFIGS["clamped slew"], "filterexact", 'actearly="true"'))
    )
    step, rng = kt.symbolic(model).controlled_step, np.random.default_rng(2)
    data = kt.Data(model)
    for _ in range(4):
        data.ctrl[:] = rng.normal(size=model.nu)
        kt.step(model, data)
        wanted = step(data.qpos, data.qvel, data.act, data.ctrl)
        state = data.copy()
        kt.step(model, state)
        for name, symbols in zip(STATE, wanted, strict=True):
            same(np.ravel(symbols), getattr(state, name), SYMBOLS, name)


def test_inverse_dynamics_find_the_forces():
    model = kt.load(arm(CONFIGS["integral"], ON_WRIST + ' actdim="1"'))
    data = kt.Data(model)
    data.ctrl[:] = 0.3, -0.2, 0.5, 0.7
    kt.step(model, data, 20)
    kt.forward(model, data)
    wanted = data.qfrc_actuator.copy()
    kt.inverse(model, data)
    close(data.qfrc_inverse, wanted, ACCELERATION, "forces")


def test_states_are_copied_saved_and_reset():
    model = kt.load(PLUGINS)
    data = kt.Data(model)
    data.ctrl[:] = np.linspace(-1, 1, model.nu)
    kt.step(model, data, 20)
    for other in (data.copy(), pickle.loads(pickle.dumps(data))):
        assert np.array_equal(other.act, data.act) and np.abs(other.act).min() > 0.0
    state, fresh = data.get_state(), kt.Data(model)
    fresh.set_state(state)
    fresh.ctrl[:] = data.ctrl
    kt.step(model, fresh, 5)
    kt.step(model, data, 5)
    assert np.array_equal(fresh.act, data.act)
    data.reset()
    assert not data.act.any()
