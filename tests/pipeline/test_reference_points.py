"""Reference points: which point of a body each consumer means, against closed forms, slow references and MuJoCo."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import ACCELERATION, FORCE, SENSOR
from tests import naive
from tests.pipeline.both import both, close, load, quietly, reading, sensing
from tests.trees import random_tree

EXACT = 1e-14
BRUTE_FORCE = 1e-12
SEEDS = range(6)

# One body on a hinge about z through its origin, with a site, and sensors at that site and on the body.
TURNTABLE = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="a"><joint name="z" axis="0 0 1"/><inertial pos="{com}" mass="1" diaginertia=".1 .1 .15"/>
    <site name="s" pos="{site}" euler="{turn}"/></body></worldbody>
  <sensor><velocimeter name="velocimeter" site="s"/>
    <framelinvel name="site" objtype="site" objname="s"/>
    <framelinvel name="body" objtype="body" objname="a"/>
    <framelinvel name="xbody" objtype="xbody" objname="a"/>
    <subtreelinvel name="momentum" body="a"/>
    <accelerometer name="accelerometer" site="s"/></sensor></mujoco>"""

# A 2 kg child welded at [.5, 0, 0] with its centre of mass another .5 further out.
WELDED = """<mujoco><option gravity="{gravity}"/><worldbody>
  <body name="arm"><joint axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .15"/>
    <site name="elbow" pos=".5 0 0"/>
    <body name="child" pos=".5 0 0"><inertial pos=".5 0 0" mass="2" diaginertia=".02 .03 .03"/><site name="weld"/></body>
  </body></worldbody>
  <sensor><accelerometer name="accelerometer" site="elbow"/><force name="force" site="weld"/>
    <torque name="torque" site="weld"/></sensor></mujoco>"""


def turntable(qvel, com="0 0 0", site="0 0 0", turn="0 0 0"):
    """The model at rest angle, turning, after `forward`."""
    model, data = load(TURNTABLE.format(com=com, site=site, turn=turn))
    data.qvel[0] = qvel
    kt.forward(model, data)
    return model, data


# the point of a velocity: closed forms


@pytest.mark.criteria("002-B1-AC1", "002-B2-AC1", "002-T1", "002-T2", "P-REF-HINGE")
@pytest.mark.parametrize("sensor", ["velocimeter", "site"])
@pytest.mark.parametrize(("site", "wanted"), [("0 0 .5", [0, 0, 0]), ("0 .5 0", [-0.5, 0, 0]), (".5 0 0", [0, 0.5, 0])])
def test_a_site_moves_across_its_arm_and_not_at_all_on_the_axis(sensor, site, wanted):
    model, data = turntable(1.0, site=site)
    close(reading(model, data, sensor), wanted, EXACT, f"{sensor} at {site}")


@pytest.mark.criteria("002-B1-AC3", "P-REF-SITE")
def test_the_velocity_of_a_site_is_told_in_world_axes_or_its_own():
    model, data = turntable(2.0, site=".3 .4 0", turn="20 30 40")
    close(reading(model, data, "site"), [-0.8, 0.6, 0], EXACT, "framelinvel, world axes")
    axes = data.site_xmat[0].reshape(3, 3)
    close(reading(model, data, "velocimeter"), axes.T @ [-0.8, 0.6, 0], EXACT, "velocimeter, site axes")
    assert np.linalg.norm(reading(model, data, "velocimeter")) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.criteria("002-B1-AC2")
def test_a_velocimeter_has_a_site_and_at_the_origin_it_reads_that_of_the_body():
    model, data = turntable(1.5, com=".1 .2 .3")
    close(reading(model, data, "velocimeter"), data.xmat[1].reshape(3, 3).T @ data.cvel[1, 3:], EXACT, "at the origin")
    text = TURNTABLE.format(com="0 0 0", site="0 0 0", turn="0 0 0")
    with pytest.raises(kt.ModelError):
        kt.load(text.replace('<velocimeter name="velocimeter" site="s"/>', '<velocimeter body="a"/>'))


