"""Threads: one Data is for one of them at a time; worlds of their own give what they give one after another."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager, suppress

import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import LaneData
from kinetree.kernel import JIT, float_machine, ready, stage
from kinetree.needs import on_request
from kinetree.occupancy import CHANGING, OWNER, reading

pytestmark = pytest.mark.skipif(not JIT, reason="Python's lock keeps threads apart where nothing is compiled")


@contextmanager
def occupied(model, data):
    """A thread is inside the data, for a second or as long as it takes."""
    data.reset()
    stop = []

    def work():
        while not stop:
            with suppress(kt.BusyError):  # between two calls the other may be faster
                kt.step(model, data, 5_000)

    thread = threading.Thread(target=work, name="the stepping thread")
    thread.start()
    while data.time == 0.0:
        time.sleep(1e-3)
    try:
        yield
    finally:
        stop.append(True)
        thread.join()


@pytest.fixture(scope="module")
def world():
    model = kt.load("humanoid")
    data = kt.Data(model)
    kt.step(model, data, 2)
    return model, data, kt.StablePD(model, 50.0, 5.0), data.get_state()


DEEDS = {
    "step": lambda m, d, pd, state: kt.step(m, d),
    "forward": lambda m, d, pd, state: kt.forward(m, d),
    "a stage": lambda m, d, pd, state: kt.kinematics(m, d),
    "inverse": lambda m, d, pd, state: kt.inverse(m, d),
    "a function": lambda m, d, pd, state: kt.jac_body(m, d, body=1),
    "a ray": lambda m, d, pd, state: kt.ray(m, d, (0.0, 0.0, 3.0), (0.0, 0.0, -1.0)),
    "a distance": lambda m, d, pd, state: kt.geom_distance(m, d, 1, 2),
    "an inertia": lambda m, d, pd, state: kt.full_m(m, d),
    "contact forces": lambda m, d, pd, state: kt.contact_forces(m, data=d),
    "a contact force": lambda m, d, pd, state: kt.contact_force(m, d, 0),
    "a contact's Jacobian": lambda m, d, pd, state: kt.jac_contact(m, d, 0),
    "noise": lambda m, d, pd, state: kt.add_sensor_noise(m, d, np.random.default_rng(0)),
    "stable PD": lambda m, d, pd, state: pd.step(d),
    "a torque": lambda m, d, pd, state: pd.torque(d),
    "an acceleration": lambda m, d, pd, state: pd.acceleration(d),
    "reset": lambda m, d, pd, state: d.reset(),
    "reset_keyframe": lambda m, d, pd, state: d.reset_keyframe(0),
    "get_state": lambda m, d, pd, state: d.get_state(),
    "set_state": lambda m, d, pd, state: d.set_state(state),
    "copy": lambda m, d, pd, state: d.copy(),
    "pickle": lambda m, d, pd, state: pickle.dumps(d),
    "growing": lambda m, d, pd, state: d._make_room(d._arrays.capacity),
    "after a run": lambda m, d, pd, state: d._grow(),
    "require": lambda m, d, pd, state: d.require("energy"),
    "another model": lambda m, d, pd, state: kt.step(kt.load("humanoid"), d),
    "into lanes": lambda m, d, pd, state: LaneData(m, 2).load(0, d),
    "out of lanes": lambda m, d, pd, state: LaneData(m, 2).store(0, d),
}


@pytest.mark.parametrize("deed", DEEDS)
def test_a_second_thread_is_told_so(world, deed):
    model, data, controller, state = world
    refused = 0
    with occupied(model, data):
        for _ in range(50):  # now and then the other is between two calls
            try:
                DEEDS[deed](*world)
            except kt.BusyError as error:
                assert "in use by another thread, the stepping thread: give each thread its own kt.Data" in str(error)
                refused += 1
    assert refused > 25
    data.reset()
    twin = kt.Data(model)
    kt.step(model, twin, 5)
    kt.step(model, data, 5)
    np.testing.assert_array_equal(data.get_state(), twin.get_state())


@pytest.mark.parametrize("advance", ["step", "stable PD"])
def test_who_is_inside_is_not_thrown_out(advance):
    """A call of many steps is its thread's to the end, where room is made for contacts and where Python hears signals."""
    model = kt.load("humanoid")
    controller, over, came_in, refused = kt.StablePD(model, 50.0, 5.0), [], [], []
    deeds = {"step": lambda d: kt.step(model, d, 2000), "stable PD": lambda d: controller.step(d, nstep=2000)}
    data, twin = kt.Data(model), kt.Data(model)
    deeds[advance](twin)  # compiles; the data above has no room for contacts yet

    def come_in():
        while not over:
            try:
                came_in.append(float(data.get_state(kt.State.TIME)[0]))
            except kt.BusyError as error:
                refused.append(error)

    thread = threading.Thread(target=come_in)
    thread.start()
    while not came_in:
        time.sleep(1e-3)
    done = False
    while not done:
        with suppress(kt.BusyError):  # on the way in, at the first step
            deeds[advance](data)  # in the main thread, which hears signals
            done = True
        assert done or data.time == 0.0
    over.append(True)
    thread.join()
    assert refused and set(came_in) <= {0.0, data.time}
    np.testing.assert_array_equal(data.get_state(), twin.get_state())


