"""What reaches sensordata and when: cutoffs, sensors switched off, delays, intervals and histories, against MuJoCo."""

from __future__ import annotations

import copy
import functools
from pathlib import Path

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.states import copy_state
from kinetree.conformance.tolerances import SENSOR
from kinetree.types import SensorType, Stage
from tests.pipeline.both import ENERGY, INTEGRATORS, Both, both, close, quietly, run
from tests.pipeline.both import SENSOR as NO_SENSOR
from tests.sensor.everywhere import readings, same_readings, sensors_of

MODEL = Path(__file__).parents[1] / "models" / "sensors.xml"  # has every type; its time step is 2 ms
MODES = {  # what a history has, but for its interpolation
    "delay on the grid": {"nsample": 4, "delay": 0.006},
    "delay off the grid": {"nsample": 5, "delay": 0.0047},
    "delay beyond the history": {"nsample": 2, "delay": 0.011},
    "delay of one sample": {"nsample": 1, "delay": 0.002},
    "interval": {"nsample": 3, "interval": (0.007, 0.0)},
    "interval with a phase": {"nsample": 3, "interval": (0.007, -0.003)},
    "interval below a step": {"nsample": 3, "interval": (0.0013, 0.0)},
    "interval and delay": {"nsample": 4, "interval": (0.005, 0.0), "delay": 0.009},
    "interval with a phase and delay": {"nsample": 4, "interval": (0.005, -0.001), "delay": 0.003},
    "kept": {"nsample": 3},
    "interval without samples": {"interval": (0.007, 0.0)},
}
INTERPOLATIONS = ("hold", "linear", "cubic")
# Types that read a lazy pass, with the flag it raises.
LAZY = {
    SensorType.E_POTENTIAL: "flg_energypos",
    SensorType.E_KINETIC: "flg_energyvel",
    SensorType.SUBTREELINVEL: "flg_subtreevel",
    SensorType.SUBTREEANGMOM: "flg_subtreevel",
    SensorType.ACCELEROMETER: "flg_rnepost",
    SensorType.FORCE: "flg_rnepost",
    SensorType.TORQUE: "flg_rnepost",
    SensorType.FRAMELINACC: "flg_rnepost",
    SensorType.FRAMEANGACC: "flg_rnepost",
}
STEPS = 45
STARTS = 0.0, 0.0007, 0.002, 0.0033, 0.01, 0.5, 2.2, 0.0061  # times at which the worlds of a batch begin


@functools.cache
def everything() -> mujoco.MjModel:
    """The model of all types with every sensor once plain and once for each mode and interpolation."""
    spec = mujoco.MjSpec.from_file(str(MODEL))
    for sensor in list(spec.sensors):
        if sensor.nsample:
            spec.delete(sensor)
    copied = ("type", "objtype", "objname", "reftype", "refname", "intprm", "cutoff")
    for sensor in list(spec.sensors):
        for mode in MODES:
            for order, interpolation in enumerate(INTERPOLATIONS):
                same = {name: getattr(sensor, name) for name in copied}
                spec.add_sensor(
                    name=f"{sensor.name}, {mode}, {interpolation}",
                    interp=order,
                    **same,
                    **MODES[mode],
                )
    spec.add_key(name="late", time=0.0123)
    return spec.compile()


def moving(mj: mujoco.MjModel, seed: int = 0, time: float = 0.0, **options) -> Both:
    """Both sides without constraints at the start of a calm motion; histories are those after a reset."""
    pair = both(copy.copy(mj), None, **options)
    stir(pair, seed)
    pair.theirs.time = pair.ours.time = time
    return pair


def stir(pair: Both, seed: int) -> None:
    """Some velocity, applied forces and wrenches."""
    rng = np.random.default_rng(seed)
    mj, theirs = pair.mj, pair.theirs
    mujoco.mj_integratePos(mj, theirs.qpos, 0.3 * rng.normal(size=mj.nv), 1.0)
    theirs.qvel[:] = 0.5 * rng.normal(size=mj.nv)
    theirs.xfrc_applied[1:] = rng.normal(size=(mj.nbody - 1, 6))
    copy_state(theirs, pair.ours)


def control(pair: Both, seed: int) -> None:
    """New controls on both sides."""
    pair.theirs.ctrl[:] = pair.ours.ctrl[:] = np.random.default_rng(seed).normal(size=pair.mj.nu)


