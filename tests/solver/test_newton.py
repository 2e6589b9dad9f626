"""Newton's solver against MuJoCo's: solution, every iteration's statistics, states, options, and degenerate scenes."""

from __future__ import annotations

import functools

import mujoco
import numpy as np
import pytest

from kinetree.types import Cone, Constraint, ConstraintState, DisableBit, Jacobian
from tests.constraint.paired_rows import our_jacobian
from tests.dynamics.paired import same
from tests.solver.lanes_solved import solve_side_by_side
from tests.solver.solved import (
    SCENES,
    TIGHT,
    agree,
    agree_by_iteration,
    agree_on_states,
    iterations,
    optimality,
    scene,
    solved,
)
from tests.solver.worlds import DEGENERATE, HANGING, of_text

EXACT = 1e-11  # the same iterations in the same order: only rounding differs, amplified by the stiffness of rows
STATES = {
    (Constraint.EQUALITY, ConstraintState.QUADRATIC),
    *((Constraint.FRICTION_DOF, s) for s in (ConstraintState.QUADRATIC, ConstraintState.LINEARNEG, ConstraintState.LINEARPOS)),
    (Constraint.FRICTION_TENDON, ConstraintState.LINEARPOS),
    *((Constraint.LIMIT_JOINT, s) for s in (ConstraintState.SATISFIED, ConstraintState.QUADRATIC)),
    (Constraint.LIMIT_TENDON, ConstraintState.QUADRATIC),
    *((Constraint.CONTACT_FRICTIONLESS, s) for s in (ConstraintState.SATISFIED, ConstraintState.QUADRATIC)),
    *((Constraint.CONTACT_PYRAMIDAL, s) for s in (ConstraintState.SATISFIED, ConstraintState.QUADRATIC)),
    *((Constraint.CONTACT_ELLIPTIC, s) for s in (ConstraintState.SATISFIED, ConstraintState.QUADRATIC, ConstraintState.CONE)),
}  # fmt: skip


@pytest.mark.parametrize("tolerance", [1e-8, TIGHT])
@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", SCENES)
def test_every_iteration_equals_mujocos(name, cone, tolerance):
    for seed in (3, 4):
        pair = solved(scene(name, seed, cone=cone, tolerance=tolerance))
        assert pair.ours.nefc > 0 and pair.ours.solver_niter[0] > 0
        agree(pair, EXACT, str(seed))
        agree_by_iteration(pair, 1e-7, str(seed))
        agree_on_states(pair, str(seed))
        if not mujoco.mj_isSparse(pair.mj):
            assert pair.ours.solver_nnz[0] == pair.theirs.solver_nnz[0]


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", SCENES)
def test_solution_is_the_optimum(name, cone):
    """The gradient of the cost, with MuJoCo's forces at our acceleration, is far below any tolerance."""
    pair = solved(scene(name, cone=cone, tolerance=0.0))
    assert optimality(pair) < 1e-10


def test_states_of_every_kind_of_row():
    """Every state that a row can have is met in some scene, and is MuJoCo's there."""

    def still(mj, theirs):
        theirs.qvel[:], theirs.qfrc_applied[:], theirs.xfrc_applied[:] = 0.0, 0.0, 0.0

    found = set()
    for name in ("contacts", "limits", "equalities"):
        for cone in Cone:
            for seed in range(8):
                pair = scene(name, seed, still if name == "limits" and seed % 2 else None, cone=cone)
                found |= agree_on_states(solved(pair), f"{cone} {seed}")
    assert found >= STATES, STATES - found


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
@pytest.mark.parametrize("cone", list(Cone))
def test_iteration_limit(limit, cone):
    pair = solved(scene("contacts", cone=cone, iterations=limit))
    assert iterations(pair) == (limit, limit)
    agree(pair, EXACT)


@pytest.mark.parametrize("limit", [3, 5])
@pytest.mark.parametrize("name", ["contacts", "limits", "dm_control/suite/humanoid_CMU.xml"])
def test_short_line_search(name, limit):
    """Steps that are cut short lead to the same optimum; with one or two evaluations they need not settle."""
    pair = solved(scene(name, cone=Cone.ELLIPTIC, ls_iterations=limit))
    assert 0 < pair.ours.solver_niter[0] < 20
    best = solved(scene(name, cone=Cone.ELLIPTIC, tolerance=0.0))
    same(pair.ours.qacc, best.ours.qacc, 1e-4, f"{name} {limit} qacc")


@pytest.mark.parametrize("name", ["contacts", "limits", "equalities", "dm_control/suite/humanoid.xml"])
def test_cold_start(name):
    pair = solved(scene(name, disable=DisableBit.WARMSTART))
    agree(pair, EXACT)
    agree_by_iteration(pair, 1e-7)


def start_from(qacc, mj, theirs):
    """Warm start from a given acceleration."""
    theirs.qacc_warmstart[:] = qacc


