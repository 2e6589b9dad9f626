"""Entering compiled code until a kernel has come to its end: it comes back early for want of room, and for signals.

What a kernel returns is a kind, 0 if nothing happened, 1 if there is something to report, LACKS_ROOM or PAUSED; and, times
KINDS_OF_RETURN, the number of steps that are left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .bad_states import KINDS_OF_RETURN, LACKS_ROOM, PAUSED
from .data import let_in
from .kernel import JIT, Entry, float_machine
from .kernel.stage import plain
from .notices import report
from .occupancy import BUSY, holding

if TYPE_CHECKING:
    from .data import Data
    from .model import Model

MAX_STEPS = 2**31  # in one call: the count of those left is a 32-bit integer

ENTRIES: dict[Any, Entry] = {}
runs: dict[Any, Any] = {}  # kernel -> its machine code


def check_nstep(name: str, nstep: Any, least: int = 0) -> int:
    """How many steps to make, or an error that names the function."""
    if isinstance(nstep, bool) or not isinstance(nstep, (int, np.integer)) or not least <= nstep < MAX_STEPS:
        raise ValueError(f"{name}: nstep must be a whole number from {least} to {MAX_STEPS - 1}, got {nstep!r}")
    return int(nstep)


def declare(*kernels: Any) -> None:
    """Make entries of kernels of (m, d, n) that return an integer."""
    for kernel in kernels:
        ENTRIES[kernel] = Entry(kernel, "int64", result="int64")


def enter(kernel_: Any, model: Model, data: Data, n: int) -> int:
    """Run a kernel of (m, d, n) to its end. Returns 0 or 1, if there is something to report, with the steps left after that."""
    data._adopt(model)  # a callback may have used it with another model
    if JIT:
        runs[kernel_] = ENTRIES[kernel_].on(float_machine(), model)
    status = _run(kernel_, model, data, n)
    return carry_on(kernel_, model, data, n, status) if must_go_on(status) else status


def _run(kernel_: Any, model: Model, data: Data, n: int) -> int:
    if JIT:
        return let_in(data, runs[kernel_], model.address, data.address, n)
    return plain(kernel_)(model.record(), data.record(), n)


@holding(2)
def carry_on(kernel_: Any, model: Model, data: Data, n: int, status: int) -> int:
    """Enter again as long as a kernel came back before its end: for Python to hear signals, or for want of room."""
    while must_go_on(status):
        n = left_to_do(model, data, n, status)
        status = _run(kernel_, model, data, n)
    return status


def must_go_on(status: int) -> bool:
    """Whether a kernel came back before its end, or was not let in."""
    return status == BUSY or status % KINDS_OF_RETURN in (LACKS_ROOM, PAUSED)


def left_to_do(model: Model, data: Data, n: int, status: int) -> int:
    """After an early return: how many of n steps are left, once what it was for has been seen to."""
    if status == BUSY:
        return n
    left, kind = divmod(status, KINDS_OF_RETURN)
    if kind == LACKS_ROOM:  # for contacts and constraints; what came before is reported
        data._grow()
        report(model, data)
    return left
