"""Convex pairs in random poses: the share with MuJoCo's set of contacts, its bounds, and the page that states it."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from kinetree.conformance.poses import COMMAND, LEAST, LEAST_CURVED, POSES, SIZES, compare
from kinetree.conformance.tolerances import CONTACT_CONVEX

PAIRS = [" ".join(pair) for pair in itertools.combinations_with_replacement(SIZES, 2)]
COUNT = 120


@pytest.mark.parametrize("pair", PAIRS)
def test_shares_of_identical_sets_stay_above_their_bounds(pair):
    for kind in POSES:
        row = compare(*pair.split(), kind, COUNT, seed=1)
        assert row.touching > COUNT // 3, f"{pair}, {kind}: {row.touching} of {COUNT} poses touch"
        assert row.missed == 0, f"{pair}, {kind}: {row.missed} poses touch on one side only"
        assert row.distance <= CONTACT_CONVEX, f"{pair}, {kind}: distances differ by {row.distance}"
        assert row.same >= row.bound, f"{pair}, {kind}: the same contacts in {row.same:.1%} of the poses"


def test_page_in_the_repository_is_complete():
    """docs/convex.md is written by a run; its shares are above the bounds too."""
    page = (Path(__file__).parents[2] / "docs" / "convex.md").read_text(encoding="utf-8")
    lines = {line.split("|")[1].strip(" *"): line.split("|")[2:] for line in page.splitlines() if "%" in line}
    assert list(lines) == PAIRS, f"docs/convex.md is old: run {COMMAND}"
    for pair, cells in lines.items():
        for kind, cell in zip(POSES, cells, strict=False):
            least = LEAST_CURVED[kind] if {"ellipsoid", "cylinder"} & set(pair.split()) else LEAST
            assert float(cell.strip(" %")) >= 100 * least, f"{pair}, {kind}: {cell}"
