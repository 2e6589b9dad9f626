"""The sources that machine code was built from. Imports nothing of the package, so that building a wheel can use it too."""

import hashlib
import pathlib


def sources(package):
    """The source files of a package at a path."""
    return sorted(pathlib.Path(package).rglob("*.py"))


def sources_digest(package):
    """Digest of every source file and its name."""
    h = hashlib.sha256()
    for path in sources(package):
        h.update(f"{path.relative_to(package).as_posix()}\0".encode())
        h.update(path.read_bytes())
    return h.hexdigest()