@pytest.mark.criteria("002-B2-AC2", "002-B3-AC1", "002-B3-AC3", "002-T3", "P-REF-COM")
@pytest.mark.parametrize(("com", "wanted"), [(".1 0 0", [0, 0.1, 0]), ("0 0 .1", [0, 0, 0])])
def test_momentum_and_the_body_frame_are_at_the_centre_of_mass_and_xbody_at_the_origin(com, wanted):
    model, data = turntable(1.0, com=com)
    close(model.body_mass[1] * data.subtree_linvel[1], wanted, EXACT, "momentum")
    close(reading(model, data, "momentum"), wanted, EXACT, "subtreelinvel")
    close(reading(model, data, "body"), wanted, EXACT, "framelinvel of the body")
    close(reading(model, data, "xbody"), [0, 0, 0], EXACT, "framelinvel of the xbody")


@pytest.mark.criteria("002-B3-AC2", "002-B5-AC2", "002-T6", "P-REF-ORIGIN")
def test_with_everything_at_the_origin_there_is_nothing_to_shift():
    model, data = turntable(3.0)
    for sensor in ("velocimeter", "site", "body", "xbody", "momentum"):
        np.testing.assert_array_equal(reading(model, data, sensor), data.cvel[1, 3:], err_msg=sensor)
    np.testing.assert_array_equal(data.subtree_linvel[1], np.zeros(3))
    close(data.require("energy")[1], 0.5 * 0.15 * 9.0, EXACT, "kinetic energy")


# accelerations and forces: closed forms


@pytest.mark.criteria("001-4A.6b", "P-REF-WELD")
def test_a_turning_arm_pulls_its_load_inwards():
    model, data = load(WELDED.format(gravity="0 0 0"))
    data.qvel[0] = 2.0
    kt.forward(model, data)
    close(reading(model, data, "accelerometer"), [-2, 0, 0], EXACT, "accelerometer")
    close(reading(model, data, "force"), [-8, 0, 0], 1e-13, "force")
    close(reading(model, data, "torque"), [0, 0, 0], 1e-13, "torque")


@pytest.mark.criteria("001-4A.6b", "P-REF-WELD")
def test_a_resting_arm_carries_its_load():
    model, data = load(WELDED.format(gravity="0 0 -10"))
    kt.forward(model, data)
    close(reading(model, data, "accelerometer"), [0, 0, 10], EXACT, "accelerometer")
    close(reading(model, data, "force"), [0, 0, 20], 1e-13, "force")
    close(reading(model, data, "torque"), [0, -10, 0], 1e-13, "torque")


@pytest.mark.criteria("001-4A.6b")
def test_force_sensors_read_what_stands_in_the_fields():
    """A wrench written into cfrc_int by hand arrives at the site, and a motion written into cacc too."""
    model, data = load(WELDED.format(gravity="0 0 0"))
    kt.forward(model, data)
    child, arm = model.id("body", "child"), model.id("body", "arm")
    data.cfrc_int[child] = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0
    data.cacc[arm] = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0
    assert data.flg_rnepost
    kt.sensor_acc(model, data)
    close(reading(model, data, "force"), [4, 5, 6], EXACT, "force")
    close(reading(model, data, "torque"), [1, 2, 3], EXACT, "torque: the weld is at the child's origin")
    shifted = np.array([4, 5, 6]) + np.cross([1, 2, 3], [0.5, 0, 0])
    close(reading(model, data, "accelerometer"), shifted, EXACT, "accelerometer")


# every consumer on random trees, against the slow references and MuJoCo


def frames(text: str) -> str:
    """Geoms of a random tree with names, g0, g1, ..."""
    count = iter(range(10**6))
    return re.sub("<geom ", lambda _: f'<geom name="g{next(count)}" ', text)


def object_sensors(text: str, kinds: tuple[str, ...], reference: str = "") -> str:
    """Sensors of these kinds on every body, frame, geom, site and camera of a tree."""
    found = {
        "body": re.findall('<body name="([^"]*)"', text),
        "geom": re.findall('<geom name="([^"]*)"', text),
        "site": re.findall('<site name="([^"]*)"', text),
        "camera": re.findall('<camera name="([^"]*)"', text),
    }
    found["xbody"] = found["body"]
    return "".join(
        f'<{kind} name="{kind} {what} {name}" objtype="{what}" objname="{name}" {reference}/>'
        for kind in kinds
        for what, names in found.items()
        for name in names
    )


