"""Lengths and moment arms of actuators: every transmission against MuJoCo, and moments against slopes of lengths."""

from __future__ import annotations

import casadi
import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.states import copy_state
from kinetree.conformance.tolerances import FORCE, KINEMATICS, MACHINES
from kinetree.dynamics.configuration import integrate_pos
from kinetree.dynamics.transmission import actuator_velocities, transmission
from kinetree.kernel import JIT, compiled, float_machine, interpret, machine, symbolic_record
from kinetree.types import DisableBit, JointType, TrnType
from tests.corpora import entries
from tests.dynamics.paired import MODELS, Pair, paired, same
from tests.trees import random_tree

ACTUATORS, SERVOS = MODELS / "actuators.xml", MODELS / "servos.xml"
QUATERNIONS = [(1, 0, 0, 0), (-1, 0, 0, 0), (0, 0, 0, 0), (0, 1, 0, 0), (2, 0, 0, 1), (1, 1e-9, 0, 0)]
SLOPE_TOLERANCE = 1e-7  # of central differences with a step of 1e-5


def run(pair: Pair) -> None:
    transmission(pair.model, pair.ours)
    if JIT:
        compiled(actuator_velocities, float_machine())(pair.model.address, pair.ours.address)
    else:
        actuator_velocities(pair.model.record(), pair.ours.record())


def actuator_moment(model, data) -> np.ndarray:
    """The sparse moments as a matrix (nout, nv): MuJoCo lists no entry that is zero, we list all that may differ from it."""
    out = np.zeros((model.nout, model.nv))
    for row, (first, count) in enumerate(zip(data.moment_rowadr, data.moment_rownnz, strict=True)):
        out[row, data.moment_colind[first : first + count]] = data.actuator_moment[first : first + count]
    return out


def agree(pair: Pair, note: str = "") -> None:
    what = f"{pair.model.title} {note}"
    same(pair.ours.actuator_length, pair.theirs.actuator_length, KINEMATICS, f"{what} actuator_length")
    mine, reference = actuator_moment(pair.model, pair.ours), actuator_moment(pair.mj, pair.theirs)
    same(mine, reference, KINEMATICS, f"{what} actuator_moment")
    same(pair.ours.actuator_velocity, pair.theirs.actuator_velocity, FORCE, f"{what} actuator_velocity")


def with_actuators(seed: int, nbody: int = 9) -> mujoco.MjModel:
    """A random tree with motors on all its joints and between random pairs of its sites."""
    rng = np.random.default_rng(seed)
    spec = mujoco.MjSpec.from_string(random_tree(seed, nbody))
    joints = [(j.name, j.type) for j in spec.joints]
    sites = [s.name for s in spec.sites if s.name]

    def add(**target):
        gear = rng.normal(size=6)
        part = rng.integers(3)  # a gear that only pulls, only turns, or both
        gear[: 3 if part == 1 else 0] = 0.0
        gear[3 if part == 2 else 6 :] = 0.0
        spec.add_actuator(gear=gear, **target)

    for name, kind in joints:
        add(trntype=mujoco.mjtTrn.mjTRN_JOINT, target=name)
        add(trntype=mujoco.mjtTrn.mjTRN_JOINTINPARENT, target=name)
        if kind == mujoco.mjtJoint.mjJNT_BALL:
            spec.add_actuator(trntype=mujoco.mjtTrn.mjTRN_JOINT, target=name, **so3())
    for _ in range(6):
        site, ref = (str(s) for s in rng.choice(sites, size=2))
        add(trntype=mujoco.mjtTrn.mjTRN_SITE, target=site)
        add(trntype=mujoco.mjtTrn.mjTRN_SITE, target=site, refsite=ref)
        rod = rng.uniform(0.1, 2.0)
        add(trntype=mujoco.mjtTrn.mjTRN_SLIDERCRANK, target=site, slidersite=ref, cranklength=rod)
        spec.add_actuator(trntype=mujoco.mjtTrn.mjTRN_SITE, target=site, refsite=ref, **so3())
    return spec.compile()


def so3() -> dict:
    return {"gaintype": mujoco.mjtGain.mjGAIN_SO3, "biastype": mujoco.mjtBias.mjBIAS_SO3, "gainprm": [1.0] + [0.0] * 9,
            "biasprm": [0.0, -1.0] + [0.0] * 8, "ctrlspec": 1}  # fmt: skip


