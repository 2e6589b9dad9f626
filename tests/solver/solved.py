"""MuJoCo's solution and ours of the same rows: same state, same contacts, no islands."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from kinetree.conformance.states import copy_state
from kinetree.solver.solve import fwd_constraint
from kinetree.types import Constraint, ConstraintState, DisableBit
from tests.constraint.paired_rows import at_rest, in_state, our_jacobian
from tests.constraint.test_make import CONTACTS, EQUALITIES, LIMITS, beyond_limits, corpus
from tests.dynamics.paired import Pair, same

TIGHT = 1e-15  # a tolerance that only rounding can end
# Rows of every kind, and corpus models with the steps after which they touch something.
SCENES: dict[str, int] = {
    "contacts": 0, "limits": 0, "equalities": 0,
    "dm_control/suite/humanoid.xml": 300, "dm_control/suite/quadruped.xml": 200, "dm_control/suite/hopper.xml": 300,
    "dm_control/suite/manipulator.xml": 100, "dm_control/suite/humanoid_CMU.xml": 300,
}  # fmt: skip


def scene(name: str, seed: int = 3, change: Any = None, disable: int = 0, steps: int = 200, **options: Any) -> Pair:
    """Both sides with their rows made, islands off. disable: more flags to switch off. options: values for `opt`."""

    def altered(mj: mujoco.MjModel, theirs: mujoco.MjData) -> None:
        mj.opt.disableflags |= DisableBit.ISLAND | disable
        for option, value in options.items():
            setattr(mj.opt, option, value)
        if name == "limits":
            beyond_limits(mj, theirs)
        if change is not None:
            change(mj, theirs)

    if name == "contacts":
        return at_rest(CONTACTS, altered, seed)
    if name in ("limits", "equalities"):
        return in_state(LIMITS if name == "limits" else EQUALITIES, seed, 0, altered)
    return in_state(corpus(name), seed, SCENES.get(name, steps), altered)


def ready(pair: Pair) -> Pair:
    """MuJoCo solved, our side with all that the solver reads but with nothing solved."""
    mj, theirs, _, ours = pair
    mujoco.mj_forward(mj, theirs)
    assert theirs.nefc == ours.nefc, f"{pair.model.title} nefc: {ours.nefc}, {theirs.nefc}"
    ours.qfrc_smooth[:], ours.qacc_smooth[:] = theirs.qfrc_smooth, theirs.qacc_smooth
    return pair


def solved(pair: Pair) -> Pair:
    """Both sides solved."""
    ready(pair)
    fwd_constraint(pair.model, pair.ours)
    return pair


def iterations(pair: Pair) -> tuple[int, int]:
    """Iterations of both sides."""
    return int(pair.ours.solver_niter[0]), int(pair.theirs.solver_niter[0])


def agree(pair: Pair, tolerance: float, note: str = "") -> None:
    """Accelerations, forces and their sum in joint space equal MuJoCo's."""
    what = f"{pair.model.title} {note}"
    for name in ("qacc", "efc_force", "qfrc_constraint"):
        same(getattr(pair.ours, name), getattr(pair.theirs, name), tolerance, f"{what} {name}")


def agree_by_iteration(pair: Pair, tolerance: float, note: str = "") -> None:
    """The number of iterations and what each achieved equal MuJoCo's."""
    what, (ours, theirs) = f"{pair.model.title} {note}", iterations(pair)
    assert ours == theirs, f"{what} solver_niter: {ours}, {theirs}"
    stat = pair.theirs.solver[: min(theirs, 200)]
    for name in ("improvement", "gradient"):
        wanted = [getattr(s, name) for s in stat]
        same(getattr(pair.ours, f"solver_{name}")[: len(wanted)], wanted, tolerance, f"{what} {name}")
    wanted = [s.lineslope for s in stat]
    slopes = pair.ours.solver_lineslope[: len(wanted)]
    if pair.mj.opt.tolerance > TIGHT:
        same(slopes, wanted, 1e-9, f"{what} lineslope")
    else:
        most = np.maximum(1e-9, steepest_nearby(pair, len(wanted)))
        assert (slopes <= 1.001 * most).all(), f"{what} lineslope: {slopes} against at most {most}"


def steepest_nearby(pair: Pair, count: int) -> np.ndarray:
    """The steepest slopes at which MuJoCo's own searches end, of 100 starts that only rounding tells apart.

    Where no slope is small enough to stop, ends of the bracket are compared by costs that are equal but for rounding.
    """
    mj, rng, out = pair.mj, np.random.default_rng(0), np.zeros(count)
    for _ in range(100):
        data = mujoco.MjData(mj)
        copy_state(pair.theirs, data)
        data.qvel[:] *= 1.0 + 1e-13 * rng.normal(size=mj.nv)
        mujoco.mj_forward(mj, data)
        out = np.maximum(out, [s.lineslope for s in data.solver[:count]])
    return out


def agree_on_states(pair: Pair, note: str = "") -> set[tuple[Constraint, ConstraintState]]:
    """efc_state equals MuJoCo's; which kinds of rows were in which states."""
    ours, theirs = pair.ours.efc_state, pair.theirs.efc_state
    for row in np.flatnonzero(ours != theirs):
        raise AssertionError(
            f"{pair.model.title} {note} efc_state[{row}]: {ours[row]}, {theirs[row]} "
            f"(type {pair.ours.efc_type[row]}, force {pair.ours.efc_force[row]})"
        )
    return {(Constraint(t), ConstraintState(s)) for t, s in zip(pair.ours.efc_type, ours, strict=True)}


def inertia(pair: Pair) -> np.ndarray:
    """M as a matrix."""
    model, ours = pair.model, pair.ours
    out = np.zeros((model.nv, model.nv))
    for i, (first, count) in enumerate(zip(model.M_rowadr, model.M_rownnz, strict=True)):
        columns = model.M_colind[first : first + count]
        out[i, columns] = out[columns, i] = ours.M[first : first + count]
    return out


def cost_of_rows(pair: Pair, jar: np.ndarray) -> tuple[float, np.ndarray]:
    """MuJoCo's cost and forces of the rows at jar = J qacc - aref; they replace the solution in its data."""
    cost = np.zeros((1, 1))
    mujoco.mj_constraintUpdate(pair.mj, pair.theirs, jar, cost, 1)
    return float(cost[0, 0]), pair.theirs.efc_force.copy()


def optimality(pair: Pair) -> float:
    """How far our acceleration is from the optimum: the scaled norm of the gradient, with MuJoCo's forces there."""
    ours, mass, jacobian = pair.ours, inertia(pair), our_jacobian(pair.ours)
    force = cost_of_rows(pair, jacobian @ ours.qacc - ours.efc_aref)[1]
    gradient = mass @ ours.qacc - ours.qfrc_smooth - jacobian.T @ force
    return float(np.linalg.norm(gradient) / np.trace(mass))
