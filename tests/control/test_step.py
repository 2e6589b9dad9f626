"""Steps under the controller: MuJoCo makes the same under the same torque, and nothing of the user's is touched."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import TRAJECTORY_SMOOTH
from kinetree.types import DisableBit
from tests.control.reference import controller, damping_matrix, problem, reference
from tests.corpora import own_models
from tests.trees import random_tree

FILES = {path.stem: path for _, path in own_models()}
SOLVERS = ("dense", "sparse", "maba")
INPUTS = ("ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat", "eq_active", "userdata")
CHAIN = """<mujoco><option timestep="0.01"><flag contact="disable"/></option><worldbody>
  <body><joint name="a" axis="0 1 0"/><geom size=".1" pos="0 0 -.3"/>
  <body pos="0 0 -.4"><joint name="b" axis="1 1 0"/><geom size=".1" pos=".1 0 -.3"/></body></body></worldbody></mujoco>"""


def mujoco_step(p, wanted):
    """MuJoCo's step with the torque applied beside all else, and what damping changes over the step, as in ours."""
    applied = p.theirs.qfrc_applied.copy()
    change = p.mj.opt.timestep * damping_matrix(p.mj, p.theirs) @ wanted.acceleration
    p.theirs.qfrc_applied[:] += wanted.torque - change
    mujoco.mj_step(p.mj, p.theirs)
    p.theirs.qfrc_applied[:] = applied


SAME_STEPS = [
    (source, solver) for source in ("tree 1", "tree 2", "joints", "ball_humanoid", "sensors") for solver in SOLVERS
]
SAME_STEPS += [("actuators", "dense"), ("actuators", "sparse")]  # maba refuses its tendon armature


@pytest.mark.parametrize("source, solver", SAME_STEPS)
def test_mujoco_makes_the_same_step(source, solver):
    """The torque from MuJoCo's matrices, applied in MuJoCo's Euler step, step by step."""
    text = random_tree(int(source[-1]), nbody=8) if source.startswith("tree") else FILES[source]
    p = problem(text, 1, speed=0.3, timestep=0.005)
    p.mj.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    p.mj.opt.disableflags |= int(DisableBit.EULERDAMP)
    spd = controller(p, solver=solver, mode="implicit")
    for k in range(20):
        wanted = reference(p, "implicit")
        got = spd.step(p.data, p.target)
        mujoco_step(p, wanted)
        what = f"{p.model.title} {solver} step {k}"
        scale = max(1.0, np.abs(wanted.torque).max())
        np.testing.assert_allclose(got, wanted.torque, atol=1e-8 * scale, err_msg=what)
        for name in ("qpos", "qvel", "act", "qacc"):
            theirs = getattr(p.theirs, name)
            limit = TRAJECTORY_SMOOTH * max(1.0, np.abs(theirs).max(initial=0.0))
            np.testing.assert_allclose(getattr(p.data, name), theirs, atol=limit, err_msg=f"{what} {name}")
        assert p.data.time == pytest.approx(p.theirs.time)
    scale = max(1.0, np.abs(p.theirs.sensordata).max(initial=0.0))
    np.testing.assert_allclose(p.data.sensordata, p.theirs.sensordata, atol=1e-7 * scale, err_msg=p.model.title)


@pytest.mark.parametrize("integrator", [0, 1, 2, 3])
def test_the_integrator_of_the_model_does_not_matter(integrator):
    states = []
    for kind in (0, integrator):
        model = kt.load(CHAIN).replace(opt_integrator=kind)
        data = kt.Data(model)
        kt.StablePD(model, 50.0, 5.0).step(data, [0.3, -0.2], nstep=20)
        states.append(data.qpos.copy())
    np.testing.assert_array_equal(*states)


