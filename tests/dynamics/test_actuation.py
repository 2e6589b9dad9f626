"""Actuator forces and activations: every type against MuJoCo, and against what servos, filters and motors promise."""

from __future__ import annotations

from types import SimpleNamespace

import casadi
import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.tolerances import FORCE, MACHINES
from kinetree.dynamics import muscle
from kinetree.dynamics.activation import advance_activations, advance_history
from kinetree.dynamics.actuation import actuator_dynamics, actuator_forces
from kinetree.dynamics.history import read
from kinetree.dynamics.transmission import actuator_velocities, transmission
from kinetree.kernel import JIT, compiled, float_machine, interpret, kernel, machine, symbolic_record
from kinetree.pipeline import fwd_actuation
from kinetree.types import BiasType, DisableBit, DynType, GainType, TrnType, WarningType
from tests.corpora import entries
from tests.dynamics.paired import MODELS, Pair, agree, paired, same

ACTUATORS, SERVOS, USER, PLUGINS = (MODELS / f"{name}.xml" for name in ("actuators", "servos", "user", "plugins"))
FIELDS = ["act_dot", "actuator_force", "qfrc_actuator"]
STEPPED = int(DisableBit.CONTACT | DisableBit.CONSTRAINT)
BADCTRL = int(WarningType.BADCTRL)


@kernel
def prepare(m, d):
    """What actuation reads."""
    transmission(m, d)
    actuator_velocities(m, d)


@kernel
def advance(m, d):
    """The actuators' part of a step."""
    advance_history(m, d)
    advance_activations(m, d, d.act_dot)


def call(kernel_, model, data) -> None:
    if JIT:
        compiled(kernel_, float_machine())(model.address, data.address)
    else:
        kernel_(model.record(), data.record())


def ready(pair: Pair) -> None:
    """Everything before the forces; gravity compensation, which other tests compare, is taken over."""
    call(prepare, pair.model, pair.ours)
    pair.ours.qfrc_gravcomp[:] = pair.theirs.qfrc_gravcomp


def stirred(source, seed: int, size: float = 3.0, **options) -> Pair:
    """A pair in a random state with controls and activations far beyond their ranges, and full histories."""
    pair = paired(source, seed, **options)
    rng = np.random.default_rng(seed + 1000)
    pair.theirs.ctrl *= size
    pair.theirs.act *= size
    fill_histories(pair, rng)
    for name in ("ctrl", "act", "history"):
        getattr(pair.ours, name)[:] = getattr(pair.theirs, name)
    ready(pair)
    return pair


def fill_histories(pair: Pair, rng: np.random.Generator) -> None:
    """Random samples at random times up to now, beginning anywhere in the ring."""
    mj, data = pair.mj, pair.theirs
    for k in np.flatnonzero(mj.actuator_history[:, 0]):
        n, size, a = mj.actuator_history[k, 0], mj.actuator_ctrlnum[k], mj.actuator_historyadr[k]
        times = data.time - np.cumsum(rng.uniform(0.2, 1.8, size=n))[::-1] * mj.opt.timestep
        newest = int(rng.integers(n))
        data.history[a + 1] = newest
        data.history[a + 2 : a + 2 + n] = np.roll(times, newest + 1)
        data.history[a + 2 + n : a + 2 + n + n * size] = rng.normal(size=n * size)


def both(pair: Pair, note: str = "") -> None:
    mujoco.mj_fwdActuation(pair.mj, pair.theirs)
    fwd_actuation(pair.model, pair.ours)
    agree(pair, FIELDS, FORCE, note)


def one(text: str, body: str = '<joint name="j" axis="0 1 0"/>', option: str = "") -> str:
    """A model of one body with the given actuators."""
    return f"""<mujoco model="one"><option {option}/><worldbody><body>{body}<geom size=".1" pos=".1 .02 0"/></body></worldbody>
      <actuator>{text}</actuator></mujoco>"""


# against MuJoCo


@pytest.mark.parametrize("entry", entries(), ids=lambda e: e.name)
def test_equals_mujoco_on_the_corpora(entry):
    for seed in range(2):
        both(stirred(entry.source(), seed, size=1.0 + seed), f"state {seed}")


