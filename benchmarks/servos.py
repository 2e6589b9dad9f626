"""Position servos on a humanoid in contact at 1/60 s: stable PD, and position actuators under discrete and implicitfast.

For each way, the largest gain with which the bundled humanoid stands for two seconds without a bad state (bisection of the
exponent, up to 1e12), how far its joints are from their targets then, at a gain of 1e4, and what a step costs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from common import SEPARATOR, Candidate, Report, Target, main, measure

import kinetree as kt

H, SECONDS, GAIN, MOST = 1.0 / 60.0, 2.0, 1e4, 12.0
STEPS = 20
STATEMENT = "reset()\nfor _ in range(20): step()"


def servoed(kp: float, integrator: kt.Integrator) -> kt.Model:
    """The bundled humanoid at 1/60 s, with a position actuator of that gain on every joint; none if it is 0."""
    spec = mujoco.MjSpec.from_file(str(kt.models.path("humanoid")))
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    for joint in spec.joints:
        if kp > 0.0 and joint.type != mujoco.mjtJoint.mjJNT_FREE:
            servo = spec.add_actuator(name=f"hold_{joint.name}", target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            servo.set_to_position(kp=kp)
    spec.option.timestep, spec.option.integrator = H, int(integrator)
    return kt.load(spec.compile())


def stepper(way: str, kp: float) -> tuple[kt.Model, kt.Data, Callable[[], Any]]:
    """A model, its data, and what makes a step."""
    if way.startswith("stable PD"):
        model = servoed(0.0, kt.Integrator.EULER)
        data = kt.Data(model)
        controller = kt.StablePD(model, kp, 0.0, mode="implicit")
        return model, data, lambda: controller.step(data)
    model = servoed(kp, kt.Integrator[way.rpartition(" ")[2].upper()])
    data = kt.Data(model)
    return model, data, lambda: kt.step(model, data)


WAYS = ("stable PD, implicit", "position actuator, discrete", "position actuator, implicitfast")


def error(way: str, kp: float) -> float:
    """Largest distance [rad] of a joint from its target after two seconds; infinite if the state went bad."""
    model, data, step = stepper(way, kp)
    for _ in range(round(SECONDS / H)):
        step()
    bad = data.warning_number.any() or not np.isfinite(data.qpos).all() or np.abs(data.qvel).max() > 100.0
    return np.inf if bad else float(np.abs(data.qpos[7:] - model.qpos0[7:]).max())


def largest(way: str) -> float:
    """The largest stable gain, or 1e12 if that is stable."""
    low, high = 0.0, MOST
    if np.isfinite(error(way, 10.0**MOST)):
        return float(10.0**MOST)
    for _ in range(12):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.isfinite(error(way, 10.0**middle)) else (low, middle)
    return float(10.0**low)


def run(quick: bool = False) -> Report:
    """Gains, errors and times."""
    warnings.simplefilter("ignore", kt.SimulationWarning)
    report = Report("Position servos on a humanoid in contact, from Python")
    both = []
    for way in WAYS:
        gain = GAIN if quick else largest(way)
        report.details[way] = {"largest gain": gain, "error": error(way, GAIN)}
        report.notes.append(f"{way}: stable up to {gain:.2g} N m/rad, error at {GAIN:g} {error(way, GAIN):.2g} rad")
        model, data, step = stepper(way, 100.0)
        start = data.qpos.copy()

        def reset(data: kt.Data = data, start: np.ndarray = start) -> None:
            data.qpos[:], data.qvel[:] = start, 0.0

        both.append(Candidate(f"humanoid{SEPARATOR}{way}", STATEMENT, {"reset": reset, "step": step}, STEPS))
    report.times |= measure(both, 3 if quick else 15, 0.005)
    spd, discrete = (f"humanoid{SEPARATOR}{way}" for way in WAYS[:2])
    ratio = report.ratio(f"humanoid{SEPARATOR}discrete / stable PD", discrete, spd)
    report.targets.append(Target("position actuators under discrete / stable PD, a step", ratio, "<=", 2.0))
    return report


if __name__ == "__main__":
    main(run, __doc__)
