"""Lengths, Jacobians, velocities, paths and inertia of tendons, against MuJoCo and against derivatives of each other."""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ET

import casadi
import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.states import copy_state, random_state
from kinetree.conformance.tolerances import FORCE, INERTIA
from kinetree.conformance.tolerances import MACHINES as MACHINE_TOLERANCE
from kinetree.dynamics.configuration import integrate_pos
from kinetree.dynamics.crb import make_m
from kinetree.dynamics.rne import rne_bias
from kinetree.dynamics.tendon import tendon, tendon_bias, tendon_path, tendon_velocity
from kinetree.dynamics.velocity import com_vel
from kinetree.kernel import interpret, symbolic_record
from tests.corpora import package_models
from tests.dynamics.paired import MODELS, Pair, agree, paired, same
from tests.trees import random_tree

STAGES = (tendon, tendon_path, tendon_velocity, tendon_bias)
REALS = ("ten_length", "ten_J", "ten_velocity", "wrap_point", "wrap_touch", "wrap_xpos", "qfrc_bias")


def tendon_tree(seed: int, armature: bool) -> str:
    """A random tree with random tendons: all past geoms or through sites alone, which armature demands."""
    rng = np.random.default_rng(seed)
    root = ET.fromstring(random_tree(seed, nbody=8))
    sites = [site.attrib["name"] for site in root.iter("site") if "name" in site.attrib]
    joints = [joint.attrib["name"] for joint in root.iter("joint") if joint.get("type") in ("hinge", "slide")]
    geoms: list[str] = []
    for body in list(root.iter("body")):
        geoms.append(f"geom{len(geoms)}")
        shape = {"type": str(rng.choice(["sphere", "cylinder"])), "size": f"{rng.uniform(0.05, 0.4)} 0.1", "mass": "0"}
        shape |= {"contype": "0", "conaffinity": "0"}
        pose = {"pos": numbers(0.1 * rng.normal(size=3)), "euler": numbers(rng.normal(size=3))}
        ET.SubElement(body, "geom", {"name": geoms[-1], **shape, **pose})
    tendons = ET.SubElement(root, "tendon")
    for _ in range(6):
        inertia = {"armature": f"{rng.uniform(0.01, 0.2)}"} if armature else {}
        path = ET.SubElement(tendons, "spatial", inertia)
        for branch in range(int(rng.integers(1, 4))):
            if branch or rng.uniform() < 0.3:
                ET.SubElement(path, "pulley", {"divisor": f"{rng.uniform(0.5, 3)}"})
            through = rng.permutation(sites)[: int(rng.integers(2, 5))]
            for k, site in enumerate(through):
                if k and not armature and rng.uniform() < 0.7:
                    side = {"sidesite": str(rng.choice(sites))} if rng.uniform() < 0.6 else {}
                    ET.SubElement(path, "geom", {"geom": str(rng.choice(geoms)), **side})
                ET.SubElement(path, "site", {"site": str(site)})
    for count in range(1, min(4, len(joints) + 1)):
        fixed = ET.SubElement(tendons, "fixed", {"armature": "0.1"} if armature else {})
        for joint in rng.permutation(joints)[:count]:
            ET.SubElement(fixed, "joint", {"joint": str(joint), "coef": f"{rng.normal()}"})
    return ET.tostring(root, encoding="unicode")


def numbers(values: np.ndarray) -> str:
    return " ".join(f"{v:.6f}" for v in values)


def sources() -> dict[str, object]:
    own = {name: MODELS / f"{name}.xml" for name in ("tendons", "equalities", "passive")}
    trees = {f"tree{seed}": tendon_tree(seed, False) for seed in range(6)}
    heavy = {f"heavy{seed}": tendon_tree(seed, True) for seed in range(6)}
    wanted = ("suite/manipulator.xml", "suite/quadruped.xml", "hand/manipulate_block.xml")
    packages = {name: path for name, path in package_models() if name.endswith(wanted)}
    return {**own, "tendon_finger": "tendon_finger", **trees, **heavy, **packages}


SOURCES = sources()


