"""Compiles, with all processors, what tests in several processes would compile each for themselves: `python -m tests.warm`."""

from kinetree.kernel.build import Code, objects
from kinetree.kernel.levels import level, levels
from kinetree.kernel.machine import USUAL, machine_named
from kinetree.kernel.registry import ENTRIES

FURTHER = ("float32 x 1",)  # machines that whole steps are tested on, beside those that wheels have code for


def fill(machine_name, *of_levels):
    """Put code of every entry into the store, for a machine; levels share the compiler's front end."""
    machine = machine_named(machine_name)
    for _ in objects([Code(entry, machine) for entry in ENTRIES.values() if entry.runs_on(machine)], *of_levels):
        pass


if __name__ == "__main__":
    for name in USUAL:
        fill(name, *levels())  # the wheel of the tests has code for all of them
    for name in FURTHER:
        fill(name, level())
