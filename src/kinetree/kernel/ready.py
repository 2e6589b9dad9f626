"""Makes entries ready: their machine code comes from the package's libraries, else from the store or the compiler (`build.py`).

Where the libraries have everything, nothing is imported that only compiling needs.
"""

import functools
import threading

from . import prebuilt
from .registry import ENTRIES
from .undisturbed import undisturbed

ONE_AT_A_TIME = threading.RLock()  # two threads may ask for one entry


@functools.cache
def load_library(machine):
    """Take all stages from the library of a machine, for whatever models: half a millisecond. Whether it has all."""
    stages = [entry for entry in ENTRIES.values() if entry.number is not None]
    for entry in stages:
        take_prebuilt(entry, machine)
    return all(entry.is_ready(machine) for entry in stages)


def take_prebuilt(entry, machine):
    """Take an entry from the library of a machine, if it is there. Whether the entry is ready."""
    if not entry.is_ready(machine):
        run = prebuilt.find(entry, machine)
        if run is not None:
            entry.install(machine, run)
    return entry.is_ready(machine)


def make_ready(entries, machine, model=None):
    """Load the code of entries and of the stages that they call, for a model those that it needs."""
    undisturbed(lambda: _make_ready(entries, machine, model))


def _make_ready(entries, machine, model):
    with ONE_AT_A_TIME:
        has_all_stages = load_library(machine)
        if all([take_prebuilt(entry, machine) for entry in entries]) and has_all_stages:
            return
        from .build import build, needed  # all that compiling needs

        build([e for e in needed(entries, machine, model) if not take_prebuilt(e, machine)], machine)
