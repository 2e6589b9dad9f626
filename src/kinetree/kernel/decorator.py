"""`@kernel`: marks a function of the kernel language.

A kernel is an ordinary function of scalars, tuples of scalars, and the handles m and d. Called from Python it is plain
Python, on numbers or on symbols; machine code exists only of entries (`entry.py`).
`KINETREE_JIT=0` leaves everything uncompiled; `KINETREE_BOUNDS=1` compiles with our own bounds checks.
"""

import linecache
import os

JIT = os.environ.get("KINETREE_JIT", "1") != "0"
BOUNDS = os.environ.get("KINETREE_BOUNDS", "0") not in ("", "0")


def kernel(function=None, *, scalar=False, apart=False):
    """Mark a function as a kernel; scalar=True says that it branches on values, so lanes run it one by one.

    apart: not inlined, so that it looks up again where growing fields lie: they may have moved before it is called.
    """
    if function is None:
        return lambda f: kernel(f, scalar=scalar, apart=apart)
    function.scalar_only, function.unfused, function.apart = scalar, False, apart
    return function


def made_of(text, name, scope):
    """The scope in which a text was run; the compiler and tracebacks find the text under the name."""
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), scope)
    return scope
