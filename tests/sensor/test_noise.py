"""Noise on readings, for those who ask: its size for each kind of number, its seed, and what it leaves alone."""

from __future__ import annotations

import random

import numpy as np
import pytest

import kinetree as kt
from kinetree.types import DataType

SIGMA = 0.02
DRAWS = 4000
SPREAD = 5 / np.sqrt(2 * DRAWS)  # five standard deviations of a sample deviation, relative to it

MODEL = """<mujoco><worldbody><site name="zone" type="box" size="9 9 9"/><site name="far" pos="99 0 0"/>
  <body name="b" euler="10 20 30"><joint name="j" axis=".1 .2 .9"/>
    <geom size=".1" pos=".3 .1 0"/><site name="s" pos=".1 .2 .3"/></body></worldbody><sensor>
  <framepos name="real" objtype="site" objname="s" noise="{0}"/>
  <jointpos name="clean" joint="j"/>
  <insidesite name="in" objtype="body" objname="b" site="zone" noise="{0}"/>
  <insidesite name="out" objtype="body" objname="b" site="far" noise="{0}"/>
  <framexaxis name="axis" objtype="site" objname="s" noise="{0}"/>
  <framequat name="quat" objtype="site" objname="s" noise="{0}"/>
  <user name="unset axis" dim="3" datatype="axis" needstage="pos" noise="{0}"/>
  <user name="unset quat" dim="4" datatype="quaternion" needstage="pos" noise="{0}"/>
</sensor></mujoco>"""


def sensed(noise=SIGMA):
    """The model after `forward`."""
    model = kt.load(MODEL.format(noise))
    data = kt.Data(model)
    data.qpos[0] = 0.4
    kt.forward(model, data)
    return model, data


def draws(name, count=DRAWS, noise=SIGMA, seed=0):
    """The clean reading of a sensor, and many noisy ones."""
    model, data = sensed(noise)
    clean, readings = data.sensordata.copy(), []
    rng = np.random.default_rng(seed)
    for _ in range(count):
        data.sensordata[:] = clean
        kt.add_sensor_noise(model, data, rng)
        readings.append(data.sensor(name).data.copy())
    data.sensordata[:] = clean
    return data.sensor(name).data.copy(), np.array(readings)


def test_the_model_has_every_kind_of_number():
    model, _ = sensed()
    assert set(model.sensor_datatype) == {int(kind) for kind in DataType}


def test_reals_scatter_with_the_standard_deviation_in_every_component():
    clean, noisy = draws("real")
    error = noisy - clean
    np.testing.assert_allclose(error.std(axis=0), SIGMA, rtol=SPREAD)
    assert np.abs(error.mean(axis=0)).max() < 5 * SIGMA / np.sqrt(DRAWS)
    off_diagonal = np.corrcoef(error.T) - np.eye(3)
    assert np.abs(off_diagonal).max() < 5 / np.sqrt(DRAWS), "components are independent"


def test_noise_is_normal():
    """Shares within one and two standard deviations."""
    clean, noisy = draws("real")
    error = np.abs(noisy - clean) / SIGMA
    for limit, share in ((1.0, 0.6827), (2.0, 0.9545)):
        assert np.mean(error < limit) == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / error.size))


@pytest.mark.parametrize("noise", [SIGMA, 2.0])
def test_positive_numbers_stay_positive_and_zero_stays_zero(noise):
    clean, noisy = draws("in", noise=noise)
    assert clean == [1.0] and (noisy >= 0.0).all()
    if noise == SIGMA:
        assert noisy.std() == pytest.approx(SIGMA, rel=SPREAD)
    else:
        assert 0 < np.mean(noisy == 0.0) < 0.5, "cut off where the noise is larger than the number"
    clean, noisy = draws("out", 100, noise)
    assert clean == [0.0] and not noisy.any()


@pytest.mark.parametrize("noise", [SIGMA, 1.0])
def test_axes_stay_of_unit_length(noise):
    """Small noise turns them by sqrt(2) standard deviations, root mean square: only what is across the axis counts."""
    clean, noisy = draws("axis", noise=noise)
    np.testing.assert_allclose(np.linalg.norm(noisy, axis=1), 1.0, rtol=1e-14)
    if noise == SIGMA:
        angles = np.arccos(np.clip(noisy @ clean, -1, 1))
        assert np.sqrt(np.mean(angles**2)) == pytest.approx(np.sqrt(2) * SIGMA, rel=SPREAD)


