"""The error at the predicted pose: on the manifold, the shortest way round, smooth at zero, settled at half a turn."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.states import random_quaternion
from kinetree.control.arrays import Arrays, entry
from kinetree.control.forward import run_evaluate
from kinetree.control.solvers import SOLVERS
from tests.control.reference import controller, position_error, problem
from tests.trees import random_tree

BALL = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="ball" type="ball"/>
  <inertial pos="0 0 0" mass="1" diaginertia=".1 .2 .15"/></body></worldbody></mujoco>"""
AXES = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 2, 3], [-1, 2, 3], [0, -1, 1], [-1e-16, 1, 0]]
FREE = BALL.replace('type="ball"', 'type="free"')


def about(axis, angle):
    """The quaternion of a turn."""
    axis = np.asarray(axis, float)
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis / np.linalg.norm(axis)])


def error_of(source, qpos, target, qvel=None):
    """With unit stiffness and no damping, Q is the error."""
    model = kt.load(source)
    data = kt.Data(model)
    data.qpos = qpos
    if qvel is not None:
        data.qvel = qvel
    return kt.StablePD(model, np.ones(model.nv), 0.0).force(data, target)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("h", [0.01, 0.3])
def test_equals_mujocos(seed, h):
    p = problem(random_tree(seed, nbody=9), seed, speed=2.0)
    spd = kt.StablePD(p.model, np.ones(p.model.nv), 0.0, h=h)
    wanted = position_error(p.mj, p.theirs.qpos, p.theirs.qvel, p.target, h)
    np.testing.assert_allclose(spd.force(p.data, p.target), wanted, atol=1e-12, err_msg=p.model.title)


def test_the_pose_one_step_ahead_counts():
    p = problem(random_tree(1), 1)
    spd = controller(p, h=0.02)
    ahead = kt.integrate_pos(p.model, p.data.qpos, p.data.qvel, 0.02)
    wanted = p.kp * kt.differentiate_pos(p.model, 1.0, ahead, p.target) - p.kd * p.data.qvel
    np.testing.assert_allclose(spd.force(p.data, p.target), wanted, atol=1e-9)


def test_a_ball_joint_turns_in_its_childs_axes():
    rng = np.random.default_rng(0)
    start, turn = random_quaternion(rng), np.array([0.3, -0.5, 0.2])
    target = kt.integrate_pos(kt.load(BALL), start, turn, 1.0)
    np.testing.assert_allclose(error_of(BALL, start, target), turn, atol=1e-14)


def test_a_free_joint_moves_in_world_axes():
    rng = np.random.default_rng(1)
    start = np.concatenate([rng.normal(size=3), random_quaternion(rng)])
    move = np.array([0.4, -0.1, 2.0, 0.3, -0.5, 0.2])
    target = kt.integrate_pos(kt.load(FREE), start, move, 1.0)
    np.testing.assert_allclose(error_of(FREE, start, target), move, atol=1e-14)


@pytest.mark.parametrize("angle", [1e-300, 1e-17, 1e-12, 1e-8, 1e-3, 1.0, 3.1])
def test_both_signs_of_a_quaternion_are_one_target(angle):
    """And a small error keeps its digits either way."""
    axis, start = np.array([0.6, 0.0, 0.8]), np.array([1.0, 0.0, 0.0, 0.0])
    for sign in (1.0, -1.0):
        np.testing.assert_allclose(error_of(BALL, start, sign * about(axis, angle)), angle * axis, rtol=1e-12)
        np.testing.assert_allclose(error_of(BALL, sign * start, about(axis, angle)), angle * axis, rtol=1e-12)


def test_the_shortest_way_round():
    for angle in (3.2, 4.0, 6.0, 6.28):
        wanted = (angle - 2 * np.pi) * np.array([0.0, 1.0, 0.0])
        np.testing.assert_allclose(error_of(BALL, [1, 0, 0, 0], about([0, 1, 0], angle)), wanted, atol=1e-14)


@pytest.mark.parametrize("axis", AXES)
def test_half_a_turn_goes_one_way_whatever_the_signs(axis):
    """Both ways round are as short; rounding and the signs of quaternions must not decide."""
    rng, found = np.random.default_rng(2), []
    unit = np.array(axis) / np.linalg.norm(axis)
    for _ in range(8):
        start = random_quaternion(rng)
        target = kt.integrate_pos(kt.load(BALL), start, np.pi * unit, 1.0)
        found += [error_of(BALL, s * start, t * target) for s in (1, -1) for t in (1, -1)]
        found.append(error_of(BALL, start, kt.integrate_pos(kt.load(BALL), start, -np.pi * unit, 1.0)))
    np.testing.assert_allclose(found, np.tile(found[0], (len(found), 1)), atol=1e-12)
    np.testing.assert_allclose(np.abs(found[0]), np.pi * np.abs(unit), atol=1e-12)


@pytest.mark.parametrize("axis", AXES)
def test_half_a_turn_goes_one_way_in_single_precision(axis):
    """Where the quaternions are rounded to seven digits."""
    model, rng, unit = kt.load(BALL), np.random.default_rng(3), np.array(axis) / np.linalg.norm(axis)
    worlds, arrays = [kt.Data(model) for _ in range(16)], Arrays(model, width=16, dtype="float32")
    for name, value in {"kp": 1.0, "torque_range": np.inf, "h": 0.01, "solver": SOLVERS.index("maba")}.items():
        arrays[name] = value
    for lane, data in enumerate(worlds):
        start = random_quaternion(rng)
        turn = np.pi * unit if lane % 5 else -np.pi * unit
        data.qpos = start if lane % 2 else -start
        arrays["target"][..., lane] = kt.integrate_pos(model, start, turn, 1.0) * (1 if lane % 3 else -1)
    lanes = lanes_of(model, worlds, "float32")
    assert entry(run_evaluate, lanes.machine, model)(model.address, lanes.address, arrays.address) == 0
    wanted = error_of(BALL, [1, 0, 0, 0], about(unit, np.pi))
    np.testing.assert_allclose(arrays["error"], np.tile(wanted[:, None], 16), atol=1e-5)


def test_exactly_half_a_turn():
    for target in ([0, 1, 0, 0], [0, -1, 0, 0], [0, 0, 0, -1], [-0.0, 0, 1, 0]):
        error = error_of(BALL, [1, 0, 0, 0], np.array(target, float))
        np.testing.assert_allclose(error, np.pi * np.abs(np.array(target[1:], float)))


def test_targets_are_normalised():
    turn = np.array([0.1, 0.2, -0.3])
    target = kt.integrate_pos(kt.load(BALL), [1, 0, 0, 0], turn, 1.0)
    for scale in (1e-14, 0.5, 3.0, 1e100, 1e300):
        np.testing.assert_allclose(error_of(BALL, [1, 0, 0, 0], scale * target), turn, atol=1e-14)
        np.testing.assert_allclose(error_of(BALL, [1, 0, 0, 0], list(scale * target)), turn, atol=1e-14)


def test_an_orientation_that_is_not_normalised_counts_as_what_it_stands_for():
    np.testing.assert_allclose(error_of(BALL, [3, 0, 0, 0], about([0, 0, 1], 0.5)), [0, 0, 0.5], atol=1e-14)


def test_targets_far_away_are_targets():
    model = kt.load("<mujoco><worldbody><body><joint type='slide'/><geom size='.1'/></body></worldbody></mujoco>")
    assert kt.StablePD(model, 2.0, 0.0).force(kt.Data(model), np.array([1e30]))[0] == 2e30
