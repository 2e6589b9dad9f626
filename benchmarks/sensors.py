"""Subtree momenta and lazy passes: `kt.subtree_vel` against MuJoCo's and against itself on longer trees; what sensors cost.

A chain of bodies on non-parallel hinges shows how a pass grows, what fifty subtree sensors cost above one, and what a step
saves where no sensor asks for accelerations: the same steps without such a sensor, with the pass forced by hand, and with
one accelerometer.
"""

from __future__ import annotations

import mujoco
import numpy as np
from common import Candidate, Report, Target, main, measure
from kinematics import HUMANOID, find

import kinetree as kt

SIZES = (10, 100, 1000)
BODIES = 100
SENSORS = 50


def chain(bodies: int, **sensors: list[str]) -> kt.Model:
    """A serial chain with axes in all directions and a site on every body; sensors by type, with what they observe."""
    rng, spec = np.random.default_rng(0), mujoco.MjSpec()  # XML may not nest a thousand deep
    spec.option.disableflags = int(kt.DisableBit.CONSTRAINT)
    body = spec.worldbody
    for i in range(bodies):
        body = body.add_body(
            name=f"b{i}", pos=(0.02, 0.03, 0.05), mass=0.1, inertia=(1e-3, 2e-3, 2e-3), ipos=(0.01, 0, 0.02)
        )
        body.explicitinertial = True
        body.add_joint(axis=rng.normal(size=3), type=mujoco.mjtJoint.mjJNT_HINGE)
        body.add_site(name=f"s{i}", pos=(0.01, 0, 0.02))
    for kind, names in sensors.items():
        for name in names:
            objects = mujoco.mjtObj.mjOBJ_SITE if name[0] == "s" else mujoco.mjtObj.mjOBJ_BODY
            spec.add_sensor(type=getattr(mujoco.mjtSensor, f"mjSENS_{kind.upper()}"), objtype=objects, objname=name)
    return kt.load(spec)


def moving(model: kt.Model) -> kt.Data:
    """A Data in motion, with everything of the forward pass computed."""
    data = kt.Data(model)
    data.qvel = 0.1 * np.random.default_rng(1).normal(size=model.nv)
    kt.forward(model, data)
    return data


def subtree_candidates() -> list[Candidate]:
    """The pass on chains, and on the humanoid beside MuJoCo's."""
    out = []
    for n in SIZES:
        model = chain(n)
        scope = {"subtree_vel": kt.subtree_vel, "model": model, "data": moving(model)}
        out.append(Candidate(f"subtree_vel, {n} bodies", "subtree_vel(model, data)", scope))
    path = find(HUMANOID)
    if path:
        model = kt.load(path)
        mj, data = model.to_mujoco(), moving(model)
        theirs = mujoco.MjData(mj)
        theirs.qvel[:] = data.qvel
        mujoco.mj_forward(mj, theirs)
        out += [
            Candidate("humanoid, subtree_vel", "f(m, d)", {"f": kt.subtree_vel, "m": model, "d": data}),
            Candidate("humanoid, mj_subtreeVel", "f(m, d)", {"f": mujoco.mj_subtreeVel, "m": mj, "d": theirs}),
        ]
    return out


def sensor_candidates() -> list[Candidate]:
    """The velocity sensors of a chain: one or fifty of them ask for momenta of subtrees."""
    out = []
    statement = "data._arrays['flg_subtreevel'][0] = False\nsensor_vel(model, data)"
    for n in (1, SENSORS):
        every = BODIES // n
        model = chain(BODIES, subtreeangmom=[f"b{every * i}" for i in range(n)])
        scope = {"sensor_vel": kt.sensor_vel, "model": model, "data": moving(model)}
        out.append(Candidate(f"{n} subtree sensors", statement, scope))
    return out


def lazy_candidates() -> list[Candidate]:
    """Forward passes of the chain: no sensor of accelerations, the pass by hand, and an accelerometer."""
    out = []
    for name, sensors, more in (
        ("forward, lazy", {"gyro": ["s9"]}, ""),
        ("forward, rne_post_constraint forced", {"gyro": ["s9"]}, "\nforced(model, data)"),
        ("forward, accelerometer", {"gyro": ["s9"], "accelerometer": ["s9"]}, ""),
    ):
        model = chain(BODIES, **sensors)
        scope = {"forward": kt.forward, "forced": kt.rne_post_constraint, "model": model, "data": moving(model)}
        out.append(Candidate(name, "forward(model, data)" + more, scope))
    return out


def run(quick: bool = False) -> Report:
    """Measure all three."""
    report, rounds = Report("Momenta and sensors"), 5 if quick else 100
    seconds = 0.001 if quick else 0.004
    report.times |= measure(subtree_candidates(), rounds, seconds)
    for small, large in zip(SIZES, SIZES[1:], strict=False):
        growth = report.ratio(
            f"{large} / {small} bodies", f"subtree_vel, {large} bodies", f"subtree_vel, {small} bodies"
        )
        report.targets.append(Target(f"subtree_vel, {large} against {small} bodies", growth, "<=", 12))
    if "humanoid, subtree_vel" in report.times:
        peer = report.ratio("humanoid, subtree_vel / MuJoCo", "humanoid, subtree_vel", "humanoid, mj_subtreeVel")
        report.targets.append(Target("humanoid, subtree_vel / mj_subtreeVel from Python", peer, "<=", 1.0))
    report.times |= measure(sensor_candidates(), rounds, seconds)
    many = report.ratio(f"{SENSORS} / 1 sensors", f"{SENSORS} subtree sensors", "1 subtree sensors")
    report.targets.append(Target(f"{SENSORS} subtree sensors against 1, {BODIES} bodies", many, "<=", 1.5))
    report.times |= measure(lazy_candidates(), rounds, seconds)
    report.ratio("lazy / forced", "forward, lazy", "forward, rne_post_constraint forced")
    lazy = report.ratio("lazy / accelerometer", "forward, lazy", "forward, accelerometer")
    report.targets.append(Target("forward with a sensor that does not ask, against one that does", lazy, "<=", 1.0))
    return report


if __name__ == "__main__":
    main(run, __doc__)
