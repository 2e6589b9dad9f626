"""How long compiling takes the first time, and how soon a process is ready afterwards.

Every measurement is a process of its own. Cold: an empty cache. Warm: the cache that the cold process left. The first call
is `kt.fwd_position` on the bundled humanoid, the first step comes after it. As a peer, the same with MuJoCo alone: import,
load, first mj_fwdPosition.
`details` holds the time of each import by package, from `python -X importtime`.
"""

from __future__ import annotations

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

from common import Report, Target, main

CLOCK = """
import json, sys, time

def clock():
    return [time.perf_counter(), time.process_time()]

def since(start):
    return [now - then for now, then in zip(clock(), start)]
"""

FIRST_CALL = """
start = clock()
import kinetree as kt
out = {"import": since(start)}
start = clock()
model = kt.load("humanoid")
data = kt.Data(model)
out["load"] = since(start)
start = clock()
(kt.kinematics if sys.argv[1] == "quick" else kt.fwd_position)(model, data)
out["first call"] = since(start)
start = clock()
if sys.argv[1] != "quick":
    kt.step(model, data)
    out["first step"] = since(start)
print(json.dumps(out))
"""

COMPILE = """
import kinetree as kt
from kinetree.kernel import STAGES, float_machine, machine
quick = sys.argv[1] == "quick"
position = [kt.kinematics, kt.com_pos, kt.camlight]
jobs = [("position stages, float64", position, float_machine())]
if not quick:
    jobs += [("position stages, 8 x float64", position, machine("float64", 8)),
             ("position stages, 16 x float32", position, machine("float32", 16)),
             ("all other stages, float64", STAGES, float_machine())]
out = {}
for label, stages, target in jobs:
    start = clock()
    for stage in stages:
        stage.compile_for(target)
    out[label] = since(start)
print(json.dumps({"stages": [s.__name__ for s in STAGES], "seconds": out}))
"""

PEER = """
start = clock()
import mujoco
model = mujoco.MjModel.from_xml_path(sys.argv[1])
data = mujoco.MjData(model)
mujoco.mj_fwdPosition(model, data)
print(json.dumps({"MuJoCo": since(start)}))
"""


def process(code: str, cache: str, *arguments: str) -> dict:
    """What a fresh interpreter prints, which must be one line of JSON."""
    done = subprocess.run(
        [sys.executable, "-c", CLOCK + code, *arguments],
        env={**os.environ, "KINETREE_CACHE": cache},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def imports(cache: str) -> dict[str, float]:
    """Milliseconds of `import kinetree` spent in the modules of each package, without what these import in turn."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import kinetree"],
        env={**os.environ, "KINETREE_CACHE": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    out: collections.Counter[str] = collections.Counter()
    for own, module in re.findall(r"import time:\s+(\d+) \|\s+\d+ \| +(\S+)", done.stderr):
        parts = module.split(".")
        out[".".join(parts[: 2 if parts[0] == "kinetree" else 1])] += int(own)
    return {package: us / 1000 for package, us in out.most_common(15)}


def run(quick: bool) -> Report:
    """One cold process, several warm ones in turn with the peer."""
    from kinetree import models

    report = Report("Compile and start", unit="s")
    path = str(models.path("humanoid"))
    times: dict[str, list[float]] = collections.defaultdict(list)

    def keep(name: str, pair: list[float]) -> None:
        times[f"{name}, wall"].append(pair[0])
        times[f"{name}, processor"].append(pair[1])

    extent = "quick" if quick else "all"
    with tempfile.TemporaryDirectory() as cache:
        compiled = process(COMPILE, cache, extent)
        for label, pair in compiled["seconds"].items():
            keep(f"cold compile: {label}", pair)
        process(FIRST_CALL, cache, extent)
        for _ in range(2 if quick else 7):
            parts = process(FIRST_CALL, cache, extent)
            parts["import + first call"] = [a + b for a, b in zip(parts["import"], parts["first call"], strict=True)]
            parts["import + load + first call"] = [
                a + b for a, b in zip(parts["import + first call"], parts["load"], strict=True)
            ]
            for key, pair in parts.items():
                keep(f"warm process: {key}", pair)
            keep("MuJoCo: import + load + first call", process(PEER, cache, path)["MuJoCo"])
        report.details["import of kinetree by package [ms]"] = imports(cache)
    report.times = dict(times)
    report.details["stages"] = compiled["stages"]
    total = "warm process: import + load + first call"
    for clock in ("wall", "processor"):
        report.ratio(
            f"warm kinetree / MuJoCo, {clock}", f"{total}, {clock}", f"MuJoCo: import + load + first call, {clock}"
        )
    _targets(report, len(compiled["stages"]), quick)
    heaviest = report.details["import of kinetree by package [ms]"]
    report.notes.append("imports, ms: " + ", ".join(f"{k} {v:.0f}" for k, v in list(heaviest.items())[:10]))
    return report


def _targets(report: Report, stages: int, quick: bool) -> None:
    """Waiting is what counts, so these are in wall time; on a busy machine look at the processor time beside it."""
    position = report.median("cold compile: position stages, float64, wall")
    report.targets = [Target("cold compile of kinematics, com_pos and camlight for floats", position, "<", 10.0, "s")]
    if not quick:
        everything = position + report.median("cold compile: all other stages, float64, wall")
        report.targets.append(Target(f"cold compile of all {stages} stages for floats", everything, "<", 60.0, "s"))
    first = report.median("warm process: import + first call, wall")
    report.targets.append(Target("second process: import + first call", first, "<", 1.5, "s"))


if __name__ == "__main__":
    main(run, __doc__)
