"""Every example runs as it stands and passes the check at its end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))


def test_examples_are_numbered_and_say_what_they_show():
    assert EXAMPLES
    assert [path.name for path in EXAMPLES if not re.fullmatch(r"\d\d_\w+\.py", path.name)] == []
    numbers = [path.name[:2] for path in EXAMPLES]
    assert len(numbers) == len(set(numbers))
    assert [path.name for path in EXAMPLES if not path.read_text(encoding="utf-8").startswith('"""')] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    text = path.read_text(encoding="utf-8")
    assert re.search(r"^assert ", text, re.M), "an example ends in a check"
    done = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, env={**os.environ, "MPLBACKEND": "agg"}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{path.name}:\n{done.stdout}\n{done.stderr}"
    assert done.stdout.splitlines()[-1] == "ok"
