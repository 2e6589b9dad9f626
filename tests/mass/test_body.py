"""Bodies of a model and back: against MuJoCo's masses and inertias, its mj_setConst and its compiler."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import MASS
from tests import corpora
from tests.mass.bodies import assert_same, random_body, rotation
from tests.test_model import unequal, values

MP = kt.MassProperties

SIMPLE = """<mujoco><worldbody>
<body name="free" pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3"/></body>
<body name="hinge" pos="1 0 1"><joint axis="0 1 0"/><geom type="box" size=".1 .2 .3"/></body>
<body name="parent" pos="2 0 1"><joint axis="0 1 0" pos="0 0 .1"/><geom type="box" size=".1 .2 .3"/>
  <body name="child" pos="0 0 1"><joint type="ball"/><geom size=".1"/></body></body>
<body name="slides" pos="1 0 3"><joint type="slide" axis="0 1 0"/><joint type="slide" axis="1 0 0"/>
  <geom type="box" size=".1 .2 .3"/></body>
<body name="ball" pos="4 0 1"><joint type="ball"/><geom type="box" size=".1 .2 .3"/></body>
<body name="fixed" pos="0 4 1"><geom type="box" size=".1 .2 .3"/></body>
</worldbody></mujoco>"""
NAMES = ("free", "hinge", "parent", "child", "slides", "ball", "fixed")
# The compiler alone measures statistics and arranges bounding volumes; mj_setConst keeps the first and fits the second.
COMPILED = {f"stat.{name}" for name in ("meaninertia", "meanmass", "meansize", "extent", "center")}
COMPILED |= {"bvh_nodeid", "bvh_child", "bvh_depth", "bvh_aabb"}


def edited_by_mujoco(xml: str, name: str, model: kt.Model) -> mujoco.MjModel:
    """The same model compiled anew with the inertial element that ours has."""
    spec, b = mujoco.MjSpec.from_string(xml), model.id("body", name)
    body = spec.body(name)
    body.explicitinertial = True
    body.mass, body.ipos, body.iquat, body.inertia = (
        getattr(model, field)[b] for field in ("body_mass", "body_ipos", "body_iquat", "body_inertia")
    )
    body.fullinertia = [np.nan] * 6
    return spec.compile()


def edited_in_place(model: kt.Model, name: str, new: kt.Model) -> mujoco.MjModel:
    """MuJoCo's own edit of a compiled model, with the numbers that ours has."""
    theirs, b = model.to_mujoco(), model.id("body", name)
    for field in ("body_mass", "body_ipos", "body_iquat", "body_inertia"):
        getattr(theirs, field)[b] = getattr(new, field)[b]
    mujoco.mj_setConst(theirs, mujoco.MjData(theirs))
    return theirs


# into a model


@pytest.mark.parametrize("name", NAMES)
def test_equals_a_model_compiled_anew(name):
    """Every declared field, sizes and the pattern of M included."""
    model = kt.load(SIMPLE)
    body = random_body(np.random.default_rng(5))
    new = kt.set_body_mass_properties(model, name, body)
    assert_same(MP.from_body(new, name), body)
    theirs = edited_by_mujoco(SIMPLE, name, new)
    different = [row for row in unequal(name, values(new), values(theirs)) if row[1] not in COMPILED]
    assert not different
    assert (
        model.nC == kt.load(SIMPLE).nC
        and values(model)["body_mass"].tolist() == values(kt.load(SIMPLE))["body_mass"].tolist()
    )


@pytest.mark.parametrize("name", NAMES)
def test_equals_mj_setconst_where_that_will_do(name):
    """A body that keeps its centre and axes, and so stays simple: MuJoCo's edit in place."""
    model = kt.load(SIMPLE)
    body = MP.solid_box(7, 0.3, 0.7, 0.2)
    new = kt.set_body_mass_properties(model, name, body)
    assert not unequal(name, values(new), values(edited_in_place(model, name, new)))
    assert new.body_inertia[model.id("body", name)].tolist() == np.diag(body.inertia).tolist()
    assert new.sizes is model.sizes, "a Data of the old model still fits"


@pytest.mark.parametrize(
    "label", ["humanoid", "quadruped", "tendon_finger", "arm", "tests/models/joints.xml", "tests/models/tendons.xml"]
)
def test_bodies_of_larger_models(label):
    """Compiled anew; and by MuJoCo's edit in place, every field, where the body was not simple."""
    path = dict(corpora.own_models()).get(label) or kt.models.path(label)
    rng, model, xml = np.random.default_rng(3), kt.load(path), path.read_text(encoding="utf-8")
    for b in rng.permutation(np.arange(1, model.nbody))[:4]:
        name = model.name("body", int(b))
        if not name:
            continue
        new = kt.set_body_mass_properties(model, name, random_body(rng))
        different = unequal(f"{label} {name}", values(new), values(edited_by_mujoco(xml, name, new)))
        assert not [row for row in different if row[1] not in COMPILED]
        if not model.body_simple[b]:
            assert not unequal(f"{label} {name}", values(new), values(edited_in_place(model, name, new)))


