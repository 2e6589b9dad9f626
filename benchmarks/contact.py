"""`kt.step` against MuJoCo's mj_step in contact, sensors and all, both called from Python; and the solver on SIMD lanes.

Every model is dropped from its initial state under random controls and simulated for some seconds by MuJoCo. From the state
it is in then, both engines make the same steps with the same controls, again and again; MuJoCo has its defaults. A model that
touches nothing in these steps is left out of the means. `details` holds contacts, rows and iterations of the solver of each
model, means over the steps. On lanes a row that one world has is in all of them: worlds with different contacts share what
there is to gain, and all go on until the last has converged; a step is one iteration's Hessian, factor and direction.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from common import SEPARATOR, Candidate, Report, Target, main, measure

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.kernel import float_machine

sys.path.insert(0, str(Path(__file__).parents[1]))  # another installed package has folders of tests too
from tests.corpora import entries  # noqa: E402

HUMANOID = "dm_control/suite/humanoid.xml"
NAMED = {  # those with a promise of their own
    HUMANOID: 1.0,
    "dm_control/suite/humanoid_CMU.xml": 1.1,
    "gymnasium/envs/mujoco/assets/ant.xml": 1.1,
    "gymnasium/envs/mujoco/assets/half_cheetah.xml": 1.1,
    "dm_control/suite/cheetah.xml": 1.1,
    "gymnasium/envs/mujoco/assets/hopper.xml": 1.1,
    "dm_control/suite/hopper.xml": 1.1,
    "gymnasium/envs/mujoco/assets/walker2d.xml": 1.1,
    "dm_control/suite/walker.xml": 1.1,
    "dm_control/suite/quadruped.xml": 1.1,
}
BOWL = "100 spheres and capsules in a bowl"
DROP = 2.0  # seconds from the initial state to the first timed step
BOWL_DROP = 1.0  # here they still settle
STEPS = 100
LANES = 8
LANE_SCENES = {  # model, strength of the controls, seconds from the initial state
    "quadruped standing": ("dm_control/suite/quadruped.xml", 0.3, 2.0),
    "humanoid landing": (HUMANOID, 0.1, 0.7),
    "humanoid moving": (HUMANOID, 1.0, 2.0),
}
STATEMENT = """
qpos[:], qvel[:], act[:], warmstart[:] = start
for u in controls:
    ctrl[:] = u
    step(model, data)
