"""Stages: their order, the ways to run or skip them, and the flags of the options, beside MuJoCo's."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.states import copy_state
from kinetree.conformance.tolerances import ACCELERATION, SENSOR
from tests.pipeline.both import Both, both, close, load, quietly, reading, sensing

INTEGRATORS = (kt.Integrator.EULER, kt.Integrator.RK4, kt.Integrator.IMPLICIT, kt.Integrator.IMPLICITFAST)
NO_SENSOR, ENERGY, FWDINV = int(kt.DisableBit.SENSOR), int(kt.EnableBit.ENERGY), int(kt.EnableBit.FWDINV)

# Springs, dampers, weights, clamped and user-driven actuators, and sensors of every stage.
MACHINE = """<mujoco><option timestep=".01"/><worldbody>
  <body name="a" pos="0 0 1"><joint name="h" axis=".2 1 .1" stiffness="5" damping="2"/>
    <geom type="capsule" size=".05" fromto="0 0 0 .3 0 .1"/>
    <body name="b" pos=".3 0 .1"><joint name="s" type="slide" axis="0 .3 1" stiffness="20" damping="1"/>
      <geom type="box" size=".1 .05 .05" pos=".05 0 0"/><site name="p" pos=".1 .05 .02"/></body></body></worldbody>
  <actuator><motor name="m" joint="h" ctrlrange="-.5 .5" gear="3"/>
    <general name="u" joint="s" dyntype="user" actdim="1"/></actuator>
  <sensor><framepos objtype="site" objname="p"/><velocimeter site="p"/><accelerometer site="p"/>
    <subtreelinvel body="a"/><e_potential/>
    <user name="x" dim="1" needstage="pos"/><user name="v" dim="1" needstage="vel"/><user name="f" dim="1" needstage="acc"/>
  </sensor></mujoco>"""
FIELDS = ("xpos", "sensordata", "cvel", "qfrc_passive", "act_dot", "qfrc_actuator", "qacc_smooth", "qacc")
WATCHED = ("xpos", "cvel", "qfrc_passive", "qfrc_actuator", "qacc_smooth", "qacc")


@pytest.fixture
def mujoco_callbacks():
    yield mujoco
    for name in ("control", "passive", "sensor", "act_dyn"):
        getattr(mujoco, f"set_mjcb_{name}")(None)


class Diary:
    """Callbacks that note when they are called and which fields have changed by then."""

    def __init__(self, data):
        self.data, self.lines = data, []
        self.restart()

    def restart(self):
        self.lines.clear()
        self.old = {name: np.array(getattr(self.data, name)) for name in WATCHED}

    def note(self, what):
        new = [name for name, old in self.old.items() if not np.array_equal(getattr(self.data, name), old)]
        self.lines.append((what, tuple(new)))

    def sensor(self, m, d, stage):
        self.note(f"sensor {kt.Stage(int(stage)).name}")

    def passive(self, m, d):
        self.note("passive")

    def control(self, m, d):
        self.note("control")

    def act_dyn(self, m, d, k):
        self.note("act_dyn")
        return 0.3 - d.act[0]


def with_diaries(**options) -> tuple[Both, Diary, Diary]:
    pair = both(MACHINE, 3, **options)
    ours, theirs = Diary(pair.ours), Diary(pair.theirs)
    for name in ("sensor", "passive", "control", "act_dyn"):
        setattr(pair.model.callbacks, name, getattr(ours, name))
        getattr(mujoco, f"set_mjcb_{name}")(getattr(theirs, name))
    return pair, ours, theirs


def move(pair: Both, rng: np.random.Generator) -> None:
    """A new state on both sides, so that every field changes when its stage runs."""
    for field in ("qpos", "qvel", "ctrl", "act"):
        values = rng.normal(size=getattr(pair.theirs, field).shape)
        getattr(pair.ours, field)[:] = getattr(pair.theirs, field)[:] = 0.3 * values


@pytest.mark.criteria("P-STAGE-ORDER")
def test_forward_runs_its_stages_in_order(mujoco_callbacks):
    pair, ours, theirs = with_diaries()
    for _ in range(2):
        move(pair, np.random.default_rng(len(ours.lines)))
        ours.restart(), theirs.restart()
        kt.forward(pair.model, pair.ours)
        mujoco.mj_forward(pair.mj, pair.theirs)
    assert ours.lines == theirs.lines
    position, velocity = WATCHED[:1], WATCHED[:3]
    assert ours.lines == [
        ("sensor POS", position),
        ("passive", velocity),
        ("sensor VEL", velocity),
        ("control", velocity),
        ("act_dyn", velocity),
        ("sensor ACC", WATCHED),
    ]


@pytest.mark.criteria("P-STAGE-ORDER", "P-STAGE-STEP", "P-STAGE-SKIP", "P-STAGE-RK4")
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
@pytest.mark.parametrize(
    "how", ["step", "halves", "inverse", "skip pos", "skip vel", "skip sensors", "inverse skip vel"]
)
def test_callbacks_come_in_mujocos_order_whatever_is_called(how, integrator, mujoco_callbacks):
    pair, ours, theirs = with_diaries(integrator=int(integrator))
    calls = {
        "step": [(kt.step, mujoco.mj_step)],
        "halves": [(kt.step1, mujoco.mj_step1), (kt.step2, mujoco.mj_step2)],
        "inverse": [(kt.inverse, mujoco.mj_inverse)],
        "skip pos": [(kt.forward_skip, mujoco.mj_forwardSkip, kt.Stage.POS, False)],
        "skip vel": [(kt.forward_skip, mujoco.mj_forwardSkip, kt.Stage.VEL, False)],
        "skip sensors": [(kt.forward_skip, mujoco.mj_forwardSkip, kt.Stage.NONE, True)],
        "inverse skip vel": [(kt.inverse_skip, mujoco.mj_inverseSkip, kt.Stage.VEL, False)],
    }[how]
    kt.forward(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)
    move(pair, np.random.default_rng(1))
    ours.restart(), theirs.restart()
    for mine, reference, *arguments in calls:
        mine(pair.model, pair.ours, *arguments)
        reference(pair.mj, pair.theirs, *(int(a) for a in arguments))
    assert [what for what, _ in ours.lines] == [what for what, _ in theirs.lines]
    assert ours.lines == theirs.lines
    pair.same(("qpos", "qvel", "qacc", "sensordata"), ACCELERATION, how)


@pytest.mark.criteria("P-STAGE-STEP")
@pytest.mark.parametrize("integrator", INTEGRATORS[:1] + INTEGRATORS[2:], ids=lambda i: i.name)
def test_a_step_is_a_forward_pass_and_an_integration(integrator):
    """All that `forward` computes is there after `step`, bit for bit, and the state has moved on by MuJoCo's rule."""
    pair = both(MACHINE, 5, integrator=int(integrator))
    ahead = pair.ours.copy()
    kt.forward(pair.model, ahead)
    kt.step(pair.model, pair.ours)
    mujoco.mj_step(pair.mj, pair.theirs)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(pair.ours, name), getattr(ahead, name), err_msg=name)
    pair.same(("qpos", "qvel", "time"), ACCELERATION, "step")
    assert pair.ours.time == pytest.approx(ahead.time + pair.model.opt.timestep, rel=1e-15)


