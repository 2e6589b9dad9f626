"""A short batch of every attack; `make fuzz SECONDS=…` goes on. And the harness itself: it must see what it is for."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from tests.fuzz import stages
from tests.fuzz.harness import ATTACKS, run_case, shortened

CASES = 1
COLD = 600.0  # seconds for a case that finds an empty cache of machine code
FAILURES = {
    "killed by SIGSEGV": "import ctypes; ctypes.string_at(0)",
    "killed by SIGABRT": "import os; os.abort()",
    "exit code 1": "assert kt.Data(kt.load('cartpole')).time == 1.0",
    "exit code 3": "import os; os._exit(3)",
    "no end within": "while True:\n    pass",
}


@pytest.mark.parametrize("seed", range(CASES))
@pytest.mark.parametrize("attack", ATTACKS)
def test_attack(attack, seed):
    result = run_case(attack, seed, limit=COLD)
    assert not result.ending, shortened(result).report()
    assert len(result.lines) > 3, f"{attack} does nothing"


def test_every_attack_is_run():
    """The table lists every module that has lines."""
    found = {p.stem for p in pathlib.Path(__file__).parent.glob("[a-z]*.py") if "\ndef lines(" in p.read_text()}
    assert found == set(ATTACKS)


@pytest.mark.parametrize("asked", [False, True])
def test_lanes_are_compiled_only_where_asked_for(asked, monkeypatch):
    monkeypatch.setenv("FUZZ_LANES", str(int(asked)))
    cases = ("\n".join(stages.lines(np.random.default_rng(seed))) for seed in range(20))
    assert any("lanes = LaneData" in case for case in cases) == asked


@pytest.mark.parametrize("ending", FAILURES)
def test_failures_are_seen_and_shortened(ending, tmp_path):
    """The report holds the line that failed, and not those that did not matter; a refusal is none."""
    file = tmp_path / "lines.py"
    file.write_text(f"a = 1\nkt.load(3)\nb = 2\n{FAILURES[ending]}\nc = 3\n")
    for limit in (10.0, 60.0) if "no end" in ending else (120.0,):
        failed = run_case("values", file, limit)
        if len(failed.lines) == 4:  # else the machine is so busy that the limit was over before the line
            break
    assert failed.ending.startswith(ending)
    assert failed.lines[-1] == FAILURES[ending] and len(failed.lines) == 4
    if "SIGSEGV" in ending:
        assert shortened(failed).lines == [FAILURES[ending]]


def test_refusals_are_counted(tmp_path):
    file = tmp_path / "lines.py"
    file.write_text("kt.load(3)\na = 1\nkt.load('no_such_model.xml')\n")
    result = run_case("values", file)
    assert result.ending == "" and result.refused == 2 and len(result.lines) == 3
