"""Conjugate gradients against MuJoCo's, iteration by iteration, and against Newton's solution."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from kinetree.types import Cone, DisableBit, Solver
from tests.dynamics.paired import same
from tests.solver.lanes_solved import solve_side_by_side
from tests.solver.solved import SCENES, TIGHT, agree, agree_by_iteration, agree_on_states, iterations, scene, solved
from tests.solver.worlds import DEGENERATE, of_text

CG = Solver.CG


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", SCENES)
def test_first_iterations_equal_mujocos(name, cone):
    """Later ones drift apart by rounding: each direction is built on the last."""
    for limit in (1, 2, 5):
        pair = solved(scene(name, solver=CG, cone=cone, iterations=limit))
        agree(pair, 1e-9, str(limit))
        agree_by_iteration(pair, 1e-7, str(limit))
        agree_on_states(pair, str(limit))


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", SCENES)
def test_stops_where_mujoco_stops(name, cone):
    pair = solved(scene(name, solver=CG, cone=cone))
    assert iterations(pair)[0] == iterations(pair)[1]
    agree(pair, 1e-4)
    if not mujoco.mj_isSparse(pair.mj) and name != "contacts":  # there MuJoCo made room for rows that it left out
        assert pair.ours.solver_nnz[0] == pair.theirs.solver_nnz[0]


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", SCENES)
def test_reaches_newtons_solution(name, cone):
    newton = solved(scene(name, cone=cone, tolerance=TIGHT))
    pair = solved(scene(name, solver=CG, cone=cone, tolerance=1e-18, iterations=2000, ls_tolerance=1e-4))
    same(pair.ours.qacc, newton.ours.qacc, 1e-5, f"{name} qacc")
    same(pair.ours.efc_force, newton.ours.efc_force, 1e-5, f"{name} efc_force")


@pytest.mark.parametrize("name", ["contacts", "limits", "dm_control/suite/humanoid.xml"])
def test_cold_start(name):
    pair = solved(scene(name, solver=CG, disable=DisableBit.WARMSTART, iterations=4))
    agree(pair, 1e-9)
    agree_by_iteration(pair, 1e-7)


def test_good_guess_needs_no_iteration():
    qacc = solved(scene("equalities", tolerance=TIGHT)).ours.qacc.copy()
    again = solved(scene("equalities", change=lambda mj, theirs: np.copyto(theirs.qacc_warmstart, qacc), solver=CG))
    assert iterations(again) == (0, 0) and again.ours.solver_nnz[0] == again.theirs.solver_nnz[0]


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_scenes(name):
    pair = solved(of_text(DEGENERATE[name], solver=CG, iterations=5))
    assert np.isfinite(pair.ours.qacc).all()
    agree(pair, 1e-5)


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", ["limits", "dm_control/suite/humanoid.xml"])
def test_eight_worlds_on_lanes(name, cone):
    counts = solve_side_by_side(name, 1e-5, solver=CG, cone=cone, tolerance=1e-18, iterations=1000)
    assert len(set(counts)) > 1
