"""What goes wrong in the middle of a controller's solve, as Ctrl-C while a stage is compiled: it is raised, and forgotten."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.kernel import JIT, float_machine
from kinetree.kernel.stage import _expect_on

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")
SLEEPING = """<mujoco><option><flag sleep="enable"/></option><worldbody><body><joint/><geom size=".1" pos=".5 0 0"/></body>
</worldbody></mujoco>"""


@contextmanager
def not_to_be_compiled(monkeypatch, stage):
    """A stage that is yet to be compiled, in which Ctrl-C is pressed."""

    def compile_for(machine):
        raise KeyboardInterrupt

    stages = float_machine().stages
    address, stages[stage.stage_index] = int(stages[stage.stage_index]), 0
    _expect_on(stage, float_machine())
    with monkeypatch.context() as patch:
        patch.setattr(stage, "compile_for", compile_for)
        try:
            yield
        finally:
            stages[stage.stage_index] = address


@pytest.mark.parametrize("what", ["torque", "acceleration"])
def test_a_torque_that_was_broken_off_is_raised_and_forgotten(monkeypatch, what):
    model = kt.load("humanoid")
    data = kt.Data(model)
    kt.step(model, data, 3)
    controller, fresh = (kt.StablePD(model, 500.0, 5.0, torque_limit=5.0) for _ in range(2))
    getattr(controller, what)(data)
    with not_to_be_compiled(monkeypatch, pipeline.passive), pytest.raises(KeyboardInterrupt):
        getattr(controller, what)(data)
    assert controller._work.overflow == 0
    np.testing.assert_array_equal(getattr(controller, what)(data), getattr(fresh, what)(data))


def test_a_step_with_callbacks_that_was_broken_off_says_so():
    """What a callback raises in the middle of a controlled step leaves the state, and the next step is a whole one."""
    model = kt.load(SLEEPING)
    data, controller = kt.Data(model), kt.StablePD(model, 50.0, 5.0)

    def raises(model, data):
        raise KeyboardInterrupt

    controller.step(data)
    before = data.get_state()
    model.callbacks.control = raises
    with pytest.raises(KeyboardInterrupt):
        controller.step(data)
    assert data.overflow == 0 and np.array_equal(data.get_state(), before)
    model.callbacks.clear()
    controller.step(data)
    assert data.time > 0.0