@contextmanager
def taken_by_another(holder):
    """Another thread has it, and does nothing."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    holder._guard[OWNER] = thread.ident
    try:
        yield
    finally:
        holder._guard[OWNER] = 0
        over.set()
        thread.join()


@pytest.mark.parametrize("deed", DEEDS)
def test_nothing_is_written_by_whom_is_refused(world, deed):
    model, data, _, _ = world
    data.reset()
    kt.step(model, data, 3)
    data._arrays["overflow"][0] = 1
    before, words = data._arrays.fixed.copy(), data._arrays.tables[0].copy()
    with taken_by_another(data), pytest.raises(kt.BusyError):
        DEEDS[deed](*world)
    np.testing.assert_array_equal(data._arrays.fixed, before)
    np.testing.assert_array_equal(data._arrays.tables[0], words)
    data.reset()


def test_what_is_required_leaves_the_motion_of_another_thread():
    model = kt.load("humanoid")
    data, twin = kt.Data(model), kt.Data(model)
    with occupied(model, data):
        for _ in range(2000):
            with suppress(kt.BusyError):
                data.require("energy")
    kt.step(model, twin, round(data.time / model.opt.timestep))
    assert data.time == twin.time
    np.testing.assert_array_equal(data.get_state(), twin.get_state())


def test_many_threads_in_one_data_leave_it_sound():
    """Whoever is inside, contacts come and go and memory grows: refused or done, and nothing else."""
    model = kt.load("humanoid")
    data, wrong, end = kt.Data(model), [], time.monotonic() + 1.0

    def work(deed):
        while time.monotonic() < end:
            try:
                deed(model, data, controller, state)
            except kt.BusyError:
                pass
            except BaseException as error:
                wrong.append(error)

    controller, state = kt.StablePD(model, 50.0, 5.0), data.get_state()
    larger = {name: 3 * n for name, n in data._arrays.capacity.items()}
    deeds = [lambda m, d, pd, state: kt.step(m, d, 30), DEEDS["step"], DEEDS["copy"], DEEDS["reset"]]
    deeds += [lambda m, d, pd, state: d._make_room(larger), DEEDS["pickle"]]
    threads = [threading.Thread(target=work, args=(deed,)) for deed in deeds]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong
    assert data._guard[OWNER] == 0
    data.reset()
    kt.step(model, data, 100)
    assert np.isfinite(data.qpos).all()


def test_the_same_thread_may_come_back_in_callbacks():
    model = kt.load("humanoid")
    data, times = kt.Data(model), []

    def control(model, data):
        kt.jac_body(model, data, body=2)
        kt.subtree_vel(model, data)
        times.append(data.copy().time)

    model.callbacks.control = control
    kt.step(model, data, 3)
    assert times == pytest.approx([0.0, model.opt.timestep, 2 * model.opt.timestep])


USER_GAIN = """<mujoco><worldbody><body><joint name="j"/><geom size=".1" pos=".5 0 0"/></body></worldbody>
<actuator><general joint="j" gaintype="user"/></actuator></mujoco>"""
CALLING = {
    "step": lambda m, d: kt.step(m, d, 3),
    "forward": kt.forward,
    "inverse": kt.inverse,
    "step1": kt.step1,
    "step2": kt.step2,
    "stable PD": lambda m, d: kt.StablePD(m, 50.0, 5.0).step(d, nstep=3),
}


@pytest.mark.parametrize("deed", CALLING)
def test_callbacks_leave_no_way_in_for_other_threads(deed):
    """A second thread is refused while the first is in a callback, and the first does what it would have done alone."""
    model = kt.load(USER_GAIN)
    data, refused, watched = kt.Data(model), [], [False]

    def come_in():
        try:
            kt.kinematics(model, data)
        except kt.BusyError as error:
            refused.append(error)

    def callback(model, data, *rest):
        if watched[0]:
            thread = threading.Thread(target=come_in)
            thread.start()
            thread.join()
        kt.subtree_vel(model, data)
        return 1.0

    model.callbacks.passive = model.callbacks.act_gain = callback
    kt.forward(model, data)
    twin = data.copy()
    CALLING[deed](model, twin)
    watched[0] = True
    CALLING[deed](model, data)
    assert refused
    np.testing.assert_array_equal(data.get_state(), twin.get_state())
    assert data._guard[OWNER] == 0


def test_what_is_raised_sets_it_free():
    """Errors of callbacks and of arguments; another thread then has its turn."""
    model = kt.load("cartpole")
    data = kt.Data(model)

    def control(model, data):
        raise OSError

    model.callbacks.control = control
    with pytest.raises(OSError):
        kt.step(model, data)
    model.callbacks.clear()
    with pytest.raises(ValueError):
        data.set_state(np.zeros(1))
    thread = threading.Thread(target=kt.step, args=(model, data, 3))
    thread.start()
    thread.join()
    assert data.time == pytest.approx(3 * model.opt.timestep) and data._guard[OWNER] == 0


def test_arguments_may_be_named():
    model = kt.load("cartpole")
    data = kt.Data(model)
    data.set_state(state=np.arange(4.0), spec=kt.State.PHYSICS)
    np.testing.assert_array_equal(data.get_state(spec=kt.State.PHYSICS), np.arange(4.0))


def test_a_change_within_another_call_ends_with_itself():
    """Where the thread has the Data already, one change is over before the next begins."""
    model = kt.load("cartpole")
    data = kt.Data(model)
    kt.step(model, data)
    state = data.get_state()

    @reading
    def twice(data):
        data.reset()
        data.set_state(state)

    twice(data)
    np.testing.assert_array_equal(data.get_state(), state)
    assert data._guard[OWNER] == data._guard[CHANGING] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_has_no_other_threads(world):
    model, data, _, _ = world
    with occupied(model, data):
        while data._guard[OWNER] == 0:
            pass
        child = os.fork()
        if child == 0:
            try:
                data.reset()
                kt.step(model, data, 3)
                os._exit(0)
            except BaseException:
                os._exit(1)
        _, status = os.waitpid(child, 0)
    assert status == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_waits_for_the_compiler(monkeypatch):
    """In the child nothing is half done, and nobody has the lock."""
    started, done = threading.Event(), []

    def slow(*arguments, **options):
        started.set()
        time.sleep(0.5)
        done.append(True)
        return []

    monkeypatch.setattr(ready, "load_library", slow)
    thread = threading.Thread(target=ready.make_ready, args=([], float_machine()))
    thread.start()
    started.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if done and ready.ONE_AT_A_TIME.acquire(timeout=5.0) else 1)
    _, status = os.waitpid(child, 0)
    thread.join()
    assert status == 0
    ready.make_ready([], float_machine())


def test_lanes_are_for_one_thread_too():
    model = kt.load("cartpole")
    lanes, data = LaneData(model), kt.Data(model)
    lanes.run(kt.kinematics)
    lanes.arrays["overflow"][0] = 1
    data.qpos[:] = 1.0
    before, own = lanes.arrays.fixed.copy(), data._arrays.fixed.copy()
    for deed in (
        lambda: lanes.run(kt.kinematics),
        lambda: lanes.load(0, data),
        lambda: lanes.store(0, data),
        lambda: lanes._grow(),
    ):
        with taken_by_another(lanes), pytest.raises(kt.BusyError):
            deed()
        np.testing.assert_array_equal(lanes.arrays.fixed, before)
        np.testing.assert_array_equal(data._arrays.fixed, own)


FIRST_CALLS = """
    import threading, numpy as np, kinetree as kt
    model = kt.load("humanoid")
    model.opt.noslip_iterations = 2

    def world(seed):
        data = kt.Data(model)
        data.qvel[:] = 0.1 * np.random.default_rng(seed).normal(size=model.nv)
        data.qpos[2] -= 0.05 * seed
        return data

    def run(data):
        start.wait()
        kt.step(model, data, 200)
        kt.StablePD(model, 50.0, 5.0).step(data, nstep=20)

    worlds, start = [world(seed) for seed in range(6)], threading.Barrier(6)
    threads = [threading.Thread(target=run, args=(data,)) for data in worlds]
    [t.start() for t in threads]
    [t.join() for t in threads]
    start = threading.Barrier(1)
    for seed, data in enumerate(worlds):
        twin = world(seed)
        run(twin)
        for name in ("qpos", "qvel", "efc_force", "sensordata", "solver_niter"):
            one, other = getattr(data, name), getattr(twin, name)
            assert one.tobytes() == other.tobytes(), (seed, name, np.abs(one - other).max())
    print("same")
"""


def test_worlds_side_by_side_from_the_first_call_on():
    """In a fresh process, whose tables are still empty: the threads fill them while they run."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FIRST_CALLS)], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.strip() == "same", done.stderr


@stage(when=on_request)
def needed_by_all(m, d):
    """For the tests."""
    d.time[0] += 1.0


@stage
def calls_it(m, d):
    """For the tests."""
    needed_by_all(m, d)


def test_threads_that_need_the_same_code_compile_it_once():
    model = kt.load("cartpole")
    worlds, start = [kt.Data(model) for _ in range(4)], threading.Barrier(4)

    def work(data):
        start.wait()
        for _ in range(100):
            calls_it(model, data)

    threads = [threading.Thread(target=work, args=(data,)) for data in worlds]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [data.time for data in worlds] == [100.0] * 4
