"""A batch of bodies in one value does to each item what one body would do."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kinetree as kt
from tests.mass.bodies import assert_same, random_body, rotation

MP = kt.MassProperties


def some(count: int, seed: int = 0) -> list[kt.MassProperties]:
    rng = np.random.default_rng(seed)
    return [random_body(rng) for _ in range(count)]


OPERATIONS = {
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - 0.1 * b,
    "multiple": lambda a, b: 3 * a / 7,
    "transform": lambda a, b: a.transform(rotation(np.array((1.0, 2, 3, 4))), (1, 2, 3)),
    "mirror": lambda a, b: a.mirrored((1, 2, 3)),
    "pseudo-inertia": lambda a, b: MP.from_pseudo_inertia(a.pseudo_inertia()),
    "log-Cholesky": lambda a, b: MP.from_log_cholesky(a.log_cholesky()),
    "nearest": lambda a, b: (a - 0.9 * b).nearest_valid(),
    "sum with one body": lambda a, b: a + MP.solid_sphere(1, 2, cg=(1, 2, 3)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_item_is_treated_alike(name):
    first, second = some(7, 1), some(7, 2)
    batch = OPERATIONS[name](MP.stack(first), MP.stack(second))
    assert batch.shape == (7,) and len(batch) == 7
    for got, a, b in zip(batch, first, second, strict=True):
        assert_same(got, OPERATIONS[name](a, b))


def test_arrays_go_in_and_come_out():
    rng = np.random.default_rng(0)
    mass, cg = rng.uniform(1, 2, (2, 5)), rng.normal(size=(2, 5, 3))
    tensor = np.array([[random_body(rng).inertia for _ in range(5)] for _ in range(2)])
    batch = MP(mass, cg, tensor)
    assert batch.shape == (2, 5)
    np.testing.assert_array_equal(batch.mass, mass)
    np.testing.assert_array_equal(batch.cg, cg)
    np.testing.assert_array_equal(batch.inertia, (tensor + np.swapaxes(tensor, -1, -2)) / 2)
    assert batch[1, 2] == MP(mass[1, 2], cg[1, 2], tensor[1, 2]) and batch[0].shape == (5,)
    assert batch[:, 1:3].shape == (2, 2) and [item.shape for item in batch] == [(5,), (5,)]
    mass[0, 0] = 77
    assert batch.mass[0, 0] != 77
    with pytest.raises(ValueError, match="read-only"):
        batch.mass[0, 0] = 77


def test_what_is_one_number_holds_for_all():
    positions = np.arange(12.0).reshape(4, 3)
    batch = MP.point_mass(2, positions)
    assert batch.shape == (4,) and batch.mass.tolist() == [2] * 4 and batch.inertia.shape == (4, 3, 3)
    boxes = MP.solid_box(1, np.arange(1.0, 4), 2, 3)
    assert_same(boxes[1], MP.solid_box(1, 2, 2, 3))
    scaled = MP.solid_sphere(1, 1) * np.arange(1.0, 4)
    assert scaled.shape == (3,) and scaled.cg.shape == (3, 3) and scaled[2] == MP.solid_sphere(1, 1) * 3
    assert (np.arange(1.0, 4) * MP.solid_sphere(1, 1)) == scaled
    turns = np.array([rotation(q) for q in np.random.default_rng(0).normal(size=(5, 4))])
    turned = MP.solid_box(1, 1, 2, 3, cg=(1, 0, 0)).rotated(turns)
    assert_same(turned[3], MP.solid_box(1, 1, 2, 3, cg=(1, 0, 0)).rotated(turns[3]))
    assert MP.point_mass([1, 2, 3], [[0, 0, 1], [0, 1, 0], [1, 0, 0]]).cg[1].tolist() == [0, 1, 0]


@pytest.mark.parametrize("count", [1, 3, 4])
def test_arrays_in_a_tuple_are_scalars(count):
    """Also of a batch of three, where they could be mistaken for rows."""
    x, y, z = np.random.default_rng(0).normal(size=(3, count))
    for cg in ((x, y, z), [x, y, z], (x, y, 0.5)):
        batch = MP.point_mass(2, cg)
        np.testing.assert_array_equal(batch.cg, np.stack([x, y, np.broadcast_to(cg[2], count)], axis=-1))
    with pytest.raises(ValueError, match="one array"):
        MP.point_mass(2, [np.zeros(3)] * 4)


def test_checks_give_flags():
    batch = MP.stack([MP.solid_sphere(1, 1), MP.diagonal(1, 1, 1, 3), MP.point_mass(-1, 0), MP.point_mass(1, 0)])
    assert batch.is_physically_valid().tolist() == [True, False, False, True]
    assert batch.is_point_mass().tolist() == [False, False, True, True]
    with pytest.raises(ValueError, match="2 of 4 items fail, first item 1: triangle inequality"):
        batch.validate()
    assert batch.nearest_valid().is_physically_valid().all()
    assert batch.isclose(batch[0]).tolist() == [True, False, False, False]
    assert batch.principal_moments().shape == (4, 3) and batch.principal_axes().shape == (4, 3, 3)
    assert batch == batch and batch != batch[:3] and batch != batch * 2
    for one in (hash, lambda b: len(b[0]), lambda b: b[0][0]):
        with pytest.raises(TypeError):
            one(batch)
    assert repr(batch) == "<MassProperties: batch of shape (4,)>"
    assert pickle.loads(pickle.dumps(batch)) == batch


def test_asymmetric_items_are_found():
    tensor = np.array([np.eye(3), np.eye(3), np.eye(3)])
    tensor[1, 0, 1] = 0.5
    batch = MP(np.ones(3), np.zeros((3, 3)), tensor)
    assert batch.is_physically_valid().tolist() == [True, False, True]
    assert batch[0] + batch[2] == MP.diagonal(1, 1, 1, 1) * 2
    with pytest.raises(ValueError, match="first item 1: inertia is not symmetric: Ixy = 0.5 but Iyx = 0"):
        batch.validate()


def test_aggregate_of_a_batch():
    parts = some(50)
    batch = MP.stack(parts)
    assert_same(kt.aggregate(batch), kt.aggregate(parts))
    grid = MP.stack([batch[:25], batch[25:]])
    assert grid.shape == (2, 25)
    assert_same(kt.aggregate(grid)[3], parts[3] + parts[28])
    assert_same(kt.aggregate([batch[:25], batch[25:]])[3], parts[3] + parts[28])
    assert_same(kt.aggregate(kt.aggregate(grid)), kt.aggregate(parts))
    assert type(kt.aggregate(batch).mass) is float
    empty = kt.aggregate(grid[:0])
    assert empty.shape == (25,) and not empty.mass.any()


def test_no_mass_gives_no_nan_in_any_item():
    batch = MP.point_mass(np.array([1.0, 0.0, 2.0]), np.eye(3))
    gone = batch - MP.point_mass(np.array([1.0, 0.0, 1.0]), np.zeros((3, 3)))
    with np.errstate(all="raise"):
        again = batch - MP.point_mass(np.array([1.0, 0.0, 1.0]), np.zeros((3, 3)))
    assert gone == again and gone.cg[0].tolist() == [0.5, 0, 0] and gone.cg[2].tolist() == [0, 0, 2]
    both = MP.stack([batch, MP.point_mass(-batch.mass, np.zeros((3, 3)))])
    assert np.isfinite(kt.aggregate(both).cg).all()


def test_columns_of_a_table_are_arrays():
    class Column:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0)

    assert MP.point_mass(1, Column()).cg.tolist() == [0, 1, 2]
    assert MP.point_mass(1, range(3)).cg.tolist() == [0, 1, 2]
    for wrong in ({1, 2, 3}, (i for i in range(3)), object()):
        with pytest.raises(TypeError, match="cg: expected 3 numbers"):
            MP.point_mass(1, wrong)


def test_integers_and_single_precision_become_double():
    batch = MP.point_mass(np.arange(3), np.zeros((3, 3), np.float32))
    assert batch.mass.dtype == batch.cg.dtype == np.float64
    assert type(MP.point_mass(np.int64(3), np.zeros(3, int)).mass) is float
    assert type(MP.point_mass(np.array(3.0), 0).mass) is float
