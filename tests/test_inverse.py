"""Inverse dynamics with constraints: against MuJoCo, against forward dynamics, and the two norms of their difference."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.states import copy_state
from kinetree.conformance.tolerances import FORCE, MACHINES_SOLVED, SENSOR_CONSTRAINT, SOLVED
from kinetree.types import DisableBit, EnableBit, Integrator, Stage
from tests.constraint.in_contact import CONES, SOURCES, along, forward, scattered, start
from tests.pipeline.both import Both, close, quietly
from tests.sensor.everywhere import same_readings

FIELDS = ("qfrc_inverse", "qfrc_constraint", "efc_force")
INTEGRATORS = (Integrator.EULER, Integrator.IMPLICIT, Integrator.IMPLICITFAST)
DISCRETE, FWDINV = int(EnableBit.INVDISCRETE), int(EnableBit.FWDINV)


def give_acceleration(pair: Both, rng: np.random.Generator, size: float = 1.0) -> None:
    """The same random acceleration on both sides, near that of the motion."""
    pair.theirs.qacc[:] += size * rng.normal(size=pair.mj.nv)
    pair.ours.qacc[:] = pair.theirs.qacc


def applied(data: kt.Data) -> np.ndarray:
    """Joint forces of all that the user and actuators apply."""
    total = data.qfrc_applied + data.qfrc_actuator
    for b in range(1, data.model.nbody):
        force, torque = data.xfrc_applied[b, :3], data.xfrc_applied[b, 3:]
        total = total + kt.apply_ft(data.model, data, force, torque, data.xipos[b], b)
    return total


# against MuJoCo


@pytest.mark.parametrize("cone", CONES, ids=["pyramidal", "elliptic"])
@pytest.mark.parametrize("name", SOURCES)
def test_inverse_equals_mujocos(name, cone):
    """Forces, states of rows and sensors for accelerations that the user gives; nothing is solved, so all is exact."""
    pair, rng, states = start(name, cone=cone), np.random.default_rng(1), set()
    for note in along(pair):
        give_acceleration(pair, rng)
        with quietly():
            kt.inverse(pair.model, pair.ours)
        mujoco.mj_inverse(pair.mj, pair.theirs)
        for field in FIELDS:
            close(getattr(pair.ours, field), getattr(pair.theirs, field), FORCE, f"{name} {note} {field}")
        assert pair.ours.efc_state.tolist() == pair.theirs.efc_state.tolist(), f"{name} {note} efc_state"
        same_readings(
            pair.model, pair.ours.sensordata, pair.theirs.sensordata, SENSOR_CONSTRAINT, note, ["e_kinetic", "delayed"]
        )
        states |= set(pair.ours.efc_state.tolist())
    assert len(states) > 1 or name == "equalities"


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
@pytest.mark.parametrize("name", ["humanoid", "contacts"])
def test_discrete_inverse_equals_mujocos(name, integrator):
    pair, rng = start(name, integrator=int(integrator), enableflags=DISCRETE), np.random.default_rng(2)
    for note in along(pair, every=30):
        give_acceleration(pair, rng)
        given = pair.ours.qacc.copy()
        with quietly():
            kt.inverse(pair.model, pair.ours)
        mujoco.mj_inverse(pair.mj, pair.theirs)
        for field in FIELDS:
            close(getattr(pair.ours, field), getattr(pair.theirs, field), FORCE, f"{name} {note} {field}")
        assert np.array_equal(pair.ours.qacc, given), "the user's acceleration comes back"


@pytest.mark.criteria("P-STAGE-FLAGS-CONTACT")
@pytest.mark.parametrize("flag", ["CONSTRAINT", "CONTACT", "LIMIT", "EQUALITY", "FRICTIONLOSS"])
def test_inverse_without_some_constraints_equals_mujocos(flag):
    for name in ("humanoid", "limits", "equalities"):
        pair = start(name)
        pair.mj.opt.disableflags |= int(DisableBit[flag])
        pair.model.opt.disableflags |= int(DisableBit[flag])
        for note in along(pair, steps=40, every=20):
            give_acceleration(pair, np.random.default_rng(3))
            with quietly():
                kt.inverse(pair.model, pair.ours)
            mujoco.mj_inverse(pair.mj, pair.theirs)
            pair.same(FIELDS, FORCE, f"without {flag} {note}")


@pytest.mark.parametrize("skip", [Stage.NONE, Stage.POS, Stage.VEL], ids=lambda s: s.name)
def test_inverse_skip_equals_mujocos(skip):
    pair = start("humanoid")
    for note in along(pair, steps=60, every=20):
        give_acceleration(pair, np.random.default_rng(4))
        with quietly():
            kt.inverse_skip(pair.model, pair.ours, skip)
        mujoco.mj_inverseSkip(pair.mj, pair.theirs, int(skip), 0)
        pair.same(FIELDS, FORCE, f"skip {skip.name} {note}")


@pytest.mark.criteria("P-STAGE-FWDINV-VALUES")
@pytest.mark.parametrize("cone", CONES, ids=["pyramidal", "elliptic"])
@pytest.mark.parametrize("name", SOURCES)
def test_norms_of_the_difference_equal_mujocos(name, cone):
    """Both norms are how far the solver is from its optimum, relative to the forces at work; the forward results stay."""
    pair = start(name, cone=cone)
    for note in along(pair, every=15):
        kept = {field: getattr(pair.ours, field).copy() for field in ("qfrc_constraint", "efc_force", "qacc")}
        kt.compare_fwd_inv(pair.model, pair.ours)
        mujoco.mj_compareFwdInv(pair.mj, pair.theirs)
        scale = max(1.0, np.abs(pair.theirs.qfrc_inverse).max())
        close(pair.ours.solver_fwdinv / scale, pair.theirs.solver_fwdinv / scale, SOLVED, f"{name} {note}")
        for field, values in kept.items():
            assert np.array_equal(getattr(pair.ours, field), values), f"{name} {note} {field} was changed"


@pytest.mark.criteria("P-STAGE-FWDINV-VALUES")
def test_step_compares_if_the_flag_asks():
    pair = start("contacts", cone=CONES[1])
    mujoco.mj_step(pair.mj, pair.theirs, 30)
    pair.mj.opt.enableflags |= FWDINV
    pair.model.opt.enableflags |= FWDINV
    copy_state(pair.theirs, pair.ours)
    with quietly():
        kt.step(pair.model, pair.ours)
    mujoco.mj_step(pair.mj, pair.theirs)
    assert (pair.ours.solver_fwdinv > 0.0).all()
    scale = np.abs(pair.theirs.qfrc_constraint).max()
    close(pair.ours.solver_fwdinv / scale, pair.theirs.solver_fwdinv / scale, SOLVED, "solver_fwdinv")


def test_without_constraints_both_norms_are_zero():
    model = kt.load("double_pendulum")
    data = kt.Data(model)
    data.solver_fwdinv[:] = 3.0
    with quietly():
        kt.forward(model, data)
    assert data.nefc == 0
    kt.compare_fwd_inv(model, data)
    assert not data.solver_fwdinv.any()


# against forward dynamics


@pytest.mark.parametrize("cone", CONES, ids=["pyramidal", "elliptic"])
@pytest.mark.parametrize("name", SOURCES)
def test_inverse_finds_the_forces_of_forward(name, cone):
    """Applied forces, and those of constraints, from nothing but the acceleration; the solver goes on to its last digits."""
    pair = start(name, cone=cone, tolerance=0.0, iterations=200)
    for note in along(pair, every=30):
        data = pair.ours
        wanted, constraint, force = applied(data), data.qfrc_constraint.copy(), data.efc_force.copy()
        scale = max(1.0, np.abs(constraint).max(), np.abs(data.qfrc_bias).max())
        with quietly():
            kt.inverse(pair.model, data)
        close(data.qfrc_inverse / scale, wanted / scale, SOLVED, f"{name} {note} qfrc_inverse")
        close(data.qfrc_constraint / scale, constraint / scale, SOLVED, f"{name} {note} qfrc_constraint")
        close(data.efc_force / scale, force / scale, SOLVED, f"{name} {note} efc_force")


def test_a_ball_pressed_into_the_floor():
    """No acceleration at a given depth: what holds it there is the contact's force, and the rest is to be applied."""
    text = """<mujoco model="ball"><worldbody><geom type="plane" size="1 1 .1" condim="1"/><body pos="0 0 .1">
      <joint type="slide"/><geom size=".1" mass="2" condim="1"/></body></worldbody></mujoco>"""
    model = kt.load(text)
    data = kt.Data(model)
    data.qpos[0], data.qacc[0] = -0.002, 0.0
    with quietly():
        kt.inverse(model, data)
    force = data.efc_D[0] * data.efc_aref[0]
    assert force > 10.0
    close(data.efc_force, [force], 1e-12, "the row's force at zero acceleration")
    close(data.qfrc_inverse, [2 * 9.81 - force], 1e-12, "weight less that force")


