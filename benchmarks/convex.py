"""Convex collision, robots made of meshes, piles and sleeping scenes against MuJoCo, everything called from Python.

A row of pairs is one call of the collision stage on twenty pairs of a mesh with a mesh, a box or a capsule, and on nothing
else: they are explicit pairs, each somewhere of its own, near (up to 1 cm apart), touching (up to 1 mm deep) or overlapping
(1 to 4 cm deep). Meshes are hulls of so many vertices on an ellipsoid. Robots and the pile make the same steps in both
engines, as in `contact.py`; so do scenes without a target: many fixed boxes, bodies of many geoms, a height field, and boxes
that fall and touch nothing. Sleeping boxes are a hundred that lie apart on a floor: with sleep enabled they have fallen
asleep, in both engines; the awake ones are the same with sleep disabled.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from common import SEPARATOR, Candidate, Report, Target, main, measure
from contact import candidates, scene

import kinetree as kt
from kinetree.conformance.states import random_quaternion
from tests.corpora import package_models  # contact.py has put the repository on the path

VERTICES = (20, 100, 1000)
PARTNERS = ("mesh", "box", "capsule")
DEPTHS = {"near": (1e-3, 1e-2), "touching": (-1e-3, -1e-5), "overlapping": (-0.04, -0.01)}  # m
PAIRS = 20
HAND, FETCH = "gymnasium_robotics/envs/assets/hand/", "gymnasium_robotics/envs/assets/fetch/"
RODENT = "dm_control/locomotion/walkers/assets/rodent.xml"
ROBOTS = {
    "shadow hand with a block": f"{HAND}manipulate_block.xml",
    "shadow hand with an egg": f"{HAND}manipulate_egg.xml",
    "shadow hand alone": f"{HAND}reach.xml",
    "fetch pushing": f"{FETCH}push.xml",
    "fetch picking": f"{FETCH}pick_and_place.xml",
    "dog": "dm_control/suite/dog.xml",
    "rodent on a floor": RODENT,
}
PILE, SLEEPERS = "100 boxes settling", "100 boxes on a floor"
DROP, PILE_DROP, SHORT_DROP = 2.0, 1.0, 0.3  # seconds from the initial state to the first timed step


def hull(count: int) -> str:
    """Vertices on an ellipsoid, all of them corners of the hull."""
    points = np.random.default_rng(count).normal(size=(count, 3))
    points *= np.array([0.1, 0.12, 0.08]) / np.linalg.norm(points, axis=1)[:, None]
    return " ".join(f"{x:.6f}" for x in points.ravel())


def pair_model(count: int, partner: str) -> mujoco.MjModel:
    """Twenty meshes, each with a partner of its own, which is all that it may touch."""
    mesh = 'type="mesh" mesh="hull"'
    other = {"mesh": mesh, "box": 'type="box" size=".09 .07 .1"', "capsule": 'type="capsule" size=".06 .08"'}[partner]
    bits = 'contype="0" conaffinity="0"'
    world = "".join(
        f'<body><freejoint/><geom name="a{k}" {mesh} {bits}/></body><body><freejoint/><geom name="b{k}" {other} {bits}/></body>'
        for k in range(PAIRS)
    )
    explicit = "".join(f'<pair geom1="a{k}" geom2="b{k}"/>' for k in range(PAIRS))
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><mesh name="hull" vertex="{hull(count)}"/></asset><worldbody>{world}</worldbody>'
        f"<contact>{explicit}</contact></mujoco>"
    )


def place_pairs(mj: mujoco.MjModel, data: mujoco.MjData, depth: tuple[float, float], rng: np.random.Generator) -> None:
    """Put the partner of every mesh at a distance from it within the given bounds, from a random side."""
    for k in range(PAIRS):
        at, way = 14 * k, rng.normal(size=3)
        way, wanted, reach = way / np.linalg.norm(way), rng.uniform(*depth), 0.5
        data.qpos[at : at + 7] = [2.0 * k, 0, 0, *random_quaternion(rng)]
        data.qpos[at + 10 : at + 14] = random_quaternion(rng)
        for _ in range(50):
            data.qpos[at + 7 : at + 10] = [2.0 * k, 0, 0] + reach * way
            mujoco.mj_kinematics(mj, data)
            left = mujoco.mj_geomDistance(mj, data, 2 * k, 2 * k + 1, 10.0, None) - wanted
            if abs(left) < 1e-6:
                break
            reach -= left


def measure_pairs(report: Report, rounds: int, quick: bool) -> None:
    """The collision stage per pair."""
    ratios = {}
    for count in VERTICES[:1] if quick else VERTICES:
        for partner in PARTNERS[:1] if quick else PARTNERS:
            mj = pair_model(count, partner)
            model = kt.load(mj)
            for kind, depth in DEPTHS.items():
                theirs, ours = mujoco.MjData(mj), kt.Data(model)
                place_pairs(mj, theirs, depth, np.random.default_rng(0))
                ours.qpos = theirs.qpos
                kt.fwd_position(model, ours)
                mujoco.mj_fwdPosition(mj, theirs)
                name = f"hull of {count} with {partner}, {kind}"
                report.details[name] = {"ncon": ours.ncon, "MuJoCo's ncon": theirs.ncon}
                one, other = f"{name}{SEPARATOR}kinetree", f"{name}{SEPARATOR}MuJoCo"
                report.times |= measure([
                    Candidate(one, "run(model, data)", {"run": kt.collision, "model": model, "data": ours}, PAIRS),
                    Candidate(other, "run(model, data)", {"run": mujoco.mj_collision, "model": mj, "data": theirs}, PAIRS),
                ], rounds)  # fmt: skip
                ratios[name] = report.ratio(f"{name}{SEPARATOR}kinetree / MuJoCo", one, other)
    mean = math.exp(np.mean(np.log(list(ratios.values()))))
    report.targets.append(Target(f"mesh pairs, geometric mean of {len(ratios)} rows", mean, "<=", 1.3))
    worst = max(ratios, key=lambda name: ratios[name])
    report.targets.append(Target(f"mesh pairs, the worst row ({worst})", ratios[worst], "<=", 1.3))


def rodent() -> mujoco.MjSpec:
    """dm_control's rodent, which comes without a joint to the world and without a floor, on one."""
    spec = mujoco.MjSpec.from_file(str(dict(package_models())[RODENT]))
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
    root = spec.worldbody.first_body()
    if not root.joints:
        root.add_freejoint()
    return spec


