"""Stages: public functions of (model, data), calls through the table, kernels that run lane by lane."""

from __future__ import annotations

import inspect
import os
import signal
import threading
import time

import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import LaneData
from kinetree.kernel import JIT, STAGES, float_machine, machine, stage
from kinetree.needs import on_request
from kinetree.occupancy import ERROR


@stage(scalar=True)
def first_root(m, d):
    """Branches on a value: Newton's iteration for a square root, a different count in each world."""
    x = d.qpos[0]
    y = x
    steps = 0.0
    while y * y - x > 1e-12 or x - y * y > 1e-12:
        y = 0.5 * (y + x / y)
        steps += 1.0
    d.qvel[0] = y
    d.qacc[0] = steps


@pytest.mark.parametrize("dtype", ["float64"])
def test_scalar_kernels_run_lane_by_lane(dtype):
    model = kt.load("cartpole")
    lanes = LaneData(model, 8, dtype)
    values = np.array([0.25, 1.0, 2.0, 3.0, 50.0, 1e3, 1e4, 0.01])
    lanes.qpos[0] = values
    lanes.run(first_root)
    np.testing.assert_allclose(lanes.qvel[0], np.sqrt(values), rtol=1e-9)
    assert len(set(lanes.qacc[0])) > 3  # worlds took different counts


def test_a_stage_is_an_ordinary_function():
    assert inspect.signature(kt.kinematics).parameters.keys() == {"model", "data"}
    assert kt.kinematics.__name__ == "kinematics"
    assert "mj_kinematics" in kt.kinematics.__doc__


OWN = [s for s in STAGES if s.__module__.startswith("kinetree.")]


def test_every_stage_says_what_it_does_and_is_in_the_pipeline_unless_it_is_a_part_of_one():
    for s in OWN:
        assert s.__doc__ and "MuJoCo" in s.__doc__, s.__name__
        assert (s.__name__ in pipeline.__all__) == (s.part_of is None), s.__name__
        assert s.part_of is None or s.part_of in (*pipeline.__all__, *kt.__all__), s.__name__


@pytest.mark.parametrize("part", [s for s in OWN if s.part_of], ids=lambda s: s.__name__)
def test_a_part_of_a_stage_does_not_run_on_its_own(part):
    """What it reads was prepared by the whole, which it trusts: addresses of a pattern, the pair of geoms at hand."""
    model = kt.load("cartpole")
    with pytest.raises(TypeError, match=f"{part.__name__} is a part of {part.part_of}"):
        part(model, kt.Data(model))
    with pytest.raises(TypeError, match=f"{part.__name__} is a part of {part.part_of}"):
        LaneData(model, 2).run(part)


def test_what_goes_wrong_in_making_room_is_told_as_it_is(monkeypatch):
    """An AttributeError in there was taken for a wrong argument, and the stage run once more."""
    bodies = "".join(f'<body pos="{k} 0 0"><freejoint/><geom size=".1"/></body>' for k in range(10))
    model = kt.load(f'<mujoco><worldbody><geom type="plane" size="9 9 1"/>{bodies}</worldbody></mujoco>')
    data = kt.Data(model)
    kt.kinematics(model, data)
    kt.collision(model, kt.Data(model))

    def fail(self, status=0):
        raise AttributeError("no room")

    monkeypatch.setattr(kt.Data, "_grow", fail)
    with pytest.raises(AttributeError, match="no room"):
        kt.collision(model, data)
    assert data.stage_runs[kt.collision.stage_index] == 1


@stage
def double_time(m, d):
    """For the tests."""
    d.time[0] = 2.0 * d.time[0]


@stage
def quadruple_time(m, d):
    """Calls another stage twice, through the table."""
    double_time(m, d)
    double_time(m, d)