@functools.cache
def model_of(name: str) -> kt.Model:
    return kt.load(SOURCES[name])


def state(name: str, seed: int) -> Pair:
    """Both sides with everything of tendons computed, ours over fields that were not numbers before."""
    pair = paired(model_of(name).to_mujoco(), seed)
    for field in REALS[:-1]:
        pair.ours._arrays[field][...] = np.nan
    for stage in (tendon, tendon_path, tendon_velocity, make_m, rne_bias, tendon_bias):
        stage(pair.model, pair.ours)
    return pair


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SOURCES)
def test_tendons_equal_mujocos(name, seed):
    pair = state(name, seed)
    agree(pair, ["ten_length", "ten_J", "ten_velocity"], FORCE, name)
    agree(pair, ["M"], INERTIA, name)
    agree(pair, ["qfrc_bias"], FORCE, name)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SOURCES)
def test_paths_equal_mujocos(name, seed):
    pair = state(name, seed)
    agree(pair, ["ten_wrapadr", "ten_wrapnum"], 0.0, name)
    count = int(pair.theirs.ten_wrapnum.sum())
    objects, points = (np.asarray(x).ravel() for x in (pair.theirs.wrap_obj, pair.theirs.wrap_xpos))
    same(pair.ours.wrap_obj.ravel()[:count], objects[:count], 0.0, f"{name} wrap_obj")
    same(pair.ours.wrap_xpos.ravel()[: 3 * count], points[: 3 * count], FORCE, f"{name} wrap_xpos")


def test_the_random_trees_hit_every_kind_of_part():
    found: dict[tuple[int, bool], set[float]] = {}
    for seed in range(6):
        model = model_of(f"tree{seed}")
        touch = np.concatenate([state(f"tree{seed}", s).ours.wrap_touch for s in range(4)])
        for kind, side, touched in zip(np.tile(model.wrap_type, 4), np.tile(model.wrap_prm, 4), touch, strict=True):
            found.setdefault((int(kind), bool(side >= 0)), set()).add(float(touched))
    for geom in (kt.types.WrapType.SPHERE, kt.types.WrapType.CYLINDER):
        for sided in (False, True):
            assert found[int(geom), sided] == {0.0, 1.0}, (geom, sided)
    drivers = model_of("tendons").tendon_actuatorid
    assert drivers.min() == -2 and -1 in drivers and drivers.max() >= 0, drivers


@pytest.mark.parametrize("name", ["tendons", "tendon_finger", "tree1", "tree3", "heavy2"])
def test_jacobian_is_the_derivative_of_the_length(name):
    pair = state(name, 2)
    model, data = pair.model, pair.ours
    dense = np.zeros((model.ntendon, model.nv))
    for t in range(model.ntendon):
        row = slice(model.ten_J_rowadr[t], model.ten_J_rowadr[t] + model.ten_J_rownnz[t])
        dense[t, model.ten_J_colind[row]] = data.ten_J[row]
    other, step = kt.Data(model), 1e-6

    def lengths(direction):
        other.qpos = integrate_pos(model, data.qpos, direction, step)
        other.mocap_pos, other.mocap_quat = data.mocap_pos, data.mocap_quat
        kt.fwd_position(model, other)
        tendon(model, other)
        return other.ten_length.copy()

    for i, unit in enumerate(np.eye(model.nv)):
        slope = (lengths(unit) - lengths(-unit)) / (2 * step)
        # An inside path is known to 1e-6 only, so its length is the shortest to rounding but its direction is not.
        same(dense[:, i], slope, 3e-6, f"{name} ten_J of dof {i}")


