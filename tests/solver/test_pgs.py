"""The dual solvers against MuJoCo's: projected Gauss-Seidel sweep by sweep, and friction without slip after any solver."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from kinetree.kernel import stage
from kinetree.solver.dual import project
from kinetree.solver.qcqp import solve_on_disc
from kinetree.solver.shuffle import FIRST, LOW32, next_state, number
from kinetree.types import Cone, Constraint, DisableBit, Jacobian, Solver
from tests.constraint.paired_rows import our_jacobian
from tests.dynamics.paired import same
from tests.solver.lanes_solved import solve_side_by_side
from tests.solver.solved import (
    SCENES,
    TIGHT,
    agree,
    agree_by_iteration,
    agree_on_states,
    inertia,
    iterations,
    ready,
    scene,
    solved,
)
from tests.solver.worlds import DEGENERATE, of_text

PGS = Solver.PGS


@stage
def whitened(m, d):
    """The rows Y."""
    project(m, d)


@stage
def on_disc(m, d):
    """The quadratic problem in disc_A, disc_b with solver_nnz unknowns and the radius in solver_fwdinv."""
    solve_on_disc(d, d.solver_nnz[0], d.solver_fwdinv[0], d.solver_fwdinv[0] > 0.0)


def test_generator_is_pcg32():
    """The two halves of the state against arithmetic with as many bits as it takes."""
    state, (high, low) = 1, FIRST
    for _ in range(2000):
        assert high << 32 | low == state
        bits, turn = ((state >> 18 ^ state) >> 27) & LOW32, state >> 59
        assert number(high, low) == (bits >> turn | bits << (-turn & 31)) & LOW32
        state = (state * 6364136223846793005 + 1) % 2**64
        high, low = next_state(high, low)


@pytest.mark.parametrize("jacobian", [Jacobian.DENSE, Jacobian.SPARSE])
@pytest.mark.parametrize("name", SCENES)
def test_whitened_rows(name, jacobian):
    """Y Y' is J M^-1 J'."""
    pair = ready(scene(name, jacobian=jacobian))
    ours = pair.ours
    whitened(pair.model, ours)
    matrix = np.zeros((ours.nefc, pair.model.nv))
    for row in range(ours.nefc):
        first, count = ours.efc_Y_rowadr[row], ours.efc_Y_rownnz[row]
        columns = ours._arrays["efc_Y_colind"][first : first + count]
        assert (np.diff(columns) > 0).all()
        matrix[row, columns] = ours._arrays["efc_Y"][first : first + count]
    jacobian = our_jacobian(ours)
    same(matrix @ matrix.T, jacobian @ np.linalg.solve(inertia(pair), jacobian.T), 1e-10, f"{name} Y Y'")


def best_on_disc(matrix, linear, radius):
    """The same by eigenvalues and bisection for the multiplier; whether it lies on the boundary."""
    values, vectors = np.linalg.eigh(matrix)
    b = vectors.T @ linear
    if np.linalg.norm(b / values) <= radius:
        return -vectors @ (b / values), False
    low, high = 0.0, 1.0
    while np.linalg.norm(b / (values + high)) > radius:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.linalg.norm(b / (values + middle)) > radius else (low, middle)
    return -vectors @ (b / (values + low)), True


@pytest.mark.parametrize("n", [2, 3, 5])
def test_quadratic_over_a_disc(n):
    """Inside and on the boundary; where the matrix is singular the result is zero, as in MuJoCo."""
    pair, rng, on_boundary = of_text(DEGENERATE["no friction"]), np.random.default_rng(n), 0
    arrays = pair.ours._arrays
    for k in range(80):
        root = rng.normal(size=(n, n)) if k % 10 else np.zeros((n, n))
        matrix, linear, radius = (
            root @ root.T + 0.1 * np.eye(n) * bool(k % 10),
            rng.normal(size=n),
            rng.uniform(0.01, 3.0),
        )
        arrays["solver_nnz"][0], arrays["solver_fwdinv"][0] = n, radius
        arrays["disc_A"][: n * n], arrays["disc_b"][:n] = matrix.ravel(), linear
        on_disc(pair.model, pair.ours)
        wanted, outside = best_on_disc(matrix, linear, radius) if k % 10 else (np.zeros(n), False)
        same(arrays["disc_v"][:n], wanted, 1e-8, f"{n} {k}")
        assert not outside or abs(np.linalg.norm(arrays["disc_v"][:n]) - radius) < 1e-12
        on_boundary += outside
    assert 10 < on_boundary < 70


@pytest.mark.parametrize("tolerance", [1e-8, TIGHT])
@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", SCENES)
def test_every_sweep_equals_mujocos(name, cone, tolerance):
    for seed in (3, 4):
        pair = solved(scene(name, seed, solver=PGS, cone=cone, tolerance=tolerance))
        agree(pair, 1e-9, str(seed))
        agree_by_iteration(pair, 1e-8, str(seed))
        if not mujoco.mj_isSparse(pair.mj):
            assert pair.ours.solver_nnz[0] == pair.theirs.solver_nnz[0]


@pytest.mark.parametrize("name", ["contacts", "limits", "equalities"])
def test_states(name):
    """Elliptic contacts on the surface of their cone are left out: there MuJoCo's state hangs on the last digit."""
    for seed in range(4):
        agree_on_states(solved(scene(name, seed, solver=PGS, cone=Cone.PYRAMIDAL)), str(seed))
    pair = solved(scene(name, solver=PGS, cone=Cone.ELLIPTIC))
    others = pair.ours.efc_type != Constraint.CONTACT_ELLIPTIC
    assert (pair.ours.efc_state == pair.theirs.efc_state)[others].all()


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", ["limits", "dm_control/suite/humanoid.xml", "dm_control/suite/quadruped.xml"])
def test_reaches_newtons_solution(name, cone):
    newton = solved(scene(name, cone=cone, tolerance=TIGHT))
    pair = solved(scene(name, solver=PGS, cone=cone, tolerance=0.0, iterations=3000))
    same(pair.ours.qacc, newton.ours.qacc, 1e-6, f"{name} qacc")


