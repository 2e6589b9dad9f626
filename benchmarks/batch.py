"""`kt.Batch` against MuJoCo's own batch, mujoco.batch.Batch, with as many threads, in one run: whole steps, sensors and all.

Worlds are simulated for two seconds under random controls, each its own, then make some steps with new controls in each, again
and again from the same states; MuJoCo has its defaults. Times are processor time per step of a world. `smooth` is the humanoid
without constraints. A model that touches nothing in these steps is left out of the mean. `details` holds rows of constraints
and iterations of the solver, means over the worlds, and how far positions are from MuJoCo's after the steps.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from common import SEPARATOR, Report, Target, main
from mujoco.batch import Batch as MujocoBatch

import kinetree as kt

sys.path.insert(0, str(Path(__file__).parents[1]))  # another installed package has folders of tests too
from tests.corpora import entries  # noqa: E402

HUMANOID, CHEETAH = "dm_control/suite/humanoid.xml", "gymnasium/envs/mujoco/assets/half_cheetah.xml"
MESHES = "dm_control/third_party/kinova/jaco_arm.xml"
NAMED = {  # times faster than mujoco.batch, in double and in single precision
    HUMANOID: (6.0, 9.0),
    "gymnasium/envs/mujoco/assets/ant.xml": (6.0, None),
    CHEETAH: (7.0, 12.0),
    "dm_control/suite/quadruped.xml": (8.0, None),
    "dm_control/suite/humanoid_CMU.xml": (4.0, None),
}
WORLDS, OTHERS = 1024, 128  # of models with a promise of their own, and of the rest of the corpus
SECONDS, STEPS, SETTLE = 2.0, 20, 1500  # of random controls before; timed steps; most steps before
STATE = ("time", "qpos", "qvel", "act", "qacc_warmstart")


def random_controls(mj: mujoco.MjModel, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Controls within their ranges, or up to 0.3 where they have none."""
    limited = mj.actuator_ctrllimited.astype(bool)[:, None]
    low, high = np.where(limited, mj.actuator_ctrlrange, (-0.3, 0.3)).T
    return rng.uniform(low, high, (*shape, mj.nu))