@pytest.mark.parametrize("name", ["tendons", "heavy2", "heavy3", "heavy4"])  # no ball joint before a slide
def test_bias_is_the_second_derivative_of_the_length(name):
    """What `tendon_bias` adds is J' armature times the rate of ten_velocity along a motion without acceleration."""
    pair = state(name, 3)
    model, data = pair.model, pair.ours
    data.qfrc_bias[:] = 0.0
    tendon_bias(model, data)
    armature = model.tendon_armature.copy()
    for k in np.flatnonzero(model.actuator_trntype == kt.types.TrnType.TENDON):
        gear = model.actuator_gear[model.actuator_outadr[k], 0]
        armature[model.actuator_trnid[k, 0]] += model.actuator_armature[k] * gear * gear
    other, step = kt.Data(model), 1e-5

    def velocities(dt):
        other.qpos, other.qvel = integrate_pos(model, data.qpos, data.qvel, dt), data.qvel
        kt.fwd_position(model, other)
        tendon(model, other)
        tendon_velocity(model, other)
        return other.ten_velocity.copy()

    rate = (velocities(step) - velocities(-step)) / (2 * step)
    force = np.zeros(model.nv)
    for t in range(model.ntendon):
        row = slice(model.ten_J_rowadr[t], model.ten_J_rowadr[t] + model.ten_J_rownnz[t])
        force[model.ten_J_colind[row]] += armature[t] * rate[t] * data.ten_J[row]
    assert np.abs(force).max() > 1e-3
    same(data.qfrc_bias, force, 1e-6, f"{name} qfrc_bias")


def test_dofs_that_carry_the_whole_tendon_do_not_move_it():
    """A tendon from hand to thumb does not feel shoulder and elbow: exactly."""
    xml = (MODELS / "tendons.xml").read_text()
    path = '<spatial name="span"><site site="hand"/><geom geom="lower_ball"/><site site="thumb"/></spatial></tendon>'
    ball = '<geom name="lower_ball" type="sphere" size="0.06" pos="0.27 0.02 0.12" mass="0"/><site name="lower_a"'
    pair = paired(xml.replace("</tendon>", path).replace('<site name="lower_a"', ball), 0)
    tendon(pair.model, pair.ours)
    agree(pair, ["ten_length", "ten_J"], FORCE)
    t = pair.model.id("tendon", "span")
    row = slice(pair.model.ten_J_rowadr[t], pair.model.ten_J_rowadr[t] + pair.model.ten_J_rownnz[t])
    carried = {int(pair.model.jnt_dofadr[pair.model.id("joint", name)]) for name in ("shoulder", "elbow")}
    columns = pair.model.ten_J_colind[row]
    assert carried <= set(columns.tolist())
    assert not pair.ours.ten_J[row][np.isin(columns, list(carried))].any()
    assert np.count_nonzero(pair.ours.ten_J[row]) == len(columns) - len(carried)


def test_block_and_tackle_in_closed_form():
    """Two branches of one rope, the second halved by its pulley: lengths and moment arms by hand."""
    model = kt.load("""
        <mujoco><worldbody>
          <site name="left" pos="0 0 2"/><site name="right" pos="1 0 2"/>
          <body pos="0 0 1"><joint name="a" type="slide" axis="0 0 1"/><geom size="0.1"/><site name="a"/></body>
          <body pos="1 0 1"><joint name="b" type="slide" axis="0 0 1"/><geom size="0.1"/><site name="b"/></body>
        </worldbody><tendon><spatial>
          <site site="a"/><site site="left"/><pulley divisor="2"/><site site="right"/><site site="b"/>
        </spatial></tendon></mujoco>""")
    data = kt.Data(model)
    data.qpos, data.qvel = [0.2, -0.4], [3.0, 5.0]
    kt.fwd_position(model, data)
    for stage in (tendon, tendon_path, tendon_velocity):
        stage(model, data)
    np.testing.assert_allclose(data.ten_length, 0.8 + 1.4 / 2, rtol=1e-15)
    np.testing.assert_allclose(data.ten_J, [-1.0, -0.5], rtol=1e-15)
    np.testing.assert_allclose(data.ten_velocity, -3.0 - 2.5, rtol=1e-15)
    assert data.wrap_obj.ravel()[: data.ten_wrapnum[0]].tolist() == [-1, -1, -2, -1, -1]