"""


@dataclass
class Scene:
    """A model in both engines, a state in contact, and the controls of the steps from there on."""

    name: str
    model: kt.Model
    mj: mujoco.MjModel
    start: tuple[np.ndarray, ...]
    controls: np.ndarray


def bowl() -> str:
    """A hundred spheres and capsules in five layers above four slopes and a floor."""
    rng, bodies = np.random.default_rng(0), []
    for k in range(100):
        x, y, z = 0.14 * (k % 5 - 2), 0.14 * (k // 5 % 5 - 2), 0.3 + 0.16 * (k // 25)
        x, y = x + 0.01 * rng.normal(), y + 0.01 * rng.normal()
        shape = "type='sphere' size='.05'" if k % 2 else "type='capsule' size='.03 .04'"
        bodies.append(f"<body pos='{x} {y} {z}'><freejoint/><geom {shape}/></body>")
    slopes = [f"<geom type='plane' size='2 2 .1' pos='{x} {y} 0' zaxis='{-x} {y and -y} .4'/>"
              for x, y in ((0.4, 0), (-0.4, 0), (0, 0.4), (0, -0.4))]  # fmt: skip
    world = "<geom type='plane' size='2 2 .1'/>" + "".join(slopes + bodies)
    return f"<mujoco><worldbody>{world}</worldbody></mujoco>"


def random_controls(mj: mujoco.MjModel, count: int, rng: np.random.Generator) -> np.ndarray:
    """Controls for so many steps: within their ranges, or up to 0.3 where they have none."""
    limited = mj.actuator_ctrllimited.astype(bool)[:, None]
    low, high = np.where(limited, mj.actuator_ctrlrange, (-0.3, 0.3)).T
    return rng.uniform(low, high, (count, mj.nu))


def scene(
    name: str, source: Any, seconds: float, seed: int = 0, integrator: kt.Integrator | None = None
) -> Scene | str:
    """The model in contact in both engines, if asked with another integrator, or why there is none."""
    try:
        model = kt.load(source)
    except (kt.ModelError, ValueError) as error:
        return f"refused: {str(error).splitlines()[0]}"
    if model.nv == 0:
        return "does not move"
    if integrator is not None:
        model.opt.integrator = integrator
    mj = model.to_mujoco()
    data, rng = mujoco.MjData(mj), np.random.default_rng(seed)
    for controls in random_controls(mj, min(5000, round(seconds / mj.opt.timestep)), rng):
        data.ctrl[:] = controls
        mujoco.mj_step(mj, data)
    start = data.qpos.copy(), data.qvel.copy(), data.act.copy(), data.qacc_warmstart.copy()
    return Scene(name, model, mj, start, random_controls(mj, STEPS, rng))


def scope(s: Scene, model: Any, data: Any, step: Callable[..., None]) -> dict[str, Any]:
    """What the timed statement sees; views of the state are taken once."""
    views = {"qpos": data.qpos, "qvel": data.qvel, "act": data.act, "warmstart": data.qacc_warmstart, "ctrl": data.ctrl}
    return {**views, "start": s.start, "controls": s.controls, "model": model, "data": data, "step": step}


def counted(names: dict[str, Any]) -> dict[str, float]:
    """Contacts, rows and iterations (of the island that takes most), means over the steps."""
    seen, step = [], names["step"]

    def noting(model: Any, data: Any) -> None:
        step(model, data)
        seen.append((data.ncon, data.nefc, max(data.solver_niter)))

    exec(STATEMENT, {**names, "step": noting})
    return dict(zip(("ncon", "nefc", "niter"), np.mean(seen, axis=0), strict=True))


def candidates(s: Scene) -> tuple[list[Candidate], dict[str, Any]]:
    """The same steps by both, and what they do in them."""
    ours = scope(s, s.model, kt.Data(s.model), kt.step)
    theirs = scope(s, s.mj, mujoco.MjData(s.mj), mujoco.mj_step)
    counts = {"kinetree": counted(ours), "MuJoCo": counted(theirs), "nv": s.model.nv}
    return [
        Candidate(f"{s.name}{SEPARATOR}kinetree", STATEMENT, ours, STEPS),
        Candidate(f"{s.name}{SEPARATOR}MuJoCo", STATEMENT, theirs, STEPS),
    ], counts


def lane_worlds(model: kt.Model, mj: mujoco.MjModel, strength: float, seconds: float) -> list[kt.Data]:
    """Eight worlds dropped from the initial state, each under random controls of its own, scaled."""
    out = []
    for k in range(LANES):
        data = kt.Data(model)
        for controls in random_controls(mj, round(seconds / mj.opt.timestep), np.random.default_rng(k)):
            data.ctrl[:] = strength * controls
            kt.step(model, data)
        pipeline.forward(model, data)
        out.append(data)
    return out


def measure_lanes(report: Report, label: str, source: Any, strength: float, seconds: float, rounds: int) -> None:
    """The whole solve and the forward pass of eight worlds, one by one and side by side."""
    model = kt.load(source)
    worlds = lane_worlds(model, model.to_mujoco(), strength, seconds)
    lanes = lanes_of(model, worlds)
    lanes.run(pipeline.forward)
    report.details[f"{label} on lanes"] = counts = {
        "ncon": [w.ncon for w in worlds], "nefc": [w.nefc for w in worlds], "niter": [int(w.solver_niter[0]) for w in worlds],
        "together": {name: int(np.max(getattr(lanes, name)[0])) for name in ("ncon", "nefc", "solver_niter")},
    }  # fmt: skip
    for stage in (pipeline.fwd_constraint, pipeline.forward):
        names = {
            "one": stage.compile_for(float_machine()), "side": stage.compile_for(lanes.machine),
            "model": model.address, "worlds": [world.address for world in worlds], "lanes": lanes.address,
        }  # fmt: skip
        one, side = f"{label}{SEPARATOR}{stage.__name__}", f"{label}{SEPARATOR}{stage.__name__}, {LANES} lanes"
        report.times |= measure([
            Candidate(one, "for world in worlds: one(model, world)", names, LANES),
            Candidate(side, "side(model, lanes)", names, LANES),
        ], rounds)  # fmt: skip
        ratio = report.ratio(f"{one} / {LANES} lanes", one, side)
        if stage is pipeline.fwd_constraint:
            what = f"{label}: the whole solve on 8 lanes, times faster per world than floats"
            report.targets.append(Target(what, ratio, ">=", 3.0))
    report.notes.append(f"{label}: rows {counts['nefc']}, together on lanes {counts['together']['nefc']}; iterations "
                        f"{counts['niter']}, together {counts['together']['solver_niter']}")  # fmt: skip


def run(quick: bool = False) -> Report:
    """Measure all models, one after the other."""
    warnings.simplefilter("ignore", kt.SimulationWarning)
    report = Report("Steps in contact from Python")
    rounds, ratios, untouched = 3 if quick else 25, {}, []
    sources = {e.name: e.source for e in entries() if not e.name.startswith("tests/")} | {BOWL: bowl}
    for name in [HUMANOID] if quick else sources:
        s = scene(name, sources[name](), BOWL_DROP if name == BOWL else DROP)
        if isinstance(s, str):
            report.notes.append(f"{name} is left out: it {s}")
            continue
        both, counts = candidates(s)
        if not counts["MuJoCo"]["ncon"] > 0:
            untouched.append(name)
            continue
        report.times |= measure(both, rounds, 0.002 if quick else 0.01)
        key = f"{name}{SEPARATOR}kinetree / MuJoCo"
        ratios[name] = report.ratio(key, f"{name}{SEPARATOR}kinetree", f"{name}{SEPARATOR}MuJoCo")
        report.details[name] = counts
        if name in NAMED:
            report.targets.append(Target(f"{name}, step / mj_step", ratios[name], "<=", NAMED[name]))
    for label, (name, strength, seconds) in LANE_SCENES.items():
        if not quick or name == HUMANOID:
            measure_lanes(report, label, sources[name](), strength, seconds, rounds)
    if BOWL in ratios:
        report.targets.append(Target(f"{BOWL}, step / mj_step", ratios.pop(BOWL), "<=", 1.3))
    mean = math.exp(np.mean(np.log(list(ratios.values()))))
    report.targets.append(Target(f"geometric mean over {len(ratios)} models in contact", mean, "<=", 1.0))
    report.notes.append(f"{len(untouched)} touch nothing: {', '.join(untouched)}")
    report.details["ratios"] = ratios
    return report


if __name__ == "__main__":
    main(run, __doc__)
