"""`kt.step` against MuJoCo's mj_step, both called from Python, with constraints and sensors off; and forward on SIMD lanes.

Both start again and again from the same state and make a hundred steps, so that they stay on the same motion. The state
is a small random push from rest. Lanes run the smooth forward pass, one call for eight worlds, each in its own state.
"""

from __future__ import annotations

import math
from pathlib import Path

import mujoco
import numpy as np
from common import SEPARATOR, Candidate, Report, Target, main, measure
from kinematics import find

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of

SMOOTH = kt.DisableBit.CONSTRAINT | kt.DisableBit.SENSOR
HUMANOID = "dm_control/suite/humanoid.xml"
FOLDERS = ("dm_control/suite", "gymnasium/envs/mujoco/assets")
STEPS = 100
STATEMENT = """
data.qpos[:] = qpos
data.qvel[:] = qvel
for _ in range(STEPS):
    step(model, data)
"""


def models() -> dict[str, Path]:
    """Every model of dm_control's suite and of gymnasium's MuJoCo assets that moves."""
    out = {}
    for folder in FOLDERS:
        root = find(folder)
        for path in sorted(root.glob("*.xml")) if root else []:
            out[f"{folder.split('/')[0]}/{path.name}"] = path
    return out


def prepared(path: Path) -> tuple[kt.Model, mujoco.MjModel] | None:
    """The model without constraints and sensors in both engines, or None if it does not load or does not move."""
    try:
        model = kt.load(path)
    except (kt.ModelError, ValueError):
        return None
    model.opt.disableflags = int(SMOOTH)
    return (model, model.to_mujoco()) if model.nv else None


def candidates(name: str, model: kt.Model, mj: mujoco.MjModel) -> list[Candidate]:
    """The same hundred steps by both."""
    qvel = 0.05 * np.random.default_rng(0).normal(size=model.nv)
    shared = {"qpos": model.qpos0.copy(), "qvel": qvel, "STEPS": STEPS}
    ours = {**shared, "model": model, "data": kt.Data(model), "step": kt.step}
    theirs = {**shared, "model": mj, "data": mujoco.MjData(mj), "step": mujoco.mj_step}
    return [
        Candidate(f"{name}{SEPARATOR}kinetree", STATEMENT, ours, STEPS),
        Candidate(f"{name}{SEPARATOR}MuJoCo", STATEMENT, theirs, STEPS),
    ]


def lane_candidates(name: str, model: kt.Model) -> list[Candidate]:
    """The forward pass of one world, and of eight side by side."""
    rng, worlds = np.random.default_rng(1), []
    for _ in range(8):
        data = kt.Data(model)
        data.qpos = kt.integrate_pos(model, model.qpos0, rng.normal(size=model.nv), 0.3)
        data.qvel = 0.5 * rng.normal(size=model.nv)
        worlds.append(data)
    lanes = lanes_of(model, worlds)
    lanes.run(pipeline.forward)
    return [
        Candidate(f"{name}{SEPARATOR}forward", "forward(model, data)",
                  {"forward": pipeline.forward, "model": model, "data": worlds[0]}),
        Candidate(f"{name}{SEPARATOR}forward, 8 lanes per world", "lanes.run(forward)",
                  {"lanes": lanes, "forward": pipeline.forward}, 8),
    ]  # fmt: skip


def run(quick: bool = False) -> Report:
    """Measure all models, one after the other."""
    report = Report("Smooth steps from Python")
    rounds = 3 if quick else 25
    ratios = {}
    chosen = {"dm_control/humanoid.xml": find(HUMANOID)} if quick else models()
    for name, path in chosen.items():
        both = prepared(path) if path else None
        if both is None:
            report.notes.append(f"{name} is left out: it does not load or does not move")
            continue
        report.times |= measure(candidates(name, *both), rounds, 0.002 if quick else 0.01)
        key = f"{name}{SEPARATOR}kinetree / MuJoCo"
        ratios[name] = report.ratio(key, f"{name}{SEPARATOR}kinetree", f"{name}{SEPARATOR}MuJoCo")
    name = "dm_control/humanoid.xml"
    both = prepared(find(HUMANOID)) if find(HUMANOID) else None
    if both:
        report.times |= measure(lane_candidates(name, both[0]), rounds)
        lanes = report.ratio(f"{name}{SEPARATOR}forward / 8 lanes", f"{name}{SEPARATOR}forward",
                             f"{name}{SEPARATOR}forward, 8 lanes per world")  # fmt: skip
        report.targets.append(Target("humanoid, step / mj_step", ratios[name], "<=", 0.85))
        report.targets.append(Target("forward on 8 lanes, times faster per world than floats", lanes, ">=", 4.5))
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios)) if ratios else math.nan
    worst = max(ratios, key=ratios.__getitem__, default="")
    report.targets.append(Target(f"geometric mean over {len(ratios)} models", mean, "<=", 0.95))
    report.targets.append(Target(f"slowest model ({worst})", ratios.get(worst, math.nan), "<=", 1.3))
    report.details["ratios"] = ratios
    return report


if __name__ == "__main__":
    main(run, __doc__)
