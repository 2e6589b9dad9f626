"""Stable PD among constraints: against MuJoCo with the controller's diagonal as armature, and a humanoid that stands."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance import tolerances
from kinetree.control.arrays import Arrays
from tests.control.reference import damping_matrix, position_error
from tests.control.side_by_side import step_all
from tests.corpora import own_models
from tests.dynamics.paired import same

FILES = {path.stem: path for _, path in own_models()}
SCENES = ("ball_humanoid", "contacts", "limits")
SOLVERS = ("maba", "sparse", "dense")
STEP = 1 / 60


def scene(name: str, seed: int, **options):
    """A model among its constraints, a Data and a target. options: values for `opt`."""
    model = kt.load(FILES[name])
    model.opt.timestep, model.opt.tolerance, model.opt.iterations = STEP, 1e-15, 200
    model.opt.disableflags = kt.DisableBit.ISLAND
    for option, value in options.items():
        setattr(model.opt, option, value)
    rng, data = np.random.default_rng(seed), kt.Data(model)
    if name == "ball_humanoid":
        data.reset_keyframe("stand")
        data.qpos[2] -= 0.03
    elif name == "limits":
        data.qpos = kt.integrate_pos(model, data.qpos, rng.normal(size=model.nv), 1.5)
    data.qpos = kt.integrate_pos(model, data.qpos, rng.normal(size=model.nv), 0.02)
    data.qvel[:] = 0.3 * rng.normal(size=model.nv)
    return model, data, kt.integrate_pos(model, data.qpos, rng.normal(size=model.nv), 0.5)


def oracle(model, data, spd, target, torque=None) -> mujoco.MjData:
    """MuJoCo's forward pass with the controller as armature and applied force, and the damping of the model as armature.

    Where the torque is at its limit, it is applied as it is, and only damping is armature.
    """
    mj = model.to_mujoco()
    theirs = mujoco.MjData(mj)
    theirs.qpos[:], theirs.qvel[:] = data.qpos, data.qvel
    force = spd.kp * position_error(mj, theirs.qpos, theirs.qvel, target, STEP) - spd.kd * theirs.qvel
    held = np.zeros(mj.nv, bool) if torque is None else np.abs(torque) >= spd.torque_limit
    theirs.qfrc_applied[:] = np.where(held, torque, force)
    damping = damping_matrix(mj, theirs)
    assert not np.any(damping - np.diag(np.diag(damping))), "armature cannot stand for damping that couples dofs"
    mj.dof_armature[:] += np.where(held, 0.0, STEP * spd.kd + (STEP**2 * spd.kp if spd.mode == "implicit" else 0.0))
    mj.dof_armature[:] += STEP * np.diag(damping)
    mujoco.mj_forward(mj, theirs)
    return theirs


def check(model, data, spd, target, what: str) -> tuple[np.ndarray, mujoco.MjData]:
    """One step: accelerations and forces as MuJoCo has them, and the torque as it follows from the acceleration."""
    before = data.copy()
    torque = spd.step(data, target)
    theirs = oracle(model, before, spd, target, torque)
    assert data.nefc == theirs.nefc > 0, f"{what} nefc: {data.nefc}, {theirs.nefc}"
    for field in ("qacc", "qfrc_constraint", "efc_force"):
        same(getattr(data, field), getattr(theirs, field), tolerances.SOLVED, f"{what} {field}")
    mj = model.to_mujoco()
    diagonal = STEP * spd.kd + (STEP**2 * spd.kp if spd.mode == "implicit" else 0.0)
    asked = spd.kp * position_error(mj, before.qpos, before.qvel, target, STEP) - spd.kd * before.qvel
    wanted = np.clip(asked - diagonal * theirs.qacc, -spd.torque_limit, spd.torque_limit)
    same(torque, wanted, tolerances.SOLVED, f"{what} torque")
    return torque, theirs


@pytest.mark.parametrize("mode", ("spd", "implicit"))
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", SCENES)
def test_constraints_see_the_inertia_of_the_controller(name, solver, mode):
    for seed in range(3):
        model, data, target = scene(name, seed)
        spd = kt.StablePD(model, 200.0, 20.0, mode=mode, solver=solver)
        check(model, data, spd, target, f"{name}, seed {seed}, {solver}, {mode}")


@pytest.mark.parametrize("name", SCENES)
def test_the_inertia_matters(name):
    """The comparison would notice if constraints were solved with M alone."""
    model, data, target = scene(name, 0)
    spd = kt.StablePD(model, 200.0, 20.0, mode="implicit")
    torque = spd.torque(data, target)
    plain = data.copy()
    plain.qfrc_applied[:] = torque
    kt.forward(model, plain)
    spd.step(data, target)
    assert np.abs(plain.qacc - data.qacc).max() > 1e4 * tolerances.SOLVED * np.abs(data.qacc).max()


@pytest.mark.parametrize("options", (
    {"solver": kt.Solver.CG}, {"solver": kt.Solver.PGS, "iterations": 5000}, {"cone": kt.Cone.ELLIPTIC},
    {"enableflags": kt.EnableBit.DIAGEXACT}, {"jacobian": kt.Jacobian.SPARSE},
), ids=lambda options: "-".join(map(str, options)))  # fmt: skip
def test_every_solver_of_constraints(options):
    model, data, target = scene("ball_humanoid", 1, **options)
    spd = kt.StablePD(model, 200.0, 20.0, mode="implicit")
    before = data.copy()
    spd.step(data, target)
    if "enableflags" in options:  # MuJoCo would take the armature into the softness of rows
        kt.forward(model, before)
        same(data.efc_R, before.efc_R, tolerances.CONSTRAINT_ROWS, "efc_R")
    else:
        theirs = oracle(model, before, spd, target)
        same(data.qacc, theirs.qacc, tolerances.SOLVED, f"{options} qacc")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", SCENES)
def test_torque_limits_hold_for_the_acceleration_after_constraints(name, solver):
    saturated = free = 0
    for seed in range(8):
        model, data, target = scene(name, seed)
        limit = 10.0 ** np.random.default_rng(seed).uniform(0, 2, size=model.nv)
        spd = kt.StablePD(model, 300.0, 30.0, mode="implicit", solver=solver, torque_limit=limit)
        torque, _ = check(model, data, spd, target, f"{name}, seed {seed}, {solver}")
        assert np.all(np.abs(torque) <= limit)
        saturated, free = saturated + np.sum(np.abs(torque) == limit), free + np.sum(np.abs(torque) < limit)
    assert saturated > 10 and free > 10


def test_torque_leaves_constraints_out():
    """By definition: torque and acceleration are those of a mechanism in the air."""
    model, data, target = scene("ball_humanoid", 0)
    spd = kt.StablePD(model, 200.0, 20.0, solver="sparse")
    answers = []
    for flags in (0, kt.DisableBit.CONSTRAINT):
        for callback in (None, lambda m, d: None):
            model.opt.disableflags, model.callbacks.control = flags, callback
            answers.append((spd.torque(data, target), spd.acceleration(data, target)))
    for torque, acceleration in answers:
        same(torque, answers[-1][0], tolerances.STABLE_PD, "torque")
        same(acceleration, answers[-1][1], tolerances.STABLE_PD, "acceleration")


def standing(solver: str, kp: float, **options):
    """The humanoid that is to keep its pose on the floor."""
    model = kt.load("ball_humanoid")
    model.opt.timestep = STEP
    data = kt.Data(model)
    data.reset_keyframe("stand")
    spd = kt.StablePD(model, kp, kp / 10, mode="implicit", solver=solver, **options)
    spd.target = data.qpos
    return model, data, spd


@pytest.mark.parametrize("kp, limit", ((1e3, None), (1e4, None), (1e6, None), (1e3, 60.0)))
def test_a_humanoid_stands_for_ten_seconds(kp, limit):
    """At 60 steps a second; how far joints give way is what their weight does to the stiffness."""
    model, data, spd = standing("auto", kp, torque_limit=limit)
    start, limits = data.qpos.copy(), np.inf if limit is None else limit
    for _ in range(600):
        torque = spd.step(data)
        assert np.all(np.abs(torque) <= limits)
        assert abs(data.qpos[2] - start[2]) < 0.02, f"the pelvis is at {data.qpos[2]} m at {data.time} s"
        error = np.abs(kt.differentiate_pos(model, 1.0, start, data.qpos)[6:]).max()
        assert error < 30.0 / kp + 0.003, f"a joint is off by {error} rad at {data.time} s"
    touching = {model.name("geom", int(geom)) for contact in data.contact for geom in contact.geom}
    assert {"left_foot", "right_foot", "floor"} <= touching
    assert np.abs(data.qvel).max() < 0.01
    weight = 9.81 * model.body_mass.sum()
    assert data.qfrc_constraint[2] == pytest.approx(weight, rel=1e-2)


def test_trajectories_by_all_solvers_are_one():
    """200 steps in contact, from a small drop."""
    ends = {}
    for solver in SOLVERS:
        _, data, spd = standing(solver, 2e3)
        data.qpos[2] += 0.02
        spd.step(data, nstep=200)
        ends[solver] = data.qpos.copy()
    for solver in ("maba", "sparse"):
        same(ends[solver], ends["dense"], tolerances.TRAJECTORY_SMOOTH, f"{solver} qpos")


def test_solve_m_after_a_step_in_contact_is_that_of_m():
    """The step factors another matrix in the place of M's factor, which no one may take for that, whatever ran before."""
    model, data, spd = standing("sparse", 2e3)
    kt.forward(model, data)
    spd.step(data, nstep=3)
    assert data.nefc > 0 and data.is_stale("qLD")
    x = np.random.default_rng(0).normal(size=model.nv)
    same(kt.mul_m(model, data, kt.solve_m(model, data, x)), x, 1e-9, "M y")


