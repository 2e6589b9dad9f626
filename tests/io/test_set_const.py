"""`kt.set_const` against mj_setConst: every declared field, after edits of every kind of constant it depends on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest

import kinetree as kt
from tests.test_model import compiled, unequal, values

ALL = ("rich", "tests/models/actuators.xml", "tests/models/tendons.xml", "tests/models/equalities.xml")


def _scale(name: str, low: float = 0.5, high: float = 2.0) -> Callable[[Any, np.random.Generator], None]:
    def edit(model: Any, rng: np.random.Generator) -> None:
        array = getattr(model, name)
        array *= rng.uniform(low, high, array.shape)

    return edit


def _shift(name: str, by: float = 0.05) -> Callable[[Any, np.random.Generator], None]:
    def edit(model: Any, rng: np.random.Generator) -> None:
        array = getattr(model, name)
        array += by * rng.normal(size=array.shape)

    return edit


def _shift_rows(name: str, rows: Callable[[Any], np.ndarray]) -> Callable[[Any, np.random.Generator], None]:
    def edit(model: Any, rng: np.random.Generator) -> None:
        array = getattr(model, name)
        array[rows(model)] += 0.05 * rng.normal(size=array[rows(model)].shape)

    return edit


def _not_simple(model: Any) -> np.ndarray:
    return np.flatnonzero(model.body_simple == 0)[1:]


def _turn(name: str, rows: Callable[[Any], np.ndarray]) -> Callable[[Any, np.random.Generator], None]:
    def edit(model: Any, rng: np.random.Generator) -> None:
        array = getattr(model, name)
        quats = array[rows(model)] + 0.3 * rng.normal(size=array[rows(model)].shape)
        array[rows(model)] = quats / np.linalg.norm(quats, axis=1, keepdims=True)

    return edit


def _everything(model: Any, rng: np.random.Generator) -> None:
    for edit in EDITS.values():
        if edit is not _everything:
            edit(model, rng)


EDITS: dict[str, Callable[[Any, np.random.Generator], None]] = {
    "masses": _scale("body_mass"),
    "inertias": _scale("body_inertia", 0.9, 1.1),
    "centres of mass": _shift_rows("body_ipos", _not_simple),
    "inertial frames": _turn("body_iquat", _not_simple),
    "body positions": _shift("body_pos"),
    "armature": _shift("dof_armature", 0.0),
    "reference pose": _shift_rows("qpos0", lambda m: m.jnt_qposadr[m.jnt_type >= 2]),
    "joint anchors": _shift_rows("jnt_pos", lambda m: np.flatnonzero(m.body_simple[m.jnt_bodyid] == 0)),
    "geom sizes": _scale("geom_size", 0.8, 1.2),
    "geom positions": _shift("geom_pos", 0.01),
    "sites": _shift("site_pos"),
    "cameras": _shift("cam_pos"),
    "gears": _scale("actuator_gear"),
    "cranks": _scale("actuator_cranklength", 1.0, 1.1),
    "gravity compensation": _shift("body_gravcomp", 0.1),
    "spring lengths": _shift("tendon_lengthspring", 0.0),
    "tendon armature": _scale("tendon_armature"),
    "margins": _scale("geom_margin"),
    "contact bits": lambda model, rng: model.geom_contype.__imul__(1),
    "everything": _everything,
}


@pytest.mark.parametrize("label", ALL)
@pytest.mark.parametrize("edit", EDITS)
def test_equals_mj_setconst(label, edit):
    reference = kt.load(compiled(label)).to_mujoco()
    model = kt.load(reference)
    for m in (model, reference):
        EDITS[edit](m, np.random.default_rng(11))
    mujoco.mj_setConst(reference, mujoco.MjData(reference))
    kt.set_const(model)
    assert not unequal(f"{label}, {edit}", values(model), values(reference))


@pytest.mark.parametrize("label", ALL)
def test_changes_nothing_without_edits(label):
    model = kt.load(compiled(label))
    kt.set_const(model)
    before = values(model)
    kt.set_const(model)
    assert not unequal(label, values(model), before)


def test_derived_masses_follow_by_hand():
    model = kt.load("double_pendulum")
    model.body_mass[1:] = (2.0, 3.0)
    kt.set_const(model)
    assert model.body_subtreemass.tolist() == [5.0, 5.0, 3.0]


def test_data_sees_the_edit_at_once():
    model = kt.load("double_pendulum")
    data = kt.Data(model)
    model.body_pos[2] = (0.0, 0.0, -2.0)
    kt.set_const(model)
    kt.fwd_position(model, data)
    np.testing.assert_allclose(data.xpos[2] - data.xpos[1], (0.0, 0.0, -2.0), atol=1e-15)


def test_elements_can_be_edited_by_name():
    model = kt.load("humanoid")
    name = model.names("body")[1]
    model.body(name).mass = 100.0
    kt.set_const(model)
    assert model.body_subtreemass[0] == pytest.approx(model.body_mass.sum())
