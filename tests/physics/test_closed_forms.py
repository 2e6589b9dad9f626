"""Motions that are known without a simulator, and laws that hold for every one of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import kinetree as kt
from tests.trees import random_tree

SMOOTH = kt.DisableBit.CONSTRAINT | kt.DisableBit.SENSOR

PENDULUM = """
<mujoco><option timestep="{h}" integrator="RK4" gravity="0 0 -9.81"/>
  <worldbody><body><joint name="hinge" axis="{axis}"/>
    <inertial pos="0 0 -0.7" mass="2" diaginertia="0.05 0.05 0.03"/></body></worldbody></mujoco>
"""
ROTOR = """
<mujoco><option timestep="{h}" integrator="{integrator}" gravity="0 0 0"/>
  <worldbody><body pos="0.1 0.2 0.3" euler="20 30 40"><freejoint/>
    <inertial pos="0.05 -0.1 0.2" euler="10 50 -30" mass="3" diaginertia="0.2 0.3 0.4"/></body></worldbody></mujoco>
"""


def period(angle):
    """A full swing of the compound pendulum, by the complete elliptic integral."""
    mass, length, inertia = 2.0, 0.7, 0.05
    small = np.sqrt((inertia + mass * length**2) / (mass * 9.81 * length))
    return 4.0 * small * ellipk(np.sin(angle / 2.0) ** 2)


@pytest.mark.parametrize("angle", [0.01, 1.0, 2.5])
def test_pendulum_period(angle):
    steps = 4000
    model = kt.load(PENDULUM.format(h=period(angle) / steps, axis="0 1 0"))
    data = kt.Data(model)
    data.qpos[0] = angle
    kt.step(model, data, nstep=steps)
    assert data.qpos[0] == pytest.approx(angle, abs=1e-8)
    assert data.qvel[0] == pytest.approx(0.0, abs=1e-6)


def test_a_tilted_axis_swings_slower():
    """Only the part of gravity across the axis pulls back: the small period grows with 1/sqrt(cos)."""
    tilt = 0.6
    model = kt.load(PENDULUM.format(h=period(1e-4) / 4000 / np.sqrt(np.cos(tilt)), axis="0 1 0"))
    model.opt.gravity[:] = 0.0, -9.81 * np.sin(tilt), -9.81 * np.cos(tilt)
    data = kt.Data(model)
    data.qpos[0] = 1e-4
    kt.step(model, data, nstep=4000)
    assert data.qpos[0] == pytest.approx(1e-4, rel=1e-5)


def euler_equations(inertia, w0, t):
    """Angular velocity of a free rigid body in its principal axes, integrated to high accuracy."""

    def rate(_, w):
        return np.cross(inertia * w, w) / inertia

    return solve_ivp(rate, (0.0, t), w0, rtol=1e-12, atol=1e-13).y[:, -1]


def test_a_free_body_obeys_eulers_equations():
    model = kt.load(ROTOR.format(h=1e-3, integrator="RK4"))
    data = kt.Data(model)
    data.qvel[3:] = 1.0, -2.0, 3.0
    kt.forward(model, data)
    frame = data.xmat[1].reshape(3, 3).T @ data.ximat[1].reshape(3, 3)
    start = frame.T @ data.qvel[3:]
    kt.step(model, data, nstep=1000)
    wanted = euler_equations(model.body_inertia[1], start, 1.0)
    np.testing.assert_allclose(frame.T @ data.qvel[3:], wanted, atol=1e-9)


def momentum(model, data):
    """Linear momentum and angular momentum about the world's origin, summed over bodies."""
    linear, angular = np.zeros(3), np.zeros(3)
    for b in range(1, model.nbody):
        v = kt.object_velocity(model, data, "body", b)
        r = data.ximat[b].reshape(3, 3)
        linear += model.body_mass[b] * v[3:]
        angular += r @ (model.body_inertia[b] * (r.T @ v[:3])) + np.cross(data.xipos[b], model.body_mass[b] * v[3:])
    return np.concatenate((linear, angular))


def floating_tree(seed, h, integrator):
    """A random tree whose roots are free, without gravity: nothing acts on it from outside."""
    source = random_tree(seed, nbody=6, joints=("ball", "hinge", "slide"))
    body = source.index("<body name=")
    source = (
        source[:body]
        + '<body name="carrier"><freejoint/><inertial pos="0.1 0 0" mass="1" diaginertia="1 1 1"/>'
        + source[body:]
    )
    source = source.replace("</worldbody>", "</body></worldbody>")
    model = kt.load(source)
    model.opt.gravity[:] = 0.0
    model.opt.timestep, model.opt.integrator = h, integrator
    model.opt.disableflags = SMOOTH | kt.DisableBit.SPRING | kt.DisableBit.DAMPER
    model.opt.enableflags = kt.EnableBit.ENERGY
    model.dof_armature[:] = 0.0
    data = kt.Data(model)
    data.qvel = 0.5 * np.random.default_rng(seed).normal(size=model.nv)
    return model, data


