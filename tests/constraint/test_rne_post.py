"""Forces on and between bodies under constraints: against MuJoCo, by virtual work, and in closed form."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.tolerances import FORCE, SOLVED
from kinetree.types import Constraint, EqType
from tests.constraint.in_contact import CONES, SOURCES, along, forward, scattered, start
from tests.pipeline.both import Both, close, quietly

FIELDS = ("cacc", "cfrc_ext", "cfrc_int")


def passed(pair: Both) -> None:
    """The pass on both sides."""
    kt.rne_post_constraint(pair.model, pair.ours)
    mujoco.mj_rnePostConstraint(pair.mj, pair.theirs)


def work(model: kt.Model, data: kt.Data) -> np.ndarray:
    """Joint forces that do the work of the external wrenches, body by body."""
    total = np.zeros(model.nv)
    for b in range(1, model.nbody):
        along_axes, about = kt.jac_body(model, data, b)
        total += about.T @ data.cfrc_ext[b, :3] + along_axes.T @ data.cfrc_ext[b, 3:]
    return total


# against MuJoCo


@pytest.mark.criteria("P-REF-EXT-CONTACT")
@pytest.mark.parametrize("cone", CONES, ids=["pyramidal", "elliptic"])
@pytest.mark.parametrize("name", SOURCES)
def test_wrenches_equal_mujocos(name, cone):
    pair = start(name, cone=cone)
    rows = 0
    for note in along(pair):
        passed(pair)
        pair.same(FIELDS, SOLVED, note)
        rows += pair.theirs.nefc
    assert rows > 0


@pytest.mark.parametrize("name", ["humanoid", "contacts", "equalities"])
def test_accelerations_of_objects_equal_mujocos(name):
    pair = start(name)
    wanted = np.zeros(6)
    for note in along(pair, every=50):
        mujoco.mj_rnePostConstraint(pair.mj, pair.theirs)
        for b in range(pair.mj.nbody):
            mujoco.mj_objectAcceleration(pair.mj, pair.theirs, mujoco.mjtObj.mjOBJ_BODY, b, wanted, 1)
            got = kt.object_acceleration(pair.model, pair.ours, "body", b, local=True)
            close(got, wanted, SOLVED, f"{name} {note} body {b}")


WELD = """<mujoco model="weld"><option gravity="0 0 -9.81"/><worldbody>
  <body name="post" pos="0 0 1"><geom type="box" size=".05 .05 .1" contype="0" conaffinity="0"/><site name="post"/>
    <body name="arm" pos=".1 .2 .1" euler="20 -35 50"><joint type="ball"/><joint type="slide" axis="1 .2 0"/>
      <geom type="box" size=".3 .05 .02" pos=".2 0 0" contype="0" conaffinity="0"/><site name="arm" pos=".1 0 0"/></body>
  </body></worldbody>
  <equality><weld body1="arm" body2="post" torquescale="{}" anchor=".1 .02 .03" relpose=".1 .2 .3 .9 .3 -.2 .1"/></equality>
  <sensor><force site="arm"/><torque site="arm"/><force site="post"/><torque site="post"/></sensor></mujoco>"""


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5])
def test_a_weld_turns_by_its_torquescale(scale):
    """The rows of a weld are half of a quaternion in other axes, scaled: their forces are no torque yet."""
    pair = start(WELD.format(scale), 1)
    for note in along(pair, steps=60, every=6):
        passed(pair)
        pair.same(FIELDS, SOLVED, note)
        close(pair.ours.sensordata, pair.theirs.sensordata, SOLVED, f"torquescale {scale} {note}")
        assert np.abs(pair.ours.efc_force[3:6]).max() > 1e-3


TENDONS = """<mujoco model="ropes"><worldbody><site name="hook" pos="0 0 2"/><site name="far" pos="1 0 2"/>
  <body name="a" pos="0 .1 1"><freejoint/><geom size=".1"/><site name="a" pos="0 0 .1"/></body>
  <body name="b" pos="1 0 1"><freejoint/><geom size=".1"/><site name="b" pos="0 .02 .1"/></body></worldbody>
  <tendon><spatial name="one" {}><site site="hook"/><site site="a"/></spatial>
  <spatial name="two"><site site="far"/><site site="b"/></spatial></tendon>{}</mujoco>"""
ROPES = {
    "long": ('limited="true" range="0 .85"', ""),
    "short": ('limited="true" range="1 2"', ""),
    "both": ('limited="true" range=".85 .95" margin=".3"', ""),
    "friction": ('frictionloss="3"', ""),
    "held": ("", '<equality><tendon tendon1="one" polycoef=".1"/></equality>'),
    "coupled": ("", '<equality><tendon tendon1="one" tendon2="two" polycoef=".1 .7 -.3 .1"/></equality>'),
}


@pytest.mark.parametrize("name", ROPES)
def test_rows_of_spatial_tendons_equal_mujocos(name):
    """Each kind alone: limits from either side and from both, friction loss, equalities."""
    pair = start(TENDONS.format(*ROPES[name]), 2)
    pair.theirs.qfrc_applied[:] = 0.0
    pair.theirs.xfrc_applied[:] = 0.0
    largest = 0.0
    for note in along(pair, steps=60, every=6):
        passed(pair)
        pair.same(FIELDS, SOLVED, f"{name} {note}")
        close(work(pair.model, pair.ours), pair.ours.qfrc_constraint, FORCE, f"{name} {note}: work")
        largest = max(largest, np.abs(pair.ours.cfrc_ext).max())
    assert largest > 1e-2, "the rope never pulled"


# identities and closed forms


@pytest.mark.criteria("P-REF-EXT-CONTACT")
@pytest.mark.parametrize("cone", CONES, ids=["pyramidal", "elliptic"])
@pytest.mark.parametrize("name", ["contacts", "equalities"])
def test_external_wrenches_do_the_work_of_constraints(name, cone):
    """All rows here but joint equalities and that of a fixed tendon act on bodies; so do adhesion and applied wrenches."""
    pair = start(name, cone=cone)
    for note in along(pair, every=30):
        model, data = pair.model, pair.ours
        kt.rne_post_constraint(model, data)
        wanted = data.qfrc_constraint + data.qfrc_adhesion
        for b in range(1, model.nbody):
            force, torque = data.xfrc_applied[b, :3], data.xfrc_applied[b, 3:]
            wanted = wanted + kt.apply_ft(model, data, force, torque, data.xipos[b], b)
        for row in range(data.ne):  # joints alone
            e = int(data.efc_id[row])
            fixed = model.eq_type[e] == EqType.TENDON and model.tendon_type[model.eq_obj1id[e]] == 0
            if data.efc_type[row] == Constraint.EQUALITY and (model.eq_type[e] == EqType.JOINT or fixed):
                first, count = data.efc_J_rowadr[row], data.efc_J_rownnz[row]
                columns = data.efc_J_colind[first : first + count]
                wanted[columns] -= data._arrays["efc_J"][first : first + count] * data.efc_force[row]
        close(work(model, data), wanted, FORCE, f"{name} {note}")


def test_a_box_at_rest_is_carried_by_the_floor():
    """The contact carries the weight, and a free joint nothing."""
    text = """<mujoco model="box"><option tolerance="0"/><worldbody><geom type="plane" size="1 1 .1"/>
      <body name="box" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="3"/></body></worldbody></mujoco>"""
    model = kt.load(text)
    data = kt.Data(model)
    with quietly():
        kt.step(model, data, 3000)
        kt.forward(model, data)
    kt.rne_post_constraint(model, data)
    close(data.cfrc_ext[1], [0, 0, 0, 0, 0, 3 * 9.81], SOLVED, "cfrc_ext")
    close(data.cfrc_int[1], np.zeros(6), SOLVED, "cfrc_int")


@pytest.mark.parametrize("name", ["humanoid", "contacts", "sensors"])
def test_free_joints_carry_nothing(name):
    """But for what is applied along the joint itself: whatever touches a tree, its root hangs on nothing."""
    pair = start(name)
    for note in along(pair, every=50):
        pair.ours.require("cfrc_int")
        for j in np.flatnonzero(pair.model.jnt_type == kt.JointType.FREE):
            b, i = pair.model.jnt_bodyid[j], pair.model.jnt_dofadr[j]
            joint = pair.ours.qfrc_applied + pair.ours.qfrc_passive - pair.ours.qfrc_adhesion  # forces, in world axes
            close(pair.ours.cfrc_int[b, 3:], joint[i : i + 3], SOLVED, f"{name} {note} body {b}")


# machines


@pytest.mark.parametrize("cone", CONES, ids=["pyramidal", "elliptic"])
@pytest.mark.parametrize("name", ["humanoid", "contacts", "limits", "equalities"])
def test_lanes_equal_floats(name, cone):
    """Eight worlds with different contacts."""
    pairs = scattered(name, cone=cone)
    model = pairs[0].model
    assert len({pair.ours.nefc for pair in pairs}) > 1 or name == "equalities"
    lanes = lanes_of(model, [pair.ours for pair in pairs])
    for stage in (pipeline.forward, kt.rne_post_constraint):
        lanes.run(stage)
    for lane, pair in enumerate(pairs):
        forward(pair)
        kt.rne_post_constraint(pair.model, pair.ours)
        for field in FIELDS:
            what = f"{name} lane {lane} {field}"
            close(getattr(lanes, field)[..., lane], getattr(pair.ours, field), SOLVED, what)