@pytest.mark.parametrize("source", [ACTUATORS, SERVOS], ids=lambda p: p.stem)
@pytest.mark.parametrize("seed", range(10))
def test_equals_mujoco_on_every_type(source, seed):
    both(stirred(source, seed, size=4.0, speed=1.0 + seed))


def test_every_type_is_met():
    models = [kt.load(path) for path in (ACTUATORS, SERVOS, USER)]
    for field, enum in (("dyntype", DynType), ("gaintype", GainType), ("biastype", BiasType)):
        assert {t for m in models for t in getattr(m, f"actuator_{field}")} == set(enum), field


@pytest.mark.parametrize("seed", range(4))
def test_forces_of_the_next_activations(seed):
    """All actuators early: what XML allows for some types only, a model may ask of all."""
    mj = mujoco.MjModel.from_xml_path(str(SERVOS))
    mj.actuator_actearly[:] = True
    both(stirred(mj, seed))


FLAGS = [0, DisableBit.CLAMPCTRL, DisableBit.ACTUATION, DisableBit.GRAVITY, DisableBit.CLAMPCTRL | DisableBit.GRAVITY]


@pytest.mark.parametrize("flags", FLAGS, ids=lambda f: getattr(f, "name", None) or "none")
@pytest.mark.parametrize("source", [ACTUATORS, SERVOS], ids=lambda p: p.stem)
def test_equals_mujoco_under_every_flag(source, flags):
    pair = stirred(source, 5, disable=int(flags))
    for data in (pair.theirs, pair.ours):  # what the stage must clear
        data.actuator_force[:] = 5.0
        data.qfrc_actuator[:] = 5.0
    both(pair)


@pytest.mark.parametrize("groups", [0, 1, 1 << 2, 1 << 3, 1 << 4, (1 << 2) | (1 << 5), 2**31 - 1])
def test_equals_mujoco_with_groups_disabled(groups):
    both(stirred(SERVOS, 6, disableactuator=groups))


@pytest.mark.parametrize("source", [ACTUATORS, SERVOS], ids=lambda p: p.stem)
def test_without_gravity_compensation_from_gravity(source):
    both(stirred(source, 7, gravity=[0.0, 0.0, 0.0]))


# bad controls


@pytest.fixture
def quiet():
    """MuJoCo writes its warnings to a file unless they are caught."""
    mujoco.set_mju_user_warning(lambda message: None)
    yield
    mujoco.set_mju_user_warning(None)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1.1e10, -1e300, 1e10])
@pytest.mark.parametrize("name", ["voltage", "linear", "ball_pid"])
def test_bad_controls_count_as_none_and_raise_a_warning(quiet, name, value):
    """Infinite and huge ones are saved by a range, NaN is not; a delayed control is bad when its turn comes."""
    pair = stirred(SERVOS, 8)
    u = pair.model.actuator_ctrladr[pair.model.id("actuator", name)]
    pair.theirs.ctrl[u] = pair.ours._arrays["ctrl"][u] = value
    both(pair, f"{name} {value}")
    warning = pair.theirs.warning[BADCTRL]
    number, info = pair.ours.warning_number, pair.ours.warning_lastinfo
    assert (number[BADCTRL], info[BADCTRL], number.sum()) == (warning.number, warning.lastinfo, warning.number)
    if name == "voltage":
        assert warning.number == (0 if abs(value) <= 1e10 else 1)


def test_a_bad_control_in_one_lane_leaves_the_others():
    pairs = [stirred(SERVOS, seed) for seed in range(8)]
    model = pairs[0].model
    pairs[2].ours._arrays["ctrl"][7] = np.nan
    lanes = lanes_of(model, [pair.ours for pair in pairs])
    lanes.run(fwd_actuation)
    assert lanes.warning_number[BADCTRL].tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    assert lanes.warning_lastinfo[BADCTRL, 2] == 7
    out = kt.Data(model)
    for lane, pair in enumerate(pairs):
        fwd_actuation(model, pair.ours)
        lanes.store(lane, out)
        same(out.actuator_force, pair.ours.actuator_force, MACHINES["float64"], f"lane {lane} actuator_force")


# user types


