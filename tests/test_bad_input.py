"""Bad input: one table of what a user can get wrong, each with the exception and a part of the message it must give.

After every case the model and the data that it was tried on are as they were, and still work.
"""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import kinetree as kt
from kinetree.data_fields import DATA_FIELDS
from kinetree.fields import CONSTANT_DIMS
from kinetree.model_fields import MODEL_FIELDS, OPTION_FIELDS, STATISTIC_FIELDS
from tests.bad_inputs import calls, models, sources
from tests.bad_inputs import values as assigned
from tests.bad_inputs.world import INF, NAN, World, put
from tests.test_model import values

GROUPS = {
    "file": sources.FILES, "string": sources.STRINGS, "type": sources.TYPES, "feature": models.FEATURES,
    "damage": models.DAMAGE, "value": assigned.SHAPES, "option": assigned.OPTIONS, "read-only": assigned.READ_ONLY,
    "deletion": assigned.DELETION, "unknown": calls.UNKNOWN, "state": calls.STATES, "constants": calls.CONSTANTS,
    "stage": calls.STAGES, "lanes": calls.LANES, "saved": calls.SAVED,
}  # fmt: skip
CASES = {f"{group}: {case.label}": case for group, cases in GROUPS.items() for case in cases}


@pytest.mark.parametrize("label", CASES)
def test_bad_input(label, tmp_path):
    case, world = CASES[label], World(tmp_path)
    model_before, data_before = values(world.model), contents(world.data)
    with pytest.raises(case.error) as caught:
        case.act(world)
    assert case.message in str(caught.value), f"{label}: {caught.value}"
    for name, before in model_before.items():
        assert np.array_equal(getattr_path(world.model, name), before), f"{label}: model.{name} changed"
    assert contents(world.data) == data_before, f"{label}: the data changed"
    kt.fwd_position(world.model, world.data)
    assert contents(world.data) == data_before, f"{label}: the model no longer works"


def contents(data: kt.Data) -> dict[str, bytes]:
    """Every field but the counts of stages that ran."""
    return {name: data._arrays[name].tobytes() for name, field in DATA_FIELDS.items() if not name.startswith("stage_")}


def getattr_path(owner: Any, path: str) -> Any:
    for name in path.split("."):
        owner = getattr(owner, name)
    return owner


def test_there_are_enough_cases_and_none_twice():
    assert len(CASES) == sum(len(cases) for cases in GROUPS.values()), "two cases share a name"
    assert len(CASES) >= 200


# every field, by its declaration


def fields() -> list[tuple[str, Any]]:
    owners = (
        ("model", MODEL_FIELDS),
        ("model.opt", OPTION_FIELDS),
        ("model.stat", STATISTIC_FIELDS),
        ("data", DATA_FIELDS),
    )
    return [(f"{owner}.{name}", field) for owner, table in owners for name, field in table.items()]


def test_every_writable_field_refuses_what_it_cannot_hold(tmp_path):
    world = World(tmp_path)
    for path, field in fields():
        if not field.writable:
            continue
        shape = np.shape(getattr_path(world, path))
        bad: list[Any] = ["text", None, 1j, np.array([None]), np.zeros((*shape, 2)), [[1], [1, 2]]]
        if field.dtype != "bool":
            bad += [NAN, np.full(shape, NAN), True, np.ones(shape, bool)]
            bad += [] if field.name.endswith("range") else [INF, np.full(shape, -INF)]
        if field.dtype in ("bool", "int32"):
            bad += [0.5, np.full(shape, 0.25)]
        for value in bad:
            if isinstance(value, np.ndarray) and not value.size:
                continue
            with pytest.raises((TypeError, ValueError)) as caught:
                put(path, value)(world)
            assert field.name in str(caught.value), (path, value)


