"""`kt.Batch`: many worlds equal as many single ones, each alone, whatever the threads, the order of worlds and their number."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import warnings

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import BATCH, BATCH_SINGLE, BATCH_SOLVED
from tests.pipeline.worlds import CORPUS, loaded

N = 11  # a block and some: the last one is not full
ROUNDING = {"float64": 2.0**-52, "float32": 2.0**-23}


def controls(model: kt.Model, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Random controls within half of what most actuators take."""
    return np.random.default_rng(seed).uniform(-0.5, 0.5, (*shape, model.nu))


def scattered(model: kt.Model, n: int = N, dtype: str = "float64", **settings) -> kt.Batch:
    """Worlds at the initial state, each with a little velocity of its own."""
    batch = kt.Batch(model, n, dtype, **settings)
    batch.qvel = 0.1 * np.random.default_rng(1).normal(size=(n, model.nv))
    return batch


def single(model: kt.Model, batch: kt.Batch, i: int) -> kt.Data:
    """A Data in the state of one world."""
    data = kt.Data(model)
    data.set_state(batch.get_state([i])[0])
    return data


def smooth(model: kt.Model) -> kt.Model:
    """Without constraints."""
    model.opt.disableflags |= kt.DisableBit.CONSTRAINT
    return model


def tight(model: kt.Model) -> kt.Model:
    """Solved to the end, so that two ways to the minimum end in one place."""
    model.opt.tolerance, model.opt.ls_tolerance, model.opt.iterations = 1e-15, 1e-6, 200
    return model


RUNS, SHARE = 5, 3.0  # motions from states a rounding apart, and how much farther than they part a batch may be


def alone(model: kt.Model, data: kt.Data, u: np.ndarray, rounding: float = 0.0, seed: int = 0) -> np.ndarray:
    """qpos along the motion of a single world, whose last digits are others after each step."""
    data, rng = data.copy(), np.random.default_rng(seed)
    out = np.zeros((len(u), model.nq))
    for k, controls_of_step in enumerate(u):
        for name in ("qpos", "qvel"):
            values = getattr(data, name)
            values += rounding * np.maximum(1.0, np.abs(values)) * rng.uniform(-2.0, 2.0, values.shape)
        data.ctrl[:] = controls_of_step
        kt.step(model, data)
        out[k] = data.qpos
    return out


def in_mujoco(model: kt.Model, data: kt.Data, u: np.ndarray) -> np.ndarray:
    """qpos along the same motion in MuJoCo."""
    mj = model.to_mujoco()
    theirs, out = mujoco.MjData(mj), np.zeros((len(u), model.nq))
    mujoco.mj_setState(mj, theirs, data.get_state(), mujoco.mjtState.mjSTATE_INTEGRATION)
    for k, controls_of_step in enumerate(u):
        theirs.ctrl[:] = controls_of_step
        mujoco.mj_step(mj, theirs)
        out[k] = theirs.qpos
    return out


STATE = ("qpos", "qvel", "act", "qacc_warmstart", "time", "plastic", "history")


def step_by_step(model: kt.Model, data: kt.Data, u: np.ndarray, record: dict[str, np.ndarray]) -> np.ndarray:
    """qpos a step after each state of a batch, made by a single world from that very state."""
    data, out = data.copy(), np.zeros((len(u), model.nq))
    for k, controls_of_step in enumerate(u):
        if k > 0:
            for name in STATE:
                data._arrays[name][...] = record[name][k - 1]
        data.ctrl[:] = controls_of_step
        kt.step(model, data)
        out[k] = data.qpos
    return out