def test_user_types_without_callbacks():
    both(stirred(USER, 0))


def test_user_types_with_callbacks_between_the_stages():
    pair = stirred(USER, 1)
    rates, gain, bias = [0.3, -0.7], 2.5, -0.4

    def rate(model, data, k):
        data.act_dot[model.actuator_actadr[k] :][: len(rates)] = rates
        return 0.0

    mujoco.set_mjcb_act_dyn(rate)
    mujoco.set_mjcb_act_gain(lambda model, data, k: gain)
    mujoco.set_mjcb_act_bias(lambda model, data, k: bias)
    try:
        mujoco.mj_fwdActuation(pair.mj, pair.theirs)
    finally:
        mujoco.set_mjcb_act_dyn(None)
        mujoco.set_mjcb_act_gain(None)
        mujoco.set_mjcb_act_bias(None)
    actuator_dynamics(pair.model, pair.ours)
    pair.ours.act_dot[:] = rates
    pair.ours._arrays["user_gain"][0], pair.ours._arrays["user_bias"][0] = gain, bias
    actuator_forces(pair.model, pair.ours)
    agree(pair, FIELDS, FORCE)


# muscles


@pytest.mark.parametrize("prm", [
    (0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2),
    (0.5, 1.5, 30.0, 200.0, 0.2, 1.9, 3.0, 1.0, 1.6),
    (1.0, 1.0, 5.0, 100.0, 1.0, 1.0, 0.0, 1.0, 1.0),
])  # fmt: skip
def test_muscle_curves_equal_mujocos(prm):
    """Over the whole of both curves, their corners included, and with a range of no width."""
    acc0, bounds = 0.7, np.array([0.2, 1.1])
    rows = {"actuator_gainprm": np.array([[*prm, 0.0]]), "actuator_biasprm": np.array([[*prm, 0.0]])}
    m = SimpleNamespace(actuator_acc0=[acc0], actuator_lengthrange=bounds[None], **rows)
    lengths = [*np.linspace(-0.2, 2.0, 45), 0.2, 1.1]
    velocities = [*np.linspace(-4.0, 4.0, 17), -1e-9]
    for length in lengths:
        for velocity in velocities:
            d = SimpleNamespace(actuator_length=[float(length)], actuator_velocity=[float(velocity)])
            got = muscle.muscle_gain(m, d, 0, 0), muscle.muscle_bias(m, d, 0, 0)
            wanted = (mujoco.mju_muscleGain(length, velocity, bounds, acc0, np.array(prm)),
                      mujoco.mju_muscleBias(length, bounds, acc0, np.array(prm)))  # fmt: skip
            same(got, wanted, FORCE, f"muscle {prm} at {length}, {velocity}")


@pytest.mark.parametrize("width", [0.0, 0.1, 0.7])
def test_muscle_activation_equals_mujocos(width):
    m = SimpleNamespace(actuator_dynprm=np.array([[0.01, 0.04, width]]))
    for ctrl in np.linspace(-0.3, 1.3, 17):
        for act in np.linspace(-0.3, 1.3, 17):
            wanted = mujoco.mju_muscleDynamics(ctrl, act, np.array([0.01, 0.04, width]))
            same(muscle.muscle_dynamics(m, 0, float(ctrl), float(act)), wanted, FORCE, f"activation at {ctrl}, {act}")


# steps: activations and histories


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("source", [ACTUATORS, SERVOS, USER, PLUGINS], ids=lambda p: p.stem)
def test_activations_and_histories_over_steps_equal_mujocos(source, early):
    """Our activations and histories run on by themselves, beside MuJoCo's motion."""
    mj = mujoco.MjModel.from_xml_path(str(source))
    mj.actuator_actearly[:] |= early
    mj.opt.disableactuator = 1 << 5
    pair = stirred(mj, 2, size=2.0, disable=STEPPED)
    rng = np.random.default_rng(3)
    theirs, ours, model = pair.theirs, pair.ours, pair.model
    for step in range(25):
        theirs.ctrl[:] = ours.ctrl[:] = 2.0 * rng.normal(size=mj.nu)
        ours.qpos[:], ours.qvel[:], ours.time = theirs.qpos, theirs.qvel, theirs.time
        mujoco.mj_step(mj, theirs)
        assert theirs.time > ours.time, "MuJoCo has reset the simulation"
        kt.fwd_position(model, ours)
        ours.ten_length[:], ours.ten_J[:] = theirs.ten_length, np.ravel(theirs.ten_J)
        ready(pair)
        fwd_actuation(model, ours)
        call(advance, model, ours)
        agree(pair, [*FIELDS, "act"], FORCE, f"step {step}")
        same(ours.history, theirs.history, 0.0, f"{model.title} step {step} history")


