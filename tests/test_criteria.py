"""The list of criteria: complete, and in step with the marks of the tests that settle them."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).parent
LATER = {"later: with sleep"}
# What the three source documents number.
NUMBERED = {
    *(f"000-AC{k}" for k in range(1, 14)),
    *(f"000-T{k}" for k in range(1, 16)),
    *(f"001-AC{k}" for k in range(1, 14)),
    *(f"001-T{k}" for k in range(1, 13)),
    "001-4A.6b",
    *(f"002-B{bug}-AC{k}" for bug, count in ((1, 3), (2, 2), (3, 3), (4, 3), (5, 2)) for k in range(1, count + 1)),
    *(f"002-T{k}" for k in range(1, 11)),
}


class Criterion(NamedTuple):
    """One row of the list."""

    identifier: str
    asks: str
    settled_by: str
    corrected: str

    @property
    def tests(self) -> set[str]:
        return set(re.findall("`([^`]+)`", self.settled_by))


def listed() -> list[Criterion]:
    """The rows of all tables."""
    lines = (TESTS / "criteria.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [Criterion(*row) for row in cells if row[0] != "identifier" and not set(row[0]) <= {"-"}]


@functools.cache
def marked() -> dict[str, set[str]]:
    """Criterion -> tests that say they settle it, as `path::name` below the folder of tests."""
    found: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.criteria":
                    for identifier in ast.literal_eval(ast.Tuple(mark.args, ast.Load())):
                        found.setdefault(identifier, set()).add(f"{path.relative_to(TESTS).as_posix()}::{node.name}")
    return found


ROWS = listed()


def test_every_numbered_criterion_is_listed_once():
    names = [row.identifier for row in ROWS]
    assert len(names) == len(set(names)), [n for n in names if names.count(n) > 1]
    assert {n for n in names if not n.startswith("P-")} == NUMBERED


def test_every_mark_is_in_the_list():
    assert not set(marked()) - {row.identifier for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.identifier)
def test_a_criterion_names_the_tests_that_settle_it(row):
    assert row.asks
    tests = marked().get(row.identifier, set())
    if row.settled_by.startswith("later"):
        assert row.settled_by in LATER and not tests, f"{row.identifier} is settled now by {tests}"
    else:
        assert tests and row.tests == tests, f"{row.identifier}: {row.tests ^ tests} differ between list and marks"


def test_marked_tests_run():
    """None is skipped or expected to fail."""
    for name in sorted({test for tests in marked().values() for test in tests}):
        path, function = name.split("::")
        node = next(
            n
            for n in ast.walk(ast.parse((TESTS / path).read_text()))
            if isinstance(n, ast.FunctionDef) and n.name == function
        )
        marks = [ast.unparse(mark) for mark in node.decorator_list]
        assert not [mark for mark in marks if "skip" in mark.split("(")[0] or "xfail" in mark], name
