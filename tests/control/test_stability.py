"""How stiff a controller may be: the bound of "spd", "implicit" without one, and what holds for ball joints."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kinetree as kt
from benchmarks.trees import tree

pytestmark = pytest.mark.filterwarnings("error::kinetree.SimulationWarning")  # a state that was reset has not settled
H = 1 / 60
SCALAR = """<mujoco><option timestep="{h}" gravity="0 0 0"/><worldbody><body><joint type="{kind}" axis="0 0 1" damping="{d}"/>
  <inertial pos="0 0 0" mass="{m}" diaginertia="{m} {m} {m}"/></body></worldbody></mujoco>"""


def scalar_model(kind: str = "slide", mass: float = 1.0, h: float = H, damping: float = 0.0) -> kt.Model:
    """A mass on a slide, or an inertia of that size on a hinge."""
    return kt.load(SCALAR.format(kind=kind, m=mass, h=h, d=damping))


def grows(model: kt.Model, kp: float, kd: float, mode: str = "spd", steps: int = 4000) -> bool:
    """Whether a motion about the target grows in the end, measured over its second half."""
    data, spd, sizes = kt.Data(model), kt.StablePD(model, kp, kd, mode=mode), []
    data.qpos[:] = 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("error", kt.SimulationWarning)
        try:
            for _ in range(2):
                spd.step(data, nstep=steps // 2)
                sizes.append(np.hypot(data.qpos[0], spd.h * data.qvel[0]))
        except kt.SimulationWarning:  # beyond 1e10
            return True
    return bool(sizes[1] > sizes[0])


@pytest.mark.parametrize("kind", ["slide", "hinge"])
@pytest.mark.parametrize("part", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("mass, h, share", [(1.0, 1 / 60, 0.0), (1.0, 1 / 60, 1.0), (3.0, 0.01, 0.2), (0.2, 0.1, 5.0)])
def test_the_bound_of_spd(kind, mass, h, share, part):
    """Stable iff 3 h^2 kp < 4 m + 2 h (kd + d). share: h (kd + d) as a share of m; part: what of it is the joint's own, d."""
    total = share * mass / h
    model, kd = scalar_model(kind, mass, h, part * total), (1.0 - part) * total
    bound = (4 * mass + 2 * h * total) / (3 * h * h)
    assert not grows(model, 0.99 * bound, kd)
    assert grows(model, 1.01 * bound, kd)


def test_damping_of_the_model_has_no_bound():
    """A million times m / h, without gains, with them, and at a torque limit."""
    for limit in (None, 1e-3):
        for kp in (0.0, 1e4, 1e10):
            model = scalar_model(damping=1e6 / H)
            data, spd = kt.Data(model), kt.StablePD(model, kp, 0.0, mode="implicit", torque_limit=limit)
            data.qpos[:], data.qvel[:] = 1e-3, 1.0
            for _ in range(50):
                before = abs(data.qvel[0])
                spd.step(data)
                assert abs(data.qvel[0]) <= max(before, H * 1e10 * 1e-3)
            assert abs(data.qvel[0]) < 1e-2


def test_the_numbers_of_the_guide():
    """At critical damping, m = 1 and h = 1/60: the largest kp is 1.44e4."""
    for kp, unstable in ((1.42e4, False), (1.46e4, True)):
        assert grows(scalar_model(), kp, 2 * np.sqrt(kp)) is unstable


def test_enough_damping_lifts_the_bound():
    """kd >= 1.5 h kp; a little less is enough only up to a stiffness."""
    for kp in (1e5, 1e7, 1e10):
        assert not grows(scalar_model(), kp, 1.5 * H * kp)
        assert grows(scalar_model(), kp, 1.45 * H * kp) is (0.1 * H * H * kp > 4.0)


@pytest.mark.parametrize("kind", ["slide", "hinge"])
@pytest.mark.parametrize("kd", [0.0, 1.0, 2e5, 1e10])
def test_implicit_takes_any_stiffness(kind, kd):
    for mass, h in ((1.0, 1 / 60), (1e-3, 0.1), (100.0, 1e-3)):
        assert not grows(scalar_model(kind, mass, h), 1e10, kd, "implicit")


@pytest.mark.parametrize("arity", [1, 2])
def test_implicit_trees_of_hinges_reach_their_target(arity):
    """Twenty bodies, gravity, kp = 1e10 at h = 1/60: at the target within a second, and there to stay."""
    model = kt.load(tree(20, arity, "hinge", timestep=H))
    target = np.random.default_rng(0).uniform(-1.0, 1.0, size=model.nq)
    data, spd = kt.Data(model), kt.StablePD(model, 1e10, 2e5, mode="implicit")
    spd.step(data, target, nstep=60)
    for _ in range(10):
        spd.step(data, target, nstep=30)
        np.testing.assert_allclose(data.qpos, target, atol=1e-4)
        assert np.abs(data.qvel).max() < 1e-2