@pytest.mark.criteria("P-STAGE-STEP")
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_a_step_checks_the_state_first_and_then_computes_the_sensors_of_the_reset_one(integrator):
    pair = both(MACHINE, None, integrator=int(integrator))
    pair.state_from(lambda d: d.qvel.__setitem__(0, np.nan))
    with pytest.warns(kt.SimulationWarning, match="qvel.*reset"):
        kt.step(pair.model, pair.ours)
    mujoco.mj_step(pair.mj, pair.theirs)
    pair.same(("qpos", "qvel", "sensordata"), ACCELERATION, "after a reset")
    pair.same_flags("after a reset")


@pytest.mark.criteria("P-STAGE-SKIP")
@pytest.mark.parametrize("skip_sensors", [False, True])
@pytest.mark.parametrize("skip", [kt.Stage.NONE, kt.Stage.POS, kt.Stage.VEL], ids=lambda s: s.name)
@pytest.mark.parametrize("function", ["forward_skip", "inverse_skip"])
def test_skipped_stages_keep_their_old_results(function, skip, skip_sensors):
    pair = both(MACHINE, 2)
    kt.forward(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)
    old = pair.ours.copy()
    if function == "forward_skip" or skip < kt.Stage.VEL:
        move(pair, np.random.default_rng(0))
    if function == "inverse_skip":
        pair.state_from(lambda d: d.qacc.__setitem__(slice(None), (0.3, -0.2)))
    getattr(kt, function)(pair.model, pair.ours, skip, skip_sensors)
    getattr(mujoco, f"mj_{function[:-5]}Skip")(pair.mj, pair.theirs, int(skip), int(skip_sensors))
    pair.same(
        (*FIELDS, "qfrc_inverse", "subtree_linvel", "energy"), ACCELERATION, f"{function}({skip.name}, {skip_sensors})"
    )
    assert np.array_equal(pair.ours.xpos, old.xpos) == (skip >= kt.Stage.POS)
    assert np.array_equal(pair.ours.cvel, old.cvel) == (skip >= kt.Stage.VEL)
    assert np.array_equal(pair.ours.sensordata, old.sensordata) == skip_sensors