# machines


@pytest.mark.parametrize("cone", CONES, ids=["pyramidal", "elliptic"])
@pytest.mark.parametrize("name", ["humanoid", "contacts", "limits"])
def test_lanes_equal_floats(name, cone):
    pairs = scattered(name, cone=cone)
    model, rng = pairs[0].model, np.random.default_rng(6)
    for pair in pairs:
        give_acceleration(pair, rng)
    lanes = lanes_of(model, [pair.ours for pair in pairs])
    lanes.run(pipeline.inverse)
    for lane, pair in enumerate(pairs):
        pipeline.inverse(model, pair.ours)
        for field in ("qfrc_inverse", "qfrc_constraint"):
            what, wanted = f"{name} lane {lane} {field}", getattr(pair.ours, field)
            close(getattr(lanes, field)[:, lane], wanted, MACHINES_SOLVED["float64"], what)


@pytest.mark.parametrize("name", ["humanoid", "contacts"])
def test_norms_on_lanes(name):
    pairs = scattered(name, cone=CONES[1])
    model = pairs[0].model
    lanes = lanes_of(model, [pair.ours for pair in pairs])
    for stage in (pipeline.forward, kt.compare_fwd_inv):
        lanes.run(stage)
    for lane, pair in enumerate(pairs):
        forward(pair)
        kt.compare_fwd_inv(model, pair.ours)
        scale = max(1.0, np.abs(pair.ours.qfrc_inverse).max())
        assert lanes.solver_fwdinv[:, lane].max() / scale < 1e-2
