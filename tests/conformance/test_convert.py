"""Conversions of the reference point, against what MuJoCo itself says at the new point and against identities."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from kinetree.conformance import convert
from kinetree.conformance.states import random_state
from tests.trees import random_tree

SEEDS = range(8)


@pytest.fixture(params=SEEDS, ids=lambda seed: f"tree{seed}")
def tree(request):
    """A random tree in a random state, with velocities and accelerations computed."""
    model = mujoco.MjModel.from_xml_string(random_tree(request.param))
    # Contacts would only add forces; the identities hold without them.
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = random_state(model, np.random.default_rng(request.param))
    mujoco.mj_forward(model, data)
    mujoco.mj_rnePostConstraint(model, data)
    return model, data


def assert_close(ours, theirs, what, tolerance=1e-11):
    """Like the harness: relative to the largest value, at least one; says where."""
    scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
    difference = np.abs(ours - theirs)
    worst = np.unravel_index(np.argmax(difference), difference.shape)
    where = [int(i) for i in worst]
    assert difference[worst] <= tolerance * scale, f"{what}{where}: {ours[worst]} against {theirs[worst]}"


def test_velocity_is_what_mujoco_reports_at_the_body_frame(tree):
    model, data = tree
    expected = np.zeros((model.nbody, 6))
    for body in range(model.nbody):
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, expected[body], 0)
    assert_close(convert.body_motion(model, data, "cvel"), expected, "cvel")


def test_acceleration_is_what_mujoco_reports_at_the_body_frame(tree):
    model, data = tree
    acceleration, velocity = (convert.body_motion(model, data, name) for name in ("cacc", "cvel"))
    # The spatial kind misses the centripetal part that a point of the body feels.
    acceleration[:, 3:] += np.cross(velocity[:, :3], velocity[:, 3:])
    expected = np.zeros((model.nbody, 6))
    for body in range(model.nbody):
        mujoco.mj_objectAcceleration(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, expected[body], 0)
    assert_close(acceleration, expected, "cacc")


def test_dof_axes_give_the_velocity_of_their_body(tree):
    model, data = tree
    axes = convert.dof_motion(model, data, "cdof")
    jacobian = np.zeros((6, model.nv))
    for dof in range(model.nv):
        body = model.dof_bodyid[dof]
        mujoco.mj_jacBody(model, data, jacobian[3:], jacobian[:3], body)
        assert_close(axes[dof], jacobian[:, dof], f"cdof[{dof}] of body {body}")


def test_rates_of_dof_axes_are_cross_products(tree):
    """cdof_dot of a hinge or slide is the motion cross product of the body's velocity with the axis, at any point."""
    model, data = tree
    axes, rates = (convert.dof_motion(model, data, name) for name in ("cdof", "cdof_dot"))
    velocity = convert.body_motion(model, data, "cvel")
    for dof in range(model.nv):
        body = model.dof_bodyid[dof]
        single = model.body_dofnum[body] == 1
        if single:
            v, s = velocity[body], axes[dof]
            expected = np.concatenate((np.cross(v[:3], s[:3]), np.cross(v[:3], s[3:]) + np.cross(v[3:], s[:3])))
            assert_close(rates[dof], expected, f"cdof_dot[{dof}]")


def test_inertia_equals_direct_sum_about_the_body_frame(tree):
    model, data = tree
    ours = convert.body_inertia(model, data, "cinert")
    for body in range(1, model.nbody):
        arm, rotation = data.xipos[body] - data.xpos[body], data.ximat[body].reshape(3, 3)
        mass = model.body_mass[body]
        tensor = rotation @ np.diag(model.body_inertia[body]) @ rotation.T
        tensor += mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        expected = [*np.diag(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2], *(mass * arm), mass]
        assert_close(ours[body], np.array(expected), f"cinert[{body}]")


def test_composite_inertia_is_the_sum_over_the_subtree(tree):
    model, data = tree
    single = convert.body_inertia(model, data, "cinert")
    composite = convert.body_inertia(model, data, "crb")
    for body in range(1, model.nbody):
        total = np.zeros(10)
        for other in range(model.nbody):
            if body in _ancestors(model, other):
                total += convert.move_inertia(single[other], data.xpos[other], data.xpos[body])
        assert_close(composite[body], total, f"crb[{body}]")