def check_near(
    record: dict[str, np.ndarray],
    model: kt.Model,
    data: kt.Data,
    u: np.ndarray,
    limit: float,
    rounding: float,
    note: str,
) -> None:
    """A motion agrees with that of a single world, or parts from it no farther than single worlds do from each other.

    They do where the last digit decides: shapes that touch along edges, motions that are unstable. Or no farther than MuJoCo's,
    or each of its steps is that of a single world from the same state.
    """
    got, wanted = record["qpos"], alone(model, data, u)
    size = np.maximum(1.0, np.abs(wanted).max(axis=1, keepdims=True, initial=0.0))
    error = np.abs(got - wanted) / size
    if not (error <= limit).all():
        others = np.array([*(alone(model, data, u, rounding, seed) for seed in range(RUNS)), in_mujoco(model, data, u)])
        spread = np.abs(others - wanted).max(axis=(0, 2)) / size[:, 0]
        one = np.abs(got - step_by_step(model, data, u, record)) / size
        allowed = limit + SHARE * np.maximum.accumulate(spread)[:, None]
        bad = np.argwhere(~((error <= allowed) | (one.max(axis=1, keepdims=True) <= limit)))
        if bad.size:
            k, at = bad[0]
            raise AssertionError(
                f"{note} step {k}: qpos[{at}] is {got[k, at]}, alone {wanted[k, at]}; spread {spread[k]:.1e}, "
                f"this step alone {one[k].max():.1e}"
            )


@pytest.fixture
def handed_over(monkeypatch):
    """Little work goes to threads too."""
    monkeypatch.setattr("kinetree.batch.crew.AT_ONCE", 0)


def equal_singles(model: kt.Model, steps: int, limit: float, note: str, dtype: str = "float64") -> None:
    """A batch and single worlds under the same controls stay together."""
    batch, u = scattered(model, dtype=dtype, threads=2), controls(model, (N, steps))
    some = (0, 7, N - 1)
    worlds = [single(model, batch, i) for i in some]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.SimulationWarning)
        record = batch.rollout(u.astype(dtype), record=STATE)
        for i, data in zip(some, worlds, strict=True):
            its_own = {name: rows[i] for name, rows in record.items()}
            check_near(its_own, model, data, u[i], limit, ROUNDING[dtype], f"{note} world {i}")


@pytest.mark.usefixtures("handed_over")
@pytest.mark.parametrize("name", CORPUS)
def test_smooth_worlds_equal_single_ones(name):
    equal_singles(smooth(loaded(name)), 100, BATCH, name)


@pytest.mark.usefixtures("handed_over")
@pytest.mark.parametrize("name", CORPUS)
def test_worlds_in_contact_equal_single_ones(name):
    equal_singles(tight(loaded(name)), 100, BATCH_SOLVED, name)


@pytest.mark.usefixtures("handed_over")
@pytest.mark.parametrize("name", CORPUS)
def test_steps_in_single_precision_are_near(name):
    equal_singles(loaded(name), 3, BATCH_SINGLE.get(name, BATCH_SINGLE["all"]), name, "float32")


BITS = ["kinetree/humanoid", "kinetree/ant", "tests/contacts", "tests/sensors", "dm_control/suite/quadruped.xml"]


