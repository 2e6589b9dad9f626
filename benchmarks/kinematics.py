"""`kinematics` + `com_pos` against MuJoCo's mj_kinematics + mj_comPos, and eight or sixteen worlds on SIMD lanes.

Two ways to count, both printed:
* from Python: the two public functions, against MuJoCo's two bindings; on lanes the two entries, one call for all worlds;
* kernel: a stage that runs both 100 times inside compiled code, so that no call from Python is counted.
A time per world is the time of one call divided by the worlds it serves. Each world is in a random state of its own.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import mujoco
import numpy as np
from common import SEPARATOR, Candidate, Report, Target, main, measure

import kinetree as kt
from kinetree.batch.lanes import LaneData, lanes_of
from kinetree.kernel import float_machine, stage

REPEATS = 100
AGAINST_MUJOCO = "float64 / MuJoCo from Python"
LANES_FROM_PYTHON = "float64 / 8 x float64 from Python"
LANES_KERNEL = "float64 / 8 x float64 kernel"
HUMANOID = "dm_control/suite/humanoid.xml"
MODELS = [
    HUMANOID,
    "dm_control/suite/humanoid_CMU.xml",
    "dm_control/suite/dog.xml",
    "dm_control/suite/quadruped.xml",
    "dm_control/suite/walker.xml",
    "dm_control/suite/cheetah.xml",
    "dm_control/suite/fish.xml",
    "gymnasium/envs/mujoco/assets/humanoid.xml",
    "gymnasium/envs/mujoco/assets/ant.xml",
    "gymnasium/envs/mujoco/assets/half_cheetah.xml",
]


@stage
def both_repeated(m, d):
    """Kinematics and com_pos, 100 times."""
    for _ in range(REPEATS):
        kt.kinematics(m, d)
        kt.com_pos(m, d)


def find(name: str) -> Path | None:
    """The file of a model in an installed package, or None."""
    package, _, rest = name.partition("/")
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin).parent / rest if spec and spec.origin else None
    return path if path and path.exists() else None


def random_worlds(mj: mujoco.MjModel, model: kt.Model, count: int) -> list[kt.Data]:
    """Worlds in different random states."""
    rng, out = np.random.default_rng(0), []
    for _ in range(count):
        qpos = mj.qpos0.copy()
        mujoco.mj_integratePos(mj, qpos, rng.normal(size=mj.nv), 0.5)
        data = kt.Data(model)
        data.qpos = qpos
        out.append(data)
    return out


def lane_scope(lanes: LaneData) -> dict:
    """What the statements of a block of worlds need."""
    entries = {key: s.compile_for(lanes.machine) for key, s in (("k", kt.kinematics), ("c", kt.com_pos))}
    entries["many"] = both_repeated.compile_for(lanes.machine)
    return {**entries, "m": lanes.model.address, "d": lanes.address, "lanes": lanes}


def candidates(path: Path) -> list[Candidate]:
    """All ways to run one model."""
    mj = kt.load(path).to_mujoco()
    mj_data, model = mujoco.MjData(mj), kt.load(mj)
    worlds = random_worlds(mj, model, 16)
    mj_data.qpos[:] = worlds[0].qpos
    theirs = {"k": mujoco.mj_kinematics, "c": mujoco.mj_comPos, "m": mj, "d": mj_data}
    ours = {"k": kt.kinematics, "c": kt.com_pos, "m": model, "d": worlds[0]}
    kernel = {
        "many": both_repeated.compile_for(float_machine()),
        "m": model.address,
        "d": worlds[0].address,
        "keep": ours,
    }
    eight, sixteen = lane_scope(lanes_of(model, worlds[:8])), lane_scope(lanes_of(model, worlds, "float32"))
    call, many = "k(m, d); c(m, d)", "many(m, d)"
    return [
        Candidate("MuJoCo from Python", call, theirs),
        Candidate("float64 from Python", call, ours),
        Candidate("8 x float64 from Python", call, eight, 8),
        Candidate("16 x float32 from Python", call, sixteen, 16),
        Candidate("float64 kernel", many, kernel, REPEATS),
        Candidate("8 x float64 kernel", many, eight, 8 * REPEATS),
        Candidate("16 x float32 kernel", many, sixteen, 16 * REPEATS),
    ]


def run(quick: bool) -> Report:
    """Measure every model that is installed."""
    mujoco.set_mju_user_warning(lambda message: None)  # old models set off deprecation warnings
    report = Report("kinematics + com_pos, per world")
    for name in MODELS[:1] if quick else MODELS:
        path = find(name)
        if path is None:
            report.notes.append(f"{name} is not installed")
            continue
        rounds = 5 if quick else 100 if name == HUMANOID else 25
        times = measure(candidates(path), rounds, 0.001 if quick else 0.004)
        label = name.replace("dm_control/suite", "dm").replace("gymnasium/envs/mujoco/assets", "gym")
        report.times.update({f"{label}{SEPARATOR}{key}": values for key, values in times.items()})
        _ratios(report, label)
    _targets(report, "dm/humanoid.xml")
    return report


def _ratios(report: Report, label: str) -> None:
    for name, ours, peer in (
        (AGAINST_MUJOCO, "float64 from Python", "MuJoCo from Python"),
        (LANES_FROM_PYTHON, "float64 from Python", "8 x float64 from Python"),
        ("float64 / 16 x float32 from Python", "float64 from Python", "16 x float32 from Python"),
        (LANES_KERNEL, "float64 kernel", "8 x float64 kernel"),
        ("float64 / 16 x float32 kernel", "float64 kernel", "16 x float32 kernel"),
    ):
        report.ratio(f"{label}{SEPARATOR}{name}", f"{label}{SEPARATOR}{ours}", f"{label}{SEPARATOR}{peer}")


def _targets(report: Report, label: str) -> None:
    def add(text: str, ratio: str, relation: str, limit: float) -> None:
        value = report.ratios.get(f"{label}{SEPARATOR}{ratio}")
        if value is not None:
            report.targets.append(Target(f"{label}: {text}", value, relation, limit, "x"))

    add("float64 / MuJoCo, both called from Python", AGAINST_MUJOCO, "<=", 1.0)
    add("8 lanes faster per world than floats, both called from Python", LANES_FROM_PYTHON, ">=", 4.0)
    add("8 lanes faster per world than floats, kernel alone", LANES_KERNEL, ">=", 4.0)


if __name__ == "__main__":
    main(run, __doc__)