def test_many_steps_are_one_after_the_other():
    p = problem(random_tree(3, nbody=8), 3, speed=0.3)
    other = p.data.copy()
    spd = controller(p, torque_limit=20.0)
    last = spd.step(p.data, p.target, nstep=25)
    for _ in range(25):
        torque = spd.step(other, p.target)
    np.testing.assert_array_equal(p.data.qpos, other.qpos)
    np.testing.assert_array_equal(last, torque)


def test_the_torque_of_a_step_is_that_of_its_start():
    p = problem(random_tree(4, nbody=8), 4)
    spd = controller(p)
    before = spd.torque(p.data, p.target), spd.acceleration(p.data, p.target)
    np.testing.assert_allclose(spd.step(p.data, p.target), before[0], rtol=1e-12)
    np.testing.assert_allclose(p.data.qacc, before[1], rtol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_inputs_stay(solver):
    p = problem(FILES["tendons"] if solver != "maba" else FILES["ball_humanoid"], 5)
    before = {name: getattr(p.data, name).copy() for name in INPUTS}
    controller(p, solver=solver).step(p.data, p.target, nstep=3)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(p.data, name), value, err_msg=name)


def test_solvers_stay_together_for_200_steps():
    """The trajectory with maba is that with dense to 1e-8."""
    model = kt.load("ball_humanoid").replace(opt_timestep=1 / 60)
    model.opt.disableflags = kt.DisableBit.CONSTRAINT
    target = kt.integrate_pos(model, model.qpos0, np.random.default_rng(1).normal(size=model.nv), 0.3)
    ends = {}
    for solver in SOLVERS:
        data = kt.Data(model)
        spd = kt.StablePD(model, 300.0, 30.0, mode="implicit", solver=solver, torque_limit=100.0)
        spd.step(data, target, nstep=200)
        ends[solver] = data.qpos.copy()
    for solver in SOLVERS[1:]:
        np.testing.assert_allclose(ends[solver], ends["dense"], atol=1e-8, err_msg=solver)
    reached = kt.differentiate_pos(model, 1.0, ends["maba"], target)[6:]
    assert np.abs(reached).max() < 0.3  # and it went where it should


def test_what_is_fresh_after_a_step():
    model = kt.load("ball_humanoid")
    model.opt.disableflags = kt.DisableBit.CONSTRAINT
    for solver, stale in (("maba", True), ("sparse", False)):
        data = kt.Data(model)
        kt.StablePD(model, 100.0, 10.0, solver=solver).step(data)
        assert not any(data.is_stale(name) for name in ("xpos", "cvel", "qfrc_passive", "qacc", "actuator_force"))
        assert data.is_stale("M") is data.is_stale("qfrc_bias") is stale
        assert data.is_stale("qLD")


@pytest.mark.parametrize("solver", SOLVERS)
def test_energy_is_right_with_every_solver(solver):
    """Kinetic energy takes M, which maba makes only when it is asked for."""
    model = kt.load(CHAIN)
    model.opt.enableflags = kt.EnableBit.ENERGY
    data = kt.Data(model)
    data.qvel = [1.0, -2.0]
    wanted = data.copy()
    kt.forward(model, wanted)
    kt.StablePD(model, 10.0, 1.0, solver=solver).step(data)
    np.testing.assert_allclose(data.energy, wanted.energy, rtol=1e-14)
    assert data.energy[1] > 0.1


def test_aba_is_untouched_by_an_earlier_step():
    """The diagonal of the controller is not left behind."""
    model = kt.load(CHAIN)
    data = kt.Data(model)
    kt.StablePD(model, 1e4, 1e3).step(data, nstep=3)
    kt.forward(model, data)
    np.testing.assert_allclose(kt.aba(model, data), data.qacc, rtol=1e-12)


def test_bad_states_are_reset_with_a_warning():
    model = kt.load(CHAIN)
    data, spd = kt.Data(model), kt.StablePD(model, 10.0, 1.0)
    data.qvel[1] = np.inf
    with pytest.warns(kt.SimulationWarning, match="qvel.*'b'.*reset") as caught:
        spd.step(data, nstep=3)
    assert caught[0].filename == __file__
    assert data.time == pytest.approx(0.03) and np.isfinite(data.qpos).all()


