"""Makes entries ready: their machine code comes from the package's libraries, else from the store, else from the compiler.

What must be compiled is compiled once: in a pool of processes, as LLVM takes seconds for a stage, and kept in the store.
"""

import functools
import importlib.util
import threading

from ..needs import NEEDS
from ..occupancy import BUSY, CALLED, ERROR, INSIDE, MAIN, OWNER, SINCE
from . import prebuilt, store
from .code import reach, stamp
from .guard import enter, leave
from .levels import code_name, level
from .loader import load_object
from .machine import words_of
from .pool import compile_in_pool
from .registry import ENTRIES
from .runs import note_run
from .undisturbed import undisturbed

WORDS = (OWNER, INSIDE, SINCE, CALLED, ERROR, MAIN, BUSY)  # numbers that are in the code
COMPILED = []  # symbols that this process found neither in a library nor in the store
ONE_AT_A_TIME = threading.RLock()  # two threads may ask for one entry


class Code:
    """An entry for a machine: what is compiled."""

    def __init__(self, entry, machine):
        if not entry.runs_on(machine):
            raise TypeError(f"{entry.kernel.__name__} branches on values and is no stage: it cannot run on lanes")
        self.entry, self.machine = entry, machine

    @property
    def lane_by_lane(self):
        """Whether it runs on one lane after the other."""
        return self.entry.kernel.scalar_only and self.machine.width is not None and self.machine.width > 1

    @functools.cached_property
    def mark(self):
        """Digest of all that determines the machine code, the level of the processor apart."""
        entry = self.entry
        others = tuple(a if isinstance(a, str) else words_of(a) for a in entry.arguments)
        around = reach(note_run)[0], reach(enter)[0], reach(leave)[0]  # what is in an entry beside its kernel
        settings = entry.result, entry.number, entry.guarded, entry.kernel.unfused, self.lane_by_lane, WORDS
        return stamp(entry.kernel, self.machine.digest, others, settings, around)

    @property
    def symbol(self):
        """The name of its symbols: without the mark, two machines in one process would share it."""
        return f"{self.entry.kernel.__name__}_{self.mark[:16]}"

    def identity(self, of_level=None):
        """What a file of the store must be to belong to it, for a level of processors or for this one's."""
        return f"{self.symbol} {self.mark} {code_name(of_level or level())}".encode()

    def load(self, content):
        """Take an object file."""
        self.entry.install(self.machine, load_object(self.symbol, content))


def needed(entries, machine, model=None):
    """Entries that must be there before some can run for a model: themselves and the stages that they call, from below.

    Rare stages among them that the model does not need are compiled when they are called, after all.
    """
    found, todo = list(entries), list(entries)
    while todo:
        for stage in reach(todo.pop().kernel)[1]:
            if stage.entry.rare and not (
                model is not None and stage.__name__ in NEEDS and NEEDS[stage.__name__](model)
            ):
                stage.expect_on(machine)
            elif stage.entry not in found:
                found.append(stage.entry)
                todo.append(stage.entry)
    return found[::-1]


@functools.cache
def load_library(machine):
    """Take all stages from the library of a machine, rare ones too: that takes half a millisecond."""
    for entry in ENTRIES.values():
        if entry.number is not None and not entry.is_ready(machine):
            run = prebuilt.find(entry, machine)
            if run is not None:
                entry.install(machine, run)


def objects(codes, *levels):
    """Yield codes with their object files, one for each level of processors: from the store, else compiled, and kept there."""
    absent = []
    for code in codes:
        found = [store.read(code.symbol, code.identity(each)) for each in levels]
        if None in found:
            absent.append(code)
        else:
            yield code, found
    for code, contents in compile_in_pool(absent, *levels):
        COMPILED.append(code.symbol)
        for each, content in zip(levels, contents, strict=True):
            store.write(code.symbol, code.identity(each), content)
        yield code, contents


def make_ready(entries, machine, model=None):
    """Load the code of entries and of the stages that they call, for a model those that it needs."""
    undisturbed(lambda: _make_ready(entries, machine, model))


def _make_ready(entries, machine, model):
    with ONE_AT_A_TIME:
        load_library(machine)
        absent = []
        for each in needed(entries, machine, model):
            if each.is_ready(machine):
                continue
            run = prebuilt.find(each, machine)
            if run is not None:
                each.install(machine, run)
            else:
                absent.append(Code(each, machine))
        if absent and importlib.util.find_spec("llvmlite") is None:
            raise ModuleNotFoundError(
                f"kinetree has no machine code of {absent[0].entry.kernel.__name__} for {machine.name} on this processor: "
                "pip install 'kinetree[jit]' brings what compiles it",
                name="llvmlite",
            )
        for code, (content,) in objects(absent, level()):
            code.load(content)
