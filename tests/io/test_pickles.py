"""Pickles of models: they come back as they were, and what is damaged is refused as it is in a file."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.io.load import _binary
from kinetree.io.validate.table import FREE
from kinetree.model import COUNTS
from kinetree.model_fields import MODEL_FIELDS
from tests import corpora
from tests.io.test_validate import BY_TYPE, INTEGERS
from tests.test_fields import OF_SPECS, RICH

OCTREES = {n for n in INTEGERS if MODEL_FIELDS[n].dims.split()[0] in OF_SPECS}  # sensor/test_tactile.py breaks them


def restored(model: kt.Model, **parts: Any) -> kt.Model:
    """What unpickling makes of a model, with some of what is saved exchanged."""
    restore, arguments = model.__reduce__()
    saved = dict(zip(("fingerprint", "contents", "later", "title", "plugins"), arguments, strict=True))
    return restore(*{**saved, **parts}.values())


@pytest.mark.parametrize("name, path", corpora.own_models())
def test_models_come_back_as_they_were(name, path):
    model = kt.load(path)
    other = pickle.loads(pickle.dumps(model))
    for field in MODEL_FIELDS:
        np.testing.assert_array_equal(getattr(other, field), getattr(model, field), err_msg=field)
    assert repr(other.opt) == repr(model.opt) and repr(other.stat) == repr(model.stat)
    assert all(getattr(other, count) == getattr(model, count) for count in COUNTS)
    assert other.title == model.title and other.names("body") == model.names("body")


def test_edits_and_what_mujoco_does_not_save_come_back():
    model = kt.load("arm")
    model.body_gravcomp[:] = 1.0
    kt.set_const(model)
    model.body_mass[1] = 3.25
    other = pickle.loads(pickle.dumps(model))
    assert other.ngravcomp == model.ngravcomp > 0 and other._constant("edition") == model._constant("edition") > 0
    assert other.body_mass[1] == 3.25
    kt.set_const(other)
    assert other.body_subtreemass[0] == pytest.approx(other.body_mass.sum())


@pytest.mark.parametrize("name", [n for n in INTEGERS if n not in FREE | BY_TYPE | OCTREES])
@pytest.mark.parametrize("value", [-1000, 10**6])
def test_wrong_integers_are_refused(name, value):
    mj = mujoco.MjModel.from_xml_string(RICH)
    array = getattr(mj, name)
    limits = np.iinfo(array.dtype)
    array.flat[-1] = value if limits.min < 0 else limits.max
    with pytest.raises(kt.ModelError, match="^a saved Model"):
        restored(kt.load(RICH), contents=_binary(mj))


def test_numbers_are_finite():
    mj = mujoco.MjModel.from_xml_string(RICH)
    mj.body_quat[1, 2] = np.nan
    with pytest.raises(kt.ModelError, match=r"a saved Model: body_quat\[1, 2\] is nan"):
        restored(kt.load(RICH), contents=_binary(mj))


@pytest.mark.parametrize("later", [{}, {"ngravcomp": -1, "edition": 0}, {"ngravcomp": 1.0, "edition": 0},
                                   {"ngravcomp": 10**6, "edition": 0}, {"ngravcomp": 0, "edition": 2**64}])  # fmt: skip
def test_numbers_beside_the_binary_form(later):
    with pytest.raises(kt.ModelError, match="a saved Model: (ngravcomp|edition) is "):
        restored(kt.load("arm"), later=later)


def test_other_contents_are_refused():
    model = kt.load("arm")
    for wrong in (None, "text", 5, [1]):
        with pytest.raises(TypeError, match="this Model is damaged"):
            restored(model, contents=wrong)
    with pytest.raises(TypeError, match="this Model is damaged"):
        restored(model, title=b"x")
    contents = _binary(model.to_mujoco())
    for wrong in (b"", b"x" * 100, contents[:-8], contents[: len(contents) // 2]):
        with pytest.raises(kt.ModelError, match="a saved Model"):
            restored(model, contents=wrong)


def test_copies_of_a_model_do_not_share_its_memory():
    model = kt.load("arm")
    for other in (copy.copy(model), pickle.loads(pickle.dumps(model))):
        assert not any(
            np.shares_memory(a, b) for a, b in zip(model._arrays.values(), other._arrays.values(), strict=True)
        )
