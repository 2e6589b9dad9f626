"""`kinetree cache`: where machine code is kept and how much of it; removes what is old, or all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ..kernel import build, store
from ..kernel.registry import ENTRIES
from .common import complain, output
from .warmup import everywhere


def current() -> dict[str, str]:
    """Symbols of the present sources on the usual machines, each with the name of its kernel."""
    codes = [build.Code(entry, kind) for kind in everywhere() for entry in ENTRIES.values() if entry.runs_on(kind)]
    return {code.symbol: code.entry.kernel.__name__ for code in codes}


def is_old(path: Path, now: dict[str, str]) -> bool:
    """Whether a file holds a kernel of kinetree's own, but not as it is now; of what users wrote nothing is known."""
    symbol = path.name.split(".")[0]
    return symbol not in now and symbol.rpartition("_")[0] in now.values()


def cache(clear: bool, old: bool) -> int:
    """Print folder and sizes; remove files first, if so asked. Status 1 if there is no folder, or a file cannot be removed."""
    folder, files, now = store.cache_folder(), store.files(), current()
    if folder is None:
        output.print("no folder can be used: machine code is kept in memory only", highlight=False)
        return 1
    chosen = os.environ.get("KINETREE_CACHE")
    if (clear or old) and chosen and not os.path.samefile(folder, os.path.expanduser(chosen)):
        complain(f"nothing is removed: KINETREE_CACHE names {chosen}, but {folder} would be used")
        return 1
    removed, problem = [], None
    for path in files:
        if clear or (old and is_old(path, now)):
            try:
                path.unlink(missing_ok=True)  # it may be that another process has done it
                removed.append(path)
            except OSError as error:  # a read-only folder
                problem = f"cannot remove {path}: {error.strerror}"
    kept = {path: size for path, size in files.items() if path not in removed}
    used = [size for path, size in kept.items() if path.name.split(".")[0] in now]
    if removed:
        output.print(f"removed {len(removed)} files, {_megabytes(files[path] for path in removed)}", highlight=False)
    output.print(f"{folder}: {len(kept)} files, {_megabytes(kept.values())}", highlight=False, soft_wrap=True)
    output.print(f"of these sources: {len(used)} files, {_megabytes(used)}", highlight=False)
    if problem:
        complain(problem)
    return 1 if problem else 0


def _megabytes(sizes: Iterable[int]) -> str:
    return f"{sum(sizes) / 1e6:.1f} MB"