@pytest.mark.parametrize("limit", [0, 1, 2, 7])
@pytest.mark.parametrize("disable", [0, DisableBit.WARMSTART])
def test_limit_of_sweeps_and_cold_start(limit, disable):
    for cone in Cone:
        pair = solved(scene("contacts", solver=PGS, cone=cone, disable=disable, iterations=limit))
        assert iterations(pair) == (limit, limit)
        agree(pair, 1e-9)


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_scenes(name, cone):
    pair = solved(of_text(DEGENERATE[name], solver=PGS, cone=cone))
    assert np.isfinite(pair.ours.qacc).all() and iterations(pair)[0] == iterations(pair)[1]
    agree(pair, 1e-8)


@pytest.mark.parametrize("solver", list(Solver))
@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", SCENES)
def test_friction_without_slip(name, cone, solver):
    """After each of the solvers; the sweeps count on from the solver's own."""
    options = {"solver": solver, "cone": cone, "iterations": 5}
    for limit, tolerance in ((1, 0.0), (4, 1e-6)):
        pair = solved(scene(name, noslip_iterations=limit, noslip_tolerance=tolerance, **options))
        agree(pair, 1e-8, str(limit))
        agree_by_iteration(pair, 1e-7, str(limit))
    if name == "contacts":
        assert np.abs(solved(scene(name, **options)).ours.efc_force - pair.ours.efc_force).max() > 0.1


@pytest.mark.parametrize("noslip", [0, 5])
@pytest.mark.parametrize("cone", list(Cone))
def test_eight_worlds_on_lanes(cone, noslip):
    """The order of visits hangs on the rows of all worlds, so only what has converged can be the same."""
    options = {"solver": PGS, "cone": cone, "tolerance": 1e-20, "iterations": 2000, "noslip_iterations": noslip}
    solve_side_by_side("limits", 1e-5, **options)
    if noslip == 0:
        solve_side_by_side("dm_control/suite/humanoid.xml", 1e-5, **options)