@pytest.mark.parametrize("noise", [SIGMA, 0.5])
def test_quaternions_stay_of_unit_length_and_turn_by_the_standard_deviation_about_each_axis(noise):
    """So by sqrt(3) standard deviations in all, root mean square, without a preferred axis."""
    clean, noisy = draws("quat", noise=noise)
    np.testing.assert_allclose(np.linalg.norm(noisy, axis=1), 1.0, rtol=1e-14)
    turns = np.array([rotation_vector(clean, q) for q in noisy])
    np.testing.assert_allclose(turns.std(axis=0), noise, rtol=SPREAD)
    assert np.abs(turns.mean(axis=0)).max() < 5 * noise / np.sqrt(DRAWS)
    assert np.sqrt(np.mean(np.sum(turns**2, axis=1))) == pytest.approx(np.sqrt(3) * noise, rel=SPREAD)


def rotation_vector(start, end):
    """The turn from one quaternion to another, in the axes of the first."""
    w = start @ end
    v = start[0] * end[1:] - end[0] * start[1:] - np.cross(start[1:], end[1:])
    angle = 2.0 * np.arctan2(np.linalg.norm(v), w)
    return v / np.linalg.norm(v) * angle


@pytest.mark.parametrize("name", ["unset axis", "unset quat"])
def test_directions_that_nobody_set_have_nothing_to_turn(name):
    clean, noisy = draws(name, 50)
    assert not clean.any() and not noisy.any()


def test_sensors_without_noise_are_left_alone():
    _, noisy = draws("clean", 100)
    assert (noisy == 0.4).all()
    model, data = sensed(0.0)
    before = data.sensordata.copy()
    kt.add_sensor_noise(model, data, np.random.default_rng(0))
    np.testing.assert_array_equal(data.sensordata, before)


def test_the_same_seed_gives_the_same_noise_and_another_seed_another():
    _, first = draws("real", 20, seed=7)
    _, again = draws("real", 20, seed=7)
    _, other = draws("real", 20, seed=8)
    np.testing.assert_array_equal(first, again)
    assert not (first == other).any()


def test_nothing_but_readings_changes_and_the_next_step_starts_clean():
    model, noisy = sensed()
    clean = noisy.copy()
    rng = np.random.default_rng(0)
    kept = noisy.get_state(kt.State.INTEGRATION)
    kt.add_sensor_noise(model, noisy, rng)
    np.testing.assert_array_equal(noisy.get_state(kt.State.INTEGRATION), kept)
    assert not np.array_equal(noisy.sensordata, clean.sensordata)
    for _ in range(3):
        kt.add_sensor_noise(model, noisy, rng)
        kt.step(model, noisy)
        kt.step(model, clean)
        np.testing.assert_array_equal(noisy.sensordata, clean.sensordata)


def test_a_history_keeps_the_noise_that_readings_had():
    """A sensor that only keeps its readings stores sensordata, which is noisy if noise was added before the step ends."""
    text = """<mujoco><worldbody><body><joint name="j"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
      <sensor><jointpos joint="j" nsample="2" noise=".1"/><jointpos joint="j" nsample="2" delay=".002" noise=".1"/></sensor>
      </mujoco>"""
    model = kt.load(text)
    data = kt.Data(model)
    kt.step1(model, data)
    kt.add_sensor_noise(model, data, np.random.default_rng(0))
    reading = data.sensordata.copy()
    kt.step2(model, data)
    newest = data.history[model.sensor_historyadr[0] + 2 + 2 + int(data.history[model.sensor_historyadr[0] + 1])]
    assert newest == reading[0] != 0.0
    late = data.history[model.sensor_historyadr[1] + 4 :]
    assert not late.any(), "a delayed sensor is computed anew, clean"


