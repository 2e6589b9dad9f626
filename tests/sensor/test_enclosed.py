"""How far objects stick out of sites: every pair of shapes against MuJoCo, and against a search over directions."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.states import random_quaternion
from kinetree.conformance.tolerances import SENSOR
from tests.geometry.scenes import vertices
from tests.pipeline.both import both, quietly

SIZES = {
    "sphere": ".3 0 0",
    "capsule": ".2 .3 0",
    "ellipsoid": ".2 .3 .4",
    "cylinder": ".2 .3 0",
    "box": ".2 .3 .25",
    "mesh": "",
}
PAIRS = [(shape, zone) for shape in SIZES for zone in SIZES]
POSES = 8
POSED = (
    "geom_xpos",
    "geom_xmat",
    "site_xpos",
    "site_xmat",
    "site_xquat",
)  # along edges of boxes the last digit decides


def shaped(kind: str, name: str) -> str:
    return f'name="{name}" type="{kind}" ' + (f'size="{SIZES[kind]}"' if SIZES[kind] else 'mesh="stone"')


def scene(corners: int = 15) -> mujoco.MjModel:
    """Sites of every shape on a carrier that turns, and geoms and sites of every shape, moved by hand, in all of them."""
    zones = "".join(f'<site {shaped(zone, f"in {zone}")} pos=".1 0 .2" euler="20 30 40"/>' for zone in SIZES)
    moved = "".join(
        f"""<body name="{shape}" mocap="true"><geom {shaped(shape, shape)} pos=".02 .03 0" contype="0" conaffinity="0"/>
        <site {shaped(shape, f"site {shape}")} pos="0 .1 0" euler="10 0 5"/></body>"""
        for shape in SIZES
    )
    sensors = "".join(
        f'<insidesite name="{kind} {shape} {zone}" objtype="{kind}" objname="{"site " * (kind == "site")}{shape}" '
        f'site="in {zone}" enclosed="true"/>'
        for shape, zone in PAIRS
        for kind in ("geom", "site")
    )
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco model="enclosures"><asset><mesh name="stone" scale=".4 .5 .3" vertex="{vertices(corners)}"/></asset>
        <worldbody><body pos=".1 .2 .3" euler="10 20 30"><joint type="ball" pos=".1 0 0"/><geom size=".05"/>{zones}</body>
        {moved}
        </worldbody><sensor>{sensors}</sensor></mujoco>"""
    )


def scattered(mj: mujoco.MjModel, seed: int):
    """Both sides, objects in random poses: near the middle or far away, zones as they are or three times as large."""
    rng = np.random.default_rng(seed)
    mj.site_size[[mj.site(f"in {zone}").id for zone in SIZES]] *= (1.0, 3.0)[seed % 2]
    pair = both(mj, seed)
    spots, turns = (
        (0.1 + 0.5 * (seed % 3)) * rng.normal(size=(mj.nmocap, 3)) + [0.2, 0.2, 0.5],
        [random_quaternion(rng) for _ in SIZES],
    )
    for name, values in (("mocap_pos", spots), ("mocap_quat", turns)):
        pair.state_from(lambda data, name=name, values=values: getattr(data, name).__setitem__(slice(None), values))
    with quietly():
        kt.forward(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)
    for name in POSED:
        getattr(pair.ours, name)[:] = getattr(pair.theirs, name)
    kt.sensor_pos(pair.model, pair.ours)
    return pair


@pytest.mark.parametrize("corners", [8, 30])  # vertices of meshes that are all tried, and among which the search climbs
@pytest.mark.parametrize("seed", range(POSES))
def test_all_pairs_of_shapes_are_mujocos(seed, corners):
    pair = scattered(scene(corners), seed)
    error = np.abs(pair.ours.sensordata - pair.theirs.sensordata)
    worst = int(error.argmax())
    assert error[worst] <= SENSOR, (
        f"seed {seed}, {corners} corners: {pair.model.name('sensor', worst)}: {pair.ours.sensordata[worst]} against "
        f"{pair.theirs.sensordata[worst]}"
    )


def test_poses_are_inside_and_outside():
    """And in between, for what the other tests see is not one case alone."""
    out = np.concatenate([scattered(scene(), seed).theirs.sensordata > 0 for seed in range(POSES)])
    assert 0.1 < (~out).mean() < 0.9


def extent(model, data, kind, name, directions):
    """How far a sphere, box or ellipsoid reaches along directions."""
    at = model.id(kind, name)
    pose, size = getattr(data, f"{kind}_xpos")[at], getattr(model, f"{kind}_size")[at]
    local = directions @ getattr(data, f"{kind}_xmat")[at].reshape(3, 3)
    shape = kt.GeomType(int(getattr(model, f"{kind}_type")[at]))
    reach = {
        kt.GeomType.SPHERE: lambda: np.full(len(local), size[0]),
        kt.GeomType.BOX: lambda: np.abs(local) @ size,
        kt.GeomType.ELLIPSOID: lambda: np.linalg.norm(local * size, axis=1),
    }[shape]()
    return reach + directions @ pose


