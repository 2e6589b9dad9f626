"""What may happen to the files of a cache: a table of damages, each `damage(path, rng)` with a `random.Random`."""

from __future__ import annotations

import os
import pickle
import random
from pathlib import Path


def planted(path: Path) -> Path:
    """What comes into being if a planted pickle of a cache is loaded: a folder beside that of the cache."""
    return path.parent.parent / "planted"


class Foreign:
    """Leaves a trace when it is unpickled."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.makedirs, (str(self.path), 0o700, True)


def flip(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 100)) if content else 0):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def blank(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    start = rng.randrange(len(content) + 1)
    end = min(len(content), start + rng.randrange(1, 5000))
    path.write_bytes(content[:start] + bytes(end - start) + content[end:])


def plant(path: Path, rng: random.Random) -> None:
    """A foreign pickle, by itself or behind what may be a digest, or a version."""
    kept = path.read_bytes()[: rng.choice((0, 0, 16, 20, 32, 40, 64))]
    path.write_bytes(kept + pickle.dumps(Foreign(planted(path))))


def make_directory(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.mkdir()


def make_full_directory(path: Path, rng: random.Random) -> None:
    make_directory(path, rng)
    (path / "file").touch()


def make_link(path: Path, rng: random.Random) -> None:
    """To a sound copy elsewhere: what is written must not go there."""
    target = path.parent.parent / f"{path.parent.name}, {path.name}"
    path.rename(target)
    path.symlink_to(target)


def make_other_link(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.symlink_to(rng.choice(("/dev/zero", "/dev/null", "/nowhere", path.name, ".")))


def make_pipe(path: Path, rng: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def take_another(path: Path, rng: random.Random) -> None:
    """The contents of another entry."""
    others = [p for p in sorted(path.parent.iterdir()) if p != path and p.is_file() and os.access(p, os.R_OK)]
    if others:
        path.write_bytes(rng.choice(others).read_bytes())


DAMAGES = {
    "flipped bits": flip,
    "zeros": blank,
    "cut short": lambda path, rng: os.truncate(path, rng.randrange(path.stat().st_size + 1)),
    "empty": lambda path, rng: os.truncate(path, 0),
    "longer": lambda path, rng: path.write_bytes(path.read_bytes() + rng.randbytes(rng.choice((1, 1000)))),
    "huge": lambda path, rng: os.truncate(path, 1 << 28),
    "noise": lambda path, rng: path.write_bytes(rng.randbytes(path.stat().st_size)),
    "a foreign pickle": plant,
    "that of another": take_another,
    "a directory": make_directory,
    "a full directory": make_full_directory,
    "unreadable": lambda path, rng: path.chmod(0),
    "writable by others": lambda path, rng: path.chmod(0o666),
    "a link": make_link,
    "a link elsewhere": make_other_link,
    "a pipe": make_pipe,
    "gone": lambda path, rng: path.unlink(),
}


def swap(files: list[Path]) -> None:
    """Each file under the name of the next."""
    contents = [path.read_bytes() for path in files]
    for path, content in zip(files, contents[1:] + contents[:1], strict=True):
        path.write_bytes(content)