@pytest.mark.criteria("P-STAGE-RK4")
def test_the_substeps_of_rk4_skip_the_sensors():
    """Sensors run once, on the state at the start of the step, and hold those readings at its end."""
    pair = both(MACHINE, 4, integrator=int(kt.Integrator.RK4))
    model, data = pair.model, pair.ours
    ahead = data.copy()
    kt.forward(model, ahead)
    kt.step(model, data)
    np.testing.assert_array_equal(data.sensordata, ahead.sensordata)
    for stage in (kt.sensor_pos, kt.sensor_vel, kt.sensor_acc, kt.subtree_vel, kt.rne_post_constraint):
        assert data.stage_runs[stage.stage_index] == 1, stage.__name__
    assert data.stage_runs[kt.kinematics.stage_index] == 4


# flags of the options


def members(enumeration):
    """Flags of one of MuJoCo's enumerations by their short names."""
    return {
        name.split("_", 1)[1]: int(value)
        for name, value in enumeration.__members__.items()
        if name.startswith("mj") and "_" in name
    }


# What changes a smooth motion, or only what is computed beside it; the rest belongs to constraints, contacts and sleep.
SMOOTH_DISABLE = ("SPRING", "DAMPER", "GRAVITY", "CLAMPCTRL", "ACTUATION", "EULERDAMP")
BESIDE = {"SENSOR": ("sensordata",), "ENERGY": ("energy",)}
CONSTRAINTS_DISABLE = {
    "CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT", "WARMSTART", "FILTERPARENT", "REFSAFE", "MIDPHASE",
    "NATIVECCD", "ISLAND", "MULTICCD",
}  # fmt: skip
LATER_ENABLE = {"OVERRIDE", "FWDINV", "SLEEP", "DIAGEXACT", "SPECULATIVE"}
OTHERS = {"AUTORESET", "INVDISCRETE"}  # have tests of their own: bad states, discrete inverse
REFUSED = {"IPC"}


@pytest.mark.criteria("P-STAGE-FLAGS")
def test_every_flag_of_mujoco_is_known_and_accounted_for():
    assert {bit.name: int(bit) for bit in kt.DisableBit} == members(mujoco.mjtDisableBit)
    assert {bit.name: int(bit) for bit in kt.EnableBit} == members(mujoco.mjtEnableBit)
    known = {*SMOOTH_DISABLE, *BESIDE, *CONSTRAINTS_DISABLE, *LATER_ENABLE, *OTHERS, *REFUSED}
    assert known == {*members(mujoco.mjtDisableBit), *members(mujoco.mjtEnableBit)}


