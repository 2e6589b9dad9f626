"""Make a wheel with machine code, and a folder in which it is installed with what it requires, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("src", "pyproject.toml", "README.md", "LICENSE", "hatch_build.py")


def run(module: str, *arguments: str) -> str:
    """What a module of this environment says, which must do what it is asked for."""
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_wheel(folder: Path, machines: Iterable[str], levels: Iterable[str]) -> Path:
    """A wheel with code for machines and levels, from a copy of the sources; objects come from the store if it has them."""
    from kinetree.kernel.jit import library

    for part in PARTS:
        source = ROOT / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / part)
    (folder / "build" / "prebuilt").mkdir(parents=True)
    for machine in machines:
        library.build(folder / "build" / "prebuilt", machine, tuple(levels))
    run("build", "--wheel", "--no-isolation", "--outdir", str(folder / "dist"), str(folder))
    (made,) = (folder / "dist").glob("*.whl")
    return made


def build_sdist(folder: Path) -> Path:
    """The sources as they are published."""
    run("build", "--sdist", "--no-isolation", "--outdir", str(folder), str(ROOT))
    (made,) = folder.glob("*.tar.gz")
    return made


def common_folder(factory: pytest.TempPathFactory) -> Path:
    """The folder of temporary files of a run of tests, the same for all its processes."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """A folder filled by the first process that asks for it; others wait. What breaks off on the way is made anew."""
    import fcntl  # there is none where no wheel is made

    part = folder.with_name(f"{folder.name}.part")
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            make(part)
            part.rename(folder)
    return folder


def needed_with(*names: str) -> list[metadata.Distribution]:
    """Installed distributions and all that they require, without extras."""
    found: dict[str, metadata.Distribution] = {}
    todo = [Requirement(name) for name in names]
    while todo:
        requirement = todo.pop()
        if requirement.name not in found and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            found[requirement.name] = metadata.distribution(requirement.name)
            todo += [Requirement(text) for text in found[requirement.name].requires or ()]
    return list(found.values())


def install(wheel: Path, site: Path, *more: str) -> None:
    """Let pip put a wheel into a folder, the PYTHONPATH of a `python -S`, with links to what it requires, and to more."""
    options = "--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check", "--target"
    run("pip", "install", *options, str(site), str(wheel))
    (own,) = metadata.distributions(path=[str(site)])
    link(site, *(own.requires or ()), *more)


def link(site: Path, *names: str) -> None:
    """Links to distributions of this environment and to all that they require."""
    for distribution in needed_with(*names):
        for file in distribution.files or ():  # one by one: distributions share folders
            source, target = Path(str(distribution.locate_file(file))), site / file
            if ".." not in file.parts and source.exists() and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(source)
