"""Work memory: it carries nothing from one call to the next, and no two runs that are under way have the same."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import LaneData
from kinetree.data_fields import DATA_FIELDS
from kinetree.fields import NOTE, REAL, ROLES
from kinetree.kernel.stage import STAGES
from kinetree.model_fields import MODEL_FIELDS, OPTION_FIELDS
from kinetree.work_fields import WORK_FIELDS
from tests import corpora

MEMORIES = ("sweep_axis", "H_pattern")  # 0: there is none
CALLS = [stage for stage in STAGES if stage.__name__ in pipeline.__all__ and not stage.part_of]
MODELS = [(name, path) for name, path in corpora.own_models() if not corpora.reason_not_loadable(name)]


def spoil(data):
    """Overwrite all work memory, integers by one that leads nowhere outside."""
    workspace = data._arrays.borrow()
    for name, field in WORK_FIELDS.items():
        workspace[name][...] = np.nan if field.dtype == REAL else name not in MEMORIES


def in_motion(model):
    data, rng = kt.Data(model), np.random.default_rng(7)
    data.qvel[:] = 0.3 * rng.normal(size=model.nv)
    data.ctrl[:] = 0.2 * rng.normal(size=model.nu)
    kt.step(model, data, 5)
    return data


def assert_same(a, b, where):
    for name in DATA_FIELDS:
        np.testing.assert_array_equal(a._arrays[name], b._arrays[name], err_msg=f"{where}: {name}")


@pytest.mark.parametrize(("name", "path"), MODELS, ids=[name for name, _ in MODELS])
def test_nothing_is_left_for_the_next_call(name, path):
    """Every stage, after each other, in a world whose work memory is spoilt before each, and in one where it is not."""
    model = kt.load(path)
    clean = in_motion(model)
    spoilt = clean.copy()
    kt.forward(model, clean)
    kt.forward(model, spoilt)
    for stage in (*CALLS, kt.forward, kt.inverse, kt.step1, kt.step2, kt.step, kt.step):
        stage(model, clean)
        spoil(spoilt)
        stage(model, spoilt)
        assert_same(clean, spoilt, f"{name}, {stage.__name__}")


def test_lanes_have_work_memory_of_their_own():
    model = kt.load("humanoid")
    lanes, data = LaneData(model, 8), in_motion(model)
    for lane in range(8):
        lanes.load(lane, data)
    other = LaneData(model, 8)
    for each in (lanes, other):
        each.run(pipeline.forward)
    assert lanes.arrays.workspace is other.arrays.workspace is not data._arrays.workspace
    spoil(lanes)
    lanes.run(pipeline.forward)
    kt.forward(model, data)
    np.testing.assert_allclose(lanes.qacc[:, 3], data.qacc, rtol=1e-9, atol=1e-9)


def test_worlds_of_a_thread_share_it_and_others_do_not():
    model, other = kt.load("humanoid"), kt.load("cartpole")
    worlds = [kt.Data(model) for _ in range(3)]
    for data in worlds:
        kt.step(model, data)
    assert len({id(data._arrays.workspace) for data in worlds}) == 1
    stranger = kt.Data(other)
    kt.step(other, stranger)
    assert stranger._arrays.workspace is not worlds[0]._arrays.workspace
    mine = worlds[0]._arrays.workspace
    thread = threading.Thread(target=kt.step, args=(model, worlds[0]))
    thread.start()
    thread.join()
    assert worlds[0]._arrays.workspace is not mine, "another thread works elsewhere"
    kt.step(model, worlds[0])
    assert worlds[0]._arrays.workspace is mine


def test_models_of_equal_sizes_do_not_share_it():
    text = '<mujoco><worldbody><body><joint axis="{}"/><geom size=".1" mass="1"/></body></worldbody></mujoco>'
    models = [kt.load(text.format(axis)) for axis in ("1 0 0", "0 1 0")]
    assert models[0].sizes is models[1].sizes
    one, two = (kt.Data(model) for model in models)
    for model, data in zip(models, (one, two), strict=True):
        kt.step(model, data)
    assert one._arrays.workspace is not two._arrays.workspace
    kt.forward(models[1], one)  # which makes it a Data of that model
    assert one._arrays.workspace is two._arrays.workspace


@pytest.mark.parametrize("integrator", [kt.Integrator.EULER, kt.Integrator.RK4, kt.Integrator.IMPLICITFAST])
def test_callbacks_may_run_other_worlds_in_between(integrator):
    """In the middle of a pass callbacks run the same stages on other worlds, and on a copy: the pass goes on as it was."""
    model = kt.load("humanoid")
    model.opt.integrator = integrator
    busy = copy.copy(model)
    plain, served, other = in_motion(model), in_motion(model), in_motion(model)
    depth = []

    def run_others(m, d):
        if len(depth) < 2:
            depth.append(0)
            kt.step(m, other)
            mine = d.copy()
            kt.forward(m, mine)
            depth.pop()

    for name in ("control", "passive"):
        setattr(busy.callbacks, name, run_others)
    for k in range(4):
        kt.step(model, plain)
        kt.step(busy, served)
        for name in ("qpos", "qvel", "qacc", "sensordata", "efc_force", "cfrc_int", "energy"):
            np.testing.assert_array_equal(getattr(plain, name), getattr(served, name), err_msg=f"step {k} {name}")
    assert other.time > 4 * model.opt.timestep


def test_threads_step_the_same_worlds_in_turn():
    """Worlds go from thread to thread: numbers are those of one thread."""
    model = kt.load("humanoid")
    wanted, worlds = [in_motion(model) for _ in range(6)], [in_motion(model) for _ in range(6)]
    for k, data in enumerate(wanted):
        kt.step(model, data, 20 + k)

    def work(first):
        for k in range(first, first + 3):
            kt.step(model, worlds[k % 6], 10 + k % 6 if first < 6 else 10)

    for begin in (0, 6):
        threads = [threading.Thread(target=work, args=(begin + k,)) for k in (0, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for a, b in zip(wanted, worlds, strict=True):
        np.testing.assert_array_equal(a.qpos, b.qpos)


def test_nobody_sees_it():
    """Work and notes are not among the attributes; work is not in copies or pickles."""
    model = kt.load("humanoid")
    data = in_motion(model)
    hidden = {*WORK_FIELDS, *(name for name, field in DATA_FIELDS.items() if field.role == NOTE)}
    assert hidden.isdisjoint(dir(data)) and "qpos" in dir(data)
    for name in WORK_FIELDS:
        with pytest.raises(AttributeError):
            getattr(data, name)
        with pytest.raises(AttributeError):
            setattr(data, name, 0.0)
    size = data._arrays.fixed.nbytes + data._arrays.room.nbytes
    assert size < len(pickle.dumps(data)) - len(pickle.dumps(model)) < size + 5000
    twin = data.copy()
    assert twin._arrays.workspace is data._arrays.workspace, "a copy brings none with it"
    kt.step(model, twin)
    kt.step(model, data)
    assert_same(data, twin, "copy")


def test_every_field_has_a_role_of_its_table():
    for table, roles in (
        (MODEL_FIELDS, {"parameter"}),
        (OPTION_FIELDS, {"option"}),
        (DATA_FIELDS, {"state", "input", "result", "note"}),
        (WORK_FIELDS, {"work"}),
    ):
        assert {field.role for field in table.values()} == roles <= set(ROLES)
    assert not any(field.writable for field in WORK_FIELDS.values())
