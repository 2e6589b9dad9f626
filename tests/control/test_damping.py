"""The damping of the model under stable PD: at the end of the step, as MuJoCo's implicitfast takes it, at torque limits too."""

from __future__ import annotations

import copy
import warnings

import casadi
import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance import tolerances
from kinetree.control.arrays import Arrays
from kinetree.control.solvers import SOLVERS
from kinetree.types import DisableBit
from tests.control.reference import controller, damping_matrix, position_error, problem
from tests.control.side_by_side import step_all
from tests.corpora import own_models
from tests.dynamics.paired import same
from tests.trees import random_tree

FILES = {path.stem: path for _, path in own_models()}
H = 1 / 60
BODY = """<mujoco model="damped"><option timestep="0.0166666666666666666" {option}/><worldbody>
  <geom type="plane" size="3 3 1"/>
  <body name="trunk" pos="0 0 .36"><freejoint/><geom type="box" size=".2 .1 .05"/>
    <body pos=".2 0 0"><joint name="hip" axis="0 1 .2" damping="3"/><geom type="capsule" size=".03" fromto="0 0 0 .05 0 -.2"/>
      <body pos=".05 0 -.2"><joint name="knee" axis="0 1 0" range="-60 60"/>
        <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.2"/>
        <site name="foot" pos="0 0 -.2"/></body></body>
    <body pos="-.2 0 0"><joint name="ball" type="ball" damping="1"/><geom type="capsule" size=".03" fromto="0 0 0 -.05 0 -.2"/>
      <body pos="-.05 0 -.2"><joint name="slide" type="slide" axis="0 0 1" damping="20"/>
        <geom size=".04" pos="0 0 -.15"/></body></body></body></worldbody>{more}</mujoco>"""
SERVO = '<actuator><velocity name="servo" {target} kv="30" {more}/></actuator>'
BAND = (
    '<tendon><fixed name="band" {damping}><joint joint="hip" coef="1"/><joint joint="knee" coef="-2"/></fixed></tendon>'
)

# What a model may have besides joint damping: (options, elements, what couples dofs, by which maba is refused, or None).
PARTS = {
    "joints": ("", "", None),
    "servo on a hinge": ("", SERVO.format(target='joint="knee"', more=""), None),
    "servo on a ball": ("", SERVO.format(target='joint="ball" gear="0 1 0"', more=""), None),
    "servo that pushes": ("", '<actuator><general joint="knee" biastype="affine" biasprm="0 0 .2"/></actuator>', None),
    "servo at its limit": ("", SERVO.format(target='joint="knee"', more='forcerange="-.1 .1" ctrlrange="-9 9"'), None),
    "servo about a slanted axis": ("", SERVO.format(target='joint="ball" gear="0 1 2"', more=""), "actuator 'servo'"),
    "servo in the parent's axes": ("", SERVO.format(target='jointinparent="ball" gear="0 1 0"', more=""), "actuator 'servo'"),
    "servo on a site": ("", SERVO.format(target='site="foot" gear="1 0 2 0 0 0"', more=""), "actuator 'servo'"),
    "servo on a tendon": ("", BAND.format(damping="") + SERVO.format(target='tendon="band"', more=""), "actuator 'servo'"),
    "tendon": ("", BAND.format(damping='damping="5"'), "tendon 'band'"),
    "quadratic tendon": ("", BAND.format(damping='damping="0 2"'), "tendon 'band'"),
    "medium": ('density="500" viscosity="3"', "", "medium"),
    "all": ('density="500" viscosity="3"', BAND.format(damping='damping="5"')
            + SERVO.format(target='site="foot" gear="1 0 2"', more=""), "medium.*tendon 'band'.*actuator 'servo'"),
}  # fmt: skip


def source(name: str, **options: float) -> str:
    option, more, _ = PARTS[name]
    return BODY.format(option=option + " " + " ".join(f'{k}="{v}"' for k, v in options.items()), more=more)


def solvers_for(name: str) -> tuple[str, ...]:
    return SOLVERS if PARTS[name][2] is None else SOLVERS[:2]


@pytest.mark.parametrize("name", PARTS)
def test_maba_takes_damping_of_single_dofs_and_refuses_the_rest_by_name(name):
    model, coupled = kt.load(source(name)), PARTS[name][2]
    spd = kt.StablePD(model, 1.0, 1.0)
    if coupled is None:
        assert spd.solver == "maba"
        assert kt.StablePD(model, 1.0, 1.0, solver="maba").solver == "maba"
    else:
        assert spd.solver == "sparse" and "solver sparse (chosen by auto)" in repr(spd)
        with pytest.raises(kt.UnsupportedFeatureError, match=f"maba of 'damped' .*{coupled}"):
            kt.StablePD(model, 1.0, 1.0, solver="maba")