@pytest.mark.parametrize("flag", [DisableBit.ACTUATION, DisableBit.CLAMPCTRL])
def test_flags_in_a_step(flag):
    pair = stirred(SERVOS, 3, disable=STEPPED | int(flag))
    pair.ours.qpos[:] = pair.theirs.qpos
    mujoco.mj_step(pair.mj, pair.theirs)
    fwd_actuation(pair.model, pair.ours)
    call(advance, pair.model, pair.ours)
    agree(pair, ["act", "history"], FORCE)


@pytest.mark.parametrize("moved", [-100.0, -2.5, -1.5, -0.7, 0.0, "oldest", "third", 0.5])
def test_a_sample_of_any_time_finds_its_place(moved):
    """Time may jump back: a sample is older than all, between two, or of a time that is already there."""
    pair = stirred(SERVOS, 4, disable=STEPPED)
    mj, theirs, ours = pair.mj, pair.theirs, pair.ours
    k = pair.model.id("actuator", "delayed_pid")
    n, a = mj.actuator_history[k, 0], mj.actuator_historyadr[k]
    times = np.sort(theirs.history[a + 2 : a + 2 + n])
    now = {"oldest": times[0], "third": times[2]}.get(moved)
    theirs.time = ours.time = theirs.time + moved * mj.opt.timestep if now is None else now
    mujoco.mj_step(mj, theirs)
    call(advance, pair.model, ours)
    same(ours.history, theirs.history, 0.0, f"history with a sample at {ours.time}")


@pytest.mark.parametrize("name", ["held", "linear", "cubic", "delayed_pid", "kept", "one_sample"])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_reading_the_past_equals_mujocos(name, order):
    pair = stirred(SERVOS, 5)
    mj, theirs, history = pair.mj, pair.theirs, pair.ours.history
    k = pair.model.id("actuator", name)
    n, size, a = (int(x) for x in (mj.actuator_history[k, 0], mj.actuator_ctrlnum[k], mj.actuator_historyadr[k]))
    taken = history[a + 2 : a + 2 + n]
    times = [*np.linspace(taken.min() - 0.01, taken.max() + 0.01, 60), *taken, *(taken + 3e-16), *(taken - 1e-9)]
    for t in times:
        buffer = np.zeros((size, 1))
        found = mujoco.mj_readCtrl(mj, theirs, k, t + mj.actuator_delay[k], buffer, order)
        wanted = np.ravel(buffer if found is None else found)
        t = t + mj.actuator_delay[k] - mj.actuator_delay[k]
        got = [read(history, a, n, size, i, t, order) for i in range(size)]
        same(got, wanted, 1e-12, f"{name} at {t!r} with order {order}")


def test_a_delay_switched_off_and_on():
    mj = mujoco.MjModel.from_xml_path(str(SERVOS))
    mj.actuator_delay[-6:] = [0.0, 0.004, 0.0, 0.0, 0.007, 0.0]
    both(stirred(mj, 6))


# what actuators promise


def test_a_filter_is_exact_over_a_step_and_an_integrator_stops_at_its_range():
    text = """<general joint="j" dyntype="filterexact" dynprm=".05"/>
      <general joint="j" dyntype="integrator" actlimited="true" actrange="-.2 .3"/>"""
    pair = paired(one(text, option='timestep=".01"'), 0)
    model, data = pair.model, pair.ours
    start = data.act.copy()
    data.ctrl[:] = 2.0
    for step in range(1, 60):
        ready(pair)
        fwd_actuation(model, data)
        call(advance, model, data)
        closed = 2.0 + (start[0] - 2.0) * np.exp(-0.01 * step / 0.05)
        same(data.act, [closed, min(0.3, start[1] + 0.02 * step)], 1e-12, f"step {step} act")