def stepped(name):
    """Both sides two steps on with a flag set, or with none."""
    disable = int(kt.DisableBit[name]) if name in kt.DisableBit.__members__ else 0
    enable = int(kt.EnableBit[name]) if name in kt.EnableBit.__members__ else 0
    pair = both(MACHINE, 6, disable=disable, enable=enable)
    pair.state_from(lambda d: d.ctrl.__setitem__(0, 2.0))
    with quietly():
        kt.step(pair.model, pair.ours, nstep=2)
    mujoco.mj_step(pair.mj, pair.theirs, 2)
    return pair


@pytest.mark.criteria("P-STAGE-FLAGS")
@pytest.mark.parametrize("name", [*SMOOTH_DISABLE, *BESIDE])
def test_a_flag_of_smooth_motion_does_what_mujocos_does(name):
    pair, without = stepped(name), stepped("")
    pair.same(("qpos", "qvel", "qacc", "sensordata", "energy"), ACCELERATION, name)
    for field in BESIDE.get(name, ("qvel",)):
        assert not np.allclose(getattr(pair.ours, field), getattr(without.ours, field)), f"{name} makes no difference"


@pytest.mark.criteria("P-STAGE-FLAGS")
@pytest.mark.parametrize("name", sorted(CONSTRAINTS_DISABLE | LATER_ENABLE - {"SLEEP"}))
def test_a_flag_of_constraints_leaves_smooth_motion_alone(name):
    pair = stepped(name)
    pair.same(("qpos", "qvel", "qacc", "sensordata", "energy"), ACCELERATION, name)


@pytest.mark.criteria("P-STAGE-FLAGS")
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_flag_that_kinetree_lacks_is_refused_by_name(name):
    mj = mujoco.MjModel.from_xml_string(MACHINE)
    mj.opt.enableflags |= int(kt.EnableBit[name])
    with pytest.raises(kt.UnsupportedFeatureError, match=name.lower()):
        kt.load(mj)


@pytest.mark.criteria("P-STAGE-FLAGS")
@pytest.mark.parametrize("field", ["disableflags", "enableflags"])
def test_flags_that_nobody_knows_are_refused(field):
    mj = mujoco.MjModel.from_xml_string(MACHINE)
    setattr(mj.opt, field, 1 << 29)
    with pytest.raises(kt.UnsupportedFeatureError, match="0x20000000"):
        kt.load(mj)


@pytest.mark.criteria("P-STAGE-SENSOR")
def test_disabled_sensors_return_at_once_while_the_motion_goes_on():
    with_sensors, without = both(MACHINE, 1), both(MACHINE, 1, disable=NO_SENSOR)
    for pair in (with_sensors, without):
        kt.step(pair.model, pair.ours, nstep=5)
    np.testing.assert_array_equal(without.ours.qpos, with_sensors.ours.qpos)
    assert np.any(with_sensors.ours.sensordata) and not np.any(without.ours.sensordata)
    for stage in (kt.subtree_vel, kt.rne_post_constraint, kt.energy_pos):
        assert without.ours.stage_runs[stage.stage_index] == 0


# energy


@pytest.mark.criteria("P-STAGE-ENERGY")
@pytest.mark.parametrize("disable", [0, NO_SENSOR], ids=["sensors", "no sensors"])
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_the_energy_flag_gives_both_energies_every_step(integrator, disable):
    pair = both(sensing(4, "<clock/>", nbody=5), 2, disable=disable, enable=ENERGY, integrator=int(integrator))
    pair.state_from(lambda d: d.qvel.__imul__(0.2))
    for _ in range(3):
        ahead = pair.ours.copy()
        kt.forward(pair.model, ahead)
        kinetic = 0.5 * ahead.qvel @ kt.full_m(pair.model, ahead) @ ahead.qvel
        assert ahead.energy[1] == pytest.approx(kinetic, rel=1e-12)
        kt.step(pair.model, pair.ours)
        mujoco.mj_step(pair.mj, pair.theirs)
        pair.same(("energy",), 1e-10, integrator.name)
        pair.same_flags(integrator.name)
        assert pair.ours.flg_energypos and pair.ours.flg_energyvel
        copy_state(pair.theirs, pair.ours)


