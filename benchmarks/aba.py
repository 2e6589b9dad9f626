"""`aba`, `crb` and `rne` against Pinocchio's aba, crba and rnea, all called from Python, and on eight SIMD lanes.

Pinocchio's functions start from q and v, ours from the position and velocity stages. So each of ours is timed twice: the
stage alone, and "from the state", as the public calls of kinematics, com_pos and com_vel before it. Both load the same MJCF
file: the humanoid of dm_control and off-plane chains of 20 and 200 hinges, on which the accelerations are compared first.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import mujoco
import numpy as np
from common import Candidate, Report, Target, main, measure

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.states import random_state
from kinetree.dynamics.aba import aba
from kinetree.dynamics.crb import crb
from kinetree.dynamics.factor import factor_m
from kinetree.dynamics.rne import rne_inverse
from kinetree.dynamics.velocity import com_vel

ALGORITHMS = {"aba": aba, "crb": crb, "rne": rne_inverse}
CHAINS = (20, 200)


# The public functions one after the other, from qpos and qvel on: what Pinocchio does in one call.
FROM_STATE = {
    "aba": "kt.kinematics(m, d); kt.com_pos(m, d); kt.com_vel(m, d); kt.aba(m, d, t)",
    "crb": "kt.kinematics(m, d); kt.com_pos(m, d); kt.crb(m, d)",
    "rne": "kt.kinematics(m, d); kt.com_pos(m, d); kt.com_vel(m, d); kt.rne(m, d, True)",
}


def chain(count: int) -> str:
    """Hinges in a row, no two axes parallel."""
    rng, bodies = np.random.default_rng(1), ""
    for _ in range(count):
        pos, quat, axis = (" ".join(map(str, rng.normal(size=n))) for n in (3, 4, 3))
        bodies += f"""<body pos="{pos}" quat="{quat}"><joint axis="{axis}"/>
        <inertial pos=".1 .2 .3" mass="1" diaginertia=".1 .2 .15"/>\n"""
    return f"<mujoco><worldbody>{bodies}{'</body>' * count}</worldbody></mujoco>"


def worlds_of(mj: mujoco.MjModel, model: kt.Model, count: int) -> list[kt.Data]:
    """Worlds in different random states, with everything computed."""
    rng, out = np.random.default_rng(0), []
    for _ in range(count):
        theirs, data = random_state(mj, rng), kt.Data(model)
        data.qpos, data.qvel, data.aba_force = theirs.qpos, theirs.qvel, theirs.qfrc_applied
        for algorithm in (kt.kinematics, kt.com_pos, com_vel, crb, factor_m, aba):
            algorithm(model, data)
        out.append(data)
    return out


def pinocchio_candidates(path: Path, data: kt.Data) -> list[Candidate]:
    """Pinocchio's three functions on the same file; on a chain also in the same state, and then they must agree."""
    if importlib.util.find_spec("pinocchio") is None:
        return []
    import pinocchio as pin

    model = pin.buildModelFromMJCF(str(path))
    q, v, tau = pin.neutral(model), data.qvel.copy(), data.aba_force.copy()
    if model.nq == model.nv:
        q = data.qpos.copy()
        difference = np.abs(pin.aba(model, model.createData(), q, v, tau) - data.aba_qacc).max()
        assert difference < 1e-8 * np.abs(data.aba_qacc).max(), f"Pinocchio's acceleration differs by {difference}"
    scope = {"p": pin, "m": model, "d": model.createData(), "q": q, "v": v, "t": tau}
    return [
        Candidate("Pinocchio aba", "p.aba(m, d, q, v, t)", scope),
        Candidate("Pinocchio crb", "p.crba(m, d, q)", scope),
        Candidate("Pinocchio rne", "p.rnea(m, d, q, v, t)", scope),
    ]