def test_good_guess_needs_no_iteration():
    """From the solution itself nothing is done, and what is reported is the size of the Jacobian."""
    for name in ("contacts", "equalities", "dm_control/suite/humanoid.xml"):
        pair = solved(scene(name, cone=Cone.PYRAMIDAL))
        qacc = pair.ours.qacc.copy()
        again = solved(scene(name, change=functools.partial(start_from, qacc), cone=Cone.PYRAMIDAL))
        assert iterations(again) == (0, 0)
        if name != "contacts":  # there MuJoCo counts rows that it made room for and left out
            assert again.ours.solver_nnz[0] == again.theirs.solver_nnz[0]
        agree(again, 1e-10)


@pytest.mark.parametrize("jacobian", [Jacobian.DENSE, Jacobian.SPARSE])
@pytest.mark.parametrize("name", ["contacts", "equalities", "dm_control/suite/dog.xml"])
def test_dense_and_sparse_give_the_same(name, jacobian):
    pair = solved(scene(name, jacobian=jacobian, noslip_iterations=0, steps=60))
    agree(pair, EXACT)
    agree_by_iteration(pair, 1e-7)


def test_no_rows():
    pair = solved(of_text(HANGING))
    assert pair.ours.nefc == 0 and (pair.ours.qacc == pair.ours.qacc_smooth).all()
    assert not pair.ours.qfrc_constraint.any() and not pair.ours.solver_niter.any()


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_scenes(name, cone):
    """The same constraint several times, contacts without friction, masses of a milligram and of a thousand tons."""
    pair = solved(of_text(DEGENERATE[name], cone=cone))
    assert pair.ours.nefc > 0 and np.isfinite(pair.ours.qacc).all()
    same(pair.ours.qacc, pair.theirs.qacc, 1e-8, "qacc")
    # a force is a row's mass times what rounding leaves of a difference of accelerations: without friction pyramids weigh 4e11
    jacobian = np.abs(our_jacobian(pair.ours))
    rounding = 2.0**-52 * pair.ours.efc_D * (jacobian @ np.abs(pair.ours.qacc) + np.abs(pair.ours.efc_aref))
    for field, part in (("efc_force", rounding), ("qfrc_constraint", jacobian.T @ rounding)):
        got, wanted = getattr(pair.ours, field), getattr(pair.theirs, field)
        assert (np.abs(got - wanted) <= 1e-8 * np.maximum(1.0, np.abs(wanted).max()) + part).all(), field
    assert iterations(pair)[0] == iterations(pair)[1]


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize(
    "name", ["contacts", "limits", "dm_control/suite/humanoid.xml", "dm_control/suite/humanoid_CMU.xml"]
)
def test_eight_worlds_on_lanes(name, cone):
    """Worlds with different constraints, which converge after different numbers of iterations, have what they have alone."""
    again = "CMU" in name  # on floats one of its worlds stops where lanes go on, at an improvement of 1e-15
    counts = solve_side_by_side(name, 1e-9, again, cone=cone, tolerance=TIGHT)
    assert len(set(counts)) > 1


# Two branches of a tree, held together by a joint equality; each of them holds another body.
BRANCHES = """<mujoco><option jacobian="{jacobian}"><flag contact="disable"/></option><worldbody>
  <body><joint axis="0 1 0"/><geom size=".05" pos=".1 0 0"/>
    <body pos=".2 .1 0"><joint name="l" axis="0 1 .2"/><geom size=".05" pos=".1 0 0"/><site name="l" pos=".1 0 0"/></body>
    <body pos=".2 -.1 0"><joint name="r" axis="0 1 -.2"/><geom size=".05" pos=".1 0 0"/><site name="r" pos=".1 0 0"/></body>
  </body>
  <body pos=".5 .4 0"><freejoint/><geom size=".05"/><site name="a" pos=".02 .01 .03"/></body>
  <body pos=".5 -.4 0"><freejoint/><geom size=".05"/><site name="b" pos=".02 .01 .03"/></body></worldbody>
  <tendon><spatial limited="true" range="0 .1"><site site="r"/><site site="b"/></spatial></tendon>
  <equality><connect site1="l" site2="a"/><joint joint1="l" joint2="r"/></equality></mujoco>"""


@pytest.mark.parametrize("jacobian", ["dense", "sparse"])
def test_branches_that_are_joined_and_hold_others(jacobian):
    """MuJoCo's dense solver is the oracle: its sparse one runs to its limit here, and ends elsewhere."""
    pair, wanted = of_text(BRANCHES.format(jacobian=jacobian)), of_text(BRANCHES.format(jacobian="dense"))
    solved(pair), solved(wanted)
    same(pair.ours.qacc, wanted.theirs.qacc, 1e-9, f"{jacobian} qacc")
    assert iterations(pair)[0] == iterations(wanted)[1] < 5