def agree(pair: Both, note: str) -> None:
    """Readings, histories, time and flags are MuJoCo's."""
    same_readings(pair.model, pair.ours.sensordata, pair.theirs.sensordata, SENSOR, note)
    same_histories(pair.model, pair.ours.history, pair.theirs.history, note)
    assert pair.ours.time == pair.theirs.time, note
    pair.same_flags(note)


def same_histories(model: kt.Model, ours: np.ndarray, theirs: np.ndarray, note: str) -> None:
    """Sensor by sensor: cursor, times and samples."""
    if np.all(np.abs(ours - theirs) <= SENSOR):  # spares the loop
        return
    for i in np.flatnonzero(model.sensor_history[:, 0]):
        n, size, a = (int(x[i]) for x in (model.sensor_history[:, 0], model.sensor_dim, model.sensor_historyadr))
        part = slice(a, a + 2 + n + n * size)
        close(ours[part], theirs[part], SENSOR, f"{model.title} {note}: history of {model.name('sensor', int(i))!r} ")


def step_both(pair: Both, k: int) -> None:
    control(pair, k)
    run(pair, kt.step, mujoco.mj_step)


# histories over steps


@pytest.mark.criteria("P-SENS-HISTORY")
@pytest.mark.parametrize("start", [0.0, 0.0123])
@pytest.mark.parametrize("energy", [0, ENERGY], ids=["", "energy"])
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_readings_and_histories_equal_mujocos_step_by_step(integrator, energy, start):
    """All types in all modes and interpolations; time may begin between the samples of a reset."""
    pair = moving(everything(), 1, start, integrator=int(integrator), enable=0)
    pair.mj.opt.enableflags = pair.model.opt.enableflags = energy
    for k in range(STEPS):
        step_both(pair, k)
        agree(pair, f"step {k}")
    assert np.abs(pair.theirs.qvel).max() < 100, "the motion is not calm"


@pytest.mark.parametrize("how", ["callback", "halves", "many at once"])
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_every_way_of_stepping_moves_the_histories_alike(integrator, how):
    pair = moving(everything(), 2, integrator=int(integrator))
    if how == "callback":
        pair.model.callbacks.passive = lambda model, data: None
    control(pair, 0)
    for k in range(0, 20, 5):
        if how == "many at once":
            with quietly():
                kt.step(pair.model, pair.ours, nstep=5)
            mujoco.mj_step(pair.mj, pair.theirs, 5)
        for _ in range(0 if how == "many at once" else 5):
            if how == "halves":
                run(pair, kt.step1, mujoco.mj_step1)
                run(pair, kt.step2, mujoco.mj_step2)
            else:
                run(pair, kt.step, mujoco.mj_step)
        agree(pair, f"{how}, step {k + 4}")


def test_only_steps_move_histories():
    """`forward` and `inverse` read them and leave them, however often they run."""
    pair = moving(everything(), 3)
    for k in range(12):
        step_both(pair, k)
        before = pair.ours.history.copy()
        for ours, theirs in ((kt.forward, mujoco.mj_forward), (kt.inverse, mujoco.mj_inverse)) * 2:
            run(pair, ours, theirs)
            agree(pair, f"{ours.__name__} after step {k}")
        np.testing.assert_array_equal(pair.ours.history, before)


def test_time_may_be_set_back_and_forth():
    """A sensor waits for a time that has not come, or reads the past again."""
    pair = moving(everything(), 4)
    for k, jump in enumerate([0.0] * 10 + [-0.011, 0.0, 0.0, 0.03, 0.0, -0.001, 0.0005, 0.0, 0.0, -0.02, 0.0]):
        pair.ours.time = pair.theirs.time = pair.theirs.time + jump
        step_both(pair, k)
        agree(pair, f"step {k} after a jump of {jump}")


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_worlds_with_times_of_their_own_equal_mujocos(integrator):
    """Eight worlds on lanes: intervals fall differently in each."""
    pairs = [moving(everything(), seed, time, integrator=int(integrator)) for seed, time in enumerate(STARTS)]
    model = pairs[0].model
    datas = [kt.Data(model) for _ in pairs]
    for pair, data in zip(pairs, datas, strict=True):
        copy_state(pair.theirs, data)
    lanes = lanes_of(model, datas)
    for k in range(30):
        for lane, pair in enumerate(pairs):
            control(pair, 100 * k + lane)
            lanes.ctrl[:, lane] = pair.theirs.ctrl
            mujoco.mj_step(pair.mj, pair.theirs)
        lanes.run(pipeline.forward)
        lanes.run(pipeline.integrate)
        for lane, pair in enumerate(pairs):
            note = f"lane {lane}, step {k}"
            same_readings(model, lanes.sensordata[:, lane], pair.theirs.sensordata, SENSOR, note)
            same_histories(model, lanes.history[:, lane], pair.theirs.history, note)


