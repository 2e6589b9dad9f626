"""Files that are there as a whole or not at all: written under another name, then moved into place."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which gets its name at the end of the block; if that fails, what was there before stays.

    A link stays, too, and so do permissions. A pipe or a device is written to as it is.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    if target.exists():
        target.open("ab").close()  # fails if it may not be written
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            yield file
        if target.exists():
            shutil.copymode(target, part)
        os.replace(part, target)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
