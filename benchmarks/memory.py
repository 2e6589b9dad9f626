"""Resident memory of a `Data`, of a block of eight worlds on lanes, and of the work memory that the worlds of a thread share.

Each round is a process of its own, which makes many of them after one has taken a step: the compiled code, the model and what
the allocator holds count for none. Thousands of worlds are what this is about, and so each has taken a step when it is weighed.
"""

from __future__ import annotations

import json
import subprocess
import sys

from common import Report, Target, main

MODEL, WIDTH = "humanoid", 8
DATA, BLOCK = "a Data", f"a block of {WIDTH} worlds"
WORKSPACES = {DATA: "work memory of a thread, one world", BLOCK: f"work memory of a thread, {WIDTH} worlds"}
CHILD = """
import json, sys
import kinetree as kt
from kinetree.batch.lanes import LaneData

def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

name, width, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
model = kt.load(name)

def make():
    world = LaneData(model, width) if width else kt.Data(model)
    world.step() if width else kt.step(model, world)
    return world

first = make()
before = resident()
worlds = [make() for _ in range(count)]
each = (resident() - before) / count
workspace = first._arrays.workspace
print(json.dumps([each, (workspace.fixed.nbytes + workspace.room.nbytes) / 1024]))
"""


def weigh(width: int, count: int) -> list[float]:
    """What one of `count` weighs, and the work memory that all of them share [kB]; width: worlds on lanes, 0 for a Data."""
    command = [sys.executable, "-c", CHILD, MODEL, str(width), str(count)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run(quick: bool) -> Report:
    """A Data, then a block of worlds."""
    report = Report(f"memory, {MODEL}", unit="kB")
    if not sys.platform.startswith("linux"):
        raise SystemExit("resident memory is read from /proc, which Linux alone has")
    for name, width, count in ((DATA, 0, 2000), (BLOCK, WIDTH, 250)):
        rounds = [weigh(width, count // (10 if quick else 1)) for _ in range(1 if quick else 3)]
        report.times[name] = [each for each, _ in rounds]
        report.times[WORKSPACES[name]] = [shared for _, shared in rounds]
    report.ratios["a world in a block / a Data"] = report.ratio("a block / a Data", BLOCK, DATA) / WIDTH
    report.targets = [
        Target("a Data, work memory not counted", report.median(DATA), "<=", 60.0, "kB"),
        Target("a world in a block, work memory not counted", report.median(BLOCK) / WIDTH, "<=", 15.0, "kB"),
    ]
    return report


if __name__ == "__main__":
    main(run, __doc__)