def place(model, data, what, name):
    """Body, position and axes of a named object."""
    if what in ("body", "xbody"):
        b = model.id("body", name)
        frame = (data.xipos[b], data.ximat[b]) if what == "body" else (data.xpos[b], data.xmat[b])
        return b, frame[0], frame[1].reshape(3, 3)
    prefix = {"geom": "geom", "site": "site", "camera": "cam"}[what]
    i = model.id(what, name)
    position, axes = getattr(data, f"{prefix}_xpos")[i], getattr(data, f"{prefix}_xmat")[i]
    return int(getattr(model, f"{prefix}_bodyid")[i]), position, axes.reshape(3, 3)


def paired_tree(seed, sensors, reference="", **options):
    """A random tree with sensors on all its objects, after `forward` on both sides."""
    tree = frames(random_tree(seed, nbody=7))
    text = tree.replace("</worldbody></mujoco>", f"</worldbody><sensor>{sensors(tree)}</sensor></mujoco>")
    pair = both(text, seed, **options)
    with quietly():
        kt.forward(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)
    return pair


def sensor_names(model):
    return [name.split() for name in model.names("sensor")]


@pytest.mark.criteria("P-REF-FRAMELINVEL", "P-REF-FRAMEBODY", "P-REF-VELOCIMETER")
@pytest.mark.parametrize("seed", SEEDS)
def test_velocities_are_those_of_the_objects_own_points(seed):
    def sensors(tree):
        sites = re.findall('<site name="([^"]*)"', tree)
        return object_sensors(tree, ("framelinvel", "frameangvel")) + "".join(
            f'<velocimeter name="velocimeter site {s}" site="{s}"/>' for s in sites
        )

    pair = paired_tree(seed, sensors)
    model, data = pair.model, pair.ours
    for kind, what, name in sensor_names(model):
        body, point, axes = place(model, data, what, name)
        twist = naive.twist(model, data, body, point)
        wanted = {"framelinvel": twist[3:], "frameangvel": twist[:3], "velocimeter": axes.T @ twist[3:]}[kind]
        close(
            reading(model, data, f"{kind} {what} {name}"), wanted, BRUTE_FORCE, f"tree {seed}: {kind} of {what} {name}"
        )
    close(data.sensordata, pair.theirs.sensordata, BRUTE_FORCE, f"tree {seed}: all velocities against MuJoCo")


@pytest.mark.criteria("P-REF-FRAMELINVEL", "P-REF-FRAMEBODY")
@pytest.mark.parametrize("kind", ["site", "body", "xbody", "geom", "camera"])
@pytest.mark.parametrize("seed", SEEDS)
def test_velocities_relative_to_a_moving_frame(seed, kind):
    """The reference takes away the velocity that its own frame has at the object, and gives its axes."""
    refname = {"site": "s3", "body": "b3", "xbody": "b3", "geom": "g2", "camera": "world"}[kind]

    def sensors(tree):
        return object_sensors(tree, ("framelinvel",), f'reftype="{kind}" refname="{refname}"')

    pair = paired_tree(seed, sensors)
    model, data = pair.model, pair.ours
    carrier, origin, frame = place(model, data, kind, refname)
    for _, what, name in sensor_names(model):
        body, point, _ = place(model, data, what, name)
        relative = naive.twist(model, data, body, point)[3:] - naive.twist(model, data, carrier, point)[3:]
        got = reading(model, data, f"framelinvel {what} {name}")
        close(got, frame.T @ relative, BRUTE_FORCE, f"tree {seed}: {what} {name} seen from {kind} {refname}")
    close(data.sensordata, pair.theirs.sensordata, BRUTE_FORCE, f"tree {seed}: from {kind} against MuJoCo")


