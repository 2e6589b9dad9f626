"""Make a wheel with machine code, and a folder in which it is installed beside all other packages but those that compile."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("src", "pyproject.toml", "README.md", "LICENSE", "hatch_build.py")
ABSENT = re.compile(r"llvmlite|numba|scipy|kinetree|__editable__|_*pycache|distutils-precedence|.*\.pth$")


def build_wheel(folder: Path, machines: Iterable[str], levels: Iterable[str]) -> Path:
    """A wheel with code for machines and levels, from a copy of the sources; objects come from the store if it has them."""
    from kinetree.kernel.jit import library

    for part in PARTS:
        source = ROOT / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / part)
    (folder / "build" / "prebuilt").mkdir(parents=True)
    for machine in machines:
        library.build(folder / "build" / "prebuilt", machine, tuple(levels))
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder / "dist"),
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = (folder / "dist").glob("*.whl")
    return made


def install(wheel: Path, site: Path) -> None:
    """Unpack a wheel into a folder, to be used as PYTHONPATH of `python -S`."""
    zipfile.ZipFile(wheel).extractall(site)
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not ABSENT.match(path.name) and not (site / path.name).exists():
            (site / path.name).symlink_to(path)
