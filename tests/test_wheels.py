"""The helpers of tests that build wheels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.wheels import made_once

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no wheel with machine code is made there")
PROGRAM = """
import pathlib, sys, time
from tests.wheels import made_once
def make(folder):
    with open(sys.argv[2], "a") as log:
        log.write("made\\n")
    (folder / "part").touch()
    time.sleep(0.5)
    (folder / "whole").touch()
assert sorted(path.name for path in made_once(pathlib.Path(sys.argv[1]), make).iterdir()) == ["part", "whole"]
"""


def test_what_is_made_once_is_whole_for_all_processes(tmp_path):
    arguments = [sys.executable, "-c", PROGRAM, str(tmp_path / "made"), str(tmp_path / "log")]
    running = [subprocess.Popen(arguments, cwd=Path(__file__).parents[1]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert (tmp_path / "log").read_text() == "made\n"


def test_what_broke_off_is_made_anew(tmp_path):
    def break_off(folder):
        (folder / "part").touch()
        raise KeyError

    with pytest.raises(KeyError):
        made_once(tmp_path / "made", break_off)
    made = made_once(tmp_path / "made", lambda folder: (folder / "whole").touch())
    assert [path.name for path in made.iterdir()] == ["whole"]