@pytest.mark.parametrize("name", ["ball_servo", "ball_servo_in_parent", "site_servo", "ball_pid", "site_pid"])
@pytest.mark.parametrize("turns", [-2, 1, 3])
def test_a_setpoint_on_a_circle_may_gain_whole_turns(name, turns):
    pair = stirred(SERVOS, 7, size=1.0)
    model, data = pair.model, pair.ours
    k = model.id("actuator", name)
    row = model.actuator_outadr[k]
    gear = model.actuator_gear[row]
    period = 2 * np.pi * np.linalg.norm(gear[3:] if name.startswith("site") else gear[:3])
    fwd_actuation(model, data)
    before = data.actuator_force[row]
    data.ctrl[model.actuator_ctrladr[k]] += turns * period
    fwd_actuation(model, data)
    same(data.actuator_force[row], before, FORCE, f"{name} force after {turns} turns")


def test_an_integrated_orientation_stays_within_half_a_turn_and_means_the_same():
    pair = stirred(SERVOS, 8, size=1.0)
    model, data = pair.model, pair.ours
    a = model.actuator_actadr[model.id("actuator", "orientation_integrator")]
    data.act[a : a + 3] = [4.0, -3.0, 5.0]
    row = model.actuator_outadr[model.id("actuator", "orientation_integrator")]
    fwd_actuation(model, data)
    before = data.actuator_force[row : row + 3].copy()
    data.act_dot[:] = 0.0
    call(advance, model, data)
    assert np.linalg.norm(data.act[a : a + 3]) <= np.pi
    data.ctrl[:] = 0.0
    fwd_actuation(model, data)
    same(data.actuator_force[row : row + 3], before, FORCE, "torque of the orientation servo")


def test_an_orientation_servo_is_at_rest_where_it_was_sent():
    pair = stirred(SERVOS, 9)
    model, data = pair.model, pair.ours
    k = model.id("actuator", "orientation")
    u, row = model.actuator_ctrladr[k], model.actuator_outadr[k]
    data.ctrl[u : u + 3] = data.actuator_length[row : row + 3]
    data.actuator_velocity[:] = 0.0
    fwd_actuation(model, data)
    same(data.actuator_force[row : row + 3], np.zeros(3), FORCE, "torque at the target")


def test_a_controlled_motor_gives_the_torque_it_is_told():
    """Its controller compensates back-EMF: kp (pos - q) + kd (vel - v) + ff, with no limit in the way."""
    text = '<dcmotor joint="j" resistance="1.3" motorconst=".07" controller="3 0 .2 0 0 0" input="pos vel ff"/>'
    pair = stirred(one(text), 1)
    model, data = pair.model, pair.ours
    fwd_actuation(model, data)
    position, velocity, feedforward = data.ctrl
    wanted = 3.0 * (position - data.qpos[0]) + 0.2 * (velocity - data.qvel[0]) + feedforward
    same(data.actuator_force, [wanted], FORCE, "torque")


def test_forces_on_a_tendon_add_up_to_its_bound():
    for seed in range(6):
        pair = stirred(SERVOS, seed, size=5.0)
        model, data = pair.model, pair.ours
        fwd_actuation(model, data)
        for t, (low, high) in enumerate(model.tendon_actfrcrange):
            on = (model.actuator_trntype == TrnType.TENDON) & (model.actuator_trnid[:, 0] == t)
            total = data.actuator_force[model.actuator_outadr[on]].sum()
            assert low - 1e-12 <= total <= high + 1e-12, f"tendon {t}: {total} outside {low}..{high}"


def test_a_motor_whose_parameters_no_longer_fit_its_states_has_none():
    model = kt.load(SERVOS)
    k, other = model.id("actuator", "voltage"), model.id("actuator", "pid_velocity")
    model.actuator_dynprm[k, :] = 1.0  # asks for five states, and has none
    model.actuator_gainprm[other, 0] = 1.0
    data = kt.Data(model)
    data.ctrl[:] = 1.0
    kt.fwd_position(model, data)
    call(prepare, model, data)
    fwd_actuation(model, data)
    call(advance, model, data)
    assert np.isfinite(data.actuator_force).all() and np.isfinite(data.act).all()
    ohm, constant = model.actuator_gainprm[k, :2]
    assert data.actuator_force[model.actuator_outadr[k]] == pytest.approx(min(0.05, constant / ohm))


