"""Compiles, with all processors, what tests in several processes would compile each for themselves: `python -m tests.warm`."""

from kinetree.cli.warmup import everywhere, prepare_all
from kinetree.kernel.machine import machine_named

FURTHER = (
    "float64 x 8 own",
    "float32 x 1",
)  # machines that whole steps are tested on, beside those that wheels have code for

if __name__ == "__main__":
    prepare_all([*everywhere(), *map(machine_named, FURTHER)])