@pytest.mark.parametrize("name", NAMES)
def test_the_new_model_moves_as_mujocos_does(name):
    model = kt.load(SIMPLE)
    model.opt.disableflags = kt.DisableBit.CONSTRAINT
    new = kt.set_body_mass_properties(model, name, random_body(np.random.default_rng(6)))
    theirs = new.to_mujoco()
    ours, reference = kt.Data(new), mujoco.MjData(theirs)
    ours.qvel = reference.qvel[:] = np.random.default_rng(0).normal(size=new.nv)
    kt.step(new, ours, nstep=50)
    mujoco.mj_step(theirs, reference, 50)
    np.testing.assert_allclose(ours.qpos, reference.qpos, atol=1e-9)
    np.testing.assert_allclose(ours.qvel, reference.qvel, atol=1e-9)


def test_a_model_from_a_binary_file_can_be_edited_too(tmp_path):
    mj = mujoco.MjModel.from_xml_string(SIMPLE)
    mujoco.mj_saveModel(mj, str(tmp_path / "model.mjb"))
    new = kt.set_body_mass_properties(kt.load(tmp_path / "model.mjb"), "free", random_body(np.random.default_rng(5)))
    assert new.nC == mj.nC + 15 and new.body_simple[1] == 0


def test_names_callbacks_and_other_bodies_stay():
    model = kt.load(SIMPLE)
    model.callbacks.control = print
    new = kt.set_body_mass_properties(model, "free", random_body(np.random.default_rng(5)))
    assert new.names("body") == model.names("body") and new.callbacks.control is print and new.title == model.title
    assert new.body_simple.tolist() == [b if i != 1 else 0 for i, b in enumerate(model.body_simple)]


def test_what_cannot_be_is_told():
    model = kt.load(SIMPLE)
    for name, body, error, reason in (
        ("free", MP.rod(1, 2), kt.ModelError, "body 'free': .*three positive principal moments"),
        ("free", MP.diagonal(1, 1, 1, 3), kt.ModelError, "body 'free': .*triangle"),
        ("free", MP.zero(), kt.ModelError, "to have a mass"),
        ("free", 3.0, TypeError, "expected mass properties, got float"),
        ("fre", MP.solid_sphere(1, 1), KeyError, "did you mean 'free'"),
        (0, MP.solid_sphere(1, 1), ValueError, "the world"),
    ):
        with pytest.raises(error, match=reason):
            kt.set_body_mass_properties(model, name, body)
    with pytest.raises(TypeError, match="expected a kinetree Model"):
        kt.set_body_mass_properties("model", "free", MP.solid_sphere(1, 1))
    assert kt.set_body_mass_properties(model, "free", MP.rod(1, 2), regularise=1e-6).body_inertia[
        1
    ].min() == pytest.approx(1e-6)
    assert kt.set_body_mass_properties(model, "fixed", MP.point_mass(1, (1, 2, 3))).body_inertia[-1].max() == 0


# from a model


@pytest.mark.parametrize("label", ["humanoid", "quadruped", "tests/models/joints.xml"])
def test_bodies_and_subtrees_are_mujocos(label):
    path = dict(corpora.own_models()).get(label) or kt.models.path(label)
    theirs = mujoco.MjModel.from_xml_path(str(path))
    model, data, rng = kt.load(theirs), mujoco.MjData(theirs), np.random.default_rng(0)
    mujoco.mj_resetData(theirs, data)
    velocity = rng.normal(size=theirs.nv)
    mujoco.mj_integratePos(theirs, data.qpos, velocity, 0.5)
    mujoco.mj_forward(theirs, data)
    for b in range(theirs.nbody):
        subtree = MP.from_subtree(model, b, data.qpos, frame="world")
        assert subtree.mass == pytest.approx(theirs.body_subtreemass[b], rel=1e-12)
        np.testing.assert_allclose(subtree.cg, data.subtree_com[b], rtol=0, atol=1e-11)
        if b == 0:
            continue
        assert_same(
            MP.from_subtree(model, b, data.qpos),
            subtree.transform(data.xmat[b].reshape(3, 3).T, data.xpos[b]),
            scale=100,
        )
        xx, yy, zz, xy, xz, yz, *_ = data.crb[b]
        root_com = data.subtree_com[theirs.body_rootid[b]]
        np.testing.assert_allclose(
            subtree.inertia_components_about_point(root_com),
            (xx, yy, zz, xy, xz, yz),
            rtol=0,
            atol=1e-10 * max(1, abs(zz)),
        )
        own = MP.from_body(model, b)
        axes = rotation(theirs.body_iquat[b])
        assert own.mass == theirs.body_mass[b]
        np.testing.assert_allclose(own.inertia, axes @ np.diag(theirs.body_inertia[b]) @ axes.T, atol=MASS)


def test_a_subtree_of_one_body_is_the_body():
    model = kt.load(SIMPLE)
    assert_same(MP.from_subtree(model, "child"), MP.from_body(model, "child"))
    rigid = MP.from_subtree(model, "parent")
    own = MP.from_body(model, "parent") + MP.from_body(model, "child").translated((0, 0, 1))
    assert_same(rigid, own)
    with pytest.raises(ValueError, match="frame"):
        MP.from_subtree(model, "parent", frame="moon")
    with pytest.raises(ValueError, match="qpos"):
        MP.from_subtree(model, "parent", qpos=(1, 2))
    with pytest.raises(TypeError, match="Model"):
        MP.from_body(SIMPLE, "parent")