def test_room_for_contacts_grows_in_a_step():
    """A Data that begins with little room makes the same steps as one that has room."""
    model, data, spd = standing("maba", 2e3)
    kt.forward(model, data)
    data.reset_keyframe("stand")
    _, small, other = standing("maba", 2e3)
    assert small._arrays.capacity["maxefc"] < data._arrays.capacity["maxefc"]
    for one, controller in ((data, spd), (small, other)):
        controller.step(one, nstep=30)
    assert small.nefc > 8
    same(small.qpos, data.qpos, 0.0, "qpos")


@pytest.mark.parametrize("limit", (np.inf, 30.0))
def test_steps_on_lanes_in_contact(limit):
    """Eight characters side by side, each with its own gains and pose and so with its own contacts; room grows on the way."""
    model, first, _ = standing("maba", 1e3)
    model.opt.tolerance, model.opt.iterations = 1e-15, 200
    rng, worlds, controllers = np.random.default_rng(4), [], []
    for k in range(8):
        data = first.copy()
        data.qpos[2] += 0.004 * k
        data.qvel[:] = 0.2 * rng.normal(size=model.nv)
        spd = kt.StablePD(model, 1e3 + 200 * k, 100.0, mode="implicit", solver="maba", torque_limit=limit)
        spd.target = first.qpos
        worlds.append(data)
        controllers.append(spd)
    lanes, arrays = lanes_of(model, worlds), Arrays(model, width=8)
    for lane, spd in enumerate(controllers):
        for name in ("kp", "kd", "torque_range"):
            arrays[name][..., lane] = spd._arrays[name]
        arrays["target"][..., lane] = spd.target
    for name in ("limited", "model_step", "implicit", "solver", "solves"):
        arrays[name] = spd._arrays[name]
    grown = held = 0
    for _ in range(30):
        room = lanes.arrays.capacity
        assert step_all(lanes, arrays, 1) == 0
        grown += lanes.arrays.capacity != room
        held += int(np.sum(np.abs(arrays["torque"]) == limit))
    assert grown > 0 and (held > 0) == np.isfinite(limit)
    for lane, (data, spd) in enumerate(zip(worlds, controllers, strict=True)):
        torque = spd.step(data, nstep=30)
        assert data.ncon > 0
        same(lanes.qpos[..., lane], data.qpos, tolerances.SOLVED, f"lane {lane} qpos")
        same(arrays["torque"][..., lane], torque, tolerances.SOLVED, f"lane {lane} torque")


