"""Damaged caches of machine code: a process that finds one must end well, with right results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.kernel.damages import DAMAGES

FOLDERS = 4
MODES = ("0o700", "0o755", "0o500", "0o300", "0", "0o770", "0o777", "0o1777")


def lines(rng: np.random.Generator) -> Iterator[str]:
    """Some copies of a sound cache, each damaged in one or more ways; two runs on each, and nothing planted has run."""
    yield "import os, pathlib, random, shutil"
    yield "from tests.kernel.damages import DAMAGES, swap"
    yield "from tests.kernel.forks import runs"
    yield "assert runs([tmp / 'sound'])[0].status == 0"
    yield "folders = []"
    for i in range(FOLDERS):
        yield f"folders.append(pathlib.Path(shutil.copytree(tmp / 'sound', tmp / '{i}')))"
        if rng.uniform() < 0.2:
            yield "swap(sorted(folders[-1].iterdir()))"
        for _ in range(rng.integers(1, 5)):
            name, which, seed = rng.choice(list(DAMAGES)), rng.integers(1000), rng.integers(1 << 30)
            yield "files = [p for p in sorted(folders[-1].iterdir()) if p.is_file() and not p.is_symlink()]"
            yield f"if files: DAMAGES[{str(name)!r}](files[{which} % len(files)], random.Random({seed}))"
        if rng.uniform() < 0.2:
            yield f"os.chmod(folders[-1], {rng.choice(MODES)})"
    for _ in range(2):
        yield "wrong = [run for run in runs(folders) if run.status]"
        yield "assert not wrong, wrong"
    yield "assert not (tmp / 'planted').exists()"
