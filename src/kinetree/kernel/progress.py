"""Says on first use that machine code is being made: nobody should wonder why the first step takes a minute.

One line on standard error for each time that something is compiled; in a terminal a second one shows how far it is.
`KINETREE_QUIET=1` silences it.
"""

import os
import sys
import time

BAR = 30
_SAID = []  # once is enough for a process


class Progress:
    """How far the compiler is with a number of entries."""

    def __init__(self, count):
        self.count, self.finished, self.began = count, 0, time.monotonic()
        self._speaks = count > 0 and os.environ.get("KINETREE_QUIET", "0") != "1" and sys.stderr is not None
        self._shows = self._speaks and sys.stderr.isatty()

    def __enter__(self):
        if self._speaks and not _SAID:
            _SAID.append(True)
            parts = "one part" if self.count == 1 else f"{self.count} parts"
            text = f"kinetree: compiling {parts} of the engine for first use; later runs take the code from a cache"
            print(text, file=sys.stderr, flush=True)
        return self

    def __exit__(self, *error):
        if self._shows:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def begin(self, name):
        """An entry is about to be compiled in this process."""
        self._show(name)

    def done(self, name):
        """An entry is compiled."""
        self.finished += 1
        self._show(name)

    def _show(self, name):
        if self._shows:
            full = BAR * self.finished // self.count
            spent = time.monotonic() - self.began
            left = f", {spent / self.finished * (self.count - self.finished):.0f} s left" if self.finished else ""
            bar = "#" * full + "." * (BAR - full)
            print(f"\r\033[K  [{bar}] {self.finished}/{self.count}{left}  {name}", end="", file=sys.stderr, flush=True)