def started(model: kt.Model, mj: mujoco.MjModel, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """States of worlds after some seconds of random controls."""
    batch = kt.Batch(model, n)
    for _ in range(min(SETTLE, round(SECONDS / mj.opt.timestep))):
        if mj.nu:
            batch.ctrl = random_controls(mj, (n,), rng)
        batch.step()
    return {name: np.array(getattr(batch, name)) for name in STATE}


def steps_of(batch: Any, views: dict[str, np.ndarray], start: dict[str, np.ndarray], controls: np.ndarray) -> None:
    """The timed steps, from the start."""
    for name, rows in start.items():
        views[name][...] = rows.reshape(views[name].shape)
    for u in controls:
        views["ctrl"][...] = u
        batch.step()


def timed(run: Callable[[], None], clock: Callable[[], float]) -> float:
    """Seconds that a function takes."""
    before = clock()
    run()
    return clock() - before


class Scene:
    """A model as batches of both engines, with states and controls."""

    def __init__(self, source: Any, n: int, dtypes: tuple[str, ...], threads: int = 1, smooth: bool = False):
        self.model = kt.load(source)
        if smooth:
            self.model.opt.disableflags |= kt.DisableBit.CONSTRAINT
        self.mj, rng = self.model.to_mujoco(), np.random.default_rng(0)
        self.n, self.threads = n, threads
        self.start = started(self.model, self.mj, n, rng)
        self.controls = random_controls(self.mj, (STEPS, n), rng)
        self.batches: dict[str, Any] = {"MuJoCo": MujocoBatch(self.mj, nsim=n, nthread=threads)}
        self.views: dict[str, dict[str, np.ndarray]] = {
            "MuJoCo": {name: self.batches["MuJoCo"].bind(name) for name in (*STATE, "ctrl")}
        }
        for dtype in dtypes:
            batch = self.batches[dtype] = kt.Batch(self.model, n, dtype, threads)
            self.views[dtype] = {name: getattr(batch, name) for name in (*STATE, "ctrl")}

    def run(self, who: str) -> None:
        """The steps of one of them."""
        steps_of(self.batches[who], self.views[who], self.start, self.controls)

    def counts(self) -> dict[str, float]:
        """Rows and iterations by MuJoCo at the start, and how far our positions are from MuJoCo's after the steps."""
        data, rows, iterations, contacts = mujoco.MjData(self.mj), [], [], []
        for i in range(0, self.n, max(1, self.n // 32)):
            for name, values in self.start.items():
                getattr(data, name)[...] = values[i] if name != "time" else 0.0
            if self.mj.nu:
                data.ctrl[:] = self.controls[0, i]
            mujoco.mj_forward(self.mj, data)
            rows.append(data.nefc)
            contacts.append(data.ncon)
            iterations.append(data.solver_niter.max() if data.nefc else 0)
        out = {"nv": self.mj.nv, "ncon": np.mean(contacts), "nefc": np.mean(rows), "niter": np.mean(iterations)}
        for who in self.batches:
            self.run(who)
            if who != "MuJoCo":
                error = np.abs(self.batches[who].qpos - self.views["MuJoCo"]["qpos"]).max(axis=1)
                out[f"{who}: qpos differs, median"] = float(np.median(error))
        return {name: float(value) for name, value in out.items()}


def measure(report: Report, label: str, scene: Scene, rounds: int) -> dict[str, float]:
    """Times of a scene, taken in turns; how many times faster than MuJoCo ours are."""
    clock = time.process_time if scene.threads == 1 else time.perf_counter
    report.details[label] = scene.counts()
    times: dict[str, list[float]] = {who: [] for who in scene.batches}
    for _ in range(rounds):
        for who in scene.batches:
            times[who].append(timed(lambda who=who: scene.run(who), clock) / STEPS / scene.n * 1e6)
    for who, values in times.items():
        report.times[f"{label}{SEPARATOR}{who}"] = values
    out = {}
    for who in scene.batches:
        if who != "MuJoCo":
            out[who] = statistics.median(m / k for m, k in zip(times["MuJoCo"], times[who], strict=True))
            report.ratios[f"{label}{SEPARATOR}{who}"] = out[who]
    return out


def weight() -> float:
    """Gigabytes that 65,536 worlds of the humanoid take."""
    model = kt.load(dict((e.name, e.source) for e in entries())[HUMANOID]())
    batch = kt.Batch(model, 65536)
    batch.step()
    return sum(rows.nbytes for rows in batch._worlds.rows.values()) / 1e9


def run(quick: bool = False) -> Report:
    """Measure all models, one after the other."""
    warnings.simplefilter("ignore", kt.SimulationWarning)
    report = Report("A step of a world in a batch, one thread, processor time")
    sources = {e.name: e.source for e in entries() if not e.name.startswith("tests/")}
    rounds, ratios, n = 2 if quick else 5, {}, 32 if quick else WORLDS
    for name in [HUMANOID] if quick else sources:
        double, single = NAMED.get(name, (None, None))
        try:
            scene = Scene(sources[name](), n if name in NAMED else OTHERS, ("float64", "float32"))
        except (kt.ModelError, ValueError) as error:
            report.notes.append(f"{name} is refused: {str(error).splitlines()[0]}")
            continue
        if scene.mj.nv == 0:
            continue
        found = measure(report, name, scene, rounds)
        if report.details[name]["ncon"] > 0:
            ratios[name] = found["float64"]
        for dtype, limit in (("float64", double), ("float32", single)):
            if limit is not None:
                report.targets.append(Target(f"{name}, {dtype}: times faster than mujoco.batch", found[dtype], ">=", limit))
    found = measure(report, "humanoid, smooth", Scene(sources[HUMANOID](), n, ("float64", "float32"), smooth=True), rounds)
    for dtype, limit in (("float64", 8.0), ("float32", 14.0)):
        report.targets.append(Target(f"humanoid, smooth, {dtype}: times faster", found[dtype], ">=", limit))
    if not quick:
        if MESHES in ratios:
            report.targets.append(Target("Kinova's arm with meshes: times faster", ratios[MESHES], ">=", 2.0))
        mean = math.exp(np.mean(np.log(list(ratios.values()))))
        report.targets.append(Target(f"geometric mean over {len(ratios)} models in contact", mean, ">=", 4.0))
        worst = min(ratios, key=ratios.__getitem__)
        report.targets.append(Target(f"the least of them, {worst}", ratios[worst], ">=", 1.2))
    two = Scene(sources[HUMANOID](), n, ("float64",), threads=2)
    one = Scene(sources[HUMANOID](), n, ("float64",), threads=1)
    wall = [[timed(lambda s=s: s.run("float64"), time.perf_counter) for s in (one, two)] for _ in range(rounds + 1)][1:]
    gain = statistics.median(a / b for a, b in wall)
    report.targets.append(Target("humanoid: two threads, times faster than one", gain, ">=", 1.85))
    report.targets.append(Target("65,536 worlds of the humanoid", weight() if not quick else 0.0, "<=", 1.0, "GB"))
    report.details["ratios"] = ratios
    return report


if __name__ == "__main__":
    main(run, __doc__)
