"""Rangefinders on sites and cameras against MuJoCo's sensordata, in closed form, and on every machine."""

from __future__ import annotations

import functools
import itertools

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.compare import oracle_model
from kinetree.conformance.states import copy_state, random_state
from kinetree.conformance.tolerances import KINEMATICS, MACHINES, SENSOR
from kinetree.geometry.ray import ray
from kinetree.kernel import interpret, stage
from kinetree.sensor.rangefinder import rangefinder
from kinetree.types import RayDataField, SensorType
from tests import corpora

SOURCES = {entry.name: entry.source for entry in corpora.entries()}
MODELS = ("tests/models/rays.xml", "tests/models/sensors.xml", "dm_control/suite/quadruped.xml",
          "dm_control/suite/quadruped(terrain)", "dm_control/third_party/ant/ant.xml")  # fmt: skip
RANGEFINDER = int(SensorType.RANGEFINDER)
FIELDS = [field.name.lower() for field in RayDataField]
WIDTHS = {"dist": 1, "dir": 3, "origin": 3, "point": 3, "normal": 3, "depth": 1}


@stage
def all_rangefinders(m, d):
    """Every rangefinder of a model, without cutoff, interval or delay."""
    for i in range(m.nsensor):
        if m.sensor_type[i] == RANGEFINDER:
            rangefinder(m, d, i)


@functools.cache
def both(source):
    """A model as MuJoCo and we have it, without cutoff: what the kernel computes is all that counts here."""
    mj = oracle_model(SOURCES[source]() if source in SOURCES else source)
    mj.sensor_cutoff[:] = 0
    return mj, kt.load(mj)


def posed(source, seed):
    """MuJoCo's data and ours with poses computed, in a seeded random state, or the initial one if that is None."""
    mj, model = both(source)
    theirs = mujoco.MjData(mj) if seed is None else random_state(mj, np.random.default_rng(seed))
    ours = kt.Data(model)
    copy_state(theirs, ours)
    mujoco.mj_forward(mj, theirs)
    kt.kinematics(model, ours)
    kt.com_pos(model, ours)
    kt.camlight(model, ours)
    return model, theirs, ours


def readings(model, data):
    """Readings of the rangefinders that keep no history, by number: (rays, numbers per ray)."""
    all_rangefinders(model, data)
    at_once = (model.sensor_type == RANGEFINDER) & (model.sensor_history[:, 0] == 0)
    return {i: reading(model, data.sensor_fresh, i) for i in np.flatnonzero(at_once)}


def reading(model, values, i):
    a, n, bits = model.sensor_adr[i], model.sensor_dim[i], model.sensor_intprm[i, 0]
    width = sum(WIDTHS[field] for k, field in enumerate(FIELDS) if bits >> k & 1)
    return values[a : a + n].reshape(-1, width)


@pytest.mark.parametrize("source", MODELS)
@pytest.mark.parametrize("seed", range(4))
def test_readings_equal_mujocos(source, seed):
    model, theirs, ours = posed(source, seed)
    for i, got in readings(model, ours).items():
        wanted = reading(model, theirs.sensordata, i)
        error = np.abs(got - wanted) / np.maximum(1.0, np.abs(wanted))
        at = np.unravel_index(error.argmax(), error.shape)
        what = f"{source} seed {seed} sensor {model.name('sensor', int(i))}, ray {at[0]} number {at[1]}"
        assert error[at] <= SENSOR, f"{what}: {got[at]} against {wanted[at]}"


def test_models_have_hits_and_misses_on_sites_and_cameras():
    model, _, ours = posed(MODELS[0], 1)
    seen = {}
    for i, got in readings(model, ours).items():
        if model.sensor_intprm[i, 0] & 1:
            seen.setdefault(kt.types.ObjType(model.sensor_objtype[i]).name, []).append(got[:, 0])
    for kind, distances in seen.items():
        met = np.concatenate(distances) >= 0
        assert met.any() and not met.all(), kind


ROOM = """<mujoco><worldbody>
  <geom name="floor" type="plane" size="0 0 1"/>
  <body name="head" pos="1 2 4" euler="{euler}">
    <geom name="skin" size=".5"/>
    <site name="s" euler="180 0 0"/>
    <camera name="c" resolution="{resolution}" {camera}/>
  </body>
</worldbody><sensor><rangefinder site="s" data="{data}"/><rangefinder camera="c" data="{data}"/></sensor></mujoco>"""
ALL = " ".join(FIELDS)


def parts(numbers):
    """One ray's numbers by field."""
    ends = np.cumsum([WIDTHS[field] for field in FIELDS])
    return dict(zip(FIELDS, np.split(numbers, ends[:-1]), strict=True))


def test_perspective_camera_before_a_plane_in_closed_form():
    """All pixels have the same depth; the middle of pixel (row, col) is where a pinhole camera sees it."""
    room = ROOM.format(euler="0 0 0", resolution="4 3", camera='fovy="90"', data=ALL)
    model, _, ours = posed(room, None)
    image = readings(model, ours)[1].reshape(3, 4, -1)
    for row, col in itertools.product(range(3), range(4)):
        got = parts(image[row, col])
        x, y = (col - 1.5) / 1.5, (1 - row) / 1.5  # tan(45 degrees) is half the height
        length = np.sqrt(x * x + y * y + 1)
        np.testing.assert_allclose(got["depth"], 4, rtol=KINEMATICS)
        np.testing.assert_allclose(got["dist"], 4 * length, rtol=KINEMATICS)
        np.testing.assert_allclose(got["dir"], np.array([x, y, -1]) / length, atol=KINEMATICS)
        np.testing.assert_allclose(got["origin"], [1, 2, 4], rtol=KINEMATICS)
        np.testing.assert_allclose(got["point"], [1 + 4 * x, 2 + 4 * y, 0], atol=10 * KINEMATICS)
        assert got["normal"].tolist() == [0, 0, 1]