def test_sites_that_coincide_give_no_nan():
    """MuJoCo takes x for the direction of a segment without length; so do we."""
    xml = """
        <mujoco><worldbody><site name="a" pos="0.1 0.2 0.3"/>
          <body pos="0.1 0.2 0.3"><freejoint/><geom size="0.1"/><site name="b"/></body>
        </worldbody><tendon><spatial armature="1"><site site="a"/><site site="b"/></spatial></tendon></mujoco>"""
    mj = mujoco.MjModel.from_xml_string(xml)
    theirs, model = mujoco.MjData(mj), kt.load(xml)
    theirs.qvel[:] = [1, 2, 3, 4, 5, 6]
    mujoco.mj_forward(mj, theirs)
    data = kt.Data(model)
    copy_state(theirs, data)
    kt.fwd_position(model, data)
    com_vel(model, data)
    for stage in (tendon, tendon_velocity, rne_bias, tendon_bias):
        stage(model, data)
    agree(Pair(mj, theirs, model, data), ["ten_length", "ten_J", "ten_velocity", "qfrc_bias"], FORCE)


@pytest.mark.parametrize(
    "dtype, width", [("float64", 8), pytest.param("float64", 1, marks=pytest.mark.soak), ("float32", 16)]
)
@pytest.mark.parametrize("name", ["tendons", "tendon_finger", "tree0", "tree4", "heavy3"])
def test_lanes_equal_floats(name, dtype, width):
    model = model_of(name)
    mj = model.to_mujoco()
    rng, worlds = np.random.default_rng(9), []
    for _ in range(width):
        data = kt.Data(model)
        copy_state(random_state(mj, rng), data)
        kt.fwd_position(model, data)
        com_vel(model, data)
        worlds.append(data)
    lanes = lanes_of(model, worlds, dtype)
    for stage in STAGES:
        lanes.run(stage)
    out = kt.Data(model)
    for lane, data in enumerate(worlds):
        for stage in STAGES:
            stage(model, data)
        lanes.store(lane, out)
        for field in REALS:
            if field != "wrap_xpos":  # single precision decides otherwise near a touch, and shifts the list
                note = f"{name} lane {lane} of {width} {dtype}: {field}"
                same(getattr(out, field), getattr(data, field), MACHINE_TOLERANCE[dtype], note)


@pytest.mark.parametrize("name", ["tendons", "tendon_finger", "tree2"])
def test_symbols_equal_floats_and_their_jacobian_is_ten_j(name):
    pair = state(name, 5)
    model, data = pair.model, pair.ours
    model.opt.disableflags = kt.DisableBit.CONSTRAINT  # values decide what touches, which symbols cannot
    q, v = casadi.SX.sym("q", model.nq), casadi.SX.sym("v", model.nv)
    record, symbols = symbolic_record(data, qpos=q, qvel=v), symbolic_record(model)
    record.qfrc_bias[:] = 0.0
    for stage in (kt.fwd_position, com_vel, tendon, tendon_velocity, tendon_bias):
        interpret(stage, symbols, record)
    fields = ("ten_length", "ten_J", "ten_velocity", "qfrc_bias")
    outputs = [casadi.vertcat(*getattr(record, field)) for field in fields]
    function = casadi.Function("tendons", [q, v], [*outputs, casadi.jacobian(outputs[0], q)])
    *values, slope = (np.asarray(x) for x in function(data.qpos, data.qvel))
    data.qfrc_bias[:] = 0.0
    tendon_bias(model, data)
    for field, value in zip(fields, values, strict=True):
        same(value.ravel(), getattr(data, field), MACHINE_TOLERANCE["float64"], f"{name} on symbols: {field}")
    scalar = np.isin(model.jnt_type, (kt.JointType.HINGE, kt.JointType.SLIDE))
    place = dict(zip(model.jnt_dofadr[scalar], model.jnt_qposadr[scalar], strict=True))
    for t in range(model.ntendon):
        for at in range(model.ten_J_rowadr[t], model.ten_J_rowadr[t] + model.ten_J_rownnz[t]):
            if model.ten_J_colind[at] in place:
                wanted = slope[t, place[model.ten_J_colind[at]]]
                same(data.ten_J[at], wanted, 3e-6, f"{name} ten_J of tendon {t}, dof {model.ten_J_colind[at]}")
