"""Worlds of a batch with parameters of their own equal batches of separate models."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import BATCH_SOLVED
from kinetree.derived.table import DERIVED, PARTLY
from kinetree.model_fields import MODEL_FIELDS

N, STEPS = 11, 40


def varied(model: kt.Model, name: str, seed: int = 0) -> np.ndarray:
    """The model's numbers of a field, each some per cent larger or smaller in each world."""
    base = getattr(model, name)
    return base * np.random.default_rng(seed).uniform(0.9, 1.1, (N, *base.shape))


def driven(batch: kt.Batch) -> np.ndarray:
    """qpos after some steps under random controls."""
    controls = np.random.default_rng(1).uniform(-0.5, 0.5, (N, STEPS, batch.model.nu))
    batch.rollout(controls, record=())
    return batch.qpos


FIELDS = ("body_mass", "body_inertia", "dof_armature", "dof_damping", "geom_friction", "actuator_gear", "jnt_stiffness")


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_of_each_world_equals_separate_models(name):
    model = kt.load("humanoid")
    values = varied(model, name)
    batch = kt.Batch(model, N, threads=2)
    batch.expand(name, values)
    got = driven(batch)
    for i in (0, 7, 10):
        own = kt.Batch(model.replace(**{name: values[i]}), N, threads=1)
        np.testing.assert_allclose(got[i], driven(own)[i], atol=BATCH_SOLVED, err_msg=f"{name} world {i}")
        for field in ("body_subtreemass", "dof_invweight0", "body_invweight0", "actuator_acc0"):
            wanted = getattr(own.model, field)
            np.testing.assert_allclose(getattr(batch.get_model(i), field), wanted, rtol=1e-9, atol=1e-12, err_msg=field)


def test_options_of_each_world():
    model = kt.load("humanoid")
    batch = kt.Batch(model, N)
    steps = np.linspace(0.001, 0.004, N)
    batch.expand("opt_timestep", steps)
    batch.expand("opt.gravity", np.linspace(1.0, 2.0, N)[:, None] * model.opt.gravity)
    batch.step(10)
    np.testing.assert_allclose(batch.time, 10 * steps)
    own = model.replace(opt_timestep=float(steps[4]), opt_gravity=1.4 * model.opt.gravity)
    data = kt.Data(own)
    kt.step(own, data, 10)
    np.testing.assert_allclose(batch.qpos[4], data.qpos, atol=BATCH_SOLVED)
    assert batch.get_model(4).opt.timestep == steps[4]


def test_some_worlds_are_given_numbers_and_others_keep_theirs():
    model = kt.load("humanoid")
    batch, plain = kt.Batch(model, N), kt.Batch(model, N)
    batch.expand("body_mass", 2.0 * model.body_mass, ids=[3, 8])
    one, other = driven(batch), driven(plain)
    rest = [i for i in range(N) if i not in (3, 8)]
    np.testing.assert_allclose(one[rest], other[rest], atol=BATCH_SOLVED)
    assert (np.abs(one[[3, 8]] - other[[3, 8]]).max(axis=1) > 1e-4).all()


def test_threads_and_neighbours_change_no_bit(monkeypatch):
    monkeypatch.setattr("kinetree.batch.crew.AT_ONCE", 0)  # little work goes to threads too
    model = kt.load("humanoid")
    values = varied(model, "body_mass")
    wanted = None
    for threads, order in ((1, np.arange(N)), (2, np.arange(N)), (1, np.random.default_rng(2).permutation(N))):
        batch = kt.Batch(model, N, threads=threads)
        batch.expand("body_mass", values[order])
        controls = np.random.default_rng(1).uniform(-0.5, 0.5, (N, STEPS, model.nu))
        batch.rollout(controls[order], record=())
        back = np.empty_like(batch.qpos)
        back[order] = batch.qpos
        wanted = back if wanted is None else wanted
        assert np.array_equal(back, wanted)


def test_a_start_of_each_world():
    model = kt.load("arm")
    batch = kt.Batch(model, N)
    starts = model.qpos0 + np.linspace(0.0, 0.1, N)[:, None]
    batch.expand("qpos0", starts)
    batch.reset()
    assert np.array_equal(batch.qpos, starts)


def test_copies_and_pickles_keep_parameters():
    model = kt.load("humanoid")
    batch = kt.Batch(model, N)
    batch.expand("body_mass", varied(model, "body_mass"))
    for other in (batch.copy(), pickle.loads(pickle.dumps(batch))):
        assert np.array_equal(driven(other), driven(batch.copy()))


BAD = {
    "batch.expand('nbody', 3)": (AttributeError, "no field"),
    "batch.expand('body_parentid', 0)": (AttributeError, "shared by all worlds"),
    "batch.expand('body_mas', 0)": (AttributeError, "did you mean 'body_mass'"),
    "batch.expand('body_mass', np.zeros(3))": (ValueError, "expected shape"),
    "batch.expand('body_mass', np.full(model.nbody, np.nan))": (ValueError, "nan"),
    "batch.expand('body_mass', 0.0 * model.body_mass)": (kt.ModelError, "body_mass"),
    "batch.expand('body_mass', model.body_mass, ids=[99])": (IndexError, "world 99"),
}


@pytest.mark.parametrize("line", BAD)
def test_what_cannot_be_is_refused_and_nothing_is_changed(line):
    model = kt.load("humanoid")
    batch = kt.Batch(model, N)
    batch.expand("dof_damping", varied(model, "dof_damping"))
    before = {name: batch.expand(name) for name in batch.expanded}
    kind, words = BAD[line]
    with pytest.raises(kind, match=words):
        eval(line, {"np": np, "batch": batch, "model": model})
    assert set(batch.expanded) == set(before)
    assert all(np.array_equal(batch.expand(name), rows) for name, rows in before.items())


def test_every_real_field_that_may_be_edited_can_be_expanded():
    model = kt.load("humanoid")
    batch = kt.Batch(model, 3)
    for name, field in MODEL_FIELDS.items():
        follows = name in DERIVED and name not in PARTLY
        if field.per_world and field.writable and field.dtype == "float64" and not follows:
            batch.expand(name, getattr(model, name))
    alike = kt.Batch(model, 3)
    controls = np.random.default_rng(0).uniform(-0.5, 0.5, (3, STEPS, model.nu))
    for each in (batch, alike):
        each.rollout(controls, record=())
    np.testing.assert_allclose(batch.qpos, alike.qpos, atol=BATCH_SOLVED)


def test_a_keyframe_of_each_world():
    model = kt.load("humanoid")
    batch = kt.Batch(model, 3)
    poses = model.key_qpos + np.array([0.0, 0.1, 0.2])[:, None, None]
    batch.expand("key_qpos", poses)
    batch.reset(keyframe="squat")
    k = model.id("keyframe", "squat")
    assert np.array_equal(batch.qpos, poses[:, k])
