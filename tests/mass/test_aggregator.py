"""Bodies whose components change with time, alone and in a running simulation, against MuJoCo with the same edits."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np
import pytest

import kinetree as kt
from tests.mass.bodies import assert_same, random_body
from tests.test_model import unequal, values

MP = kt.MassProperties

PLANE = """<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody>
<body name="plane" pos="0 0 100"><freejoint/><geom type="box" size="4 5 .5" mass="900"/>
  <body name="rudder" pos="-4 0 0"><joint axis="0 0 1"/><geom type="box" size=".5 .05 .5" mass="3"/></body></body>
<body name="drone" pos="0 0 1"><freejoint/><geom type="box" size=".2 .2 .05" mass="1"/></body>
</worldbody></mujoco>"""


def fill(t):
    return 1 - t / 20


def tank(t):
    """A box that empties from above: its level falls, so does its centre."""
    return MP.solid_box(600 * fill(t), 2, 3, 0.5 * fill(t), cg=(0.8, 0, -0.25 + 0.25 * fill(t)))


def aircraft(body="plane"):
    return kt.MassAggregator({"structure": MP.solid_box(900, 8, 10, 1), "fuel": tank}, body=body)


def test_total_is_the_sum_at_that_time():
    plane = aircraft()
    for t in (0.0, 5.0, 19.0, 20.0):
        assert_same(plane.total(t), MP.solid_box(900, 8, 10, 1) + tank(t))
    assert plane.at(5.0).keys() == {"structure", "fuel"} and plane.at(5.0)["fuel"] == tank(5.0)
    assert_same(plane.total(), plane.total(0.0))


def test_it_is_a_dictionary():
    plane = aircraft()
    plane["pilot"] = MP.point_mass(80, (3, 0, 0))
    assert list(plane) == ["structure", "fuel", "pilot"] and len(plane) == 3 and "pilot" in plane
    plane["pilot"] = MP.point_mass(60, (3, 0, 0))
    assert plane.total(20).mass == 960
    del plane["pilot"]
    assert plane.total(20).mass == 900 and repr(plane) == "<MassAggregator of 'plane': structure, fuel>"
    assert kt.MassAggregator().total() == MP.zero()
    with pytest.raises(ValueError, match="a component 'fuel' already"):
        plane.add("fuel", tank)
    with pytest.raises(KeyError, match="no component is called 'feul': did you mean 'fuel'"):
        plane["feul"]
    with pytest.raises(KeyError):
        del plane["feul"]
    with pytest.raises(TypeError, match="expected mass properties or a function of time, got float"):
        plane["x"] = 3.0
    with pytest.raises(TypeError, match="needs a name"):
        plane[3] = tank
    plane["broken"] = lambda t: 3.0
    with pytest.raises(TypeError, match="component 'broken' gave float at t = 2"):
        plane.total(2)


def test_a_broken_function_is_told_by_name():
    plane = aircraft()
    plane["ballast"] = lambda t: MP.point_mass(1 / (t - 2), 0)
    with pytest.raises(ZeroDivisionError) as error:
        plane.total(2)
    assert error.value.__notes__ == ["in the function of component 'ballast' at t = 2"]


def test_components_need_names():
    with pytest.raises(TypeError, match='takes components by name, {"engine": engine, ...}, not list'):
        kt.MassAggregator([MP.zero()])


def test_batches_of_different_sizes():
    plane = kt.MassAggregator({"a": lambda t: MP.point_mass(np.ones(3), 0), "b": MP.point_mass(np.ones(4), 0)})
    with pytest.raises(ValueError, match="batches of different shapes"):
        plane.total()


def test_times_may_be_a_batch():
    times = np.linspace(0, 19, 5)
    batch = aircraft().total(times)
    assert batch.shape == (5,)
    assert_same(batch[3], aircraft().total(times[3]))


@pytest.mark.parametrize("body", ["plane", "drone"])
def test_flight_with_burning_fuel_equals_mujocos(body):
    """Step by step the same edit and mj_setConst in MuJoCo, also of a body that was simple at first."""
    plane = aircraft(body)
    model = plane.prepare(kt.load(PLANE))
    theirs = model.to_mujoco()
    ours, reference = kt.Data(model), mujoco.MjData(theirs)
    ours.qvel = reference.qvel[:] = np.random.default_rng(0).normal(size=model.nv)
    model.opt.disableflags = theirs.opt.disableflags = int(kt.DisableBit.CONSTRAINT)
    b = model.id("body", body)
    for _ in range(100):
        plane.apply(model, ours.time)
        for field in ("body_mass", "body_ipos", "body_iquat", "body_inertia"):
            getattr(theirs, field)[b] = getattr(model, field)[b]
        mujoco.mj_setConst(theirs, mujoco.MjData(theirs))
        kt.step(model, ours)
        mujoco.mj_step(theirs, reference)
    assert not unequal(body, values(model), values(theirs))
    np.testing.assert_allclose(ours.qpos, reference.qpos, atol=1e-9)
    np.testing.assert_allclose(ours.qvel, reference.qvel, atol=1e-9)
    assert_same(MP.from_body(model, body), plane.total(ours.time - 0.01))
    assert model.body_mass[b] < 900 + 600


def test_no_thrust_is_added():
    """Mass that leaves with the velocity of its body changes no velocity: a body flying straight goes on."""
    plane = kt.MassAggregator({"all": lambda t: MP.solid_sphere(2 - t, 0.5)}, body="drone")
    model = plane.prepare(kt.load(PLANE))
    model.opt.disableflags = kt.DisableBit.CONSTRAINT
    data = kt.Data(model)
    data.qvel[7:10] = (1.0, 2.0, 3.0)  # after the plane and its rudder
    before = data.qvel.copy()
    for _ in range(50):
        plane.apply(model, data.time)
        kt.step(model, data)
    np.testing.assert_allclose(data.qvel, before, atol=1e-12)


def test_a_simple_body_needs_preparation():
    model = kt.load(PLANE)
    before = values(model)
    plane = aircraft("drone")
    with pytest.raises(kt.ModelError, match="body 'drone' is compiled as simple, .*prepare"):
        plane.apply(model, 0.0)
    assert not unequal("refused", values(model), before)
    prepared = plane.prepare(model)
    assert prepared.body_simple[3] == 0 and prepared.nC > model.nC
    centred = kt.MassAggregator({"all": MP.solid_box(2, 1, 2, 3)}, body="drone")
    assert centred.prepare(model).body_simple[3] == 0, "room for what may come"
    centred.apply(model)  # this fits a simple body
    assert model.body_mass[3] == 2 and model.body_simple[3] == 1


def test_on_error_nothing_changes():
    model = aircraft().prepare(kt.load(PLANE))
    before = values(model)
    for wrong, reason in (
        (MP.rod(1, 2), "three positive principal moments"),
        (MP.point_mass(-1, 0), "mass is negative"),
        (random_body(np.random.default_rng(0)) * np.nan, "not finite"),
    ):
        with pytest.raises(kt.ModelError, match=reason):
            kt.MassAggregator({"all": wrong}, body="plane").apply(model, 1.0)
    with pytest.raises(ValueError, match="has no body"):
        kt.MassAggregator({"all": MP.solid_sphere(1, 1)}).apply(model)
    with pytest.raises(KeyError, match="did you mean 'plane'"):
        aircraft("plain").apply(model)
    with pytest.raises(TypeError, match="kinetree Model"):
        aircraft().apply("plane")
    assert not unequal("after errors", values(model), before)


def test_rods_can_be_regularised():
    model = kt.load(PLANE)
    pole = kt.MassAggregator({"all": MP.rod(1, 2)}, body="drone")
    pole.apply(model, regularise=1e-3)
    assert model.body_inertia[3].tolist() == pytest.approx([1 / 3, 1 / 3, 1e-3])


def test_fuel_burnt_beyond_empty_is_said_once_by_name_and_time():
    plane = kt.MassAggregator(
        {"structure": MP.solid_box(900, 8, 10, 1), "fuel": lambda t: MP.point_mass(600 * fill(t), (0.8, 0, 0))}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plane.total(19.0).mass == pytest.approx(930) and plane.total(20.0).mass == 900
        plane.total(np.nextafter(20.0, 21.0))  # rounding is no fuel
    with pytest.warns(
        kt.SimulationWarning, match=r"component 'fuel' has a negative mass, -150 kg, at t = 25"
    ) as caught:
        assert plane.total(25.0).mass == pytest.approx(750)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plane.total(26.0)
        plane["hole"] = -MP.point_mass(1, (0, 0, 0))  # a constant may be one
        plane.total(1.0)
    plane["fuel"] = plane["fuel"]
    with pytest.warns(kt.SimulationWarning, match="-300 kg, at t = 30"):
        plane.total(np.array([0.0, 30.0, 22.0]))
