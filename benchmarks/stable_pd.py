"""Stable PD by our three solvers, by DART the dense way, and MuJoCo's step with its `discrete` integrator.

A torque is asked for from Python: from the state to the torque, kinematics included; "maba, compiled" leaves Python out. Chains
and binary trees of hinges and of ball joints, with about as many degrees of freedom as the row says, and characters in the
sizes of the papers: a humanoid (8 balls, 4 hinges, free root: 34), a dog (22 balls and a free root: 72), a snake (47 balls and
a free root: 147). DART has `dartpy`, from the package index; MuJoCo has the same gains as springs and dampers in its joints,
and no constraints. There is no gravity, so that long chains stay calm while steps are timed.
`docs/plots/stable_pd.py` draws the times of the JSON file.
"""

# ruff: noqa: E402
from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = (
    "1"  # DART's way solves in NumPy: on one core, as all
)

import importlib.util
from typing import Any

import mujoco
import numpy as np
from common import SEPARATOR, Candidate, Report, Target, main, measure
from trees import DOFS, tree

import kinetree as kt
from kinetree.control.arrays import entry
from kinetree.control.forward import run_evaluate
from kinetree.kernel import float_machine

SIZES = (20, 34, 50, 72, 100, 147, 200, 500, 1000)
SHAPES = {"chain": 1, "tree": 2}
SOLVERS = ("dense", "sparse", "maba")
KP, KD, H = 100.0, 10.0, 0.002
CONSTRAINT_AND_SENSOR = int(kt.DisableBit.CONSTRAINT | kt.DisableBit.SENSOR)
HAS_DART = importlib.util.find_spec("dartpy") is not None


def models(sizes: tuple[int, ...]) -> dict[str, kt.Model]:
    """Every chain and tree, then the characters."""
    out = {}
    for shape, arity in SHAPES.items():
        for kind, dofs in DOFS.items():
            for n in sizes:
                out[f"{kind} {shape} {n}"] = kt.load(tree(round(n / dofs), arity, kind, H, gravity=0.0))
    out["humanoid 34"] = kt.load("ball_humanoid")
    out["dog 72"] = kt.load(tree(23, 2, "ball", H, gravity=0.0, free=True))
    out["snake 147"] = kt.load(tree(48, 1, "ball", H, gravity=0.0, free=True))
    for model in out.values():
        model.opt.disableflags = CONSTRAINT_AND_SENSOR
    return out


def state(model: kt.Model) -> tuple[kt.Data, np.ndarray]:
    """A small random pose and motion, and a target near it."""
    rng, data = np.random.default_rng(0), kt.Data(model)
    data.qpos = kt.integrate_pos(model, model.qpos0, rng.normal(size=model.nv), 0.3)
    data.qvel = 0.01 * rng.normal(size=model.nv)
    return data, kt.integrate_pos(model, data.qpos, rng.normal(size=model.nv), 0.1)


def candidates(name: str, model: kt.Model) -> list[Candidate]:
    """All ways to a torque, and a step."""
    data, target = state(model)
    out, torques = [], []
    for solver in SOLVERS:
        spd = kt.StablePD(model, KP, KD, solver=solver)
        torques.append(spd.torque(data, target))
        scope = {"torque": spd.torque, "data": data, "target": target}
        out.append(Candidate(f"{name}{SEPARATOR}{solver}", "torque(data, target)", scope))
    scale = max(1.0, np.abs(torques[0]).max())
    assert all(np.abs(t - torques[0]).max() < 1e-8 * scale for t in torques), f"{name}: the solvers disagree"
    controller = kt.StablePD(model, KP, KD, solver="maba")
    controller.torque(data, target)
    scope = {"run": entry(run_evaluate, float_machine(), model), "keep": controller, "m": model.address}
    scope |= {"d": controller._work.address, "a": controller._arrays.address}
    out.append(Candidate(f"{name}{SEPARATOR}maba, compiled", "run(m, d, a)", scope))
    if HAS_DART and model.jnt_type[0] != kt.JointType.FREE:
        out.append(dart_candidate(name, model, data, target, torques[0]))
    auto = kt.StablePD(model, KP, KD, mode="implicit")
    scope = {"step": auto.step, "data": data.copy(), "target": target}
    out.append(Candidate(f"{name}{SEPARATOR}step ({auto.solver})", "step(data, target)", scope))
    out.append(Candidate(f"{name}{SEPARATOR}MuJoCo step", "step(model, data)", mujoco_scope(model, data)))
    return out


