"""Products with the constraint Jacobian against products with the matrix."""

from __future__ import annotations

import numpy as np
import pytest

from kinetree.constraint.jacobian_product import add_J_transpose, multiply_J
from kinetree.kernel import stage
from tests.constraint.paired_rows import our_jacobian
from tests.constraint.test_make import CONTACTS, EQUALITIES, LIMITS, at_rest
from tests.dynamics.paired import same


@stage
def both_products(m, d):
    """efc_b = J qacc, then qfrc_constraint += J' efc_force."""
    multiply_J(m, d, d.qacc, d.efc_b)
    add_J_transpose(m, d, d.efc_force, d.qfrc_constraint)


@pytest.mark.parametrize("source", [EQUALITIES, LIMITS, CONTACTS], ids=lambda path: path.stem)
@pytest.mark.parametrize("cone", [0, 1])
def test_products_equal_those_of_the_matrix(source, cone):
    model, ours = at_rest(source, cone=cone)[2:]
    rng, matrix = np.random.default_rng(cone), our_jacobian(ours)
    ours.qacc[:], ours.qfrc_constraint[:] = rng.normal(size=model.nv), rng.normal(size=model.nv)
    ours.efc_force[:] = rng.normal(size=ours.nefc) * (rng.random(ours.nefc) < 0.5)
    wanted = ours.qfrc_constraint + matrix.T @ ours.efc_force
    both_products(model, ours)
    same(ours.efc_b, matrix @ ours.qacc, 1e-13, f"{model.title} J qacc")
    same(ours.qfrc_constraint, wanted, 1e-13, f"{model.title} J' efc_force")


def test_rows_come_alone_in_twos_and_in_fours():
    """The models above between them take every way through the products."""
    runs = set()
    for source in (EQUALITIES, LIMITS, CONTACTS):
        ours, row = at_rest(source).ours, 0
        while row < ours.nefc:
            runs.add(int(ours.efc_J_rowsuper[row]) % 4)
            row += int(ours.efc_J_rowsuper[row]) + 1
    assert runs == {0, 1, 2, 3}
