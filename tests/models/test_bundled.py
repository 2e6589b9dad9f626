"""The bundled models are sound: MuJoCo compiles them, keeps them stable, and their poses make physical sense."""

import mujoco
import numpy as np
import pytest

import kinetree as kt

NAMES = [
    "arm", "ball_humanoid", "cartpole", "double_pendulum", "humanoid", "quadruped", "spinner", "tendon_finger",
]  # fmt: skip
SPEED_LIMIT = 100.0  # rad/s or m/s; a model that explodes passes it at once


@pytest.fixture(params=NAMES)
def model(request):
    return mujoco.MjModel.from_xml_path(str(kt.models.path(request.param)))


def named(model):
    return model.names[: model.names.index(b"\0")].decode()


def start(model, key):
    """Data at the initial state (key -1) or at a keyframe."""
    data = mujoco.MjData(model)
    if key >= 0:
        mujoco.mj_resetDataKeyframe(model, data, key)
    return data


def test_names_are_sorted_and_each_has_a_file():
    assert kt.models.names() == NAMES
    assert all(kt.models.path(name).is_file() for name in NAMES)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ("humanoyd", "no bundled model 'humanoyd'; did you mean 'humanoid' or 'ball_humanoid'?"),
        ("Quadruped", "no bundled model 'Quadruped'; did you mean 'quadruped'?"),
        ("arm.xml", "no bundled model 'arm.xml'; did you mean 'arm'?"),
        ("zzz", "no bundled model 'zzz'; known: arm, ball_humanoid"),
        ("", "no bundled model ''; known: arm"),
        ("../models/arm", "no bundled model '../models/arm'; "),
    ],
)
def test_unknown_name_suggests_the_nearest(wrong, message):
    with pytest.raises(ValueError) as problem:
        kt.models.path(wrong)
    assert str(problem.value).startswith(message)


@pytest.mark.parametrize("name", NAMES)
def test_loads_with_the_sizes_mujoco_sees(name):
    ours, theirs = kt.load(name), mujoco.MjModel.from_xml_path(str(kt.models.path(name)))
    for size in ("nbody", "njnt", "nq", "nv", "nu", "ngeom", "nsite", "nsensor", "ntendon", "nkey"):
        assert getattr(ours, size) == getattr(theirs, size), f"{name}: {size}"


@pytest.mark.parametrize("name", NAMES)
def test_model_is_called_like_its_file(name):
    assert named(mujoco.MjModel.from_xml_path(str(kt.models.path(name)))) == name


def test_poses_lie_inside_the_joint_ranges(model):
    for key in range(-1, model.nkey):
        qpos = start(model, key).qpos
        for j in range(model.njnt):
            kind, address, (low, high) = model.jnt_type[j], model.jnt_qposadr[j], model.jnt_range[j]
            where = f"{named(model)}, keyframe {key}, joint {model.joint(j).name}"
            if kind == mujoco.mjtJoint.mjJNT_BALL:
                quat = qpos[address : address + 4]
                angle = 2 * np.arctan2(np.linalg.norm(quat[1:]), quat[0])
                assert not model.jnt_limited[j] or angle <= high, f"{where}: {angle} > {high}"
            elif kind != mujoco.mjtJoint.mjJNT_FREE and model.jnt_limited[j]:
                assert low <= qpos[address] <= high, f"{where}: {qpos[address]} outside {low}..{high}"


def test_inertias_are_physical_and_not_symmetric_by_design(model):
    inertia = model.body_inertia[1:]
    assert (model.body_mass[1:] > 0).all()
    assert (inertia > 0).all()
    assert (2 * inertia.max(axis=1) <= inertia.sum(axis=1) * (1 + 1e-9)).all()  # triangle inequality
    turned = np.abs(model.body_iquat[:, 1:]).max(axis=1) > 1e-3
    offset = np.abs(model.body_ipos[:, 1]) > 1e-4
    assert (turned | offset).any(), "centred, aligned inertias everywhere would hide errors in the lever arms"


@pytest.mark.parametrize("driven", [False, True], ids=["passive", "driven"])
def test_two_seconds_in_mujoco_are_stable(model, driven):
    rng = np.random.default_rng(0)
    for key in range(-1, model.nkey):
        data = start(model, key)
        fastest = 0.0
        for step in range(round(2 / model.opt.timestep)):
            if driven and step % 50 == 0:
                data.ctrl[:] = rng.uniform(*model.actuator_ctrlrange.T)
            mujoco.mj_step(model, data)
            fastest = max(fastest, np.abs(data.qvel).max())
        assert not any(warning.number for warning in data.warning), f"{named(model)}, keyframe {key}: MuJoCo warned"
        assert np.isfinite(data.qpos).all() and fastest < SPEED_LIMIT, f"{named(model)}, keyframe {key}: {fastest}"


@pytest.mark.parametrize("key", ["stand", "squat"])
def test_humanoid_keyframes_stand_on_flat_feet(key):
    model = mujoco.MjModel.from_xml_path(str(kt.models.path("humanoid")))
    data = start(model, model.key(key).id)
    data.qpos[2] -= 1e-3  # the keyframe just touches the floor; press it in by a millimetre
    mujoco.mj_forward(model, data)
    assert data.ncon == 8, "each foot rests on both ends of two capsules"
    feet = data.contact.pos[:, :2]
    centre = data.subtree_com[1, :2]
    assert (feet.min(axis=0) < centre).all() and (centre < feet.max(axis=0)).all(), "falls over"
    assert np.abs(data.contact.dist + 1e-3).max() < 5e-4


def test_quadruped_stands_still_on_four_feet():
    model = mujoco.MjModel.from_xml_path(str(kt.models.path("quadruped")))
    data = start(model, model.key("stand").id)
    while data.time < 2:
        mujoco.mj_step(model, data)
    assert data.ncon == 4
    assert np.abs(data.qvel).max() < 0.05
    assert data.body("trunk").xmat.reshape(3, 3)[2, 2] > 0.98


def test_spinner_turns_over_about_its_intermediate_axis():
    model = mujoco.MjModel.from_xml_path(str(kt.models.path("spinner")))
    data = start(model, 0)
    middle = np.argsort(model.body_inertia[1])[1]
    mujoco.mj_forward(model, data)
    energy, spins = data.energy.sum(), []
    while data.time < 2:
        mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        omega = data.xmat[1].reshape(3, 3) @ data.qvel[3:]
        spins.append((data.ximat[1].reshape(3, 3).T @ omega)[middle])
    assert min(spins) < -14 and max(spins) > 14
    assert data.energy.sum() == pytest.approx(energy, rel=1e-6)


def test_finger_curls_when_its_flexor_is_pulled():
    model = mujoco.MjModel.from_xml_path(str(kt.models.path("tendon_finger")))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    straight = data.ten_length[0]
    data.ctrl[0] = 6.0
    while data.time < 1:
        mujoco.mj_step(model, data)
    assert data.ten_length[0] < straight - 0.005
    assert data.joint("knuckle").qpos[0] > 0.3 and data.joint("middle").qpos[0] > 0.3
