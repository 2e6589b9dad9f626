"""What puts machine code into wheels: which libraries it takes, and which it refuses."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest

import hatch_build
from kinetree.kernel.sources import sources_digest

SOURCES = Path(__file__).parents[1] / "src"
NAMES = "float64.x86-64-v4", "float64.x86-64-v3"


@pytest.fixture
def built(tmp_path):
    """The folder of libraries in a project with our sources: two libraries with their indices."""
    (tmp_path / "src").symlink_to(SOURCES)
    folder = tmp_path / hatch_build.PREBUILT
    folder.mkdir(parents=True)
    for name in NAMES:
        (folder / f"{name}.so").touch()
        (folder / f"{name}.json").write_text(json.dumps({"sources": sources_digest(SOURCES / "kinetree")}))
    return folder


def taken(root, version="standard"):
    """What a wheel of a project is told."""
    told = {"pure_python": True, "force_include": {}}
    hatch_build.PrebuiltCode(str(root), {}, None, None, "", "wheel").initialize(version, told)
    return told


def test_libraries_go_into_the_wheel_with_their_indices(built, tmp_path):
    told = taken(tmp_path)
    files = [f"{name}{suffix}" for name in NAMES for suffix in (".json", ".so")]
    assert told["force_include"] == {str(built / file): f"kinetree/prebuilt/{file}" for file in files}
    assert told["tag"].endswith(platform.machine()) and told["pure_python"] is False


@pytest.mark.parametrize("version", ["standard", "editable"])
def test_without_libraries_and_where_the_sources_are_used_nothing_is_told(version, built, tmp_path):
    if version == "standard":
        for path in built.iterdir():
            path.unlink()
    assert taken(tmp_path, version) == {"pure_python": True, "force_include": {}}


@pytest.mark.parametrize(("gone", "left"), [(".so", ".json"), (".json", ".so")])
def test_half_of_a_library_is_refused(gone, left, built, tmp_path):
    (built / f"{NAMES[1]}{gone}").unlink()
    with pytest.raises(RuntimeError, match=rf"{NAMES[1]}{left} is alone: run `make wheel`, or remove its folder"):
        taken(tmp_path)


def test_a_library_of_other_sources_is_refused(built, tmp_path):
    (built / f"{NAMES[1]}.json").write_text(json.dumps({"sources": "0" * 64}))
    with pytest.raises(RuntimeError, match=rf"{NAMES[1]}.json was built from other sources: run `make wheel`"):
        taken(tmp_path)


def test_an_edit_makes_other_sources(built, tmp_path):
    (tmp_path / "src").unlink()
    package = tmp_path / "src" / "kinetree"
    for path in ("kernel/sources.py", "edited.py"):
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_bytes((SOURCES / "kinetree" / "kernel" / "sources.py").read_bytes())
    for name in NAMES:
        (built / f"{name}.json").write_text(json.dumps({"sources": sources_digest(package)}))
    assert len(taken(tmp_path)["force_include"]) == 4
    with (package / "edited.py").open("a") as file:
        file.write("# edited\n")
    with pytest.raises(RuntimeError, match="was built from other sources"):
        taken(tmp_path)
