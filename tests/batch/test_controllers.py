"""Controllers on a batch: every world moves as it would alone, under stable PD, a kernel, or a function between steps."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import BATCH_SOLVED, STABLE_PD, STABLE_PD_SINGLE
from kinetree.dynamics.configuration import integrate_pos
from kinetree.kernel import kernel, stage
from kinetree.kernel.ops import sin
from kinetree.pipeline import settle
from tests.batch.test_batch import single, smooth, tight
from tests.control.test_sleep import controlled
from tests.trees import random_tree

N = 11  # a block and some: the last one is not full
SINGLE_STEPS = 1e-5
"""Configurations after 50 steps in single precision against double: 3e-7 of 11 characters, some torques at limits."""
SOURCES = {"ball_humanoid": "ball_humanoid", "tree": random_tree(2, nbody=8), "tendon_finger": "tendon_finger"}
COUPLED = """<mujoco><worldbody>
  <body><joint name="a" axis="0 1 0"/><geom size=".1" pos=".2 0 .1"/>
    <body pos=".4 0 0"><joint name="b" axis="0 1 .3"/><geom size=".1" pos=".2 0 0"/></body></body></worldbody>
  <tendon><fixed name="t"><joint joint="a" coef="1"/><joint joint="b" coef="-.5"/></fixed></tendon></mujoco>"""


def scattered(model: kt.Model, n: int = N, dtype: str = "float64", **settings) -> kt.Batch:
    """Worlds somewhat apart, with a velocity and a force of their own."""
    rng, batch = np.random.default_rng(1), kt.Batch(model, n, dtype, **settings)
    start = np.array([integrate_pos(model, model.qpos0, way, 1.0) for way in 0.1 * rng.normal(size=(n, model.nv))])
    batch.qpos, batch.qvel = start, 0.1 * rng.normal(size=(n, model.nv))
    batch.qfrc_applied = 0.1 * rng.normal(size=(n, model.nv))
    return batch


def wanted(model: kt.Model, shape: tuple[int, ...], seed: int = 2) -> np.ndarray:
    """Configurations to reach."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    ways = 0.3 * rng.normal(size=(count, model.nv))
    return np.array([integrate_pos(model, model.qpos0, way, 1.0) for way in ways]).reshape(*shape, model.nq)


