"""States and inputs that are not numbers must be seen in qacc, by every solver, as in MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import SOLVED
from kinetree.types import Cone, Solver
from tests.dynamics.paired import same

FAULTS = {"qvel": np.inf, "qfrc_applied": np.nan, "xfrc_applied": np.inf}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("cone", list(Cone), ids=lambda c: c.name)
@pytest.mark.parametrize("solver", list(Solver), ids=lambda s: s.name)
def test_bad_numbers_reach_the_acceleration(solver, cone, fault):
    model = kt.load("humanoid")
    model.opt.solver, model.opt.cone = solver, cone
    data = kt.Data(model)
    kt.step(model, data, 300)
    mj = model.to_mujoco()
    theirs = mujoco.MjData(mj)
    theirs.qpos[:], theirs.qvel[:] = data.qpos, data.qvel
    for side in (data, theirs):
        getattr(side, fault).flat[8] = FAULTS[fault]
    kt.forward(model, data)
    mujoco.mj_forward(mj, theirs)
    assert data.ncon > 0 and np.isfinite(data.qacc).all() == np.isfinite(theirs.qacc).all()
    if not np.isfinite(theirs.qacc).all():
        with pytest.warns(kt.SimulationWarning, match="the state is reset"):
            kt.step(model, data)


@pytest.mark.parametrize("solver", [Solver.NEWTON, Solver.CG], ids=lambda s: s.name)
def test_a_bad_warm_start_is_passed_over(solver):
    """It is a guess, not an input: the smooth acceleration is another."""
    model = kt.load("humanoid")
    model.opt.solver, model.opt.tolerance, model.opt.iterations = solver, 1e-15, 1000
    data = kt.Data(model)
    kt.step(model, data, 300)
    kt.forward(model, data)
    wanted = data.qacc.copy()
    data._arrays["qacc_warmstart"][8] = np.nan
    kt.forward(model, data)
    same(data.qacc, wanted, SOLVED, "qacc")