@pytest.mark.criteria("P-REF-ACC")
@pytest.mark.parametrize("disable", [0, kt.DisableBit.GRAVITY], ids=["gravity", "no gravity"])
@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_are_those_of_the_objects_own_points_less_gravity(seed, disable):
    def sensors(tree):
        sites = re.findall('<site name="([^"]*)"', tree)
        return object_sensors(tree, ("framelinacc", "frameangacc")) + "".join(
            f'<accelerometer name="accelerometer site {s}" site="{s}"/>' for s in sites
        )

    pair = paired_tree(seed, sensors, disable=disable, gravity=[1.0, -2.0, -9.0])
    model, data = pair.model, pair.ours
    gravity = np.zeros(3) if disable else np.array(model.opt.gravity)
    scale = max(1.0, np.abs(data.qacc).max())
    for kind, what, name in sensor_names(model):
        body, point, axes = place(model, data, what, name)
        now = naive.motion(model, data, body, point)
        wanted = {"framelinacc": now.a - gravity, "frameangacc": now.alpha, "accelerometer": axes.T @ (now.a - gravity)}
        got = reading(model, data, f"{kind} {what} {name}")
        close(got / scale, wanted[kind] / scale, BRUTE_FORCE, f"tree {seed}: {kind} of {what} {name}")
    close(data.sensordata, pair.theirs.sensordata, ACCELERATION, f"tree {seed}: accelerations against MuJoCo")


@pytest.mark.criteria("P-REF-FORCE")
@pytest.mark.parametrize("seed", SEEDS)
def test_force_and_torque_are_what_newton_and_euler_ask_of_the_parent(seed):
    """By a sum over all bodies beyond the joint, at the site, in the site's axes; the world's row is the whole system."""

    def sensors(tree):
        sites = re.findall('<site name="([^"]*)"', tree)
        return "".join(f'<{kind} name="{kind} site {s}" site="{s}"/>' for s in sites for kind in ("force", "torque"))

    pair = paired_tree(seed, sensors)
    model, data = pair.model, pair.ours
    for kind, _, name in sensor_names(model):
        body, point, axes = place(model, data, "site", name)
        wrench = naive.interaction_wrench(model, data, body, point)
        wanted = axes.T @ (wrench[3:] if kind == "force" else wrench[:3])
        got, scale = reading(model, data, f"{kind} site {name}"), max(1.0, np.abs(data.cfrc_int).max())
        close(got / scale, wanted / scale, 1e-11, f"tree {seed}: {kind} at {name}")
        if body:
            i = model.id("sensor", f"{kind} site {name}")
            theirs = pair.theirs.sensordata[model.sensor_adr[i] : model.sensor_adr[i] + 3]
            close(got, theirs, SENSOR, f"tree {seed}: {kind} at {name} against MuJoCo")


ROPES = """<mujoco><option gravity="1 2 -9"/><compiler angle="radian"/><worldbody><site name="hook" pos=".1 .3 1"/>
  <body pos="0 0 .5" euler=".2 .4 .6"><joint name="h" axis="1 .2 .3" pos=".1 0 0" armature=".1"/>
    <geom type="box" size=".1 .2 .3" pos=".1 .1 0"/><site name="a" pos=".2 .1 .1"/>
    <geom name="drum" type="cylinder" size=".08 .2" pos=".15 .2 .1" mass="0"/>
    <body pos=".2 .3 .1" euler=".8 .4 .2"><joint name="b" type="ball" pos=".1 .1 0"/>
      <geom type="box" size=".1 .2 .3" pos=".1 .1 0"/><site name="b" pos=".2 .1 .1"/>
      <body pos=".2 .3 .1" euler=".7 .3 .1"><joint name="s" type="slide" axis=".3 .2 .1"/>
        <geom type="box" size=".1 .2 .3" pos=".1 .1 0"/><site name="c" pos=".2 .1 .1"/></body></body></body></worldbody>
  <tendon>
    <spatial name="through sites" stiffness="20" springlength=".1" damping="3" armature=".4">
      <site site="hook"/><site site="b"/><site site="c"/></spatial>
    <spatial name="over a drum" stiffness="7" springlength="0">
      <site site="hook"/><site site="a"/><pulley divisor="2"/><site site="hook"/><geom geom="drum"/><site site="c"/></spatial>
    <fixed name="of joints" armature=".3" stiffness="2"><joint joint="h" coef=".7"/><joint joint="s" coef="-1.2"/></fixed>
  </tendon>
  <actuator><motor tendon="through sites" gear="3"/><motor name="m" joint="h" gear="-2" armature=".05"/>
    <motor tendon="of joints" gear="1.5" armature=".06"/></actuator>
  <sensor><force name="force" site="c"/><torque name="torque" site="b"/></sensor></mujoco>"""


