"""The corpora are complete: every file is accounted for, every refusal is named, every kind of element occurs."""

from __future__ import annotations

from fnmatch import fnmatch

import mujoco
import numpy as np
import pytest

import kinetree as kt
from tests import corpora
from tests.trees import random_tree

OWN = corpora.own_models()

# Enum members that no model of ours can have, and why.
ABSENT = {
    "mjTRN_UNDEFINED": "means there is no transmission",
    "mjEQ_DISTANCE": "no longer compiled",
    "mjEQ_FLEX": "flex is refused",
    "mjEQ_FLEXVERT": "flex is refused",
    "mjEQ_FLEXSTRAIN": "flex is refused",
    "mjGEOM_SDF": "signed distance fields are refused",
    "mjWRAP_NONE": "means there is no wrap object",
}
KINDS = {
    "jnt_type": "mjtJoint",
    "cam_mode": "mjtCamLight",
    "light_mode": "mjtCamLight",
    "body_sameframe": "mjtSameFrame",
    "geom_sameframe": "mjtSameFrame",
    "site_sameframe": "mjtSameFrame",
    "geom_type": "mjtGeom",
    "actuator_trntype": "mjtTrn",
    "actuator_dyntype": "mjtDyn",
    "actuator_gaintype": "mjtGain",
    "actuator_biastype": "mjtBias",
    "tendon_type": "mjtTendon",
    "wrap_type": "mjtWrap",
    "eq_type": "mjtEq",
    "sensor_type": "mjtSensor",
}
# An inertial frame is compared with the body frame alone.
ABSENT_IN = {
    "body_sameframe": {"mjSAMEFRAME_INERTIA", "mjSAMEFRAME_INERTIAROT"},
}


@pytest.fixture(scope="module")
def compiled():
    return {name: mujoco.MjModel.from_xml_path(str(path)) for name, path in OWN}


@pytest.mark.parametrize("field", KINDS)
def test_our_models_have_every_kind(field, compiled):
    """Every member of every type enum occurs in a model of ours, but for those listed with a reason."""
    last = int(mujoco.mjtGeom.mjGEOM_SDF) if field == "geom_type" else None
    members = getattr(mujoco, KINDS[field]).__members__
    wanted = {name: int(v) for name, v in members.items() if last is None or int(v) <= last}
    present = set().union(*(set(np.unique(getattr(model, field)).tolist()) for model in compiled.values()))
    absent = {name for name, value in wanted.items() if value not in present}
    expected = {name for name in wanted if name in ABSENT} | ABSENT_IN.get(field, set())
    assert absent == expected, f"{field}: missing {sorted(absent - expected)}, unexpected {sorted(expected - absent)}"


def test_our_models_have_the_hard_cases(compiled):
    joints_per_body = [tuple(m.jnt_type[a : a + n].tolist()) for m in compiled.values()
                       for a, n in zip(m.body_jntadr, m.body_jntnum, strict=True) if n > 1]  # fmt: skip
    hinge, slide, ball = (int(getattr(mujoco.mjtJoint, f"mjJNT_{n}")) for n in ("HINGE", "SLIDE", "BALL"))
    for combination in ((hinge, hinge), (slide, hinge), (ball, slide), (hinge, ball), (slide, slide, slide)):
        assert combination in joints_per_body, f"no body with joints {combination}"
    assert any(m.nmocap > 1 for m in compiled.values()), "no model with several mocap bodies"
    keys = compiled["tests/models/mocap.xml"]
    key = keys.key("reach")
    assert key.time[0] > 0 and np.any(key.ctrl) and np.any(key.act) and np.any(key.mpos) and np.any(key.qvel)
    massless = compiled["tests/models/massless.xml"]
    empty = (massless.body_mass == 0) & (massless.body_subtreemass > 0)
    assert np.count_nonzero(empty[1:]) >= 3, "no massless bodies with massive descendants"
    assert np.any(empty & (massless.body_jntnum > 0)), "no massless body with a joint"


@pytest.mark.parametrize("pattern", corpora.UNLOADABLE)
def test_unloadable_files_are_not_loaded_by_mujoco(pattern):
    files = [file for package in corpora.PACKAGES for file in corpora.package_files(package)]
    matching = [(name, path) for name, path in files if fnmatch(name, pattern)]
    assert matching, f"{pattern} matches no file any more"
    for name, path in matching:
        with pytest.raises(ValueError):
            mujoco.MjModel.from_xml_path(str(path))
            pytest.fail(f"MuJoCo loads {name}: it belongs to the corpus")


def test_exactly_the_listed_models_are_refused():
    """The corpus itself loads (see test_layers); of the models with features we lack each one must be refused."""
    assert {name for name, _ in corpora.refused_models()} == set(corpora.REFUSED)


@pytest.mark.parametrize("name", corpora.REFUSED)
def test_refusal_names_the_feature(name):
    path = dict(corpora.refused_models())[name]
    assert mujoco.MjModel.from_xml_path(str(path)).nbody > 1, "MuJoCo must load what we refuse"
    with pytest.raises(kt.UnsupportedFeatureError) as refusal:
        kt.load(path)
    for word in corpora.REFUSED[name]:
        assert word in str(refusal.value), f"{name}: {refusal.value} does not name {word!r}"


def test_names_are_unique_and_paths_are_relative():
    names = [entry.name for entry in corpora.entries()]
    assert len(names) == len(set(names))
    assert not any(name.startswith("/") for name in names)
    for part in ("dm_control/suite/humanoid.xml", "dm_control/locomotion/walkers/assets/rodent.xml",
                 "gymnasium/envs/mujoco/assets/ant.xml", "gymnasium_robotics/envs/assets/hand/reach.xml",
                 "tests/models/joints.xml", "tests/models/arm.urdf", "kinetree/models/humanoid.xml"):  # fmt: skip
        assert part in names


def test_random_trees_are_reproducible_and_hard():
    assert random_tree(5) == random_tree(5)
    assert random_tree(5) != random_tree(6)
    models = [mujoco.MjModel.from_xml_string(random_tree(seed, nbody=8)) for seed in range(40)]
    assert {int(t) for m in models for t in m.jnt_type} == {0, 1, 2, 3}
    assert any(np.any(m.body_jntnum == 3) for m in models)
    assert any(np.any((m.body_mass == 0) & (m.body_subtreemass > 0) & (np.arange(m.nbody) > 0)) for m in models)
    # Branching: a moving body with two children or more.
    assert any(np.any(np.bincount(m.body_parentid[1:], minlength=m.nbody)[1:] > 1) for m in models)
    for model in models:
        moving = model.body_jntnum > 0
        assert np.all(np.linalg.norm(model.jnt_pos[model.jnt_type != mujoco.mjtJoint.mjJNT_FREE], axis=1) > 0)
        assert np.any(moving)
        for body in np.flatnonzero(model.body_mass):
            assert np.linalg.norm(model.body_ipos[body]) > 0


def test_random_tree_rejects_unknown_joints():
    with pytest.raises(ValueError, match="universal"):
        random_tree(0, joints=("universal",))
