"""Levels of processors that machine code is made for; below them the machine's own processor.

Code of a level runs on every processor that has it; `benchmarks/compile_time.py` compares it with code for the very processor.
"""

import functools
import os
import platform
import sys
from typing import NamedTuple

from ..errors import SettingError


class Level(NamedTuple):
    """A level: LLVM's name of its processors, and what /proc/cpuinfo must list."""

    processor: str
    flags: frozenset[str]


_V3 = frozenset(("avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"))
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
# what platform.machine() says -> its levels, the best first
LEVELS = {
    "x86_64": {"x86-64-v4": Level("x86-64-v4", _V4), "x86-64-v3": Level("x86-64-v3", _V3)},
    "aarch64": {"armv8-a": Level("generic", frozenset(("fp", "asimd")))},
}
NATIVE = "native"


def known_levels():
    """The levels that wheels for machines like this one have code for, the best first."""
    return LEVELS.get(platform.machine(), {}) if sys.platform == "linux" else {}


def _processor_flags():
    """What the processor can do, as Linux tells it; nothing elsewhere."""
    try:
        with open("/proc/cpuinfo") as file:
            lines = (line.partition(":") for line in file)
            return next((set(text.split()) for key, _, text in lines if key.strip() in ("flags", "Features")), set())
    except OSError:
        return set()


@functools.cache
def levels():
    """The levels that this processor has, the best first; `KINETREE_LEVEL` chooses one of those."""
    flags = _processor_flags()
    found = tuple(name for name, level in known_levels().items() if level.flags <= flags)
    chosen = os.environ.get("KINETREE_LEVEL")
    if chosen:
        if chosen not in (*found, NATIVE):
            raise SettingError(
                f"KINETREE_LEVEL={chosen} is none of {', '.join((*found, NATIVE))}, which this processor has"
            )
        return (chosen,)
    return found or (NATIVE,)


def level():
    """The best level of this processor."""
    return levels()[0]


@functools.cache
def code_name(of_level):
    """What machine code of a level runs on: of "native" it is this very processor."""
    if of_level != NATIVE:
        return of_level
    import hashlib  # neither is needed for the other levels

    from .jit.host import host

    return f"{NATIVE} {hashlib.sha256(repr(host()).encode()).hexdigest()}"
