"""Jacobians, their rates, velocities of objects and forces at points, against MuJoCo and against each other."""

from __future__ import annotations

import functools

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.states import copy_state, random_state
from kinetree.conformance.tolerances import FORCE, KINEMATICS
from kinetree.dynamics import jacobian as J
from kinetree.dynamics.configuration import integrate_pos
from kinetree.dynamics.velocity import com_vel
from tests.corpora import own_models
from tests.trees import random_tree

SOURCES = {
    path.stem: path for _, path in own_models() if path.stem in ("joints", "frames", "mocap", "massless", "humanoid")
}
SOURCES |= {f"tree{seed}": random_tree(seed, nbody=10) for seed in range(4)}


@functools.cache
def both(name):
    """A model and its state in kinetree and in MuJoCo."""
    model = kt.load(SOURCES[name])
    mj = model.to_mujoco()
    theirs = random_state(mj, np.random.default_rng(11))
    data = kt.Data(model)
    for field in ("qpos", "qvel", "mocap_pos", "mocap_quat"):
        setattr(data, field, getattr(theirs, field))
    mujoco.mj_fwdPosition(mj, theirs)
    mujoco.mj_fwdVelocity(mj, theirs)
    kt.fwd_position(model, data)
    com_vel(model, data)
    return model, data, mj, theirs


def same(model, what, ours, theirs, tolerance):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    error = np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()) if ours.size else 0.0
    assert error <= tolerance, f"{model.title}: {what} differs by {error}\nours\n{ours}\ntheirs\n{theirs}"


@pytest.mark.parametrize("name", SOURCES)
def test_jacobians_equal_mujocos(name):
    model, data, mj, theirs = both(name)
    rng = np.random.default_rng(0)
    p, r = np.zeros((3, mj.nv)), np.zeros((3, mj.nv))
    for b in range(model.nbody):
        point = rng.normal(size=3)
        calls = {
            "jac": (J.jac(model, data, point, b), lambda b=b, point=point: mujoco.mj_jac(mj, theirs, p, r, point, b)),
            "jac_body": (J.jac_body(model, data, b), lambda b=b: mujoco.mj_jacBody(mj, theirs, p, r, b)),
            "jac_body_com": (J.jac_body_com(model, data, b), lambda b=b: mujoco.mj_jacBodyCom(mj, theirs, p, r, b)),
            "jac_dot": (J.jac_dot(model, data, point, b),
                        lambda b=b, point=point: mujoco.mj_jacDot(mj, theirs, p, r, point, b)),
        }  # fmt: skip
        for what, ((jacp, jacr), run) in calls.items():
            run()
            same(model, f"{what} of body {b}, translation", jacp, p, FORCE if what == "jac_dot" else KINEMATICS)
            same(model, f"{what} of body {b}, rotation", jacr, r, FORCE if what == "jac_dot" else KINEMATICS)
        if model.body_subtreemass[b] > 0:
            mujoco.mj_jacSubtreeCom(mj, theirs, p, b)
            same(model, f"jac_subtree_com of body {b}", J.jac_subtree_com(model, data, b), p, KINEMATICS)
        mujoco.mj_angmomMat(mj, theirs, p, b)
        same(model, f"angmom_mat of body {b}", J.angmom_mat(model, data, b), p, KINEMATICS)
    for i in range(model.nsite):
        mujoco.mj_jacSite(mj, theirs, p, r, i)
        same(model, f"jac_site {i}", np.vstack(J.jac_site(model, data, i)), np.vstack((p, r)), KINEMATICS)
    for i in range(model.ngeom):
        mujoco.mj_jacGeom(mj, theirs, p, r, i)
        same(model, f"jac_geom {i}", np.vstack(J.jac_geom(model, data, i)), np.vstack((p, r)), KINEMATICS)


@pytest.mark.parametrize("name", SOURCES)
def test_object_velocities_equal_mujocos(name):
    model, data, mj, theirs = both(name)
    out = np.zeros(6)
    counts = {"body": model.nbody, "xbody": model.nbody, "geom": model.ngeom, "site": model.nsite, "camera": model.ncam}
    for kind, n in counts.items():
        for i in range(n):
            for local in (False, True):
                mujoco.mj_objectVelocity(mj, theirs, getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), i, out, local)
                ours = kt.object_velocity(model, data, kind, i, local)
                same(model, f"velocity of {kind} {i}, local {local}", ours, out, FORCE)


