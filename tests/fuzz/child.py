"""One case in this process: every line is written to a log before it runs, so that the log reproduces a crash."""

from __future__ import annotations

import faulthandler
import importlib
import pathlib
import resource
import sys
import warnings
from typing import Any

import mujoco
import numpy as np

import kinetree as kt

REFUSALS = (
    ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError, OSError, MemoryError, RuntimeError,
    NotImplementedError, np.linalg.LinAlgError, np.ma.MAError,
)  # fmt: skip
MEMORY = 6 << 30  # bytes of address space, so that a hostile size ends in MemoryError


def namespace(folder: pathlib.Path) -> dict[str, Any]:
    """What lines find at hand."""
    return {"kt": kt, "np": np, "mujoco": mujoco, "tmp": folder}


def run(lines: Any, names: dict[str, Any], log: pathlib.Path) -> int:
    """Run lines; how many of them were refused. What is no refusal goes up."""
    refused = 0
    with log.open("w", buffering=1) as out:
        for line in lines:
            out.write(line + "\n")
            try:
                exec(line, names)  # the lines of an attack are its own
            except AssertionError:
                raise
            except REFUSALS as error:
                refused += 1
                out.write(f"# refused: {type(error).__name__}: {str(error)[:100]!r}\n")
    return refused


def main(attack: str, seed: str, folder: str, log: str) -> None:
    """Run a case, or, where the seed is a file of lines, those."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    mujoco.set_mju_user_warning(lambda message: None)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if seed.isdigit():
        lines = importlib.import_module(f"tests.fuzz.{attack}").lines(np.random.default_rng(int(seed)))
    else:
        lines = blocks(pathlib.Path(seed).read_text())
    refused = run(lines, namespace(pathlib.Path(folder)), pathlib.Path(log))
    print(refused)


def blocks(text: str) -> list[str]:
    """The lines of a log: indented ones belong to the line before."""
    out: list[str] = []
    for line in text.splitlines():
        if line.startswith((" ", "\t")) and out:
            out[-1] += "\n" + line
        elif line and not line.startswith("# refused"):
            out.append(line)
    return out


if __name__ == "__main__":
    main(*sys.argv[1:])
