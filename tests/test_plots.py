"""The scripts that draw the plots of the documentation run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "docs" / "plots" / "stable_pd.py"


def test_plots_of_stable_pd(tmp_path):
    names = [f"hinge chain {n}" for n in (20, 200)]
    results = {
        "times": {f"{name} | {way}": {"median": 3.0} for name in names for way in ("dense", "maba")},
        "details": {name: {"nv": int(name.split()[-1])} for name in names},
    }
    (tmp_path / "bench.json").write_text(json.dumps(results), encoding="utf-8")
    command = [sys.executable, str(SCRIPT), str(tmp_path / "plots"), str(tmp_path / "bench.json")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    drawn = {path.name: path.read_bytes()[:4] for path in (tmp_path / "plots").iterdir()}
    assert drawn == dict.fromkeys(("bound.png", "character.png", "cost.png"), b"\x89PNG")


def test_wrong_usage():
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage" in done.stderr