def test_edits_that_couple_dofs_are_noticed():
    """Also with callbacks, where stages run one by one; what is switched off does not couple."""
    edits = {
        "tendon": lambda m: m.tendon_damping.__setitem__(0, 2.0),
        "medium": lambda m: setattr(m.opt, "viscosity", 1.0),
    }
    for edit in edits.values():
        for callback in (None, lambda m, d: None):
            model = kt.load(source("tendon")).replace(tendon_damping=0.0)
            model.callbacks.control = callback
            data, auto, maba = kt.Data(model), kt.StablePD(model, 9.0, 1.0), kt.StablePD(model, 9.0, 1.0, solver="maba")
            for spd in (auto, maba):
                spd.step(data)
            assert auto.solver == "maba"
            edit(model)
            with pytest.raises(kt.UnsupportedFeatureError, match="maba of 'damped'"):
                maba.step(data)
            auto.step(data)
            assert auto.solver == "sparse"
    for name, flags in (("tendon", DisableBit.DAMPER), ("servo on a site", DisableBit.ACTUATION),
                        ("medium", DisableBit.DAMPER | DisableBit.SPRING)):  # fmt: skip
        model = kt.load(source(name))
        model.opt.disableflags = flags
        assert kt.StablePD(model, 1.0, 1.0, solver="maba").solver == "maba"


# against MuJoCo's implicitfast


def implicitfast(mj: mujoco.MjModel, theirs: mujoco.MjData) -> np.ndarray:
    """The acceleration of a step of MuJoCo's implicitfast; computed on copies."""
    mj, data = copy.copy(mj), copy.copy(theirs)
    mj.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    mujoco.mj_step(mj, data)
    return (data.qvel - theirs.qvel) / mj.opt.timestep


@pytest.mark.parametrize("mode", ["spd", "implicit"])
@pytest.mark.parametrize("name", [*PARTS, "ball_humanoid", "humanoid", "quadruped", "arm", "passive"])
def test_unsaturated_steps_are_those_of_implicitfast_with_the_same_diagonal(name, mode):
    """Gains as damping of the joints: kd, when implicit kd + h kp, and what is left of Q as an applied force."""
    for seed in range(3):
        p = problem(source(name) if name in PARTS else FILES[name], seed, timestep=H)
        spring = p.mj.opt.timestep * p.kp if mode == "implicit" else 0.0
        error = position_error(p.mj, p.theirs.qpos, p.theirs.qvel, p.target, H)
        driven, data = copy.copy(p.mj), copy.copy(p.theirs)
        driven.dof_damping[:] += p.kd + spring
        data.qfrc_applied[:] += p.kp * error + spring * p.theirs.qvel
        wanted = implicitfast(driven, data)
        for solver in solvers_for(name) if name in PARTS else ("sparse",):
            after = p.data.copy()
            controller(p, mode=mode, solver=solver).step(after, p.target)
            got = (after.qvel - p.data.qvel) / H
            same(got, wanted, 1e-9, f"{name}, seed {seed}, {solver}, {mode} acceleration")


@pytest.mark.parametrize(
    "flags", [0, DisableBit.DAMPER, DisableBit.ACTUATION, DisableBit.SPRING | DisableBit.DAMPER], ids=str
)
@pytest.mark.parametrize("limit", [None, 4.0])
def test_under_the_torque_mujoco_makes_the_same_step(limit, flags):
    """At torque limits too, whatever is switched off, and whatever the integrator of the model."""
    saturated = 0
    for seed, name in enumerate(PARTS):
        p = problem(source(name), seed, timestep=H)
        p.mj.opt.disableflags |= int(flags)
        p.model.opt.disableflags = p.mj.opt.disableflags
        p.model.opt.integrator = (kt.Integrator.EULER, kt.Integrator.RK4, kt.Integrator.IMPLICIT)[seed % 3]
        spd = controller(p, torque_limit=limit)
        torque, acceleration = spd.torque(p.data, p.target), spd.acceleration(p.data, p.target)
        p.theirs.qfrc_applied[:] += torque
        same(acceleration, implicitfast(p.mj, p.theirs), 1e-9, f"{name}, seed {seed} acceleration")
        saturated += 0 if limit is None else int(np.sum(np.abs(torque) == limit))
    assert limit is None or saturated > 30


