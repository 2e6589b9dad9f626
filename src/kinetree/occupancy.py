"""Who is inside a Data: one thread at a time, or there would be numbers of two steps in one, and memory that is gone.

Each Data has a few words of its own, its guard. Compiled code takes it on the way in and gives it back on the way out
(`kernel/guard.py`); so do the functions here that read or write all of a Data from Python. A second thread gets an error.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .errors import BusyError

# Words of a guard: the thread that has the Data, or 0; whether it is in compiled code; when that last looked at signals;
# the number of the stage called last; what Python raised in compiled code, as type, value and traceback; whether Python is
# changing it; which of the user's functions compiled code asks for; the address of the Data.
OWNER, INSIDE, SINCE, CALLED, ERROR = range(5)
CHANGING, HOOK, SELF = ERROR + 3, ERROR + 4, ERROR + 5
GUARD = SELF + 1
# Words of the process: its main thread, and three functions of Python.
MAIN = 0
PROCESS = np.zeros(MAIN + 4, np.int64)

BUSY = -100
"""What an entry returns if it was refused the Data, or if the Data has no workspace that its thread can work in."""

# Takes a Data at an address for this thread: compiled, as threads in compiled code do not wait for Python's lock. Set by
# `kernel`; without it nothing is compiled, and there is nobody to keep out.
TAKE: list[Callable[[int], int]] = []

Method = TypeVar("Method", bound=Callable[..., Any])


def new_guard() -> np.ndarray:
    """The guard of a Data that nobody is in."""
    return np.zeros(GUARD, np.int64)


def exclusive(method: Method) -> Method:
    """Decorator: a method of a Data that changes memory under compiled code, and so must have the Data for itself.

    What a handler of a signal breaks off is done again, and to its end: a Data must not be left half changed.
    """
    return _taking(method, inside=False, changes=True)


def reading(method: Method) -> Method:
    """Decorator: a method that reads all of a Data. A handler of a signal may call it while its own thread is inside."""
    return _taking(method, inside=True, changes=False)


def holding(*places: int, inside: bool = False) -> Callable[[Method], Method]:
    """Decorator: a function that writes into the Data at these places of its arguments, or runs stage after stage on them.

    Other threads stay out until its end; its own may do with them what it likes on the way, as callbacks do.
    inside: it only reads, so that a handler of a signal may call it while its own thread is inside.
    """

    def decorate(function: Any) -> Any:
        for place in places:
            function = _taking(function, inside=inside, changes=False, place=place)
        return function

    return decorate


def _taking(method: Any, inside: bool, changes: bool, place: int = 0) -> Any:
    """inside: may a handler of a signal call it in the middle of compiled code? changes: does it change memory?"""
    name = list(inspect.signature(method).parameters)[place]

    @functools.wraps(method)
    def call(*args: Any, **named: Any) -> Any:
        data: Any = args[place] if len(args) > place else named.get(name)
        guard, me = getattr(data, "_guard", None), threading.get_ident()
        if guard is None:  # of symbols, or no Data at all, which the method says
            return method(*args, **named)
        outer = guard[OWNER] == me
        if outer and ((guard[INSIDE] and not inside) or (guard[CHANGING] and changes)):
            refuse(guard)
        try:  # the end of this must not call anything, or a signal could come between it and the release
            while not outer and TAKE and TAKE[0](data.address) == BUSY:
                refuse(guard)
            if not changes:
                return method(*args, **named)
            guard[CHANGING] = 1  # handlers of signals may run stages in between, but not change memory once more
            try:
                return method(*args, **named)
            except BaseException:
                method(*args, **named)
                raise
        finally:
            if not outer and guard[OWNER] == me:
                guard[CHANGING] = 0
                guard[OWNER] = 0
            elif outer and changes:
                guard[CHANGING] = 0

    return call


def refuse(guard: np.ndarray) -> None:
    """Raise, as the Data is in use. Returns, having freed it, if its thread is none of this process, as after a fork."""
    owner = int(guard[OWNER])
    if owner == threading.get_ident():
        raise BusyError(
            "this Data is in the middle of a step: the handler of a signal, which may run there, cannot change it. "
            "Let the handler note that it was called, and act on that after the step"
        )
    if owner and owner not in sys._current_frames():
        guard[[OWNER, INSIDE, CHANGING]] = 0
        return
    name = next((t.name for t in threading.enumerate() if t.ident == owner), "")
    raise BusyError(
        f"this Data is in use by another thread{f', {name}' * bool(name)}: give each thread its own kt.Data(model)"
    )


def raise_kept(guard: np.ndarray) -> None:
    """Raise what Python raised where compiled code cannot: an error of the compiler, or what a handler of a signal raised."""
    if guard[ERROR]:
        kept = [ctypes.c_void_p(int(word) or None) for word in guard[ERROR:CHANGING]]
        guard[ERROR:CHANGING] = 0
        ctypes.pythonapi.PyErr_Restore(*kept)  # which makes this call raise it
