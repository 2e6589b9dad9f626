"""Cost, forces, curvatures and zones of rows against MuJoCo's mj_constraintUpdate, and against their own derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from kinetree.kernel import stage
from kinetree.solver.cost import update_rows
from kinetree.types import Cone, Constraint
from tests.dynamics.paired import same
from tests.solver.solved import cost_of_rows, ready, scene

NAMES = ["contacts", "limits", "equalities", "dm_control/suite/humanoid.xml"]


@stage
def updated(m, d):
    """The cost at efc_jar, put into solver_fwdinv."""
    d.solver_fwdinv[0] = update_rows(m, d, True)


def random_residuals(ours, rng):
    """Residuals of all sizes, of both signs and sometimes zero, so that every zone is met."""
    size = 10.0 ** rng.uniform(-3, 3, ours.nefc)
    return size * rng.normal(size=ours.nefc) * (rng.random(ours.nefc) > 0.05)


def cost_at(pair, jar):
    pair.ours._arrays["efc_jar"][: pair.ours.nefc] = jar
    updated(pair.model, pair.ours)
    return pair.ours.solver_fwdinv[0]


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", NAMES)
def test_cost_and_forces_equal_mujocos(name, cone):
    pair, rng = ready(scene(name, cone=cone)), np.random.default_rng(0)
    for _ in range(20):
        jar = random_residuals(pair.ours, rng)
        wanted, force = cost_of_rows(pair, jar)
        same(cost_at(pair, jar), wanted, 1e-12, f"{name} cost")
        same(pair.ours.efc_force, force, 1e-12, f"{name} efc_force")


def test_cone_hessians_equal_mujocos():
    """In the middle zone; where MuJoCo is in another zone ours is zero."""
    pair, rng, found = ready(scene("contacts", cone=Cone.ELLIPTIC)), np.random.default_rng(1), 0
    for _ in range(20):
        jar = random_residuals(pair.ours, rng)
        cost_of_rows(pair, jar)
        cost_at(pair, jar)
        for k in np.flatnonzero(pair.ours.contact_efc_address >= 0):
            row, n = pair.ours.contact_efc_address[k], int(pair.ours.contact_dim[k])
            if pair.ours.efc_type[row] == Constraint.CONTACT_ELLIPTIC:
                middle = pair.theirs.efc_state[row] == 4
                wanted = pair.theirs.contact[k].H[: n * n] if middle else np.zeros(n * n)
                same(pair.ours.contact_H[k, : n * n], wanted, 1e-11, f"contact {k} H")
                found += middle
    assert found > 20


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", NAMES)
def test_forces_are_the_slope_of_the_cost_and_weights_its_curvature(name, cone):
    pair, rng = ready(scene(name, cone=cone)), np.random.default_rng(2)
    ours = pair.ours
    jar = rng.normal(size=ours.nefc)
    cost_at(pair, jar)
    force, weight = ours.efc_force.copy(), ours._arrays["efc_weight"][: ours.nefc].copy()
    hessian = np.diag(weight)
    for k in np.flatnonzero(ours.contact_efc_address >= 0):
        row, n = ours.contact_efc_address[k], int(ours.contact_dim[k])
        if ours.efc_type[row] == Constraint.CONTACT_ELLIPTIC:
            hessian[row : row + n, row : row + n] += ours.contact_H[k, : n * n].reshape(n, n)
    step = 1e-6 * rng.normal(size=ours.nefc)
    rise = (cost_at(pair, jar + step) - cost_at(pair, jar - step)) / 2
    assert abs(rise + force @ step) < 1e-7 * max(1.0, np.abs(force) @ np.abs(step))
    cost_at(pair, jar + step)
    above = ours.efc_force.copy()
    cost_at(pair, jar - step)
    same(ours.efc_force - above, 2.0 * hessian @ step, 1e-6, f"{name} curvature")