@pytest.mark.usefixtures("handed_over")
@pytest.mark.parametrize("name", [each for each in CORPUS if any(each.startswith(b) for b in BITS)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_threads_order_and_number_of_worlds_change_no_bit(name, dtype):
    model = loaded(name)
    n, steps = 37, 60
    start, u = scattered(model, n, dtype, threads=1), controls(model, (n, steps), seed=2)
    order = np.random.default_rng(3).permutation(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.SimulationWarning)
        wanted = start.copy().rollout(u, record=("qpos", "sensordata"))
        for label, ids, threads in (("two threads", np.arange(n), 2), ("permuted", order, 1), ("fewer", order[:13], 2)):
            batch = kt.Batch(model, len(ids), dtype, threads)
            batch.set_state(start.get_state(ids))
            got = batch.rollout(u[ids], record=("qpos", "sensordata"))
            for field, values in got.items():
                different = np.argwhere(values != wanted[field][ids])
                assert not different.size, f"{name} {label}: {field}{different[0].tolist()} differs"


def test_a_world_that_goes_bad_is_reset_alone_and_told():
    model = kt.load("humanoid")
    batch = scattered(model, 20, threads=1)
    batch.rollout(controls(model, (20, 30)), record=())
    calm = batch.copy()
    batch.qpos[5, 3] = np.nan
    with pytest.warns(kt.SimulationWarning, match=r"world 5: qpos\[3\].*reset"):
        batch.step(3)
    calm.step(3)
    others = np.arange(20) != 5
    for name in ("qpos", "qvel", "qacc", "sensordata"):
        assert np.array_equal(getattr(batch, name)[others], getattr(calm, name)[others]), name
    fresh = kt.Data(model)
    fresh.ctrl[:] = 0.0
    kt.step(model, fresh, 3)
    assert batch.resets.tolist() == (~others).astype(int).tolist()
    assert batch.time[5] == pytest.approx(3 * model.opt.timestep)
    np.testing.assert_allclose(batch.qpos[5], fresh.qpos, atol=1e-12)
    assert batch.warning[5, kt.WarningType.BADQPOS] == 1 and batch.warning[others].sum() == 0


def test_bad_accelerations_and_controls_are_met_as_in_a_single_world():
    model = kt.load("humanoid")
    batch = scattered(model, 9, threads=1)
    batch.qfrc_applied[2, 0] = np.nan
    batch.ctrl[4, 1] = np.nan
    with pytest.warns(kt.SimulationWarning) as told:
        batch.step()
    assert {str(each.message)[:7] for each in told} == {"world 2", "world 4"}
    assert batch.resets.tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert batch.warning[4, kt.WarningType.BADCTRL] == 1


def test_reset_takes_masks_numbers_and_keyframes():
    model = kt.load("humanoid")
    batch = scattered(model)
    batch.step(10)
    before = batch.qpos.copy()
    batch.reset([1, 3])
    assert np.array_equal(batch.qpos[[1, 3]], np.tile(model.qpos0, (2, 1)))
    mask = np.zeros(N, bool)
    mask[4] = True
    batch.reset(mask, keyframe="squat")
    data = kt.Data(model)
    data.reset_keyframe("squat")
    assert np.array_equal(batch.qpos[4], data.qpos) and batch.time[4] == data.time
    left = [i for i in range(N) if i not in (1, 3, 4)]
    assert np.array_equal(batch.qpos[left], before[left]) and (batch.time[left] > 0).all()
    batch.reset()
    assert np.array_equal(batch.get_state(), np.tile(kt.Data(model).get_state(), (N, 1)))


def test_some_worlds_step_and_others_stay():
    model = kt.load("humanoid")
    batch, all_of_them = scattered(model), scattered(model)
    ids = [2, 9, 5]
    batch.step(5, ids=ids)
    all_of_them.step(5)
    assert np.array_equal(batch.qpos[ids], all_of_them.qpos[ids])
    rest = [i for i in range(N) if i not in ids]
    assert (batch.time[rest] == 0).all()


def test_a_rollout_is_a_loop_of_steps():
    model = kt.load("humanoid")
    one, other = scattered(model), scattered(model)
    u = controls(model, (N, 20))
    record = one.rollout(u, record=("qpos", "qacc", "xpos", "time"))
    other.bind("xpos")
    for k in range(20):
        other.ctrl = u[:, k]
        other.step()
        for name in record:
            assert np.array_equal(record[name][:, k], getattr(other, name)), (name, k)
    assert np.array_equal(one.ctrl, u[:, -1])
    shared = scattered(model).rollout(u[0], record=("qpos",))["qpos"]
    assert np.array_equal(shared[0], record["qpos"][0])
    assert scattered(model).rollout(nstep=3)["qvel"].shape == (N, 3, model.nv)


READ = ["xpos", "subtree_angmom", "cacc", "qacc", "M", "qfrc_bias", "sensordata", "geom_xmat", "ncon", "actuator_force"]


@pytest.mark.parametrize("name", READ)
def test_every_result_is_read_for_the_present_state(name):
    model = kt.load("humanoid")
    batch = scattered(model)
    batch.step(60)
    before = batch.get_state()
    got = batch.read(name)
    assert np.array_equal(batch.get_state(), before)
    for i in range(N):
        data = single(model, batch, i)
        kt.forward(model, data)
        np.testing.assert_allclose(got[i], data.require(name), rtol=1e-9, atol=1e-9, err_msg=f"{name} world {i}")


def test_contacts_are_read_world_by_world():
    model = kt.load("humanoid")
    batch = scattered(model)
    batch.step(150)
    distances, counts = batch.read("contact_dist"), batch.read("ncon")
    assert [len(each) for each in distances] == counts.tolist() and counts.max() > 0


def test_inverse_dynamics_give_back_the_forces():
    model = smooth(kt.load("humanoid"))
    batch = scattered(model)
    batch.qfrc_applied = np.random.default_rng(0).normal(size=(N, model.nv))
    batch.forward()
    np.testing.assert_allclose(batch.inverse(), batch.qfrc_applied, atol=1e-9)


def test_data_go_out_and_in():
    model = kt.load("humanoid")
    batch = scattered(model)
    batch.step(30)
    data = batch.get_data(3)
    assert np.array_equal(data.qpos, batch.qpos[3]) and not data.is_stale("xpos")
    kt.step(model, data, 5)
    batch.set_data(8, data)
    assert np.array_equal(batch.qpos[8], data.qpos) and batch.time[8] == data.time


def test_copies_and_pickles_go_on_alike():
    model = kt.load("humanoid")
    batch = scattered(model)
    batch.step(20)
    for other in (batch.copy(), pickle.loads(pickle.dumps(batch))):
        mine = batch.copy()
        mine.step(20)
        other.step(20)
        assert np.array_equal(mine.qpos, other.qpos) and np.array_equal(mine.warning, other.warning)


HEAP = "<mujoco><worldbody><geom type='plane' size='5 5 1'/>" + "".join(
    f"<body pos='{0.01 * k} 0 {0.15 + 0.25 * k}'><freejoint/><geom type='box' size='.1 .1 .1'/></body>" for k in range(6)
) + "</worldbody></mujoco>"  # fmt: skip


def test_room_grows_without_losing_a_step():
    model = kt.load(HEAP)
    batch, data = kt.Batch(model, 9, threads=1), kt.Data(model)
    batch.step(200)
    kt.step(model, data, 200)
    np.testing.assert_allclose(batch.time, data.time)
    np.testing.assert_allclose(batch.qpos, np.tile(data.qpos, (9, 1)), atol=1e-6)


def test_sleep_is_each_world_s_own():
    model = kt.load(HEAP.replace("<worldbody>", "<option><flag sleep='enable'/></option><worldbody>", 1))
    batch = kt.Batch(model, 9, threads=1)
    batch.step(1500)
    batch.qvel[4, 2] = 3.0
    batch.step(10)
    awake = batch.read("ntree_awake")
    assert awake[4] > 0 and (np.delete(awake, 4) == 0).all()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals")
def test_an_interrupt_leaves_every_world_at_a_whole_step():
    model = kt.load("humanoid")
    batch = scattered(model, 64, threads=2)
    batch.step()
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        batch.step(10_000_000)
    steps = batch.time / model.opt.timestep
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-6)
    batch.step()


def test_names_lead_to_all_worlds():
    model = kt.load("humanoid")
    batch = scattered(model)
    batch.joint("right_knee").qpos = 0.3
    at = model.jnt_qposadr[model.id("joint", "right_knee")]
    assert (batch.qpos[:, at] == 0.3).all() and batch.joint("right_knee").qpos.shape == (N, 1)
    assert batch.body("torso").xpos.shape == (N, 3)


BAD = {
    "Batch(model, 0)": "n must be",
    "Batch(model, 2, 'float16')": "dtype",
    "Batch(model, 2, threads=0)": "threads must be",
    "Batch(3, 2)": "needs a kinetree Model",
    "batch.step(-1)": "nstep",
    "batch.step(ids=[99])": "world 99",
    "batch.step(ids=[1, 1])": "twice",
    "batch.step(ids=np.zeros(3, bool))": "mask",
    "setattr(batch, 'qpos', np.zeros(3))": "expected shape",
    "setattr(batch, 'qpos', np.full((11, 32), np.nan))": "nan",
    "setattr(batch, 'xpos', 0)": "read-only",
    "batch.qpso": "did you mean",
    "batch.rollout()": "controls, or nstep",
    "batch.rollout(np.zeros((4, 3)))": "controls: expected shape",
    "batch.rollout(nstep=2, record=['efc_J'])": "batch.read",
    "batch.set_state(np.zeros(3))": "expected shape",
    "batch.get_data(11)": "world 11",
    "batch.reset(keyframe='none')": "none",
}  # fmt: skip


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_refused_in_words(line):
    model = kt.load("humanoid")
    scope = {"np": np, "Batch": kt.Batch, "model": model, "batch": kt.Batch(model, N, threads=1)}
    with pytest.raises((ValueError, TypeError, IndexError, AttributeError, kt.UnknownNameError), match=BAD[line]):
        eval(line, scope)


def test_callbacks_are_refused_by_name():
    model = kt.load("humanoid")
    model.callbacks.control = lambda model, data: None
    with pytest.raises(kt.UnsupportedFeatureError, match="callbacks in a batch"):
        kt.Batch(model, 2, threads=1).step()


@pytest.mark.soak
def test_ten_million_steps_leave_memory_flat():
    import resource

    model = kt.load("humanoid")
    batch = scattered(model, 1024)
    batch.step(100)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.SimulationWarning)
        for _ in range(100):
            batch.step(98)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # kB