def test_explicit_control_at_those_gains_is_lost():
    """The same task, with the torque from the pose as it is."""
    model = kt.load(tree(20, 1, "hinge", timestep=H))
    target = np.random.default_rng(0).uniform(-1.0, 1.0, size=model.nq)
    data = kt.Data(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kt.SimulationWarning)
        with pytest.raises(kt.SimulationWarning, match="unstable"):
            for _ in range(60):
                data.qfrc_applied = 1e10 * (target - data.qpos) - 2e5 * data.qvel
                kt.step(model, data)


# ball joints: the error is a rotation, which is the same after a full turn


def settles(model: kt.Model, kp: float, kd: float, angle: float, turn: float, rng: np.random.Generator) -> bool:
    """Whether balls that start at an angle from the target, turning by `turn` a step, are at rest there in the end."""

    def directions():
        rows = rng.normal(size=(model.nbody - 1, 3))
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).ravel()

    data, spd = kt.Data(model), kt.StablePD(model, kp, kd, mode="implicit")
    data.qpos = kt.integrate_pos(model, model.qpos0, angle * directions(), 1.0)
    data.qvel = turn / H * directions()
    spd.step(data, model.qpos0, nstep=500)
    assert np.isfinite(data.qvel).all() and H * np.abs(data.qvel).max() < 20.0  # it may spin, but never flies apart
    error = kt.differentiate_pos(model, 1.0, data.qpos, model.qpos0)
    return bool(np.abs(error).max() < 1e-2 and H * np.abs(data.qvel).max() < 1e-2)


BALLS = (1, 2, 6)


def ball_chain(count: int) -> kt.Model:
    return kt.load(tree(count, 1, "ball", timestep=H, gravity=0.0))


@pytest.mark.parametrize("count", BALLS)
def test_ball_joints_settle_if_angle_and_turn_stay_below_half_a_turn(count):
    """At kp = 1e10 and critical damping: the angle to the target and the angle turned in a step add up to less than pi."""
    model, rng = ball_chain(count), np.random.default_rng(1)
    for _ in range(30):
        turn = rng.uniform(0.0, 3.1)
        angle = rng.uniform(0.0, 3.1 - turn)
        assert settles(model, 1e10, 2e5, angle, turn, rng), (angle, turn)
    assert settles(model, 1e10, 2e5, 3.1, 0.0, rng)


@pytest.mark.parametrize("count", BALLS)
def test_ball_joints_settle_from_anywhere_with_enough_damping(count):
    """kd = 1.5 h kp, again at kp = 1e10."""
    model, rng = ball_chain(count), np.random.default_rng(2)
    for _ in range(30):
        angle, turn = rng.uniform(0.0, np.pi), rng.uniform(0.0, 3.1)
        assert settles(model, 1e10, 1.5 * H * 1e10, angle, turn, rng), (angle, turn)


def test_without_that_damping_a_ball_can_go_on_spinning_by_a_turn_a_step():
    """What the claim above leaves out does happen: the pose is right at every step, and the joint spins by 2 pi in between."""
    model, rng = ball_chain(1), np.random.default_rng(3)
    data, spd, spinning = kt.Data(model), kt.StablePD(model, 1e10, 2e5, mode="implicit"), 0
    for _ in range(20):
        data.reset()
        data.qpos = kt.integrate_pos(model, model.qpos0, 3.1 * np.array([0.6, 0.8, 0.0]), 1.0)
        data.qvel = rng.normal(size=3) / H
        spd.step(data, model.qpos0, nstep=500)
        spinning += int(abs(H * np.linalg.norm(data.qvel) - 2 * np.pi) < 0.1)
    assert spinning > 5


def test_ball_joints_at_the_gains_of_a_simulation():
    """kp = 1e4 at critical damping of unit inertia: one body settles from anywhere, a chain from within two radians.

    What limits the chain is not the controller: velocity products, which no gain makes implicit, tear at bodies that are
    pulled round by radians a step.
    """
    for count, angles, turns in ((1, (1.0, 3.1), (0.0, 2.0)), (3, (1.0, 2.0), (0.0, 0.1))):
        model, rng = ball_chain(count), np.random.default_rng(4)
        assert all(settles(model, 1e4, 200.0, angle, turn, rng) for angle in angles for turn in turns for _ in range(5))