def test_the_model_has_all_types_in_all_modes():
    """Of every stage and every type that MuJoCo lets have a history."""
    mj = everything()
    kinds = set(mj.sensor_type)
    for mode in MODES:
        names = [mujoco.mj_id2name(mj, mujoco.mjtObj.mjOBJ_SENSOR, i) for i in range(mj.nsensor)]
        assert {mj.sensor_type[i] for i, name in enumerate(names) if f", {mode}," in name} == kinds
    assert {int(s) for s in mj.sensor_needstage} == {int(Stage.POS), int(Stage.VEL), int(Stage.ACC)}
    assert {int(SensorType.RANGEFINDER), *map(int, LAZY)} <= kinds
    assert {0, 1, 2} == set(mj.sensor_history[:, 1])


def test_late_and_slow_clocks_in_closed_form():
    """Late by the delay, or as it was at the last multiple of the interval. Times are sums of halves, so exact."""
    text = """<mujoco><option timestep=".125"/><worldbody><body><joint/><geom size=".1"/></body></worldbody><sensor>
      <clock name="now"/><clock name="late" nsample="4" delay=".375"/><clock name="slow" nsample="2" interval=".625"/>
      <clock name="shifted" nsample="2" interval=".625 -.25"/><clock name="both" nsample="4" delay=".25" interval=".5"/>
      <clock name="between" nsample="4" delay=".3125"/><clock name="line" nsample="4" delay=".3125" interp="linear"/>
      <clock name="curve" nsample="5" delay=".3125" interp="cubic"/></sensor></mujoco>"""
    model = kt.load(text)
    data = kt.Data(model)
    for k in range(40):
        kt.step(model, data)
        now = k * 0.125
        wanted = {
            "now": now,
            "late": max(0.0, now - 0.375),
            "slow": 0.625 * (now // 0.625),
            "shifted": max(0.0, 0.375 + 0.625 * ((now - 0.375) // 0.625)),
            "both": max(0.0, 0.5 * ((now - 0.25) // 0.5)),
            "between": max(0.0, 0.125 * ((now - 0.3125) // 0.125)),
        }
        if k >= 5:  # all samples around are of this run
            wanted |= {"line": now - 0.3125, "curve": now - 0.3125}
        got = {name: float(data.sensor(name).data[0]) for name in wanted}
        assert got == pytest.approx(wanted, abs=1e-15), f"step {k}"


# the state


@pytest.mark.parametrize("timestep", [0.002, 0.01])
@pytest.mark.parametrize("phase", [0.0, -0.25, -0.9])
@pytest.mark.parametrize("interval", [0.0, 0.0005, 0.0013, 0.002, 0.004, 0.007, 0.05])
@pytest.mark.parametrize("nsample", [1, 4])
def test_histories_after_a_reset_equal_mujocos(nsample, interval, phase, timestep):
    """Also where the interval is shorter than a step. phase: as a share of the interval."""
    spec = mujoco.MjSpec.from_string(f'<mujoco model="clock"><option timestep="{timestep}"/></mujoco>')
    times = (interval, interval * phase)
    spec.add_sensor(name="clock", type=mujoco.mjtSensor.mjSENS_CLOCK, nsample=nsample, interval=times)
    mj = spec.compile()
    data = kt.Data(kt.load(mj))
    close(data.history, mujoco.MjData(mj).history, 1e-15, f"interval {times}, step {timestep}: history")


@pytest.mark.parametrize("start", ["reset", "keyframe", "state"])
def test_histories_are_part_of_the_state(start):
    """After any of these the motion goes on as MuJoCo's."""
    pair = moving(everything(), 5)
    kept = None
    for k in range(9):
        if k == 4:
            kept = pair.ours.get_state(kt.State.INTEGRATION)
        step_both(pair, k)
    if start == "state":
        pair.ours.set_state(kept, kt.State.INTEGRATION)
        mujoco.mj_setState(pair.mj, pair.theirs, kept, int(kt.State.INTEGRATION))
    elif start == "keyframe":
        pair.ours.reset_keyframe("late")
        mujoco.mj_resetDataKeyframe(pair.mj, pair.theirs, 0)
        assert pair.ours.time == 0.0123
    else:
        pair.ours.reset()
        mujoco.mj_resetData(pair.mj, pair.theirs)
    same_histories(pair.model, pair.ours.history, pair.theirs.history, start)
    for k in range(9):
        step_both(pair, k)
        agree(pair, f"step {k} after {start}")


def test_a_history_alone_can_be_taken_and_put_back():
    pair = moving(everything(), 6)
    for k in range(9):
        step_both(pair, k)
    size = mujoco.mj_stateSize(pair.mj, int(kt.State.HISTORY))
    wanted = np.zeros(size)
    mujoco.mj_getState(pair.mj, pair.theirs, wanted, int(kt.State.HISTORY))
    got = pair.ours.get_state(kt.State.HISTORY)
    close(got, wanted, SENSOR, "history")
    fresh = kt.Data(pair.model)
    fresh.set_state(got, kt.State.HISTORY)
    np.testing.assert_array_equal(fresh.history, pair.ours.history)
    np.testing.assert_array_equal(pair.ours.copy().history, pair.ours.history)


# lazy passes


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", LAZY, ids=lambda k: k.name)
def test_a_sensor_with_a_history_asks_for_its_pass_when_mujocos_does(kind, mode, integrator):
    """A delayed one not while it is read, but when its history moves on."""
    pair = moving(alone(mode, kind), 7, integrator=int(integrator))
    for k in range(8):
        run(pair, kt.forward, mujoco.mj_forward)
        pair.same_flags(f"{kind.name} with {mode}, forward {k}")
        step_both(pair, k)
        agree(pair, f"{mode}, step {k}")


def alone(mode: str, kind: SensorType) -> mujoco.MjModel:
    """Sensors of one type in one mode and nothing else, without the energy flag."""
    spec = mujoco.MjSpec.from_file(str(MODEL))
    for sensor in list(spec.sensors):
        if int(sensor.type) != kind:
            spec.delete(sensor)
    for sensor in spec.sensors:
        for name, value in MODES[mode].items():
            setattr(sensor, name, value)
    spec.option.enableflags = 0
    return spec.compile()


# sensors switched off


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_disabled_sensors_keep_their_readings_while_histories_move_on(integrator):
    """As in MuJoCo: what is delayed is still computed for the history, what is kept is copied from sensordata."""
    pair = moving(everything(), 8, integrator=int(integrator))
    for k in range(6):
        step_both(pair, k)
    pair.mj.opt.disableflags |= NO_SENSOR
    pair.model.opt.disableflags |= NO_SENSOR
    before = pair.ours.sensordata.copy()
    for k in range(6, 14):
        step_both(pair, k)
        agree(pair, f"step {k}, disabled")
        np.testing.assert_array_equal(pair.ours.sensordata, before)
    pair.mj.opt.disableflags &= ~NO_SENSOR
    pair.model.opt.disableflags &= ~NO_SENSOR
    for k in range(14, 20):
        step_both(pair, k)
        agree(pair, f"step {k}, enabled again")


def test_a_cutoff_counts_before_the_history():
    """Late readings are interpolated between numbers that were cut off, and not cut again."""
    pair = moving(everything(), 9)
    pair.mj.sensor_cutoff[:] = 0.3
    pair.model.sensor_cutoff[:] = 0.3
    for k in range(12):
        step_both(pair, k)
        agree(pair, f"step {k} with cutoffs")
    beyond = [
        i for i in sensors_of(pair.model, SensorType.GYRO, SensorType.FORCE) if pair.model.sensor_history[i, 1] == 2
    ]
    numbers = readings(pair.model, pair.ours.sensordata)
    assert any(np.abs(numbers[pair.model.name("sensor", i)]).max() == 0.3 for i in beyond)
