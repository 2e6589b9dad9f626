"""Energy under stable PD: controller and damping never feed any, limits or not, and characters stay calm over decades.

What is exact for the discrete scheme, with q the pose before a step and v' the velocity after it:

    1/2 v' M(q) v' + P(e')  <=  1/2 v M(q) v + P(e) + h v' f

where f are all forces but those of controller and damping: bias, springs, actuators, applied and constraint forces. P is
the energy that the controller stores: the integral of clamp(kp e) over the error, so kp e^2 / 2 up to the limit and linear
beyond. It holds in "implicit" on hinges and slides for any gains, limits and steps. Proof: the torque is clamp(kp e' - kd
v') with e' = e - h v', so v' torque <= v' clamp(kp e') as clamp is monotone, and h v' clamp(kp e') <= P(e) - P(e') as P is
convex; damping takes h v' D v', the change of velocity 1/2 dv M dv. Without stiffness it holds in both modes and for balls
and free joints too. What bias forces do, and M as it changes with the pose, is the integrator's own error, which grows with
the turn per step.
"""

from __future__ import annotations

import functools
import warnings

import mujoco
import numpy as np
import pytest

import kinetree as kt
from tests.control.reference import damping_matrix
from tests.control.test_damping import PARTS, source
from tests.corpora import entries

SOURCES = {entry.name: entry.source for entry in entries()}
CORPUS = {
    "dm humanoid": "dm_control/suite/humanoid.xml", "dm CMU humanoid": "dm_control/suite/humanoid_CMU.xml",
    "dm dog": "dm_control/suite/dog(no ball)", "dm quadruped": "dm_control/suite/quadruped.xml",
    "gymnasium humanoid": "gymnasium/envs/mujoco/assets/humanoid.xml", "gymnasium ant": "gymnasium/envs/mujoco/assets/ant.xml",
}  # fmt: skip
BUNDLED = ("ball_humanoid", "humanoid", "quadruped", "arm", "tendon_finger", "cartpole", "double_pendulum")
STEPS = (1 / 240, 1 / 120, 1 / 60, 1 / 30)


@functools.cache
def load(name: str, h: float) -> kt.Model:
    """A character, or one of the damped bodies, at a time step."""
    text = source(name) if name in PARTS else SOURCES[CORPUS[name]]() if name in CORPUS else name
    return kt.load(text).replace(opt_timestep=h)


def start(model: kt.Model, seed: int, reach: float, speed: float) -> tuple[kt.Data, np.ndarray]:
    """A character that moves, in its first keyframe if it has one, and a target away from it [rad, root mean square]."""
    data, rng = kt.Data(model), np.random.default_rng(seed)
    if model.nkey:
        data.reset_keyframe(0)
    data.qvel = speed * rng.normal(size=model.nv)
    return data, kt.integrate_pos(model, data.qpos, rng.normal(size=model.nv), reach)


# the ledger


def stored(spd: kt.StablePD, model: kt.Model, qpos: np.ndarray, target: np.ndarray) -> float:
    """P: the energy in the springs of the controller, which give no more than its limits."""
    error = np.abs(kt.differentiate_pos(model, 1.0, qpos, target))
    kp, limit = spd.kp, spd.torque_limit
    knee = np.divide(
        limit, kp, out=np.full(model.nv, np.inf), where=kp > 0.0
    )  # error at which a spring is at its limit
    bent = np.minimum(error, knee)
    beyond = np.where(error > knee, limit, 0.0) * (error - bent)
    return float((0.5 * kp * bent * bent + beyond).sum())


