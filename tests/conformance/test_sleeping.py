"""The layer of sleep: it has something to compare, agrees, and would notice if it did not."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.compare import Pair, check
from kinetree.conformance.sleeping import PUSHED, RECORDER, SLEEP_LAYERS, STEPS
from tests.corpora import own_models

MODELS = {path.name: path for _, path in own_models()}
SLEEPERS = ("asleep.xml", "contacts.xml", "frames.xml", "mocap.xml", "sensors.xml", "servos.xml", "sleep.xml")


@pytest.mark.parametrize("name", SLEEPERS)
def test_models_whose_trees_sleep(name):
    report = check(MODELS[name], states=2, layers=SLEEP_LAYERS)
    assert report.ok, str(report)
    assert all(count > 0 for count in report.counts["sleep"]) and not report.empty("sleep")


def test_what_cannot_sleep_is_nothing_to_compare():
    report = check(MODELS["equalities.xml"], states=1, layers=SLEEP_LAYERS)  # tendons in equalities
    assert report.ok and report.empty("sleep")


def test_the_settings_are_taken_back():
    pair, layer = Pair.of(MODELS["servos.xml"]), SLEEP_LAYERS[0]
    for model in (pair.ours_model, pair.theirs_model):
        before = model.tree_sleep_policy.copy(), int(model.opt.enableflags), int(model.opt.disableflags)
        with layer.setting(model):
            assert int(model.opt.enableflags) & kt.EnableBit.SLEEP
            assert (model.tree_sleep_policy != before[0]).any()
        assert (model.tree_sleep_policy == before[0]).all()
        assert (int(model.opt.enableflags), int(model.opt.disableflags)) == before[1:]


def test_a_tree_that_oversleeps_is_noticed():
    """Ours as if the push had not been: every tree that it wakes differs from then on."""

    def step_without_push(model, data):
        data.qvel[:] = np.where(data.tree_awake[model.dof_treeid], data.qvel, 0.0)
        kt.step(model, data)

    layer = dataclasses.replace(SLEEP_LAYERS[0], run=RECORDER.motion(step_without_push))
    report = check(MODELS["contacts.xml"], states=1, layers=[layer])
    assert not report.ok
    worst = {result.field: result for result in report.failures()}["tree_asleep"]
    assert worst.index is not None and PUSHED <= worst.index[0] < STEPS


def test_runs_wake_at_the_push():
    pair, layer = Pair.of(MODELS["contacts.xml"]), SLEEP_LAYERS[0]
    with layer.setting(pair.theirs_model):
        layer.prepare(pair.theirs_model, pair.theirs, np.random.default_rng(0))
        mujoco.mj_step(pair.theirs_model, pair.theirs, PUSHED)
        asleep = pair.theirs.tree_asleep[0] >= 0
        pair.theirs.qvel[0] = 0.05
        mujoco.mj_step(pair.theirs_model, pair.theirs)
        assert asleep and pair.theirs.tree_asleep[0] < 0
