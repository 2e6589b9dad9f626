"""Fill the cache of machine code before the tests: `python -m tests.warm 2` does so with two processes.

Tests on an empty cache compile as they go, and two workers that need a stage at the same time both compile it. Here each
stage is compiled once, for floats and for the lanes that most tests use. What is in the cache already is only looked at.
"""

from __future__ import annotations

import functools
import os
import sys
from concurrent.futures import ProcessPoolExecutor

import kinetree  # noqa: F401  all stages
from kinetree.kernel import JIT, STAGES, float_machine, machine
from kinetree.kernel.cache import reach
from kinetree.kernel.stage import _expect_on

MACHINES = {"floats": float_machine, "lanes": machine}


def alone() -> None:
    """In a process of the pool: a stage is compiled without those that it calls, which are for others to compile."""
    os.environ["KINETREE_QUIET"] = "1"
    for stage in STAGES:
        stage.expect_on = functools.partial(_expect_on, stage)


def compile_one(index: int, name: str) -> None:
    """Machine code of one stage, left in the cache."""
    STAGES[index].compile_for(MACHINES[name]())


def main(workers: int) -> None:
    """All stages for all of these machines."""
    if not JIT:
        return
    jobs = [(stage.stage_index, name) for name in MACHINES for stage in STAGES]
    jobs.sort(key=lambda job: -len(reach(STAGES[job[0]].kernel)[0]))  # the long ones first, so that all end together
    with ProcessPoolExecutor(workers, initializer=alone) as pool:
        list(pool.map(compile_one, *zip(*jobs, strict=True)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