@pytest.mark.criteria("P-REF-EXT")
@pytest.mark.parametrize("seed", SEEDS)
def test_external_wrenches_are_those_applied_and_those_of_spatial_tendons(seed):
    """Spring, damper, actuator and armature of a rope, at the ends of its straight parts; joint tendons pull on no body."""
    pair = both(ROPES, seed)
    kt.forward(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)
    model, data = pair.model, pair.ours
    for field, reference in (("cfrc_ext", naive.external_wrench), ("cfrc_int", naive.interaction_wrench)):
        wanted = np.array([reference(model, data, b, data.xpos[b]) for b in range(1, model.nbody)])
        scale = max(1.0, np.abs(wanted).max())
        close(getattr(data, field)[1:] / scale, wanted / scale, 1e-11, f"seed {seed}: {field}")
    pair.same(("cfrc_ext", "cfrc_int", "cacc"), FORCE, f"seed {seed}")


@pytest.mark.criteria("P-REF-CVEL", "P-REF-SQ")
@pytest.mark.parametrize("seed", SEEDS)
def test_motion_axes_times_rates_add_up_to_the_velocity_of_the_origin(seed):
    pair = both(random_tree(seed, nbody=9), seed)
    model, data = pair.model, pair.ours
    kt.forward(model, data)
    for b in range(model.nbody):
        total = np.zeros(6)
        above = set(naive.ancestors(model, b))
        for i in range(model.nv):
            if int(model.dof_bodyid[i]) in above:
                axis = data.cdof[i].copy()
                axis[3:] += np.cross(axis[:3], data.xpos[b] - data.xpos[model.dof_bodyid[i]])
                total += axis * data.qvel[i]
        close(data.cvel[b], total, BRUTE_FORCE, f"tree {seed}: cvel[{b}] from cdof")
        close(data.cvel[b], naive.twist(model, data, b, data.xpos[b]), BRUTE_FORCE, f"tree {seed}: cvel[{b}]")


@pytest.mark.criteria("P-REF-INVERSE")
@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_after_forward_returns_the_applied_forces(seed):
    """Those of joints and those of wrenches on bodies, which do their power along the motion of every dof."""
    pair = both(random_tree(seed, nbody=8), seed)
    model, data = pair.model, pair.ours
    kt.forward(model, data)
    kt.inverse(model, data)
    applied = data.qfrc_applied + data.qfrc_actuator
    unit = data.copy()
    for i in range(model.nv):
        unit.qvel = np.eye(model.nv)[i]
        for b in range(1, model.nbody):
            rate = naive.twist(model, unit, b, data.xipos[b])
            applied[i] += data.xfrc_applied[b, :3] @ rate[3:] + data.xfrc_applied[b, 3:] @ rate[:3]
    close(data.qfrc_inverse, applied, 1e-10, f"tree {seed}: qfrc_inverse")


# energy


@pytest.mark.criteria("002-B5-AC1", "002-T5")
@pytest.mark.parametrize(("com", "arm"), [(".1 0 0", 0.1), (".3 .4 .7", 0.5)])
def test_kinetic_energy_is_that_of_the_centre_of_mass_and_of_the_spin(com, arm):
    model, data = turntable(1.0, com=com)
    wanted = 0.5 * (0.15 + arm**2)
    close(naive.kinetic_energy(model, data), wanted, EXACT, "by bodies")
    close(0.5 * data.qvel @ kt.mul_m(model, data, data.qvel), wanted, EXACT, "by the inertia matrix")
    close(data.require("energy")[1], wanted, EXACT, "energy[1]")


@pytest.mark.criteria("P-REF-ENERGY", "P-REF-MOMENTUM")
@pytest.mark.parametrize("source", ["tree", "armature"])
@pytest.mark.parametrize("seed", SEEDS)
def test_kinetic_energy_by_bodies_and_armatures_is_that_of_the_inertia_matrix(seed, source):
    """Along one chain. (A tendon across branches couples dofs that MuJoCo's tree-sparse M leaves uncoupled.)"""
    pair = both(random_tree(seed, nbody=9) if source == "tree" else ROPES, seed)
    model, data = pair.model, pair.ours
    if source == "tree":
        model.dof_armature[:] = 0.1  # one value: a ball joint's armature must not depend on its axes
    kt.forward(model, data)
    kt.energy_vel(model, data)
    wanted = naive.kinetic_energy(model, data)
    half = 0.5 * data.qvel @ kt.full_m(model, data) @ data.qvel
    assert half == pytest.approx(wanted, rel=1e-12), f"seed {seed}"
    assert data.energy[1] == pytest.approx(wanted, rel=1e-12), f"seed {seed}"
    kt.subtree_vel(model, data)
    close(
        model.body_mass.sum() * data.subtree_linvel[0],
        naive.linear_momentum(model, data),
        1e-12,
        f"seed {seed}: momentum",
    )