def test_accelerations_that_are_bad_from_the_start_end():
    """A reset does not help here; the steps come to their end all the same."""
    model = kt.load(CHAIN)
    data, spd = kt.Data(model), kt.StablePD(model, 1e300, 0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        spd.step(data, [1.0, 1.0], nstep=5)
    assert caught and all("reset" in str(w.message) for w in caught)
    quiet = kt.load(CHAIN)
    quiet.opt.disableflags = kt.DisableBit.AUTORESET | kt.DisableBit.CONTACT
    data = kt.Data(quiet)
    with pytest.warns(kt.SimulationWarning, match="unstable"):
        kt.StablePD(quiet, 1e300, 0.0).step(data, [1.0, 1.0], nstep=5)
    assert not np.abs(data.qvel).max() < 1e10


def test_bad_controls_warn():
    p = problem(FILES["actuators"], 2)
    p.data.ctrl[0] = np.nan
    spd = controller(p)
    for call in (spd.torque, spd.step):
        with pytest.warns(kt.SimulationWarning, match=r"ctrl\[0\]"):
            call(p.data, p.target)


def test_h_must_be_the_time_step():
    model = kt.load(CHAIN)
    data, spd = kt.Data(model), kt.StablePD(model, 10.0, 1.0, h=0.02)
    spd.torque(data)
    with pytest.raises(ValueError, match="h equal to the time step of the model, 0.01 s, got 0.02 s"):
        spd.step(data)
    assert data.time == 0.0
    spd.h = None
    spd.step(data)
    model.opt.timestep = 0.02
    assert spd.h == 0.02
    spd.step(data)
    assert data.time == pytest.approx(0.03)


@pytest.mark.parametrize("nstep", [0, -1, True, 1.5, 2**31, "2", None])
def test_nstep_is_checked(nstep):
    model = kt.load(CHAIN)
    with pytest.raises(ValueError, match="nstep must be a whole number from 1"):
        kt.StablePD(model, 10.0, 1.0).step(kt.Data(model), nstep=nstep)


# callbacks


def test_callbacks_are_called_and_change_the_result():
    model = kt.load(CHAIN)
    data, plain = kt.Data(model), kt.Data(model)
    spd, calls = kt.StablePD(model, 10.0, 1.0), []

    def control(m, d):
        calls.append(d.time)
        d.qfrc_applied[0] = 3.0

    plain.qfrc_applied[0] = 3.0
    spd.step(plain, nstep=4)
    torque = spd.torque(plain)
    model.callbacks.control = control
    spd.step(data, nstep=4)
    assert len(calls) == 4
    np.testing.assert_array_equal(data.qpos, plain.qpos)
    data.qfrc_applied[0] = 0.0
    before = data.buffer.copy()
    np.testing.assert_allclose(spd.torque(data), torque, rtol=1e-12)  # the callback sees a copy of the state
    np.testing.assert_array_equal(data.buffer, before)
    model.callbacks.clear()


def test_bad_states_are_reset_also_with_callbacks():
    model = kt.load(CHAIN)
    model.callbacks.control = lambda m, d: None
    data, spd = kt.Data(model), kt.StablePD(model, 10.0, 1.0)
    data.qvel[1] = np.inf
    with pytest.warns(kt.SimulationWarning, match="qvel.*reset"):
        spd.step(data, nstep=3)
    with pytest.warns(kt.SimulationWarning, match="qacc.*reset"):
        kt.StablePD(model, 1e300, 0.0).step(data, [1.0, 1.0])
    spd.torque_limit, spd.max_solves = 1e-3, 1
    with pytest.warns(kt.SimulationWarning, match="settle"):
        spd.step(kt.Data(model), [1.0, 1.0])
    model.callbacks.clear()
