"""Sensors of contacts and rays do not see the neighbours of a world on lanes: every reading is the same to the last bit.

Which contacts there are on lanes hangs on all worlds, and so do the rows of the solver. So forces are not solved for here: each
contact has some that follow from its own place.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import LaneData, lanes_of
from kinetree.conformance.states import copy_state, random_state
from kinetree.geometry.contact_list import FAR
from kinetree.types import Constraint
from tests.constraint.in_contact import MODELS, Both, scattered
from tests.sensor.test_contact_sensor import sensing
from tests.sensor.test_touch import everywhere


def pretend_forces(lanes: LaneData) -> None:
    """Give every row of a contact a force that follows from the contact's place in that world and its number among its rows."""
    a = lanes.arrays
    a["efc_force"][:] = 0.0
    for row in range(int(a["nefc"][0])):
        if a["efc_type"][row] >= Constraint.CONTACT_FRICTIONLESS:
            c = int(a["efc_id"][row])
            k = row - int(a["contact_efc_address"][c])
            force = 5.0 + 4.0 * np.sin(1e3 * a["contact_pos"][c, 0] + 1e4 * a["contact_dist"][c] + k)
            a["efc_force"][row] = np.where(a["efc_D"][row] > 0.0, force, 0.0)


def felt(model: kt.Model, worlds: Sequence[kt.Data], dtype: str = "float64") -> LaneData:
    """Worlds on lanes, after all sensors."""
    lanes = lanes_of(model, worlds, dtype)
    for stage in (pipeline.fwd_position, pipeline.fwd_velocity):
        lanes.run(stage)
    pretend_forces(lanes)
    for stage in (pipeline.sensor_pos, pipeline.sensor_vel, pipeline.sensor_acc):
        lanes.run(stage)
    return lanes


def same_bits(model: kt.Model, got: np.ndarray, wanted: np.ndarray, note: str) -> None:
    """No number differs, or a message with the sensor."""
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    if not same.all():
        k = int(np.argmin(same))
        i = int(np.searchsorted(model.sensor_adr, k, side="right")) - 1
        pytest.fail(f"{model.title} {note}: {model.name('sensor', i)!r} [{k}] is {got[k]!r}, not {wanted[k]!r}")


def sees_no_neighbours(model: kt.Model, worlds: Sequence[kt.Data], dtype: str) -> LaneData:
    """Each of some worlds reads the same among all of them, in another order, and among copies of itself."""
    rng = np.random.default_rng(3)
    among = felt(model, worlds, dtype)
    order = rng.permutation(len(worlds))
    other = felt(model, [worlds[k] for k in order], dtype)
    for lane, k in enumerate(order):
        same_bits(model, other.sensordata[:, lane], among.sensordata[:, k], f"world {k} in lane {lane}")
    for k in (0, len(worlds) // 2):
        alone = felt(model, [worlds[k]] * len(worlds), dtype)
        same_bits(model, alone.sensordata[:, 1], among.sensordata[:, k], f"world {k} alone")
        assert int(alone.arrays["ncon"][0]) <= int(among.arrays["ncon"][0])
    return among


def contacts_differ(lanes: LaneData) -> bool:
    """Whether some contact exists in some of the worlds alone."""
    far = lanes.arrays["contact_dist"][: int(lanes.arrays["ncon"][0])] >= FAR
    return bool((far.any(axis=1) & ~far.all(axis=1)).any())


def states(pairs: Sequence[Both]) -> list[kt.Data]:
    return [pair.ours for pair in pairs]


@pytest.mark.parametrize("dtype, width", [("float64", 8), ("float32", 16)])
@pytest.mark.parametrize("cone", [0, 1], ids=["pyramidal", "elliptic"])
def test_contact_sensors_see_no_neighbours(cone, dtype, width):
    pairs = scattered(sensing(1), width, cone=cone)
    lanes = sees_no_neighbours(pairs[0].model, states(pairs), dtype)
    assert contacts_differ(lanes)


@pytest.mark.parametrize("dtype, width", [("float64", 8), ("float32", 16)])
@pytest.mark.parametrize("shape", ["capsule", "box", "cylinder"])
def test_touch_sensors_see_no_neighbours(shape, dtype, width):
    pairs = scattered(everywhere(shape, 4), width)
    lanes = sees_no_neighbours(pairs[0].model, states(pairs), dtype)
    assert contacts_differ(lanes) and (lanes.sensordata > 0.0).any()


@pytest.mark.parametrize("dtype, width", [("float64", 8), ("float32", 16)])
def test_rangefinders_see_no_neighbours(dtype, width):
    """In rays.xml there is every shape, with meshes whose trees worlds leave at different nodes."""
    mj = mujoco.MjModel.from_xml_path(str(MODELS / "rays.xml"))
    model, worlds = kt.load(mj), []
    for seed in range(width):
        worlds.append(kt.Data(model))
        copy_state(random_state(mj, np.random.default_rng(seed)), worlds[-1])
    lanes = sees_no_neighbours(model, worlds, dtype)
    met = lanes.sensordata >= 0.0
    assert (met.any(axis=1) & ~met.all(axis=1)).any(), "rays that meet something in some worlds alone"
