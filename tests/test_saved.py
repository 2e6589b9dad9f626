"""Saved Data: what is sound comes back as it was, and every integer that could lead compiled code astray is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import kinetree as kt
from kinetree.data_fields import DATA_FIELDS
from kinetree.fields import COUNT, FLAG, INT
from kinetree.memory import CAPACITIES
from kinetree.saved import COLUMNS, COUNTS, FREE, RANGES, RULED
from tests import corpora

INTEGERS = [name for name, field in DATA_FIELDS.items() if field.dtype in (INT, COUNT)]
FLAGS = [name for name, field in DATA_FIELDS.items() if field.dtype == FLAG]
WILD = (-1000, 10**6, 2**31 - 1)
# Models that have none of something: room that is not in use holds zeros there too.
SPARE = {
    "nothing": "<mujoco/>",
    "no geoms": """<mujoco><worldbody><site name="a"/><body><joint name="j" range="-1 1" limited="true" frictionloss=".1"/>
      <inertial pos=".1 0 0" mass="1" diaginertia="1 1 1"/><site name="b" pos="1 0 0"/></body></worldbody>
      <tendon><spatial><site site="a"/><site site="b"/></spatial></tendon></mujoco>""",
    "no dofs": """<mujoco><worldbody><geom type="plane" size="1 1 1"/><geom size="1"/><body name="b" mocap="true">
      <geom size="1"/></body></worldbody><equality><weld body1="b"/></equality></mujoco>""",
}


def again(data: kt.Data, **changes: Any) -> kt.Data:
    """A Data restored from what would be pickled, with entries of fields exchanged on the way."""
    other = data.copy()
    for name, (at, value) in changes.items():
        array = other._arrays[name]
        (array.view(np.uint8) if array.dtype == bool else array).flat[at] = value
    restore, arguments = other.__reduce__()
    return restore(*arguments)


@pytest.fixture(scope="module")
def busy() -> kt.Data:
    """The bundled humanoid on the floor: contacts, limits, islands, and all stages have run."""
    model = kt.load("humanoid")
    data = kt.Data(model)
    kt.step(model, data, nstep=150)
    kt.forward(model, data)
    assert data.ncon and data.nefc and data.nisland
    return data


def test_every_integer_field_is_in_one_table():
    listed = [*RANGES, *COLUMNS, *FREE, *RULED]
    assert sorted(listed) == sorted(set(listed)), "a field is in two tables"
    assert set(listed) == set(INTEGERS)


@pytest.mark.parametrize("steps", [0, 20])
@pytest.mark.parametrize("name, path", [*corpora.own_models(), *SPARE.items()])
def test_sound_data_is_restored(name, path, steps):
    """Of every model, fresh and after some steps: all that is saved comes back."""
    model = kt.load(path)
    data = kt.Data(model)
    if steps:
        kt.step(model, data, nstep=steps)
    other = pickle.loads(pickle.dumps(data))
    own = [CAPACITIES.index(name) for name in COUNTS]  # the room of workspaces is not saved
    for field in DATA_FIELDS:
        part = own if field == "capacity" else ...
        np.testing.assert_array_equal(other._arrays[field][part], data._arrays[field][part], err_msg=field)
    kt.step(model, data, nstep=5)
    kt.step(other.model, other, nstep=5)
    np.testing.assert_array_equal(other.qpos, data.qpos)


@pytest.mark.parametrize("name", [*RANGES, *COLUMNS, "efc_id", "capacity"])
def test_wild_integers_are_refused(name, busy):
    size = busy._arrays[name].size
    if not size:
        pytest.skip("the model has none")
    last = CAPACITIES.index("maxA") if name == "capacity" else size - 1  # behind it comes the room of workspaces
    for at in (0, last if not DATA_FIELDS[name].growing else 0):
        for value in WILD:
            with pytest.raises(ValueError, match=f"^this Data is damaged: .*{name.split('_')[0]}"):
                again(busy, **{name: (at, value)})


def test_what_the_model_has_none_of_is_in_no_list():
    model = kt.load(SPARE["no geoms"])
    with pytest.raises(ValueError, match="contact_geom.* is 0, outside 0..-1"):
        again(kt.Data(model), ncon=(0, 1))
    with pytest.raises(ValueError, match="contact_geom.* is 1, outside 0..0"):
        again(kt.Data(model), contact_geom=(0, 1))


@pytest.mark.parametrize("name", FLAGS)
def test_flags_are_flags(name, busy):
    if busy._arrays[name].size:
        with pytest.raises(ValueError, match=f"{name}.* is 7, outside 0..1"):
            again(busy, **{name: (0, 7)})


def test_integers_that_do_not_fit_each_other_are_refused(busy):
    nefc, contact = busy.nefc, int(np.flatnonzero(busy.efc_type >= 5)[0])
    wrong = [
        {"efc_J_rowadr": (nefc - 1, int(busy._arrays["nJ"][0]))},
        {"efc_id": (contact, busy._arrays.capacity["maxcon"])},
        {
            "contact_efc_address": (0, busy._arrays.capacity["maxefc"] - 1),
            "efc_type": (busy._arrays.capacity["maxefc"] - 1, 6),
        },
        {"efc_J_rowsuper": (nefc - 1, 1)},
        {"efc_type": (contact, 0)},
        {"ne": (0, nefc + 1)},
        {"tree_asleep": (0, 5)},
    ]
    for changes in wrong:
        with pytest.raises(ValueError, match="this Data is damaged"):
            again(busy, **changes)


def test_a_data_between_two_stages_is_no_damage(busy):
    """Stages may run one by one: contacts without rows, as after MuJoCo's mj_collision, are sound."""
    other = busy.copy()
    kt.kinematics(other.model, other)
    kt.collision(other.model, other)
    restored = again(other)
    assert (restored.ncon, restored.nefc) == (other.ncon, 0) == (busy.ncon, 0)
    for side in (other, restored):
        kt.forward(side.model, side)
    np.testing.assert_array_equal(restored.qacc, other.qacc)
    assert restored.nefc == busy.nefc


