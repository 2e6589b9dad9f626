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
    assert "what is used for the first time" in first and re.search(r"compiled \d+ parts in [\d.]+ s", first)
    assert second.strip() == "nothing to compile"
    kept = list(command.folder.iterdir())
    (command.folder / f"kinematics_0123.{'0' * 24}.code").write_bytes(b"x" * 2_000_000)
    (command.folder / f"of_a_user_0123.{'0' * 24}.code").write_bytes(b"x" * 1_000_000)
    (command.folder / "of somebody else").touch()
    count = len(kept)
    said = command("cache")
    assert f"{count + 2} files" in said and f"of these sources: {count} files" in said
    assert "removed 1 files, 2.0 MB" in command("cache", "--old")
    assert "nothing to compile" in command("warmup", str(path))
    assert f"removed {count + 1} files" in command("cache", "--clear")
    assert [path.name for path in command.folder.iterdir()] == ["of somebody else"]


def test_what_is_asked_for_must_be_named(command):
    assert "name a model, or --all" in command("warmup", status=2)
    assert "no file and no bundled model 'nosuch'" in command("warmup", "nosuch", status=1)


def test_a_file_that_cannot_be_removed_is_told(monkeypatch, tmp_path, capsys):
    def refused(path, missing_ok=False):
        raise PermissionError(13, "Permission denied")

    tmp_path.chmod(0o700)
    (tmp_path / f"kinematics_0123.{'0' * 24}.code").write_bytes(b"x")
    monkeypatch.setenv("KINETREE_CACHE", str(tmp_path))
    monkeypatch.setattr(Path, "unlink", refused)
    assert cache(clear=False, old=True) == 1
    said = capsys.readouterr()
    assert "1 files" in said.out and "removed" not in said.out
    assert "cannot remove" in said.err and "Permission denied" in said.err


def test_a_folder_that_was_not_named_is_not_emptied(monkeypatch, tmp_path, capsys):
    """KINETREE_CACHE names one that cannot be used; another would be used in its place."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "home" / "kinetree").mkdir(parents=True, mode=0o700)
    kept = tmp_path / "home" / "kinetree" / f"kinematics_0123.{'0' * 24}.code"
    kept.write_bytes(b"x")
    monkeypatch.setenv("KINETREE_CACHE", str(tmp_path / "open"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    with pytest.warns(RuntimeWarning, match="other users can write"):
        assert cache(clear=True, old=False) == 1
    assert kept.exists() and "nothing is removed" in capsys.readouterr().err


SETTINGS = {
    "KINETREE_LEVEL": ("banana", "KINETREE_LEVEL=banana is none of"),
    "KINETREE_JOBS": ("many", "KINETREE_JOBS must be a whole number above 0"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_cannot_be_are_one_line(name, tmp_path):
    value, message = SETTINGS[name]
    env = {**os.environ, "KINETREE_CACHE": str(tmp_path), "KINETREE_QUIET": "1", name: value}
    done = subprocess.run(
        [sys.executable, "-m", "kinetree", "warmup", "cartpole"], env=env, capture_output=True, text=True
    )
    assert done.returncode == 1 and done.stderr.startswith("kinetree: ") and message in done.stderr
    assert len(done.stderr.splitlines()) == 1
