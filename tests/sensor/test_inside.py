"""Which points lie in the volume of a site: every shape against MuJoCo and closed forms, for every kind of object."""

from __future__ import annotations

import functools

import mujoco
import numpy as np
import pytest
from scipy.spatial import ConvexHull

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.sensor.inside import VOLUMES
from kinetree.types import GeomType, SensorType
from tests.pipeline.both import both, quietly

POINTS = 60
CORNERS = np.array([[0, 0, 0], [0.9, 0, 0.1], [0, 0.8, 0], [0.1, 0, 0.7], [0.6, 0.5, 0.4], [0.2, 0.2, 0.1]])
SHAPES = {  # shape -> sizes, and whether a point in the site's frame lies inside
    "sphere": ("0.6 0 0", lambda p: np.linalg.norm(p) < 0.6),
    "capsule": ("0.4 0.5 0", lambda p: np.linalg.norm(p - [0, 0, np.clip(p[2], -0.5, 0.5)]) < 0.4),
    "ellipsoid": ("0.4 0.6 0.8", lambda p: np.linalg.norm(p / [0.4, 0.6, 0.8]) < 1.0),
    "cylinder": ("0.5 0.4 0", lambda p: abs(p[2]) < 0.4 and np.hypot(p[0], p[1]) < 0.5),
    "box": ("0.3 0.4 0.6", lambda p: (np.abs(p) < [0.3, 0.4, 0.6]).all()),
    "mesh": ("", lambda p: (hull()[:, :3] @ p + hull()[:, 3] <= 0.0).all()),
    "plane": ("1 1 1", lambda p: p[2] < 0.0),
}
MODEL = """<mujoco model="volumes"><compiler angle="radian"/>
  <asset><mesh name="gem" vertex="{corners}"/></asset>
  <worldbody>
  <body name="carrier" pos=".1 .2 .3" euler=".1 .2 .3"><joint type="ball" pos=".1 0 0"/><geom size=".05"/>{sites}</body>
  {points}</worldbody><sensor>{sensors}</sensor></mujoco>"""


@functools.cache
def hull():
    """Faces of the mesh's convex hull: normals and offsets."""
    return ConvexHull(CORNERS).equations


@functools.cache
def volumes() -> mujoco.MjModel:
    """Sites of all shapes on a turning body, and points that are moved by hand. MuJoCo's compiler takes no plane as a site."""
    sites = "".join(
        f'<site name="{shape}" type="{"box" if shape == "plane" else shape}" pos=".1 -.1 .2" euler=".5 -.3 .2" '
        + (f'size="{size}"/>' if size else 'mesh="gem"/>')
        for shape, (size, _) in SHAPES.items()
    )
    points = "".join(
        f'<body name="p{k}" mocap="true"><site name="p{k}" pos=".05 0 .02"/></body>' for k in range(POINTS)
    )
    sensors = "".join(
        f'<insidesite name="{kind} {k} {shape}" objtype="{kind}" objname="p{k}" site="{shape}"/>'
        for shape in SHAPES
        for k in range(POINTS)
        for kind in ("xbody", "site")
    )
    corners = " ".join(str(x) for x in CORNERS.ravel())
    mj = mujoco.MjModel.from_xml_string(MODEL.format(corners=corners, sites=sites, points=points, sensors=sensors))
    mj.site_type[mujoco.mj_name2id(mj, mujoco.mjtObj.mjOBJ_SITE, "plane")] = GeomType.PLANE
    return mj


def scattered(seed):
    """Both sides after `forward`, with the points scattered about the volumes."""
    pair = both(volumes(), seed)
    rng = np.random.default_rng(seed)
    mujoco.mj_kinematics(pair.mj, pair.theirs)
    centre = pair.theirs.site_xpos[0]
    where = centre + rng.uniform(-0.9, 0.9, size=(POINTS, 3))
    pair.state_from(lambda data: data.mocap_pos.__setitem__(slice(None), where))
    with quietly():
        kt.forward(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)
    return pair


def test_every_shape_that_a_site_can_have_is_tried():
    assert {GeomType[shape.upper()] for shape in SHAPES} == set(VOLUMES)


@pytest.mark.parametrize("seed", range(5))
def test_points_equal_mujocos_and_closed_forms(seed):
    pair = scattered(seed)
    model, data = pair.model, pair.ours
    counts = dict.fromkeys(SHAPES, 0)
    for i in range(model.nsensor):
        kind, k, shape = model.name("sensor", i).split()
        point = data.body(f"p{k}").xpos if kind == "xbody" else data.site(f"p{k}").xpos
        site = model.id("site", shape)
        local = data.site_xmat[site].reshape(3, 3).T @ (point - data.site_xpos[site])
        got, what = data.sensordata[i], f"seed {seed}: {kind} p{k} at {local} in the {shape}"
        assert got == pair.theirs.sensordata[i], f"{what}: {got} against {pair.theirs.sensordata[i]}"
        assert got == mujoco.mj_insideSite(pair.mj, pair.theirs, site, np.array(point)), what
        assert got == SHAPES[shape][1](local), f"{what}: {got} against the closed form"
        counts[shape] += int(got)
    assert all(0 < count < 2 * POINTS for count in counts.values()), counts


