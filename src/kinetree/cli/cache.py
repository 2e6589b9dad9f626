"""`kinetree cache`: where machine code is kept and how much of it; removes what is old, or all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..kernel import build, store
from ..kernel.registry import ENTRIES
from .common import complain, output
from .warmup import everywhere


def current() -> set[Path]:
    """Where the code of the present sources is kept, for the present processor."""
    codes = [build.Code(entry, kind) for kind in everywhere() for entry in ENTRIES.values() if entry.runs_on(kind)]
    return {path for code in codes if (path := store.path_of(code.symbol, code.identity()))}


def cache(clear: bool, old: bool) -> int:
    """Print folder and sizes; remove files first, if so asked. Status 1 if there is no folder, or a file cannot be removed."""
    folder, files, now = store.cache_folder(), store.files(), current()
    if folder is None:
        output.print("no folder can be used: machine code is kept in memory only", highlight=False)
        return 1
    removed, problem = [], None
    for path in files:
        if clear or (old and path not in now):
            try:
                path.unlink(missing_ok=True)  # it may be that another process has done it
                removed.append(path)
            except OSError as error:  # a read-only folder
                problem = f"cannot remove {path}: {error.strerror}"
    kept = {path: size for path, size in files.items() if path not in removed}
    used = [size for path, size in kept.items() if path in now]
    if removed:
        output.print(f"removed {len(removed)} files, {_megabytes(files[path] for path in removed)}", highlight=False)
    output.print(f"{folder}: {len(kept)} files, {_megabytes(kept.values())}", highlight=False, soft_wrap=True)
    output.print(f"of these sources and this processor: {len(used)} files, {_megabytes(used)}", highlight=False)
    if problem:
        complain(problem)
    return 1 if problem else 0


def _megabytes(sizes: Iterable[int]) -> str:
    return f"{sum(sizes) / 1e6:.1f} MB"
