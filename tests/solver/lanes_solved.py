"""Eight worlds solved side by side on SIMD lanes, against the same worlds on floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.solver.solve import fwd_constraint
from kinetree.types import Cone
from tests.constraint.lane_rows import matching_rows, side_by_side
from tests.constraint.test_lanes import scattered
from tests.dynamics.paired import Pair, same
from tests.solver.solved import scene, solved


def eight(name: str, **options: Any) -> list[Pair]:
    """Eight solved worlds of a scene in different states."""
    if name == "contacts":
        cone = options.pop("cone", Cone.PYRAMIDAL)
        return [solved(scattered(seed, cone, **options)) for seed in range(8)]
    return [solved(scene(name, seed, **options)) for seed in range(8)]


def solve_side_by_side(name: str, within: float, again: bool = False, **options: Any) -> list[int]:
    """Each world has on lanes what it has on floats, and nothing where it has no rows; iterations of each on floats.

    again: solve on floats once more from the solution, as worlds on lanes go on until the last of them has converged.
    """
    pairs = eight(name, **options)
    counts = [int(pair.ours.solver_niter[0]) for pair in pairs]
    lanes, slots = side_by_side(pairs)
    a = lanes.arrays
    lanes.run(fwd_constraint)
    for pair in pairs if again else ():
        pair.ours.qacc_warmstart = pair.ours.qacc
        fwd_constraint(pair.model, pair.ours)
    for lane, pair in enumerate(pairs):
        what, rows = f"{pair.model.title} lane {lane}", matching_rows(lanes, slots, lane, pair)
        others = np.setdiff1d(np.arange(a["nefc"][0]), rows)
        same(a["qacc"][:, lane], pair.ours.qacc, within, f"{what} qacc")
        same(a["qfrc_constraint"][:, lane], pair.ours.qfrc_constraint, within, f"{what} qfrc_constraint")
        same(a["efc_force"][rows, lane], pair.ours.efc_force, within, f"{what} efc_force")
        assert not a["efc_force"][others, lane].any(), f"{what}: force in a row that it does not have"
    return counts
