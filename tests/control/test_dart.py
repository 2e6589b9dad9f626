"""Stable PD on DART's skeleton, dense, against ours: another engine, other code, other coordinates (`dartpy`)."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from benchmarks.trees import tree

pytest.importorskip("dartpy")
from benchmarks.dart_skeleton import dense_spd, positions, skeleton  # noqa: E402

TOLERANCE = 1e-8


@pytest.mark.parametrize("solver", ["dense", "sparse", "maba"])
@pytest.mark.parametrize("count, arity, kind", [(20, 1, "hinge"), (15, 2, "ball"), (8, 1, "ball"), (30, 3, "hinge")])
def test_torques_agree(count, arity, kind, solver):
    model = kt.load(tree(count, arity, kind, timestep=0.01))
    skel, rng = skeleton(model), np.random.default_rng(count)
    assert skel.getNumDofs() == model.nv
    for _ in range(3):
        data, kp, kd = kt.Data(model), rng.uniform(1.0, 300.0, model.nv), rng.uniform(0.1, 30.0, model.nv)
        data.qpos = kt.integrate_pos(model, model.qpos0, rng.normal(size=model.nv), 0.5)
        data.qvel = rng.normal(size=model.nv)
        target = kt.integrate_pos(model, data.qpos, rng.normal(size=model.nv), 0.3)
        got = kt.StablePD(model, kp, kd, solver=solver).torque(data, target)
        q, goal = positions(model, data.qpos), positions(model, target)
        wanted = dense_spd(skel, q, data.qvel.copy(), goal, kp, kd, 0.01)
        error = np.abs(got - wanted).max() / max(1.0, np.abs(wanted).max())
        assert error < TOLERANCE, f"{model.title} {solver}: {got} against DART's {wanted}"