def test_damping_matters():
    """A check of the tests: without it, accelerations are others, most of all at the limit."""
    for name in PARTS:
        p = problem(source(name), 0, timestep=H)
        inertia = np.zeros((p.mj.nv, p.mj.nv))
        mujoco.mj_forward(p.mj, p.theirs)
        mujoco.mj_fullM(p.mj, p.theirs, inertia)
        damping = H * damping_matrix(p.mj, p.theirs)
        assert np.abs(damping).max() > 0.01 * np.abs(np.diag(inertia)).min()
        beside = damping - np.diag(np.diag(damping))
        assert beside.any() == (PARTS[name][2] is not None), name


# in contact


@pytest.mark.parametrize("limit", [None, 5.0])
@pytest.mark.parametrize("name", PARTS)
def test_constraints_see_damping_too(name, limit):
    """(M + h D) qacc = forces + torque + J'f with MuJoCo's matrices, and f is what its law of constraints makes of qacc."""
    held = touched = 0
    for solver in solvers_for(name):
        model = kt.load(source(name))
        model.opt.tolerance, model.opt.iterations = 1e-15, 200
        data, rng = kt.Data(model), np.random.default_rng(3)
        data.qvel[:] = rng.normal(size=model.nv)
        spd = kt.StablePD(model, 300.0, 10.0, mode="implicit", solver=solver, torque_limit=limit)
        target = kt.integrate_pos(model, data.qpos, rng.normal(size=model.nv), 0.6)
        for k in range(12):
            before = data.copy()
            torque = spd.step(data, target)
            mj = model.to_mujoco()
            theirs = mujoco.MjData(mj)
            theirs.qpos[:], theirs.qvel[:] = before.qpos, before.qvel
            mujoco.mj_forward(mj, theirs)
            assert theirs.nefc == data.nefc
            inertia = np.zeros((mj.nv, mj.nv))
            mujoco.mj_fullM(mj, theirs, inertia)
            inertia += H * damping_matrix(mj, theirs)
            if theirs.nefc:
                residual = np.zeros(theirs.nefc)
                mujoco.mj_mulJacVec(mj, theirs, residual, data.qacc)
                mujoco.mj_constraintUpdate(mj, theirs, residual - theirs.efc_aref, None, 0)
                same(data.efc_force, theirs.efc_force, tolerances.SOLVED, f"{name} {solver} step {k} efc_force")
            wanted = theirs.qfrc_smooth + torque + (theirs.qfrc_constraint if theirs.nefc else 0.0)
            same(inertia @ data.qacc, wanted, tolerances.SOLVED, f"{name} {solver} step {k} forces")
            held += 0 if limit is None else int(np.sum(np.abs(torque) == limit))
            touched += data.ncon
    assert touched > 5 and (limit is None or held > 5)


def test_inertia_is_restored_and_aba_untouched():
    model = kt.load(source("all"))
    data, spd = kt.Data(model), kt.StablePD(model, 300.0, 10.0, torque_limit=5.0)
    for _ in range(20):
        before = data.copy()
        spd.step(data)
        kt.forward(model, before)
        np.testing.assert_array_equal(data.M, before.M)
    assert data.ncon > 0 and not data.aba_diagonal.any()


def test_steps_with_callbacks_are_the_same():
    ends = []
    for callback in (None, lambda m, d: None):
        model = kt.load(source("all"))
        model.callbacks.control = callback
        data = kt.Data(model)
        kt.StablePD(model, 300.0, 10.0, torque_limit=5.0).step(data, nstep=20)
        ends.append(data.qpos.copy())
    same(ends[1], ends[0], tolerances.TRAJECTORY_SMOOTH, "qpos")


# other machines


@pytest.mark.parametrize("name", ["joints", "all"])
def test_steps_on_lanes(name):
    model = kt.load(source(name))
    model.opt.disableflags = DisableBit.CONSTRAINT
    spd = kt.StablePD(model, 100.0, 3.0, mode="implicit", torque_limit=6.0)
    rng, worlds = np.random.default_rng(5), []
    for _ in range(8):
        data = kt.Data(model)
        data.qpos = kt.integrate_pos(model, data.qpos, rng.normal(size=model.nv), 0.5)
        data.qvel = rng.normal(size=model.nv)
        worlds.append(data)
    lanes, arrays = lanes_of(model, worlds), Arrays(model, width=8)
    for field in ("kp", "kd", "torque_range", "target"):
        arrays[field] = (spd.target if field == "target" else spd._arrays[field])[..., None]
    for field in ("limited", "model_step", "implicit", "solver", "solves"):
        arrays[field] = spd._arrays[field]
    assert step_all(lanes, arrays, 10) == 0
    for lane, data in enumerate(worlds):
        spd.step(data, nstep=10)
        same(lanes.qpos[..., lane], data.qpos, tolerances.TRAJECTORY_SMOOTH, f"{name} lane {lane} qpos")


