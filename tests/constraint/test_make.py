"""Constraint rows against MuJoCo, type by type: Jacobian, violation, impedance, velocity and reference."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import CONSTRAINT_ROWS
from kinetree.constraint.make import make_constraint
from kinetree.kernel import interpret
from kinetree.memory import START
from kinetree.types import Cone, Constraint, DisableBit, EnableBit, Jacobian, JointType
from tests import corpora
from tests.constraint.paired_rows import agree, at_rest, finish, in_state, make_rows, our_jacobian, put_contacts, update
from tests.dynamics.paired import MODELS, Pair, same
from tests.trees import random_tree

EQUALITIES, LIMITS, CONTACTS = (MODELS / f"{name}.xml" for name in ("equalities", "limits", "contacts"))
EQUALITY_NAMES = (
    "connect", "connect_world", "connect_sites", "weld", "weld_world", "weld_mocap", "weld_sites", "joint", "joint_alone",
    "tendon", "tendon_alone",
)  # fmt: skip
# Corpus models that come to touch something within some steps of MuJoCo.
IN_CONTACT = {
    "dm_control/suite/humanoid.xml": 300, "dm_control/suite/quadruped.xml": 200, "dm_control/suite/cheetah.xml": 300,
    "dm_control/suite/hopper.xml": 300, "dm_control/suite/walker.xml": 300, "dm_control/suite/humanoid_CMU.xml": 300,
    "dm_control/suite/dog.xml": 60, "dm_control/suite/manipulator.xml": 100, "dm_control/suite/finger.xml": 100,
    "dm_control/suite/reacher.xml": 50, "gymnasium/envs/mujoco/assets/ant.xml": 200,
    "gymnasium_robotics/envs/assets/hand/reach.xml": 100, "gymnasium_robotics/envs/assets/fetch/pick_and_place.xml": 50,
    "kinetree/models/humanoid.xml": 300, "kinetree/models/quadruped.xml": 200, "tests/models/tendons.xml": 50,
    "dm_control/suite/stacker(4)": 200,
}  # fmt: skip


def corpus(name: str):
    """The source of a corpus model."""
    return next(entry for entry in corpora.entries() if entry.name == name).source()


def only(name: str):
    """Switch off every other equality."""

    def change(mj: mujoco.MjModel, theirs: mujoco.MjData) -> None:
        theirs.eq_active[:] = 0
        theirs.eq_active[mj.eq(name).id] = 1

    return change


def beyond_limits(mj: mujoco.MjModel, theirs: mujoco.MjData) -> None:
    """Half of the joints at or past their limits."""
    rng = np.random.default_rng(int(1e6 * theirs.time))
    for j in range(mj.njnt):
        a = mj.jnt_qposadr[j]
        if mj.jnt_type[j] in (JointType.SLIDE, JointType.HINGE):
            low, high = mj.jnt_range[j]
            theirs.qpos[a] = low + (high - low) * rng.uniform(-0.5, 1.5)
        elif mj.jnt_type[j] == JointType.BALL:
            axis, angle = rng.normal(size=3), rng.uniform(-np.pi, np.pi)
            theirs.qpos[a : a + 4] = np.append(np.cos(angle), np.sin(angle) * axis / np.linalg.norm(axis))


@pytest.mark.parametrize("jacobian", [Jacobian.DENSE, Jacobian.SPARSE])
@pytest.mark.parametrize("name", EQUALITY_NAMES)
def test_each_equality(name, jacobian):
    for seed in range(3):
        pair = in_state(EQUALITIES, seed, change=only(name), jacobian=jacobian)
        assert pair.ours.ne > 0
        agree(pair, f"{name} {seed}")


def test_all_equalities_and_none():
    pair = in_state(EQUALITIES, 4, change=lambda mj, theirs: theirs.eq_active.fill(1))
    agree(pair, "all")
    assert pair.ours.ne == 3 * 3 + 4 * 6 + 4
    pair.theirs.eq_active[:] = 0
    update(pair)
    agree(pair, "none")
    assert pair.ours.ne == 0


@pytest.mark.parametrize("seed", range(6))
def test_limits_and_friction_losses(seed):
    agree(in_state(LIMITS, seed, change=beyond_limits), str(seed))


def test_limits_reach_every_kind_and_side():
    found = set()
    for seed in range(20):
        pair = in_state(LIMITS, seed, change=beyond_limits, jacobian=seed % 2)
        agree(pair, str(seed))
        rows = range(pair.ours.ne + pair.ours.nf, pair.ours.nefc)
        found |= {(pair.ours.efc_type[r], pair.ours.efc_id[r], our_jacobian(pair.ours)[r].sum() > 0) for r in rows}
    joints = {(Constraint.LIMIT_JOINT, j, s) for j in (0, 1, 2) for s in (True, False)}
    tendons = {(Constraint.LIMIT_TENDON, t, s) for t in (0, 1, 2) for s in (True, False)}
    assert joints | tendons <= found and {i for kind, i, _ in found if kind == Constraint.LIMIT_JOINT} >= {3, 4}


def test_ball_limit_near_no_rotation():
    """A ball joint that is not turned has the x axis, as MuJoCo has it."""

    def change(mj, theirs):
        mj.jnt_range[3] = 0.0, 0.01
        theirs.qpos[mj.jnt_qposadr[3] :][:4] = 1.0, 0.0, 0.0, 0.0
        theirs.qpos[mj.jnt_qposadr[4] :][:4] = -0.2, 0.1, 0.3, 0.2

    agree(at_rest(LIMITS, change))


@pytest.mark.parametrize("cone", [Cone.PYRAMIDAL, Cone.ELLIPTIC])
@pytest.mark.parametrize("impratio", [1.0, 5.0, 0.3])
def test_contacts_of_every_dimension(cone, impratio):
    for jacobian in (Jacobian.DENSE, Jacobian.SPARSE):
        pair = at_rest(CONTACTS, cone=cone, impratio=impratio, jacobian=jacobian)
        agree(pair, str(jacobian))
        active = pair.ours.contact_efc_address >= 0
        assert set(pair.ours.contact_dim[active]) == {1, 3, 4, 6}
        assert (pair.ours.contact_exclude == 3).sum() == 4, "the belt lies on the ground, and neither can move"


@pytest.mark.parametrize("cone", [Cone.PYRAMIDAL, Cone.ELLIPTIC])
def test_contacts_in_motion(cone):
    for seed in range(3):
        agree(in_state(CONTACTS, seed, steps=20, cone=cone), str(seed))


def test_adhesion_in_the_gap_and_moving_surfaces_occur():
    pair = at_rest(CONTACTS)
    tacky = pair.ours.contact_dist > pair.ours.contact_includemargin
    assert (pair.ours.contact_efc_address[tacky] >= 0).any() and pair.model.flg_adhesion
    assert (pair.ours.contact_surfacevel[pair.ours.contact_efc_address >= 0] != 0.0).any() and pair.model.flg_surfacevel


# parameters


def random_solrefs(rng: np.random.Generator, n: int) -> np.ndarray:
    """References of all forms: standard, too fast for the time step, direct, mixed signs."""
    standard = np.stack([rng.uniform(0.0005, 0.1, n), rng.uniform(0.2, 2.0, n)], 1)
    direct = -np.stack([rng.uniform(0.0, 1000.0, n), rng.uniform(0.0, 100.0, n)], 1)
    mixed = standard * [1.0, -1.0]
    return np.stack([standard, direct, mixed, -mixed])[rng.integers(0, 4, n), np.arange(n)]


def random_solimps(rng: np.random.Generator, n: int) -> np.ndarray:
    """Impedances of all forms: also flat, of no width, out of bounds, of power 1, 2 and others."""
    out = np.stack([rng.uniform(-0.2, 1.2, n), rng.uniform(-0.2, 1.2, n), rng.uniform(-0.1, 1.0, n),
                    rng.uniform(-0.2, 1.2, n), rng.choice([0.5, 1.0, 2.0, 3.0, 1.7, 6.2], n)], 1)  # fmt: skip
    flat = rng.random(n) < 0.15
    out[flat, 1] = out[flat, 0]
    return out


@pytest.mark.parametrize("disable", [0, DisableBit.REFSAFE])
@pytest.mark.parametrize("source", [EQUALITIES, LIMITS], ids=lambda path: path.stem)
def test_every_form_of_solref_and_solimp(source, disable):
    mujoco.set_mju_user_warning(lambda message: None)  # it warns of mixed signs
    try:
        for seed in range(12):
            rng = np.random.default_rng(seed)

            def change(mj, theirs, rng=rng):
                mj.opt.disableflags |= disable
                for kind in ("eq_sol", "jnt_sol", "dof_sol", "tendon_sol"):
                    for end in ("", "_lim", "_fri"):
                        if hasattr(mj, f"{kind}ref{end}"):
                            ref, imp = getattr(mj, f"{kind}ref{end}"), getattr(mj, f"{kind}imp{end}")
                            ref[:], imp[:] = random_solrefs(rng, len(ref)), random_solimps(rng, len(imp))
                if source == LIMITS:
                    beyond_limits(mj, theirs)

            agree(in_state(source, seed, change=change), str(seed))
    finally:
        mujoco.set_mju_user_warning(None)


@pytest.mark.parametrize("cone", [Cone.PYRAMIDAL, Cone.ELLIPTIC])
def test_every_form_of_contact_parameters(cone):
    """Set on the contacts themselves, between MuJoCo's collision and its rows."""
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        for seed in range(6):
            rng, pair = np.random.default_rng(seed), at_rest(CONTACTS, cone=cone)
            mj, theirs, model, ours = pair
            n = theirs.ncon
            theirs.contact.solref[:] = random_solrefs(rng, n)
            theirs.contact.solreffriction[:] = np.where(rng.random((n, 1)) < 0.3, 0.0, random_solrefs(rng, n))
            theirs.contact.solimp[:] = random_solimps(rng, n)
            theirs.contact.friction[:] = rng.uniform(1e-5, 2.0, (n, 5))
            mujoco.mj_makeConstraint(mj, theirs)
            mujoco.mj_fwdVelocity(mj, theirs)
            make_rows(model, ours, theirs)
            agree(pair, str(seed))
    finally:
        mujoco.set_mju_user_warning(None)