def fed(model: kt.Model, spd: kt.StablePD, data: kt.Data, target: np.ndarray) -> tuple[float, float, int]:
    """Make a step; by how much energy grew beyond what other forces brought, the sizes it is made of, torques at limits."""
    mj = model.to_mujoco()
    theirs = mujoco.MjData(mj)
    theirs.qpos[:], theirs.qvel[:], theirs.act[:], theirs.ctrl[:] = data.qpos, data.qvel, data.act, data.ctrl
    theirs.mocap_pos[:], theirs.mocap_quat[:] = data.mocap_pos, data.mocap_quat
    mujoco.mj_forward(mj, theirs)
    inertia = np.zeros((mj.nv, mj.nv))
    mujoco.mj_fullM(mj, theirs, inertia)
    damping, h, v, q = damping_matrix(mj, theirs), model.opt.timestep, data.qvel.copy(), data.qpos.copy()
    torque = spd.step(data, target)
    rest = theirs.qfrc_passive + theirs.qfrc_actuator + damping @ v - theirs.qfrc_bias + data.qfrc_constraint
    after = 0.5 * data.qvel @ inertia @ data.qvel + stored(spd, model, data.qpos, target)
    before = 0.5 * v @ inertia @ v + stored(spd, model, q, target)
    work = h * data.qvel @ rest
    size = after + before + h * np.abs(data.qvel) @ (np.abs(rest) + np.abs(torque))
    return after - before - work, size, int(np.sum((np.abs(torque) == spd.torque_limit) & (spd.kp + spd.kd > 0.0)))


def balances(name: str, h: float, kp: float, kd: float, mode: str, limit: float | None, steps: int = 15) -> int:
    """No step feeds energy beyond rounding; returns how many torques were at their limits."""
    model, held = load(name, h), 0
    data, target = start(model, 1, 0.4, 0.5)
    spd = kt.StablePD(model, kp, kd, mode=mode, torque_limit=limit)
    for k in range(steps):
        growth, size, at_limit = fed(model, spd, data, target)
        what = f"{name} 1/{1 / h:g} s, kp {kp:g}, kd {kd:g}, {mode}, limit {limit}, step {k}"
        assert growth <= 1e-9 * (size + 1e-6), f"{what}: {growth} J of {size} J from nowhere"
        held += at_limit
    return held


def test_the_controller_feeds_no_energy():
    """Any gains, limits and steps in "implicit"; no balls, whose error is no potential's slope to second order."""
    held = 0
    for name in ("humanoid", "quadruped", "tendon_finger"):
        for kp, kd in ((1.0, 0.0), (1e3, 10.0), (1e7, 0.0), (1e5, 1e5)):
            for limit, h in ((0.1, 1 / 30), (10.0, 1 / 60), (1e3, 1 / 240), (None, 1 / 60)):
                held += balances(name, h, kp, kd, "implicit", limit, 4)
    assert held > 200


@pytest.mark.parametrize("mode", ["spd", "implicit"])
def test_damping_alone_feeds_no_energy(mode):
    """In either mode, for balls and free joints too, with tendons, servos and a medium; in the air and in contact."""
    held = 0
    for name in ("ball_humanoid", "joints", "servo on a hinge", "servo on a site", "tendon", "medium", "all"):
        for kd, limit, h in ((1e4, 0.5, 1 / 60), (30.0, 2.0, 1 / 30), (1e6, None, 1 / 240)):
            held += balances(name, h, 0.0, kd, mode, limit, 8)
    assert held > 100


@pytest.mark.soak
@pytest.mark.parametrize("name", [*CORPUS, "humanoid", "quadruped", "arm", "cartpole", "double_pendulum"])
def test_characters_are_fed_no_energy(name):
    balls = np.any(load(name, 0.01).jnt_type == kt.JointType.BALL)
    for kp in (0.0,) if balls else (0.0, 1.0, 1e2, 1e4, 1e7):
        for kd in (0.0, 1.0, 1e3, 1e6):
            for limit in (0.01, 1.0, 100.0, 1e3, None):
                for h in STEPS[1:]:
                    balances(name, h, kp, kd, "implicit", limit, 6)


# no resets


