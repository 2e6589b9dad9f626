"""Touch sensors: against MuJoCo on robots and on sites of every shape, and in closed form."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.tolerances import SENSOR_CONSTRAINT, SOLVED
from tests.constraint.in_contact import CONES, MODELS, along, scattered, start
from tests.pipeline.both import close, quietly
from tests.sensor.everywhere import same_readings

SHAPES = ("sphere", "capsule", "ellipsoid", "cylinder", "box")


@pytest.mark.parametrize("cone", CONES, ids=["pyramidal", "elliptic"])
@pytest.mark.parametrize("name", ["humanoid", "quadruped", "sensors"])
def test_readings_of_robots_equal_mujocos(name, cone):
    pair = start(name, cone=cone)
    touched = 0.0
    for note in along(pair, steps=400, every=10):
        same_readings(pair.model, pair.ours.sensordata, pair.theirs.sensordata, SENSOR_CONSTRAINT, note, ["e_kinetic"])
        at = pair.model.sensor_adr[pair.model.sensor_type == kt.SensorType.TOUCH]
        touched = max(touched, pair.ours.sensordata[at].max())
    assert touched > 1.0, "nothing was touched"


def everywhere(shape: str, seed: int) -> mujoco.MjModel:
    """The model with contacts, two sites of a shape on each of its bodies, placed at random, each with a sensor."""
    spec, rng = mujoco.MjSpec.from_file(str(MODELS / "contacts.xml")), np.random.default_rng(seed)
    for b, body in enumerate(spec.bodies):
        for k in range(2):
            name = f"{shape} {b} {k}"
            site = body.add_site(name=name, type=getattr(mujoco.mjtGeom, f"mjGEOM_{shape.upper()}"))
            site.size, site.pos, site.quat = rng.uniform(0.03, 0.15, 3), 0.06 * rng.normal(size=3), rng.normal(size=4)
            sensor = {"objtype": mujoco.mjtObj.mjOBJ_SITE, "objname": name, "cutoff": 60.0 if k else 0.0}
            spec.add_sensor(name=name, type=mujoco.mjtSensor.mjSENS_TOUCH, **sensor)
    return spec.compile()


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_equals_mujocos(shape):
    pair = start(everywhere(shape, len(shape)))
    seen = np.zeros(pair.mj.nsensor), np.zeros(pair.mj.nsensor)
    for note in along(pair, steps=120, every=8):
        same_readings(pair.model, pair.ours.sensordata, pair.theirs.sensordata, SENSOR_CONSTRAINT, f"{shape} {note}")
        seen[0][:] += pair.ours.sensordata > 0.0
        seen[1][:] += pair.ours.sensordata == 0.0
    assert (seen[0] > 0).sum() > 5 and (seen[1] > 0).sum() > 5, "sites that are touched and sites that are not"


@pytest.mark.parametrize("first", ["plane", "box"])
def test_a_ball_at_rest_presses_with_its_weight(first):
    """Its zone lies far below: the ray out of the ball along the normal meets it. The floor's zone, far above, reads the same.

    first: the shape of the floor, which decides whether the ball is the contact's second body or its first.
    """
    size, height = ("1 1 .1", 0) if first == "plane" else ("1 1 .5", -0.5)
    floor = f'<geom type="{first}" size="{size}" pos="0 0 {height}"/>'
    text = f"""<mujoco model="ball"><option tolerance="0"/><worldbody>{floor}<site name="above" size=".01" pos="0 0 .5"/>
      <body pos="0 0 .1"><joint type="slide"/><geom size=".1" mass="2"/>
      <site name="below" size=".01" pos="0 0 -.5"/><site name="aside" size=".01" pos=".5 0 .05"/></body></worldbody>
      <sensor><touch site="below"/><touch site="above"/><touch site="aside"/></sensor></mujoco>"""
    model = kt.load(text)
    data = kt.Data(model)
    with quietly():
        kt.step(model, data, 3000)
        kt.forward(model, data)
    close(data.sensordata, [2 * 9.81, 2 * 9.81, 0.0], 1e-6, "weight")


def test_touch_in_a_mesh_is_refused():
    """MuJoCo itself stops when such a sensor meets its first contact."""
    text = """<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset><worldbody>
      <site name="s" type="mesh" mesh="m"/></worldbody><sensor><touch name="soft" site="s"/></sensor></mujoco>"""
    with pytest.raises(kt.UnsupportedFeatureError, match="touch in a mesh.*soft"):
        kt.load(text)


@pytest.mark.parametrize("name", ["humanoid", "quadruped"])
def test_lanes_equal_floats(name):
    pairs = scattered(name)
    model = pairs[0].model
    lanes = lanes_of(model, [pair.ours for pair in pairs])
    lanes.run(pipeline.forward)
    for lane, pair in enumerate(pairs):
        same_readings(model, lanes.sensordata[:, lane], pair.ours.sensordata, SOLVED, f"lane {lane}")


@pytest.mark.criteria("P-LAZY-TOUCH")
def test_sensors_of_contacts_ask_for_no_pass():
    """They read forces of constraints, not those between bodies."""
    model = kt.load("""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body pos="0 0 .09"><freejoint/><geom name="ball" size=".1"/><site name="skin" size=".2"/></body></worldbody>
      <sensor><touch site="skin"/><contact geom1="ball" geom2="floor" data="found force"/></sensor></mujoco>""")
    data = kt.Data(model)
    kt.forward(model, data)
    assert data.sensordata[0] > 0.0
    assert not data.flg_rnepost and data.stage_runs[kt.rne_post_constraint.stage_index] == 0


@pytest.mark.parametrize("below", ["plane", "box", "mesh"])
def test_a_mesh_at_rest_presses_with_its_weight(below):
    """All of its contacts lie in the zone around it."""
    floor = {"plane": 'type="plane" size="1 1 1"', "box": 'type="box" size=".5 .5 .1" pos="0 0 -.1"',
             "mesh": 'type="mesh" mesh="slab" pos="0 0 -.1"'}[below]  # fmt: skip
    corners = " ".join(f"{x} {y} {z}" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1))
    text = f"""<mujoco model="block on {below}"><asset><mesh name="block" vertex="{corners}" scale=".1 .1 .1"/>
      <mesh name="slab" vertex="{corners}" scale=".5 .5 .1"/></asset><worldbody><geom {floor}/>
      <body pos="0 0 .1"><freejoint/><geom type="mesh" mesh="block" mass="2"/>
      <site name="zone" type="box" size=".2 .2 .2"/></body>
      </worldbody><sensor><touch site="zone"/></sensor></mujoco>"""
    model = kt.load(text)
    data = kt.Data(model)
    kt.step(model, data, nstep=1500)
    kt.forward(model, data)
    assert data.ncon == 4
    assert data.sensordata[0] == pytest.approx(2 * 9.81, rel=1e-3)
