"""Machine code that came with the package: a shared library for each machine and level, and an index of its entries.

LLVM is not needed. A library is used only if the package's sources are those it was built from and its own bytes
are those that the index tells; else entries are compiled, and a warning says why.
"""

import ctypes
import functools
import os
import time
import warnings

from .decorator import BOUNDS
from .levels import levels
from .loader import callable_at
from .registry import ENTRIES

IMPORTED = time.time()
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(PACKAGE, "prebuilt")


def file_name(machine, level):
    """The name of the library for the name of a machine and a level, without its ending."""
    return f"{machine.replace(' ', '')}-{level}"


def library_digest(content, entries):
    """Digest of a library and of which entry each of its symbols is."""
    import hashlib  # not needed by `import kinetree`
    import json

    return hashlib.sha256(content + json.dumps(entries, sort_keys=True).encode()).hexdigest()


def _opened(path):
    """The library at a path and its index, or the reason why it cannot be used."""
    import json

    from .sources import sources, sources_digest

    try:
        with open(f"{path}.json", encoding="utf-8") as file:
            index = json.load(file)
        with open(f"{path}.so", "rb") as library_file:
            content = library_file.read()
        entries, digest, made_from = index["entries"], index["sha256"], index["sources"]
        whose = file_name(index["machine"], index["level"])
        if not all(isinstance(x, str) for pair in entries.items() for x in pair):
            return "its index is damaged"
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        return f"it cannot be read ({type(error).__name__})"
    if library_digest(content, entries) != digest:
        return "it is damaged"
    if whose != os.path.basename(path):
        return "it is one of another machine or level"
    if any(
        IMPORTED < source.stat().st_mtime <= time.time() for source in sources(PACKAGE)
    ):  # clocks may be behind files
        return "the sources have changed since they were imported"
    if made_from != sources_digest(PACKAGE):
        return "it was built from other sources"
    try:
        return ctypes.CDLL(f"{path}.so"), entries
    except OSError as error:
        return str(error)


@functools.cache
def search(machine):
    """The library of a machine for the best level that this processor has, with its entries, or None; and what was refused."""
    refused = ""
    for level in () if BOUNDS else levels():
        path = os.path.join(FOLDER, file_name(machine.name, level))
        if os.path.exists(f"{path}.json"):
            found = _opened(path)
            if not isinstance(found, str):
                return found, refused
            refused = f"{os.path.basename(path)} is not used: {found}"
    return None, refused


@functools.cache
def library(machine):
    """The same library; a warning tells what was refused, and what is done instead."""
    found, refused = search(machine)
    if refused:
        then = "code of a lower level is used" if found else "what is needed is compiled, if kinetree[jit] is installed"
        warnings.warn(f"kinetree's machine code {refused}; {then}", RuntimeWarning, stacklevel=2)
    return found


def find(entry, machine):
    """`run` of an entry from a library, or None."""
    found = library(machine)
    if found is None or entry.name not in found[1] or ENTRIES.get(entry.name) is not entry:
        return None
    symbol = found[1][entry.name]
    try:
        functions = [getattr(found[0], f"{kind}_{symbol}") for kind in ("py", "c")]
    except AttributeError:
        return None
    return callable_at(symbol, *(ctypes.cast(each, ctypes.c_void_p).value for each in functions))