@pytest.mark.parametrize("source", [EQUALITIES, LIMITS, CONTACTS], ids=lambda path: path.stem)
def test_exact_diagonal(source):
    for cone in Cone:
        agree(at_rest(source, enableflags=int(EnableBit.DIAGEXACT), cone=cone), str(cone))


# what is left out


@pytest.mark.criteria("P-STAGE-FLAGS-CONTACT")
@pytest.mark.parametrize("flag", ["EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT", "CONSTRAINT"])
@pytest.mark.parametrize("source", [EQUALITIES, LIMITS, CONTACTS], ids=lambda path: path.stem)
def test_disabled_rows(source, flag):
    pair = at_rest(source, disableflags=int(DisableBit[flag]))
    agree(pair, flag)
    count = {"EQUALITY": pair.ours.ne, "FRICTIONLOSS": pair.ours.nf, "LIMIT": pair.ours.nl, "CONTACT": pair.ours.ncon}
    assert count.get(flag, pair.ours.nefc) == 0


def test_contacts_that_are_there_though_disabled():
    pair = at_rest(CONTACTS)
    pair.model.opt.disableflags |= DisableBit.CONTACT
    make_constraint(pair.model, pair.ours)
    assert pair.ours.ncon > 0 and pair.ours.nefc == 0 and (pair.ours.contact_efc_address == -1).all()


