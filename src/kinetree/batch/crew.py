"""`Crew`: the threads of a batch, each with a block of worlds on lanes of its own.

Worlds are dealt out in pieces while there are any, so that no thread waits for another that has the harder ones. Which thread
computes a world, and beside which others, changes none of its digits.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from typing import Any

import numpy as np

PIECES = 8  # of the worlds, for each thread
AT_ONCE = 2000  # steps of worlds that a lone thread makes in the caller's, rather than being handed them: some 10 ms
AT_LEAST = 256  # steps of worlds that are worth a piece of their own


class Crew:
    """Threads that run pieces of an order of worlds. make: makes the block of a thread."""

    def __init__(self, threads: int, make: Callable[[], Any]):
        self.threads, self._make = threads, make
        self.stop = np.zeros(1, np.int64)
        self._local = threading.local()
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._generation = 0

    def forget_blocks(self) -> None:
        """Blocks are made anew: the model has changed in what they were made for."""
        self._generation += 1

    def block(self) -> Any:
        """The block of this thread."""
        if getattr(self._local, "of", None) != self._generation:
            self._local.block, self._local.of = self._make(), self._generation
        return self._local.block

    def _executor(self) -> ThreadPoolExecutor:
        if self._pool is None or self._process != os.getpid():  # threads do not outlive a fork
            self._pool, self._process = ThreadPoolExecutor(self.threads, "kinetree"), os.getpid()
            weakref.finalize(self, self._pool.shutdown, wait=False)
        return self._pool

    def run(
        self,
        count: int,
        width: int,
        work: int,
        job: Callable[[Any, int, int], None],
        tell: Callable[[int], None] | None,
    ) -> None:
        """Run `job(block, first, end)` on pieces of so many worlds. work: steps of worlds in all. tell: how many are done."""
        self.stop[0] = 0
        if work <= (AT_ONCE if self.threads == 1 else min(AT_ONCE, AT_LEAST)):
            job(self.block(), 0, count)
            if tell is not None:
                tell(count)
            return
        futures: dict[Future[None], int] = {}
        try:
            wanted = min(self.threads * PIECES, max(self.threads, work // AT_LEAST))
            for first, end in _pieces(count, width, wanted):
                futures[self._executor().submit(self._one, job, first, end)] = end - first
            for future in as_completed(futures):
                future.result()
                if tell is not None:
                    tell(futures[future])
        except BaseException:
            self.stop[0] = 1  # the others end after the step at hand
            for future in futures:
                future.cancel()
            _wait_for(futures)
            raise

    def _one(self, job: Callable[[Any, int, int], None], first: int, end: int) -> None:
        if self.stop[0] == 0:
            job(self.block(), first, end)


def _wait_for(futures: Iterable[Future[None]]) -> None:
    """Until all have ended, whatever comes meanwhile: a second Ctrl-C too must find every world at a whole step."""
    while True:
        try:
            wait(futures)
            return
        except BaseException:  # noqa: S112
            continue


def _pieces(count: int, width: int, wanted: int) -> Iterator[tuple[int, int]]:
    """Runs of whole blocks, about so many."""
    blocks = -(-count // width)
    size = max(1, -(-blocks // wanted)) * width
    for first in range(0, count, size):
        yield first, min(first + size, count)
