"""What users hand to a batch is checked, and what a pickle holds before compiled code may follow it."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.plan import FRESH
from kinetree.batch.saved import ROWS
from kinetree.batch.worlds import ON_DEMAND
from kinetree.derived.table import DERIVED, PARTLY
from kinetree.model_fields import MODEL_FIELDS

N = 5
SLEEPY = """<mujoco><option><flag sleep="enable"/></option><worldbody><geom type="plane" size="5 5 1"/>
<body pos="0 0 .5"><freejoint/><geom size=".1"/></body><body pos="1 0 .5"><freejoint/><geom size=".1"/></body>
<body pos="2 0 .5"><joint name="x" type="slide"/><geom size=".1"/></body></worldbody>
<equality><joint joint1="x" active="false"/></equality>
<actuator><motor joint="x"/></actuator></mujoco>"""


@pytest.fixture
def batch() -> kt.Batch:
    return kt.Batch(kt.load(SLEEPY), N, threads=1)


@pytest.fixture
def humanoid() -> kt.Batch:
    return kt.Batch(kt.load("humanoid"), N, threads=1)


# damaged pickles


def again(batch: kt.Batch, change: Any) -> kt.Batch:
    """What comes of a pickle that was changed on the way."""
    restore, arguments = batch.__reduce__()
    arguments = list(arguments)
    change(arguments)
    return restore(*arguments)


def refused(batch: kt.Batch, change: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"^this Batch is damaged: .*{words}"):
        again(batch, change)


def whole(batch: kt.Batch) -> kt.Batch:
    """Rows of everything, and parameters."""
    for name in ON_DEMAND:
        getattr(batch, name)
    batch.expand("opt_timestep", np.linspace(0.001, 0.002, N))
    batch.expand("body_mass", batch.model.body_mass * np.linspace(1.0, 1.2, N)[:, None])
    batch.expand("body_gravcomp", np.tile([0.0, 0.5, 0.0, 0.0], (N, 1)))
    return batch


def test_what_is_sound_comes_back(batch):
    whole(batch).step(20)
    batch.qpos[1, 2] = np.nan  # a world may be bad
    other = again(batch, lambda arguments: None)
    assert other._parameters.gates == batch._parameters.gates and other._parameters.gates["ngravcomp"] == 1
    for name, rows in (*batch._worlds.rows.items(), *batch._parameters.rows.items()):
        theirs = (other._worlds.rows if name in batch._worlds.rows else other._parameters.rows)[name]
        np.testing.assert_array_equal(theirs, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.SimulationWarning)
        batch.step(20)
        other.step(20)
    assert np.array_equal(batch.qpos, other.qpos) and other.resets[1] == 1


def exchange(part: str, name: str, make: Any) -> Any:
    def change(arguments):
        arguments[-1][part][name] = make(arguments[-1][part][name])

    return change


SHAPES = {
    "another number of worlds": lambda rows: rows[1:],
    "another axis": lambda rows: rows[..., None],
    "another type": lambda rows: rows.astype(np.float32 if rows.dtype.kind == "f" else np.int16),
    "another order of bytes": lambda rows: rows.astype(rows.dtype.newbyteorder()) if rows.itemsize > 1 else rows[1:],
    "no array": lambda rows: rows.tolist(),
}


@pytest.mark.parametrize("what", SHAPES)
def test_rows_of_every_field_have_their_shape_and_type(batch, what):
    saved = whole(batch)._saved()
    assert set(saved["rows"]) <= ROWS and set(ON_DEMAND) < set(saved["rows"])
    assert {"opt_timestep", "body_mass", "dof_invweight0"} <= set(saved["own"])
    for part in ("rows", "own"):
        for name in saved[part]:
            refused(batch, exchange(part, name, SHAPES[what]), name)
    refused(batch, lambda arguments: arguments[-1].update(resets=SHAPES[what](arguments[-1]["resets"])), "resets")


def test_parameters_are_numbers_stored_row_by_row(batch):
    for name, rows in whole(batch)._parameters.rows.items():
        if rows.size:
            for bad in (np.nan, np.inf):
                if bad == np.inf and name.endswith("range"):
                    continue
                wild = rows.copy()
                wild.flat[-1] = bad
                refused(batch, exchange("own", name, lambda rows, wild=wild: wild), f"{name}.* is {bad}")
    other = again(batch, exchange("own", "body_mass", np.asfortranarray))
    assert other._parameters.rows["body_mass"].flags.c_contiguous
    other.step(3)
    batch.step(3)
    assert np.array_equal(other.qpos, batch.qpos)


def put(part: str, name: str, at: Any, value: Any) -> Any:
    def make(rows):
        rows = rows.copy()
        (rows.view(np.uint8) if rows.dtype == bool else rows)[at] = value
        return rows

    return exchange(part, name, make)


DAMAGE = {
    "a tree that sleeps with none": (put("rows", "tree_asleep", (2, 0), 1), r"tree_asleep\[2\] is \[1, .*rings"),
    "two followed by one": (put("rows", "tree_asleep", (2, slice(2)), 1), "rings"),
    "a tree there is not": (put("rows", "tree_asleep", (3, 1), 10**6), r"tree_asleep\[3, 1\] is 1000000, outside -11..2"),
    "a wild number": (put("rows", "tree_asleep", (3, 1), -1000), r"tree_asleep\[3, 1\] is -1000"),
    "a flag": (put("rows", "eq_active", (1, 0), 7), r"eq_active\[1, 0\] is 7"),
    "warnings": (put("rows", "warning_number", (1, 0), -1), r"warning_number\[1, 0\] is -1"),
    "resets": (lambda arguments: arguments[-1]["resets"].__setitem__(2, -4), r"resets\[2\] is -4"),
    "a field unknown": (lambda arguments: arguments[-1]["rows"].update(wild=np.zeros(N)), "'wild' is no field"),
    "a field of the block": (lambda arguments: arguments[-1]["rows"].update(ncon=np.zeros(N, np.int64)), "'ncon'"),
    "a parameter unknown": (lambda arguments: arguments[-1]["own"].update(body_mas=np.zeros(N)), "body_mas"),
    "an integer": (lambda arguments: arguments[-1]["own"].update(jnt_type=np.zeros((N, 3))), "jnt_type is shared"),
    "no mass": (put("own", "body_mass", (0, 1), 0.0), "body_mass: mass and inertia"),
    "fresh": (lambda arguments: arguments[-1]["fresh"].update(fresh_pos=2), r"fresh\['fresh_pos'\] is 2"),
    "fresh unknown": (lambda arguments: arguments[-1]["fresh"].update(at=0), r"fresh\['at'\]"),
    "a part too few": (lambda arguments: arguments[-1].pop("own"), "not made of"),
    "no parts": (lambda arguments: arguments.__setitem__(4, 3), "not made of"),
    "no rows": (lambda arguments: arguments[-1].update(rows=3), "rows is a int"),
    "worlds": (lambda arguments: arguments.__setitem__(1, 10**12), "resets has shape"),
    "no worlds": (lambda arguments: arguments.__setitem__(1, 0), "n is 0"),
    "dtype": (lambda arguments: arguments.__setitem__(2, "float16"), "dtype is 'float16'"),
    "dtype of rows": (lambda arguments: arguments.__setitem__(2, "float32"), "type float64, not"),
    "threads": (lambda arguments: arguments.__setitem__(3, -1), "threads is -1"),
    "model": (lambda arguments: arguments.__setitem__(0, None), "its model is a NoneType"),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_what_could_lead_compiled_code_astray_is_refused(batch, what):
    refused(whole(batch), *DAMAGE[what])


def test_whole_rings_of_sleepers_come_back(batch):
    def asleep(rows):
        rows[2] = 1, 0, 2
        return rows

    assert again(batch, exchange("rows", "tree_asleep", asleep))._worlds.rows["tree_asleep"][2].tolist() == [1, 0, 2]
    assert again(batch, put("rows", "tree_asleep", (0, 0), -1)) is not None
    assert set(batch._fresh) == set(FRESH)


# single precision


TOO_LARGE = {
    "setattr(batch, 'qpos', np.full(batch.model.nq, 1e300))": "batch.qpos[0] is 1e+300, which does not fit float32",
    "setattr(batch, 'time', 1e300)": "batch.time is 1e+300, which does not fit float32",
    "batch.set_state(np.full(batch.get_state().shape[1], 1e200))": "state: time[0] is 1e+200, which does not fit float32",
    "batch.rollout(np.full((3, batch.model.nu), 1e300))": "controls[0, 0] is 1e+300, which does not fit float32",
    "batch.expand('opt_timestep', 1e300)": "is 1e+300, which does not fit float32",
    "batch.stable_pd(1e300, 1.0)": "is 1e+300, which does not fit float32",
    "batch.stable_pd(1.0, 1.0).step(np.full(batch.model.nq, 1e200))": "target[0] is 1e+200, which does not fit float32",
    "setattr(batch.joint('right_knee'), 'qpos', 1e300)": "is 1e+300, which does not fit float32",
    "batch.set_data(0, huge)": "set_data: qvel[3] is 1e+300, which does not fit float32",
}  # fmt: skip


@pytest.mark.parametrize("line", TOO_LARGE)
def test_numbers_too_large_for_single_precision_are_told(line):
    batch = kt.Batch(kt.load("humanoid"), 2, "float32", threads=1)
    before, huge = batch.get_state(), kt.Data(batch.model)
    huge.qvel[3] = 1e300
    with pytest.raises(ValueError, match=re.escape(TOO_LARGE[line])):
        eval(line, {"np": np, "batch": batch, "huge": huge})
    assert np.array_equal(batch.get_state(), before)


# states


@pytest.mark.parametrize("call", ["set_data", "set_state"])
def test_a_state_that_is_given_is_new_to_what_was_told(humanoid, call):
    good = humanoid.get_data(0)
    for _ in range(2):
        humanoid.qpos[2, 0] = np.nan
        with pytest.warns(kt.SimulationWarning, match="world 2"):
            humanoid.step()
        if call == "set_data":
            humanoid.set_data(2, good)
            assert humanoid.warning[2].sum() == 0
        else:
            humanoid.set_state(good.get_state(), 2)
        assert np.array_equal(humanoid._told._numbers, humanoid.warning)
        assert np.array_equal(humanoid._told._resets, humanoid.resets)


def test_a_bad_state_can_be_written_back(humanoid):
    humanoid.qpos[3, 0], humanoid.qvel[1, 0] = np.nan, np.inf
    state = humanoid.get_state()
    other = kt.Batch(humanoid.model, N, threads=1)
    other.set_state(state)
    np.testing.assert_array_equal(other.get_state(), state)
    with pytest.warns(kt.SimulationWarning):
        other.step()
    assert other.resets.tolist() == [0, 1, 0, 1, 0]


def test_rows_of_inputs_are_made_only_where_they_differ(humanoid):
    made = lambda: {name for name in ON_DEMAND if name in humanoid._worlds.rows}  # noqa: E731
    data = humanoid.get_data(2)
    state = humanoid.get_state()
    humanoid.set_state(state)
    humanoid.set_data(1, data)
    humanoid.reset(keyframe="squat")
    key = humanoid.model.key_qpos[humanoid.model.id("keyframe", "squat")]
    assert not made() and np.array_equal(humanoid.qpos, np.tile(key, (N, 1)))
    data.qfrc_applied[0] = 3.0
    humanoid.set_data(1, data)
    assert made() == {"qfrc_applied"} and humanoid.qfrc_applied[:, 0].tolist() == [0.0, 3.0, 0.0, 0.0, 0.0]
    other = kt.Batch(humanoid.model, N, threads=1)
    other.set_state(humanoid.get_state())
    assert np.array_equal(other.qfrc_applied, humanoid.qfrc_applied) and np.array_equal(
        state.shape, (N, state.shape[1])
    )
    assert humanoid.get_data(1).qfrc_applied[0] == 3.0 and humanoid.get_data(0).qfrc_applied[0] == 0.0
    humanoid.reset(keyframe="squat")
    assert not humanoid.qfrc_applied.any()


# elements


def test_an_element_writes_its_own_part_alone(humanoid):
    model = humanoid.model
    humanoid.qpos[3, 0] = np.nan
    humanoid.joint("right_knee").qpos = 0.3
    humanoid.joint("right_knee").qpos = np.linspace(0.0, 0.4, N)[:, None]
    at = model.jnt_qposadr[model.id("joint", "right_knee")]
    assert np.array_equal(humanoid.qpos[:, at], np.linspace(0.0, 0.4, N)) and np.isnan(humanoid.qpos[3, 0])
    rows = np.arange(6.0 * N).reshape(N, 6)
    humanoid.body("torso").xfrc_applied = rows
    assert np.array_equal(humanoid.xfrc_applied[:, model.id("body", "torso")], rows)
    humanoid.body("torso").xfrc_applied = rows[2]
    assert (humanoid.xfrc_applied[:, model.id("body", "torso")] == rows[2]).all()
    humanoid.body("torso").xfrc_applied = 0
    assert not humanoid.xfrc_applied.any()
    humanoid.actuator(0).ctrl = np.linspace(0.0, 1.0, N)
    assert np.array_equal(humanoid.ctrl[:, 0], np.linspace(0.0, 1.0, N)) and not humanoid.ctrl[:, 1:].any()


NO_PART = {
    "batch.body('torso').xfrc_applied = np.zeros((6, 5))": "expected shape (5, 6)",
    "batch.body('torso').xfrc_applied = np.zeros(5)": "expected shape",
    "batch.body('torso').xfrc_applied = np.zeros(30)": "expected shape",
    "batch.body('torso').xfrc_applied = 3.0": "got one number",
    "batch.joint('root').qpos = 0.0": "got one number",
    "batch.joint('right_knee').qpos = np.nan": "nan",
    "batch.joint('right_knee').qpos = 'bent'": "expected numbers",
    "batch.body('torso').xpos = 0": "batch.xpos is read-only",
}  # fmt: skip


@pytest.mark.parametrize("line", NO_PART)
def test_what_is_no_part_of_an_element_is_refused(humanoid, line):
    before = humanoid.get_state()
    with pytest.raises((ValueError, TypeError, AttributeError), match=re.escape(NO_PART[line])):
        exec(line, {"np": np, "batch": humanoid})
    assert np.array_equal(humanoid.get_state(), before)


# words


WORDS = {
    "batch.get_data([1, 2])": "batch.get_data is about one world, and got 2",
    "batch.set_data([], None)": "batch.set_data is about one world, and got 0",
    "batch.get_model(None)": "batch.get_model is about one world, and got none",
    "batch.rollout(nstep=2, record='qpos')": "give a tuple of names, as in record=('qpos',)",
}  # fmt: skip


@pytest.mark.parametrize("line", WORDS)
def test_errors_say_what_to_give(humanoid, line):
    with pytest.raises((ValueError, TypeError), match=re.escape(WORDS[line])):
        eval(line, {"np": np, "batch": humanoid})


def test_statistics_have_their_prefix_too(humanoid):
    rows = humanoid.expand("stat.meaninertia", np.linspace(1.0, 2.0, N))
    assert np.array_equal(rows, np.linspace(1.0, 2.0, N)) and "stat_meaninertia" in humanoid.expanded
    assert humanoid.get_model(N - 1).stat.meaninertia == 2.0


@pytest.mark.parametrize("name", [each for each in DERIVED if MODEL_FIELDS[each].writable])
def test_what_follows_from_other_fields_is_not_given(humanoid, name):
    if name in PARTLY:
        humanoid.expand(name, getattr(humanoid.model, name))
        return
    with pytest.raises(AttributeError, match=f"{name} follows from other fields"):
        humanoid.expand(name, getattr(humanoid.model, name))
    humanoid.expand("body_mass", 2.0 * humanoid.model.body_mass)
    before = humanoid._parameters.rows.get(name)
    assert before is None or np.array_equal(humanoid.expand(name), before)  # to look at


def test_frames_of_simple_bodies_are_kept_in_single_precision_too():
    model = kt.load(SLEEPY.replace('<joint name="x" type="slide"/>', '<joint name="x" type="slide" axis=".1 .3 .7"/>'))
    batch = kt.Batch(model, N, "float32", threads=1)
    assert (model.body_simple > 0).any() and (model.jnt_axis != model.jnt_axis.astype(np.float32)).any()
    batch.expand("jnt_axis", model.jnt_axis)
    assert np.array_equal(again(batch, lambda arguments: None).expand("jnt_axis"), batch.expand("jnt_axis"))
