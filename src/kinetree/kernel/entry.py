"""Entries: kernels as machine code that takes one integer, an address, for each handle.

A call costs 0.1 us. An entry is made ready when it is first asked for, and with it the stages that it calls, but for those
that the model does without: see `stage`.
"""

import functools

from . import ready
from .loader import c_address
from .registry import ENTRIES


class Entry:
    """A kernel with what it takes beside m and d: layouts of further handles, or "int64".

    result: "void" or "int64". number: of a stage, whose runs are counted.
    guarded: `run` returns BUSY if another thread is inside the data; else 0 where the kernel returns nothing.
    """

    def __init__(self, kernel, *arguments, result="void", number=None, guarded=True, listed=True):
        self.kernel, self.arguments, self.result, self.number = kernel, arguments, result, number
        self.guarded = guarded
        self.name = f"{kernel.__module__}.{kernel.__qualname__}"
        self._runs = {}  # machine -> run
        if listed:
            ENTRIES[self.name] = self

    def __repr__(self):
        return f"<entry {self.name}>"

    def on(self, machine, model=None):
        """`run(model address, data address, ...)` for a machine; compiled if it must be, with what the model needs."""
        if machine not in self._runs or (model is not None and (self, machine) not in model._compiled):
            ready.make_ready([self], machine, model)
            if model is not None:
                model._compiled.add((self, machine))
        return self._runs[machine]

    def is_ready(self, machine):
        """Whether its code is loaded."""
        return machine in self._runs

    def install(self, machine, run):
        """Take loaded code; that of a stage goes into the machine's table."""
        self._runs[machine] = run
        if self.number is not None:
            machine.stages[self.number] = c_address(run)

    def runs_on(self, machine):
        """Whether there is code of it for a machine: what branches on values runs on lanes only as a stage, one by one."""
        return not (self.kernel.scalar_only and machine.has_lanes) or (self.number is not None and not self.arguments)


@functools.cache
def compiled(kernel, machine, *arguments, **settings):
    """`run` of a kernel that is no entry of its own."""
    return Entry(kernel, *arguments, **settings, listed=False).on(machine)