@pytest.mark.parametrize("name", SOURCES)
def test_accelerations_and_interaction_forces_equal_mujocos(name):
    """After a forward pass without constraints: cacc, cfrc_int and cfrc_ext, and what objects feel of them."""
    model = kt.load(SOURCES[name])
    model.opt.disableflags = kt.DisableBit.CONSTRAINT
    mj = model.to_mujoco()
    theirs = random_state(mj, np.random.default_rng(5))
    data = kt.Data(model)
    copy_state(theirs, data)
    kt.forward(model, data)
    mujoco.mj_forward(mj, theirs)
    theirs_had = bool(theirs.flg_rnepost)
    theirs.qacc[:] = data.qacc
    mujoco.mj_rnePostConstraint(mj, theirs)
    assert data.flg_rnepost == theirs_had
    out = np.zeros(6)
    for kind, n in {"body": model.nbody, "xbody": model.nbody, "geom": model.ngeom, "site": model.nsite}.items():
        for i in range(n):
            for local in (False, True):
                mujoco.mj_objectAcceleration(mj, theirs, getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), i, out, local)
                ours = kt.object_acceleration(model, data, kind, i, local)
                same(model, f"acceleration of {kind} {i}, local {local}", ours, out, FORCE)
    assert data.flg_rnepost
    com = theirs.subtree_com[mj.body_rootid]
    for field in ("cfrc_int", "cfrc_ext"):
        wanted = getattr(theirs, field).copy()
        wanted[:, :3] += np.cross(com - data.xpos, wanted[:, 3:])
        same(
            model, field, getattr(data, field)[1:], wanted[1:], FORCE
        )  # the world's row adds up different points there


@pytest.mark.parametrize("name", SOURCES)
def test_forces_at_points_equal_mujocos(name):
    model, data, mj, theirs = both(name)
    rng = np.random.default_rng(3)
    for b in range(model.nbody):
        force, torque, point = rng.normal(size=(3, 3))
        out = np.zeros(mj.nv)
        mujoco.mj_applyFT(mj, theirs, force, torque, point, b, out)
        same(model, f"apply_ft on body {b}", J.apply_ft(model, data, force, torque, point, b), out, FORCE)


def test_jacobian_times_velocity_is_the_velocity():
    model, data, _, _ = both("tree1")
    for b in range(1, model.nbody):
        jacp, jacr = J.jac_body(model, data, b)
        np.testing.assert_allclose(np.concatenate((jacr, jacp)) @ data.qvel, data.cvel[b], atol=1e-11)


def test_jac_dot_is_the_derivative_of_the_jacobian():
    """Central differences along the motion, for the point that moves with the body."""
    model, data, _, _ = both("tree2")
    body = model.nbody - 1
    offset = np.array([0.1, -0.2, 0.3])

    def jacobian(dt):
        other = kt.Data(model)
        other.qpos = integrate_pos(model, data.qpos, data.qvel, dt)
        kt.fwd_position(model, other)
        point = other.xpos[body] + other.xmat[body].reshape(3, 3) @ offset
        return np.vstack(J.jac(model, other, point, body))

    point = data.xpos[body] + data.xmat[body].reshape(3, 3) @ offset
    h = 1e-5
    slope = (jacobian(h) - jacobian(-h)) / (2 * h)
    np.testing.assert_allclose(np.vstack(J.jac_dot(model, data, point, body)), slope, atol=1e-7)


def test_local_to_global_equals_a_site():
    model, data, _, _ = both("frames")
    for i in range(model.nsite):
        b = int(model.site_bodyid[i])
        xpos, xmat = J.local_to_global(model, data, model.site_pos[i], model.site_quat[i], b)
        np.testing.assert_allclose(xpos, data.site_xpos[i], atol=1e-12)
        np.testing.assert_allclose(xmat, data.site_xmat[i], atol=1e-12)


def test_wrong_arguments():
    model, data, _, _ = both("humanoid")
    with pytest.raises(KeyError, match="no body is called 'toros'.*torso"):
        J.jac_body(model, data, "toros")
    with pytest.raises(ValueError, match=r"point: expected shape \(3,\)"):
        J.jac(model, data, [1.0, 2.0], 1)
    with pytest.raises(ValueError, match="body, xbody, geom, site or camera"):
        kt.object_velocity(model, data, "joint", 0)
