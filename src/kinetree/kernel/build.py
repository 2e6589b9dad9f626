"""Builds machine code: which entries a model needs, what determines their code, and where it comes from.

It is compiled once, in a pool of processes, as LLVM takes seconds for a stage, and kept in the store. Not imported where the
package's libraries have everything (`ready.py`).
"""

import functools
import importlib.util

from ..occupancy import BUSY, CALLED, ERROR, HOOK, INSIDE, MAIN, OWNER, SELF, SINCE
from ..workspace import HOLDER, THREAD
from . import prebuilt, store
from .code import reach, stamp
from .decorator import BOUNDS
from .guard import enter, leave
from .levels import NATIVE, code_name, level
from .loader import load_object
from .machine import USUAL, words_of
from .order import stages_of
from .pool import compile_in_pool
from .runs import note_run

WORDS = (OWNER, INSIDE, SINCE, CALLED, ERROR, HOOK, MAIN, BUSY, SELF, THREAD, HOLDER)  # numbers that are in the code
COMPILED = []  # symbols that this process found neither in a library nor in the store


class Code:
    """An entry for a machine: what is compiled."""

    def __init__(self, entry, machine):
        if not entry.runs_on(machine):
            raise TypeError(f"{entry.kernel.__name__} branches on values and is no stage: it cannot run on lanes")
        self.entry, self.machine = entry, machine

    @property
    def lane_by_lane(self):
        """Whether it runs on one lane after the other."""
        return self.entry.kernel.scalar_only and self.machine.has_lanes

    @functools.cached_property
    def mark(self):
        """Digest of all that determines the machine code, the level of the processor apart."""
        entry = self.entry
        others = tuple(a if isinstance(a, str) else words_of(a) for a in entry.arguments)
        around = reach(note_run)[0], reach(enter)[0], reach(leave)[0]  # what is in an entry beside its kernel
        settings = entry.result, entry.number, entry.guarded, entry.kernel.unfused, WORDS
        return stamp(entry.kernel, self.machine.digest, others, settings, around, lane_by_lane=self.lane_by_lane)

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

    Stages among these that the model does without are compiled when they are called, after all.
    """
    found = {}  # a dict, for its order
    for entry in entries:
        called = stages_of(entry.kernel, model, machine.has_lanes)
        found |= {stage.entry: None for stage in called} | {entry: None}
    for entry in found:
        for stage in reach(entry.kernel, entry.kernel.scalar_only and machine.has_lanes)[1]:
            if stage.entry not in found:
                stage.expect_on(machine)
    return list(found)


def objects(codes, *levels):
    """Yield codes with their object files, one for each level of processors: from the store, else compiled, and kept there."""
    absent = {}  # levels that some codes lack -> these codes, each with what the store has of the others
    for code in codes:
        found = {each: store.read(code.symbol, code.identity(each)) for each in levels}
        lacking = tuple(each for each in levels if found[each] is None)
        if lacking:
            absent.setdefault(lacking, {})[code] = found
        else:
            yield code, list(found.values())
    for lacking, group in absent.items():
        for code, contents in compile_in_pool(list(group), *lacking):
            COMPILED.append(code.symbol)
            for each, content in zip(lacking, contents, strict=True):
                store.write(code.symbol, code.identity(each), content)
            yield code, list((group[code] | dict(zip(lacking, contents, strict=True))).values())


def _reason(code):
    """Why there is no machine code of an entry."""
    name, refused = code.machine.name, prebuilt.search(code.machine)[1]
    if BOUNDS:
        return "KINETREE_BOUNDS asks for code with bounds checks"
    if name not in USUAL:
        return f"kinetree comes with code for {', '.join(USUAL)}, not for {name}"
    if level() == NATIVE:
        return "KINETREE_LEVEL asks for it, or kinetree comes with no code for a processor like this one"
    if not code.entry.name.startswith("kinetree."):
        return f"{code.entry.kernel.__name__} is a stage of your own"
    return refused or "this kinetree came without machine code"


def build(entries, machine):
    """Load the code of entries that no library has."""
    codes = [Code(entry, machine) for entry in entries]
    if codes and importlib.util.find_spec("llvmlite") is None:
        raise ModuleNotFoundError(
            f"something must be compiled, and llvmlite is missing, by which kinetree does that: {_reason(codes[-1])}. "
            "Install it with: pip install 'kinetree[jit]'",
            name="llvmlite",
        )
    for code, (content,) in objects(codes, level()):
        code.load(content)