EMPTY_ROWS = """
<mujoco>
  <worldbody>
    <body name="ghost" mocap="true"/>
    <body name="a">
      <joint name="j"/>
      <geom size=".1"/>
      <site name="s" pos=".1 0 0"/>
      <site name="t" pos=".2 0 0"/>
      <body name="b" pos="1 0 0"><geom size=".1"/></body>
    </body>
  </worldbody>
  <tendon>
    <spatial name="rope" limited="true" range=".5 1" frictionloss=".1"><site site="s"/><site site="t"/></spatial>
    <fixed name="nothing" frictionloss=".1"><joint joint="j" coef="0"/></fixed>
  </tendon>
  <equality>
    <weld body1="a" body2="b"/>
    <connect body1="a" body2="b" anchor="0 0 0"/>
    <connect body1="a" body2="b" anchor="0 0 .1"/>
    <tendon tendon1="rope"/>
    <weld body1="ghost"/>
    <joint joint1="j" polycoef="0.1"/>
  </equality>
</mujoco>"""


@pytest.mark.parametrize("jacobian", list(Jacobian))
def test_empty_rows(jacobian):
    """Rows that cannot move anything: a dense Jacobian has none of them, a sparse one those with columns."""

    def change(mj, theirs):
        mj.eq_data[1, 3:6] += 0.1  # turning moves two separate points of one body against each other

    pair = at_rest(EMPTY_ROWS, change, jacobian=jacobian)
    agree(pair, jacobian.name)
    assert pair.ours.nefc == (17 if jacobian == Jacobian.SPARSE else 4)


