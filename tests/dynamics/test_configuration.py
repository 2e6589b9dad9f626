"""Moving along a velocity and the velocity between two configurations."""

from __future__ import annotations

import casadi
import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.states import random_state
from kinetree.dynamics.configuration import differentiate_pos, integrate_pos, quat_exp, quat_log
from kinetree.kernel.ops import teach_symbols
from tests.trees import random_tree


@pytest.mark.parametrize("seed", range(4))
def test_equal_mujocos_and_inverse_to_each_other(seed):
    model = kt.load(random_tree(seed, nbody=9))
    mj = model.to_mujoco()
    rng = np.random.default_rng(seed)
    qpos = random_state(mj, rng).qpos.copy()
    for dt in (1e-3, 0.5, -0.2):
        qvel = rng.normal(size=mj.nv)
        wanted = qpos.copy()
        mujoco.mj_integratePos(mj, wanted, qvel, dt)
        moved = integrate_pos(model, qpos, qvel, dt)
        np.testing.assert_allclose(moved, wanted, atol=1e-13)
        back = np.zeros(mj.nv)
        mujoco.mj_differentiatePos(mj, back, dt, qpos, wanted)
        np.testing.assert_allclose(differentiate_pos(model, dt, qpos, moved), back, atol=1e-10)
        np.testing.assert_allclose(differentiate_pos(model, dt, qpos, moved), qvel, atol=1e-10)


@pytest.mark.parametrize("angle", [1e-12, 1e-8, 1e-3, 3.0])
def test_either_sign_of_a_quaternion_keeps_the_digits_of_a_small_turn(angle):
    model = kt.load("<mujoco><worldbody><body><joint type='ball'/><geom size='.1'/></body></worldbody></mujoco>")
    end = np.array([np.cos(angle / 2), 0.6 * np.sin(angle / 2), 0.0, 0.8 * np.sin(angle / 2)])
    for sign in (1.0, -1.0):
        turn = differentiate_pos(model, 1.0, [1.0, 0.0, 0.0, 0.0], sign * end)
        np.testing.assert_allclose(turn, [0.6 * angle, 0.0, 0.8 * angle], rtol=1e-13)


def test_the_state_given_is_not_touched():
    model = kt.load("spinner")
    qpos = model.qpos0.copy()
    integrate_pos(model, qpos, np.ones(model.nv), 0.1)
    np.testing.assert_array_equal(qpos, model.qpos0)


def test_wrong_arguments():
    model = kt.load("spinner")
    with pytest.raises(ValueError, match="qpos: expected shape"):
        integrate_pos(model, np.zeros(3), np.zeros(model.nv), 0.1)
    with pytest.raises(ValueError, match="dt must not be zero"):
        differentiate_pos(model, 0.0, model.qpos0, model.qpos0)


@pytest.mark.parametrize("angle", (0.0, 1e-9, 1e-3, 0.0199, 0.0201, 1.0))
def test_rotations_are_smooth_to_second_order(angle):
    """On symbols, also at rest and where a series takes over: closed forms along the axis and across it."""
    teach_symbols()
    v = casadi.SX.sym("v", 3)
    c, x, _, _ = quat_exp(tuple(casadi.vertsplit(v)), 1.0)
    by_c, by_x = (casadi.Function("hessian", [v], [casadi.hessian(part, v)[0]]) for part in (c, x))
    across_c = -0.25 if angle == 0 else -np.sin(angle / 2) / (2 * angle)
    across_x = -angle / 24 if angle < 1e-2 else np.cos(angle / 2) / (2 * angle) - np.sin(angle / 2) / angle**2
    along_x = -angle / 8 if angle < 1e-2 else -np.sin(angle / 2) / 4
    for name, found, along, across in (
        ("cosine", by_c, -np.cos(angle / 2) / 4, across_c),
        ("sine", by_x, along_x, across_x),
    ):
        hessian = found([angle, 0, 0]).full()
        np.testing.assert_allclose(hessian, np.diag([along, across, across]), atol=1e-6, err_msg=f"{name} at {angle}")
    turned = casadi.vertcat(*quat_log(quat_exp(tuple(casadi.vertsplit(v)), 1.0)))
    identity = casadi.Function("identity", [v], [casadi.jacobian(turned, v)])([angle, 0, 0]).full()
    np.testing.assert_allclose(identity, np.eye(3), atol=1e-9, err_msg=f"log of exp at {angle}")
