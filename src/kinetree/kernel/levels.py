"""Levels of processors that machine code is made for, the best first; below them the machine's own processor.

Code of a level runs on every processor that has it, and was measured as fast as code for the very processor.
"""

import functools
import hashlib
import os
import platform
import sys

# level -> what /proc/cpuinfo must list
X86 = {
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "x86-64-v3": {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"},
}
NATIVE = "native"


def _processor_flags():
    """What the processor can do, as Linux tells it; nothing elsewhere."""
    try:
        with open("/proc/cpuinfo") as file:
            return next((set(line.split(":")[1].split()) for line in file if line.startswith("flags")), set())
    except OSError:
        return set()


@functools.cache
def levels():
    """The levels that this processor has, the best first; `KINETREE_LEVEL` takes one away from those."""
    found = []
    if sys.platform == "linux" and platform.machine() in ("x86_64", "AMD64"):
        flags = _processor_flags()
        have = set(X86["x86-64-v3"]) <= flags
        found = [level for level, needed in X86.items() if have and needed <= flags]
    chosen = os.environ.get("KINETREE_LEVEL")
    if chosen:
        if chosen not in (*found, NATIVE):
            raise ValueError(f"KINETREE_LEVEL={chosen}: this processor has {', '.join((*found, NATIVE))}")
        return (chosen,)
    return tuple(found) or (NATIVE,)


def level():
    """The best level of this processor."""
    return levels()[0]


@functools.cache
def code_name(of_level):
    """What machine code of a level runs on: of "native" it is this very processor."""
    if of_level != NATIVE:
        return of_level
    what = platform.machine(), platform.processor(), sorted(_processor_flags())
    return f"{NATIVE} {hashlib.sha256(repr(what).encode()).hexdigest()}"
