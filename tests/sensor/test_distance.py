"""Sensors distance, normal and fromto against MuJoCo: every pair of shapes, bodies of several geoms, cutoffs, lanes, delays."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.tolerances import CONTACT_CONVEX, CONVEX_POINTS, MACHINES_SOLVED, SENSOR
from kinetree.geometry.convex import convex
from kinetree.geometry.driver import PAIRS
from kinetree.types import GeomType
from tests.geometry.scenes import CONVEX_NORMAL, SIZES, random_pose, vertices

SHAPES = ("plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")
CUTOFFS = ("0", "0.05", "5")
TYPES = ("distance", "normal", "fromto")
POSES = 40
EXACT = ("plane", "sphere", "capsule", "box", "mesh")
CURVED = {  # of shapes whose distance is found by iteration
    mujoco.mjtSensor.mjSENS_GEOMDIST: CONTACT_CONVEX,
    mujoco.mjtSensor.mjSENS_GEOMNORMAL: CONVEX_NORMAL,
    mujoco.mjtSensor.mjSENS_GEOMFROMTO: CONVEX_POINTS,
}


def shape(kind: str, name: str, more: str = "") -> str:
    """A geom that collides with nothing."""
    form = 'mesh="stone"' if kind == "mesh" else f'size="{SIZES[kind]}"'
    return f'<geom name="{name}" type="{kind}" {form} contype="0" conaffinity="0" {more}/>'


def scene(first: str, second: str, sensors: str, option: str = "") -> mujoco.MjModel:
    """Two free bodies: one has a geom of the first kind, the other one of the second and a small sphere aside of it."""
    one = shape(first, "a") if first == "plane" else f'<body name="one"><freejoint/>{shape(first, "a")}</body>'
    other = shape(second, "b") + shape("sphere", "c", 'pos=".3 0 0"')
    return mujoco.MjModel.from_xml_string(
        f'<mujoco model="{first} {second}">{option}<asset><mesh name="stone" vertex="{vertices(20)}"/></asset><worldbody>{one}'
        f'<body name="two"><freejoint/>{other}</body></worldbody><sensor>{sensors}</sensor></mujoco>'
    )


def all_sensors() -> str:
    """Every type with every cutoff, of two geoms in both orders, and of a geom and a body."""
    ends = 'geom1="a" geom2="b"', 'geom1="b" geom2="a"', 'geom1="a" body2="two"', 'body1="two" geom2="a"'
    return "".join(f'<{kind} {pair} cutoff="{cutoff}"/>' for kind in TYPES for cutoff in CUTOFFS for pair in ends)


def placed(mj: mujoco.MjModel, model: kt.Model, rng: np.random.Generator) -> tuple[mujoco.MjData, kt.Data]:
    """Both sides in a random pose, not yet read."""
    theirs, ours = mujoco.MjData(mj), kt.Data(model)
    theirs.qpos[:] = np.concatenate([random_pose(rng, "any") for _ in range(mj.nq // 7)])
    if mj.nq == 7:
        theirs.qpos[2] += rng.uniform(0, 0.4)  # over the plane
    ours.qpos = theirs.qpos
    return theirs, ours


@pytest.mark.criteria("P-SENS-DISTANCE")
@pytest.mark.parametrize("second", SHAPES[1:])
@pytest.mark.parametrize("first", SHAPES)
def test_every_pair_of_shapes(first, second):
    mj = scene(first, second, all_sensors())
    model, rng = kt.load(mj), np.random.default_rng(len(first) + 10 * len(second))
    kinds = sorted((GeomType[first.upper()], GeomType[second.upper()]))
    curved = PAIRS[kinds[0], kinds[1]] is convex and not {first, second} <= set(EXACT)
    far = near = 0
    for k in range(POSES):
        theirs, ours = placed(mj, model, rng)
        mujoco.mj_forward(mj, theirs)
        kt.forward(model, ours)
        for i in range(mj.nsensor):
            at, end = mj.sensor_adr[i], mj.sensor_adr[i] + mj.sensor_dim[i]
            got, wanted = ours.sensordata[at:end], theirs.sensordata[at:end]
            error = np.abs(got - wanted).max()
            limit = CURVED[mujoco.mjtSensor(mj.sensor_type[i])] if curved else SENSOR
            assert error <= limit, f"{first} {second}, pose {k}, sensor {i}: {got} against {wanted}"
        far += theirs.sensordata[0] == 0.0
        near += theirs.sensordata[0] < 0.0
    assert far > 2 and near > 2, f"{first} {second}: {far} apart, {near} overlap"


def test_cutoffs():
    """The distance is the cutoff where nothing is nearer, and never below its negative; other readings are zero then."""
    sensors = "".join(f'<{kind} geom1="a" geom2="b" cutoff="0.05"/>' for kind in TYPES)
    mj = scene("sphere", "sphere", sensors)
    model = kt.load(mj)
    wanted = {0.6: (0.05, 0), 0.25: (0.03, 1), 0.2: (-0.02, -1), 0.1: (-0.05, -1)}  # two radii are 0.22
    for x, (dist, normal) in wanted.items():
        data = kt.Data(model)
        data.qpos = [0, 0, 0, 1, 0, 0, 0, x, 0, 0, 1, 0, 0, 0]
        kt.forward(model, data)
        ends = [0.11, 0, 0, x - 0.11, 0, 0] if normal else [0] * 6
        np.testing.assert_allclose(data.sensordata, [dist, normal, 0, 0, *ends], atol=1e-15, err_msg=f"{x} m apart")


@pytest.mark.parametrize("pair", ["plane mesh", "sphere box", "capsule box", "ellipsoid mesh", "box box", "mesh mesh"])
def test_lanes_equal_floats(pair):
    """Eight worlds in different poses, some of them apart."""
    mj = scene(*pair.split(), all_sensors())
    model, rng = kt.load(mj), np.random.default_rng(5)
    worlds = [placed(mj, model, rng)[1] for _ in range(8)]
    lanes = lanes_of(model, worlds)
    lanes.run(pipeline.forward)
    for lane, data in enumerate(worlds):
        kt.forward(model, data)
        error = np.abs(lanes.sensordata[:, lane] - data.sensordata).max()
        assert error <= MACHINES_SOLVED["float64"], f"{pair}, world {lane}: {error}"
    assert len({float(data.sensordata[0]) for data in worlds}) > 2


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit"])
@pytest.mark.parametrize("flag", ["enable", "disable"])
def test_delayed_distances_need_no_room_while_the_state_moves(integrator, flag):
    """A first step makes room for the polytopes of convex shapes before anything moves: then it equals MuJoCo's."""
    sensors = '<fromto geom1="a" geom2="b" cutoff="3" delay="0.004" nsample="3"/>'
    sensors += '<distance geom1="a" body2="two" cutoff="3" interval="0.005" nsample="2"/>'
    option = f'<option integrator="{integrator}"><flag sensor="{flag}"/></option>'
    mj = scene("mesh", "box", sensors, option)
    model = kt.load(mj)
    theirs, ours = placed(mj, model, np.random.default_rng(1))
    theirs.qvel[:] = ours.qvel = np.random.default_rng(2).normal(size=12)
    for k in range(12):
        mujoco.mj_step(mj, theirs)
        kt.step(model, ours)
        assert ours.time == theirs.time, f"step {k}"
        np.testing.assert_allclose(ours.qpos, theirs.qpos, atol=1e-12, err_msg=f"step {k}")
        np.testing.assert_allclose(ours.sensordata, theirs.sensordata, atol=1e-9, err_msg=f"step {k}")
        np.testing.assert_allclose(ours.history, theirs.history, atol=1e-9, err_msg=f"step {k}")
