"""Named access against MuJoCo's own accessors: every attribute that both have, of every element of several models."""

from __future__ import annotations

import copy
import pickle
from functools import cache

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.data_fields import DATA_FIELDS
from kinetree.model_fields import MODEL_FIELDS
from kinetree.named import ALIASES, KINDS, attributes
from tests import corpora
from tests.test_fields import RICH

PATHS = {name: path for name, path in corpora.own_models() if name.startswith("tests/")}
SUITE = corpora.package_root("dm_control") / "dm_control/suite"
PATHS |= {f"dm_control/{name}": SUITE / f"{name}.xml" for name in ("humanoid", "quadruped", "manipulator")}
MODELS = ["rich", *PATHS]
DATA_KINDS = ("body", "joint", "geom", "site", "camera", "light", "tendon", "actuator", "sensor")
NOT_OFFERED = {("actuator", "moment")}  # MuJoCo's is a dense copy of what is sparse in both


@cache
def loaded(label: str) -> tuple[mujoco.MjModel, kt.Model]:
    mj = mujoco.MjModel.from_xml_string(RICH) if label == "rich" else corpora.compiled(PATHS[label])
    return mj, kt.load(mj)


def public(thing: object) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]


def elements(label: str, kinds: tuple[str, ...]) -> list[tuple[str, int]]:
    model = loaded(label)[1]
    return [(kind, i) for kind in kinds for i in range(len(model.names(kind)))]


def compared(label: str, ours: object, theirs: object, where: str) -> tuple[int, list[tuple]]:
    """How many attributes both have, and those that differ in shape or value."""
    both = [name for name in public(ours) if name in public(theirs) and name not in {"id", "name", "set"}]
    wrong: list[tuple] = []
    for name in both:
        a, b = np.asarray(getattr(ours, name)), np.asarray(getattr(theirs, name))
        if a.shape != b.shape or not np.array_equal(a, b):
            wrong.append((label, where, name, a.shape, b.shape, a.tolist(), b.tolist()))
    return len(both), wrong


@pytest.mark.parametrize("label", MODELS)
def test_model_elements_equal_mujocos(label):
    mj, model = loaded(label)
    seen, wrong = 0, []
    for kind, i in elements(label, tuple(KINDS)):
        ours, theirs = getattr(model, kind)(i), getattr(mj, kind)(i)
        assert (ours.id, ours.name) == (theirs.id, theirs.name), (label, kind, i)
        if ours.name:
            assert getattr(model, kind)(ours.name).id == i
            assert model.id(kind, ours.name) == i and model.name(kind, i) == ours.name
        count, different = compared(label, ours, theirs, f"{kind} {i}")
        seen, wrong = seen + count, wrong + different
    assert not wrong
    assert seen > 20


@pytest.mark.parametrize("label", MODELS)
def test_data_elements_equal_mujocos(label):
    mj, model = loaded(label)
    data, mj_data = kt.Data(model), mujoco.MjData(mj)
    rng, seen, wrong = np.random.default_rng(2), 0, []
    for name, field in DATA_FIELDS.items():  # numbers that tell every entry from every other
        if field.dims and not field.growing and hasattr(mj_data, name) and not name.startswith("island_"):
            array, theirs = data._arrays[name], getattr(mj_data, name)
            array[...] = rng.normal(size=array.shape) * 100
            theirs[...] = array
    for kind, i in elements(label, DATA_KINDS):
        count, different = compared(label, getattr(data, kind)(i), getattr(mj_data, kind)(i), f"{kind} {i}")
        seen, wrong = seen + count, wrong + different
    assert not wrong
    assert seen > 10


def test_every_field_of_an_element_is_offered():
    """MuJoCo's accessors of a rich model: an attribute that we do not offer is one of a field that we do not have."""
    mj, model = loaded("rich")
    data, mj_data = kt.Data(model), mujoco.MjData(mj)
    missing = []
    for holder, theirs, kinds, fields in (
        (model, mj, tuple(KINDS), MODEL_FIELDS), (data, mj_data, DATA_KINDS, DATA_FIELDS),
    ):  # fmt: skip
        for kind in kinds:
            offered = public(getattr(holder, kind)(0))
            for name in public(getattr(theirs, kind)(0)):
                known = any(f"{prefix}{name}" in fields for prefix in (*KINDS[kind].prefixes, ""))
                if known and name not in offered and (kind, name) not in NOT_OFFERED:
                    missing.append((kind, name))
    assert not missing


