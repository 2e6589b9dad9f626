"""A world on lanes does not see its neighbours: with others beside it, all of its numbers are the same, to the last bit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from tests.pipeline.worlds import CORPUS, loaded, moving

WIDTH = 8
COMPARED = (
    "qpos qvel act qacc qfrc_constraint solver_niter xpos xquat cvel qfrc_passive qfrc_actuator sensordata".split()
)


@pytest.mark.parametrize("name", CORPUS)
def test_a_world_does_not_see_its_neighbours(name):
    model = loaded(name)
    model.opt.enableflags &= ~kt.EnableBit.SLEEP  # what sleeps keeps the results of the last pass that had it awake
    calm = moving(model, WIDTH)
    strange, rng = calm[::-1], np.random.default_rng(5)
    for data in strange[1:]:
        data.qpos[:] += 0.3 * rng.normal(size=model.nq)  # quaternions that are not of length one among them
        data.qvel[:] *= 20.0
        data.ctrl[:] *= 50.0
    kept = calm[WIDTH - 1]
    alone = lanes_of(model, [kept.copy() for _ in range(WIDTH)])
    among = lanes_of(model, strange)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.SimulationWarning)
        for lanes in (alone, among):
            lanes.run(kt.pipeline.fwd_position)  # makes room: of a pass made twice the sensor of kinetic energy tells
            lanes.run(kt.pipeline.forward)
            lanes.run(kt.pipeline.integrate)
    for field in COMPARED:
        got, wanted = among.arrays[field][..., 0], alone.arrays[field][..., 3]
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        if not same.all():
            at = tuple(np.argwhere(~same)[0])
            pytest.fail(f"{model.title} {field}{list(map(int, at))}: {got[at]!r} among strangers, {wanted[at]!r} alone")