def pile() -> str:
    """A hundred boxes in four layers above four slopes and a floor."""
    rng, bodies = np.random.default_rng(0), []
    for k in range(100):
        x, y, z = 0.14 * (k % 5 - 2), 0.14 * (k // 5 % 5 - 2), 0.3 + 0.16 * (k // 25)
        size = " ".join(f"{s:.4f}" for s in rng.uniform(0.03, 0.05, 3))
        bodies.append(f"<body pos='{x} {y} {z}' euler='{rng.uniform(0, 90)} 0 {rng.uniform(0, 90)}'><freejoint/>"
                      f"<geom type='box' size='{size}'/></body>")  # fmt: skip
    slopes = [f"<geom type='plane' size='2 2 .1' pos='{x} {y} 0' zaxis='{-x} {y and -y} .4'/>"
              for x, y in ((0.4, 0), (-0.4, 0), (0, 0.4), (0, -0.4))]  # fmt: skip
    return f"<mujoco><worldbody><geom type='plane' size='2 2 .1'/>{''.join(slopes + bodies)}</worldbody></mujoco>"


def among_boxes(count: int) -> str:
    """Four robots of a ball and four legs each on a field of fixed boxes, which stand side by side."""
    side, robots = math.isqrt(count), []
    boxes = [f"<geom type='box' size='.09 .09 .1' pos='{0.2 * (k % side)} {0.2 * (k // side)} {0.05 * math.sin(k)}'/>"
             for k in range(count)]  # fmt: skip
    for k in range(4):
        legs = [f"<body euler='0 0 {90 * leg}'><joint axis='0 1 0' range='-40 40' damping='.05'/>"
                "<geom type='capsule' size='.03' fromto='.1 0 0 .25 0 -.15'/></body>" for leg in range(4)]  # fmt: skip
        at = 0.2 * side * (0.3 + 0.1 * k)
        robots.append(f"<body pos='{at} {at} .4'><freejoint/><geom size='.1'/>{''.join(legs)}</body>")
    return f"<mujoco><worldbody>{''.join(boxes + robots)}</worldbody></mujoco>"


def balls() -> str:
    """Two bodies of 200 balls each, one of which falls on the other."""
    rng, bodies = np.random.default_rng(0), []
    for z in (0.5, 1.1):
        places = rng.uniform(-0.4, 0.4, (200, 3)) * (1, 1, 0.5)
        geoms = "".join(f"<geom size='.05' pos='{x:.4f} {y:.4f} {z:.4f}'/>" for x, y, z in places)
        bodies.append(f"<body pos='0 0 {z}'><freejoint/>{geoms}</body>")
    return f"<mujoco><worldbody><geom type='plane' size='2 2 .1'/>{''.join(bodies)}</worldbody></mujoco>"


def hills() -> str:
    """A box and a mesh on a height field of 40 by 40 points."""
    heights = " ".join(f"{x:.4f}" for x in np.random.default_rng(0).uniform(size=1600))
    return (
        f"<mujoco><asset><mesh name='hull' vertex='{hull(100)}'/>"
        f"<hfield name='hills' nrow='40' ncol='40' size='2 2 .1 .1' elevation='{heights}'/></asset>"
        "<worldbody><geom type='hfield' hfield='hills'/>"
        "<body pos='0 0 .25'><freejoint/><geom type='box' size='.15 .1 .08'/></body>"
        "<body pos='.7 .2 .25'><freejoint/><geom type='mesh' mesh='hull'/></body></worldbody></mujoco>"
    )


def falling() -> str:
    """A hundred boxes in the air, far above a floor and near each other."""
    return sleepers(False).replace(" .05'><freejoint/>", " 50'><freejoint/>")


SCENES: dict[str, tuple[Callable[[], str], float]] = {  # and seconds from the initial state to the first timed step
    "4 robots among 1000 fixed boxes": (lambda: among_boxes(1000), SHORT_DROP),
    "4 robots among 5000 fixed boxes": (lambda: among_boxes(5000), SHORT_DROP),
    "two bodies of 200 balls": (balls, PILE_DROP),
    "box and mesh on a height field": (hills, PILE_DROP),
    "100 boxes falling": (falling, SHORT_DROP),
}


def sleepers(sleep: bool) -> str:
    """A hundred boxes, a little above a floor and apart from each other."""
    bodies = "".join(
        f"<body pos='{0.3 * (k % 10)} {0.3 * (k // 10)} .05'><freejoint/><geom type='box' size='.05 .05 .05'/></body>"
        for k in range(100)
    )
    flag = f"<option><flag sleep='{'enable' if sleep else 'disable'}'/></option>"
    return f"<mujoco>{flag}<worldbody><geom type='plane' size='9 9 .1'/>{bodies}</worldbody></mujoco>"


def at_rest(sleep: bool) -> tuple[tuple[Any, Any, Callable[..., None]], ...]:
    """Both engines after a second: model, data, step."""
    model = kt.load(sleepers(sleep))
    mj = model.to_mujoco()
    ours, theirs = kt.Data(model), mujoco.MjData(mj)
    kt.step(model, ours, nstep=500)
    mujoco.mj_step(mj, theirs, 500)
    asleep = int((np.asarray(theirs.tree_asleep) >= 0).sum())
    if asleep != (100 if sleep else 0) or int((np.asarray(ours.tree_asleep) >= 0).sum()) != asleep:
        raise RuntimeError(f"{asleep} of 100 boxes sleep in MuJoCo")
    return (model, ours, kt.step), (mj, theirs, mujoco.mj_step)


def measure_sleep(report: Report, rounds: int) -> None:
    """Steps of boxes that sleep, and of the same awake."""
    both = {}
    for sleep, state in ((True, "asleep"), (False, "awake")):
        for (model, data, step), engine in zip(at_rest(sleep), ("kinetree", "MuJoCo"), strict=True):
            name = f"{SLEEPERS}, {state}{SEPARATOR}{engine}"
            both[name] = Candidate(name, "step(model, data)", {"model": model, "data": data, "step": step})
    report.times |= measure(list(both.values()), rounds, 0.01)
    ours, theirs, awake, awake_theirs = both
    report.ratio(f"{SLEEPERS}, awake{SEPARATOR}kinetree / MuJoCo", awake, awake_theirs)
    ratio = report.ratio(f"{SLEEPERS}, asleep{SEPARATOR}kinetree / MuJoCo", ours, theirs)
    report.targets.append(Target(f"{SLEEPERS}, asleep, step / mj_step", ratio, "<=", 1.5))
    ratio = report.ratio(f"{SLEEPERS}{SEPARATOR}asleep / awake", ours, awake)
    report.targets.append(Target(f"{SLEEPERS}, asleep / awake", ratio, "<=", 0.05))


def measure_scene(report: Report, name: str, source: Any, seconds: float, rounds: int, quick: bool) -> float | None:
    """Steps of a scene by both engines: the ratio, None if it is left out."""
    s = scene(name, source, seconds)
    if isinstance(s, str):
        report.notes.append(f"{name} is left out: it {s}")
        return None
    engines, report.details[name] = candidates(s)
    report.times |= measure(engines, rounds, 0.002 if quick else 0.01)
    one, other = (candidate.name for candidate in engines)
    return report.ratio(f"{name}{SEPARATOR}kinetree / MuJoCo", one, other)


def run(quick: bool = False) -> Report:
    """Measure everything, one after the other."""
    warnings.simplefilter("ignore", kt.SimulationWarning)
    report = Report("Convex shapes from Python")
    rounds = 3 if quick else 25
    measure_pairs(report, rounds, quick)
    sources: dict[str, Any] = {} if quick else {name: dict(package_models())[path] for name, path in ROBOTS.items()}
    if not quick:
        sources["rodent on a floor"] = rodent()
    for name, source in (sources | {PILE: pile()}).items():
        ratio = measure_scene(report, name, source, PILE_DROP if name == PILE else DROP, rounds, quick)
        if ratio is not None:
            report.targets.append(Target(f"{name}, step / mj_step", ratio, "<=", 1.2))
    for name, (make, seconds) in list(SCENES.items())[-1 if quick else 0 :]:
        measure_scene(report, name, make(), seconds, rounds, quick)
    measure_sleep(report, rounds)
    return report


if __name__ == "__main__":
    main(run, __doc__)