def test_nothing_that_moves():
    pair = at_rest(
        "<mujoco><worldbody><geom size='.1'/><body pos='.1 0 0'><geom size='.1'/></body></worldbody></mujoco>"
    )
    agree(pair)
    assert pair.ours.nefc == 0


# whole models


@pytest.mark.parametrize("name", IN_CONTACT)
def test_corpus_models(name):
    source = corpus(name)
    for seed, cone in enumerate(Cone):
        pair = in_state(source, seed, steps=IN_CONTACT[name], cone=cone)
        agree(pair, f"{name} {cone.name}")


@pytest.mark.parametrize("seed", range(4))
def test_random_trees(seed):
    """Welds and connects between any two bodies of a tree, which share part of their ancestors."""
    spec = mujoco.MjSpec.from_string(random_tree(seed, nbody=12))
    names = [body.name for body in spec.bodies[1:]]
    rng = np.random.default_rng(seed)
    for k in range(6):
        first, second = rng.choice(names, 2, replace=False)
        kind = (mujoco.mjtEq.mjEQ_WELD, mujoco.mjtEq.mjEQ_CONNECT)[k % 2]
        data = np.append(rng.normal(size=10), [0.7, 0.0])  # torque scale, and that the pose is given
        spec.add_equality(type=kind, objtype=mujoco.mjtObj.mjOBJ_BODY, name1=str(first), name2=str(second), data=data)
    agree(in_state(spec.compile(), seed), f"tree {seed}")


# room


