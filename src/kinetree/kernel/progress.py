"""Says on first use that machine code is being made: nobody should wonder why the first step takes half a minute.

One line on standard error, once for a process; in a terminal another one shows how far the compiler is. `KINETREE_QUIET=1`
silences both. What cannot be written, as nobody reads it any more, is no reason to fail.
"""

import contextlib
import os
import sys
import time

BAR = 30
_SAID = []  # once is enough for a process


class Progress:
    """How far the compiler is with entries, each of some work. kept: whether later runs will find the code."""

    def __init__(self, works, kept=True):
        self.count, self.work, self.kept = len(works), sum(works), kept
        self.finished, self.worked, self.began = 0, 0, time.monotonic()
        self._speaks = self.count > 0 and os.environ.get("KINETREE_QUIET", "0") != "1" and sys.stderr is not None
        self._shows = False
        with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or something else that only takes text
            self._shows = self._speaks and sys.stderr.isatty()

    def __enter__(self):
        if self._speaks and not _SAID:
            _SAID.append(True)
            later = "it is kept for later runs" if self.kept else "no folder keeps it for later runs"
            _say(f"kinetree: compiling what is used for the first time, for a robot half a minute or so; {later}\n")
        return self

    def __exit__(self, *error):
        if self._shows:
            _say("\r\033[K")

    def begin(self, name):
        """An entry is about to be compiled."""
        self._show(name)

    def done(self, name, work):
        """An entry is compiled."""
        self.finished, self.worked = self.finished + 1, self.worked + work
        self._show(name)

    def _show(self, name):
        if self._shows:
            full = BAR * self.worked // self.work
            spent = time.monotonic() - self.began
            left = f", {spent / self.worked * (self.work - self.worked):.0f} s left" if self.worked else ""
            _say(f"\r\033[K  [{'#' * full}{'.' * (BAR - full)}] {self.finished}/{self.count}{left}  {name}")


def _say(text):
    with contextlib.suppress(AttributeError, OSError, ValueError):
        print(text, end="", file=sys.stderr, flush=True)