def test_offered_attributes_follow_from_the_declarations():
    assert attributes("sensor", DATA_FIELDS) == {"data": "sensordata"}
    assert attributes("joint", DATA_FIELDS)["qpos"] == "qpos"
    assert attributes("joint", MODEL_FIELDS)["damping"] == "dof_damping"
    assert attributes("tendon", DATA_FIELDS)["length"] == "ten_length"
    assert attributes("actuator", DATA_FIELDS)["ctrl"] == "ctrl"
    assert attributes("actuator", MODEL_FIELDS)["ctrlrange"] == "actuator_ctrlrange"


@pytest.mark.parametrize("short, kind", ALIASES.items())
def test_aliases(short, kind):
    _, model = loaded("rich")
    name = model.names(kind)[0]
    assert model.names(short) == model.names(kind) and model.id(short, 0) == 0
    assert getattr(model, short)(0).id == getattr(model, kind)(0).id
    assert not name or getattr(model, short)(name).name == name
    if kind in (*DATA_KINDS, "equality"):
        assert getattr(kt.Data(model), short)(0).id == 0


def test_names_of_all_kinds():
    mj, model = loaded("rich")
    assert model.names("body") == ["world", "mark", "trunk", "arm", "hand", "cart"]
    assert model.names("joint") == ["", "shoulder", "elbow", "rail"]
    assert model.names("keyframe") == ["one", "two"]
    for kind in KINDS:
        size = getattr(model, KINDS[kind].size)
        assert len(model.names(kind)) == size, kind
    names = model.names("body")
    names[0] = "changed"
    assert model.name("body", 0) == "world"


def test_names_beyond_ascii():
    xml = """<mujoco><worldbody><body name="größe"><joint name="ß"/><geom name="雪" size="1"/><geom name="ab" size="1"/>
    <site name="nach"/></body></worldbody></mujoco>"""
    mj, model = mujoco.MjModel.from_xml_string(xml), kt.load(xml)
    for kind in ("body", "joint", "geom", "site"):
        assert model.names(kind) == [getattr(mj, kind)(i).name for i in range(len(model.names(kind)))]
    assert model.geom("ab").id == 1


def test_writes_go_through():
    model = kt.load(RICH)
    data = kt.Data(model)
    model.body("arm").mass = 3.0
    model.body("arm").pos = (1, 2, 3)
    model.joint("shoulder").damping = 0.5
    data.joint("shoulder").qpos = [0.5, 0.5, 0.5, 0.5]
    data.joint("rail").qvel[0] = 7.0
    data.actuator(1).ctrl = 2.0
    data.body("hand").xfrc_applied[2] = 9.0
    arm = model.id("body", "arm")
    assert model.body_mass[arm] == 3.0 and model.body_pos[arm].tolist() == [1, 2, 3]
    start = model.jnt_dofadr[model.id("joint", "shoulder")]
    assert model.dof_damping[start : start + 3].tolist() == [0.5] * 3 and (model.dof_damping == 0.5).sum() == 3
    at = model.jnt_qposadr[model.id("joint", "shoulder")]
    assert data.qpos[at : at + 4].tolist() == [0.5] * 4
    assert data.qvel[model.jnt_dofadr[model.id("joint", "rail")]] == 7.0
    assert data.ctrl[model.actuator_ctrladr[1]] == 2.0
    assert data.xfrc_applied[model.id("body", "hand"), 2] == 9.0


def test_elements_see_later_changes():
    model = kt.load(RICH)
    data = kt.Data(model)
    hand = data.body("hand")
    kt.fwd_position(model, data)
    before = hand.xpos.copy()
    data.joint("shoulder").qpos = [0, 1, 0, 0]
    kt.fwd_position(model, data)
    assert not np.array_equal(hand.xpos, before)
    np.testing.assert_array_equal(hand.xpos, data.xpos[model.id("body", "hand")])


def test_actuator_without_activation_has_an_empty_slice():
    model = kt.load(RICH)
    data = kt.Data(model)
    assert data.actuator(0).act.shape == (1,) and data.actuator(1).act.shape == (0,)


def test_elements_can_be_copied_and_pickled():
    model = kt.load(RICH)
    element = kt.Data(model).joint("elbow")
    assert copy.copy(element).qpos is not None and copy.copy(element).id == element.id
    other = pickle.loads(pickle.dumps(element))
    assert (repr(other), other.qpos.tolist()) == (repr(element), element.qpos.tolist())
    assert repr(model.body(2)) == "body('trunk')" and repr(model.joint(0)) == "joint(0)"


def test_numpy_integers_are_ids():
    model = kt.load(RICH)
    for number in (np.int32(3), np.uint8(3), np.int64(3)):
        assert model.body(number).name == "arm" and model.id("body", number) == 3
