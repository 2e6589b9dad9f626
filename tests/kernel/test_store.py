"""The cache of machine code as files: whatever is found there, results are right, and nothing planted is run."""

from __future__ import annotations

import os
import random
import shutil
import stat
import tempfile
import time
import warnings
from pathlib import Path

import pytest

from kinetree.kernel import code, levels, store
from tests.kernel.damages import DAMAGES, plant, swap
from tests.kernel.forks import COMPILES, kills, runs

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners, modes and signals of POSIX")


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A sound cache of what small runs need."""
    folder = tmp_path_factory.mktemp("filled") / "cache"
    first, second = runs([folder])[0], runs([folder])[0]
    assert first.status == 0 and COMPILES in first.text and (second.status, second.text) == (0, "")
    return folder


def copied(folder: Path, to: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(folder, to))


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


STAYS = {"a full directory"}  # there, code cannot be kept


def test_damaged_entries_are_compiled_anew(filled, tmp_path):
    """Every other file of a folder in the same way; in the next folder the ones between."""
    folders = {name: copied(filled, tmp_path / name) for name in (*DAMAGES, "swapped")}
    for i, (name, damage) in enumerate(DAMAGES.items()):
        for path in files_in(folders[name])[i % 2 :: 2]:
            damage(path, random.Random(i))
    swap(files_in(folders["swapped"]))
    linked = {path: path.read_bytes() for path in tmp_path.glob("a link, *") if path.is_file()}
    for again in (False, True):
        for name, run in zip(folders, runs(folders.values()), strict=True):
            assert run.status == 0, (name, again, run.text)
            assert run.text.count("Warning") == (name in STAYS), (name, again, run.text)
            assert not again or name in STAYS or not run.text, (name, run.text)
    assert not (tmp_path / "planted").exists()
    assert linked and all(path.read_bytes() == content for path, content in linked.items())


def test_code_for_another_cpu_is_not_taken(filled, tmp_path, monkeypatch):
    """Neither where both CPUs share a folder, nor under the name of one's own."""
    folder = copied(filled, tmp_path / "cache")
    before = files_in(folder)
    monkeypatch.setenv("KINETREE_LEVEL", levels.NATIVE)
    other = runs([folder])[0]
    assert other.status == 0 and COMPILES in other.text
    monkeypatch.undo()
    for path, foreign in zip(before, sorted(set(files_in(folder)) - set(before)), strict=False):
        shutil.copy(foreign, path)
    mine = runs([folder])[0]
    assert mine.status == 0 and COMPILES in mine.text


FULL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))"
READ_ONLY = """
os.chmod(folder, 0o500)
if os.geteuid() == 0:  # who may write everywhere
    for path in (folder, *(os.path.join(folder, f) for f in os.listdir(folder))):
        os.chown(path, 65534, 65534)
    os.chdir(folder)
    os.environ["KINETREE_CACHE"] = "."  # what lies above is not for others
    os.setuid(65534)
"""


@pytest.mark.parametrize("before", [FULL_DISK, READ_ONLY], ids=["full disk", "read-only"])
def test_where_nothing_can_be_written_code_stays_in_memory(before, filled, tmp_path):
    empty, full = tmp_path / "empty", copied(filled, tmp_path / "full")
    empty.mkdir(mode=0o700)
    first, second = runs([empty, full], before)
    assert first.status == 0 and first.text.count("Warning") == 1, first.text
    assert (second.status, second.text) == (0, "")  # what is there already serves
    assert not files_in(empty)


def test_a_planted_folder_is_not_used(filled, tmp_path):
    """A folder of another user in the place for temporary files, with entries that would run code."""
    folder = copied(filled, tmp_path / f"kinetree-{os.getuid() + 1}")
    for path in files_in(folder):
        plant(path, random.Random(1))
    if os.getuid() == 0:
        os.chown(folder, 4711, -1)  # what is root's would be trusted
    (tmp_path / "file").touch()
    before = f"""
os.geteuid = os.getuid = lambda: {os.getuid() + 1}
del os.environ["KINETREE_CACHE"]
os.environ["XDG_CACHE_HOME"] = {str(tmp_path / "file")!r}
os.environ["TMPDIR"] = {str(tmp_path)!r}
import tempfile
tempfile.tempdir = None
"""
    run = runs([tmp_path], before)[0]
    assert run.status == 0 and "another user" in run.text and str(folder) in run.text, run.text
    assert not (tmp_path / "planted").exists()


def test_what_root_has_made_is_used(filled, tmp_path, monkeypatch):
    """An image is often made by root, and used by others."""
    if os.getuid() != 0:
        pytest.skip("only root can make a file of root's")
    folder = copied(filled, tmp_path / "cache")
    monkeypatch.setenv("KINETREE_CACHE", str(folder))
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert store.cache_folder() == str(folder)
    with files_in(folder)[0].open("rb") as file:
        assert store._is_ours(file)
    os.chown(files_in(folder)[0], 4712, -1)
    with files_in(folder)[0].open("rb") as file:
        assert not store._is_ours(file)


def made(mode: int):
    """Makes a folder with this mode, whatever the umask."""
    return lambda path: (path.mkdir(), path.chmod(mode))


def link_of_ones_own(path: Path) -> None:
    target = path.with_name("target")
    made(0o755)(target)
    path.symlink_to(target)


