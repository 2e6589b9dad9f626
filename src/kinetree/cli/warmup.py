"""`kinetree warmup`: compile now what would be compiled at the first step. For images of containers, and for clusters."""

from __future__ import annotations

import time
from collections.abc import Sequence

from .. import driver
from ..kernel import JIT, build, float_machine, ready
from ..kernel.machine import USUAL, Machine, machine_named
from ..kernel.registry import ENTRIES
from ..model import Model
from ..stepping import run_forward, run_steps
from .common import load_model, output


def everywhere() -> list[Machine]:
    """The machines that a wheel has code for."""
    return [machine_named(name) for name in USUAL]


def prepare(model: Model) -> None:
    """Compile what a model needs to run, with a progress bar, if it must be compiled."""
    if JIT:
        always = [entry for entry in ENTRIES.values() if entry.name.startswith("kinetree.kernel.")]
        steps = [driver.ENTRIES[kernel] for kernel in (run_steps, run_forward)]
        ready.make_ready([*always, *steps], float_machine(), model)


def prepare_all(machines: Sequence[Machine]) -> None:
    """Compile everything for some machines."""
    for kind in machines:
        ready.make_ready([entry for entry in ENTRIES.values() if entry.runs_on(kind)], kind)


def warmup(arguments: Sequence[str], everything: bool) -> int:
    """Compile what models need, or everything."""
    began, before = time.monotonic(), len(build.COMPILED)
    for argument in arguments:
        prepare(load_model(argument)[1])
    if everything:
        prepare_all(everywhere())
    count, seconds = len(build.COMPILED) - before, time.monotonic() - began
    output.print(f"compiled {count} parts in {seconds:.1f} s" if count else "nothing to compile", highlight=False)
    return 0
