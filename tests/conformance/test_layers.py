"""Every layer against MuJoCo: the whole corpus and random trees, and proof that the layers compare what they claim."""

from __future__ import annotations

import dataclasses
import functools

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance import LAYERS, Outcome, check, markdown, random_state
from kinetree.conformance.compare import Pair
from kinetree.conformance.layers import CONTACT_LAYERS, SHIPPED_LAYERS, SLEEP_LAYERS, SMOOTH, SMOOTH_LAYERS
from kinetree.conformance.states import STATE_FIELDS, copy_state
from kinetree.conformance.touching import touching_state
from tests import corpora
from tests.conformance.test_kinematics import WRITTEN as POSITIONS
from tests.trees import random_tree, standing_tree

MODELS = dict(corpora.own_models())
ONE_STATE = [layer for layer in SMOOTH_LAYERS if layer.name != "trajectory"]
TRAJECTORY = SMOOTH_LAYERS[-1]
GEOMETRY = [layer.name for layer in CONTACT_LAYERS[:2]]  # of closed forms, of convex shapes
INTEGRATORS = (kt.Integrator.EULER, kt.Integrator.RK4, kt.Integrator.IMPLICIT, kt.Integrator.IMPLICITFAST)
FIELDS = {(layer.name, field.name): field for layer in LAYERS for field in layer.fields}

# Models whose motion is so violent, without constraints, that MuJoCo resets it on the way: both sides must then do the same.
RESET = {
    "tests/models/passive.xml": "springs far from their rest positions, too stiff for the time step",
    "tests/models/discrete.xml": "springs and servos far from their rest positions, at a rough time step",
}
# Fields that are zero in every model, and why.
ZERO = {
    ("forces", "qfrc_adhesion"): "adhesion acts in contacts, which are off in this layer",
}
# Layers in which MuJoCo may differ from itself, and why; in all others every number must agree.
FOUND, CONVEX_FOUND, ROWS, SOLVED, SENSED, INVERSE, DEFAULT, MOVED = (layer.name for layer in CONTACT_LAYERS)
(SHIPPED,), (ASLEEP,) = ((layer.name for layer in layers) for layers in (SHIPPED_LAYERS, SLEEP_LAYERS))
UNDECIDED = {
    # a motion so violent that MuJoCo, started 1e-13 away, is reset at another time
    "tests/models/discrete.xml": {TRAJECTORY.name},
    # an orientation servo at its limit, which implicitfast takes as limited or not
    "tests/models/actuators.xml": {SHIPPED},
    # of two cylinders' rims the corners that count; wedges that tumble over each other
    "tests/models/convex.xml": {CONVEX_FOUND, ROWS, SOLVED, INVERSE, DEFAULT, SHIPPED, ASLEEP},
    # edges on faces, chaotic motions
    "dm_control/locomotion/walkers/assets/build_fruitfly/assets/drosophila_fused.xml": {MOVED, SHIPPED, ASLEEP},
    # the normal of a capsule on an ellipsoid
    "dm_control/locomotion/walkers/assets/fruitfly_v2/floor.xml":
        {CONVEX_FOUND, ROWS, SOLVED, SENSED, INVERSE, DEFAULT, SHIPPED},
    # the normal of a capsule on an ellipsoid
    "dm_control/locomotion/walkers/assets/fruitfly_v2/fruitfly.xml": {CONVEX_FOUND, ROWS, INVERSE, SHIPPED},
    # fifty joints rattle between limits 0.02 rad apart
    "dm_control/locomotion/walkers/assets/humanoid_CMU_V2019.xml": {MOVED, SHIPPED, ASLEEP},
    # bodies overlap by 8 cm and throw each other about
    "dm_control/locomotion/walkers/assets/humanoid_CMU_V2020.xml": {MOVED, SHIPPED, ASLEEP},
    # one reading a millionth off, by the last digits of a motion
    "dm_control/mjcf/test_assets/robot_arm.xml": {SHIPPED},
    # the normal of an ellipsoid
    "dm_control/suite/humanoid_CMU.xml": {ROWS, INVERSE},
    # a reading that is all or nothing by the last digit
    "dm_control/third_party/ant/ant.xml": {SHIPPED},
    # starts with meshes deep in each other, at forces of 1e5 N
    "dm_control/third_party/kinova/jaco_arm.xml": {ROWS, SHIPPED},
    # a ball that touches the floor in a point, at distance zero up to rounding
    "gymnasium/envs/mujoco/assets/point.xml": {FOUND, CONVEX_FOUND, ROWS, MOVED, SHIPPED, ASLEEP},
    # started 1e-13 away, MuJoCo's own velocity differs by 2e-5 in the end
    "gymnasium_robotics/envs/assets/adroit_hand/adroit_door.xml": {SHIPPED},
    # a motion in which differences grow a millionfold
    "gymnasium_robotics/envs/assets/adroit_hand/adroit_pen.xml": {SHIPPED},
    # a ball that touches the floor in a point, at distance zero up to rounding
    "gymnasium_robotics/envs/mujoco/assets/point.xml": {FOUND, CONVEX_FOUND, ROWS, MOVED, SHIPPED, ASLEEP},
}  # fmt: skip
# Models in which contacts of convex shapes must be found.
CONVEX = (
    "dm_control/suite/dog.xml", "dm_control/suite/humanoid_CMU.xml", "dm_control/suite/quadruped(terrain)",
    "dm_control/locomotion/walkers/assets/rodent.xml", "dm_control/locomotion/walkers/assets/fruitfly_v2/fruitfly.xml",
    "dm_control/third_party/kinova/jaco_arm.xml", "gymnasium_robotics/envs/assets/fetch/push.xml",
    "gymnasium_robotics/envs/assets/kitchen_franka/kitchen_assets/kitchen_env_model.xml", "tests/models/convex.xml",
)  # fmt: skip
# Random trees that hang on the world too high, or have no shapes that collide.
HANGING = (0, 10, 11)
# Robots and toys that must be found in contact.
TOUCHING = (
    "kinetree/models/humanoid.xml", "kinetree/models/quadruped.xml", "dm_control/suite/humanoid.xml",
    "dm_control/suite/humanoid_CMU.xml", "dm_control/suite/cheetah.xml", "dm_control/suite/hopper.xml",
    "dm_control/suite/walker.xml", "dm_control/suite/quadruped.xml", "dm_control/suite/dog.xml",
    "dm_control/suite/manipulator.xml", "dm_control/suite/stacker(4)",
    "dm_control/locomotion/walkers/assets/rodent.xml", "gymnasium/envs/mujoco/assets/ant.xml",
    "gymnasium/envs/mujoco/assets/half_cheetah.xml", "gymnasium/envs/mujoco/assets/hopper.xml",
    "gymnasium/envs/mujoco/assets/humanoid.xml", "gymnasium/envs/mujoco/assets/walker2d.xml",
    "gymnasium_robotics/envs/assets/fetch/push.xml", "gymnasium_robotics/envs/assets/hand/manipulate_block.xml",
    "gymnasium_robotics/envs/assets/adroit_hand/adroit_door.xml", "tests/models/contacts.xml",
)  # fmt: skip

