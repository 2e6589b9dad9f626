"""Being told to stop: SIGINT (Ctrl-C), SIGTERM and SIGHUP end `kinetree run`, which first saves what it has.

A second one spares the user the rest, but never what was simulated.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Stopped(BaseException):
    """Raised where the program is when the signal of that number comes; no part of it takes this for an error."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number

    @property
    def name(self) -> str:
        """Of the signal."""
        return signal.Signals(self.number).name

    @property
    def status(self) -> int:
        """The exit status that shells give to it."""
        return 128 + self.number


class Stop:
    """What became of the signals: `stopped` is the first of them, raised if `raises` holds, `hurried` the second.

    The second is raised where `can_hurry` holds, later ones never.
    """

    def __init__(self) -> None:
        self.stopped: Stopped | None = None
        self.hurried: Stopped | None = None
        self.raises, self.can_hurry = True, False
        self._before = {number: signal.getsignal(number) for number in SIGNALS}

    def listen(self) -> None:
        """To all signals but those that are ignored, as under nohup."""
        for number, handler in self._before.items():
            if handler != signal.SIG_IGN:
                signal.signal(number, self._hear)

    def restore(self) -> None:
        """Let signals act as they did before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: Any) -> None:
        if self.stopped is None:
            self.stopped = Stopped(number)
            if self.raises:
                raise self.stopped
        elif self.hurried is None:
            self.hurried = Stopped(number)
            if self.can_hurry:
                raise self.hurried


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Listen to the signals in a block."""
    stop = Stop()
    try:
        stop.listen()
        yield stop
    finally:
        stop.restore()
