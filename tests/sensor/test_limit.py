"""Sensors of limits: against MuJoCo beyond either end and with both ends in reach, and on lanes."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.tolerances import SENSOR_CONSTRAINT, SOLVED
from kinetree.types import JointType, SensorType
from tests.constraint.in_contact import MODELS, along, forward, start
from tests.pipeline.both import Both, close
from tests.sensor.everywhere import readings, same_readings

JOINT = (SensorType.JOINTLIMITPOS, SensorType.JOINTLIMITVEL, SensorType.JOINTLIMITFRC)
TENDON = (SensorType.TENDONLIMITPOS, SensorType.TENDONLIMITVEL, SensorType.TENDONLIMITFRC)


def limited(seed: int = 0) -> Both:
    """The model with limits, a sensor of each type on every joint and tendon that may have one."""
    spec = mujoco.MjSpec.from_file(str(MODELS / "limits.xml"))
    for kinds, what, elements in ((JOINT, "JOINT", spec.joints), (TENDON, "TENDON", spec.tendons)):
        for element in elements:
            for kind in kinds:
                if what == "TENDON" or element.type != mujoco.mjtJoint.mjJNT_FREE:
                    spec.add_sensor(
                        name=f"{kind.name.lower()} {element.name}", type=mujoco.mjtSensor(int(kind)),
                        objtype=getattr(mujoco.mjtObj, f"mjOBJ_{what}"), objname=element.name,
                    )  # fmt: skip
    return start(spec.compile(), seed)


def far_out(mj: mujoco.MjModel, rng: np.random.Generator):
    """A change of the state that puts joints around and beyond the ends of their ranges, with new velocities."""

    def change(data: mujoco.MjData) -> None:
        data.qvel[:] = rng.normal(size=mj.nv)
        for j in range(mj.njnt):
            a = mj.jnt_qposadr[j]
            if mj.jnt_type[j] == JointType.BALL:
                quat = np.concatenate(([1.0], rng.choice([0.1, 0.6]) * rng.normal(size=3)))
                data.qpos[a : a + 4] = quat / np.linalg.norm(quat)
            elif mj.jnt_type[j] != JointType.FREE:
                low, high = mj.jnt_range[j]
                data.qpos[a] = rng.uniform(low - 0.6 * (high - low), high + 0.6 * (high - low))

    return change


@pytest.mark.parametrize("seed", range(3))
def test_readings_equal_mujocos(seed):
    pair = limited(seed)
    change = far_out(pair.mj, np.random.default_rng(seed))
    largest: dict[str, float] = {}
    signs: dict[str, set[float]] = {}
    for note in along(pair, steps=60, every=2, change=change):
        same_readings(pair.model, pair.ours.sensordata, pair.theirs.sensordata, SENSOR_CONSTRAINT, note)
        for name, values in readings(pair.model, pair.ours.sensordata).items():
            largest[name] = max(largest.get(name, 0.0), np.abs(values).max())
            signs.setdefault(name, set()).add(float(np.sign(values[0])))
    assert not [name for name, value in largest.items() if value == 0.0], "sensors that never read anything"
    assert all(0.0 in signs[f"jointlimitpos {name}"] for name in ("hinge", "ball")), "limits that were always in reach"


def test_the_first_row_is_the_lower_end():
    """Both ends of the joint are in reach of its margin: the lower one counts."""
    text = """<mujoco><worldbody><body><joint name="j" type="slide" axis="1 0 0" range="-.1 .1" margin=".3"/>
      <geom size=".1"/></body></worldbody><sensor><jointlimitpos joint="j"/><jointlimitvel joint="j"/></sensor></mujoco>"""
    pair = start(text)
    pair.theirs.qpos[0], pair.theirs.qvel[0] = 0.05, 2.0
    forward(pair)
    assert pair.ours.nl == 2
    close(pair.ours.sensordata, [0.15 - 0.3, 2.0], 1e-14, "distance less margin, and rate")
    close(pair.ours.sensordata, pair.theirs.sensordata, 1e-14, "MuJoCo's")


def test_lanes_equal_floats():
    """Some worlds are at the lower end, some at the upper, some at none: the rows of all of them are there in each."""
    pairs = []
    for seed in range(8):
        pair = limited(seed)
        far_out(pair.mj, np.random.default_rng(seed))(pair.theirs)
        forward(pair)
        pairs.append(pair)
    model = pairs[0].model
    lanes = lanes_of(model, [pair.ours for pair in pairs])
    lanes.run(pipeline.forward)
    assert int(lanes.arrays["nl"][0]) > max(pair.ours.nl for pair in pairs)
    for lane, pair in enumerate(pairs):
        same_readings(model, lanes.sensordata[:, lane], pair.ours.sensordata, SOLVED, f"lane {lane}")