# What MuJoCo's stages write without constraints, beyond the positions (see test_kinematics) and what sleeps.
WRITTEN = {
    "mj_tendon": {"ten_length", "ten_J", "wrap_xpos"},
    "mj_makeM": {"crb", "M"},
    "mj_factorM": {"qLD", "qLDiagInv"},
    "mj_transmission": {"actuator_length", "actuator_moment"},
    "mj_fwdVelocity": {
        "cvel", "cdof_dot", "ten_velocity", "actuator_velocity", "qfrc_bias", "qfrc_spring", "qfrc_damper",
        "qfrc_gravcomp", "qfrc_fluid", "qfrc_adhesion", "qfrc_passive",
    },
    "mj_fwdActuation": {"act_dot", "actuator_force", "qfrc_actuator"},
    "mj_fwdAcceleration": {"qfrc_smooth", "qacc_smooth"},
    "mj_inverse": {"qfrc_inverse"},
    "mj_energyPos": {"energy"},
    "mj_energyVel": {"energy"},
}  # fmt: skip
THROUGH = {"qLD": "M x = y", "qLDiagInv": "M x = y"}  # compared by what they do


def assert_agrees(report):
    assert report.ok, str(report)


def assert_expected(entry, report):
    """Nothing differs, and nothing is undecided but where that is listed."""
    assert_agrees(report)
    assert {result.layer for result in report.undecided()} <= UNDECIDED.get(entry.name, set()), str(report)


def compared():
    """The models, each with a number of states: three of our own and of those in tables above, one of others but in soaks."""
    out = []
    for entry in corpora.entries():
        own = entry.name.startswith(("tests/", "kinetree/"))
        if own or entry.name in (*UNDECIDED, *CONVEX, *TOUCHING):
            out.append(pytest.param(entry, 3, id=entry.name))
        else:
            out.append(pytest.param(entry, 1, id=entry.name))
            out.append(pytest.param(entry, 3, id=f"{entry.name} three times", marks=pytest.mark.soak))
    return out


