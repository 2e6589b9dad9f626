"""What speculative contacts cost: steps in contact with the flag and without it, in both engines, called from Python.

The scenes are those of contact.py, in which next to nothing is fast: there the flag should cost nothing. Then balls that fly
about among thin plates, where it has work to do. `details` has how often geoms were moved on to look where they meet
(swept_points), per step.
"""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from common import SEPARATOR, Candidate, Report, Target, main, measure
from contact import BOWL, BOWL_DROP, DROP, HUMANOID, STATEMENT, STEPS, Scene, bowl, scene, scope

import kinetree as kt
from kinetree.geometry.speculative import swept_points

sys.path.insert(0, str(Path(__file__).parents[1]))  # another installed package has folders of tests too
from tests.corpora import entries  # noqa: E402

SLOW = (
    HUMANOID, "dm_control/suite/humanoid_CMU.xml", "dm_control/suite/quadruped.xml", "dm_control/suite/walker.xml",
    "gymnasium/envs/mujoco/assets/ant.xml", "gymnasium_robotics/envs/assets/fetch/push.xml",
    "gymnasium_robotics/envs/assets/hand/manipulate_block.xml", "kinetree/models/humanoid.xml",
)  # fmt: skip
STORM = "40 balls that fly about among thin plates"
STORM_DROP = 0.05
FREE = 1.02  # ratio that is none, for runs that wander by a percent


def storm() -> str:
    """A box of thin walls, in which balls fly about among thin plates."""
    rng, parts = np.random.default_rng(0), []
    for axis in range(3):
        for side in (-1.0, 1.0):
            size, place = np.where(np.arange(3) == axis, 0.004, 1.0), np.where(np.arange(3) == axis, side, 0.0)
            size, place = (" ".join(map(str, v)) for v in (size, place))
            parts.append(f"<geom type='box' size='{size}' pos='{place}'/>")
    for k in range(60):
        place = " ".join(map(str, rng.uniform(-0.8, 0.8, 3)))
        if k < 20:
            turn = " ".join(map(str, rng.uniform(-180.0, 180.0, 3)))
            parts.append(f"<geom type='box' size='.2 .1 .002' pos='{place}' euler='{turn}'/>")
        else:
            parts.append(f"<body pos='{place}'><freejoint/><geom size='.03'/></body>")
    option = "<option timestep='.005' gravity='0 0 0'/><default><geom solref='.02 .3'/></default>"
    numbers = rng.normal(size=240) * np.tile([30.0] * 3 + [20.0] * 3, 40)
    key = f"<keyframe><key qvel='{' '.join(map(str, numbers))}'/></keyframe>"
    return f"<mujoco>{option}<worldbody>{''.join(parts)}</worldbody>{key}</mujoco>"


def candidates(s: Scene) -> tuple[list[Candidate], dict[str, Any]]:
    """The same steps four times, and what is done in them."""
    out, counts = [], {}
    for flagged in (False, True):
        flags = int(kt.EnableBit.SPECULATIVE) * flagged
        model = s.model.replace(opt_enableflags=int(s.model.opt.enableflags) | flags)
        mj, label = model.to_mujoco(), " with the flag" if flagged else ""
        ours, theirs = scope(s, model, kt.Data(model), kt.step), scope(s, mj, mujoco.MjData(mj), mujoco.mj_step)
        exec(STATEMENT, ours)
        counts[f"swept{label}"] = int(ours["data"]._arrays["stage_runs"][swept_points.stage_index]) / STEPS
        out.append(Candidate(f"{s.name}{SEPARATOR}kinetree{label}", STATEMENT, ours, STEPS))
        out.append(Candidate(f"{s.name}{SEPARATOR}MuJoCo{label}", STATEMENT, theirs, STEPS))
    return out, counts


def flying(name: str) -> Scene:
    """The storm in full flight."""
    model = kt.load(storm())
    mj = model.to_mujoco()
    mj.opt.enableflags |= int(kt.EnableBit.SPECULATIVE)
    data = mujoco.MjData(mj)
    mujoco.mj_resetDataKeyframe(mj, data, 0)
    for _ in range(round(STORM_DROP / mj.opt.timestep)):
        mujoco.mj_step(mj, data)
    start = data.qpos.copy(), data.qvel.copy(), data.act.copy(), data.qacc_warmstart.copy()
    return Scene(name, model, mj, start, np.zeros((STEPS, 0)))


def run(quick: bool = False) -> Report:
    """Measure all scenes, one after the other."""
    warnings.simplefilter("ignore", kt.SimulationWarning)
    report, ratios = Report("Steps with speculative contacts and without"), []
    sources = {e.name: e.source for e in entries()} | {BOWL: bowl}
    for name in (HUMANOID, STORM) if quick else (*SLOW, BOWL, STORM):
        s = flying(name) if name == STORM else scene(name, sources[name](), BOWL_DROP if name == BOWL else DROP)
        assert isinstance(s, Scene), s
        four, report.details[name] = candidates(s)
        report.times |= measure(four, 3 if quick else 41, 0.002 if quick else 0.006)
        for engine in ("kinetree", "MuJoCo"):
            plain = f"{name}{SEPARATOR}{engine}"
            ratio = report.ratio(f"{plain}: with the flag / without", f"{plain} with the flag", plain)
            if engine == "kinetree" and name != STORM:
                ratios.append(ratio)
        report.ratio(
            f"{name}{SEPARATOR}kinetree / MuJoCo, both with it",
            f"{name}{SEPARATOR}kinetree with the flag",
            f"{name}{SEPARATOR}MuJoCo with the flag",
        )
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    report.targets.append(Target("with the flag / without it, geometric mean of the slow scenes", mean, "<=", FREE))
    return report


if __name__ == "__main__":
    main(run, __doc__)