# bodies that do not move


STILL = """<mujoco><worldbody><site name="world" pos=".1 .2 .3" euler="10 20 30"/>
  <body name="static" pos="1 0 0" euler="5 10 15"><geom size=".1"/><site name="static" pos=".1 .2 .3"/>
    <body name="swing" pos="0 0 1"><joint axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></body>
  <body name="mocap" mocap="true" pos="0 1 0" euler="15 10 5"><geom size=".1"/><site name="mocap" pos=".3 .2 .1"/>
    <body name="on mocap" pos="0 0 1"><site name="on mocap" pos=".1 0 0"/></body></body></worldbody>
  <sensor>{}</sensor></mujoco>"""
STILL_SITES = ("world", "static", "mocap", "on mocap")


def still(kinds):
    sensors = "".join(f'<{kind} name="{kind} {site}" site="{site}"/>' for kind in kinds for site in STILL_SITES)
    sensors += "".join(f'<framelinacc name="frame {site}" objtype="site" objname="{site}"/>' for site in STILL_SITES)
    pair = both(STILL.format(sensors), None)
    pair.state_from(lambda d: d.qvel.__setitem__(0, 2.0))
    pair.state_from(lambda d: d.mocap_pos.__setitem__(0, (0.5, 0.4, 0.3)))
    kt.forward(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)
    assert np.isfinite(pair.ours.sensordata).all()
    return pair


@pytest.mark.criteria("002-T7", "P-REF-STILL")
@pytest.mark.parametrize("site", STILL_SITES)
def test_what_is_fixed_has_no_velocity(site):
    pair = still(("velocimeter", "gyro"))
    for kind in ("velocimeter", "gyro"):
        close(reading(pair.model, pair.ours, f"{kind} {site}"), np.zeros(3), 0.0, f"{kind} at {site}")
    np.testing.assert_array_equal(pair.ours.cvel[0], np.zeros(6))


@pytest.mark.criteria("P-REF-STATIC")
@pytest.mark.parametrize("site", STILL_SITES)
def test_what_is_fixed_feels_gravity_upwards(site):
    pair = still(("accelerometer",))
    axes = pair.ours.site_xmat[pair.model.id("site", site)].reshape(3, 3)
    close(reading(pair.model, pair.ours, f"frame {site}"), [0, 0, 9.81], EXACT, f"framelinacc at {site}")
    close(
        reading(pair.model, pair.ours, f"accelerometer {site}"),
        axes.T @ [0, 0, 9.81],
        EXACT,
        f"accelerometer at {site}",
    )
    close(pair.ours.sensordata, pair.theirs.sensordata, 1e-12, "all against MuJoCo")


# sensors switched off


@pytest.mark.criteria("002-T10")
def test_disabled_sensors_keep_their_readings():
    model, data = load(TURNTABLE.format(com=".1 0 0", site=".3 .4 0", turn="20 30 40"))
    model.opt.disableflags |= kt.DisableBit.SENSOR
    data.qvel[0] = 1.0
    data.sensordata[:] = np.arange(model.nsensordata)
    kt.step(model, data)
    kt.forward(model, data)
    np.testing.assert_array_equal(data.sensordata, np.arange(model.nsensordata))


@pytest.mark.criteria("P-REF-MASSLESS")
@pytest.mark.parametrize("seed", SEEDS)
def test_no_sensor_of_a_tree_with_massless_bodies_gives_nan(seed):
    kinds = "".join(
        f'<{kind} site="s{b}"/>'
        for b in range(1, 8)
        for kind in ("velocimeter", "gyro", "accelerometer", "force", "torque")
    )
    pair = both(sensing(seed, kinds, nbody=7, massless=0.7), seed)
    kt.forward(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)
    assert np.isfinite(pair.ours.sensordata).all()
    close(pair.ours.sensordata, pair.theirs.sensordata, SENSOR, f"tree {seed}")
