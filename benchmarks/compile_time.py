"""How long compiling takes the first time, and how soon a process is ready: from a checkout and from a wheel.

Every measurement is a process of its own, with what kinetree requires and nothing else. Cold: an empty cache. Warm: the cache
that the cold process left. Wheel: machine code from a library, no compiler, an empty cache. The first step is that of the
bundled humanoid; a first block is `forward` on 8 worlds. As a peer, the same with MuJoCo alone: start of the process, load,
first mj_step. Times are counted from the start of the process, interpreter included. `details` holds the time of each import
by package, from `python -X importtime`.
"""

from __future__ import annotations

import collections
import compileall
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from common import Report, Target, main

ROOT = Path(__file__).parents[1]
PYTHON = os.environ.get("BENCH_PYTHON", sys.executable)  # or another of the same version, as builds differ in speed
sys.path.insert(0, str(ROOT))

NEEDED = "numpy", "mujoco-core", "typer", "rich", "matplotlib", "llvmlite"  # what `make demo` installs
IMPORT = "import kinetree"
STEP = """
import sys, kinetree as kt
model = kt.load(*sys.argv[1:] or ["humanoid"])
kt.step(model, kt.Data(model))
"""
BLOCK = """
import kinetree as kt
from kinetree.batch.lanes import LaneData
LaneData(kt.load("humanoid"), 8).run(kt.pipeline.forward)
"""
ARM = "third_party/kinova/jaco_arm.xml"
PEER = """
import mujoco, sys
model = mujoco.MjModel.from_xml_path(sys.argv[1])
mujoco.mj_step(model, mujoco.MjData(model))
"""
SPEED = """
import time, kinetree as kt
model = kt.load("humanoid")
data = kt.Data(model)
kt.step(model, data, 300)
start = data.get_state()
best = []
for _ in range(40):
    data.set_state(start)
    before = time.perf_counter()
    kt.step(model, data, 100)
    best.append(time.perf_counter() - before)
print(sorted(best)[10])
"""