@pytest.mark.parametrize("name", ["joints", "tendon", "medium"])
def test_symbols(name):
    """Actuators rest there; the torque can be differentiated by a damping coefficient, which it now depends on."""
    model = kt.load(source(name))
    model.opt.disableflags = DisableBit.ACTUATION | DisableBit.CONSTRAINT
    rng, data = np.random.default_rng(2), kt.Data(model)
    data.qpos = kt.integrate_pos(model, data.qpos, rng.normal(size=model.nv), 0.4)
    data.qvel = rng.normal(size=model.nv)
    target, kp, kd = model.qpos0, np.full(model.nv, 50.0), np.full(model.nv, 2.0)
    sym = kt.symbolic(model, parameters=["dof_damping"])
    for mode, function in (("spd", sym.stable_pd_torque), ("implicit", sym.implicit_pd_torque)):
        spd = kt.StablePD(model, kp, kd, mode=mode)
        torque, acceleration = function(data.qpos, data.qvel, target, kp, kd, model.dof_damping)
        same(np.asarray(torque).ravel(), spd.torque(data, target), 1e-9, f"{name} {mode} torque")
        same(np.asarray(acceleration).ravel(), spd.acceleration(data, target), 1e-9, f"{name} {mode} acceleration")
    inputs = [casadi.SX.sym(f"x{i}", function.size1_in(i)) for i in range(function.n_in())]
    slope = casadi.Function("slope", inputs, [casadi.jacobian(function(*inputs)[1], inputs[5])])
    got, ends = np.asarray(slope(data.qpos, data.qvel, target, kp, kd, model.dof_damping)), []
    for change in (1e-4, -1e-4):
        model.dof_damping[6] += change
        ends.append(spd.acceleration(data, target))
        model.dof_damping[6] -= change
    same(got[:, 6], (ends[0] - ends[1]) / 2e-4, 1e-5, f"{name} derivative by damping")


def test_damping_of_sleeping_trees_is_left_alone():
    """A damped arm that sleeps beside a controlled one does not disturb it."""
    arm = """<body name="{0}" pos="{1} 0 1"><joint name="{0}" axis="0 1 0" damping="2"/><geom size=".05" pos="0 0 -.3"/>
      <body pos="0 0 -.3"><joint name="{0}2" axis="0 1 0" damping="1"/><geom size=".05" pos="0 0 -.3"/></body></body>"""
    both = kt.load(f"""<mujoco><option gravity="0 0 0" density="100"><flag sleep="enable"/></option><worldbody>
      {arm.format("a", 0)}{arm.format("b", 2)}</worldbody></mujoco>""")
    alone = kt.load(
        f"""<mujoco><option gravity="0 0 0" density="100"/><worldbody>{arm.format("b", 2)}</worldbody></mujoco>"""
    )
    data, single = kt.Data(both), kt.Data(alone)
    kt.step(both, data, 100)
    assert not data.tree_awake.any()
    gains = {"b": 50.0, "b2": 50.0}
    kt.StablePD(both, gains, 0.0, torque_limit=3.0).step(data, [0, 0, 1.0, -1.0], nstep=50)
    kt.StablePD(alone, gains, 0.0, torque_limit=3.0).step(single, [1.0, -1.0], nstep=50)
    assert data.tree_awake.tolist() == [0, 1]
    same(data.qpos[2:], single.qpos, 1e-10, "qpos")


def test_random_trees_at_their_limits_stay_calm():
    """Damping a hundred times the inertia, at 1/60 s: held at a limit it was explicit, and blew up within a few steps."""
    for seed in range(5):
        model = kt.load(random_tree(seed, nbody=10)).replace(opt_timestep=H)
        model.opt.disableflags = DisableBit.CONSTRAINT | DisableBit.ACTUATION
        model.dof_damping[:] = 1e3
        data = kt.Data(model)
        spd = kt.StablePD(model, 1e4, 1e3, torque_limit=20.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error", kt.SimulationWarning)
            spd.step(data, kt.integrate_pos(model, model.qpos0, np.ones(model.nv), 1.0), nstep=100)
        assert np.abs(data.qvel).max() < 1e3
