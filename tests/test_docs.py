"""What the documentation shows runs as it stands, and what it links to exists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


def blocks(page: Path) -> list[str]:
    """The Python blocks of a page, each preceded by as many empty lines as keep the line numbers of the page."""
    text, out, done = page.read_text(encoding="utf-8"), [], 0
    for found in re.finditer(r"```python\n(.*?)```", text, re.S):
        line = text.count("\n", 0, found.start(1))
        out.append("\n" * (line - done) + found[1])
        done = line + found[1].count("\n")
    return out


WITH_CODE = [name for name, page in zip(NAMES, PAGES, strict=True) if blocks(page)]


def test_pages_with_code_are_found():
    assert {"README.md", "docs/guide/kernel-language.md", "docs/guide/model-and-data.md"} <= set(WITH_CODE)


@pytest.mark.parametrize("name", WITH_CODE)
def test_code_runs(name, tmp_path):
    """In a process of its own: an example may define stages, which would join those of all other tests."""
    program = tmp_path / "page.py"
    program.write_text("".join(blocks(ROOT / name)), encoding="utf-8")
    environment = {**os.environ, "PYTHONWARNINGS": "default", "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{name} (line numbers are those of the page):\n{done.stderr}"


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_to_files(name):
    page = ROOT / name
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing, f"{name} links to {missing}"