@pytest.mark.parametrize("jacobian", list(Jacobian))
@pytest.mark.parametrize("source", [LIMITS, CONTACTS], ids=lambda path: path.stem)
def test_the_jacobian_is_stored_as_the_model_wants(source, jacobian):
    """Dense or sparse, number by number as MuJoCo has it."""
    pair = in_state(source, 3, jacobian=jacobian, **({"change": beyond_limits} if source == LIMITS else {}))
    ours, theirs = pair.ours, pair.theirs
    assert 0 < ours.nJ <= theirs.nJ  # where MuJoCo drops rows without entries, it leaves room for them
    same(ours.efc_J, theirs.efc_J[: ours.nJ], CONSTRAINT_ROWS, f"{source.stem} {jacobian.name} efc_J")
    if jacobian != Jacobian.SPARSE:
        assert ours.nJ == ours.nefc * pair.model.nv
    else:
        for name in ("efc_J_rownnz", "efc_J_rowadr", "efc_J_colind"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name


def test_rows_grow_from_no_room():
    """A fresh Data has room for few rows and entries; after growing, the rows are the same as with ample room."""
    pair = at_rest(CONTACTS, cone=Cone.ELLIPTIC)
    agree(pair)
    assert pair.ours.nefc > START and pair.ours.nJ > START
    tight, ample = kt.Data(pair.model), kt.Data(pair.model)
    ample._make_room(dict.fromkeys(ample._arrays.capacity, 4096))
    for data in (tight, ample):
        for name in ("xpos", "xmat", "xquat", "cdof", "qvel", "cvel", "cdof_dot"):
            getattr(data, name)[:] = getattr(pair.ours, name)
        make_rows(pair.model, data, pair.theirs)
    for name in ("efc_type", "efc_J", "efc_J_colind", "efc_J_rowsuper", "efc_D", "efc_aref"):
        assert np.array_equal(getattr(tight, name), getattr(ample, name)), name


@pytest.mark.parametrize("jacobian", [Jacobian.DENSE, Jacobian.SPARSE])
@pytest.mark.parametrize("room", ["maxefc", "maxJ"])
def test_rows_that_do_not_fit_are_counted_and_left_out(room, jacobian):
    """Compiled code writes nothing beyond its room: one row or one entry too few, and there are no rows but a note.

    In a dense Jacobian trees without entries are taken out of rows: before that they need room too.
    """
    for source in (EQUALITIES, LIMITS, CONTACTS):
        pair = at_rest(source, jacobian=jacobian)
        needed = {"maxefc": pair.ours.nefc, "maxJ": int(pair.ours._arrays["nJ"][0])}[room]
        ours = pair.ours
        ours._make_room({**ours._arrays.capacity, "maxefc": 1000, "maxJ": 10000, room: needed - 1})
        put_contacts(ours, pair.theirs)
        record = ours.record()
        interpret(make_constraint, pair.model.record(), record)
        assert record.overflow[0] == 1 and record.nefc[0] == 0, source.stem
        found = int(max(record.needed))
        assert found == needed or (found > needed and jacobian == Jacobian.DENSE), f"{source.stem}: {record.needed}"
        ours._make_room({**ours._arrays.capacity, room: found})
        ours._arrays["overflow"][0] = 0
        put_contacts(ours, pair.theirs)
        interpret(make_constraint, pair.model.record(), ours.record())
        assert ours.overflow == 0 and ours.nefc == pair.theirs.nefc, source.stem


def test_no_rows_while_contacts_lack_room():
    pair = at_rest(CONTACTS)
    record = pair.ours.record()
    record.overflow[0], record.ncon[0] = 1, 10**6
    interpret(make_constraint, pair.model.record(), record)
    assert record.nefc[0] == 0


@pytest.mark.parametrize("source", [EQUALITIES, LIMITS, CONTACTS], ids=lambda path: path.stem)
def test_plain_python_equals_compiled(source):
    for cone in Cone:
        pair = at_rest(source, cone=cone)
        plain = pair.ours.copy()
        for name in ("efc_J", "efc_D", "efc_KBIP", "efc_diagA"):
            plain._arrays[name][:] = 0.0
        interpret(make_constraint, pair.model.record(), plain.record())
        agree(Pair(pair.mj, pair.theirs, pair.model, plain), "plain Python")


def test_supernodes_are_rows_with_equal_columns():
    pair = finish(*state_of_contacts())
    ours = pair.ours
    columns = [tuple(ours.efc_J_colind[a : a + n]) for a, n in zip(ours.efc_J_rowadr, ours.efc_J_rownnz, strict=True)]
    for row, more in enumerate(ours.efc_J_rowsuper):
        alike = 0
        while row + alike + 1 < len(columns) and columns[row + alike + 1] == columns[row]:
            alike += 1
        assert more == alike, f"row {row}: {more} against {alike}"


def state_of_contacts():
    """MuJoCo's side of the model with contacts, and that nothing is to be changed."""
    mj = mujoco.MjModel.from_xml_path(str(CONTACTS))
    return mj, mujoco.MjData(mj), 0, None
