"""Forces of spatial tendons on bodies: cfrc_ext and cfrc_int against MuJoCo, and virtual work against joint forces."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.conformance import convert
from kinetree.conformance.states import copy_state, random_state
from kinetree.conformance.tolerances import FORCE, MACHINES_SOLVED
from kinetree.types import DisableBit, TendonType, TrnType, WrapType
from tests.dynamics.paired import MODELS
from tests.dynamics.test_tendon import tendon_tree
from tests.pipeline.both import Both, both, close, quietly

SEEDS = range(4)
PARTS = ("spring", "damper", "actuator", "armature")
TREES = [f"tree{seed}" for seed in range(8)]  # past spheres and cylinders, on either side and inside, over pulleys
HEAVY = [f"heavy{seed}" for seed in range(6)]  # through sites and over pulleys, with armature
SOURCES = ["tendons", *TREES, *HEAVY]


def source(name: str) -> mujoco.MjModel:
    """A model whose tendons have springs with a slack range, dampers of every order, and motors with gears."""
    if name == "tendons":
        return mujoco.MjModel.from_xml_path(str(MODELS / "tendons.xml"))
    heavy, seed = name.startswith("heavy"), int(name[-1])
    text = tendon_tree(seed, heavy)
    ball = re.search('name="([^"]*)" type="ball"', text)
    if ball:  # several outputs before those of the motors, so that outputs and actuators are numbered apart
        servo = f'<actuator><orientation joint="{ball[1]}" kp="2" kv=".1"/></actuator></mujoco>'
        text = text.replace("</mujoco>", servo)
    spec, rng = mujoco.MjSpec.from_string(text), np.random.default_rng(seed)
    for k, tendon in enumerate(spec.tendons):
        tendon.name = f"t{k}"
        tendon.stiffness, tendon.damping = rng.uniform(0.5, 3, size=3), rng.uniform(0.1, 1, size=3)
        tendon.springlength = np.sort(rng.uniform(0.1, 1.5, size=2))
        for _ in range(k % 3):
            motor = spec.add_actuator(trntype=mujoco.mjtTrn.mjTRN_TENDON, target=tendon.name)
            motor.gear[0], motor.gainprm[0] = rng.normal(), rng.uniform(1, 3)
            motor.damping = rng.uniform(0, 0.5, size=3)
            motor.armature = rng.uniform(0, 0.2) if heavy else 0.0
    return spec.compile()


def keep(mj: mujoco.MjModel, part: str) -> mujoco.MjModel:
    """Only one part of the forces of tendons is left."""
    groups = {
        "spring": ("tendon_stiffness", "tendon_stiffnesspoly"),
        "damper": ("tendon_damping", "tendon_dampingpoly", "actuator_damping", "actuator_dampingpoly"),
        "actuator": ("actuator_gainprm", "actuator_biasprm"),
        "armature": ("tendon_armature", "actuator_armature"),
    }
    for other, names in groups.items():
        for field in names if other != part else ():
            getattr(mj, field)[:] = 0.0
    return mj


def spatial_only(mj: mujoco.MjModel) -> mujoco.MjModel:
    """Nothing but spatial tendons and their actuators gives joint forces: no joint and no fixed tendon does."""
    fixed = mj.tendon_type == TendonType.FIXED
    on_joints = mj.actuator_trntype != TrnType.TENDON
    other = on_joints | np.where(on_joints, True, fixed[np.where(on_joints, 0, mj.actuator_trnid[:, 0])])
    for prefix, rows in (("jnt_stiffness", slice(None)), ("dof_damping", slice(None)), ("tendon_stiffness", fixed),
                         ("tendon_damping", fixed), ("actuator_damping", other)):  # fmt: skip
        getattr(mj, prefix)[rows] = 0.0
        getattr(mj, f"{prefix}poly")[rows] = 0.0
    mj.tendon_armature[fixed] = 0.0
    mj.actuator_armature[other] = 0.0
    mj.actuator_gainprm[other] = mj.actuator_biasprm[other] = 0.0
    mj.body_gravcomp[:] = 0.0
    return mj


def passed(pair: Both) -> Both:
    """After `forward` and the pass on both sides."""
    with quietly():
        kt.forward(pair.model, pair.ours)
    kt.rne_post_constraint(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)
    mujoco.mj_rnePostConstraint(pair.mj, pair.theirs)
    return pair


def agree(pair: Both, note: str) -> None:
    """All rows of the external wrenches, the world's too; and all but the world's of what joints carry."""
    scale = max(1.0, np.abs(pair.theirs.qacc).max())
    for name in ("cfrc_ext", "cfrc_int"):
        wanted = convert.body_force(pair.mj, pair.theirs, name)[name == "cfrc_int" :]
        got = getattr(pair.ours, name)[name == "cfrc_int" :]
        close(got / scale, wanted / scale, FORCE, f"{pair.model.title} {note}: {name}")
    assert not pair.ours.cfrc_ext[0].any(), "the world takes no force"


def work(model: kt.Model, data: kt.Data) -> np.ndarray:
    """Joint forces that do the work of the external wrenches, body by body."""
    total = np.zeros(model.nv)
    for b in range(1, model.nbody):
        along, about = kt.jac_body(model, data, b)
        total += about.T @ data.cfrc_ext[b, :3] + along.T @ data.cfrc_ext[b, 3:]
    return total


def tendon_jacobian(mj: mujoco.MjModel, data) -> np.ndarray:
    """ten_J as a matrix."""
    out = np.zeros((mj.ntendon, mj.nv))
    rows = np.repeat(np.arange(mj.ntendon), mj.ten_J_rownnz)
    out[rows, mj.ten_J_colind] = np.ravel(data.ten_J)
    return out


# against MuJoCo


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SOURCES)
def test_wrenches_equal_mujocos(name, seed):
    agree(passed(both(source(name), seed)), f"{name}, seed {seed}")


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", ["tendons", *TREES[:3], *HEAVY[:3]])
def test_each_part_alone_equals_mujocos(name, part):
    pair = both(keep(source(name), part), 5)
    pair.state_from(lambda data: data.xfrc_applied.fill(0.0))
    agree(passed(pair), f"{name}, {part} alone")
    if part != "armature" or name in ("tendons", *HEAVY):
        assert pair.ours.cfrc_ext.any()


@pytest.mark.parametrize("flag", ["SPRING", "DAMPER", "ACTUATION", "GRAVITY", "CLAMPCTRL"])
@pytest.mark.parametrize("name", ["tendons", "tree1", "heavy1"])
def test_flags_equal_mujocos(name, flag):
    agree(passed(both(source(name), 6, disable=int(DisableBit[flag]))), f"{name} without {flag}")


def test_flags_switch_off_their_own_part():
    flags = {"spring": DisableBit.SPRING, "damper": DisableBit.DAMPER, "actuator": DisableBit.ACTUATION}
    for part, flag in flags.items():
        pair = both(keep(source("tendons"), part), 6, disable=int(flag))
        pair.state_from(lambda data: data.xfrc_applied.fill(0.0))
        assert not passed(pair).ours.cfrc_ext.any(), part


def test_actuators_of_a_disabled_group_pull_no_more():
    mj = keep(source("tendons"), "actuator")
    mj.actuator_group[0] = 3
    pair = both(mj, 7, disableactuator=1 << 3)
    agree(passed(pair), "group 3 disabled")


@pytest.mark.parametrize("name", ["tendons", "heavy1", "heavy2"])
def test_after_inverse_equals_mujocos(name):
    """Armature resists the acceleration that the user gives."""
    pair = passed(both(source(name), 8))
    pair.state_from(lambda data: data.qacc.__imul__(-0.3))
    kt.inverse(pair.model, pair.ours)
    kt.rne_post_constraint(pair.model, pair.ours)
    mujoco.mj_inverse(pair.mj, pair.theirs)
    mujoco.mj_rnePostConstraint(pair.mj, pair.theirs)
    agree(pair, f"{name} after inverse")


def test_a_motor_behind_one_with_several_outputs_has_its_own_gear():
    text = """<mujoco model="outputs"><worldbody><site name="hook" pos="0 0 1"/><body name="b"><joint name="ball" type="ball"/>
      <geom size=".1" pos=".3 0 0"/><site name="s" pos=".3 .1 0"/></body></worldbody>
      <tendon><spatial name="rope"><site site="hook"/><site site="s"/></spatial></tendon>
      <actuator><orientation joint="ball" kp="1" kv="1"/><motor tendon="rope" gear="5"/></actuator></mujoco>"""
    pair = both(text, None)
    pair.state_from(lambda data: data.ctrl.__setitem__(3, -2.0))
    agree(passed(pair), "a pull of 10 N")
    assert np.linalg.norm(pair.ours.cfrc_ext[1, 3:]) == pytest.approx(10.0)


def test_the_models_have_every_kind_of_path():
    """Spheres and cylinders that are touched and not, with and without a side site, inside and outside, and pulleys."""
    kinds, touched, inside = set(), set(), 0
    for name in ("tendons", *TREES):
        mj = source(name)
        kinds |= set(mj.wrap_type)
        pair = passed(both(mj, 1))
        geoms = np.isin(mj.wrap_type, (WrapType.SPHERE, WrapType.CYLINDER))
        for w in np.flatnonzero(geoms):
            touched.add((int(mj.wrap_type[w]), mj.wrap_prm[w] >= 0, bool(pair.ours.wrap_touch[w] > 0.5)))
            side = int(mj.wrap_prm[w])
            if side >= 0:
                geom = mj.wrap_objid[w]
                gap = pair.theirs.geom_xmat[geom].reshape(3, 3).T @ (
                    pair.theirs.site_xpos[side] - pair.theirs.geom_xpos[geom]
                )
                flat = gap[: 2 if mj.wrap_type[w] == WrapType.CYLINDER else 3]
                inside += np.linalg.norm(flat) < mj.geom_size[geom, 0] and pair.ours.wrap_touch[w] > 0.5
    assert {WrapType.SITE, WrapType.SPHERE, WrapType.CYLINDER, WrapType.PULLEY, WrapType.JOINT} <= kinds
    assert len(touched) == 8, touched
    assert inside > 0, "no tendon turns at the inner side of a geom"


# virtual work


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("part", ["spring", "damper", "actuator"])
@pytest.mark.parametrize("name", ["tendons", *TREES, *HEAVY[:2]])
def test_wrenches_do_the_work_of_the_joint_forces(name, part, seed):
    """Sum over bodies of J^T wrench = ten_J^T force, which the passive and actuator forces of joints are."""
    pair = both(keep(spatial_only(source(name)), part), seed)
    pair.state_from(lambda data: data.xfrc_applied.fill(0.0))
    passed(pair)
    wanted = {"spring": "qfrc_spring", "damper": "qfrc_damper", "actuator": "qfrc_actuator"}[part]
    for engine, data in (("ours", pair.ours), ("MuJoCo's", pair.theirs)):
        close(
            work(pair.model, pair.ours),
            getattr(data, wanted),
            FORCE,
            f"{name}, seed {seed}: work against {engine} {wanted}",
        )


@pytest.mark.parametrize(
    "name", ["tendons", "heavy2", "heavy3", "heavy4"]
)  # no ball joint before a slide, as in test_tendon
def test_wrenches_of_armature_do_the_work_of_its_acceleration(name):
    """Sum over bodies of J^T wrench = - ten_J^T (armature times the second rate of the length), by central differences."""
    mj = keep(spatial_only(source(name)), "armature")
    pair = both(mj, 9)
    qpos, qvel, qacc = pair.theirs.qpos.copy(), pair.theirs.qvel, np.random.default_rng(9).normal(size=mj.nv)
    pair.state_from(lambda data: data.xfrc_applied.fill(0.0))
    pair.state_from(lambda data: data.qacc.__setitem__(slice(None), qacc))
    kt.inverse(pair.model, pair.ours)
    kt.rne_post_constraint(pair.model, pair.ours)
    mujoco.mj_inverse(pair.mj, pair.theirs)
    step, rates = 1e-4, []
    for h in (step, -step):
        probe = mujoco.MjData(mj)
        probe.qpos[:] = qpos
        mujoco.mj_integratePos(mj, probe.qpos, h * qvel + 0.5 * h * h * qacc, 1.0)
        mujoco.mj_kinematics(mj, probe)
        mujoco.mj_comPos(mj, probe)
        mujoco.mj_tendon(mj, probe)
        rates.append(tendon_jacobian(mj, probe) @ (qvel + h * qacc))
    armature = mj.tendon_armature.copy()
    for k in range(mj.nactuator):
        if mj.actuator_trntype[k] == TrnType.TENDON:
            armature[mj.actuator_trnid[k, 0]] += (
                mj.actuator_armature[k] * mj.actuator_gear[mj.actuator_outadr[k], 0] ** 2
            )
    force = -armature * (rates[0] - rates[1]) / (2 * step)
    assert force.any()
    close(work(pair.model, pair.ours), tendon_jacobian(mj, pair.theirs).T @ force, 1e-5, f"{name}: work of armature")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["tendons", *TREES, *HEAVY])
def test_joints_carry_what_is_applied_to_them_and_nothing_of_the_tendons(name, seed):
    """What a joint carries along its own motion is the force of the joint itself: here only what the user applies."""
    mj = spatial_only(source(name))
    for field in ("dof_armature", "tendon_armature", "actuator_armature"):
        getattr(mj, field)[:] = 0.0
    pair = passed(both(mj, seed))
    model, data = pair.model, pair.ours
    carried = np.einsum("ij,ij->i", data.cdof, data.cfrc_int[model.dof_bodyid])
    scale = max(1.0, np.abs(data.cfrc_int).max())
    close(carried / scale, data.qfrc_applied / scale, FORCE, f"{name}, seed {seed}: along the dofs")


# closed forms


ROPE = """<mujoco model="rope"><option><flag contact="disable"/></option><worldbody><site name="hook" pos="0 0 2"/>
  <body name="a" pos="0 0 1"><freejoint/><geom size=".1"/><site name="a" pos="0 0 .25"/></body>
  <body name="b" pos="3 4 1"><freejoint/><geom size=".1"/><site name="b" pos="0 0 .25"/></body></worldbody>
  <tendon><spatial name="rope" stiffness="{}" springlength="0">{}</spatial></tendon></mujoco>"""


def test_a_weight_on_a_spring():
    """Length .75: a pull of 8 N towards the hook; the hook hangs from the world, which takes none."""
    _, data = alone(ROPE.format(32 / 3, '<site site="hook"/><site site="a"/>'))
    close(data.cfrc_ext, [[0] * 6, [0, 0, 0, 0, 0, 8], [0] * 6], 1e-14, "cfrc_ext")


def test_a_rope_pulls_two_bodies_together():
    """Length 5: 10 N along [3, 4, 0] / 5, at the sites, a quarter above the origins."""
    _, data = alone(ROPE.format(2, '<site site="a"/><site site="b"/>'))
    pull = np.array([6.0, 8.0, 0.0])
    lever = np.cross([0, 0, 0.25], pull)
    close(data.cfrc_ext[1:], [[*lever, *pull], [*-lever, *-pull]], 1e-14, "cfrc_ext")


def test_a_pulley_shares_the_pull():
    """The second branch, of length 5, counts half: length .75 + 2.5, a pull of 6.5 N in the first and half in the second."""
    path = '<site site="hook"/><site site="a"/><pulley divisor="2"/><site site="a"/><site site="b"/>'
    _, data = alone(ROPE.format(2, path))
    close(data.cfrc_ext[1, 3:], [3.25 * 0.6, 3.25 * 0.8, 6.5], 1e-14, "on the first body")
    close(data.cfrc_ext[2, 3:], [-3.25 * 0.6, -3.25 * 0.8, 0], 1e-14, "on the second body")


def alone(text: str) -> tuple[kt.Model, kt.Data]:
    """Our side after the pass, in the initial state."""
    model = kt.load(text)
    data = kt.Data(model)
    with quietly():
        kt.forward(model, data)
    kt.rne_post_constraint(model, data)
    return model, data


def test_a_rope_within_one_system_gives_it_no_wrench():
    """Actio et reactio, also where it bends around a geom of a third body."""
    text = """<mujoco model="three"><worldbody>
      <body name="a"><freejoint/><geom size=".1"/><site name="a" pos="0 0 .1"/></body>
      <body name="b" pos="1 0 0"><freejoint/><geom name="drum" type="cylinder" size=".3 .5" euler="90 0 0"/></body>
      <body name="c" pos="2 0 0"><freejoint/><geom size=".1"/><site name="c" pos="0 0 .1"/></body></worldbody>
      <tendon><spatial stiffness="7" springlength="0"><site site="a"/><geom geom="drum"/><site site="c"/></spatial></tendon>
      </mujoco>"""
    model, data = alone(text)
    assert data.wrap_touch.any() and np.abs(data.cfrc_ext[1:]).max(axis=1).min() > 1.0
    moved = convert.move_force(data.cfrc_ext, data.xpos, np.zeros(3))
    close(moved.sum(axis=0), np.zeros(6), 1e-13, "sum of wrenches about one point")


def test_a_part_without_length_pulls_along_the_direction_that_its_jacobian_has():
    """Two sites at one place: ten_J takes the x axis there, in MuJoCo too; so do the wrenches, and free joints carry nothing.

    MuJoCo 4.0.0 gives no wrench there, and its free joints carry the force that moves their bodies.
    """
    text = ROPE.format(2, '<site site="a"/><site site="b"/><site site="hook"/>').replace('pos="3 4 1"', 'pos="0 0 1"')
    model, data = alone(text)
    close(work(model, data), data.qfrc_spring, 1e-14, "work")
    close(data.cfrc_ext[1, 3:], [1.5, 0, 0], 1e-14, "on the first body")
    close(data.cfrc_int[1:], np.zeros((2, 6)), 1e-13, "what the free joints carry")


# machines


@pytest.mark.parametrize("name", ["tendons", "tree1", "heavy1"])
def test_lanes_equal_floats(name):
    mj = source(name)
    mj.opt.disableflags |= int(DisableBit.CONSTRAINT)
    model = kt.load(mj)
    datas = [kt.Data(model) for _ in range(8)]
    for seed, data in enumerate(datas):
        copy_state(random_state(mj, np.random.default_rng(seed)), data)
    lanes = lanes_of(model, datas)
    for stage in (pipeline.forward, kt.rne_post_constraint):
        lanes.run(stage)
    for lane, data in enumerate(datas):
        pipeline.forward(model, data)
        kt.rne_post_constraint(model, data)
        for field in ("cfrc_ext", "cfrc_int"):
            got, wanted = getattr(lanes, field)[..., lane], getattr(data, field)
            close(got, wanted, MACHINES_SOLVED["float64"], f"{name} lane {lane}: {field}")