# against MuJoCo


@pytest.mark.parametrize("entry", entries(), ids=lambda e: e.name)
def test_equals_mujoco_on_the_corpora(entry):
    for seed in range(2):
        pair = paired(entry.source(), seed)
        run(pair)
        agree(pair, f"state {seed}")


@pytest.mark.parametrize("seed", range(8))
def test_equals_mujoco_on_random_trees(seed):
    mj = with_actuators(seed)
    for state in range(3):
        pair = paired(mj, state)
        run(pair)
        agree(pair, f"tree {seed} state {state}")


def test_every_transmission_is_met():
    models = [kt.load(path) for path in (ACTUATORS, SERVOS)]
    met = {(TrnType(t), -1 if t >= 2 else int(m.jnt_type[j])) for m in models
           for t, (j, _) in zip(m.actuator_trntype, m.actuator_trnid, strict=True)}  # fmt: skip
    assert {t for t, _ in met} == set(TrnType) - {TrnType.UNDEFINED}
    assert {j for t, j in met if t == TrnType.JOINT} == set(JointType)
    assert {j for t, j in met if t == TrnType.JOINTINPARENT} == set(JointType) - {JointType.SLIDE}


@pytest.mark.parametrize("reach", [0.0, 0.05, 0.3, 0.31, 0.5])
def test_slider_crank_at_and_beyond_its_reach(reach):
    """A pin at 0.3 from the slider's axis: a shorter rod does not reach it, one of that length just does."""
    text = f"""<mujoco><worldbody><site name="slider"/><body><joint axis="0 0 1" type="slide"/><joint axis="0 1 0"/>
      <geom size=".1" pos=".1 0 0"/><site name="pin" pos=".3 0 .2"/></body></worldbody>
      <actuator><motor cranksite="pin" slidersite="slider" cranklength="{max(reach, 0.01)}" gear="2"/></actuator></mujoco>"""
    mj = mujoco.MjModel.from_xml_string(text)
    mj.actuator_cranklength[:] = reach
    pair = paired(mj, 0)
    pair.theirs.qpos[:] = pair.ours.qpos[:] = 0.0
    mujoco.mj_forward(pair.mj, pair.theirs)
    kt.fwd_position(pair.model, pair.ours)
    run(pair)
    agree(pair, f"rod {reach}")


@pytest.mark.parametrize("quat", QUATERNIONS)
def test_rotations_of_no_turn_half_a_turn_and_no_length(quat):
    text = """<mujoco><worldbody><site name="world"/><body><joint name="j" type="ball"/><geom size=".1" pos=".1 0 0"/>
      <site name="s"/></body></worldbody><actuator>
      <motor joint="j" gear=".3 .5 .1"/><motor jointinparent="j" gear=".3 .5 .1"/><orientation joint="j"/>
      <motor site="s" refsite="world" gear="0 0 0 1 2 3"/><orientation site="s" refsite="world"/></actuator></mujoco>"""
    pair = paired(text, 0)
    pair.theirs.qpos[:] = pair.ours.qpos[:] = quat
    pair.theirs.qvel[:] = pair.ours.qvel
    mujoco.mj_fwdPosition(pair.mj, pair.theirs)
    mujoco.mj_fwdVelocity(pair.mj, pair.theirs)
    kt.fwd_position(pair.model, pair.ours)
    run(pair)
    agree(pair, f"quaternion {quat}")


def test_actuation_disabled_leaves_lengths_and_stops_velocities():
    pair = paired(SERVOS, 1, disable=int(DisableBit.ACTUATION))
    run(pair)
    agree(pair, "actuation disabled")
    assert not pair.ours.actuator_velocity.any() and pair.ours.actuator_length.any()


# what a moment is


def test_rows_follow_each_other_with_rising_columns_within_the_room_mujoco_reserves():
    for source in (ACTUATORS, SERVOS, *(with_actuators(seed) for seed in range(4))):
        pair = paired(source, 0)
        run(pair)
        data = pair.ours
        first, count = data.moment_rowadr, data.moment_rownnz
        assert np.array_equal(first, np.concatenate([[0], np.cumsum(count)[:-1]]))
        assert count.sum() <= pair.model.nJmom
        for row in range(pair.model.nout):
            columns = data.moment_colind[first[row] : first[row] + count[row]]
            assert np.all(np.diff(columns) > 0), f"{pair.model.title} row {row}: {columns}"