def stays_calm(name: str, h: float, kp: float, kd: float, mode: str, limit: float | None, reach: float = 1.0) -> float:
    """A hundred steps towards a far target without a warning of any kind; the largest speed at the end [rad/s]."""
    model = load(name, h)
    data, target = start(model, 0, reach, 1.0)
    spd = kt.StablePD(model, kp, kd, mode=mode, torque_limit=limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spd.step(data, target, nstep=100)
    what = f"{name} 1/{1 / h:g} s, kp {kp:g}, kd {kd:g}, {mode}, limit {limit}"
    assert not data.warning_number.any(), f"{what}: warnings {data.warning_number}"
    return float(np.abs(data.qvel).max())


def gains(h: float, kp: float) -> list[tuple[str, float, float]]:
    """Modes and gains for which no limit is needed either: kd >= 3 h kp; and no stiffness."""
    return [("spd", kp, 3 * h * kp), ("implicit", kp, 3 * h * kp), ("implicit", kp, kp / 10), ("spd", 0.0, h * kp)]


@pytest.mark.parametrize("mode", ["spd", "implicit"])
@pytest.mark.parametrize("limit", [2.0, 10.0, 50.0])
def test_the_ball_humanoid_at_its_limits(limit, mode):
    """At 1/60 s with damped joints: where limits held, damping was explicit, and speeds went to 1e5 rad/s and beyond."""
    model = load("ball_humanoid", 1 / 60)
    data, target = start(model, 0, 0.5, 0.0)
    spd, fastest = kt.StablePD(model, 2000.0, 100.0, mode=mode, torque_limit=limit), 0.0
    for _ in range(300):
        spd.step(data, target)
        fastest = max(fastest, np.abs(data.qvel).max())
    assert fastest < 60.0 and not data.warning_number.any()


@pytest.mark.parametrize("name", ["ball_humanoid", "humanoid", "gymnasium ant"])
def test_characters_stay_calm(name):
    for h, limit in ((1 / 240, 0.01), (1 / 60, 1.0), (1 / 60, None), (1 / 30, 30.0), (1 / 30, 1e3)):
        for kp in (1e3, 1e7):
            for mode, stiffness, damping in gains(h, kp):
                stays_calm(name, h, stiffness, damping, mode, limit)


def test_the_dog_needs_no_controller_to_blow_up():
    """Why the grid leaves it out at 1/30 s: MuJoCo's implicitfast loses it too, unless its springs are switched off."""
    lost = []
    for flags in (0, kt.DisableBit.SPRING):
        model = load("dm dog", 1 / 30)
        mj = model.to_mujoco()
        mj.opt.integrator, mj.opt.disableflags = mujoco.mjtIntegrator.mjINT_IMPLICITFAST, int(flags)
        theirs = mujoco.MjData(mj)
        theirs.qvel[:] = start(model, 0, 1.0, 1.0)[0].qvel
        mujoco.mj_step(mj, theirs, 100)
        lost.append(any(warning.number for warning in theirs.warning))
    assert lost == [True, False]


@pytest.mark.soak
@pytest.mark.parametrize("name", [*BUNDLED, *CORPUS])
def test_characters_stay_calm_over_decades(name):
    """Limits over five decades and none, steps from 1/240 to 1/30 s, gains over seven decades, targets a radian away.

    The dog has explicit springs that blow up at 1/30 s under implicitfast alone.
    """
    for h in STEPS[:3] if name == "dm dog" else STEPS:
        for limit in (0.01, 0.1, 1.0, 10.0, 100.0, 1e3, None):
            for kp in 10.0 ** np.arange(8):
                for mode, stiffness, damping in gains(h, kp):
                    stays_calm(name, h, stiffness, damping, mode, limit)
                if limit is not None and limit <= 100.0:  # then with any damping
                    stays_calm(name, h, kp, 0.0, "implicit", limit)
                    stays_calm(name, h, kp, 1.5 * h * kp, "spd", limit)


@pytest.mark.parametrize("name", ["ball_humanoid", "humanoid"])
def test_near_targets_need_no_damping(name):
    """Within 0.3 rad, without limits: what is covered in a step or two does not make bodies tumble."""
    for h in STEPS:
        for kp in (1e2, 1e4, 1e7):
            stays_calm(name, h, kp, 0.0, "implicit", None, reach=0.3)


# what is lost, and why


def lost_at(name: str, h: float, kp: float, kd: float, mode: str, seed: int) -> int | None:
    """The first step of a hundred, without limits, towards a target a radian away, that ends in a warning."""
    model = load(name, h)
    data, target = start(model, seed, 1.0, 1.0)
    spd = kt.StablePD(model, kp, kd, mode=mode)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return next((k for k in range(100) if spd.step(data, target) is None or data.warning_number.any()), None)


def lost_by_mujoco(name: str, h: float, kp: float, kd: float, mode: str, seed: int, integrator: int) -> int | None:
    """The same of MuJoCo, given the controller's diagonal as armature and its force, and nothing else of ours."""
    model = load(name, h)
    data, target = start(model, seed, 1.0, 1.0)
    spd = kt.StablePD(model, kp, kd, mode=mode)
    mj = model.to_mujoco()
    mj.opt.integrator = integrator
    mj.dof_armature[:] += h * spd.kd + (h * h * spd.kp if mode == "implicit" else 0.0)
    theirs = mujoco.MjData(mj)
    theirs.qpos[:], theirs.qvel[:], theirs.act[:], theirs.ctrl[:] = data.qpos, data.qvel, data.act, data.ctrl
    for k in range(100):
        data.qpos, data.qvel = theirs.qpos, theirs.qvel
        theirs.qfrc_applied[:] = spd.force(data, target)
        mujoco.mj_step(mj, theirs)
        if any(warning.number for warning in theirs.warning):
            return k
    return None


IMPLICITFAST, IMPLICIT = mujoco.mjtIntegrator.mjINT_IMPLICITFAST, mujoco.mjtIntegrator.mjINT_IMPLICIT


@pytest.mark.parametrize("name", ["ball_humanoid", "humanoid"])
def test_only_explicit_velocity_products_lose_a_character(name):
    """Far targets, no damping, no limits: lost at the steps at which implicitfast is; its full sister, `implicit`, holds."""
    for h, kp in ((1 / 60, 1e4), (1 / 60, 1e7), (1 / 30, 1e7)):
        ours = lost_at(name, h, kp, 0.0, "implicit", 0)
        theirs = lost_by_mujoco(name, h, kp, 0.0, "implicit", 0, IMPLICITFAST)
        assert ours is not None and theirs is not None and abs(ours - theirs) <= 2, f"{h} {kp}: {ours}, MuJoCo {theirs}"
        assert lost_by_mujoco(name, h, kp, 0.0, "implicit", 0, IMPLICIT) is None


@pytest.mark.soak
@pytest.mark.parametrize("name", ["ball_humanoid", "humanoid", "quadruped", *CORPUS])
def test_nothing_is_lost_that_implicitfast_holds(name):
    """Without limits, over steps, gains and modes: as many runs are lost as MuJoCo loses, and the same but for chaos."""
    ours, theirs, apart = 0, 0, 0
    for h in STEPS[1:3] if name == "dm dog" else STEPS[1:]:
        for kp in (1e3, 1e4, 1e5, 1e7):
            for mode, kd in (("implicit", 0.0), ("implicit", h * kp), ("spd", 1.5 * h * kp)):
                mine = lost_at(name, h, kp, kd, mode, 1) is not None
                other = lost_by_mujoco(name, h, kp, kd, mode, 1, IMPLICITFAST) is not None
                ours, theirs, apart = ours + mine, theirs + other, apart + (mine != other)
    assert apart <= 3 and ours <= theirs + 2, f"{name}: {ours} lost, {theirs} by MuJoCo, {apart} by one alone"