@pytest.mark.parametrize("entry, states", compared())
def test_corpus(entry, states):
    resets = []

    def oracle(model, data):
        start = data.time
        TRAJECTORY.oracle(model, data)
        resets.append(abs(data.time - start - 100 * model.opt.timestep) > 1e-9)

    watched = [*ONE_STATE, dataclasses.replace(TRAJECTORY, oracle=oracle)]
    assert_expected(entry, check(entry.source(), states, seed=0, name=entry.name, layers=watched))
    # Where MuJoCo leaves it open, it runs from states nearby too, to see how far it differs from itself.
    again = bool(UNDECIDED.get(entry.name, set()) & {TRAJECTORY.name})
    assert len(resets) >= states and (again or len(resets) == states)
    assert any(resets) == (entry.name in RESET), f"{entry.name}: resets in {resets}"


@pytest.mark.parametrize("entry, states", compared())
def test_corpus_in_contact(entry, states):
    report = check(entry.source(), states, seed=0, name=entry.name, layers=CONTACT_LAYERS)
    assert_expected(entry, report)
    found = {layer.name for layer in CONTACT_LAYERS if not report.empty(layer.name)}
    wanted = {layer.name for layer in CONTACT_LAYERS[2:]} if entry.name in (*TOUCHING, *CONVEX) else set()
    wanted |= {GEOMETRY[0]} if entry.name in TOUCHING else set()
    wanted |= {GEOMETRY[1]} if entry.name in CONVEX else set()
    assert wanted <= found, f"{entry.name}: {dict(report.counts)}"


@pytest.mark.parametrize("entry", corpora.entries(), ids=lambda entry: entry.name)
def test_corpus_asleep(entry):
    assert_expected(entry, check(entry.source(), states=1, seed=0, name=entry.name, layers=SLEEP_LAYERS))


@pytest.mark.parametrize("entry", corpora.entries(), ids=lambda entry: entry.name)
def test_corpus_as_shipped(entry):
    report = check(entry.source(), states=2, seed=0, name=entry.name, layers=SHIPPED_LAYERS)
    assert_expected(entry, report)


