"""Rows belong to the contacts, and to the cone, that they were made of: what comes later does not read them as others."""

from __future__ import annotations

from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.capacity import MAXH, fits
from kinetree.kernel.stage import plain
from kinetree.memory import grown, starting_capacity
from tests.pipeline.twins import BOX, CAPSULE, SPHERE, bodies_apart

COUNTS = ("ncon", "ne", "nf", "nl", "nefc", "nJ", "nisland", "nidof")


@pytest.fixture
def scene():
    mj = mujoco.MjModel.from_xml_string(bodies_apart((SPHERE, BOX, CAPSULE), options='<option cone="elliptic"/>'))
    model = kt.load(mj)
    return mj, model, kt.Data(model)


def test_collision_takes_the_rows_away(scene):
    mj, model, data = scene
    theirs = mujoco.MjData(mj)
    kt.forward(model, data)
    mujoco.mj_forward(mj, theirs)
    assert data.nefc == theirs.nefc > 0
    kt.collision(model, data)
    mujoco.mj_collision(mj, theirs)
    for name in COUNTS:
        assert getattr(data, name) == getattr(theirs, name), name
    kt.fwd_constraint(model, data)
    np.testing.assert_array_equal(data.qacc, data.qacc_smooth)


def test_forces_of_contacts_are_read_from_the_rows_that_there_are(scene):
    """With the other cone set since, twice as many rows were read as a contact has."""
    _, model, data = scene
    kt.forward(model, data)
    before = kt.contact_forces(model, data)
    assert np.abs(before).max() > 0.1
    model.opt.cone = kt.Cone.PYRAMIDAL
    np.testing.assert_array_equal(kt.contact_forces(model, data), before)


def test_more_room_than_can_be_counted_is_refused():
    """The count of what is needed has 32 bits: beyond, it was negative, and the stage ran again for ever."""
    record = SimpleNamespace(
        capacity=np.full(9, 8, np.int32), needed=np.zeros(9, np.int32), overflow=np.zeros(1, np.int32)
    )
    assert not plain(fits)(record, MAXH, 2**33)
    with pytest.raises(MemoryError, match="maxH"):
        grown(starting_capacity(), record.needed)