def test_orthographic_camera_before_a_plane_in_closed_form():
    room = ROOM.format(euler="0 0 0", resolution="4 3", camera='projection="orthographic" fovy="6"', data=ALL)
    model, _, ours = posed(room, None)
    image = readings(model, ours)[1].reshape(3, 4, -1)
    for row, col in itertools.product(range(3), range(4)):
        got = parts(image[row, col])
        origin = [1 + 3 * (col - 1.5) / 2, 2 + 3 * (1 - row) / 1.5, 4]
        np.testing.assert_allclose(got["origin"], origin, rtol=KINEMATICS)
        np.testing.assert_allclose([*got["dist"], *got["depth"]], 4, rtol=KINEMATICS)
        np.testing.assert_allclose(got["dir"], [0, 0, -1], atol=KINEMATICS)


def test_site_looks_along_its_z_axis_past_its_own_body():
    model, _, ours = posed(ROOM.format(euler="0 0 0", resolution="1 1", camera="", data=ALL), None)
    got = parts(readings(model, ours)[0][0])
    np.testing.assert_allclose([*got["dist"], *got["depth"]], 4, rtol=KINEMATICS)
    np.testing.assert_allclose(got["point"], [1, 2, 0], atol=10 * KINEMATICS)


@pytest.mark.parametrize("camera", ['fovy="50"', 'projection="orthographic" fovy="3"'])
def test_a_ray_that_meets_nothing_reports_minus_one_and_zeros(camera):
    model, _, ours = posed(ROOM.format(euler="180 0 0", resolution="3 2", camera=camera, data=ALL), None)
    for numbers in np.concatenate(list(readings(model, ours).values())):
        got = parts(numbers)
        assert got["dist"] == got["depth"] == -1
        assert not np.concatenate([got["dir"], got["point"], got["normal"]]).any()
        assert got["origin"].any()


def test_every_choice_of_numbers_is_a_part_of_all_of_them():
    """A sensor that reports some fields writes the same numbers, one behind the other, as one that reports all."""
    choices = [c for n in range(1, 7) for c in itertools.combinations(FIELDS, n)]
    assert len(choices) == 63
    sensors = "".join(f'<rangefinder camera="c" data="{" ".join(c)}"/>' for c in choices)
    room = ROOM.format(euler="20 10 0", resolution="3 2", camera='fovy="70"', data=ALL)
    model, theirs, ours = posed(room.replace("</sensor>", f"{sensors}</sensor>"), None)
    np.testing.assert_array_equal(model.sensor_dim[2:], [6 * sum(WIDTHS[f] for f in c) for c in choices])
    found = readings(model, ours)
    np.testing.assert_allclose(ours.sensor_fresh, theirs.sensordata, atol=SENSOR)
    for i, chosen in enumerate(choices):
        for one, whole in zip(found[2 + i], found[1], strict=True):
            np.testing.assert_array_equal(one, np.concatenate([parts(whole)[field] for field in chosen]), str(chosen))


def test_cameras_cast_the_rays_that_kt_ray_casts():
    model, _, ours = posed(MODELS[0], 2)
    found = readings(model, ours)
    for name in ("overview", "map"):
        i, camera = model.id("sensor", name), model.id("camera", name)
        for numbers in found[i]:
            got = parts(numbers)
            if got["dist"] >= 0:
                body = int(model.cam_bodyid[camera])
                distance, _, normal = ray(model, ours, got["origin"], got["dir"], exclude=body)
                assert got["dist"] == pytest.approx(distance, rel=1e-12)
                np.testing.assert_allclose(got["normal"], normal, atol=1e-9)


# machines


@pytest.mark.parametrize("source", MODELS)
def test_lanes_equal_floats(source):
    worlds = [posed(source, seed)[2] for seed in range(8)]
    model = worlds[0].model
    lanes, out = lanes_of(model, worlds), kt.Data(model)
    lanes.run(all_rangefinders)
    for lane, data in enumerate(worlds):
        all_rangefinders(model, data)
        lanes.store(lane, out)
        np.testing.assert_allclose(
            out.sensor_fresh, data.sensor_fresh, atol=MACHINES["float64"], err_msg=f"lane {lane}"
        )


def test_single_precision_lanes_agree_but_for_glancing_rays():
    worlds = [posed(MODELS[0], seed)[2] for seed in range(16)]
    model = worlds[0].model
    lanes, out = lanes_of(model, worlds, "float32"), kt.Data(model)
    lanes.run(all_rangefinders)
    errors = []
    for lane, data in enumerate(worlds):
        all_rangefinders(model, data)
        lanes.store(lane, out)
        errors.append(np.abs(out.sensor_fresh - data.sensor_fresh) / np.maximum(1.0, np.abs(data.sensor_fresh)))
    assert np.quantile(errors, 0.99) <= MACHINES["float32"]


def test_plain_python_equals_compiled_code():
    model, _, compiled = posed(MODELS[0], 3)
    plain = posed(MODELS[0], 3)[2]
    all_rangefinders(model, compiled)
    interpret(all_rangefinders, model.record(), plain.record())
    np.testing.assert_allclose(plain.sensor_fresh, compiled.sensor_fresh, atol=MACHINES["float64"])