@pytest.mark.parametrize("seed", range(POSES))
def test_answers_are_the_largest_difference_of_extents(seed):
    """Not less than that of any of many directions, and not much more; of shapes that do not mislead the search."""
    pair = scattered(scene(), seed)
    model, data = pair.model, pair.ours
    directions = np.random.default_rng(seed).normal(size=(40000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    for shape in ("sphere", "ellipsoid", "box"):
        for zone in ("sphere", "ellipsoid", "box"):
            most = (
                extent(model, data, "geom", shape, directions) - extent(model, data, "site", f"in {zone}", directions)
            ).max()
            got = data.sensor(f"geom {shape} {zone}").data[0]
            assert most <= got + 1e-6 and got - most < 0.02, f"seed {seed}: {shape} in {zone}: {got} against {most}"


TREE = """<mujoco model="hand in a box"><asset><mesh name="stone" scale=".1 .1 .1" vertex="{corners}"/></asset><worldbody>
  <site name="zone" type="box" size=".5 .4 .3" pos=".1 0 .3" euler="0 10 20"/><site name="ball" size=".1"/>
  <geom name="lone" size=".05" pos="2 0 0"/>
  <body name="arm" pos="0 0 .3" euler="10 0 20"><joint axis=".1 1 0"/><geom type="capsule" size=".05 .1" pos=".1 0 0"/>
    <geom type="mesh" mesh="stone" pos=".3 0 .1"/>
    <body name="hand" pos=".2 .1 .1"><joint type="ball"/><geom type="cylinder" size=".05 .1" pos="0 .1 0"/>
      <body name="tip" pos=".2 .1 0"><joint axis="1 0 .3"/><geom type="ellipsoid" size=".05 .1 .07"/></body></body>
    <body name="thumb" pos=".1 -.2 0"><joint axis="0 .3 1"/><geom type="box" size=".05 .1 .07"/></body></body></worldbody>
  <sensor>{sensors}</sensor></mujoco>"""


def test_bodies_are_as_far_out_as_their_farthest_geom():
    """A body stands for its own geoms, an xbody for those of all that it carries; cutoff and delay as for other sensors."""
    tags = "".join(
        f'<insidesite name="{kind} {body}" objtype="{kind}" objname="{body}" site="{site}" enclosed="true" {more}/>'
        for kind, body, site, more in (
            ("body", "arm", "zone", ""), ("xbody", "arm", "zone", ""), ("xbody", "hand", "zone", ""),
            ("body", "tip", "zone", ""), ("body", "world", "zone", ""), ("xbody", "world", "zone", ""),
            ("xbody", "thumb", "zone", 'cutoff=".1"'), ("body", "thumb", "zone", 'nsample="4" delay=".005" interp="linear"'),
            ("site", "ball", "zone", 'nsample="2" interval=".006"'),
        )
    )  # fmt: skip
    mj = mujoco.MjModel.from_xml_string(TREE.format(corners=vertices(15), sensors=tags))
    pair = both(mj, 3)
    for k in range(20):
        kt.step(pair.model, pair.ours)
        mujoco.mj_step(pair.mj, pair.theirs)
        np.testing.assert_allclose(pair.ours.sensordata, pair.theirs.sensordata, atol=1e-7, err_msg=f"step {k}")
    kt.forward(pair.model, pair.ours)
    world, own = pair.ours.sensor("xbody world").data, pair.ours.sensor("body world").data
    assert world >= own and own > 1.0 and pair.ours.sensor("xbody arm").data >= pair.ours.sensor("body arm").data


@pytest.mark.parametrize("iterations, tolerance", [(1, 1e-6), (5, 1e-6), (50, 1e-2), (200, 1e-12), (0, 1e-6)])
def test_the_search_ends_where_mujocos_ends(iterations, tolerance):
    mj = scene()
    mj.opt.ccd_iterations, mj.opt.ccd_tolerance = iterations, tolerance
    pair = scattered(mj, 5)
    np.testing.assert_allclose(pair.ours.sensordata, pair.theirs.sensordata, rtol=SENSOR, atol=SENSOR)


def test_lanes_equal_floats():
    """Worlds whose objects are elsewhere."""
    mj = scene()
    pairs = [scattered(mj, 2 * seed) for seed in range(8)]
    model = pairs[0].model
    for pair in pairs:
        kt.forward(model, pair.ours)  # at poses of ours
    lanes = lanes_of(model, [pair.ours for pair in pairs])
    lanes.run(pipeline.forward)
    for lane, pair in enumerate(pairs):
        error = np.abs(lanes.sensordata[:, lane] - pair.ours.sensordata).max()
        assert error <= 1e-12, f"world {lane}: {error}"


WRONG = {
    "camera": ("sensor_objtype", kt.ObjType.CAMERA, "camera"),
    "empty": ("sensor_objid", 2, "no geom"),
    "plane": ("sensor_objid", 0, "PLANE"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_enclosed_is_refused(case):
    """Models edited after MuJoCo's compiler had checked them."""
    mj = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><geom type="plane" size="1 1 1"/><camera/><site name="zone" size="1"/><body name="a"><freejoint/>
        <geom size=".1"/></body><body name="b"><camera/></body></worldbody>
        <sensor><insidesite objtype="body" objname="a" site="zone" enclosed="true"/></sensor></mujoco>"""
    )
    field, value, words = WRONG[case]
    kt.load(mj)
    getattr(mj, field)[0] = value
    with pytest.raises(kt.ModelError, match=words):
        kt.load(mj)
    mj.site_type[0] = kt.GeomType.PLANE
    with pytest.raises(kt.ModelError):
        kt.load(mj)
