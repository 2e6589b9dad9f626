"""Data: initial state, keyframes, state vectors, memory and copies, against MuJoCo's mjData."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from functools import cache
from typing import Any

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.data_fields import DATA_FIELDS, STATE_FIELDS
from tests import corpora
from tests.test_fields import RICH

DM_CONTROL = ("humanoid", "quadruped", "fish", "manipulator", "stacker", "dog")
PATHS: dict[str, Any] = {
    **dict(corpora.own_models()),
    **{f"dm_control/{n}": corpora.package_root("dm_control") / f"dm_control/suite/{n}.xml" for n in DM_CONTROL},
}
MODELS = [*PATHS, "rich"]
OWN = {name for name in DATA_FIELDS if not hasattr(mujoco.MjData, name)}  # fields that MuJoCo does not have
STATE = [name for _, name in STATE_FIELDS if name]
SLEEP = [
    "tree_asleep", "tree_awake", "body_awake", "body_awake_ind", "parent_awake_ind", "dof_awake_ind", "ntree_awake",
    "nbody_awake", "nparent_awake", "nv_awake",
]  # fmt: skip


@cache
def loaded(label: str) -> tuple[mujoco.MjModel, kt.Model]:
    """The same model for MuJoCo and for us."""
    mj = mujoco.MjModel.from_xml_string(RICH) if label == "rich" else corpora.compiled(PATHS[label])
    mj.opt.enableflags &= ~int(kt.EnableBit.SLEEP)  # with it, MuJoCo's reset also simulates, to put trees to sleep
    return mj, kt.load(mj)


def different(label: str, data: kt.Data, mj_data: mujoco.MjData, names: list[str]) -> list[tuple]:
    """Fields in which the two are not equal: model, field, index, our value, MuJoCo's."""
    out = []
    for name in names:
        ours, theirs = np.asarray(getattr(data, name)), np.asarray(getattr(mj_data, name))
        for at in np.argwhere(np.atleast_1d(ours) != np.atleast_1d(theirs))[:3]:
            out.append((label, name, at.tolist(), np.atleast_1d(ours)[tuple(at)], np.atleast_1d(theirs)[tuple(at)]))
    return out


def disturb(data: kt.Data, seed: int) -> None:
    """Random numbers in everything that a user may write."""
    rng = np.random.default_rng(seed)
    for name, field in DATA_FIELDS.items():
        if not field.writable:
            continue
        shape = np.shape(getattr(data, name))
        setattr(data, name, rng.random(shape) < 0.5 if field.dtype == "bool" else rng.normal(size=shape))


# the initial state


@pytest.mark.parametrize("label", MODELS)
def test_new_data_equals_mujocos(label):
    mj, model = loaded(label)
    names = [name for name in DATA_FIELDS if name not in OWN]
    fresh = mujoco.MjData(mj)
    mujoco.mj_resetData(mj, fresh)
    assert not different(label, kt.Data(model), fresh, names)


@pytest.mark.parametrize("label", MODELS)
def test_reset_equals_mj_resetdata(label):
    mj, model = loaded(label)
    data, mj_data = kt.Data(model), mujoco.MjData(mj)
    disturb(data, 1)
    kt.fwd_position(model, data)
    data.reset()
    mujoco.mj_resetData(mj, mj_data)
    assert not different(label, data, mj_data, [*STATE, *SLEEP])
    assert not different(label, data, mj_data, [name for name in DATA_FIELDS if name not in OWN])
    new = kt.Data(model)
    new._arrays["capacity"][:] = data._arrays["capacity"]  # room that was made stays
    assert data.buffer.tobytes() == new.buffer.tobytes(), f"{label}: reset and new differ"


@pytest.mark.parametrize("label", [label for label in MODELS if loaded(label)[0].nkey])
def test_reset_keyframe_equals_mj_resetdatakeyframe(label):
    mj, model = loaded(label)
    data, mj_data = kt.Data(model), mujoco.MjData(mj)
    for k in range(mj.nkey):
        mujoco.mj_resetDataKeyframe(mj, mj_data, k)
        name = mujoco.mj_id2name(mj, mujoco.mjtObj.mjOBJ_KEY, k)
        for key in (k, np.int32(k), name) if name else (k,):
            disturb(data, k)
            data.reset_keyframe(key)
            assert not different(f"{label} keyframe {key!r}", data, mj_data, [*STATE, *SLEEP])


def test_keyframes_edited_in_place_are_used():
    model = kt.load(RICH)
    model.key_qpos[1] = np.arange(model.nq)
    data = kt.Data(model)
    data.reset_keyframe("two")
    np.testing.assert_array_equal(data.qpos, np.arange(model.nq))
    assert data.time == 1.0


# state vectors


def specifications(seed: int, count: int = 40) -> list[int]:
    """The usual unions, each bit, and random sets of bits."""
    rng = np.random.default_rng(seed)
    usual = [kt.State.PHYSICS, kt.State.FULLPHYSICS, kt.State.USER, kt.State.INTEGRATION, kt.State(0)]
    single = [1 << i for i in range(len(STATE_FIELDS))]
    return [*usual, *single, *(int(s) for s in rng.integers(0, 1 << len(STATE_FIELDS), count))]


