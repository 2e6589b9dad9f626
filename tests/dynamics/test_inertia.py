"""The joint-space inertia and the recursions from Python, against MuJoCo and dense algebra."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.states import copy_state, random_state
from kinetree.conformance.tolerances import FORCE, INERTIA
from tests.corpora import own_models
from tests.trees import random_tree

SOURCES = {path.stem: path for _, path in own_models() if path.stem in ("joints", "tendons", "actuators", "humanoid")}
SOURCES |= {f"tree{seed}": random_tree(seed, nbody=10) for seed in range(3)}


@pytest.fixture(params=SOURCES)
def both(request):
    model = kt.load(SOURCES[request.param])
    model.opt.disableflags = kt.DisableBit.CONSTRAINT
    mj = model.to_mujoco()
    theirs = random_state(mj, np.random.default_rng(2))
    ours = kt.Data(model)
    copy_state(theirs, ours)
    kt.forward(model, ours)
    mujoco.mj_forward(mj, theirs)
    return model, ours, mj, theirs


def close(model, what, ours, theirs, tolerance):
    error = np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max())
    assert error <= tolerance, f"{model.title}: {what} differs by {error}"


def test_dense_matrix_products_and_solves(both):
    model, data, mj, theirs = both
    x = np.random.default_rng(0).normal(size=model.nv)
    product, solution = np.zeros(mj.nv), np.zeros((1, mj.nv))
    mujoco.mj_mulM(mj, theirs, product, x)
    mujoco.mj_solveM(mj, theirs, solution, x[None])
    dense = kt.full_m(model, data)
    close(model, "mul_m", kt.mul_m(model, data, x), product, INERTIA)
    close(model, "full_m times x", dense @ x, product, INERTIA)
    np.testing.assert_array_equal(dense, dense.T)
    assert np.linalg.eigvalsh(dense).min() > 0
    close(model, "solve_m", kt.mul_m(model, data, kt.solve_m(model, data, x)), x, 1e-9)


def test_rne_equals_mujocos(both):
    model, data, mj, theirs = both
    result = np.zeros(mj.nv)
    theirs.qacc[:] = data.qacc
    for acceleration in (False, True):
        mujoco.mj_rne(mj, theirs, int(acceleration), result)
        close(model, f"rne, acceleration {acceleration}", kt.rne(model, data, acceleration), result, FORCE)


def test_aba_gives_the_accelerations_of_forward(both):
    model, data, _, _ = both
    if model.tendon_armature.any() or (model.tendon_actuatorid >= 0).any():
        with pytest.raises(kt.UnsupportedFeatureError, match="tendon"):
            kt.aba(model, data)
    else:
        close(model, "aba", kt.aba(model, data), data.qacc_smooth, 1e-9)
        force = np.random.default_rng(1).normal(size=model.nv)
        wanted = np.linalg.solve(kt.full_m(model, data), force - data.qfrc_bias)
        close(model, "aba with a force", kt.aba(model, data, force), wanted, 1e-9)


def test_wrong_vectors():
    model = kt.load("arm")
    data = kt.Data(model)
    for function in (kt.mul_m, kt.solve_m, kt.aba):
        with pytest.raises(ValueError, match=r"expected shape"):
            function(model, data, np.zeros(3))
        with pytest.raises(TypeError, match="Data"):
            function(model, None, np.zeros(model.nv))