def test_stages_call_each_other_through_the_table():
    model = kt.load("cartpole")
    data = kt.Data(model)
    data.time = 1.5
    quadruple_time(model, data)
    assert data.time == 6.0
    assert float_machine().stages[double_time.stage_index] != 0
    lanes = LaneData(model)
    lanes.time[0] = np.arange(8)
    lanes.run(quadruple_time)
    np.testing.assert_array_equal(lanes.time[0], 4.0 * np.arange(8))


def test_threads_run_stages_at_the_same_time():
    """Compiled code releases the interpreter lock, and worlds do not disturb each other."""
    model = kt.load("humanoid")
    rng = np.random.default_rng(0)
    states = [model.qpos0 + 0.1 * rng.normal(size=model.nq) for _ in range(4)]
    wanted = []
    for q in states:
        data = kt.Data(model)
        data.qpos = q
        kt.fwd_position(model, data)
        wanted.append(data.xpos.copy())
    worlds = [kt.Data(model) for _ in states]

    def work(data, q):
        for _ in range(200):
            data.qpos = q
            kt.fwd_position(model, data)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(worlds, states, strict=True)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for data, xpos in zip(worlds, wanted, strict=True):
        np.testing.assert_array_equal(data.xpos, xpos)


@pytest.mark.parametrize("dtype, width", [("float16", 8), ("float64", 3), ("float64", 0), ("float64", 2.0)])
def test_lanes_of_other_kinds_are_refused(dtype, width):
    with pytest.raises(ValueError, match="power of two"):
        machine(dtype, width)


def test_another_model_of_the_same_sizes_may_use_the_data():
    """Editing masses gives a new model; its data may stay."""
    model = kt.load("arm")
    data = kt.Data(model)
    heavy = model.replace(body_mass=2.0 * model.body_mass)
    kt.fwd_position(heavy, data)
    np.testing.assert_allclose(data.subtree_mass[0], 2.0 * model.body_mass.sum())


@stage(when=on_request)
def rarely_needed(m, d):
    """For the tests."""
    d.time[0] += 1.0


@stage
def calls_it_late(m, d):
    """For the tests."""
    if d.time[0] > 2.0:
        rarely_needed(m, d)
    d.time[0] += 10.0


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_a_stage_is_compiled_when_it_is_first_called(monkeypatch):
    """Until then the table has a function that compiles it; what goes wrong in there is raised, and nothing is lost."""
    compiled, real = [], rarely_needed.compile_for
    model = kt.load("cartpole")
    data = kt.Data(model)
    calls_it_late(model, data)
    assert data.time == 10.0

    def interrupted(machine):
        compiled.append("no")
        raise KeyboardInterrupt

    monkeypatch.setattr(rarely_needed, "compile_for", interrupted)
    with pytest.raises(KeyboardInterrupt):
        calls_it_late(model, data)
    assert not data._guard[ERROR] and data.overflow == 0

    def noted(machine):
        compiled.append("yes")
        return real(machine)

    monkeypatch.setattr(rarely_needed, "compile_for", noted)
    data.time = 3.0
    calls_it_late(model, data)
    calls_it_late(model, data)
    assert data.time == 25.0 and compiled == ["no", "yes"]


@stage(when=on_request)
def called_at_last(m, d):
    """For the tests."""
    d.time[0] = 1.0


@stage(scalar=True)
def dawdles(m, d):
    """For the tests: some seconds of nothing, then a stage that is yet to be compiled."""
    x = d.qpos[0]
    for _ in range(300_000_000):
        x = 0.5 * x + d.qvel[0]
    d.qacc[0] = x
    called_at_last(m, d)


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_an_interrupt_that_waits_where_python_is_asked_to_compile_is_not_lost():
    """It comes up as soon as Python runs at all, which is before a single line of the function that compiles."""
    model = kt.load("cartpole")
    data = kt.Data(model)
    dawdles.compile_for(float_machine())
    data.qacc[0] = 7.0

    def press():
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        dawdles(model, data)
    thread.join()
    assert data.qacc[0] == 0.0 and data.time == 0.0 and data.overflow == 0  # broken off there, not before or after
    called_at_last(model, data)
    assert data.time == 1.0
