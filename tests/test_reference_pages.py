"""The reference pages are what the declarations say: run `python -m kinetree.reference_pages docs/reference` after a change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kinetree import reference_pages
from kinetree.data_fields import DATA_FIELDS
from kinetree.model_fields import MODEL_FIELDS, OPTION_FIELDS, SIZES, STATISTIC_FIELDS
from kinetree.types import MUJOCO_ENUMS

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "reference"
PAGES = reference_pages.pages()


def rows(page: str) -> dict[str, list[str]]:
    """Cells of every table row of a page, by the code in its first cell."""
    cells = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in PAGES[page].splitlines() if line.startswith("| `")]
    return {row[0].strip("`"): row for row in cells}


@pytest.mark.parametrize("page", PAGES)
def test_committed_page_is_what_the_generator_gives(page):
    committed = (FOLDER / page).read_text(encoding="utf-8").splitlines()
    generated = PAGES[page].splitlines()
    different = [(i + 1, a, b) for i, (a, b) in enumerate(zip(committed, generated, strict=False)) if a != b][:3]
    assert committed == generated, f"docs/reference/{page} is out of date, run `{reference_pages.COMMAND}`: {different}"


@pytest.mark.parametrize("page, fields", [("model.md", MODEL_FIELDS), ("model.md", OPTION_FIELDS),
                                          ("model.md", STATISTIC_FIELDS), ("data.md", DATA_FIELDS)])  # fmt: skip
def test_every_field_has_its_row(page, fields):
    found = rows(page)
    for name, field in fields.items():
        shape = (
            f"({', '.join(field.shape_names)}{',' if len(field.shape_names) == 1 else ''})" if field.dims else "scalar"
        )
        wanted = [f"`{name}`", f"`{shape}`", field.dtype, field.unit, field.meaning, field.stage]
        row = found[name][:6] if name in found else None
        assert row == wanted or f"| {' | '.join(wanted)} |" in PAGES[page], f"{page}: {name}: {row} != {wanted}"


@pytest.mark.parametrize("page", ["model.md", "data.md"])
def test_every_field_stands_under_a_heading(page):
    titles = re.findall(r"^### (.*)$", PAGES[page], re.M)
    assert titles and all(title.strip() for title in titles)
    assert len(titles) == len(set(titles)), "two groups of fields share a heading"


def test_sizes_and_enumerations_are_listed():
    found = rows("model.md")
    assert [name for name, _ in SIZES if name not in found] == []
    for enum, theirs in MUJOCO_ENUMS.items():
        section = PAGES["enums.md"].split(f"## {enum.__name__}\n")[1].split("\n## ")[0]
        assert f"`{theirs}`" in section
        assert [name for name in enum.__members__ if f"| `{name}` |" not in section] == []


def test_stages_are_documented():
    public, inner = reference_pages.stages()
    assert public
    for stage in [*public, *inner]:
        section = PAGES["stages.md"].split(f"### {stage.__name__}\n")[1].split("\n### ")[0]
        assert len(section.strip().splitlines()[0]) > 20, f"{stage.__name__} has no docstring"


def test_stages_of_programs_are_left_out():
    """Stages that other code defines join the table of stages, but not the reference."""
    from kinetree.kernel import STAGES

    names = {stage.__name__ for part in reference_pages.stages() for stage in part}
    assert names == {s.__name__ for s in STAGES if s.__module__.startswith("kinetree.")}


def test_environment_page_names_every_variable():
    """The page is written by hand; the variables are those that the source reads."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "kinetree").rglob("*.py"))
    read = set(re.findall(r"environ\.get\(\"(KINETREE_\w+)\"", source))
    page = (FOLDER / "environment.md").read_text(encoding="utf-8")
    assert read == set(re.findall(r"^\| `(KINETREE_\w+)` \|", page, re.M))


def test_command_line(tmp_path, capsys):
    assert reference_pages.main([str(tmp_path / "new")]) == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == set(PAGES)
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / "new" / name) for name in PAGES]
    assert reference_pages.main([]) == 2
    assert reference_pages.COMMAND in capsys.readouterr().err
