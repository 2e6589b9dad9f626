"""Worlds of a corpus model in motion and in contact, for tests that compare machines."""

from __future__ import annotations

import warnings

import numpy as np

import kinetree as kt
from tests.corpora import entries

CORPUS = {entry.name: entry.source for entry in entries()}


def loaded(name: str) -> kt.Model:
    """A model of the corpus."""
    return kt.load(CORPUS[name]())


def moving(model: kt.Model, count: int, every: int = 4, settle: int = 20, seed: int = 0) -> list[kt.Data]:
    """States along one motion under random controls, the first after some steps, by which most models touch the ground."""
    rng, data, out = np.random.default_rng(seed), kt.Data(model), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.SimulationWarning)
        for k in range(settle + every * (count - 1) + 1):
            data.ctrl[:] = rng.uniform(-0.5, 0.5, model.nu)
            kt.step(model, data)
            if k >= settle and (k - settle) % every == 0:
                out.append(data.copy())
    return out


def stepped(model: kt.Model, data: kt.Data) -> kt.Data:
    """The state after one more step, and the results of that step."""
    out = data.copy()
    kt.pipeline.forward(model, out)
    kt.pipeline.integrate(model, out)
    return out
