"""Identities between algorithms that share no code path: composite inertias, recursive Newton-Euler, articulated bodies.

The columns of M are the forces of unit accelerations; the articulated-body algorithm inverts M; forces that give an
acceleration are found back from it. On floats, lanes and symbols.
"""

from __future__ import annotations

from typing import Any

import casadi
import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.states import random_state
from kinetree.dynamics.aba import aba
from kinetree.dynamics.armature import joint_armature
from kinetree.dynamics.crb import crb
from kinetree.dynamics.factor import factor_m
from kinetree.dynamics.rne import rne_bias, rne_inverse
from kinetree.dynamics.velocity import com_vel
from kinetree.kernel import interpret, symbolic_record
from kinetree.solver.acceleration import fwd_acceleration
from kinetree.types import DisableBit
from tests.corpora import own_models
from tests.dynamics.paired import same
from tests.trees import random_tree

JOINTS = (("free",), ("ball",), ("slide",), ("hinge",), ("free", "ball", "slide", "hinge"))
TREES = {f"tree {seed} {'-'.join(joints)}": random_tree(seed, nbody=10, joints=joints)
         for joints in JOINTS for seed in range(3)}  # fmt: skip
BUNDLED = {path.stem: path for name, path in own_models() if name.startswith("kinetree/")}
SOURCES = {**TREES, **BUNDLED, "long chain": random_tree(1, nbody=60, joints=("hinge",))}


BY_FACTORS = (crb, factor_m, rne_bias, fwd_acceleration)  # forward dynamics by M: qacc_smooth under qfrc_applied


def world(model: kt.Model, seed: int, moving: bool = True) -> kt.Data:
    """A seeded random state with positions and velocities computed and one random force for both ways of forward dynamics."""
    theirs = random_state(model.to_mujoco(), np.random.default_rng(seed))
    data = kt.Data(model)
    data.qpos[:], data.qvel[:] = theirs.qpos, moving * theirs.qvel
    data.qfrc_applied[:] = data.aba_force[:] = theirs.qfrc_applied
    kt.fwd_position(model, data)
    com_vel(model, data)
    return data


def loaded(source: Any, disable: int = 0, armature: bool = True) -> kt.Model:
    """The model with flags added, and with random armature or none."""
    model = kt.load(source)
    mj = model.to_mujoco()
    mj.opt.disableflags |= disable
    mj.dof_armature[:] = armature * np.random.default_rng(3).uniform(0.0, 0.1, size=mj.nv)
    if not armature:
        mj.actuator_armature[:] = 0.0
    mujoco.mj_setConst(mj, mujoco.MjData(mj))
    return kt.load(mj)


def dense(model: kt.Model, values: np.ndarray) -> np.ndarray:
    """The symmetric matrix of M's sparse numbers, which may have a further axis."""
    out = np.zeros((model.nv, model.nv, *values.shape[1:]), values.dtype)
    for i in range(model.nv):
        at = model.M_rowadr[i] + np.arange(model.M_rownnz[i])
        out[i, model.M_colind[at]] = out[model.M_colind[at], i] = values[at]
    return out


def armature(model: kt.Model) -> np.ndarray:
    """Of every dof, its own and its actuators'."""
    lent = [joint_armature(model, j) for j in model.dof_jntid]
    return model.dof_armature + np.array(lent, float)


# floats


@pytest.mark.parametrize("name", SOURCES)
def test_columns_of_m_are_forces_of_unit_accelerations(name):
    """Without gravity and velocity RNE is linear in qacc; armature is in M alone."""
    model = loaded(SOURCES[name], DisableBit.GRAVITY)
    data = world(model, 5, moving=False)
    crb(model, data)
    matrix = dense(model, data.M) - np.diag(armature(model))
    columns = np.zeros_like(matrix)
    for i in range(model.nv):
        data.qacc[:] = np.eye(model.nv)[i]
        rne_inverse(model, data)
        columns[:, i] = data.qfrc_inverse
    same(matrix, columns, 1e-12, f"{name} M")


@pytest.mark.parametrize("name", SOURCES)
def test_articulated_bodies_invert_m(name):
    model = loaded(SOURCES[name])
    for seed in range(3):
        data = world(model, seed)
        for step in (*BY_FACTORS, aba):
            step(model, data)
        same(data.aba_qacc, data.qacc_smooth, 1e-10, f"{name} state {seed} qacc")