class Place:
    """Where processes run: with some folders of packages, and nothing else."""

    def __init__(self, cache: str, *folders: Path, **environment: str):
        bare = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "KINETREE_LEVEL")}
        self.environment = {**bare, "KINETREE_QUIET": "1", "KINETREE_JOBS": "2", **environment}
        if cache:  # else that of the user
            self.environment["KINETREE_CACHE"] = cache
        self.environment["PYTHONPATH"] = os.pathsep.join(map(str, folders))

    def said(self, code: str, *arguments: str) -> str:
        """What a process prints."""
        command = [PYTHON, "-S", "-c", code, *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def seconds(self, code: str, *arguments: str) -> float:
        """How long a process takes from its start until it has done it; what it then takes to end does not count."""
        before = time.perf_counter()
        command = [PYTHON, "-S", "-c", f"{code}\nprint(flush=True)", *arguments]
        with subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            after = time.perf_counter()
            _, errors = process.communicate()
        if process.returncode:
            raise RuntimeError(errors.decode())
        return after - before


def imports(place: Place) -> dict[str, float]:
    """Milliseconds of `import kinetree` spent in the modules of each package, without what these import in turn."""
    done = subprocess.run(
        [PYTHON, "-S", "-X", "importtime", "-c", IMPORT],
        env=place.environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    out: collections.Counter[str] = collections.Counter()
    for own, module in re.findall(r"import time:\s+(\d+) \|\s+\d+ \| +(\S+)", done.stderr):
        parts = module.split(".")
        out[".".join(parts[: 2 if parts[0] == "kinetree" else 1])] += int(own)
    return {package: us / 1000 for package, us in out.most_common(15)}


def run(quick: bool) -> Report:
    """Cold processes once, warm ones several times in turn with the peer."""
    from kinetree import models
    from kinetree.kernel.levels import known_levels, level
    from kinetree.kernel.machine import USUAL
    from tests.wheels import build_wheel, install, link

    report = Report("Compile and start", unit="s")
    path, arm = str(models.path("humanoid")), Path(find_spec("dm_control").origin).parent / ARM
    times: dict[str, list[float]] = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "wheel").mkdir()
        compileall.compile_dir(ROOT / "src", quiet=2)
        (folder / "needed").mkdir()
        link(folder / "needed", *NEEDED)
        sources = ROOT / "src", folder / "needed"
        checkout = Place(str(folder / "cache") if not quick else "", *sources)
        if not quick:
            times["checkout, empty cache: first step"].append(checkout.seconds(STEP))
            everything = Place(str(folder / "everything"), *sources)
            times["checkout, empty cache: everything that wheels have"].append(
                everything.seconds("from kinetree.cli.warmup import warmup; warmup([], True)")
            )
            os.environ["KINETREE_CACHE"] = str(folder / "everything")
        machines, levels = (USUAL[:2], (level(),)) if quick else (USUAL, tuple(known_levels()))
        wheel = build_wheel(folder / "wheel", machines, levels)
        install(wheel, folder / "site")
        compileall.compile_dir(folder / "site" / "kinetree", quiet=2)
        installed = Place(str(folder / "empty"), folder / "site")
        native = Place(str(folder / "native"), *sources, KINETREE_LEVEL="native") if not quick else checkout
        native.said(STEP)
        speeds: dict[str, list[float]] = {"native": [], "prebuilt": []}
        for _ in range(2 if quick else 9):
            times["interpreter alone"].append(installed.seconds("pass"))
            times["import numpy"].append(installed.seconds("import numpy"))
            times["wheel: import"].append(installed.seconds(IMPORT))
            times["wheel: first step"].append(installed.seconds(STEP))
            times["wheel: first block of 8 worlds"].append(installed.seconds(BLOCK))
            times["warm checkout: first step"].append(checkout.seconds(STEP))
            times["MuJoCo: first step"].append(checkout.seconds(PEER, path))
            times["wheel: first step of an arm with meshes"].append(installed.seconds(STEP, str(arm)))
            times["MuJoCo: first step of an arm with meshes"].append(checkout.seconds(PEER, str(arm)))
            speeds["native"].append(float(native.said(SPEED)))
            speeds["prebuilt"].append(float(installed.said(SPEED)))
        report.details["import of kinetree by package [ms]"] = imports(installed)
        size = wheel.stat().st_size / 1e6
    report.times = dict(times)
    for name in ("wheel: first step", "warm checkout: first step"):
        report.ratio(f"{name} / MuJoCo", name, "MuJoCo: first step")
    ratios = sorted(a / b for a, b in zip(speeds["prebuilt"], speeds["native"], strict=True))
    _targets(report, ratios[len(ratios) // 2], size, quick)
    heaviest = report.details["import of kinetree by package [ms]"]
    report.notes.append("imports, ms: " + ", ".join(f"{k} {v:.0f}" for k, v in list(heaviest.items())[:10]))
    return report


def _targets(report: Report, speed: float, size: float, quick: bool) -> None:
    """Waiting is what counts, so these are in wall time, on two cores."""
    meshes = report.median("MuJoCo: first step of an arm with meshes") - report.median("MuJoCo: first step")
    report.targets = [
        Target("wheel: import kinetree", report.median("wheel: import"), "<=", 0.25, "s"),
        Target("wheel: first step", report.median("wheel: first step"), "<=", 0.5, "s"),
        Target(
            "wheel: first step of an arm with meshes, less what MuJoCo takes to parse them",
            report.median("wheel: first step of an arm with meshes") - meshes,
            "<=",
            0.5,
            "s",
        ),
        Target("wheel: first block", report.median("wheel: first block of 8 worlds"), "<=", 0.6, "s"),
        Target("warm checkout: first step", report.median("warm checkout: first step"), "<=", 0.5, "s"),
    ]
    if not quick:
        first = report.median("checkout, empty cache: first step")
        everything = report.median("checkout, empty cache: everything that wheels have")
        report.targets += [
            Target("empty cache: first step", first, "<=", 35.0, "s"),
            Target("empty cache: everything", everything, "<=", 200.0, "s"),
            Target("a step of prebuilt code / of native code", speed, "<=", 1.03),
            Target("wheel", size, "<=", 12.0, "MB"),
        ]


if __name__ == "__main__":
    main(run, __doc__)