BOUNDARY = [(0.5, 0, 0), (0, 0.5, 0), (0, 0, 0.5), (-0.5, 0, 0), (0, 0, -0.5), (0, 0, 1.0), (0.5, 0.5, 0.5), (0, 0, 0)]


@pytest.mark.parametrize("shape", ["sphere", "capsule", "ellipsoid", "cylinder", "box"])
@pytest.mark.parametrize("point", BOUNDARY, ids=str)
@pytest.mark.parametrize("step", [-1, 0, 1])
def test_points_on_the_surface_equal_mujocos(shape, point, step):
    """On it is outside; also one representable number further in or out."""
    text = f"""<mujoco><worldbody><site name="zone" type="{shape}" size=".5 .5 .5"/><body name="p" mocap="true"/></worldbody>
      <sensor><insidesite objtype="xbody" objname="p" site="zone"/></sensor></mujoco>"""
    pair = both(text, None)
    at = np.array(point, float)
    at = np.nextafter(at, at + step * np.sign(at))
    pair.state_from(lambda data: data.mocap_pos.__setitem__(0, at))
    kt.forward(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)
    assert pair.ours.sensordata[0] == pair.theirs.sensordata[0], f"{shape} at {at}"


CARRIED = """<mujoco model="carried"><worldbody><site name="zone" type="sphere" size=".1" pos="{zone}"/>
  <body name="frame" pos="0 0 1"><joint axis="0 1 0"/>
    <body name="weight" pos=".5 0 0"><inertial pos=".1 0 0" mass="2" diaginertia="1 1 1"/></body>
    <body name="empty" pos="-.5 0 0"><site name="tip" pos="0 .5 0"/></body></body></worldbody>
  <sensor>{sensors}</sensor></mujoco>"""
ZONES = {
    "frame": "0 0 1",
    "centre": ".6 0 1",
    "empty": "-.5 0 1",
    "its centre": "-1 0 1",
    "tip": "-.5 .5 1",
    "world": "0 0 0",
}


@pytest.mark.parametrize("zone", ZONES)
def test_a_massless_body_is_where_the_centre_of_what_it_carries_is(zone):
    """Only as a body, and if it carries something; MuJoCo's compiler puts the centre of an empty one at twice its place."""
    wanted = {
        "frame": {"xbody frame"},
        "centre": {"body frame", "body weight"},
        "empty": {"xbody empty"},
        "its centre": {"body empty"},
        "tip": {"site tip"},
        "world": {"body world", "xbody world"},
    }
    objects = sorted(name for names in wanted.values() for name in names)
    sensors = "".join(
        f'<insidesite name="{name}" objtype="{name.split()[0]}" objname="{name.split()[1]}" site="zone"/>'
        for name in objects
    )
    pair = both(CARRIED.format(zone=ZONES[zone], sensors=sensors), None)
    kt.forward(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)
    inside = {name for name in objects if pair.ours.sensor(name).data[0]}
    assert inside == wanted[zone]
    np.testing.assert_array_equal(pair.ours.sensordata, pair.theirs.sensordata)


def test_a_site_without_volume_holds_nothing():
    """Shapes that MuJoCo's function does not know, as a height field."""
    mj = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><site name="zone" size=".5"/><body name="p" mocap="true"/></worldbody>
        <sensor><insidesite objtype="xbody" objname="p" site="zone"/></sensor></mujoco>"""
    )
    mj.site_type[0] = GeomType.HFIELD
    pair = both(mj, None)
    kt.forward(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)
    assert pair.ours.sensordata[0] == pair.theirs.sensordata[0] == 0.0


def test_lanes_equal_floats():
    pairs = [scattered(seed) for seed in range(8)]
    model = pairs[0].model
    datas = [kt.Data(model) for _ in pairs]
    for pair, data in zip(pairs, datas, strict=True):
        data.set_state(pair.ours.get_state(kt.State.INTEGRATION), kt.State.INTEGRATION)
    lanes = lanes_of(model, datas)
    lanes.run(pipeline.forward)
    for lane, pair in enumerate(pairs):
        np.testing.assert_array_equal(lanes.sensordata[:, lane], pair.ours.sensordata, err_msg=f"lane {lane}")


def test_readings_are_positive_numbers_for_noise_and_cutoff():
    model = kt.load(volumes())
    kinds = model.sensor_datatype[model.sensor_type == SensorType.INSIDESITE]
    assert set(kinds) == {int(kt.types.DataType.POSITIVE)}
