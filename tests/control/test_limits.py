"""Torque limits inside the solve: the answer fulfils both equations, and is the only one that does."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np
import pytest

import kinetree as kt
from tests.control.reference import Problem, added_diagonal, controller, damping_matrix, inertia_and_force, problem
from tests.trees import random_tree

SOLVERS = ("dense", "sparse", "maba")


def limits_hold(p: Problem, spd: kt.StablePD, tolerance: float = 1e-10) -> np.ndarray:
    """(M + h D) qacc = smooth forces + torque with MuJoCo's M and D, and torque = clamp(Q - diagonal qacc); the torque."""
    torque, acceleration = spd.torque(p.data, p.target), spd.acceleration(p.data, p.target)
    force, limit = spd.force(p.data, p.target), spd.torque_limit
    diagonal = added_diagonal(p, spd.mode, spd.h)
    what = f"{p.model.title} {spd.mode} {spd.solver}"
    assert (np.abs(torque) <= limit).all(), f"{what}: {torque} beyond {limit}"
    inertia, smooth = inertia_and_force(p)
    inertia += spd.h * damping_matrix(p.mj, p.theirs)
    scale = max(1.0, np.abs(inertia @ acceleration).max(), np.abs(force).max())
    rest = np.abs(inertia @ acceleration - smooth - torque).max()
    assert rest <= tolerance * scale, f"{what}: the equation of motion is off by {rest}"
    asked = force - diagonal * acceleration
    off = np.abs(np.clip(asked, -limit, limit) - torque) / np.maximum(
        1.0, np.abs(force) + np.abs(diagonal * acceleration)
    )
    assert off.max() <= tolerance, (
        f"{what}: torque[{off.argmax()}] is {torque[off.argmax()]}, asked {asked[off.argmax()]}"
    )
    return torque


@pytest.mark.parametrize("mode", ["spd", "implicit"])
@pytest.mark.parametrize("seed", range(12))
def test_both_equations_hold(seed, mode):
    p = problem(random_tree(seed, nbody=12), seed, speed=3.0)
    rng = np.random.default_rng(seed)
    limit = 10.0 ** rng.uniform(-1, 2, size=p.model.nv)
    limit[rng.uniform(size=p.model.nv) < 0.2] = np.inf
    torques = [limits_hold(p, controller(p, mode=mode, solver=s, torque_limit=limit)) for s in SOLVERS]
    assert (np.abs(torques[0]) == limit).any() and (np.abs(torques[0]) < limit).any()
    scale = np.maximum(1.0, np.abs(torques[0]).max())
    for name, torque in zip(SOLVERS[1:], torques[1:], strict=True):
        np.testing.assert_allclose(torque, torques[0], atol=1e-9 * scale, err_msg=f"{p.model.title} {name}")


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(200))
def test_stiff_gains_and_tight_limits_settle(seed):
    """Gains over seven decades and limits over four: never a warning."""
    rng = np.random.default_rng(seed)
    p = problem(random_tree(seed, nbody=int(rng.integers(2, 50))), seed, timestep=float(10 ** rng.uniform(-3, -1)))
    for mode in ("spd", "implicit"):
        scale = 10.0 ** rng.uniform(0, 4)
        stiff = p._replace(kp=scale * p.kp, kd=10.0 ** rng.uniform(0, 3) * p.kd)
        limit = 10.0 ** rng.uniform(-1, 3) * rng.uniform(0.1, 2.0, size=p.model.nv)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            limits_hold(stiff, controller(stiff, mode=mode, torque_limit=limit), 1e-9)


def test_a_pendulum_by_hand():
    """One dof: the torque is the limit, and the acceleration that of the limit."""
    model = kt.load("""<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody><body><joint axis="0 0 1"/>
        <inertial pos="0 0 0" mass="1" diaginertia=".5 .5 .5"/></body></worldbody></mujoco>""")
    data = kt.Data(model)
    spd = kt.StablePD(model, 100.0, 10.0, torque_limit=2.0)
    assert spd.torque(data, [1.0])[0] == 2.0 and spd.acceleration(data, [1.0])[0] == pytest.approx(4.0)
    assert spd.torque(data, [-1.0])[0] == -2.0
    free = 100.0 * 0.01 / (1 + 0.01 * 10 / 0.5)  # Q m / (m + h kd)
    assert spd.torque(data, [0.01])[0] == pytest.approx(free)


