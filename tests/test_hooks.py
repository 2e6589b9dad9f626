"""Callbacks in the order of the stages: when they are called, how often, and what they may do with the Data."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import LaneData
from kinetree.callbacks import BITS, SIGNATURES
from kinetree.kernel import JIT

BOX = '<body pos="{} 0 .09"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
HEAP = f"""<mujoco><option timestep=".002"/><worldbody><geom type="plane" size="9 9 1"/>
  {"".join(BOX.format(0.19 * k) for k in range(12))}</worldbody></mujoco>"""
ACTUATED = """<mujoco><worldbody><body><joint name="j"/><geom size=".1"/><site name="s"/></body></worldbody>
  <actuator><general joint="j" dyntype="user" actdim="1" gaintype="user" biastype="user"/></actuator>
  <sensor><user dim="1" needstage="pos"/><user dim="1" needstage="vel"/><user dim="1" needstage="acc"/></sensor></mujoco>"""


def noted(model):
    """Set every callback of a model; the list of those that were called."""
    calls = []
    for name in SIGNATURES:
        setattr(model.callbacks, name, lambda *args, name=name: calls.append((name, *map(str, args[2:]))) or 0.0)
    return calls


PASS = [
    ("sensor", "1"), ("passive",), ("sensor", "2"), ("control",), ("act_dyn", "0"), ("act_gain", "0"), ("act_bias", "0"),
    ("sensor", "3"),
]  # fmt: skip


def as_numbers(calls):
    return [(name, *(str(int(kt.Stage[a.split(".")[1]])) if "." in a else a for a in rest)) for name, *rest in calls]


@pytest.mark.parametrize("call", ["forward", "step"])
def test_they_are_called_at_mujocos_places(call):
    model = kt.load(ACTUATED)
    data, calls = kt.Data(model), noted(model)
    getattr(kt, call)(model, data)
    assert as_numbers(calls) == PASS


def test_parts_of_a_pass_call_their_own():
    model = kt.load(ACTUATED)
    data, calls = kt.Data(model), noted(model)
    kt.step1(model, data)
    assert as_numbers(calls) == PASS[:4]
    calls.clear()
    kt.step2(model, data)
    assert as_numbers(calls) == PASS[4:]
    calls.clear()
    kt.forward_skip(model, data, kt.Stage.POS)
    assert as_numbers(calls) == PASS[1:]
    calls.clear()
    kt.forward_skip(model, data, kt.Stage.VEL, skip_sensors=True)
    assert as_numbers(calls) == PASS[3:-1]
    calls.clear()
    kt.inverse(model, data)
    assert as_numbers(calls) == [*PASS[:3], PASS[-1]]


def test_substeps_call_them_without_sensors():
    model = kt.load(ACTUATED)
    model.opt.integrator = kt.Integrator.RK4
    data, calls = kt.Data(model), noted(model)
    kt.step(model, data)
    substep = [each for each in PASS if each[0] != "sensor"]
    assert as_numbers(calls) == PASS + 3 * substep


@pytest.mark.parametrize("integrator", [kt.Integrator.EULER, kt.Integrator.RK4])
def test_once_for_a_pass_also_where_room_has_to_grow(integrator):
    model = kt.load(HEAP)
    model.opt.integrator = integrator
    data, calls = kt.Data(model), []
    model.callbacks.control = lambda model, data: calls.append(data.ncon)
    kt.step(model, data, 3)
    assert len(calls) == (3 if integrator == kt.Integrator.EULER else 12) and max(calls) > 40
    alone = kt.load(HEAP)
    alone.opt.integrator = integrator
    other = kt.Data(alone)
    kt.step(alone, other, 3)
    assert np.array_equal(other.get_state(), data.get_state())


def test_they_may_run_anything_on_their_data():
    """Also what makes room, and another pass; afterwards the pass goes on where it was."""
    model, alone = kt.load(HEAP), kt.load(HEAP)
    data, other = kt.Data(model), kt.Data(alone)

    def busy(model, data):
        data._make_room({name: n + 7 for name, n in data._arrays.capacity.items()})
        kt.fwd_position(model, data.copy())
        kt.jac_body(model, data, 1)
        kt.full_m(model, data)
        kt.energy_pos(model, data)
        data.get_state()

    model.callbacks.control = busy
    kt.step(model, data, 5)
    kt.step(alone, other, 5)
    assert np.array_equal(other.get_state(), data.get_state())


def test_a_pass_within_a_pass_has_its_own_notes():
    model = kt.load("arm")
    data, depth = kt.Data(model), []

    def again(model, data):
        if not depth:
            depth.append(1)
            data.ctrl[0] = np.nan
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                kt.forward(model, data)
            assert "ctrl[0]" in str(told[0].message)
            data.ctrl[0] = 0.0
            depth.pop()

    model.callbacks.control = again
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what is told is not told again
        kt.step(model, data, 2)
    assert data.time == pytest.approx(2 * model.opt.timestep) and np.isfinite(data.qpos).all()


class Stop(Exception):
    """Raised by a callback."""


@pytest.mark.parametrize("integrator", [kt.Integrator.EULER, kt.Integrator.RK4, kt.Integrator.IMPLICITFAST])
@pytest.mark.parametrize("name", SIGNATURES)
def test_what_they_raise_ends_the_step_and_leaves_the_state(name, integrator):
    model = kt.load(ACTUATED)
    model.opt.integrator = integrator
    data, count = kt.Data(model), []

    def raises(*_):
        count.append(1)
        if len(count) > 7:
            raise Stop
        return 0.0

    setattr(model.callbacks, name, raises)
    with pytest.raises(Stop) as caught:
        kt.step(model, data, 100)
    assert f"raised in the callback {name!r}" in caught.value.__notes__[0]
    stopped = data.get_state()
    model.callbacks.clear()
    kept = data.time
    assert 0.0 <= kept < 8 * model.opt.timestep and kept == pytest.approx(
        round(kept / model.opt.timestep) * model.opt.timestep
    )
    assert np.isfinite(stopped).all()
    kt.step(model, data)
    assert data.time == pytest.approx(kept + model.opt.timestep)


def test_other_threads_call_theirs():
    model, calls = kt.load("arm"), []
    model.callbacks.control = lambda model, data: calls.append(id(data))
    worlds = [kt.Data(model) for _ in range(3)]
    threads = [threading.Thread(target=kt.step, args=(model, world, 50)) for world in worlds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(calls.count(id(world)) == 50 for world in worlds)


def test_stages_call_theirs_too():
    model = kt.load("arm")
    data, calls = kt.Data(model), []
    kt.forward(model, data)
    model.callbacks.passive = lambda model, data: calls.append(1)
    kt.fwd_velocity(model, data)
    assert calls == [1]


def test_compiled_code_knows_which_there_are():
    model = kt.load("arm")
    for name in SIGNATURES:
        setattr(model.callbacks, name, print)
        assert model._constant("hooks") == BITS[name] and kt.load("arm")._constant("hooks") == 0
        assert model.replace(opt_timestep=0.1)._constant("hooks") == BITS[name]
        model.callbacks.clear()
        assert model._constant("hooks") == 0


@pytest.mark.skipif(not JIT, reason="lanes are compiled")
def test_lanes_have_none():
    model = kt.load("arm")
    lanes = LaneData(model)
    model.callbacks.control = lambda model, data: None
    with pytest.raises(kt.UnsupportedFeatureError, match=r"callbacks on lanes \(<callbacks: control>\)"):
        lanes.run(kt.kinematics)
