"""`@kernel`: the one decorator that owns every Numba option.

A kernel is an ordinary function of scalars, tuples of scalars, and the handles m and d. Called from Python it is plain
Python, on numbers or on symbols; machine code exists only inside entries (`entry.py`).
`KINETREE_JIT=0` leaves everything uncompiled; `KINETREE_BOUNDS=1` compiles with our own bounds checks.
"""

import os

from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

try:
    from .inner import InnerCompiler as PIPELINE
except ImportError:  # Numba's internals moved: compile slower with the stock pipeline
    PIPELINE = Compiler

JIT = os.environ.get("KINETREE_JIT", "1") != "0"
BOUNDS = os.environ.get("KINETREE_BOUNDS", "0") == "1"

OPTIONS = {
    "nopython": True,
    "error_model": "numpy",  # division by zero gives inf, as in C
    "fastmath": {"contract", "nsz"},  # fused multiply-add only: results stay reproducible to the last digits
    "forceinline": True,  # tuples returned through memory would stand in the critical path
    "_nrt": False,  # no reference counts: kernels allocate nothing
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "boundscheck": None,  # Numba's own check lets -1 wrap, and MuJoCo writes -1 for "none"
}


class Kernel(CPUDispatcher):
    """A function of the kernel language."""

    scalar_only = False
    unfused = False

    def __call__(self, *args):
        """Plain Python: an inner kernel has no machine code of its own to call."""
        return self.py_func(*args)


def kernel(function=None, *, scalar=False):
    """Mark a function as a kernel; scalar=True says that it branches on values, so lanes run it one by one."""
    if function is None:
        return lambda f: kernel(f, scalar=scalar)
    if not JIT:
        function.scalar_only = scalar
        return function
    out = Kernel(function, locals={}, targetoptions=dict(OPTIONS), pipeline_class=PIPELINE)
    out.scalar_only = scalar
    return out
