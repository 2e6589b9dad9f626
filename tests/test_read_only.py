"""Read-only fields stay read-only: compiled code trusts them, so `flags.writeable = True` must not open them."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import LaneData
from kinetree.data_fields import DATA_FIELDS
from kinetree.layout import read_only
from kinetree.model_fields import MODEL_FIELDS
from tests.test_fields import RICH

TOUCHING = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 .09"><freejoint/><geom size=".1"/></body>
</worldbody></mujoco>"""
MODEL_ARRAYS = [name for name, field in MODEL_FIELDS.items() if field.dims and not field.in_place]
DATA_ARRAYS = [name for name, field in DATA_FIELDS.items() if field.dims and not field.writable]


@pytest.fixture(scope="module")
def rich() -> kt.Model:
    return kt.load(RICH)


@pytest.fixture(scope="module")
def touching() -> kt.Data:
    model = kt.load(TOUCHING)
    data = kt.Data(model)
    kt.fwd_position(model, data)
    return data


def check_locked(view: np.ndarray, memory: np.ndarray) -> None:
    """No way that NumPy offers makes a view writeable, nor a view or reshape of it; it still shows the memory."""
    before = view.copy()
    for v in (view, view.view(), view[...], view.reshape(-1), view.T):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            v.flags.writeable = True
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            v.setflags(write=True)
    with pytest.raises((ValueError, IndexError)):
        view[(0,) * view.ndim] = 1
    np.testing.assert_array_equal(view, before)
    if view.size:
        assert view.ctypes.data == memory.ctypes.data and np.shares_memory(view, memory)


@pytest.mark.parametrize("name", MODEL_ARRAYS)
def test_fields_of_a_model(name, rich):
    check_locked(getattr(rich, name), rich._arrays[name])


@pytest.mark.parametrize("name", ["site_rgba", "name_bodyadr"])
def test_fields_that_stay_with_mujoco(name, rich):
    check_locked(getattr(rich, name), getattr(rich._source, name))


@pytest.mark.parametrize("name", [n for n in DATA_ARRAYS if n != "efc_J"])
def test_fields_of_a_data(name, rich, touching):
    for data in (kt.Data(rich), touching):
        check_locked(getattr(data, name), data._arrays[name])


def test_other_views(rich, touching):
    check_locked(touching.buffer, touching._arrays.fixed)
    assert len(touching.contact) == 1
    for view in (touching.contact.geom, touching.contact[0].geom, touching.contact.geom1, touching.contact.dim):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            view.flags.writeable = True
    for view in (rich.body(1).parentid, rich.joint(1).qposadr, touching.efc_J):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            view.flags.writeable = True


@pytest.fixture(scope="module")
def lanes() -> LaneData:
    return LaneData(kt.load(TOUCHING), 2)


@pytest.mark.parametrize("name", DATA_ARRAYS)
def test_fields_of_lanes(name, lanes):
    check_locked(getattr(lanes, name), lanes.arrays[name])


def test_settings_of_a_controller():
    model = kt.load("arm")
    controller = kt.StablePD(model, 100.0, 10.0)
    for view in (controller.kp, controller.kd, controller.target, controller.torque_limit):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            view.flags.writeable = True


def test_choices_are_assigned_and_shown(rich):
    """Fields with few allowed values are locked arrays that assignment changes, whole or by element."""
    model = kt.load(RICH)
    name = next(n for n, field in MODEL_FIELDS.items() if field.choices and getattr(model, n).size)
    view, choices = getattr(model, name), MODEL_FIELDS[name].choices
    setattr(model, name, np.full(view.shape, choices[-1]))
    assert (view == choices[-1]).all()
    with pytest.raises(ValueError, match="none of"):
        setattr(model, name, np.full(view.shape, 77))
    model.actuator(0).dyntype  # noqa: B018  named access reads the same memory
    assert (view == choices[-1]).all()


def test_a_read_only_view_follows_its_memory():
    memory = np.arange(6).reshape(2, 3)
    view = read_only(memory)
    memory[1, 2] = 50
    assert view[1, 2] == 50
    for empty in (np.zeros((0, 3)), np.zeros(0, bool), np.zeros((2, 0), np.int32)):
        assert read_only(empty).shape == empty.shape and read_only(empty).dtype == empty.dtype
