"""Derived constants against mj_setConst, field by field, on every model of the corpus after random changes of what they follow from."""

from __future__ import annotations

import copy
import re
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import DERIVED_INERTIA, DERIVED_POSE
from kinetree.data import let_in
from kinetree.derived.derive import DERIVE, derive
from kinetree.derived.shared import COUNTED, LENT, opened
from kinetree.derived.table import ALL_GROUPS, DERIVED, FIXED, INERTIA, POSE, SOURCES, groups_of
from kinetree.fields import REAL
from kinetree.kernel import JIT, float_machine
from kinetree.model import FIELDS
from kinetree.model_fields import MODEL_FIELDS
from tests.derived.edits import CHANGED, edited, everything
from tests.pipeline.worlds import CORPUS, loaded

COMPLETED = {"geom_size", "geom_aabb", "geom_fluid", "eq_data"}  # loaded, and parts of them derived
# Integers that set_const derives: those that `shared.opened` opens, those that worlds share or a gate counts, and those that follow
# from integers alone.
OPENED = {"body_sameframe", "geom_sameframe", "site_sameframe", "jnt_actuatorid", "tendon_actuatorid"}
GATED = {"flg_gravcomp", "flg_surfacevel", "flg_adhesion"}
STRUCTURE = {
    "body_treeid", "body_contype", "body_conaffinity", "tree_bodyadr", "tree_bodynum", "tree_dofadr", "tree_dofnum",
    "tendon_treenum", "tendon_treeid", "ten_J_rownnz", "ten_J_rowadr", "ten_J_colind",
}  # fmt: skip
# Real fields from which integers alone are derived. Policies of sleep are settled when a model is compiled.
FOR_INTEGERS = COUNTED | (LENT - {"actuator_armature"}) | {
    "qpos_spring", "tendon_stiffness", "tendon_stiffnesspoly", "tendon_damping", "tendon_dampingpoly"
}  # fmt: skip


def set_by_us(model: kt.Model, groups: int = ALL_GROUPS) -> None:
    """Our kernels on one world."""
    data = kt.Data(model)
    if JIT:
        assert let_in(data, DERIVE.on(float_machine(), model), model.address, data.address, groups) == 0
    else:
        assert derive(model.record(), data.record(), groups) == 0


def errors(ours: kt.Model, theirs: kt.Model) -> dict[str, tuple]:
    """Of each derived field the largest error against its tolerance, where it is, and both values."""
    out = {}
    for name, group in DERIVED.items():
        a, b = ours._arrays[name], theirs._arrays[name]
        if a.size:
            limit = (DERIVED_INERTIA if group == INERTIA else DERIVED_POSE) * max(np.abs(b).max(), 1e-300)
            error = np.where(np.isfinite(a), np.abs(a - b), np.inf) / limit
            at = np.unravel_index(np.argmax(error), error.shape)
            out[name] = float(error[at]), at, a[at], b[at]
    return out


@pytest.mark.parametrize("name", CORPUS)
def test_constants_are_mujocos_after_changes(name):
    model, rng = loaded(name), np.random.default_rng(5)
    for field, values in everything(model, rng, 1).items():
        model._arrays[field][...] = values[0]
    theirs = copy.copy(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kt.set_const(theirs)
    for field in OPENED:  # integers are not derived by kernels
        model._arrays[field][...] = theirs._arrays[field]
    for field in set(DERIVED) - COMPLETED - {"bvh_aabb", "geom_rbound"}:  # parts of these belong to meshes
        model._arrays[field][...] = np.nan
    set_by_us(model)
    wrong = {field: told for field, told in errors(model, theirs).items() if not told[0] <= 1.0}
    assert not wrong, (model.title, wrong)


@pytest.mark.parametrize("name", ["tests/models/equalities.xml", "kinetree/models/humanoid.xml"])
def test_open_integers_change_nothing(name):
    """What a shortcut leaves out adds nothing: with all of them open, constants are the same up to rounding."""
    model, wide = loaded(name), loaded(name)
    for field, integers in opened(model, SOURCES).items():
        wide._arrays[field][...] = integers
    for each in (model, wide):
        set_by_us(each)
    assert all(told[0] <= 1.0 for told in errors(model, wide).values())


def test_every_derived_field_is_in_the_table():
    real = {name for name, f in MODEL_FIELDS.items() if f.stage == "set_const" and f.dtype == REAL}
    whole = {name for name, f in MODEL_FIELDS.items() if f.stage == "set_const" and f.dtype != REAL}
    assert set(DERIVED) == real | COMPLETED
    assert whole == OPENED | GATED | STRUCTURE
    assert set(opened(kt.load("humanoid"), SOURCES)) == OPENED


def mujocos_table() -> dict[str, list[set[str]]]:
    """How each group of mj_setConst uses an array: MJSETCONST_ARRAYS."""
    text = (Path(mujoco.__file__).parent / "include/mujoco/mjxmacro.h").read_text()
    text = text.split("#define MJSETCONST_ARRAYS")[1].split("#define MJSETCONST_SCALARS")[0]
    rows = re.findall(r"X\(\s*(\w+),\s*(\w+),\s*(\w+),\s*(\w+),\s*(\w+)\s*\)", text)
    uses = {"0": set(), "mjSC_IN": {"in"}, "mjSC_OUT": {"out"}, "mjSC_INOUT": {"in", "out"}}
    return {name: [uses[each] for each in columns] for name, *columns in rows}


def test_the_tables_are_mujocos():
    groups = (FIXED, POSE, INERTIA)
    theirs = {name: use for name, use in mujocos_table().items() if name in FIELDS and FIELDS[name].dtype == REAL}
    written = {
        name: sum(g for g, use in zip(groups, uses, strict=False) if "out" in use) for name, uses in theirs.items()
    }
    assert {name: group for name, group in written.items() if group} == DERIVED
    first = {name: next(use for use in uses if use) for name, uses in theirs.items()}
    assert {name for name, use in first.items() if "in" in use} == set(SOURCES) | FOR_INTEGERS


SMALL = ("actuators", "tendons", "equalities", "cameras", "convex", "mocap")


@pytest.mark.parametrize("title", SMALL)
def test_what_a_field_changes_is_in_its_groups(title):
    """Each field alone: mj_setConst changes nothing outside the groups that the table names for it."""
    base, rng = loaded(f"tests/models/{title}.xml"), np.random.default_rng(2)
    kt.set_const(base)
    for name, field in MODEL_FIELDS.items():
        if field.dtype != REAL or not field.writable or not getattr(base, name).size or name.startswith("key_"):
            continue
        model = copy.copy(base)
        values = edited(base, name, rng)[0] if name in CHANGED else getattr(base, name) * 1.01
        getattr(model, name)[...] = values
        kt.set_const(model)
        for other, group in DERIVED.items():
            same = np.allclose(getattr(model, other), getattr(base, other), rtol=1e-12, atol=1e-14)
            assert same or group & groups_of([name]), f"{name} changes {other}"


@pytest.mark.parametrize("group", [FIXED, POSE, INERTIA])
def test_groups_that_are_not_asked_for_stay(group):
    model = loaded("tests/models/tendons.xml")
    before = {name: model._arrays[name].copy() for name in DERIVED}
    for name, values in everything(model, np.random.default_rng(0), 1).items():
        model._arrays[name][...] = values[0]
    for name in ("geom_size", "geom_aabb"):  # both given and derived
        before[name] = model._arrays[name].copy()
    set_by_us(model, group)
    changed = {name for name in DERIVED if not np.array_equal(model._arrays[name], before[name])}
    assert changed and all(DERIVED[name] == group for name in changed)