@pytest.mark.parametrize("seed", range(24))
def test_random_tree_in_contact(seed):
    """Every solver, cone and integrator, in turn."""
    solver, cone = ("Newton", "CG", "PGS")[seed % 3], ("pyramidal", "elliptic")[seed // 3 % 2]
    model = mujoco.MjModel.from_xml_string(standing_tree(seed, 3 + seed % 9, solver, cone))
    model.opt.integrator = INTEGRATORS[seed // 6]
    report = check(model, states=2, seed=seed, layers=CONTACT_LAYERS)
    assert_agrees(report)
    assert report.empty(GEOMETRY[0]) == (seed in HANGING) and not any(report.empty(x.name) for x in CONTACT_LAYERS[2:])


def test_the_trees_have_constraints_of_all_kinds():
    types = set()
    for seed in range(8):
        model = mujoco.MjModel.from_xml_string(standing_tree(seed, cone=("pyramidal", "elliptic")[seed % 2]))
        data = mujoco.MjData(model)
        touching_state(model, data, np.random.default_rng(seed))
        types |= set(data.efc_type.tolist())
    contacts = ("CONTACT_FRICTIONLESS", "CONTACT_PYRAMIDAL", "CONTACT_ELLIPTIC")
    wanted = ("EQUALITY", "FRICTION_DOF", "LIMIT_JOINT", *contacts)
    assert types >= {int(getattr(mujoco.mjtConstraint, f"mjCNSTR_{name}")) for name in wanted}


def test_nothing_to_compare_is_no_agreement():
    report = check("spinner", states=2)
    assert report.ok
    empty = [layer for layer in report.layers() if report.empty(layer)]
    assert empty == ["tendon", *(layer.name for layer in CONTACT_LAYERS)] and str(report).count("nothing") == len(empty)
    assert markdown([Outcome("spinner", report)]).count("| spinner | - | - | - |") == 1


def test_a_contact_that_only_one_side_has_is_a_difference():
    """Even where MuJoCo has none, so that there is nothing to compare on its side."""
    apart = '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 2"><joint type="slide" axis="1 0 0"/>'
    layers = [dataclasses.replace(CONTACT_LAYERS[0], run=_one_contact)]
    report = check(f'{apart}<geom size="0.1"/></body></worldbody></mujoco>', states=1, layers=layers)
    assert not report.ok and not report.empty("contact geometry") and "ncon" in str(report)


def _one_contact(model, data):
    kt.fwd_position(model, data)
    data._arrays["ncon"][0] = 1


@pytest.mark.parametrize("seed", range(40))
def test_random_tree(seed):
    tree = random_tree(seed, nbody=3 + seed % 14)
    assert_agrees(check(tree, states=4, seed=seed, layers=ONE_STATE))


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda integrator: integrator.name)
@pytest.mark.parametrize("seed", range(8))
def test_motion_of_a_random_tree(seed, integrator):
    """With armature: without any, light links of a random tree spin so fast that rounding decides where they end."""
    model = mujoco.MjModel.from_xml_string(random_tree(seed, nbody=3 + seed))
    model.dof_armature[:], model.dof_damping[:], model.opt.integrator = 0.05, 0.1, integrator
    assert_agrees(check(model, states=2, seed=seed, layers=SMOOTH_LAYERS))


@pytest.mark.parametrize("joints", ["hinge", "slide", "ball", "free", "slide hinge", "ball slide"])
def test_random_tree_of_few_joint_types(joints):
    tree = random_tree(7, nbody=9, joints=joints.split())
    assert_agrees(check(tree, states=3, layers=ONE_STATE))


def test_long_chain():
    """Sixty links: rounding must not grow past the tolerances of positions, inertia and forces."""
    tree = random_tree(11, nbody=60, massless=0.1)
    layers = [layer for layer in ONE_STATE if layer.name != "acceleration"]  # its condition number is beyond 1e7
    assert_agrees(check(tree, states=3, layers=layers))


@functools.cache
def largest():
    """The largest value that MuJoCo has in each field, over our models."""
    found = dict.fromkeys(FIELDS, 0.0)
    for path in MODELS.values():
        pair = Pair.of(path)
        random_state(pair.theirs_model, np.random.default_rng(1), pair.theirs)
        copy_state(pair.theirs, pair.ours)
        for layer in LAYERS:
            pair.run(layer, np.random.default_rng(1))
            for field in layer.fields:
                key, reference = (layer.name, field.name), pair.values(field)[1]
                found[key] = max(found[key], float(np.max(np.abs(reference), initial=0.0)))
    return found


@pytest.mark.filterwarnings("ignore::kinetree.SimulationWarning")
@pytest.mark.parametrize("key", FIELDS, ids="-".join)
def test_no_comparison_is_empty(key):
    """Agreement on zeros proves nothing: every field differs from zero in a model of ours."""
    assert (largest()[key] == 0.0) == (key in ZERO)


def test_a_trajectory_moves():
    pair = Pair.of("humanoid")
    random_state(pair.theirs_model, np.random.default_rng(0), pair.theirs)
    before = pair.theirs.qpos.copy()
    pair.run(TRAJECTORY, np.random.default_rng(0))
    assert np.max(np.abs(pair.ours.qpos - before)) > 0.1
    assert pair.ours_model.opt.disableflags & SMOOTH == 0, "the flags must be put back"


def test_the_users_model_stays_as_it_is():
    model = mujoco.MjModel.from_xml_path(str(MODELS["tests/models/servos.xml"]))
    before = (model.opt.disableflags, model.opt.enableflags, model.actuator_forcerange.copy())
    check(model, states=1)
    assert (model.opt.disableflags, model.opt.enableflags) == before[:2]
    assert np.array_equal(model.actuator_forcerange, before[2])


@pytest.mark.parametrize("stage", WRITTEN)
def test_layers_cover_all_that_mujoco_writes(stage):
    """Fill MuJoCo's fields with a marker, run one function, and see which fields changed: each must be compared."""
    models = [MODELS[f"tests/models/{name}.xml"] for name in ("servos", "passive", "tendons")]
    written = set().union(*(_written(path, stage) for path in models)) - {"qfrc_constraint"}  # zero without constraints
    assert written == WRITTEN[stage]
    assert {THROUGH.get(name, name) for name in written} <= {field for _, field in FIELDS}


def _written(path, stage):
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= SMOOTH
    data = random_state(model, np.random.default_rng(0))
    mujoco.mj_forward(model, data)
    stages = list(WRITTEN)
    inputs = set(STATE_FIELDS) | {"qacc"} | set().union(*POSITIONS.values())
    inputs |= set().union(*(WRITTEN[earlier] for earlier in stages[: stages.index(stage)])) - WRITTEN[stage]
    skipped = ("_", "efm_", "efc_", "iefc_")  # fields in the arena, which move with its allocations
    names = [name for name in dir(data) if not name.startswith(skipped) and name not in inputs]
    arrays = {n: a for n in names if isinstance(a := getattr(data, n), np.ndarray) and a.dtype == float and a.size}
    for array in arrays.values():
        array[...] = 777.125
    getattr(mujoco, stage)(model, data)
    return {name for name, array in arrays.items() if np.any(array != 777.125)}
