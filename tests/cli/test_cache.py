"""`kinetree warmup` and `kinetree cache`: what is compiled ahead, kept, counted and removed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kinetree.cli.cache import cache
from kinetree.kernel import JIT

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")
BARE = "<mujoco><worldbody><body><joint/><geom size='.1' contype='0' conaffinity='0'/></body></worldbody></mujoco>"


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """Run the command with a cache of its own."""
    folder = tmp_path_factory.mktemp("cache")

    def run(*arguments: str, status: int = 0) -> str:
        env = {**os.environ, "KINETREE_CACHE": str(folder), "KINETREE_QUIET": "0", "COLUMNS": "200"}
        done = subprocess.run([sys.executable, "-m", "kinetree", *arguments], env=env, capture_output=True, text=True)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    run.folder = folder
    return run


def test_from_an_empty_cache_to_an_empty_cache(command, tmp_path):
    assert re.search(r"0 files, 0\.0 MB", command("cache"))
    path = tmp_path / "bare.xml"
    path.write_text(BARE)
    first, second = command("warmup", str(path)), command("warmup", str(path))
    assert "of the engine for first use" in first and re.search(r"compiled \d+ parts in [\d.]+ s", first)
    assert second.strip() == "nothing to compile"
    kept = list(command.folder.iterdir())
    (command.folder / f"old_0123.{'0' * 24}.code").write_bytes(b"x" * 2_000_000)
    (command.folder / "of somebody else").touch()
    count = len(kept)
    said = command("cache")
    assert f"{count + 1} files" in said and f"of these sources and this processor: {count} files" in said
    assert "removed 1 files, 2.0 MB" in command("cache", "--old")
    assert "nothing to compile" in command("warmup", str(path))
    assert f"removed {count} files" in command("cache", "--clear")
    assert [path.name for path in command.folder.iterdir()] == ["of somebody else"]


def test_what_is_asked_for_must_be_named(command):
    assert "name a model, or --all" in command("warmup", status=2)
    assert "no file and no bundled model 'nosuch'" in command("warmup", "nosuch", status=1)


def test_a_file_that_cannot_be_removed_is_told(monkeypatch, tmp_path, capsys):
    def refused(path, missing_ok=False):
        raise PermissionError(13, "Permission denied")

    tmp_path.chmod(0o700)
    (tmp_path / f"old_0123.{'0' * 24}.code").write_bytes(b"x")
    monkeypatch.setenv("KINETREE_CACHE", str(tmp_path))
    monkeypatch.setattr(Path, "unlink", refused)
    assert cache(clear=False, old=True) == 1
    said = capsys.readouterr()
    assert "1 files" in said.out and "removed" not in said.out
    assert "cannot remove" in said.err and "Permission denied" in said.err
