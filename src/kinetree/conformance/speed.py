"""How fast a model runs here and in MuJoCo: the same steps of the same worlds, taken in turns.

Worlds are simulated for a while under random controls, each its own; then each of those who race makes the same steps from
there on, with new controls in each, again and again. Each has as many threads as the others. MuJoCo has its defaults. Times
are per step of a world; a ratio is the median of those within the rounds, as machines wander.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np

from ..batch.batch import Batch
from ..data import Data
from ..model import Model
from ..stepping import step

STATE = ("time", "qpos", "qvel", "act", "qacc_warmstart")
MUJOCO, ALONE = "MuJoCo", "one world"


def random_controls(mj: Any, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Controls within their ranges, or up to 0.3 where they have none."""
    limited = mj.actuator_ctrllimited.astype(bool)[:, None]
    low, high = np.where(limited, mj.actuator_ctrlrange, (-0.3, 0.3)).T
    return rng.uniform(low, high, (*shape, mj.nu))


class Race:
    """Batches of a model in both engines, in the same states and with the same controls.

    seconds: of random controls before the start, `most` steps at the most. steps: that are timed.
    """

    def __init__(
        self, model: Model, worlds: int, dtypes: Sequence[str] = ("float64", "float32"), threads: int = 1,
        seconds: float = 2.0, steps: int = 20, most: int = 1500, seed: int = 0,
    ):  # fmt: skip
        from mujoco.batch import Batch as MujocoBatch  # which nothing else here needs

        self.mj, self.worlds, self.steps = model.to_mujoco(), worlds, steps
        rng = np.random.default_rng(seed)
        self._clock = time.process_time if threads == 1 else time.perf_counter
        first = Batch(model, worlds, "float64", threads)
        for _ in range(min(most, round(seconds / self.mj.opt.timestep))):
            first.ctrl = random_controls(self.mj, (worlds,), rng)
            first.step()
        self.start = {name: np.array(getattr(first, name)) for name in STATE}
        self.controls = random_controls(self.mj, (steps, worlds), rng)
        theirs = MujocoBatch(self.mj, nsim=worlds, nthread=threads)
        self.batches: dict[str, Any] = {MUJOCO: theirs}
        self._views = {MUJOCO: {name: theirs.bind(name) for name in (*STATE, "ctrl")}}
        for dtype in dtypes:
            ours = self.batches[dtype] = Batch(model, worlds, dtype, threads)
            self._views[dtype] = {name: getattr(ours, name) for name in (*STATE, "ctrl")}

    def run(self, who: str) -> float:
        """Microseconds for a step of a world, of one of them."""
        views, batch = self._views[who], self.batches[who]
        for name, rows in self.start.items():
            views[name][...] = rows.reshape(views[name].shape)
        before = self._clock()
        for u in self.controls:
            views["ctrl"][...] = u
            batch.step()
        return (self._clock() - before) / self.steps / self.worlds * 1e6

    def rounds(self, count: int) -> dict[str, list[float]]:
        """Times of so many rounds, in which they take turns, after one that does not count."""
        times: dict[str, list[float]] = {who: [] for who in self.batches}
        for k in range(count + 1):
            for who in self.batches:
                took = self.run(who)
                if k > 0:
                    times[who].append(took)
        return times

    def counts(self) -> dict[str, float]:
        """Contacts, rows and iterations by MuJoCo at the start, means over some worlds."""
        data, found = mujoco.MjData(self.mj), []
        for i in range(0, self.worlds, max(1, self.worlds // 32)):
            for name, values in self.start.items():
                if name != "time":
                    getattr(data, name)[...] = values[i]
            data.ctrl[:] = self.controls[0, i]
            mujoco.mj_forward(self.mj, data)
            found.append((data.ncon, data.nefc, data.solver_niter.max() if data.nefc else 0))
        return dict(zip(("ncon", "nefc", "niter"), np.mean(found, axis=0).tolist(), strict=True))

    def differences(self) -> dict[str, float]:
        """How far positions are from MuJoCo's after the steps: the median over the worlds."""
        self.run(MUJOCO)
        wanted, out = np.array(self._views[MUJOCO]["qpos"]), {}
        for who in self.batches:
            if who != MUJOCO:
                self.run(who)
                out[who] = float(np.median(np.abs(self.batches[who].qpos - wanted).max(axis=1, initial=0.0)))
        return out


def faster(times: dict[str, list[float]], who: str, than: str = MUJOCO) -> float:
    """How many times faster one is than another: the median over the rounds."""
    return statistics.median(b / a for a, b in zip(times[who], times[than], strict=True))


def one_world(model: Model, race: Race, count: int) -> dict[str, list[float]]:
    """Times of a single world by `kt.step` and mj_step, called from Python, from the first of the states."""
    data, theirs = Data(model), mujoco.MjData(race.mj)
    runs: dict[str, Callable[[], None]] = {
        ALONE: lambda: step(model, data), MUJOCO: lambda: mujoco.mj_step(race.mj, theirs)
    }  # fmt: skip
    worlds: dict[str, Any] = {ALONE: data, MUJOCO: theirs}
    times: dict[str, list[float]] = {who: [] for who in runs}
    for k in range(count + 1):
        for who, run in runs.items():
            took = 0.0
            for name, values in race.start.items():
                if name != "time":
                    getattr(worlds[who], name)[...] = values[0]
            for u in race.controls:
                worlds[who].ctrl[:] = u[0]
                before = time.process_time()
                run()
                took += time.process_time() - before
            if k > 0:
                times[who].append(took / race.steps * 1e6)
    return times
