"""What a call from Python into compiled code costs above the kernel itself.

The kernel itself is timed by a stage that calls it 1,000 times through the table of stages. "above" is the difference.
For comparison: the entry without the checks of the public function, an empty Python function, and MuJoCo's binding on a
function that finds nothing to do (mj_camlight of a model without cameras and lights).
"""

from __future__ import annotations

import mujoco
from common import Candidate, Report, Target, main, measure

import kinetree as kt
from kinetree.kernel import float_machine, stage

REPEATS = 1000
XML = "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"


@stage
def nothing(m, d):
    """A stage without work."""


@stage
def many_nothings(m, d):
    """The stage without work, 1,000 times."""
    for _ in range(REPEATS):
        nothing(m, d)


@stage
def many_kinematics(m, d):
    """Kinematics, 1,000 times."""
    for _ in range(REPEATS):
        kt.kinematics(m, d)


def python_function(a, b):
    """An empty Python function."""


def run(quick: bool) -> Report:
    """Measure all candidates in turn."""
    model = kt.load(XML)
    data = kt.Data(model)
    mj_model = mujoco.MjModel.from_xml_string(XML)
    scope = {
        "model": model, "data": data, "nothing": nothing, "many": many_nothings, "kinematics": kt.kinematics,
        "entry": nothing.compile_for(float_machine()), "m": model.address, "d": data.address, "many_k": many_kinematics,
        "function": python_function,
        "camlight": mujoco.mj_camlight, "mj_model": mj_model, "mj_data": mujoco.MjData(mj_model),
    }  # fmt: skip
    report = Report("Calling compiled code from Python")
    report.times = measure(
        [
            Candidate("empty kernel itself", "many(model, data)", scope, REPEATS),
            Candidate("empty stage, public call", "nothing(model, data)", scope),
            Candidate("empty stage, its entry with two integers", "entry(m, d)", scope),
            Candidate("MuJoCo binding, mj_camlight with nothing to do", "camlight(mj_model, mj_data)", scope),
            Candidate("empty Python function", "function(model, data)", scope),
            Candidate("kinematics of one body, kernel itself", "many_k(model, data)", scope, REPEATS),
            Candidate("kinematics of one body, public call", "kinematics(model, data)", scope),
        ],
        rounds=5 if quick else 60,
        seconds=0.0005 if quick else 0.004,
    )
    above = report.difference("empty stage, public call", "empty kernel itself")
    report.targets = [Target("public call above its kernel", above, "<=", 0.5, "us")]
    report.details["kinematics above its kernel"] = report.difference(
        "kinematics of one body, public call", "kinematics of one body, kernel itself"
    )
    report.details["entry above its kernel"] = report.difference(
        "empty stage, its entry with two integers", "empty kernel itself"
    )
    report.ratio(
        "public call / MuJoCo binding", "empty stage, public call", "MuJoCo binding, mj_camlight with nothing to do"
    )
    report.ratio("public call / Python function", "empty stage, public call", "empty Python function")
    for name, value in report.details.items():
        report.notes.append(f"{name}: {value:.3f} us")
    return report


if __name__ == "__main__":
    main(run, __doc__)
