"""The prescribed motion stays inside the ranges; its velocities are the derivatives MuJoCo computes from positions."""

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.cli.motion import FRAME_RATE, sweep_joints

NAMES = kt.models.names()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [0, 7])
def test_velocity_is_the_derivative_of_position(name, seed):
    model = kt.load(name)
    motion, oracle = sweep_joints(model, 2.0, seed), model.to_mujoco()
    difference = np.zeros(model.nv)
    for k in range(1, len(motion.time) - 1):  # central differences: error ~ q''' dt^2 / 6 < 1e-2
        before, after = motion.qpos[k - 1], motion.qpos[k + 1]
        mujoco.mj_differentiatePos(oracle, difference, 2 / FRAME_RATE, before, after)
        worst = np.argmax(np.abs(difference - motion.qvel[k]))
        assert abs(difference[worst] - motion.qvel[k, worst]) < 1e-2, (
            f"{name}, frame {k}, dof {worst}: {motion.qvel[k, worst]} but MuJoCo {difference[worst]}"
        )


@pytest.mark.parametrize("name", NAMES)
def test_stays_inside_the_ranges(name):
    model = kt.load(name)
    motion = sweep_joints(model, 10.0)
    for j in range(model.njnt):
        q, (low, high) = model.jnt_qposadr[j], model.jnt_range[j]
        path = motion.qpos[:, q]
        if model.jnt_type[j] == kt.JointType.FREE:
            assert np.ptp(motion.qpos[:, q + 2]) == 0, f"{name}: a free joint leaves its height"
            assert np.ptp(path) <= 0.61, f"{name}: a free joint wanders"
        elif model.jnt_type[j] == kt.JointType.BALL:
            angle = 2 * np.arccos(np.clip(path, -1, 1))
            assert not model.jnt_limited[j] or angle.max() <= high, f"{name}, {model.name('joint', j)}"
        elif model.jnt_limited[j]:
            assert low <= path.min() and path.max() <= high, f"{name}, {model.name('joint', j)}"
            assert np.ptp(path) > 0.2 * (high - low), f"{name}, {model.name('joint', j)} hardly moves"


def test_quaternions_have_unit_length_and_seeds_differ():
    model = kt.load("ball_humanoid")
    motion = sweep_joints(model, 1.0, seed=3)
    for q in [3, *model.jnt_qposadr[model.jnt_type == kt.JointType.BALL]]:
        np.testing.assert_allclose(np.linalg.norm(motion.qpos[:, q : q + 4], axis=1), 1.0, atol=1e-12)
    assert np.array_equal(motion.qpos, sweep_joints(model, 1.0, seed=3).qpos)
    assert not np.array_equal(motion.qpos, sweep_joints(model, 1.0, seed=4).qpos)


@pytest.mark.parametrize("seconds, frames", [(5.0, 501), (0.01, 2), (1e-9, 2), (1.234, 124)])
def test_number_of_frames(seconds, frames):
    assert len(sweep_joints(kt.load("cartpole"), seconds).time) == frames


def test_model_without_joints():
    motion = sweep_joints(kt.load("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>"), 1.0)
    assert motion.qpos.shape == (101, 0) and motion.qvel.shape == (101, 0)
