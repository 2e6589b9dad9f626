"""The table of what MuJoCo added: every row is proved by a model, a test or a refusal, and the page has the table as it is."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import mujoco
import pytest

import kinetree as kt
from kinetree.conformance.changes import TITLE, Change, section, with_section
from kinetree.conformance.compare import check
from tests import corpora
from tests.changes import CHANGES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conformance.md"
AGAIN = "write it again by `python -m kinetree.conformance --changes --corpus tests/corpora.py --output docs/conformance.md`"
MODELS = dict([*corpora.own_models(), *corpora.refused_models()])


def chosen(wanted):
    """Rows of a kind, named by what they say."""
    return [pytest.param(change, id=f"{change.version} {change.what[:60]}") for change in CHANGES if wanted(change)]


@cache
def functions(path: str) -> set[str]:
    """Tests of a file."""
    return {node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)}


def test_every_row_has_one_proof_and_no_two_say_the_same():
    for change in CHANGES:
        proofs = [bool(change.model), bool(change.xml), bool(change.test), bool(change.reason)]
        assert sum(proofs) == 1, change
        assert (change.has is not None) == (bool(change.model) and not change.refused), change
        assert not change.refused or change.model or change.xml, change
        assert re.fullmatch(r"[34]\.\d+\.\d", change.version) and (3, 3) <= tuple(
            map(int, change.version.split(".")[:2])
        ) <= (4, 0)
    assert len({change.what for change in CHANGES}) == len(CHANGES)


@pytest.mark.parametrize("change", chosen(lambda change: change.model and not change.refused))
def test_the_model_has_what_the_row_says(change):
    """That it agrees with MuJoCo is what `test_layers.py` looks at."""
    assert change.has(mujoco.MjModel.from_xml_path(str(MODELS[change.model])))
    assert change.model not in corpora.REFUSED


@pytest.mark.parametrize("change", chosen(lambda change: change.xml and not change.refused))
def test_a_small_model_agrees_with_mujoco_in_all_layers(change):
    report = check(change.xml, states=2, name=change.what)
    assert report.ok, str(report)
    agree, undecided, _ = report.entries
    assert agree > 20 * undecided, str(report)


@pytest.mark.parametrize("change", chosen(lambda change: change.test))
def test_the_named_test_exists(change):
    path, name = change.test.split("::")
    assert name in functions(path), f"{path} has no {name}"


@pytest.mark.parametrize("change", chosen(lambda change: change.refused))
def test_what_is_refused_is_so_by_name(change):
    source = MODELS[change.model] if change.model else change.xml
    with pytest.raises(kt.UnsupportedFeatureError, match=change.refused):
        kt.load(source)


def test_every_model_that_is_refused_has_a_row():
    assert {change.model for change in CHANGES if change.refused and change.model} == set(corpora.REFUSED)


def test_the_page_has_the_table():
    page = PAGE.read_text(encoding="utf-8")
    assert with_section(page, CHANGES, mujoco.__version__) == page, AGAIN


def test_a_section_is_replaced_where_it_stands_or_put_at_the_end():
    old, new = Change("3.3.0", "old", reason="gone"), Change("3.3.0", "new", reason="come")
    page = with_section("# Page\n\n## First\n\ntext\n", [old], "4.0.0")
    assert page.endswith(section([old], "4.0.0"))
    middle = page + "\n## Last\n\nmore\n"
    changed = with_section(middle, [new], "4.0.0")
    assert "| old |" not in changed and "| new |" in changed and changed.endswith("\n## Last\n\nmore\n")
    assert changed.count(TITLE) == 1 and with_section(changed, [new], "4.0.0") == changed
