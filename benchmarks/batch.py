"""`kt.Batch` against MuJoCo's own batch, mujoco.batch.Batch, with as many threads, in one run: whole steps, sensors and all.

Worlds are simulated for two seconds under random controls, each its own, then make some steps with new controls in each, again
and again from the same states; MuJoCo has its defaults. Times are processor time per step of a world. `smooth` is the humanoid
without constraints. A model that touches nothing in these steps is left out of the mean. `details` holds rows of constraints
and iterations of the solver, means over the worlds, and how far positions are from MuJoCo's after the steps.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import mujoco
import numpy as np
from common import SEPARATOR, Report, Target, main

import kinetree as kt
from kinetree.conformance.speed import MUJOCO, Race, faster

sys.path.insert(0, str(Path(__file__).parents[1]))  # another installed package has folders of tests too
from tests.corpora import entries  # noqa: E402

HUMANOID, CHEETAH = "dm_control/suite/humanoid.xml", "gymnasium/envs/mujoco/assets/half_cheetah.xml"
MESHES = "gymnasium_robotics/envs/assets/fetch/pick_and_place.xml"  # a robot that stands on a mesh
NAMED = {  # times faster than mujoco.batch, in double and in single precision
    HUMANOID: (6.0, 9.0),
    "gymnasium/envs/mujoco/assets/ant.xml": (6.0, None),
    CHEETAH: (7.0, 12.0),
    "dm_control/suite/quadruped.xml": (8.0, None),
    "dm_control/suite/humanoid_CMU.xml": (4.0, None),
}
WORLDS, OTHERS = 1024, 64  # of models with a promise of their own, and of the rest of the corpus
STEPS = 20


def measure(report: Report, label: str, race: Race, rounds: int) -> dict[str, float]:
    """Times of a race; how many times faster than MuJoCo ours are."""
    differences = {f"{who}: qpos differs, median": value for who, value in race.differences().items()}
    report.details[label] = {"nv": race.mj.nv, **race.counts(), **differences}
    times, out = race.rounds(rounds), {}
    for who, values in times.items():
        report.times[f"{label}{SEPARATOR}{who}"] = values
        if who != MUJOCO:
            out[who] = report.ratios[f"{label}{SEPARATOR}{who}"] = faster(times, who)
    return out


def threads_gain(model: kt.Model, n: int, rounds: int) -> float:
    """How many times faster two threads are than one, by the clock on the wall."""
    batches = [kt.Batch(model, n, threads=threads) for threads in (1, 2)]
    took: list[list[float]] = [[], []]
    for _ in range(rounds + 1):
        for batch, times in zip(batches, took, strict=True):
            batch.reset()
            batch.step(150)  # to the ground
            before = time.perf_counter()
            for _ in range(STEPS):
                batch.step()
            times.append(time.perf_counter() - before)
    return statistics.median(a / b for a, b in zip(*(times[1:] for times in took), strict=True))


CHILD = """
import sys
import kinetree as kt

batch = kt.Batch(kt.load(sys.argv[1]), int(sys.argv[2]))
batch.step()
batch.get_data(0)
with open("/proc/self/status") as file:  # getrusage also counts what the parent had when it made this process
    print(next(line.split()[1] for line in file if line.startswith("VmHWM")))
"""


def peak(path: str, n: int) -> float:
    """Most memory that a process with so many worlds had resident, after a step and a `get_data` [GB]."""
    command = [sys.executable, "-c", CHILD, path, str(n)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) * 1024 / 1e9


def mesh_contacts(race: Race) -> float:
    """Contacts of meshes at the start of a race, mean over some worlds."""
    mj, found = race.mj, []
    data = mujoco.MjData(mj)
    for qpos in race.start["qpos"][:8]:
        data.qpos[:] = qpos
        mujoco.mj_forward(mj, data)
        types = mj.geom_type[data.contact.geom[: data.ncon]]
        found.append(int((types == mujoco.mjtGeom.mjGEOM_MESH).any(axis=1).sum()))
    return float(np.mean(found))


def run(quick: bool = False) -> Report:
    """Measure all models, one after the other."""
    warnings.simplefilter("ignore", kt.SimulationWarning)
    report = Report("A step of a world in a batch, one thread, processor time")
    sources = {e.name: e.source for e in entries() if not e.name.startswith("tests/")}
    rounds, ratios, n = 2 if quick else 5, {}, 32 if quick else WORLDS
    for name in [HUMANOID] if quick else sources:
        double, single = NAMED.get(name, (None, None))
        try:
            model = kt.load(sources[name]())
        except (kt.ModelError, ValueError) as error:
            report.notes.append(f"{name} is refused: {str(error).splitlines()[0]}")
            continue
        if model.nv == 0:
            continue
        race = Race(model, n if name in NAMED else min(n, OTHERS))
        found = measure(report, name, race, rounds)
        if name == MESHES:
            report.details[name]["contacts of meshes"] = mesh_contacts(race)
        if report.details[name]["ncon"] > 0:
            ratios[name] = found["float64"]
        for dtype, limit in (("float64", double), ("float32", single)):
            if limit is not None:
                report.targets.append(
                    Target(f"{name}, {dtype}: times faster than mujoco.batch", found[dtype], ">=", limit)
                )
    model = kt.load(sources[HUMANOID]())
    model.opt.disableflags |= kt.DisableBit.CONSTRAINT
    found = measure(report, "humanoid, smooth", Race(model, n), rounds)
    for dtype, limit in (("float64", 8.0), ("float32", 14.0)):
        report.targets.append(Target(f"humanoid, smooth, {dtype}: times faster", found[dtype], ">=", limit))
    if not quick:
        touching = report.details.get(MESHES, {}).get("contacts of meshes", 0.0)
        report.targets.append(Target("Fetch: contacts of meshes", touching, ">=", 1.0))
        report.targets.append(Target("Fetch, a mesh in contact: times faster", ratios.get(MESHES, 0.0), ">=", 2.0))
        mean = math.exp(np.mean(np.log(list(ratios.values()))))
        report.targets.append(Target(f"geometric mean over {len(ratios)} models in contact", mean, ">=", 4.0))
        worst = min(ratios, key=ratios.__getitem__)
        report.targets.append(Target(f"the least of them, {worst}", ratios[worst], ">=", 1.2))
        path = str(sources[HUMANOID]())
        report.targets.append(
            Target("65,536 worlds of the humanoid", peak(path, 65536) - peak(path, 1), "<=", 1.0, "GB")
        )
    gain = threads_gain(kt.load(sources[HUMANOID]()), n, rounds)
    report.targets.append(Target("humanoid: two threads, times faster than one", gain, ">=", 1.85))
    report.details["ratios"] = ratios
    return report


if __name__ == "__main__":
    main(run, __doc__)