def test_one_number_fills_lists_of_numbers_alone(tmp_path):
    """A field with one number for each element takes one for all; a vector takes zero; an orientation, and qpos, neither."""
    world, seen = World(tmp_path), {"list": 0, "vector": 0, "orientation": 0}
    for path, field in fields():
        shape = np.shape(getattr_path(world, path))
        if not field.in_place or np.prod(shape) == 1 or field.dtype == "bool" or field.growing:
            continue
        turns = shape[-1] in (4, 9) and field.shape_names[-1] in ("4", "9", "nmocap*4") or "nq" in field.dims.split()
        kind = "orientation" if turns or "plastic" in field.dims else "vector"
        if kind == "vector" and len(shape) == 1 and not field.dims.isdigit() and field.dims not in CONSTANT_DIMS:
            kind = "list"
        seen[kind] += 1
        for number, fits in ((1, kind == "list"), (0, kind != "orientation")):
            if fits:
                put(path, number)(world)
                assert (getattr_path(world, path) == number).all(), path
            else:
                with pytest.raises(ValueError, match="got one number"):
                    put(path, number)(world)
    assert min(seen.values()) > 10, seen


def test_every_other_field_refuses_to_be_written(tmp_path):
    world = World(tmp_path)
    for path, field in fields():
        if field.writable:
            continue
        current = getattr_path(world, path)
        with pytest.raises(AttributeError, match=f"{path.split('.')[-1]} is read-only"):
            put(path, current)(world)
        if field.dims and np.size(current):
            with pytest.raises(ValueError, match="read-only"):
                current[...] = 0


# what would crash if it got through: tried in a process of its own

SWAPPED = """
import sys
import mujoco
import kinetree as kt
from kinetree.batch.lanes import LaneData

model = kt.load("humanoid")
data = kt.Data(model)
lanes, narrow = LaneData(model, 8), LaneData(model, 1, "float32")
mj = model.to_mujoco()
mj_data = mujoco.MjData(mj)
kt.fwd_position(model, data)
kt.step(model, data)
try:
    kt.{call}
except TypeError as error:
    print(error)
"""


FIRST = "the first argument must be a kinetree Model, got"
SECOND = "the second argument must be a kinetree Data, got"


@pytest.mark.parametrize(
    "call, message",
    [
        ("fwd_position(data, model)", f"fwd_position: {FIRST} Data"),
        ("fwd_position(data, data)", f"fwd_position: {FIRST} Data"),
        ("fwd_position(model, model)", f"fwd_position: {SECOND} Model"),
        ("fwd_position(model, lanes)", f"fwd_position: {SECOND} LaneData"),
        ("fwd_position(model, narrow)", f"fwd_position: {SECOND} LaneData"),
        ("fwd_position(lanes, data)", f"fwd_position: {FIRST} LaneData"),
        ("fwd_position(mj, mj_data)", f"fwd_position: {FIRST} MjModel"),
        ("step(data, model)", f"step: {FIRST} Data"),
        ("step(model, model)", f"step: {SECOND} Model"),
        ("step(model, narrow)", f"step: {SECOND} LaneData"),
    ],
)
def test_stages_refuse_swapped_arguments(call, message):
    command = [sys.executable, "-W", "ignore", "-c", SWAPPED.format(call=call)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{call}: the interpreter died with {done.returncode}\n{done.stderr[-1000:]}"
    assert done.stdout.strip() == message


WILD = """
import numpy as np
import kinetree as kt

for name in ("humanoid", "ball_humanoid", "quadruped"):
    model = kt.load(name)
    data = kt.Data(model)
    for value in (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 0.0):
        data.qpos[:] = value
        model.body_pos[:] = value
        model.body_quat[:] = value
        model.jnt_axis[:] = value
        for stage in (kt.kinematics, kt.com_pos, kt.camlight):
            stage(model, data)
    data.reset()
    assert np.isfinite(data.get_state()).all()
print("alive")
"""


def test_wild_numbers_written_in_place_do_no_harm():
    environment = {**os.environ, "KINETREE_BOUNDS": "1"}
    done = subprocess.run([sys.executable, "-c", WILD], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr[-1000:]


def test_errors_can_be_pickled():
    with pytest.raises(kt.UnsupportedFeatureError) as caught:
        kt.load(models.REFUSED / "sdf.xml")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.features == caught.value.features


def test_half_made_objects_say_so():
    for kind in (kt.Model, kt.Data):
        with pytest.raises(AttributeError):
            copy.copy(kind.__new__(kind)).qpos0  # noqa: B018