@pytest.mark.parametrize("name", SOURCES)
def test_a_diagonal_is_inverted_too(name):
    model = loaded(SOURCES[name])
    data = world(model, 4)
    data.aba_diagonal[:] = diagonal = np.random.default_rng(4).uniform(0.0, 2.0, size=model.nv)
    aba(model, data)
    crb(model, data)
    rne_bias(model, data)
    wanted = np.linalg.solve(dense(model, data.M) + np.diag(diagonal), data.aba_force - data.qfrc_bias)
    same(data.aba_qacc, wanted, 1e-10, f"{name} qacc")


@pytest.mark.parametrize("name", SOURCES)
def test_inverse_undoes_forward(name):
    model = loaded(SOURCES[name])
    for seed in range(3):
        data = world(model, seed)
        aba(model, data)
        data.qacc[:] = data.aba_qacc
        rne_inverse(model, data)
        force = data.qfrc_inverse + armature(model) * data.qacc
        # the forces inside the tree may be much larger than the ones applied
        scale = max(1.0, np.abs(data.qacc).max())
        same(force / scale, data.aba_force / scale, 1e-10, f"{name} state {seed} force")


@pytest.mark.parametrize("name", TREES)
def test_newton_euler_is_m_times_acceleration_plus_bias(name):
    model = loaded(SOURCES[name], armature=False)
    data = world(model, 6)
    data.qacc[:] = np.random.default_rng(6).normal(size=model.nv)
    crb(model, data)
    rne_bias(model, data)
    rne_inverse(model, data)
    wanted = dense(model, data.M) @ data.qacc + data.qfrc_bias
    same(data.qfrc_inverse, wanted, 1e-11, f"{name} force")


# lanes


@pytest.mark.parametrize("name", ["tree 2 free-ball-slide-hinge", "humanoid", "long chain"])
def test_lanes_keep_the_identities(name):
    model = loaded(SOURCES[name])
    worlds = [world(model, seed) for seed in range(8)]
    lanes = lanes_of(model, worlds)
    for step in (*BY_FACTORS, aba):
        lanes.run(step)
    same(lanes.aba_qacc, lanes.qacc_smooth, 1e-10, f"{name} on lanes qacc")
    lanes.qacc[...] = lanes.aba_qacc
    lanes.run(rne_inverse)
    force = lanes.qfrc_inverse + armature(model)[:, None] * lanes.qacc
    scale = max(1.0, np.abs(lanes.qacc).max())
    same(force / scale, lanes.aba_force / scale, 1e-10, f"{name} on lanes force")
    matrices = dense(model, lanes.M)
    for lane, data in enumerate(worlds):
        crb(model, data)
        same(matrices[:, :, lane], dense(model, data.M), 1e-13, f"{name} lane {lane} M")


# symbols


def test_symbols_keep_the_identities():
    """Exact derivatives: M is the slope of RNE by qacc, and the slope of ABA by the force is its inverse."""
    model = loaded(random_tree(3, nbody=4))
    data = world(model, 3)
    names = ("qpos", "qvel", "qacc", "aba_force")
    inputs = {name: casadi.SX.sym(name, getattr(data, name).size) for name in names}
    record, symbolic_model = symbolic_record(data, **inputs), symbolic_record(model)
    for step in (kt.kinematics, kt.com_pos, com_vel, crb, rne_inverse, aba):
        interpret(step, symbolic_model, record)
    force, qacc = casadi.vertcat(*record.qfrc_inverse), casadi.vertcat(*record.aba_qacc)
    matrix = casadi.vertcat(*record.M)
    outputs = [matrix, casadi.jacobian(force, inputs["qacc"]), casadi.jacobian(qacc, inputs["aba_force"])]
    values = casadi.Function("f", [*inputs.values()], outputs)(*(getattr(data, name) for name in names))
    matrix, by_acceleration, by_force = (np.asarray(v) for v in values)
    matrix = dense(model, matrix.ravel())
    same(by_acceleration, matrix - np.diag(armature(model)), 1e-12, "slope of RNE ")
    same(by_force @ matrix, np.eye(model.nv), 1e-10, "slope of ABA times M ")
    crb(model, data)
    same(matrix, dense(model, data.M), 1e-12, "M of symbols ")