def drift(seed, h, integrator, seconds=0.5):
    """How far energy and momentum wander over some time."""
    model, data = floating_tree(seed, h, integrator)
    kt.forward(model, data)
    energy, moment = data.energy.sum(), momentum(model, data)
    kt.step(model, data, nstep=round(seconds / h))
    kt.forward(model, data)
    return abs(data.energy.sum() - energy), np.abs(momentum(model, data) - moment).max()


@pytest.mark.parametrize("integrator, order", [(kt.Integrator.RK4, 4), (kt.Integrator.EULER, 1)], ids=lambda x: str(x))
@pytest.mark.parametrize("seed", [1, 4])
def test_energy_and_momentum_are_conserved_to_the_order_of_the_integrator(seed, integrator, order):
    """Halving the step divides the drift by two to the order, and the drift of RK4 is tiny."""
    coarse, fine = drift(seed, 4e-3, integrator), drift(seed, 2e-3, integrator)
    for what, a, b in zip(("energy", "momentum"), coarse, fine, strict=True):
        if b > 1e-11:  # below that rounding is all that is left
            assert np.log2(a / b) > order - 0.6, f"{what}: {a} at 4 ms, {b} at 2 ms"
    if integrator == kt.Integrator.RK4:
        assert fine[0] < 1e-5 and fine[1] < 1e-6


def test_free_flight_keeps_the_momentum_of_one_body():
    """A single rigid body: linear and angular momentum constant over 1000 RK4 steps."""
    model = kt.load(ROTOR.format(h=1e-3, integrator="RK4"))
    data = kt.Data(model)
    data.qvel = 0.3, -0.2, 0.1, 1.0, -0.5, 1.2
    kt.forward(model, data)
    start = momentum(model, data)
    kt.step(model, data, nstep=1000)
    kt.forward(model, data)
    np.testing.assert_allclose(momentum(model, data), start, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_change_of_energy_is_the_work_of_applied_forces(seed):
    """The power of all applied forces is the rate of the total energy, to the order of the step."""
    model = kt.load(random_tree(seed, nbody=6))
    model.opt.disableflags = SMOOTH | kt.DisableBit.DAMPER
    model.opt.enableflags = kt.EnableBit.ENERGY
    model.opt.integrator, model.opt.timestep = kt.Integrator.RK4, 1e-5
    rng = np.random.default_rng(seed)
    data = kt.Data(model)
    data.qvel = rng.normal(size=model.nv)
    data.qfrc_applied = rng.normal(size=model.nv)
    data.xfrc_applied[1:] = rng.normal(size=(model.nbody - 1, 6))
    kt.forward(model, data)
    before, power = data.energy.sum(), _power(model, data)
    kt.step(model, data)
    kt.forward(model, data)
    work = 0.5 * (power + _power(model, data)) * model.opt.timestep
    assert data.energy.sum() - before == pytest.approx(work, rel=1e-4, abs=1e-11)


def _power(model, data):
    total = data.qfrc_applied @ data.qvel
    for b in range(1, model.nbody):
        v = kt.object_velocity(model, data, "body", b)
        total += data.xfrc_applied[b, :3] @ v[3:] + data.xfrc_applied[b, 3:] @ v[:3]
    return total


def test_kinetic_energy_is_that_of_the_bodies_and_the_armature():
    model = kt.load(random_tree(7, nbody=8))
    model.dof_armature[:] = np.random.default_rng(0).uniform(0.0, 0.2, model.nv)
    data = kt.Data(model)
    data.qvel = np.random.default_rng(1).normal(size=model.nv)
    kt.forward(model, data)
    total = 0.5 * (model.dof_armature * data.qvel**2).sum()
    for b in range(1, model.nbody):
        v, r = kt.object_velocity(model, data, "body", b), data.ximat[b].reshape(3, 3)
        w = r.T @ v[:3]
        total += 0.5 * model.body_mass[b] * v[3:] @ v[3:] + 0.5 * w @ (model.body_inertia[b] * w)
    assert 0.5 * data.qvel @ kt.mul_m(model, data, data.qvel) == pytest.approx(total, rel=1e-12)
