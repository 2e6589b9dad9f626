"""The pages a newcomer reads: their code runs as it stands, and what they name exists."""

import re
from pathlib import Path

import pytest

import kinetree as kt

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/start.md", "docs/guide/simulation.md"]
ALL_PAGES = [*PAGES, "docs/cli.md", "docs/conformance.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]


def test_error_messages_are_shown_as_they_are():
    page = (ROOT / "docs/start.md").read_text(encoding="utf-8")
    [(call, message)] = re.findall(r">>> (.*)\n\w+Error: \"(.*)\"\n", page)
    data = kt.Data(kt.load("double_pendulum"))
    with pytest.raises(KeyError) as problem:
        eval(call, {"data": data})
    assert problem.value.args[0] == message


def test_readme_counts_what_agrees():
    """In the numbers of the page: of all, those that agree, that are undecided and that differ."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace(",", "")
    [claimed] = re.findall(
        r"of (\d+) numbers of (\d+) models.* (\d+) agree (\d+) \((\d+) models\) are undecided .* (\d+) differ\]", readme
    )
    every, models, agree, undecided, unsure, differ = map(int, claimed)
    page = (ROOT / "docs/conformance.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (numbers|models) \| ([\d |]+) \|$", page, re.M)
    table = {name: [int(n) for n in row.split(" | ")] for name, row in rows}
    assert table["numbers"] == [agree, undecided, differ] and every == agree + undecided + differ
    assert sum(table["models"]) == models and table["models"][1] == unsure


@pytest.mark.parametrize("page", ALL_PAGES)
def test_links_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"


def test_architecture_names_files_that_exist():
    """With their folder, or by a file name that some folder of the package has."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests/)?[a-z_/]+(?:\.py|\.xml|/))`", text)
    known = {path.name for path in (ROOT / "src/kinetree").rglob("*.*")}
    missing = [
        name
        for name in named
        if name not in known and not (ROOT / name).exists() and not (ROOT / "src/kinetree" / name).exists()
    ]
    assert not missing and len(named) > 20
