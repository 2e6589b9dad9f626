"""Work memory: it carries nothing from one call to the next, and no two runs that are under way have the same."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import LaneData
from kinetree.data_fields import DATA_FIELDS
from kinetree.fields import NOTE, REAL, ROLES
from kinetree.kernel.stage import STAGES
from kinetree.layout import Layout
from kinetree.memory import START, Memory
from kinetree.model_fields import MODEL_FIELDS, OPTION_FIELDS
from kinetree.work_fields import WORK_FIELDS
from kinetree.workspace import World
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
    """Every stage, after each other, in a world whose work memory is spoilt before each, and in one where it is not.

    The latter runs in a thread of its own, as its work memory would be the same else.
    """
    model = kt.load(path)
    clean = in_motion(model)
    spoilt = clean.copy()
    with ThreadPoolExecutor(1) as elsewhere:
        for solver in (kt.Solver.NEWTON, kt.Solver.PGS):
            model.opt.solver = solver
            for stage in (kt.forward, *CALLS, kt.forward, kt.inverse, kt.step1, kt.step2, kt.step, kt.step):
                elsewhere.submit(stage, model, clean).result()
                spoil(spoilt)
                stage(model, spoilt)
                assert clean._arrays.workspace is not spoilt._arrays.workspace
                assert_same(clean, spoilt, f"{name}, {solver.name}, {stage.__name__}")


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


TWO_AXES = """<mujoco><worldbody><body><joint axis="{}"/><geom size=".1" mass="1"/><body pos="0 0 1"><joint axis="0 1 0"/>
    <geom size=".1" mass="1"/></body></body></worldbody></mujoco>"""


def test_a_callback_may_use_its_data_with_another_model():
    one, two = (kt.load(TWO_AXES.format(axis)) for axis in ("1 0 0", "0 0 1"))
    plain, data = in_motion(one), in_motion(one)
    called = copy.copy(one)
    called.callbacks.control = lambda m, d: kt.kinematics(two, d)
    kt.step(one, plain, 3)
    for _ in range(3):
        kt.step(called, data)
    np.testing.assert_array_equal(plain.qpos, data.qpos)
    assert data._arrays.kind == one._kin() and data._arrays.workspace is plain._arrays.workspace


def test_a_copy_is_of_the_model_that_ran_last():
    one, two = (kt.load(TWO_AXES.format(axis)) for axis in ("1 0 0", "0 0 1"))
    data, other = kt.Data(one), kt.Data(two)
    kt.step(two, data)
    kt.step(two, other)
    twin = data.copy()
    kt.step(two, twin)
    assert twin._arrays.workspace is other._arrays.workspace


def test_distances_in_a_callback_are_those_of_the_pair():
    bodies = "".join(f'<body pos="{x} 0 0"><freejoint/><geom size=".1"/></body>' for x in (0, 1, 4))
    model = kt.load(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    found = []
    model.callbacks.control = lambda m, d: found.extend(kt.geom_distance(m, d, 0, other)[0] for other in (1, 2))
    kt.forward(model, kt.Data(model))
    np.testing.assert_allclose(found, [0.8, 3.8], atol=1e-12)


def test_callbacks_that_run_stages_find_the_same_second_workspace():
    model = kt.load("humanoid")
    seen = set()

    def note(m, d):
        kt.kinematics(m, d)
        seen.add(d._arrays.workspace)

    model.callbacks.control = note
    data = kt.Data(model)
    for _ in range(5):
        kt.step(model, data)
    assert len(seen) == 1 and data._arrays.workspace not in seen


def test_room_of_workspaces_is_not_saved():
    """A hundred bodies and one contact: a matrix of couplings that is larger than all that the Data holds."""
    bodies = "".join(f'<body pos="{k} 0 .0999"><freejoint/><geom size=".1"/></body>' for k in range(3))
    many = "".join(f'<body pos="{k} 0 9"><freejoint/><geom size=".1"/></body>' for k in range(100))
    joined = '<body pos="0 .199 .0999"><freejoint/><geom size=".1"/></body>'
    model = kt.load(f'<mujoco><worldbody><geom type="plane" size="9 9 1"/>{bodies}{joined}{many}</worldbody></mujoco>')
    data = kt.Data(model)
    kt.step(model, data)
    assert data._arrays.capacity["maxlink"] > 10_000
    twin = pickle.loads(pickle.dumps(data))
    assert twin._arrays.capacity["maxlink"] == START
    kt.step(model, data)
    kt.step(twin.model, twin)
    np.testing.assert_array_equal(data.qpos, twin.qpos)


@pytest.mark.parametrize("where", ["tell", "use", "point"])
def test_an_interrupt_leaves_no_table_that_points_nowhere(where, monkeypatch):
    """Growing is broken off where tables are written: afterwards all goes on as if nothing had happened."""
    model = kt.load("humanoid")
    wanted, data, other = kt.Data(model), kt.Data(model), kt.Data(model)
    kt.step(model, wanted, 50)
    owner = {"tell": Memory, "use": World, "point": Layout}[where]
    real, times = getattr(owner, where), [1 if where == "tell" else 2]

    def broken(self, *arguments):
        times[0] -= 1
        if times[0] == 0:
            raise KeyboardInterrupt
        return real(self, *arguments)

    monkeypatch.setattr(owner, where, broken)
    with pytest.raises(KeyboardInterrupt):
        data._make_room({name: 2 * n for name, n in data._arrays.capacity.items()})
        data._arrays.use(None)
        data._arrays.borrow()
    monkeypatch.setattr(owner, where, real)
    kt.step(model, other, 50)
    kt.step(model, data, 50)
    for each in (data, other):
        np.testing.assert_array_equal(each.qpos, wanted.qpos)


def test_callbacks_and_growing_without_a_compiler():
    """In plain Python arrays that were replaced in the middle of a pass are looked up again."""
    program = """
        import kinetree as kt
        bodies = "".join(f'<body pos="{k} 0 .09"><freejoint/><geom size=".1"/></body>' for k in range(6))
        model = kt.load(f'<mujoco><worldbody><geom type="plane" size="9 9 1"/>{bodies}</worldbody></mujoco>')
        calls = []
        model.callbacks.control = lambda m, d: calls.append(kt.kinematics(m, d))
        data = kt.Data(model)
        kt.step(model, data)
        assert data.ncon == 6 and len(calls) == 1, (data.ncon, len(calls))
    """
    env = {**os.environ, "KINETREE_JIT": "0"}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