# The state of the folder that KINETREE_CACHE names, and why it is not used, if it is not.
FOLDERS = {
    "absent": (lambda path: None, None),
    "readable by others": (made(0o755), None),
    "a link of one's own": (link_of_ones_own, None),
    "open to a group": (made(0o770), "other users can write"),
    "open to all": (made(0o1777), "other users can write"),
    "a file": (lambda path: path.touch(), "which KINETREE_CACHE names: it is not a folder"),
    "a link into nowhere": (
        lambda path: path.symlink_to(path.with_name("nowhere")),
        "which KINETREE_CACHE names: it is a link that leads nowhere",
    ),
}


@pytest.fixture
def places(tmp_path, monkeypatch):
    """The three candidates for the folder."""
    monkeypatch.setenv("KINETREE_CACHE", str(tmp_path / "chosen"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return [tmp_path / "chosen", tmp_path / "home" / "kinetree", tmp_path / f"kinetree-{os.geteuid()}"]


def found():
    """The folder that is used, asked for twice, and the warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        folder = store.cache_folder()
        assert store.cache_folder() == folder
    return folder and Path(folder), [str(w.message) for w in said]


@pytest.mark.parametrize("state", FOLDERS)
def test_folder_that_the_user_chose(state, places):
    prepare, reason = FOLDERS[state]
    prepare(places[0])
    mode = places[0].stat().st_mode if places[0].exists() else None
    folder, said = found()
    assert folder == places[bool(reason)]
    assert len(said) == bool(reason) and all(reason in s and str(places[0]) in s for s in said), said
    assert mode is None or places[0].stat().st_mode == mode  # it is not ours to change
    assert stat.S_IMODE(folder.stat().st_mode) == (0o755 if mode and not reason else 0o700)


def test_a_tilde_means_the_home(places, monkeypatch):
    monkeypatch.setenv("HOME", str(places[0].parent))
    monkeypatch.setenv("KINETREE_CACHE", f"~/{places[0].name}")
    assert found() == (places[0], [])


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o700, 0o500])
def test_folder_of_our_own_may_be_readable(mode, places, monkeypatch):
    monkeypatch.delenv("KINETREE_CACHE")
    places[1].mkdir(parents=True)
    places[1].chmod(mode)
    assert found() == (places[1], [])
    assert stat.S_IMODE(places[1].stat().st_mode) == mode


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o722])
def test_folder_of_our_own_that_others_can_write_in(mode, places, monkeypatch):
    """Nothing in it is used, or changed: whatever it holds, others may have put there. One warning says so."""
    monkeypatch.delenv("KINETREE_CACHE")
    store.write("entry", b"identity", b"payload")
    assert store.read("entry", b"identity") == b"payload"
    before = files_in(places[1])
    places[1].chmod(mode)
    folder, said = found()
    assert folder == places[2] and stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(said) == 1 and "other users can write" in said[0] and str(places[1]) in said[0], said
    assert store.read("entry", b"identity") is None
    assert files_in(places[1]) == before and stat.S_IMODE(places[1].stat().st_mode) == mode


def test_folders_of_another_user(places, monkeypatch):
    monkeypatch.setattr(store, "_trusted", lambda: {os.geteuid() + 1})
    folder, said = found()
    assert folder is None and len(said) == 3 and all("belongs to another user" in s for s in said)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give things away")
@pytest.mark.parametrize("given", ["folder", "link"])
def test_folder_or_link_of_another_user(given, places, monkeypatch):
    prepare = made(0o700) if given == "folder" else link_of_ones_own
    prepare(places[0])
    monkeypatch.setenv("KINETREE_CACHE", f"{places[0]}/")  # a slash follows links
    os.chown(places[0], 65534, 65534, follow_symlinks=False)
    folder, said = found()
    assert folder == places[1] and len(said) == 1 and "belongs to another user" in said[0]


def test_without_a_home_or_a_place_for_temporary_files(places, monkeypatch):
    """Nothing is written where the process happens to be."""
    monkeypatch.delenv("KINETREE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.chdir(places[0].parent)
    assert found() == (places[2], [])
    monkeypatch.setattr(tempfile, "gettempdir", raises_not_found)
    assert found() == (None, []) and store.read("entry", b"identity") is None
    store.write("entry", b"identity", b"payload")
    assert not Path("relative").exists()


def raises_not_found():
    raise FileNotFoundError("no usable temporary directory")


def test_leftovers_of_killed_processes_are_removed(places):
    places[0].mkdir(mode=0o700)
    old, new = places[0] / f"old{store.PART}", places[0] / f"new{store.PART}"
    for part, age in ((old, 2.0), (new, 0.5)):
        part.touch()
        os.utime(part, (time.time() - age * store.ABANDONED,) * 2)
    store.write("entry", b"identity", b"payload")
    assert store.read("entry", b"identity") == b"payload" and store.read("entry", b"another") is None
    assert not old.exists() and new.exists()


def test_eight_processes_and_kills(tmp_path):
    assert not kills(tmp_path, rounds=2, seed=0)


@pytest.mark.soak
def test_eight_processes_and_many_kills(tmp_path):
    assert not kills(tmp_path, rounds=100, seed=1)


def test_the_stamp_covers_the_files_of_the_language(tmp_path):
    """All but those that have no part in machine code; new ones too."""
    folder = Path(shutil.copytree(code.COMPILER, tmp_path / "jit"))
    before, not_covered = code.language_digest(folder), set()
    for path in folder.glob("*.py"):
        text = path.read_bytes()
        path.write_bytes(text + b"\n")
        if code.language_digest(folder) == before:
            not_covered.add(path.name)
        path.write_bytes(text)
    assert not_covered == {"host.py", "library.py", "worker.py"}
    (folder / "another.py").touch()
    assert code.language_digest(folder) != before
