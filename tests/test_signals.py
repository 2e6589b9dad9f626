"""Signals during long calls: heard soon, and the Data is left at a whole step, from which it goes on as if none had come."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import kinetree as kt
from kinetree import data as data_module
from kinetree import driver
from kinetree.bad_states import KINDS_OF_RETURN, LACKS_ROOM
from kinetree.kernel import JIT
from kinetree.occupancy import OWNER
from kinetree.stepping import run_steps
from kinetree.types import WarningType

SOON = 0.05  # s
TRIES = 6  # the best of which counts: a busy machine may not run this process for a while
FOREVER = 10**8
pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")


@contextmanager
def ctrl_c(after):
    """Ctrl-C after so many seconds; gives a list with the moment at which it was pressed."""
    pressed, over = [], threading.Event()

    def press():
        if not over.wait(after):
            pressed.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        yield pressed
    finally:
        over.set()
        thread.join()


def broken_off(run, after=0.03):
    """Run until Ctrl-C; how long that took to be heard."""
    with ctrl_c(after) as pressed:
        with pytest.raises(KeyboardInterrupt):
            run()
        return time.perf_counter() - pressed[0]


def assert_goes_on(model, data, advance):
    """The state is one that steps lead to, and so is what follows."""
    twin, made = kt.Data(model), round(data.time / model.opt.timestep)
    if made:
        advance(twin, made)
    assert twin.time == data.time
    twin.ctrl = data.ctrl  # a callback may have set them for a step that was then broken off
    np.testing.assert_array_equal(data.get_state(), twin.get_state())
    advance(data, 3)
    advance(twin, 3)
    np.testing.assert_array_equal(data.get_state(), twin.get_state())
    np.testing.assert_array_equal(data.efc_force, twin.efc_force)
    return made


def stepper(model, how):
    if how == "step":
        return lambda data, n: kt.step(model, data, n)
    controller = kt.StablePD(model, 50.0, 5.0)
    return lambda data, n: controller.step(data, nstep=n)


@pytest.mark.parametrize("how", ["step", "stable_pd"])
@pytest.mark.parametrize("name", ["humanoid", "cartpole"])
def test_steps_are_broken_off_soon_and_between_two_of_them(name, how):
    model = kt.load(name)
    data, advance = kt.Data(model), stepper(model, how)
    advance(kt.Data(model), 2)
    latencies = []
    while len(latencies) < TRIES and min(latencies, default=1.0) > SOON:
        data.reset()
        latencies.append(broken_off(lambda: advance(data, FOREVER)))
    assert min(latencies) <= SOON, latencies
    assert assert_goes_on(model, data, advance) > 10


# Its friction is found exactly, and sweeps that change nothing go on, while rounding may end others.
PENDULUM = (
    """<mujoco><worldbody><body><joint frictionloss="0.1"/><geom size=".1" pos=".5 0 0"/></body></worldbody></mujoco>"""
)
SOLVES = {
    "pgs": {"solver": kt.Solver.PGS},
    "noslip": {"model": PENDULUM, "solver": kt.Solver.NEWTON, "noslip_iterations": FOREVER, "noslip_tolerance": 0.0},
    "rk4": {"solver": kt.Solver.PGS, "integrator": kt.Integrator.RK4},
}


def standing(**options):
    """A model with constraints, and its data after some steps."""
    model = kt.load(options.pop("model", "quadruped"))
    data = kt.Data(model)
    model.opt.solver, model.opt.integrator = options.pop("solver"), options.pop("integrator", kt.Integrator.EULER)
    while data.nefc == 0:
        kt.step(model, data, 20)
    return model, data, options


def never_done(model, options):
    """Solves that do not end by themselves."""
    model.opt.iterations, model.opt.tolerance = FOREVER, 0.0
    for name, value in options.items():
        setattr(model.opt, name, value)


@pytest.mark.skipif(not JIT, reason="Python hears signals by itself")
@pytest.mark.parametrize("how", ["step", "stable_pd"])
@pytest.mark.parametrize("solve", SOLVES)
def test_solves_are_broken_off_soon_and_leave_the_state(solve, how):
    model, data, options = standing(**SOLVES[solve])
    before, advance, latencies = data.copy(), stepper(model, how), []
    calm = model.opt.iterations, model.opt.tolerance
    advance(data.copy(), 1)
    never_done(model, options)
    while len(latencies) < TRIES and min(latencies, default=1.0) > SOON:
        latencies.append(broken_off(lambda: advance(data, 5)))
        np.testing.assert_array_equal(data.get_state(), before.get_state())
    assert min(latencies) <= SOON, latencies
    latencies.append(broken_off(lambda: kt.forward(model, data)))
    np.testing.assert_array_equal(data.get_state(), before.get_state())
    model.opt.iterations, model.opt.tolerance = calm
    model.opt.noslip_iterations = 0
    for world in (data, before):
        advance(world, 5)
    np.testing.assert_array_equal(data.get_state(), before.get_state())
    np.testing.assert_array_equal(data.efc_force, before.efc_force)


@contextmanager
def alarms(handler, every):
    """A signal again and again, each so long after the handler of the last."""

    def handle(number, frame):
        handler(number, frame)
        signal.setitimer(signal.ITIMER_REAL, every)

    old = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, every)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)


def test_a_handler_that_does_not_raise_changes_nothing():
    """It may use the Data, which is at a whole step, and free."""
    model = kt.load("humanoid")
    data, twin, seen = kt.Data(model), kt.Data(model), []

    def handler(number, frame):
        kt.kinematics(model, data)
        seen.append((data.copy().time, data.get_state()))

    kt.step(model, twin, 1)
    kt.kinematics(model, twin.copy())
    nstep = 20_000
    with alarms(handler, 0.004):
        kt.step(model, data, nstep)
    states = {twin.time: twin.get_state()}
    for _ in range(nstep - 1):
        kt.step(model, twin)
        states[twin.time] = twin.get_state()
    np.testing.assert_array_equal(data.get_state(), twin.get_state())
    assert len(seen) > 1
    assert all(np.array_equal(states[at], state) for at, state in seen if at)


@pytest.mark.parametrize("how", ["step", "stable_pd"])
def test_steps_are_all_made_whatever_a_handler_does_with_the_data(how):
    """Forward passes and steps of its own, of which the state shows no more than these."""
    model = kt.load("humanoid")
    data, twin, more, advance = kt.Data(model), kt.Data(model), [], stepper(model, how)

    def handler(number, frame):
        kt.forward(model, data)
        if how == "step" and sum(more) < 1000:  # on a busy machine there are more alarms than it is made ready for
            kt.step(model, data, 2)
            more.append(2)
        else:
            more.append(0)

    nstep = 20_000
    advance(data, nstep + 1000)  # now there is room for all of it: where room is made, a handler cannot make more
    data.reset()
    with alarms(handler, 0.004):
        advance(data, nstep)
    assert len(more) > 1
    advance(twin, nstep + sum(more))
    assert data.time == twin.time
    np.testing.assert_array_equal(data.get_state(kt.State.PHYSICS), twin.get_state(kt.State.PHYSICS))


def test_room_is_made_whatever_a_handler_does_with_the_data(monkeypatch):
    """A handler that runs where contacts did not fit, before Python has made room for them."""
    model = kt.load("humanoid")
    data, twin, real, calls = kt.Data(model), kt.Data(model), driver._run, []

    def run(*arguments):
        status = real(*arguments)
        if status % KINDS_OF_RETURN == LACKS_ROOM and not calls:
            calls.append(status)
            kt.forward(model, data)
        return status

    kt.step(model, twin, 600)
    kt.step(model, kt.Data(model))
    monkeypatch.setattr(driver, "_run", run)
    assert not driver.enter(run_steps, model, data, 600)
    assert len(calls) == 1 and data.time == twin.time


def test_a_bad_state_is_reset_whatever_a_handler_does_with_the_data(monkeypatch):
    """A handler that runs where a state went bad, before Python has reset it: its pass forgets what was new."""
    model = kt.load("humanoid")
    data, twin, real, calls = kt.Data(model), kt.Data(model), driver._run, []

    def run(*arguments):
        status = real(*arguments)
        if status % KINDS_OF_RETURN == 1 and not calls:
            calls.append(status)
            data.qvel[0] = 0.0
            kt.forward(model, data)
        return status

    for world in (data, twin):
        kt.step(model, world, 2)
        world.qvel[0] = np.nan
    with pytest.warns(kt.SimulationWarning, match="qvel"):
        kt.step(model, twin, 5)
    monkeypatch.setattr(driver, "_run", run)
    kt.step(model, data, 5)
    assert calls and data.time == twin.time == pytest.approx(5 * model.opt.timestep)
    np.testing.assert_array_equal(data.qpos, twin.qpos)
    np.testing.assert_array_equal(data.warning_number, twin.warning_number)


def test_a_handler_may_raise_what_it_likes():
    model = kt.load("humanoid")
    data = kt.Data(model)
    kt.step(model, kt.Data(model))

    def handler(number, frame):
        raise TimeoutError("late")

    with alarms(handler, 0.03), pytest.raises(TimeoutError, match="late"):
        kt.step(model, data, FOREVER)
    assert_goes_on(model, data, stepper(model, "step"))


@pytest.mark.skipif(not JIT, reason="nothing is inside")
def test_a_handler_inside_a_solve_may_read_but_not_step():
    model, data, options = standing(solver=kt.Solver.PGS)
    before = data.get_state()
    never_done(model, options)
    heard = []

    def handler(number, frame):
        np.testing.assert_array_equal(data.get_state(), before)
        np.testing.assert_array_equal(data.copy().qpos, data.qpos)
        heard.append(number)
        if len(heard) > 3:
            kt.forward(model, data)

    with alarms(handler, 0.01), pytest.raises(kt.BusyError, match="handler of a signal"):
        kt.step(model, data)
    np.testing.assert_array_equal(data.get_state(), before)
    model.opt.iterations = 10
    kt.step(model, data)


def test_pauses_do_not_multiply_warnings():
    """However long a call takes, it warns once."""
    model = kt.load("humanoid")
    data, nstep = kt.Data(model), 20_000
    kt.step(model, data, nstep)  # the same motion, as bad controls count as zero: now there is room for all of it
    data.reset()
    data.ctrl[0] = np.nan
    begin = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kt.step(model, data, nstep)
    assert time.perf_counter() - begin > 0.05, "long enough for pauses"
    assert len(caught) == 1 and data.warning_number[WarningType.BADCTRL] == nstep


@pytest.mark.parametrize("integrator", [kt.Integrator.EULER, kt.Integrator.RK4])
def test_steps_with_callbacks_are_whole_too(integrator):
    """Python breaks off anywhere between the stages; also where a callback raises in a substep."""
    model = kt.load("cartpole")
    model.opt.integrator = integrator
    data, raises = kt.Data(model), [0]

    def control(model, data):
        data.ctrl[:] = np.sin(data.time)
        raises[0] -= 1
        if raises[0] == 0:
            raise KeyboardInterrupt

    model.callbacks.control = control
    for calls in range(1, 12):
        raises[0] = calls
        with pytest.raises(KeyboardInterrupt):
            kt.step(model, data, 100)
        assert_goes_on(model, data, stepper(model, "step"))
    model.callbacks.clear()


def test_other_threads_hear_nothing():
    """Ctrl-C is the main thread's: a step in another comes to its end."""
    model = kt.load("humanoid")
    data, twin = kt.Data(model), kt.Data(model)
    kt.step(model, twin, 2000)
    thread = threading.Thread(target=kt.step, args=(model, data, 2000))
    with pytest.raises(KeyboardInterrupt), ctrl_c(0.02):
        thread.start()
        while True:
            time.sleep(1e-3)
    thread.join()
    np.testing.assert_array_equal(data.get_state(), twin.get_state())


def test_a_reset_is_made_to_its_end(monkeypatch):
    """An interrupt in its middle, where all is zero, is raised when it is done; the Data is free then."""
    model = kt.load("humanoid")
    data, fresh, real, calls = kt.Data(model), kt.Data(model), data_module.write_initial_state, []
    data.qpos[:] = 1.0

    def interrupted_once(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        real(*arguments)

    monkeypatch.setattr(data_module, "write_initial_state", interrupted_once)
    with pytest.raises(KeyboardInterrupt):
        data.reset()
    np.testing.assert_array_equal(data.get_state(), fresh.get_state())
    assert data._guard[OWNER] == 0
