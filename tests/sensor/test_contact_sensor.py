"""Contact sensors: every way to match, choose and report contacts, against MuJoCo; delays, lanes, closed forms."""

from __future__ import annotations

import itertools
from typing import Any

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.tolerances import SENSOR_CONSTRAINT, SOLVED
from kinetree.types import ConDataField, SensorType, Stage
from tests.constraint.in_contact import CONES, MODELS, along, forward, scattered, start
from tests.pipeline.both import close, quietly
from tests.sensor.everywhere import readings, same_readings

FIELDS = [field.name.lower() for field in ConDataField]
OF_FORCE = {"force", "torque"}
REDUCTIONS = ("none", "mindist", "maxforce", "netforce")
GEOM, BODY, SUBTREE, SITE = (getattr(mujoco.mjtObj, f"mjOBJ_{n}") for n in ("GEOM", "BODY", "XBODY", "SITE"))
Place = tuple[Any, str]


def add(
    spec: mujoco.MjSpec, reduce: str, fields: list[str], num: int, first: Place | None, second: Place | None
) -> None:
    """A contact sensor, named after what it does."""
    more: dict[str, Any] = {}
    for role, place in (("obj", first), ("ref", second)):
        if place is not None:
            more |= {f"{role}type": place[0], f"{role}name": place[1]}
    bits = sum(1 << FIELDS.index(field) for field in fields)
    words = [reduce, *fields, *(f"{place[0].name[6:]} {place[1]}" for place in (first, second) if place is not None)]
    spec.add_sensor(
        name=f"{' '.join(words)} x{num} #{len(spec.sensors)}", type=mujoco.mjtSensor.mjSENS_CONTACT,
        intprm=[bits, REDUCTIONS.index(reduce), num], **more,
    )  # fmt: skip


def fields_of(reduce: str, rng: np.random.Generator) -> list[str]:
    """Some of what a sensor with that reduction may report, in order."""
    allowed = FIELDS[:-2] if reduce == "netforce" else FIELDS
    chosen = [field for field in allowed if rng.random() < 0.5]
    return chosen or ["found"]


def sensing(seed: int) -> mujoco.MjModel:
    """The model with contacts and sensors for every pair of kinds of place and every reduction."""
    spec, rng = mujoco.MjSpec.from_file(str(MODELS / "contacts.xml")), np.random.default_rng(seed)
    spec.worldbody.add_site(name="left", type=mujoco.mjtGeom.mjGEOM_BOX, size=[1.2, 3, 1], pos=[-1.2, 0, 0])
    spec.worldbody.add_site(name="hand", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.6, 0, 0], pos=[0.3, -1, 0.2])
    geoms = ("ground", "rough", "left_tip", "ball", "belt", "palm", "spinning")
    bodies = ("world", "rough", "finger", "left", "ball", "rider")
    places = {GEOM: geoms, BODY: bodies, SUBTREE: bodies, SITE: ("left", "hand")}

    def one(kind: Any) -> Place | None:
        return None if kind is None else (kind, str(rng.choice(places[kind])))

    for reduce, first, second in itertools.product(REDUCTIONS, (None, *places), (None, GEOM, BODY, SUBTREE)):
        for _ in range(3):
            num = 1 if reduce == "netforce" else int(rng.integers(1, 6))
            add(spec, reduce, fields_of(reduce, rng), num, one(first), one(second))
    for reduce in REDUCTIONS:  # everything at once, and self-contact of a subtree
        full = FIELDS[:-2] if reduce == "netforce" else FIELDS
        for pair in ((None, None), ((SUBTREE, "finger"), (SUBTREE, "finger")), ((BODY, "left"), (BODY, "left"))):
            add(spec, reduce, full, 30, *pair)
    return spec.compile()


@pytest.mark.parametrize("cone", CONES, ids=["pyramidal", "elliptic"])
@pytest.mark.parametrize("seed", range(3))
def test_readings_equal_mujocos(seed, cone):
    pair = start(sensing(seed), seed, cone=cone)
    some = np.zeros(pair.mj.nsensor, bool)
    for note in along(pair, steps=120, every=8):
        same_readings(pair.model, pair.ours.sensordata, pair.theirs.sensordata, SENSOR_CONSTRAINT, note)
        some |= [values.any() for values in readings(pair.model, pair.ours.sensordata).values()]
    assert some.mean() > 0.4, "most sensors never saw a contact"
    assert set(pair.mj.sensor_needstage) == {int(stage) for stage in (Stage.POS, Stage.VEL, Stage.ACC)}


