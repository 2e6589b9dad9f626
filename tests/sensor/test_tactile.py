"""Tactile sensors against MuJoCo: every shape that presses on the taxels, several at once, meshes of both kinds, lanes."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.states import random_quaternion
from kinetree.conformance.tolerances import MACHINES_SOLVED, SENSOR
from kinetree.sensor.tactile import SURFACES
from tests.geometry.scenes import SIZES, geom, vertices

PADS = {
    "plate": 'builtin="plate" params="5 4" scale=".1 .1 .02"',
    "wedge": 'builtin="wedge" params="4 4 45 45 0" scale=".2 .2 .2"',
    "stone": f'vertex="{vertices(15)}"',
}
SHAPES = ("sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")


def scene(pad: str, shapes: tuple[str, ...], more: str = "") -> mujoco.MjModel:
    """A pad on a welded child of a free body, both with a colliding box, a plane, and free geoms of some shapes."""
    free = "".join(f"<body><freejoint/>{geom(kind, f'{kind} {k}', SIZES)}</body>" for k, kind in enumerate(shapes))
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco model="{pad} {" ".join(shapes)}"><asset><mesh name="pad" {PADS[pad]}/>
        <mesh name="shape" vertex="{vertices(20)}"/></asset><worldbody><geom name="floor" type="plane" size="1 1 1"/>
        <body name="hand"><freejoint/><geom name="core" type="box" size=".1 .1 .05"/>
          <body name="skin" pos=".02 0 .03" euler="10 20 30"><geom type="box" size=".02 .02 .02"/>
            <geom name="pad" type="mesh" mesh="pad" contype="0" conaffinity="0" mass="0" euler="5 0 40"/></body></body>
        {free}</worldbody><sensor><tactile name="felt" geom="pad" mesh="pad" {more}/></sensor></mujoco>"""
    )


def gathered(mj: mujoco.MjModel, model: kt.Model, rng: np.random.Generator) -> tuple[mujoco.MjData, kt.Data]:
    """Both sides in a heap that moves."""
    theirs, ours = mujoco.MjData(mj), kt.Data(model)
    for at in range(0, mj.nq, 7):
        theirs.qpos[at : at + 7] = np.concatenate((rng.uniform(-0.12, 0.12, 3) + [0, 0, 0.1], random_quaternion(rng)))
    theirs.qvel[:] = rng.normal(size=mj.nv)
    ours.qpos, ours.qvel = theirs.qpos, theirs.qvel
    return theirs, ours


def test_every_shape_has_a_surface():
    assert {kt.GeomType[kind.upper()] for kind in (*SHAPES, "plane")} == set(SURFACES)


@pytest.mark.parametrize("shapes", [*((kind,) for kind in SHAPES), SHAPES], ids=" ".join)
@pytest.mark.parametrize("pad", PADS)
def test_depths_and_speeds_are_mujocos(pad, shapes):
    mj = scene(pad, shapes)
    model, rng = kt.load(mj), np.random.default_rng(len(pad))
    pressed = slid = 0
    for k in range(30):
        theirs, ours = gathered(mj, model, rng)
        mujoco.mj_forward(mj, theirs)
        kt.forward(model, ours)
        error = np.abs(ours.sensordata - theirs.sensordata)
        assert error.max() <= SENSOR, f"{pad}, {shapes}, pose {k}: taxel {error.argmax()}"
        depths, *speeds = theirs.sensordata.reshape(3, -1)
        pressed, slid = pressed + (depths > 0).any(), slid + np.any(speeds)
    assert pressed > 5 and (slid > 5) == (pad != "stone"), f"{pad}, {shapes}: {pressed} of 30 pressed, {slid} slide"


def test_cutoff_and_delay():
    mj = scene("plate", ("sphere",), 'cutoff=".02" delay=".004" nsample="4"')
    model = kt.load(mj)
    theirs, ours = gathered(mj, model, np.random.default_rng(4))
    theirs.qpos[:] = ours.qpos = [0, 0, 0.3, 1, 0, 0, 0, 0.02, 0, 0.4, 1, 0, 0, 0]  # deep in the ball
    most = 0.0
    for k in range(10):
        mujoco.mj_step(mj, theirs)
        kt.step(model, ours)
        np.testing.assert_allclose(ours.sensordata, theirs.sensordata, atol=1e-6, err_msg=f"step {k}")
        most = max(most, theirs.sensordata.max())
    assert most == pytest.approx(0.02)


def test_lanes_equal_floats():
    """Worlds that touch different things."""
    mj = scene("plate", SHAPES)
    model, rng = kt.load(mj), np.random.default_rng(7)
    worlds = [gathered(mj, model, rng)[1] for _ in range(8)]
    lanes = lanes_of(model, worlds)
    lanes.run(pipeline.forward)
    for lane, data in enumerate(worlds):
        kt.forward(model, data)
        error = np.abs(lanes.sensordata[:, lane] - data.sensordata).max()
        assert error <= MACHINES_SOLVED["float64"], f"world {lane}: {error}"


def with_distances(corners: int, scale: str) -> mujoco.MjModel:
    """A pad among two stones, of which one carries signed distances."""
    spec = mujoco.MjSpec.from_string(
        f"""<mujoco model="stones"><asset><mesh name="pad" {PADS["plate"]}/>
        <mesh name="felt" vertex="{vertices(corners)}" scale="{scale}"/><mesh name="numb" vertex="{vertices(12)}"/></asset>
        <worldbody>
        <body><freejoint/><geom type="box" size=".1 .1 .05"/>
          <geom name="pad" type="mesh" mesh="pad" contype="0" conaffinity="0" mass="0" pos="0 0 .04" euler="5 0 40"/></body>
        <body><freejoint/><geom type="mesh" mesh="felt"/></body><body><freejoint/><geom type="mesh" mesh="numb"/></body>
        </worldbody>        <sensor><tactile name="felt" geom="pad" mesh="pad"/></sensor></mujoco>"""
    )
    spec.mesh("felt").needsdf = 1
    return spec.compile()


@pytest.mark.parametrize("corners, scale", [(12, "1 1 1"), (30, ".5 .4 .6"), (8, "1 .5 .8")])
def test_meshes_with_signed_distances_are_felt(corners, scale):
    mj = with_distances(corners, scale)
    assert mj.noct > 1000 and (mj.mesh_octadr >= 0).sum() == 1
    model, rng = kt.load(mj), np.random.default_rng(corners)
    pressed = 0
    for k in range(40):
        theirs, ours = gathered(mj, model, rng)
        mujoco.mj_forward(mj, theirs)
        kt.forward(model, ours)
        error = np.abs(ours.sensordata - theirs.sensordata)
        assert error.max() <= SENSOR, f"{corners} corners, pose {k}: taxel {error.argmax()}"
        pressed += (theirs.sensordata[: len(theirs.sensordata) // 3] > 0).any()
    assert pressed >= 5


def test_broken_octrees_are_refused():
    """Walks from the root must end in a leaf."""
    for field, at, value in (("oct_child", (0, 3), 0), ("oct_child", (0, 3), -1), ("oct_child", (1, 0), 10**6),
                             ("oct_aabb", (5, 4), 0.0)):  # fmt: skip
        mj = with_distances(8, ".2 .2 .2")
        getattr(mj, field)[at] = value
        with pytest.raises(kt.ModelError, match=field):
            kt.load(mj)