def test_callbacks_see_constraints_too():
    model, data, spd = standing("sparse", 2e3)
    other_model, other, control = standing("sparse", 2e3)
    other_model.callbacks.passive = lambda m, d: None
    spd.step(data, nstep=20)
    control.step(other, nstep=20)
    assert data.ncon > 0
    same(other.qpos, data.qpos, tolerances.TRAJECTORY_SMOOTH, "qpos")


THIN_WALL = """<mujoco><option timestep=".005" gravity="0 0 0"><flag speculative="enable"/></option><worldbody>
    <geom type="box" size=".002 1 1" {ref}/><body pos="-.3 0 0">
    <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
    <geom size=".02" {ref}/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("solref", ["", 'solref=".004 1"', 'solref="-40000 -180"'])
def test_speculative_contacts_suit_the_rows_whatever_the_integrator(solref):
    """A fast ball and a thin wall: without gains the motion is MuJoCo's semi-implicit one, on the side it came from."""
    mj = mujoco.MjModel.from_xml_string(THIN_WALL.format(ref=solref))
    for integrator in kt.Integrator:
        theirs, model = mujoco.MjData(mj), kt.load(mj)
        model.opt.integrator = integrator
        ours, spd = kt.Data(model), kt.StablePD(model, 0.0, 0.0, mode="implicit")
        theirs.qvel[0] = ours.qvel[0] = 100.0
        for k in range(8):
            mujoco.mj_step(mj, theirs)
            spd.step(ours, np.zeros(3))
            same(ours.qvel, theirs.qvel, 1e-6, f"{integrator.name}, {solref}: qvel after step {k}")
        assert ours.qpos[0] < 0.3 and ours.qvel[0] < 1.0, f"{integrator.name}, {solref}: the ball went through the wall"