def test_clamping_afterwards_is_not_enough():
    """The limit changes the acceleration, and through it the torques of other dofs."""
    p = problem(random_tree(3, nbody=8), 3, speed=3.0)
    limit = np.full(p.model.nv, 3.0)
    inside = limits_hold(p, controller(p, torque_limit=limit))
    outside = np.clip(controller(p).torque(p.data, p.target), -limit, limit)
    assert np.abs(inside - outside).max() > 0.1


def test_limits_that_do_not_bind_change_nothing():
    p = problem(random_tree(7), 7)
    free = controller(p).torque(p.data, p.target)
    np.testing.assert_array_equal(controller(p, torque_limit=1e9).torque(p.data, p.target), free)
    np.testing.assert_array_equal(controller(p, torque_limit=np.inf).torque(p.data, p.target), free)


def test_a_limit_of_zero_switches_a_joint_off():
    p = problem(random_tree(2, nbody=8), 2)
    name = p.model.name("joint", p.model.njnt - 1)
    spd = controller(p, torque_limit={name: 0.0})
    torque = limits_hold(p, spd)
    assert not torque[int(p.model.jnt_dofadr[-1]) :].any() and torque.any()


@pytest.mark.parametrize("count", [1, 2])
def test_running_out_of_solves_warns_and_keeps_the_limits(count):
    """The torque is then taken as given: within limits, and the acceleration is that under it."""
    p = problem(random_tree(3, nbody=20), 3, speed=3.0)
    spd = controller(p, torque_limit=2.0)
    limits_hold(p, spd)
    spd.max_solves = count
    with pytest.warns(kt.SimulationWarning, match=f"did not settle in {count} solves") as caught:
        torque = spd.torque(p.data, p.target)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert (np.abs(torque) <= 2.0).all()
    with pytest.warns(kt.SimulationWarning):
        acceleration = spd.acceleration(p.data, p.target)
    inertia, smooth = inertia_and_force(p)
    inertia += spd.h * damping_matrix(p.mj, p.theirs)
    np.testing.assert_allclose(
        inertia @ acceleration, smooth + torque, atol=1e-8 * np.abs(inertia @ acceleration).max()
    )


def test_steps_keep_the_limits():
    model = kt.load("ball_humanoid")
    model.opt.disableflags = kt.DisableBit.CONSTRAINT
    data, spd = kt.Data(model), kt.StablePD(model, 500.0, 20.0, mode="implicit", torque_limit=15.0)
    target = kt.integrate_pos(model, model.qpos0, np.random.default_rng(0).normal(size=model.nv), 0.5)
    saturated = 0
    for _ in range(100):
        torque = spd.step(data, target)
        assert (np.abs(torque) <= 15.0).all()
        saturated += int((np.abs(torque) == 15.0).sum())
    assert saturated > 50
    with pytest.warns(kt.SimulationWarning, match="did not settle in 1 solves"):
        spd.max_solves = 1
        spd.step(data, model.qpos0, nstep=5)


def test_mujoco_moves_the_same_under_that_torque():
    """The torque as an applied force, in a step of MuJoCo's implicitfast, gives the acceleration that we return."""
    p = problem(random_tree(9, nbody=8), 9, speed=2.0)
    spd, before = controller(p, torque_limit=5.0), p.theirs.qvel.copy()
    p.theirs.qfrc_applied[:] += spd.torque(p.data, p.target)
    p.mj.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    mujoco.mj_step(p.mj, p.theirs)
    wanted = (p.theirs.qvel - before) / p.mj.opt.timestep
    np.testing.assert_allclose(spd.acceleration(p.data, p.target), wanted, atol=1e-9 * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("solver", ["dense", "sparse", "maba"])
def test_a_state_that_is_not_a_number_gives_torques_that_are_none(solver):
    """Within their limits they would look right."""
    model = kt.load("double_pendulum")
    data = kt.Data(model)
    data.qpos[0] = np.nan
    assert np.isnan(kt.StablePD(model, 50.0, 5.0, torque_limit=3.0, solver=solver).torque(data, [1.0, 1.0])).all()
