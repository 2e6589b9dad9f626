"""Steps of the implicit integrators against MuJoCo, against each other and against closed forms."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.tolerances import MACHINES
from kinetree.dynamics.factor import factor_m
from kinetree.integrator.sparse_lu import factor_lu, multiply_rows, solve_lu
from kinetree.kernel.stage import plain
from kinetree.pipeline import discrete_acceleration, implicit, implicitfast
from kinetree.types import DisableBit, Integrator
from tests.dynamics.paired import same, update
from tests.integrator.stepping import INTEGRATORS, SOURCES, dense, ready, refresh, source_of, stepped

STAGES = {"implicit": implicit, "implicitfast": implicitfast}
STEP = 1e-10
IMPLICIT, FAST = INTEGRATORS["implicit"], INTEGRATORS["implicitfast"]

# A body that flies alone, with another welded to it, and a body that flies with a limb.
FLIERS = """
<mujoco model="fliers">
  <option gravity="0 0 0" timestep="0.005"/>
  <worldbody>
    <body name="lone" pos="0 0 1"><freejoint/><geom type="box" size=".3 .1 .02" pos=".02 .01 .03" euler="10 20 30"/>
      <body pos=".1 .2 .1" euler="10 20 30"><geom type="box" size=".1 .05 .03" mass=".2"/></body>
    </body>
    <body name="spun" pos="0 2 1"><freejoint/><geom type="box" size=".3 .1 .02"/></body>
    <body name="limbed" pos="0 4 1"><freejoint/><geom type="box" size=".3 .1 .02"/>
      <body pos=".1 .2 .1"><joint axis="1 2 3"/><geom type="box" size=".1 .05 .03"/></body>
    </body>
  </worldbody>
</mujoco>
"""

DAMPED = """
<mujoco model="damped">
  <option gravity="0 0 0" timestep="0.1"/>
  <worldbody>
    <body><joint name="x" type="slide" axis="1 0 0" damping="30"/><geom size=".1" mass="2"/></body>
    <body pos="0 1 0"><joint name="y" type="slide" axis="1 0 0"/><geom size=".1" mass="2"/></body>
  </worldbody>
  <actuator><velocity joint="y" kv="30"/></actuator>
</mujoco>
"""


@pytest.mark.parametrize("speed", [1.0, 10.0])
@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", SOURCES)
def test_a_step_equals_mujocos(name, integrator, speed):
    pair = ready(source_of(name), 0, INTEGRATORS[integrator], speed)
    wanted = mujoco.MjData(pair.mj)
    mujoco.mj_copyData(wanted, pair.mj, pair.theirs)
    mujoco.mj_step(pair.mj, wanted)
    STAGES[integrator](pair.model, pair.ours)
    for field in ("qvel", "qpos", "act", "time", "qacc_warmstart"):
        same(getattr(pair.ours, field), getattr(wanted, field), STEP, f"{name} {integrator} {field}")


@pytest.mark.parametrize("name", ["joints", "humanoid", "tree1"])
def test_factors_equal_mujocos(name):
    pair = ready(source_of(name), 3, IMPLICIT)
    implicit(pair.model, pair.ours)
    same(pair.ours._arrays["qLU"], stepped(pair).qLU, STEP, f"{name} qLU")
    pair = ready(source_of(name), 3, FAST)
    implicitfast(pair.model, pair.ours)
    theirs = stepped(pair)
    for field in ("qH", "qHDiagInv"):
        same(pair.ours._arrays[field], getattr(theirs, field), STEP, f"{name} {field}")


@pytest.mark.parametrize("name", ["joints", "humanoid", "tree1", "tree2"])
def test_factors_solve_and_multiply(name):
    """On plain Python and any matrix of the pattern, against dense algebra."""
    model = kt.load(source_of(name))
    rng = np.random.default_rng(5)
    matrix = rng.normal(size=model.nD)
    matrix[model.D_rowadr + model.D_diag] += 8.0
    full, x, y = dense(model, matrix), rng.normal(size=model.nv), np.zeros(model.nv)
    plain(multiply_rows)(model, matrix, x, y, 0, model.nv)
    same(y, full @ x, 1e-12, f"{name} product")
    plain(factor_lu)(model, matrix, 0, model.nv)
    factors = dense(model, matrix)
    same((np.triu(factors, 1) + np.eye(model.nv)) @ np.tril(factors), full, 1e-12, f"{name} U L")
    plain(solve_lu)(model, matrix, y, 0, model.nv)
    same(y, x, 1e-10, f"{name} solution")


def test_a_vanishing_pivot_is_replaced():
    """By MuJoCo's smallest number, with its sign: numbers stay finite."""
    model = kt.load(DAMPED)
    matrix = np.array([0.0, -1e-20])
    plain(factor_lu)(model, matrix, 0, 2)
    np.testing.assert_array_equal(matrix, [1e-15, -1e-15])