PILES = "<mujoco><option timestep='.004' sleep_tolerance='1e-3'><flag sleep='enable'/></option><worldbody>" + "".join(
    f"<body pos='{k} 0 0.1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>" for k in range(3)
) + "<geom type='plane' size='9 9 1'/></worldbody></mujoco>"  # fmt: skip


def test_sleepers_are_where_they_are_in_their_own_world():
    """Worlds whose boxes sleep in other places, some of which are kicked against a neighbour's."""
    model, n = kt.load(PILES), 24
    batch, rng = kt.Batch(model, n, threads=1), np.random.default_rng(0)
    shift = rng.uniform(-0.3, 0.3, (n, 3))
    batch.qpos[:, [1, 8, 15]] += shift
    batch.step(300)
    assert (batch.read("ntree_awake") == 0).all()
    batch.qvel[::5, 0] = 4.0
    order = rng.permutation(n)
    other = kt.Batch(model, n, threads=1)
    for mine, its in enumerate(order):
        other.set_data(mine, batch.get_data(int(its)))
    worlds = [batch.get_data(i) for i in (0, 5, 7)]
    np.testing.assert_allclose(batch.read("xpos")[[0, 5, 7]], [world.xpos for world in worlds], atol=1e-12)
    batch.step(200)
    for data, i in zip(worlds, (0, 5, 7), strict=True):
        kt.step(model, data, 200)
        np.testing.assert_allclose(batch.qpos[i], data.qpos, atol=1e-6, err_msg=f"world {i}")
    other.step(200)
    assert np.array_equal(other.qpos, batch.qpos[order])


def test_a_reset_clears_inputs_and_counts_once():
    model = kt.load(HEAP)
    batch = kt.Batch(model, 9, threads=1)
    batch.qfrc_applied[8, 0] = np.nan
    with pytest.warns(kt.SimulationWarning, match="world 8"):
        batch.step(200)
    assert batch.resets.tolist() == [0] * 8 + [1] and not batch.qfrc_applied.any()


def test_a_second_thread_is_refused():
    model = kt.load("humanoid")
    batch = scattered(model, 256, threads=1)
    batch.step()
    thread = threading.Thread(target=batch.step, args=(300,))
    thread.start()
    try:
        while not batch._lock.locked():
            pass
        for call in (batch.step, batch.reset, lambda: batch.expand("body_mass", model.body_mass)):
            with pytest.raises(kt.BusyError):
                call()
    finally:
        thread.join()
    np.testing.assert_allclose(batch.time, 301 * model.opt.timestep)


def test_edits_of_the_model_between_calls_reach_all_worlds():
    model = kt.load(PILES)
    batch = kt.Batch(model, 20, threads=1)
    batch.step(300)
    model.geom_friction[0] *= 0.5
    kt.set_const(model)
    batch.step()
    assert (batch.read("ntree_awake") == model.ntree).all()
