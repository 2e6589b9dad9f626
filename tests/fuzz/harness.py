"""Run cases in child processes and say what reproduces a failure."""

from __future__ import annotations

import dataclasses
import pathlib
import signal
import subprocess
import sys
import tempfile

from tests.fuzz.child import blocks

ROOT = pathlib.Path(__file__).parents[2]
ATTACKS = (
    "values",
    "stages",
    "files",
    "pickles",
    "caches",
    "signals",
    "threads",
    "scenes",
)  # a test runs a case of each
LIMIT = 120.0  # seconds for a case, most of which a busy machine spends on its start
TRIES = 40  # runs to find out which lines a failure needs


@dataclasses.dataclass
class Result:
    """How a case went; `ending` is empty if well."""

    attack: str
    lines: list[str]
    refused: int
    ending: str
    output: str

    def report(self) -> str:
        """What to do to see it again."""
        text = "\n".join(self.lines)
        return (
            f"{self.attack}: {self.ending}\n{self.output[-3000:]}\n"
            f"--- these lines reproduce it; put them in a file and run python -m tests.fuzz {self.attack} FILE\n{text}\n"
        )


def run_case(attack: str, seed: int | pathlib.Path, limit: float = LIMIT) -> Result:
    """Run the case of a seed, or the lines of a file."""
    with tempfile.TemporaryDirectory() as place:
        folder, log = pathlib.Path(place, "tmp"), pathlib.Path(place, "log")
        folder.mkdir()
        command = [sys.executable, "-m", "tests.fuzz.child", attack, str(seed), str(folder), str(log)]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit, errors="replace")
            code, said, output = done.returncode, done.stdout.split(), done.stdout + done.stderr
        except subprocess.TimeoutExpired as late:
            code, said, output = None, [], str(late.stderr or "")
        lines = blocks(log.read_text(errors="replace")) if log.exists() else []
    if code == 0:
        return Result(attack, lines, int(said[-1]), "", output)
    ending = f"no end within {limit:g} s" if code is None else f"exit code {code}"
    if code == 1 and output.strip():  # which error it was, so that a shorter case with another one is not taken for it
        ending += f", {output.strip().splitlines()[-1].split(':')[0]}"
    if code is not None and code < 0:
        ending = f"killed by {signal.Signals(-code).name}"
    return Result(attack, lines, 0, ending, output)


def shortened(failed: Result, limit: float = LIMIT) -> Result:
    """The same failure from fewer lines: halves, then smaller parts, are left out where it stays."""
    best, size, tries = failed, max(len(failed.lines) // 2, 1), 0
    while size >= 1 and tries < TRIES and "no end" not in failed.ending:
        start = 0
        while start < len(best.lines) and tries < TRIES:
            shorter = best.lines[:start] + best.lines[start + size :]
            with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
                file.write("\n".join(shorter))
                file.flush()
                again = run_case(failed.attack, pathlib.Path(file.name), limit)
            tries += 1
            if again.ending == failed.ending:
                best = again
            else:
                start += size
        size //= 2
    return best