@pytest.mark.parametrize(
    "label", ["rich", "tests/models/mocap.xml", "tests/models/actuators.xml", "dm_control/humanoid"]
)
def test_states_equal_mujocos(label):
    mj, model = loaded(label)
    rng = np.random.default_rng(3)
    for spec in specifications(5):
        size = mujoco.mj_stateSize(mj, spec)
        data, mj_data = kt.Data(model), mujoco.MjData(mj)
        assert data.state_size(spec) == size, (label, spec)
        vector = rng.normal(size=size)
        mujoco.mj_setState(mj, mj_data, vector, spec)
        data.set_state(vector, spec)
        assert not different(f"{label} spec {spec:#x}", data, mj_data, [*STATE, *SLEEP])
        theirs = np.zeros(size)
        mujoco.mj_getState(mj, mj_data, theirs, spec)
        np.testing.assert_array_equal(data.get_state(spec), theirs, err_msg=f"{label} spec {spec:#x}")


def test_state_is_a_copy_and_lists_do():
    data = kt.Data(kt.load(RICH))
    state = data.get_state()
    state[:] = 7.0
    assert data.time == 0.0
    data.set_state(state.tolist())
    assert data.time == 7.0 and (data.qvel == 7.0).all()


def test_state_carries_a_simulation_over():
    model = kt.load("humanoid")
    first, second = kt.Data(model), kt.Data(model)
    disturb(first, 9)
    second.set_state(first.get_state())
    kt.fwd_position(model, first)
    kt.fwd_position(model, second)
    np.testing.assert_array_equal(second.xpos, first.xpos)


# memory


@pytest.mark.parametrize("label", ["rich", "kinetree/models/humanoid.xml", "tests/models/tendons.xml"])
def test_one_aligned_buffer_and_views_into_it(label):
    _, model = loaded(label)
    data = kt.Data(model)
    start, end = data.buffer.ctypes.data, data.buffer.ctypes.data + data.buffer.size
    assert start % 64 == 0
    taken = []
    for name, field in DATA_FIELDS.items():
        if field.growing:
            continue
        array = data._arrays[name]
        assert array.ctypes.data % 16 == 0 and start <= array.ctypes.data, name
        assert array.ctypes.data + array.nbytes <= end, name
        assert array.shape == (field.shape(model.sizes) or (1,)) and array.dtype == field.dtype, name
        taken.append((array.ctypes.data, array.nbytes))
        if field.dims and not name.startswith("island_"):  # those have as many entries as there are islands
            view = getattr(data, name)
            assert view.ctypes.data == array.ctypes.data and view.flags.writeable == field.writable, name
            assert not field.shown or getattr(data, name) is view, f"{name}: a view of its own at each access"
    taken.sort()
    assert all(a + n <= b for (a, n), (b, _) in zip(taken, taken[1:], strict=False)), "fields overlap"


def test_writing_a_view_and_assigning_write_the_same_memory():
    data = kt.Data(kt.load("humanoid"))
    view = data.qpos
    data.qpos = np.arange(data.qpos.size)
    np.testing.assert_array_equal(view, np.arange(view.size))
    view[3] = -1.0
    assert data.qpos[3] == -1.0
    data.qvel = 2
    assert (data.qvel == 2.0).all()
    data.time = np.float32(1.5)
    assert data.time == 1.5 and isinstance(data.time, float)


# copies


def stepped(label: str = "humanoid") -> kt.Data:
    data = kt.Data(kt.load(label))
    disturb(data, 4)
    kt.fwd_position(data.model, data)
    return data


@pytest.mark.parametrize("make", [kt.Data.copy, copy.copy, copy.deepcopy])
def test_copies_share_the_model_and_nothing_else(make):
    data = stepped()
    before = data.buffer.tobytes()
    other = make(data)
    assert other.model is data.model and other.buffer.tobytes() == before
    assert not np.shares_memory(other.buffer, data.buffer)
    other.reset()
    kt.fwd_position(other.model, other)
    assert data.buffer.tobytes() == before


def test_pickle_keeps_everything():
    data = stepped()
    other = pickle.loads(pickle.dumps(data))
    for name in DATA_FIELDS:
        if name != "capacity":  # the room of workspaces is not saved
            np.testing.assert_array_equal(other._arrays[name], data._arrays[name], err_msg=name)
    kt.fwd_position(other.model, other)
    kt.fwd_position(data.model, other)
    np.testing.assert_array_equal(other.xpos, data.xpos)


def test_model_and_data_pickled_together_stay_together():
    data = stepped()
    model, other = pickle.loads(pickle.dumps((data.model, data)))
    assert other.model is model


def test_pickled_data_works_with_stages_in_a_new_process(tmp_path):
    data = stepped("arm")
    (tmp_path / "data.pkl").write_bytes(pickle.dumps(data))
    program = """
import pickle, sys
import numpy as np
import kinetree as kt
data = pickle.load(open(sys.argv[1], "rb"))
expected = data.xpos.copy()
data._arrays["xpos"][:] = 0.0
kt.fwd_position(data.model, data)
assert np.array_equal(data.xpos, expected), (data.xpos, expected)
print(data.body(1).name, data.time)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "data.pkl")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [data.body(1).name, str(data.time)]


def test_data_of_equal_sizes_serves_two_models():
    model = kt.load("humanoid")
    heavier = model.replace(body_mass=model.body_mass * 2)
    data = kt.Data(model)
    kt.fwd_position(heavier, data)
    assert data.subtree_mass[0] == pytest.approx(2 * model.body_subtreemass[0])


def test_dir_and_repr_name_what_there_is():
    data = kt.Data(kt.load("humanoid"))
    assert {"qpos", "xpos", "time", "body", "reset"} <= set(dir(data))
    assert repr(data) == "<kinetree.Data of 'humanoid' at time 0>"
