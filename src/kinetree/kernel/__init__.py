"""The kernel language: write an algorithm once, run it on floats, SIMD lanes and symbols.

    from ..kernel import kernel, stage
    from ..kernel.ops import sin, where

`kernel` marks a function of the language, `stage` a public one of (m, d). `ops` holds its functions, `machine` the kinds of
worlds it compiles for, `interpret` runs it on symbols.
"""

from .decorator import BOUNDS, JIT, kernel
from .entry import Entry, compiled
from .function import function
from .interpret import interpret, symbolic_record
from .machine import float_machine, machine
from .registry import ENTRIES
from .stage import STAGES, stage

__all__ = [
    "BOUNDS",
    "ENTRIES",
    "Entry",
    "JIT",
    "STAGES",
    "compiled",
    "float_machine",
    "function",
    "interpret",
    "kernel",
    "machine",
    "stage",
    "symbolic_record",
]