def test_kinetic_energy_is_the_sum_over_bodies(tree):
    model, data = tree
    velocity = convert.body_motion(model, data, "cvel")
    inertia = convert.body_inertia(model, data, "cinert")
    ours = sum(0.5 * v @ convert.inertia_matrix(i) @ v for v, i in zip(velocity, inertia, strict=True))
    mujoco.mj_energyVel(model, data)
    armature = 0.5 * np.sum(model.dof_armature * data.qvel**2)
    assert ours == pytest.approx(data.energy[1] - armature, rel=1e-12)


def test_joint_force_balances_the_motion_of_the_subtree(tree):
    """cfrc_int of a root, at its origin: rate of change of momentum of all it carries, less the applied wrenches."""
    model, data = tree
    internal, external = (convert.body_force(model, data, name) for name in ("cfrc_int", "cfrc_ext"))
    acceleration, velocity = (convert.body_motion(model, data, name) for name in ("cacc", "cvel"))
    inertia = convert.body_inertia(model, data, "cinert")
    for root in np.flatnonzero(model.body_parentid == 0)[1:]:
        total = np.zeros(6)
        for body in range(1, model.nbody):
            if root not in _ancestors(model, body):
                continue
            matrix = convert.inertia_matrix(inertia[body])
            momentum, v = matrix @ velocity[body], velocity[body]
            # Euler's equation in spatial form: f = I a + v x* (I v).
            moment = np.cross(v[:3], momentum[:3]) + np.cross(v[3:], momentum[3:])
            force = matrix @ acceleration[body] + np.concatenate((moment, np.cross(v[:3], momentum[3:])))
            total += convert.move_force(force - external[body], data.xpos[body], data.xpos[root])
        assert_close(internal[root], total, f"cfrc_int[{root}]", tolerance=1e-10)


def test_external_force_is_the_applied_wrench_at_the_centre_of_mass(tree):
    model, data = tree
    ours = convert.move_force(convert.body_force(model, data, "cfrc_ext"), data.xpos, data.xipos)
    expected = np.concatenate((data.xfrc_applied[:, 3:], data.xfrc_applied[:, :3]), axis=1)
    assert_close(ours[1:], expected[1:], "cfrc_ext")


def _random(rng, *shapes):
    return [rng.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize("move, width", [(convert.move_motion, 6), (convert.move_force, 6), (convert.move_inertia, 10)])
def test_moving_there_and_back_changes_nothing(move, width):
    vectors, start, end = _random(np.random.default_rng(1), (50, width), (50, 3), (50, 3))
    before = vectors.copy()
    assert_close(move(move(vectors, start, end), end, start), vectors, move.__name__, 1e-14)
    assert np.array_equal(vectors, before), "the input must stay as it is"


@pytest.mark.parametrize("move, width", [(convert.move_motion, 6), (convert.move_force, 6), (convert.move_inertia, 10)])
def test_moving_in_two_steps_is_moving_at_once(move, width):
    vectors, a, b, c = _random(np.random.default_rng(2), (50, width), (50, 3), (50, 3), (50, 3))
    assert_close(move(move(vectors, a, b), b, c), move(vectors, a, c), move.__name__, 1e-13)


def test_power_does_not_depend_on_the_point():
    motion, force, start, end = _random(np.random.default_rng(3), (100, 6), (100, 6), (100, 3), (100, 3))
    moved = np.sum(convert.move_motion(motion, start, end) * convert.move_force(force, start, end), axis=1)
    assert_close(moved, np.sum(motion * force, axis=1), "power", 1e-13)


def test_momentum_moves_like_a_force():
    inertia, motion, start, end = _random(np.random.default_rng(4), (20, 10), (20, 6), (20, 3), (20, 3))
    moved_inertia, moved_motion = convert.move_inertia(inertia, start, end), convert.move_motion(motion, start, end)
    for k in range(20):
        momentum = convert.inertia_matrix(inertia[k]) @ motion[k]
        ours = convert.inertia_matrix(moved_inertia[k]) @ moved_motion[k]
        assert_close(ours, convert.move_force(momentum, start[k], end[k]), f"momentum {k}", 1e-13)


def _ancestors(model, body):
    """The body and everything above it, without the world."""
    found = set()
    while body:
        found.add(int(body))
        body = model.body_parentid[body]
    return found