def test_dofs_that_move_both_sites_are_left_out():
    pair = paired(SERVOS, 0)
    run(pair)
    model, data = pair.model, pair.ours
    rows = {name: model.actuator_outadr[model.id("actuator", name)] for name in ("same_body", "ground", "site_pid")}
    assert data.moment_rownnz[rows["same_body"]] == 0
    assert data.moment_rownnz[rows["ground"]] == 0
    first = data.moment_rowadr[rows["site_pid"]]  # hand and shoulder share the ball joint
    shared = model.jnt_dofadr[model.id("joint", "shoulder")] + np.arange(3)
    assert not set(data.moment_colind[first : first + data.moment_rownnz[rows["site_pid"]]]) & set(shared)


SLOPED = {
    "actuators": ["motor", "slider_crank", "affine_gain"],
    "servos": ["crank", "crank_on_ground", "unreachable"],
}


@pytest.mark.parametrize("name", [name for names in SLOPED.values() for name in names])
def test_moments_are_slopes_of_lengths(name):
    """For transmissions on joints and slider-cranks (a reference site that turns, and rotations, are not that simple)."""
    source = next(MODELS / f"{model}.xml" for model, names in SLOPED.items() if name in names)
    pair = paired(source, 4)
    model, data = pair.model, pair.ours
    run(pair)
    row, wanted = model.actuator_outadr[model.id("actuator", name)], actuator_moment(model, data)
    q, h = data.qpos.copy(), 1e-5
    slopes = np.zeros(model.nv)
    for v in range(model.nv):
        lengths = []
        for sign in (1.0, -1.0):
            data.qpos[:] = integrate_pos(model, q, sign * np.eye(model.nv)[v], h)
            kt.fwd_position(model, data)
            transmission(model, data)
            lengths.append(data.actuator_length[row])
        slopes[v] = (lengths[0] - lengths[1]) / (2 * h)
    same(wanted[row], slopes, SLOPE_TOLERANCE, f"{model.title} {name} slope")


def test_a_wrench_at_a_site_does_the_same_as_mujocos_apply_ft():
    pair = paired(ACTUATORS, 2)
    run(pair)
    mj, theirs, model = pair.mj, pair.theirs, pair.model
    site, k = model.id("site", "rotor"), model.id("actuator", "site")
    axes = theirs.site_xmat[site].reshape(3, 3)
    gear = model.actuator_gear[model.actuator_outadr[k]]
    wanted = np.zeros(mj.nv)
    body = int(mj.site_bodyid[site])
    mujoco.mj_applyFT(mj, theirs, axes @ gear[:3], axes @ gear[3:], theirs.site_xpos[site], body, wanted)
    same(actuator_moment(model, pair.ours)[model.actuator_outadr[k]], wanted, KINEMATICS, "site moment")


# machines


@pytest.mark.parametrize("source", [ACTUATORS, SERVOS], ids=lambda p: p.stem)
@pytest.mark.parametrize("dtype, width", [("float64", 8), ("float32", 16)])
def test_lanes_equal_floats(source, dtype, width):
    # Without contacts, whose slots `transmission` alone would not make common to all worlds.
    pairs = [paired(source, seed, disable=int(DisableBit.CONTACT)) for seed in range(width)]
    model = pairs[0].model
    lanes = lanes_of(model, [pair.ours for pair in pairs], dtype)
    lanes.run(transmission)
    compiled(actuator_velocities, machine(dtype, width))(model.address, lanes.address)
    out = kt.Data(model)
    for lane, pair in enumerate(pairs):
        run(pair)
        lanes.store(lane, out)
        for name in ("actuator_length", "actuator_moment", "actuator_velocity", "moment_colind", "moment_rownnz"):
            what = f"{dtype} lane {lane} {name}"
            same(getattr(out, name), getattr(pair.ours, name), MACHINES[dtype], what)