def test_both_agree_on_bodies_that_fly_alone():
    """Also with a body welded to one; not where a limb is attached."""
    steps = {}
    for integrator, stage in STAGES.items():
        pair = ready(mujoco.MjModel.from_xml_string(FLIERS), 2, INTEGRATORS[integrator], 20.0)
        stage(pair.model, pair.ours)
        steps[integrator] = np.array(pair.ours.qvel)
    same(steps["implicitfast"][:12], steps["implicit"][:12], 1e-12, "lone bodies")
    assert np.abs(steps["implicitfast"][12:] - steps["implicit"][12:]).max() > 1e-3


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_energy_of_a_spinning_body_does_not_grow(integrator):
    """Explicit integration of gyroscopic forces would feed a tumbling body; about a principal axis nothing changes."""
    pair = ready(mujoco.MjModel.from_xml_string(FLIERS), 0, INTEGRATORS[integrator])
    mj, model, ours = pair.mj, pair.model, pair.ours
    body = mj.body("spun")
    v = int(mj.jnt_dofadr[mj.body_jntadr[body.id]]) + 3
    inertia = mj.body_inertia[body.id]
    axes = np.zeros(9)
    mujoco.mju_quat2Mat(axes, mj.body_iquat[body.id])
    turn = axes.reshape(3, 3)
    for start in (turn @ [10.0, 0.01, 0.02], turn @ [3.0, 12.0, -5.0]):
        data = mujoco.MjData(mj)
        data.qvel[v : v + 3] = start
        energy = []
        for _ in range(50):
            mujoco.mj_forward(mj, data)
            adopt(pair, data)
            STAGES[integrator](model, ours)
            data.qpos[:], data.qvel[:] = ours.qpos, ours.qvel
            energy.append(0.5 * inertia @ (turn.T @ ours.qvel[v : v + 3]) ** 2)
        assert np.all(np.diff(energy) <= 1e-12 * energy[0]), f"{integrator}: energy grows: {energy}"


def adopt(pair, data):
    """The state of MuJoCo's data and its forces."""
    mujoco.mj_copyData(pair.theirs, pair.mj, data)
    for field in ("qpos", "qvel"):
        getattr(pair.ours, field)[:] = getattr(data, field)
    update(pair)
    refresh(pair)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_stiff_damping_has_a_closed_form(integrator):
    """v / (1 + h b / m), with damping of the joint and with that of a servo; explicit Euler would diverge here."""
    pair = ready(mujoco.MjModel.from_xml_string(DAMPED), 0, INTEGRATORS[integrator])
    pair.theirs.qvel[:], pair.theirs.ctrl[:] = [3.0, -2.0], 0.0
    pair.theirs.qfrc_applied[:], pair.theirs.xfrc_applied[:] = 0.0, 0.0
    pair.ours.ctrl[:] = 0.0
    adopt(pair, pair.theirs)
    STAGES[integrator](pair.model, pair.ours)
    same(pair.ours.qvel, np.array([3.0, -2.0]) / (1 + 0.1 * 30 / 2), 1e-14, f"{integrator} qvel")


@pytest.mark.parametrize("flags", [(), ("DAMPER",), ("EULERDAMP",)])
@pytest.mark.parametrize("integrator", ["EULER", "IMPLICIT", "IMPLICITFAST"])
@pytest.mark.parametrize("name", ["actuators", "passive", "joints", "tendons", "tree3"])
def test_discrete_acceleration_equals_mujocos(name, integrator, flags):
    """What invdiscrete adds to MuJoCo's qfrc_inverse is M times the change of the acceleration."""
    disable = sum(int(DisableBit[flag]) for flag in flags)
    pair = ready(source_of(name), 1, int(Integrator[integrator]), disable=disable)
    mj, data = pair.mj, pair.theirs
    acceleration = np.random.default_rng(2).normal(size=mj.nv)
    inverse = []
    for flag in (0, int(mujoco.mjtEnableBit.mjENBL_INVDISCRETE)):
        mj.opt.enableflags = flag
        data.qacc[:] = acceleration
        mujoco.mj_inverse(mj, data)
        inverse.append(np.array(data.qfrc_inverse))
    change = np.zeros((1, mj.nv))
    mujoco.mj_solveM(mj, data, change, (inverse[1] - inverse[0])[None])
    pair.ours.qacc[:] = acceleration
    discrete_acceleration(pair.model, pair.ours)
    same(pair.ours.qacc, acceleration + change[0], STEP, f"{name} {integrator} {flags} qacc")


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", ["actuators", "passive", "joints", "tendons", "servos", "tree3"])
def test_discrete_acceleration_inverts_a_step(name, integrator):
    """The change of velocity over a step leads back to the acceleration of the forward pass."""
    pair = ready(source_of(name), 2, INTEGRATORS[integrator])
    model, ours = pair.model, pair.ours
    after = kt.Data(model)
    for field, array in after._arrays.items():
        array[...] = ours._arrays[field]
    STAGES[integrator](model, after)
    wanted = np.array(ours.qacc)
    ours.qacc[:] = (after.qvel - ours.qvel) / model.opt.timestep
    factor_m(model, ours)
    discrete_acceleration(model, ours)
    same(ours.qacc, wanted, 1e-9, f"{name} {integrator} qacc")


def test_discrete_acceleration_leaves_rk4_alone():
    pair = ready(source_of("joints"), 0, int(Integrator.RK4))
    before = np.array(pair.ours.qacc)
    discrete_acceleration(pair.model, pair.ours)
    np.testing.assert_array_equal(pair.ours.qacc, before)


@pytest.mark.parametrize("name", ["joints", "passive", "actuators", "tree1"])
@pytest.mark.parametrize("stage", [implicit, implicitfast, discrete_acceleration], ids=lambda s: s.__name__)
def test_lanes_equal_floats(stage, name):
    kind = FAST if stage is implicitfast else IMPLICIT
    pairs = [ready(source_of(name), seed, kind, 2.0 ** (seed % 4)) for seed in range(8)]
    model = pairs[0].model
    worlds = [kt.Data(model) for _ in pairs]
    for pair, world in zip(pairs, worlds, strict=True):
        for field, array in world._arrays.items():
            array[...] = pair.ours._arrays[field]
    lanes = lanes_of(model, worlds)
    lanes.run(stage)
    out = kt.Data(model)
    for lane, world in enumerate(worlds):
        stage(model, world)
        lanes.store(lane, out)
        for field in ("qpos", "qvel", "qacc", "act", "time"):
            got, wanted = getattr(out, field), getattr(world, field)
            same(got, wanted, 100 * MACHINES["float64"], f"{name} lane {lane} {field}")