@pytest.mark.criteria("P-STAGE-ENERGY")
@pytest.mark.parametrize("sensors", ["<clock/>", "<e_kinetic/>", "<e_potential/>", "<e_potential/><e_kinetic/>"])
@pytest.mark.parametrize("call", ["forward", "step", "step1"])
def test_without_the_flag_energies_are_zero_unless_a_potential_sensor_asks(call, sensors):
    pair = both(sensing(4, sensors, nbody=5), 2)
    for data in (pair.ours, pair.theirs):
        data.energy[:] = 7.0
    getattr(kt, call)(pair.model, pair.ours)
    getattr(mujoco, f"mj_{call}")(pair.mj, pair.theirs)
    pair.same(("energy", "sensordata"), 1e-11, call)
    if "e_potential" not in sensors:
        assert not np.any(pair.ours.energy)


@pytest.mark.criteria("P-SENS-KINETIC")
def test_the_kinetic_sensor_lags_a_step_when_the_flag_is_on():
    """It is read in the position stage, where the energy of the last velocity stage still counts as valid."""
    for enable in (0, ENERGY):
        pair = both(sensing(4, '<e_kinetic name="k"/>', nbody=5), 2, enable=enable)
        pair.state_from(lambda d: d.qvel.__imul__(0.2))
        last = None
        for k in range(5):
            ahead = pair.ours.copy()
            kt.forward_skip(pair.model, ahead, kt.Stage.NONE, True)
            kt.energy_vel(pair.model, ahead)
            kt.step(pair.model, pair.ours)
            mujoco.mj_step(pair.mj, pair.theirs)
            got = reading(pair.model, pair.ours, "k")[0]
            close(got, pair.theirs.sensordata[0], SENSOR, f"step {k}, flag {enable}")
            wanted = last if enable and k else ahead.energy[1]
            assert got == pytest.approx(wanted, rel=1e-12), f"step {k}, flag {enable}"
            last = ahead.energy[1]


# forward against inverse


@pytest.mark.criteria("P-STAGE-FWDINV")
@pytest.mark.parametrize("how", ["step", "halves", "callback", "by hand"])
def test_the_comparison_of_forward_and_inverse_touches_no_flag_and_no_sensor(how):
    """Without constraints both norms are zero, as in MuJoCo, which then compares nothing."""
    pair = both(MACHINE, 3, enable=FWDINV)
    plain = both(MACHINE, 3)
    if how == "callback":
        pair.model.callbacks.passive = plain.model.callbacks.passive = lambda m, d: None
    for side in (pair, plain):
        side.ours.solver_fwdinv[:] = side.theirs.solver_fwdinv[:] = 7.0
        if how == "halves":
            kt.step1(side.model, side.ours), kt.step2(side.model, side.ours)
            mujoco.mj_step1(side.mj, side.theirs), mujoco.mj_step2(side.mj, side.theirs)
        else:
            kt.step(side.model, side.ours)
            mujoco.mj_step(side.mj, side.theirs)
        if how == "by hand":
            kt.compare_fwd_inv(side.model, side.ours)
            mujoco.mj_compareFwdInv(side.mj, side.theirs)
        side.same(("solver_fwdinv",), 0.0, how)
    assert not np.any(pair.ours.solver_fwdinv)
    assert pair.flags() == plain.flags()
    for name in ("qpos", "qvel", "qacc", "sensordata", "cacc", "subtree_angmom"):
        np.testing.assert_array_equal(getattr(pair.ours, name), getattr(plain.ours, name), err_msg=name)
    for stage in (kt.sensor_pos, kt.sensor_vel, kt.sensor_acc, kt.rne_post_constraint):
        at = stage.stage_index
        assert pair.ours.stage_runs[at] == plain.ours.stage_runs[at] == 1, stage.__name__


def test_step_of_a_model_alone_needs_no_sensor():
    """Nothing above depends on sensors being there."""
    model, data = load("<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>")
    kt.step(model, data, nstep=3)
    assert data.time == pytest.approx(3 * model.opt.timestep)