def dart_candidate(name: str, model: kt.Model, data: kt.Data, target: np.ndarray, torque: np.ndarray) -> Candidate:
    """DART's matrices and a dense inverse; its torque must be ours."""
    from dart_skeleton import dense_spd, positions, skeleton

    gains = np.full(model.nv, KP), np.full(model.nv, KD)
    scope: dict[str, Any] = {"spd": dense_spd, "skel": skeleton(model), "q": positions(model, data.qpos)}
    scope |= {"v": data.qvel.copy(), "target": positions(model, target), "kp": gains[0], "kd": gains[1], "h": H}
    statement = "spd(skel, q, v, target, kp, kd, h)"
    error = np.abs(eval(statement, scope) - torque).max() / max(1.0, np.abs(torque).max())
    limit = 1e-8 if model.nv <= 200 else 1e-4  # the matrix of a long chain costs that many digits
    assert error < limit, f"{name}: DART's torque differs by {error}"
    return Candidate(f"{name}{SEPARATOR}DART dense", statement, scope)


def mujoco_scope(model: kt.Model, data: kt.Data) -> dict[str, Any]:
    """MuJoCo's model with springs and dampers for gains, stepping implicitly."""
    mj = model.to_mujoco()
    mj.opt.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
    hinged = mj.jnt_type != mujoco.mjtJoint.mjJNT_FREE
    mj.jnt_stiffness[hinged] = KP
    mj.dof_damping[mj.jnt_type[mj.dof_jntid] != mujoco.mjtJoint.mjJNT_FREE] = KD
    theirs = mujoco.MjData(mj)
    theirs.qpos[:], theirs.qvel[:] = data.qpos, data.qvel
    return {"step": mujoco.mj_step, "model": mj, "data": theirs}


def run(quick: bool = False) -> Report:
    """Measure all models, one after the other."""
    report = Report("Stable PD from Python")
    sizes = (20, 200) if quick else SIZES
    for name, model in models(sizes).items():
        if quick and name not in ("hinge chain 20", "hinge chain 200", "ball tree 20", "humanoid 34"):
            continue
        rounds = 3 if quick else 40 if model.nv <= 200 else 7
        report.times |= measure(candidates(name, model), rounds, 0.001 if quick else 0.004)
        ours = f"{name}{SEPARATOR}maba"
        for key in [key for key in report.times if key.startswith(name + SEPARATOR)]:
            other = key.split(SEPARATOR)[1]
            if other in ("dense", "sparse", "DART dense"):
                report.ratio(f"{name}{SEPARATOR}{other} / maba", key, ours)
            elif other.startswith("step"):
                report.ratio(f"{name}{SEPARATOR}MuJoCo step / step", f"{name}{SEPARATOR}MuJoCo step", key)
        report.details[name] = {"nv": model.nv, "nbody": model.nbody, "auto": kt.StablePD(model, 1.0, 1.0).solver}
    _promises(report)
    if not HAS_DART:
        report.notes.append("dartpy is not installed (pip install dartpy)")
    return report


def _promises(report: Report) -> None:
    """What the times must be."""

    def ratio_of(name: str, other: str) -> float:
        return report.ratios.get(f"{name}{SEPARATOR}{other} / maba", float("nan"))

    growth = 0.0
    for shape in {name.rsplit(" ", 1)[0] for name in report.details if name.endswith(" 200")}:
        if f"{shape} 20" in report.details:
            long, short = (f"{shape} {n}{SEPARATOR}maba, compiled" for n in (200, 20))
            growth = max(growth, report.median(long) / report.median(short))
    report.targets.append(Target("maba of 200 dofs / maba of 20, without Python, largest", growth, "<=", 11.0, "x"))
    names = list(report.details)
    chains = [n for n in names if "chain" in n and report.details[n]["nv"] >= 99]
    slowest = min((ratio_of(n, "sparse") for n in chains), default=float("nan"))
    report.targets.append(Target("chains from 100 up: sparse / maba, smallest", slowest, ">=", 1.0, "x"))
    slowest = min(ratio_of(n, "dense") for n in names)
    report.targets.append(Target("all models: dense / maba, smallest", slowest, ">=", 1.0, "x"))
    if HAS_DART:
        at_200 = [ratio_of(n, "DART dense") for n in names if n.endswith(" 200")]
        report.targets.append(Target("200 dofs: DART dense / maba, smallest", min(at_200), ">=", 20.0, "x"))


if __name__ == "__main__":
    main(run, __doc__)