# machines


@pytest.mark.parametrize("source", [ACTUATORS, SERVOS, USER, PLUGINS], ids=lambda p: p.stem)
@pytest.mark.parametrize("dtype, width", [("float64", 8), ("float32", 16)])
def test_lanes_equal_floats(source, dtype, width):
    """Worlds at different times, with histories that begin at different places."""
    # Without contacts: their moments have a pattern that only a whole position stage makes common to all worlds.
    pairs = [stirred(source, seed, size=2.0, disable=int(DisableBit.CONTACT)) for seed in range(width)]
    model = pairs[0].model
    if dtype == "float32":
        for pair in pairs:  # half a period may wrap either way, and a time of seven digits meets other samples
            pair.ours.ctrl[:] *= 0.1
            pair.ours.act[:] *= 0.1
            pair.ours.history[:] = 0.0
            pair.ours.time = 0.0
    for pair in pairs:
        kt.fwd_position(model, pair.ours)  # each was computed with a model of its own
        kt.fwd_velocity(model, pair.ours)
        pair.ours.actuator_force[:] = 7.0
    lanes = lanes_of(model, [pair.ours for pair in pairs], dtype)
    lanes.run(fwd_actuation)
    compiled(advance, machine(dtype, width))(model.address, lanes.address)
    out = kt.Data(model)
    for lane, pair in enumerate(pairs):
        fwd_actuation(model, pair.ours)
        call(advance, model, pair.ours)
        lanes.store(lane, out)
        for name in [*FIELDS, "act", "history"]:
            same(getattr(out, name), getattr(pair.ours, name), MACHINES[dtype], f"{dtype} lane {lane} {name}")


@pytest.mark.parametrize("source", [ACTUATORS, SERVOS, USER, PLUGINS], ids=lambda p: p.stem)
def test_symbols_and_plain_python_equal_floats(source):
    pair = stirred(source, 11)
    model, data = pair.model, pair.ours
    plain = data.copy()
    names = ("ctrl", "act", "actuator_length", "actuator_velocity", "time")
    inputs = {name: casadi.SX.sym(name, np.size(getattr(data, name))) for name in names}
    record, symbols = symbolic_record(data, **inputs), symbolic_record(model)
    for stage in (fwd_actuation, advance):
        interpret(stage, symbols, record)
        interpret(stage, model.record(), plain.record())
    outputs = [name for name in [*FIELDS, "act", "history"] if getattr(data, name).size]
    function = casadi.Function("f", list(inputs.values()), [casadi.vertcat(*getattr(record, name)) for name in outputs])
    values = function(*(getattr(data, name) for name in inputs))
    fwd_actuation(model, data)
    call(advance, model, data)
    for name, value in zip(outputs, values if len(outputs) > 1 else [values], strict=True):
        same(value.full().ravel(), getattr(data, name), MACHINES["float64"], f"symbols {name}")
        same(getattr(plain, name), getattr(data, name), MACHINES["float64"], f"plain Python {name}")
    assert not data.warning_number.any(), "a symbol is not a bad control"


def test_a_symbolic_jacobian_by_control_is_the_gain():
    """Force of each motor by its own control alone: checking for bad controls couples none of them."""
    pair = stirred(kt.models.path("humanoid"), 0, size=0.5)
    model, data = pair.model, pair.ours
    u = casadi.SX.sym("u", model.nu)
    record = symbolic_record(data, ctrl=u)
    interpret(fwd_actuation, symbolic_record(model), record)
    slope = casadi.jacobian(casadi.vertcat(*record.actuator_force), u)
    assert slope.nnz() == model.nu
    got = casadi.Function("f", [u], [slope])(data.ctrl).full()
    same(got, np.diag(model.actuator_gainprm[:, 0]), MACHINES["float64"], "slope of the force by the control")