@pytest.mark.parametrize("source", [ACTUATORS, SERVOS], ids=lambda p: p.stem)
def test_symbols_and_plain_python_equal_floats(source):
    pair = paired(source, 3)
    model, data = pair.model, pair.ours
    plain = data.copy()
    q, v = casadi.SX.sym("q", model.nq), casadi.SX.sym("v", model.nv)
    record = symbolic_record(data, qpos=q, qvel=v)
    symbols = symbolic_record(model)
    for stage in (kt.kinematics, kt.com_pos, transmission, actuator_velocities):
        interpret(stage, symbols, record)
        interpret(stage, model.record(), plain.record())
    names = ("actuator_length", "actuator_moment", "actuator_velocity")
    function = casadi.Function("f", [q, v], [casadi.vertcat(*getattr(record, name)) for name in names])
    run(pair)
    for name, value in zip(names, function(data.qpos, data.qvel), strict=True):
        same(value.full().ravel(), getattr(data, name), MACHINES["float64"], f"symbols {name}")
        same(getattr(plain, name), getattr(data, name), MACHINES["float64"], f"plain Python {name}")


# A gripper that holds on to what it touches: the floor, a ball in the gap of the contact, and its own second finger.
GRIPPER = """<mujoco model="gripper"><option cone="{cone}"/><worldbody><geom type="plane" size="1 1 1"/>
  <body name="palm" pos="0 0 .2"><freejoint/><geom type="box" size=".2 .1 .05"/>
    <body name="finger" pos=".2 0 0"><joint axis="0 1 0"/><geom type="capsule" fromto=".1 0 0 .4 0 0" size=".04"/></body></body>
  <body name="ball" pos=".1 0 .42"><freejoint/><geom size=".1" condim="{condim}" gap=".1"/></body></worldbody>
  <actuator><adhesion body="palm" ctrlrange="0 1" gain="3"/><adhesion body="finger" ctrlrange="0 2" gain="2"/>
    <adhesion body="ball" ctrlrange="0 1"/></actuator></mujoco>"""


def gripper_states(cone: str, condim: int) -> list[Pair]:
    """Lying on the floor, held above it, with the ball in the gap, on the palm and away."""
    pairs = []
    mj = mujoco.MjModel.from_xml_string(GRIPPER.format(cone=cone, condim=condim))
    for palm, ball in (
        (0.04, 0.3),
        (0.2, 0.42),
        (0.2, 0.34),
        (0.045, 0.19),
        (0.2, 0.9),
        (0.03, 0.09),
        (0.02, 0.9),
        (0.5, 0.66),
    ):
        pair = paired(mj, seed=len(pairs))
        theirs = pair.theirs
        mujoco.mj_resetData(mj, theirs)
        theirs.qpos[2], theirs.qpos[7], theirs.qpos[10] = palm, 0.3, ball
        theirs.qpos[8] = 0.6 if ball == 0.09 else 0.1
        theirs.ctrl[:] = 0.7
        theirs.qvel[:] = np.random.default_rng(len(pairs)).normal(size=mj.nv)
        copy_state(theirs, pair.ours)
        mujoco.mj_forward(mj, theirs)
        kt.forward(pair.model, pair.ours)
        pairs.append(pair)
    return pairs


@pytest.mark.parametrize("condim", [1, 3, 6])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_adhesion_of_a_body(cone, condim):
    """It pulls along the mean normal of the body's contacts, those in the gap among them."""
    pairs = gripper_states(cone, condim)
    for k, pair in enumerate(pairs):
        assert pair.ours.ncon == pair.theirs.ncon
        agree(pair, f"state {k}")
        same(pair.ours.qfrc_actuator, pair.theirs.qfrc_actuator, FORCE, f"state {k} qfrc_actuator")
        same(pair.ours.actuator_force, pair.theirs.actuator_force, FORCE, f"state {k} actuator_force")
    excluded = set().union(*(pair.theirs.contact.exclude.tolist() for pair in pairs))
    assert {0, 1} <= excluded and {pair.theirs.ncon > 0 for pair in pairs} == {True, False}


def test_adhesion_of_a_body_on_lanes():
    """Worlds with different contacts share the pattern of the row, but not its values."""
    pairs = gripper_states("pyramidal", 3)
    model = pairs[0].model
    lanes = lanes_of(model, [pair.ours for pair in pairs])
    lanes.run(kt.fwd_position)
    for lane, pair in enumerate(pairs):
        a, wanted = lanes.arrays, actuator_moment(model, pair.ours)
        got = np.zeros_like(wanted)
        for row, (first, count) in enumerate(zip(a["moment_rowadr"], a["moment_rownnz"], strict=True)):
            got[row, a["moment_colind"][first : first + count]] = a["actuator_moment"][first : first + count, lane]
        same(got, wanted, MACHINES["float64"], f"lane {lane} actuator_moment")