@pytest.mark.parametrize("name", ["humanoid", "quadruped", "sensors"])
def test_readings_on_robots_equal_mujocos(name):
    """Two capsules of the model "sensors" share an end: which of their equal distances is less is a matter of rounding."""
    pair = start(name)
    spec = mujoco.MjSpec.from_file(str(MODELS / f"{name}.xml" if name == "sensors" else kt.models.path(name)))
    for body in [b.name for b in spec.bodies if b.name and b.name != "world"]:
        for reduce in [r for r in REDUCTIONS if r != "mindist" or name != "sensors"]:
            add(spec, reduce, FIELDS[:7], 3, (BODY, body), None)
            add(spec, reduce, FIELDS[:7], 2, None, (SUBTREE, body))
    qpos, pair = pair.theirs.qpos.copy(), start(spec.compile())
    pair.theirs.qpos[:] = qpos
    for note in along(pair, steps=200, every=20):
        same_readings(pair.model, pair.ours.sensordata, pair.theirs.sensordata, SENSOR_CONSTRAINT, note, ["e_kinetic"])


def test_the_stage_follows_from_what_is_reported():
    """Forces are known last, velocities in the middle."""
    mj, model = sensing(0), kt.load(sensing(0))
    for i in range(mj.nsensor):
        bits, reduce, _ = mj.sensor_intprm[i]
        wanted = {FIELDS[k] for k in range(len(FIELDS)) if bits >> k & 1}
        late = wanted & OF_FORCE or REDUCTIONS[reduce] in ("maxforce", "netforce")
        stage = Stage.ACC if late else Stage.VEL if wanted & {"linvel", "angvel"} else Stage.POS
        assert model.sensor_needstage[i] == stage, model.name("sensor", i)


def test_a_ball_at_rest():
    """One contact, whose normal points from the first place to the second; slots that are left are zero."""
    text = """<mujoco model="ball"><option tolerance="0"/><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
      <body name="ball" pos="0 0 .1"><freejoint/><geom name="ball" size=".1" mass="2"/></body></worldbody><sensor>
      <contact name="up" geom1="floor" geom2="ball" num="2" data="found force pos normal"/>
      <contact name="down" geom1="ball" data="force normal"/><contact name="none" geom1="ball" geom2="ball" data="found"/>
      <contact name="net" body1="ball" reduce="netforce" data="found force torque pos normal tangent"/></sensor></mujoco>"""
    model = kt.load(text)
    data = kt.Data(model)
    with quietly():
        kt.step(model, data, 3000)
        kt.forward(model, data)
    weight, depth = 2 * 9.81, float(data.contact.dist[0])
    values = readings(model, data.sensordata)
    close(values["up"], [1, weight, 0, 0, 0, 0, depth / 2, 0, 0, 1, *[0] * 10], 1e-6, "up")
    close(values["down"], [weight, 0, 0, 0, 0, -1], 1e-6, "down")
    close(values["none"], [0], 0.0, "none")
    close(values["net"], [1, 0, 0, -weight, 0, 0, 0, 0, 0, depth / 2, 1, 0, 0, 0, 1, 0], 1e-6, "net")


def test_delays_and_intervals_equal_mujocos():
    """Contact and touch sensors with a history, computed when it moves on."""
    text = """<mujoco model="drop"><worldbody><geom type="plane" size="1 1 .1"/><body name="b" pos="0 0 .12"><freejoint/>
      <geom size=".1"/><site name="s" size=".12"/></body></worldbody><sensor>
      <contact body1="b" data="found force dist" nsample="4" delay="0.005" interp="linear"/>
      <contact body1="b" data="dist linvel" nsample="3" interval="0.01"/>
      <touch site="s" nsample="5" delay="0.007"/><touch site="s" nsample="2" interval="0.006"/></sensor></mujoco>"""
    pair = start(text)
    pair.ours.qvel[:], pair.ours.qfrc_applied[:] = pair.theirs.qvel, pair.theirs.qfrc_applied
    pair.ours.xfrc_applied[:] = pair.theirs.xfrc_applied
    for k in range(120):
        with quietly():
            kt.step(pair.model, pair.ours)
        mujoco.mj_step(pair.mj, pair.theirs)
        close(pair.ours.sensordata, pair.theirs.sensordata, SENSOR_CONSTRAINT, f"step {k}")
    assert pair.ours.sensordata.all()


def test_lanes_equal_floats():
    """Eight worlds with different contacts, each with its own choice among them."""
    pairs = scattered(sensing(1))
    model = pairs[0].model
    assert len({pair.ours.ncon for pair in pairs}) > 1
    lanes = lanes_of(model, [pair.ours for pair in pairs])
    lanes.run(pipeline.forward)
    for lane, pair in enumerate(pairs):
        forward(pair)
        same_readings(model, lanes.sensordata[:, lane], pair.ours.sensordata, SOLVED, f"lane {lane}")


def test_sensors_of_contacts_are_never_cut_off():
    mj = sensing(2)
    mj.sensor_cutoff[:] = 0.01
    pair = start(mj)
    for note in along(pair, steps=20, every=10):
        same_readings(pair.model, pair.ours.sensordata, pair.theirs.sensordata, SENSOR_CONSTRAINT, note)
    assert np.abs(pair.ours.sensordata).max() > 1.0
    assert set(pair.model.sensor_type) == {int(SensorType.CONTACT)}