def candidates(path: Path) -> list[Candidate]:
    """All ways to run one model."""
    mj = kt.load(path).to_mujoco()
    model = kt.load(mj)
    worlds = worlds_of(mj, model, 8)
    lanes = lanes_of(model, worlds)
    out = pinocchio_candidates(path, worlds[0])
    for name, algorithm in {**ALGORITHMS, "factor_m": factor_m, "com_vel": com_vel}.items():
        out.append(Candidate(name, "f(m, d)", {"f": algorithm, "m": model, "d": worlds[0]}))
        entry = algorithm.compile_for(lanes.machine)
        scope = {"f": entry, "m": model.address, "d": lanes.address, "keep": lanes}
        out.append(Candidate(f"{name} 8 lanes", "f(m, d)", scope, 8))
    ours = {"kt": kt, "m": model, "d": worlds[0], "t": worlds[0].aba_force.copy()}
    out += [Candidate(f"{name} from the state", calls, ours) for name, calls in FROM_STATE.items()]
    return [*out, *mujoco_candidates(mj, worlds[0])]


def mujoco_candidates(mj: mujoco.MjModel, data: kt.Data) -> list[Candidate]:
    """MuJoCo's functions that have a counterpart."""
    theirs = mujoco.MjData(mj)
    theirs.qpos[:], theirs.qvel[:] = data.qpos, data.qvel
    mujoco.mj_forward(mj, theirs)
    scope = {"mj": mujoco, "m": mj, "d": theirs, "r": np.zeros(mj.nv)}
    calls = {
        "crb": "mj.mj_crb(m, d)",
        "rne": "mj.mj_rne(m, d, 1, r)",
        "factor_m": "mj.mj_factorM(m, d)",
        "com_vel": "mj.mj_comVel(m, d)",
    }
    return [Candidate(f"MuJoCo {name}", call, scope) for name, call in calls.items()]


def run(quick: bool) -> Report:
    """Measure the humanoid and the chains."""
    report = Report("forward and inverse dynamics, per world")
    with tempfile.TemporaryDirectory() as folder:
        models = {f"chain {n}": Path(folder) / f"chain{n}.xml" for n in CHAINS}
        for n, path in zip(CHAINS, models.values(), strict=True):
            path.write_text(chain(n), encoding="utf-8")
        spec = importlib.util.find_spec("dm_control")
        if spec and spec.origin:
            models = {"humanoid": Path(spec.origin).parent / "suite" / "humanoid.xml", **models}
        else:
            report.notes.append("dm_control is not installed")
        for label, path in models.items():
            times = measure(candidates(path), 5 if quick else 100, 0.001 if quick else 0.002)
            report.times.update({f"{label} {key}": values for key, values in times.items()})
            _ratios(report, label)
    _linear(report)
    if not any("Pinocchio" in name for name in report.times):
        report.notes.append("Pinocchio is not installed (pip install pin)")
    return report


def _ratios(report: Report, label: str) -> None:
    """Ratios and promises of one model. Against Pinocchio the promise is the stricter one, from the state."""
    for name in (*ALGORITHMS, "factor_m", "com_vel"):
        ours, peer = f"{label} {name}", f"{label} Pinocchio {name}"
        if peer in report.times:
            report.ratio(f"{ours} / Pinocchio", ours, peer)
            value = report.ratio(f"{ours} from the state / Pinocchio", f"{ours} from the state", peer)
            report.targets.append(Target(f"{ours} from the state / Pinocchio, from Python", value, "<=", 1.0, "x"))
        if f"{label} MuJoCo {name}" in report.times:
            report.ratio(f"{ours} / MuJoCo", ours, f"{label} MuJoCo {name}")
        value = report.ratio(f"{ours}: floats / 8 lanes", ours, f"{ours} 8 lanes")
        if name in ALGORITHMS:
            report.targets.append(Target(f"{ours}: 8 lanes faster per world than floats", value, ">=", 4.0, "x"))


def _linear(report: Report) -> None:
    """The price of ten times the hinges."""
    value = report.ratio("aba, 200 hinges / 20 hinges", "chain 200 aba", "chain 20 aba")
    report.targets.append(Target("aba of 200 hinges / aba of 20", value, "<=", 11.0, "x"))


if __name__ == "__main__":
    main(run, __doc__)