def gains_of(model: kt.Model, n: int = N) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stiffness, damping and limits of each world; free joints have none."""
    rng = np.random.default_rng(3)
    held = np.where(model.jnt_type[model.dof_jntid] == kt.JointType.FREE, 0.0, 1.0)
    kp, kd = held * 10.0 ** rng.uniform(0, 2, (n, model.nv)), held * 10.0 ** rng.uniform(-1, 1, (n, model.nv))
    return kp, kd, rng.uniform(0.5, 3.0, (n, model.nv))


def near(got: np.ndarray, expected: np.ndarray, limit: float, note: str) -> None:
    """Within a limit relative to the largest entry, or a message with index and both values."""
    if expected.size:
        error = np.abs(got - expected) / max(1.0, np.abs(expected).max())
        at = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
        assert error[at] <= limit, f"{note}{list(map(int, at))}: {got[at]} against {expected[at]}"


# stable PD


@pytest.mark.parametrize("solver", ["auto", "sparse", "dense"])
@pytest.mark.parametrize("source", SOURCES)
def test_worlds_equal_single_ones(source, solver):
    model = smooth(kt.load(SOURCES[source]))
    batch, target = scattered(model), wanted(model, (N,))
    spd = kt.StablePD(model, 20.0, 2.0, solver=solver)
    worlds = [single(model, batch, i) for i in range(N)]
    for name in ("force", "torque", "acceleration"):
        found = getattr(spd, name)(batch, target)
        for i, data in enumerate(worlds):
            near(found[i], getattr(spd, name)(data, target[i]), STABLE_PD, f"{source} {solver} {name} of world {i}")
    assert (batch.time == 0.0).all()
    torque = spd.step(batch, target, nstep=50)
    for i, data in enumerate(worlds):
        near(torque[i], spd.step(data, target[i], nstep=50), STABLE_PD, f"{source} {solver} torque of world {i}")
        near(batch.qpos[i], data.qpos, STABLE_PD, f"{source} {solver} qpos of world {i}")
        assert batch.time[i] == data.time


@pytest.mark.parametrize("source", ["humanoid", "ball_humanoid"])
def test_worlds_in_contact_equal_single_ones(source):
    """Solved to the end, as a solve on lanes and one on floats stop a little apart."""
    model = tight(kt.load(source))
    batch, target = scattered(model, 9), wanted(model, ())
    spd = batch.stable_pd(100.0, 10.0, torque_limit=80.0)
    one = kt.StablePD(model, 100.0, 10.0, torque_limit=80.0)
    worlds, touching = [single(model, batch, i) for i in range(9)], 0
    spd.target = target
    torque = spd.step(nstep=100)
    for i, data in enumerate(worlds):
        for _ in range(100):
            alone = one.step(data, target)
            touching += data.ncon > 0
        near(torque[i], alone, BATCH_SOLVED, f"{source} torque of world {i}")
        near(batch.qpos[i], data.qpos, BATCH_SOLVED, f"{source} qpos of world {i}")
    assert touching > 400


def test_order_of_worlds_in_contact_matters_little():
    """Solves on lanes may end a little apart, by what their neighbours need."""
    model, n = tight(kt.load("humanoid")), 19
    target, order, states = wanted(model, (n,)), np.random.default_rng(8).permutation(n), []
    for at in (np.arange(n), order):
        batch = scattered(model, n)
        batch.set_state(batch.get_state()[at])
        kt.StablePD(model, 100.0, 10.0).step(batch, target[at], nstep=100)
        states.append(batch.qpos[np.argsort(at)])
    near(states[0], states[1], BATCH_SOLVED, "qpos")


@pytest.mark.parametrize("mode", ["spd", "implicit"])
def test_gains_of_each_world_equal_controllers_of_their_own(mode):
    model = smooth(kt.load("ball_humanoid"))
    batch, target, (kp, kd, limit) = scattered(model), wanted(model, (N,)), gains_of(model)
    spd = batch.stable_pd(kp, kd, mode=mode, torque_limit=limit)
    worlds = [single(model, batch, i) for i in range(N)]
    torque = spd.step(target, nstep=20)
    assert (np.abs(torque) <= limit).all()
    assert (np.abs(torque) == limit).any(axis=1).all(), "no limit was met in some world"
    for i, data in enumerate(worlds):
        one = kt.StablePD(model, kp[i], kd[i], mode=mode, torque_limit=limit[i])
        near(torque[i], one.step(data, target[i], nstep=20), 10 * STABLE_PD, f"{mode} torque of world {i}")
        near(batch.qpos[i], data.qpos, 10 * STABLE_PD, f"{mode} qpos of world {i}")


def test_settings_are_those_of_a_single_controller():
    model = kt.load("humanoid")
    batch, joint = kt.Batch(model, 3), model.name("joint", 3)
    spd = batch.stable_pd({joint: 5.0}, {joint: [[1.0], [2.0], [3.0]]}, solver="sparse")
    dof = int(model.jnt_dofadr[3])
    assert spd.kp.shape == (model.nv,) and spd.kp[dof] == 5.0 and spd.kp.sum() == 5.0
    assert spd.kd.shape == (3, model.nv) and spd.kd[:, dof].tolist() == [1.0, 2.0, 3.0] and spd.kd.sum() == 6.0
    assert np.isinf(spd.torque_limit).all()
    assert (spd.target == model.qpos0).all()
    assert (spd.h, spd.mode, spd.solver, spd.max_solves) == (model.opt.timestep, "spd", "sparse", 100)
    spd.kp = 3.0
    assert (spd.kp == kt.StablePD(model, 3.0, 0.0).kp).all()
    with pytest.raises(ValueError, match="read-only"):
        spd.kp[0] = 1.0
    again = pickle.loads(pickle.dumps(spd))
    assert (again.kd == spd.kd).all() and again.batch.n == 3 and again.solver == "sparse"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_order_of_worlds_and_threads_change_no_bit(dtype):
    model, n = smooth(kt.load("ball_humanoid")), 45
    target, gains, order = wanted(model, (n,)), gains_of(model, n), np.random.default_rng(4).permutation(n)
    records = []
    for threads, at in ((1, np.arange(n)), (2, np.arange(n)), (2, order)):
        batch = scattered(model, n, dtype, threads=threads)
        batch.set_state(batch.get_state()[at])
        spd = batch.stable_pd(gains[0][at], gains[1][at], torque_limit=gains[2][at])
        out = batch.rollout(controller=spd, target=target[at][:, None], nstep=60, record=("qpos", "torque"))
        records.append({name: array[np.argsort(at)] for name, array in out.items()})
    for other in records[1:]:
        for name in other:
            assert (records[0][name] == other[name]).all(), name


def test_single_precision_is_near():
    model = smooth(kt.load("ball_humanoid"))
    target, (kp, kd, limit) = wanted(model, (N,)), gains_of(model)
    double, low = (
        scattered(model, dtype=dtype).stable_pd(kp, kd, torque_limit=limit) for dtype in ("float64", "float32")
    )
    assert low.torque(target).dtype == np.float32
    near(low.torque(target), double.torque(target), STABLE_PD_SINGLE, "torque")
    near(low.acceleration(target), double.acceleration(target), STABLE_PD_SINGLE, "acceleration")
    low.step(target, nstep=50), double.step(target, nstep=50)
    near(low.batch.qpos, double.batch.qpos, SINGLE_STEPS, "qpos")


def test_a_world_that_goes_bad_is_reset_alone():
    model = smooth(kt.load("ball_humanoid"))
    batch, sound = scattered(model), scattered(model)
    batch.qvel[3, 2] = 1e11
    with pytest.warns(kt.SimulationWarning, match="world 3: "):
        batch.stable_pd(20.0, 2.0).step(nstep=5)
    sound.stable_pd(20.0, 2.0).step(nstep=5)
    others = np.arange(N) != 3
    assert (batch.qpos[others] == sound.qpos[others]).all()
    assert batch.resets.tolist() == (~others).astype(int).tolist()
    alone = kt.Data(model)
    kt.StablePD(model, 20.0, 2.0).step(alone, nstep=5)
    near(batch.qpos[3], alone.qpos, STABLE_PD, "qpos of the world that was reset")


def test_worlds_sleep_and_wake_each_for_itself():
    model, _, spd = controlled()
    batch, target = kt.Batch(model, 3), np.tile(model.qpos0, (3, 1))
    target[1, -2:] = -0.6, 0.2  # the arm moves
    worlds = [single(model, batch, i) for i in range(3)]
    for _ in range(4):
        spd.step(batch, target, nstep=50)
    for i, data in enumerate(worlds):
        spd.step(data, target[i], nstep=200)
        near(batch.qpos[i], data.qpos, 1e-6, f"qpos of world {i}")
        assert batch.tree_asleep[i].tolist() == data.tree_asleep.tolist()
    assert (batch.tree_asleep[:, 2] < 0).all(), "the arm is held, and stays awake"
    assert (batch.tree_asleep[:, 0] >= 0).tolist() == [True, False, True]


def test_limits_that_do_not_settle_are_told_with_their_worlds():
    model = smooth(kt.load("ball_humanoid"))
    batch, (kp, kd, limit) = scattered(model), gains_of(model)
    spd = batch.stable_pd(kp, kd, torque_limit=np.where(np.arange(N)[:, None] < 2, limit, np.inf))
    spd.max_solves = 1
    with pytest.warns(kt.SimulationWarning, match=r"2 of 11 worlds \(0, 1\).*did not settle in 1 solves"):
        spd.step(wanted(model, (N,)))
    assert (np.abs(spd.torque_limit[:2]) >= np.abs(batch.stable_pd(kp, kd, torque_limit=limit).step()[:2])).all()


def test_parameters_of_worlds_may_couple_their_dofs():
    """The recursion does not see damping over several dofs: another solver is taken, or the one that was asked for refused."""
    model = kt.load(COUPLED)
    damping = np.zeros((3, *model.tendon_damping.shape))
    damping[1] = 4.0
    batch, target = scattered(model, 3), wanted(model, (3,))
    batch.expand("tendon_damping", damping)
    worlds = [single(model, batch, i) for i in range(3)]
    torque = kt.StablePD(model, 10.0, 1.0).step(batch, target, nstep=20)
    for i, data in enumerate(worlds):
        own = copy.copy(model)
        own.tendon_damping[:] = damping[i]
        alone = kt.Data(own)
        alone.set_state(data.get_state())
        near(torque[i], kt.StablePD(own, 10.0, 1.0).step(alone, target[i], nstep=20), STABLE_PD, f"torque of world {i}")
        near(batch.qpos[i], alone.qpos, STABLE_PD, f"qpos of world {i}")
    with pytest.raises(kt.UnsupportedFeatureError, match="given to worlds by batch.expand"):
        batch.stable_pd(10.0, 1.0, solver="maba").step(target)


# rollouts under stable PD


@pytest.mark.parametrize("form", ["one", "worlds", "steps", "both", "of each world", "of each step"])
def test_a_rollout_equals_steps(form):
    model, nstep = kt.load("humanoid"), 4
    shape = {
        "one": (),
        "worlds": (N,),
        "steps": (nstep,),
        "both": (N, nstep),
        "of each world": (N, 1),
        "of each step": (1, nstep),
    }
    target = wanted(model, shape[form])
    each = np.broadcast_to(target[:, None] if form == "worlds" else target, (N, nstep, model.nq))
    first, second = scattered(model), scattered(model)
    spd, controls = kt.StablePD(model, 80.0, 8.0), np.random.default_rng(5).uniform(-0.2, 0.2, (N, nstep, model.nu))
    told = {} if form in ("steps", "both", "of each step") else {"nstep": nstep}
    if form == "one":
        told = {"controls": controls}
    out = first.rollout(controller=spd, target=target, record=("qpos", "torque", "qacc"), **told)
    for k in range(nstep):
        if form == "one":
            second.ctrl = controls[:, k]
        torque = spd.step(second, each[:, k])
        assert (out["torque"][:, k] == torque).all()
        assert (out["qpos"][:, k] == second.qpos).all()
        assert (out["qacc"][:, k] == second.qacc).all()
    assert (first.ctrl == second.ctrl).all()


@pytest.mark.parametrize(
    "target, told, message",
    [
        ((3, 32), {}, "a row for each world or for each step: give shape"),
        ((3, 32), {"nstep": 3}, "give shape \\(3, 1, 32\\) or \\(1, 3, 32\\)"),
        ((4, 32), {"nstep": 5}, r"expected shape \(32,\), \(3, 32\), \(5, 32\) or \(3, 5, 32\), got \(4, 32\)"),
        ((2, 5, 32), {"nstep": 5}, "expected shape"),
        ((7,), {"nstep": 5}, "expected shape"),
        ((32,), {}, "give controls, nstep, or targets of each step"),
        ((), {"nstep": 5}, "expected shape"),
    ],
)
def test_targets_of_a_rollout_that_do_not_fit_are_refused(target, told, message):
    model = kt.load("humanoid")
    with pytest.raises(ValueError, match=message):
        kt.Batch(model, 3).rollout(controller=kt.StablePD(model, 1.0, 1.0), target=np.ones(target), **told)


# kernels, and functions between steps


@kernel
def servo(m, d):
    """A law over all actuators, that depends on the time too."""
    for k in range(m.nu):
        d.ctrl[k] = -0.3 * d.qpos[7 + k] - 0.02 * d.qvel[6 + k] + 0.1 * sin(20.0 * d.time[0])


@stage(scalar=True)
def switch(m, d):
    """One that branches on values."""
    for k in range(m.nu):
        if d.qvel[6 + k] > 0.0:
            d.ctrl[k] = -0.1
        else:
            d.ctrl[k] = 0.1


@kernel
def momentum(m, d):
    """One that calls a stage which is no part of a step, and leaves what it found in inputs."""
    kt.pipeline.subtree_vel(m, d)
    for k in range(3):
        d.qfrc_applied[k] = -0.5 * d.subtree_linvel[0, k]


@kernel
def of_three(m, d, gain):
    """One argument too many."""


@kernel(scalar=True)
def branching(m, d):
    """Branches on values, and is no stage."""


def in_python(model: kt.Model, qpos: np.ndarray, qvel: np.ndarray, time: np.ndarray) -> np.ndarray:
    """The law of `servo`."""
    joints = slice(7, 7 + model.nu)
    return -0.3 * qpos[:, joints] - 0.02 * qvel[:, 6 : 6 + model.nu] + 0.1 * np.sin(20.0 * time[:, None])


@pytest.mark.parametrize("integrator", ["EULER", "RK4"])
def test_a_kernel_equals_the_law_in_python(integrator):
    model = kt.load("humanoid")
    model.opt.integrator = kt.Integrator[integrator]
    first, second, third = (scattered(model) for _ in range(3))

    def law(batch, k):
        assert k == round(batch.time[0] / model.opt.timestep)
        return in_python(model, batch.qpos, batch.qvel, batch.time)

    def writes(batch, k):
        batch.ctrl = in_python(model, batch.qpos, batch.qvel, batch.time)

    a = first.rollout(controller=servo, nstep=20, record=("qpos", "ctrl"))
    b = second.rollout(controller=law, nstep=20, record=("qpos", "ctrl"))
    c = third.rollout(controller=writes, nstep=20, record=("qpos", "ctrl"))
    for name in a:
        near(a[name], b[name], 1e-11, name)
        assert (b[name] == c[name]).all()
    assert (first.ctrl == a["ctrl"][:, -1]).all() and np.abs(first.ctrl).max() > 0.01
    assert (second.ctrl == b["ctrl"][:, -1]).all()


def test_a_kernel_overrides_controls_unless_actuation_is_disabled():
    model = kt.load("humanoid")
    batch = scattered(model)
    out = batch.rollout(np.ones((3, model.nu)), controller=servo, record=("ctrl",))
    assert (out["ctrl"] != 1.0).all()
    model.opt.disableflags |= kt.DisableBit.ACTUATION
    out = batch.rollout(np.ones((3, model.nu)), controller=servo, record=("ctrl",))
    assert (out["ctrl"] == 1.0).all()


def test_a_stage_that_branches_runs_lane_by_lane():
    model = kt.load("humanoid")
    first, second = scattered(model), scattered(model)
    a = first.rollout(controller=switch, nstep=10, record=("ctrl", "qpos"))
    b = second.rollout(
        controller=lambda batch, k: np.where(batch.qvel[:, 6 : 6 + model.nu] > 0.0, -0.1, 0.1),
        nstep=10,
        record=("ctrl", "qpos"),
    )
    assert (a["ctrl"] == b["ctrl"]).all() and (a["qpos"] == b["qpos"]).all()


def test_a_kernel_may_call_stages_and_write_inputs():
    model = smooth(kt.load("humanoid"))
    first, second = scattered(model), scattered(model)
    first.rollout(controller=momentum, nstep=10)

    def law(batch, k):
        batch.qfrc_applied[:, :3] = -0.5 * batch.read("subtree_linvel")[:, 0]

    second.rollout(controller=law, nstep=10)
    near(first.qpos, second.qpos, 1e-11, "qpos")
    near(first.qfrc_applied, second.qfrc_applied, 1e-11, "qfrc_applied")


def test_a_kernel_changes_no_bit_with_threads_and_order():
    model, n = smooth(kt.load("humanoid")), 45
    order, states = np.random.default_rng(6).permutation(n), []
    for threads, at in ((1, np.arange(n)), (2, order)):
        batch = scattered(model, n, threads=threads)
        batch.set_state(batch.get_state()[at])
        batch.rollout(controller=servo, nstep=60)
        states.append(batch.qpos[np.argsort(at)])
    assert (states[0] == states[1]).all()


def test_a_function_sees_controls_of_its_step_and_may_raise():
    model, seen = kt.load("humanoid"), []
    batch, controls = kt.Batch(model, 2), np.random.default_rng(7).uniform(-0.1, 0.1, (2, 4, model.nu))

    def law(batch, k):
        seen.append(batch.ctrl.copy())
        if k == 2:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        batch.rollout(controls, controller=law)
    assert (np.array(seen) == controls[:, :3].swapaxes(0, 1)).all()
    assert np.allclose(batch.time, 2 * model.opt.timestep)


# what is refused


def unmarked(m, d):
    """A kernel that nobody has marked."""


@pytest.mark.parametrize(
    "controller, message",
    [
        (3, "expected a StablePD, what batch.stable_pd"),
        (kt.StablePD, "expected a StablePD"),
        (of_three, r"`def of_three\(m, d\)`, not \(m, d, gain\)"),
        (branching, r"mark it @stage\(scalar=True\)"),
        (unmarked, "looks like a kernel"),
        (lambda batch: None, r"is called with \(batch, k\)"),
        (settle, "is a part of integrate"),
    ],
)
def test_what_controls_nothing_is_refused(controller, message):
    batch = kt.Batch(kt.load("humanoid"), 2)
    with pytest.raises(TypeError, match=message):
        batch.rollout(controller=controller, nstep=2)
    assert (batch.time == 0.0).all()


def test_kernels_without_source_or_compiler_are_refused(monkeypatch):
    batch, scope = kt.Batch(kt.load("humanoid"), 2), {}
    exec("from kinetree.kernel import kernel\n@kernel\ndef typed(m, d):\n  d.ctrl[0] = 1.0\n", scope)
    with pytest.raises(TypeError, match="typed has no source"):
        batch.rollout(controller=scope["typed"], nstep=2)
    scope.clear()
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "llvmlite" else find(name))
    with pytest.raises(ModuleNotFoundError, match=r"alone is a kernel of your own.*kinetree\[jit\]"):
        batch.rollout(controller=alone, nstep=2)


@kernel
def alone(m, d):
    """For one test, so that nobody has compiled it."""
    d.ctrl[0] = 0.5


@pytest.mark.parametrize(
    "settings, error, message",
    [
        ({"kp": np.ones((3, 2))}, ValueError, r"kp: expected shape \(2, 31\)"),
        ({"kp": np.ones(5)}, ValueError, r"kp: expected shape \(31,\) or \(2, 31\), got \(5,\)"),
        ({"kd": -np.eye(2, 31)}, ValueError, r"kd\[0, 0\] .* is -1: it must not be negative"),
        ({"kd": [[np.nan] * 31] * 2}, ValueError, r"kd\[0, 0\] is nan"),
        ({"kp": {"elbow": 3.0}}, kt.UnknownNameError, "elbow"),
        ({"kp": "stiff"}, TypeError, "kp: expected numbers"),
        ({"torque_limit": -1.0}, ValueError, "must not be negative"),
        ({"h": 0.0}, ValueError, "h: the time step must be positive"),
        ({"mode": "soft"}, ValueError, "no mode is called 'soft'"),
        ({"solver": "best"}, ValueError, "no solver is called 'best'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, error, message):
    batch = kt.Batch(kt.load("humanoid"), 2)
    with pytest.raises(error, match=message):
        batch.stable_pd(**{"kp": 1.0, "kd": 1.0, **settings})


def test_calls_that_do_not_fit_are_refused():
    model = kt.load("ball_humanoid")
    batch, other = kt.Batch(model, 2, "float32"), kt.Batch(kt.load("humanoid"), 2)
    spd, quat = batch.stable_pd(1.0, 1.0), np.tile(model.qpos0, (2, 1))
    quat[1, 3:7] = 0.0
    with pytest.raises(ValueError, match=r"the quaternion of joint .*, target\[1, 3:7\], is zero"):
        spd.step(quat)
    with pytest.raises(ValueError, match=r"target\[0\] is 1e\+200, which does not fit float32"):
        spd.torque(np.full(model.nq, 1e200))  # too large for single precision
    with pytest.raises(ValueError, match="target: expected shape"):
        spd.step(np.ones(3))
    with pytest.raises(ValueError, match="nstep must be a whole number from 1"):
        spd.step(nstep=0)
    with pytest.raises(ValueError, match="of another model"):
        kt.StablePD(model, 1.0, 1.0).step(other)
    with pytest.raises(ValueError, match="belongs to another Batch"):
        kt.Batch(model, 2).rollout(controller=spd, nstep=2)
    with pytest.raises(ValueError, match="a target is for stable PD"):
        other.rollout(target=model.qpos0, nstep=2)
    with pytest.raises(AttributeError, match="torque"):
        other.rollout(nstep=2, record=("torque",))
    spd.h = 0.5
    with pytest.raises(ValueError, match="h equal to the time step of the model"):
        spd.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spd.torque()  # looks ahead by any h
    with pytest.raises(TypeError, match="second argument must be a kinetree Data"):
        kt.StablePD(model, 1.0, 1.0).step(model)