@pytest.mark.parametrize("rng", [None, 3, np.random, np.random.RandomState(0), random.Random(0), "seed"])
def test_a_generator_of_numpy_is_needed(rng):
    model, data = sensed()
    before = data.sensordata.copy()
    with pytest.raises(TypeError, match=r"numpy\.random\.Generator"):
        kt.add_sensor_noise(model, data, rng)
    np.testing.assert_array_equal(data.sensordata, before)


def test_model_and_data_must_belong_together():
    (model, _), (_, data) = sensed(), sensed()
    rng = np.random.default_rng(0)
    other = kt.load("<mujoco/>")
    with pytest.raises((TypeError, ValueError)):
        kt.add_sensor_noise(other, data, rng)
    with pytest.raises((TypeError, ValueError)):
        kt.add_sensor_noise(data, model, rng)
    with pytest.raises((TypeError, ValueError)):
        kt.add_sensor_noise(model, rng, rng)


RAYS = """<mujoco><worldbody><geom type="plane" size="0 0 1"/><body><site name="down" pos="0 0 2" euler="180 0 0"/>
  <site name="up" pos="0 0 2"/><site name="near" pos="0 0 .01" euler="180 0 0"/></body></worldbody><sensor>
  <rangefinder name="down" site="down" noise="{0}"/><rangefinder name="up" site="up" noise="{0}"/>
  <rangefinder name="near" site="near" noise="{0}"/>
  <rangefinder name="all" site="down" data="dist dir origin point normal depth" noise="{0}"/></sensor></mujoco>"""


def rays(name):
    """Many noisy readings of a rangefinder."""
    model = kt.load(RAYS.format(SIGMA))
    data, rng, out = kt.Data(model), np.random.default_rng(1), []
    kt.forward(model, data)
    clean = data.sensordata.copy()
    for _ in range(DRAWS):
        data.sensordata[:] = clean
        kt.add_sensor_noise(model, data, rng)
        out.append(data.sensor(name).data.copy())
    return np.array(out)


def test_a_distance_scatters_about_its_length_and_nothing_stays_nothing():
    """-1 says that a ray met nothing; a distance is never negative."""
    distance = rays("down")
    assert distance.std() == pytest.approx(SIGMA, rel=SPREAD)
    assert distance.mean() == pytest.approx(2.0, abs=5 * SIGMA / np.sqrt(DRAWS))
    assert (rays("up") == -1.0).all()
    near = rays("near")
    assert (near >= 0.0).all() and (near == 0.0).any() and (near > 0.0).any()


def test_noise_of_a_ray_is_along_it():
    """Direction, origin and normal stay; distance, point and depth tell of the same, noisy, place."""
    whole = rays("all")
    dist, direction, origin, point, normal, depth = np.split(whole, [1, 4, 7, 10, 13], axis=1)
    for part, wanted in ((direction, [0, 0, -1]), (origin, [0, 0, 2]), (normal, [0, 0, 1])):
        np.testing.assert_allclose(part, np.tile(wanted, (DRAWS, 1)), atol=1e-15)
    np.testing.assert_allclose(point, origin + dist * direction, atol=1e-14)
    np.testing.assert_allclose(depth, dist, atol=1e-14)
    assert dist.std() == pytest.approx(SIGMA, rel=SPREAD)


def test_noise_of_a_pixel_keeps_its_depth_and_its_distance_of_one_place():
    """Depth is the part of the distance along the axis of the camera, so it scatters less towards the edge of the image."""
    text = """<mujoco><worldbody><geom type="plane" size="0 0 1"/>
      <body><camera name="c" pos="0 0 2" resolution="3 1" fovy="60"/>
      </body></worldbody><sensor><rangefinder name="c" camera="c" data="dist dir point depth" noise=".02"/></sensor></mujoco>"""
    model = kt.load(text)
    data = kt.Data(model)
    kt.forward(model, data)
    kt.add_sensor_noise(model, data, np.random.default_rng(0))
    for dist, *more in data.sensor("c").data.reshape(3, 8):
        direction, point, depth = np.array(more[:3]), np.array(more[3:6]), more[6]
        np.testing.assert_allclose(point, [0, 0, 2] + dist * direction, atol=1e-14)
        assert depth == pytest.approx(-dist * direction[2], abs=1e-14)
        assert depth == pytest.approx(2.0, abs=0.2) and depth != 2.0