def test_trees_asleep_are_in_rings():
    model = kt.load("<mujoco><worldbody>" + "<body><freejoint/><geom size='1'/></body>" * 3 + "</worldbody></mujoco>")
    data = kt.Data(model)
    data._arrays["tree_asleep"][:] = (1, 0, 2)
    again(data)
    data._arrays["tree_asleep"][:] = (1, 2, 1)
    with pytest.raises(ValueError, match="not in rings"):
        again(data)


def test_what_is_free_is_harmless(busy):
    """Statistics, what each stage makes anew and what is set when a Data is restored may hold anything."""
    rng = np.random.default_rng(1)
    for name in sorted(FREE):
        if busy._arrays[name].size:
            at = int(rng.integers(busy._arrays[name].size))
            for value in (3, int(rng.choice(WILD))):
                other = again(busy, **{name: (at, value)})
                kt.forward(other.model, other)
                kt.step(other.model, other, nstep=2)
                assert np.isfinite(other.qpos).all()
                assert other.time == pytest.approx(busy.time + 2 * busy.model.opt.timestep), (name, value)


def test_a_data_of_the_middle_of_a_step_goes_on():
    """A callback may copy or save the Data that it is called with, also while trees are about to fall asleep."""
    model = kt.load(
        "<mujoco><option integrator='RK4'><flag sleep='enable'/></option><worldbody><geom type='plane' size='9 9 1'/>"
        "<body pos='0 0 .1'><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    data, kept = kt.Data(model), []
    model.callbacks.passive = lambda model, data: kept.append((data.copy(), again(data)))
    while data.tree_awake.any() and data.time < 5.0:
        kt.step(model, data)
    model.callbacks.clear()
    assert not data.tree_awake.any(), "no tree fell asleep"
    for copies in kept[-20:]:
        for copy in copies:
            began = copy.time
            kt.step(copy.model, copy)
            assert copy.time > began


@pytest.mark.parametrize("capacity", [None, 3, {}, {"maxcon": 8}, "negative", "huge", "real", "other"])
def test_capacities(capacity, busy):
    restore, (fingerprint, model, sound, fixed, growing) = busy.__reduce__()
    values = {"negative": -1, "huge": 2**40, "real": 8.0}
    if isinstance(capacity, str):
        capacity = {**sound, "maxcon" if capacity != "other" else "max": values.get(capacity, 8)}
    with pytest.raises(ValueError, match="this Data is damaged: its capacity"):
        restore(fingerprint, model, capacity, fixed, growing)


def test_wrong_types(busy):
    restore, (fingerprint, model, capacity, fixed, growing) = busy.__reduce__()
    for arguments in ((None, capacity, fixed, growing), (model, capacity, None, growing), (model, capacity, fixed, 5)):
        with pytest.raises(TypeError, match="this Data is damaged"):
            restore(fingerprint, *arguments)
