"""Says on first use that machine code is being made: nobody should wonder why the first step takes a minute.

One line on standard error for each process that compiles; in a terminal it goes on to name the kernels. `KINETREE_QUIET=1`
silences it.
"""

import atexit
import os
import sys

_count = 0


def announce(name):
    """Before a kernel is compiled that is not in the cache."""
    global _count
    if os.environ.get("KINETREE_QUIET", "0") == "1" or sys.stderr is None:
        return
    _count += 1
    if _count == 1:
        print("kinetree: compiling for first use; later runs take the code from a cache", file=sys.stderr, flush=True)
        if sys.stderr.isatty():
            atexit.register(_clear)
    if sys.stderr.isatty():
        print(f"\r\033[K  {_count}: {name}", end="", file=sys.stderr, flush=True)


def _clear():
    print("\r\033[K", end="", file=sys.stderr, flush=True)
