"""Results of a batch, read, bound and recorded: those of each world alone, whatever its lane held before."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.data_fields import DATA_FIELDS
from kinetree.kernel import kernel

N = 11  # a block and some: lanes of the second hold worlds of the first
NEAR = 1e-9  # lanes sum in another order; contacts magnify that (`BATCH_SOLVED` is that of whole motions)
SHOWN = [name for name, f in DATA_FIELDS.items() if f.shown and f.per_world and not f.growing]
MADE_ELSEWHERE = ("qDeriv", "solver_fwdinv", "qfrc_inverse", "aba_qacc", "aba_force", "aba_diagonal")
LAZY = ("subtree_linvel", "subtree_angmom", "cacc", "cfrc_int", "cfrc_ext")

SERVOS = """
<mujoco model="servos">
  <option timestep="0.004" integrator="implicitfast"/>
  <worldbody>
    <geom type="plane" size="3 3 .1"/>
    <body name="cart" pos="0 0 .3">
      <freejoint/>
      <geom type="box" size=".15 .1 .05" mass="2"/>
      <site name="hook" pos=".1 0 .05"/>
      <body name="arm" pos="0 0 .05">
        <joint name="shoulder" axis="0 1 0" damping=".1" stiffness="2"/>
        <geom type="capsule" fromto="0 0 0 .05 0 .3" size=".03" mass=".5"/>
        <site name="grip" pos=".05 0 .25"/>
        <body pos=".05 0 .3">
          <joint name="elbow" axis="0 1 .2" armature=".01"/>
          <geom type="sphere" size=".05" mass=".3"/>
        </body>
      </body>
    </body>
    <body name="ball" pos=".6 0 .2"><freejoint/><geom size=".1" mass="1"/></body>
  </worldbody>
  <tendon>
    <spatial name="rope" stiffness="20" damping="1" armature=".05" range="0 .31" limited="true">
      <site site="hook"/><site site="grip"/>
    </spatial>
    <fixed name="pair"><joint joint="shoulder" coef="1"/><joint joint="elbow" coef="-.5"/></fixed>
  </tendon>
  <actuator>
    <velocity joint="shoulder" kv="2"/>
    <position joint="elbow" kp="5" kv=".5" timeconst=".02"/>
    <general tendon="rope" gaintype="affine" gainprm="3 0 -.4" biastype="affine" biasprm="0 -1 -.3" dyntype="filter"
             dynprm=".05"/>
    <motor tendon="pair"/>
  </actuator>
</mujoco>
"""
MODELS = ("humanoid", "quadruped", "tendon_finger", SERVOS)
NAMES = ("humanoid", "quadruped", "tendon_finger", "servos")


def scattered(model: kt.Model, steps: int = 40) -> kt.Batch:
    """Worlds that have gone their own ways."""
    rng = np.random.default_rng(0)
    batch = kt.Batch(model, N, threads=1)
    batch.qvel = 0.3 * rng.normal(size=(N, model.nv))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.SimulationWarning)
        batch.rollout(rng.uniform(-0.5, 0.5, (N, steps, model.nu)), record=())
    return batch


def single(model: kt.Model, batch: kt.Batch, i: int) -> kt.Data:
    """A Data in the state of one world."""
    data = kt.Data(model)
    data.set_state(batch.get_state([i])[0])
    return data


def check(got: np.ndarray, data: kt.Data, name: str, note: str) -> None:
    """A row of a batch is what a Data has."""
    wanted = np.asarray(data.require(name) if name in LAZY or name == "energy" else getattr(data, name), float)
    size = max(1.0, np.abs(wanted).max(initial=0.0))
    np.testing.assert_allclose(got.reshape(wanted.shape), wanted, rtol=0.0, atol=NEAR * size, err_msg=f"{note}: {name}")


@pytest.mark.parametrize("source", MODELS, ids=NAMES)
def test_every_field_is_read_as_a_world_alone_has_it(source):
    model = kt.load(source)
    batch = scattered(model)
    alone = [batch.get_data(i) for i in range(N)]
    for name in SHOWN:
        if name in MADE_ELSEWHERE:
            continue
        fresh = batch.copy().read(name)
        assert np.array_equal(batch.read(name), fresh), f"{name} depends on what lanes held before"
        order = np.random.default_rng(1).permutation(N)
        assert np.array_equal(batch.read(name, order), fresh[order]), f"{name} depends on the order of worlds"
        for i in range(N):
            check(fresh[i], alone[i], name, f"world {i}")


@pytest.mark.parametrize("source", MODELS, ids=NAMES)
@pytest.mark.parametrize("nstep", [1, 3])
def test_results_on_demand_are_bound_and_recorded(source, nstep):
    model = kt.load(source)
    batch = scattered(model)
    plain, recorded = batch.copy(), batch.copy()
    alone = [single(model, batch, i) for i in range(N)]
    bound = {name: batch.bind(name) for name in LAZY}
    batch.step(nstep)
    plain.step(nstep)
    out = recorded.rollout(nstep=nstep, record=LAZY)
    assert np.array_equal(batch.get_state(), plain.get_state())  # to look changes nothing
    assert np.array_equal(recorded.get_state(), plain.get_state())
    for i, data in enumerate(alone):
        for k in range(nstep):
            kt.step(model, data)
            for name in LAZY:
                check(out[name][i, k], data, name, f"world {i} step {k}")
        for name in LAZY:
            check(bound[name][i], data, name, f"world {i}")
    batch.forward()
    data = batch.get_data(3)
    for name in LAZY:
        check(bound[name][3], data, name, "forward")


def test_some_of_what_is_on_demand_runs_alone():
    model = kt.load("quadruped")
    batch = scattered(model)
    data = single(model, batch, 9)
    momentum, first = batch.bind("subtree_angmom"), batch.copy()
    forces = first.bind("cfrc_ext")
    batch.step()
    first.step()
    kt.step(model, data)
    check(momentum[9], data, "subtree_angmom", "bound alone")
    check(forces[9], data, "cfrc_ext", "bound alone")
    assert forces.any() and momentum.any()


def test_energy_is_bound_and_recorded_with_its_flag_alone():
    model = kt.load("humanoid")
    batch = scattered(model)
    for line in (lambda: batch.bind("energy"), lambda: batch.rollout(nstep=1, record=["energy"])):
        with pytest.raises(ValueError, match=r"enableflags \|= kt.EnableBit.ENERGY"):
            line()
    check(batch.read("energy")[4], batch.get_data(4), "energy", "read")
    model = kt.load("humanoid")
    model.opt.enableflags |= kt.EnableBit.ENERGY
    batch = scattered(model)
    data = single(model, batch, 4)
    bound = batch.bind("energy")
    out = batch.rollout(nstep=1, record=["energy"])["energy"]
    kt.step(model, data)
    check(out[4, 0], data, "energy", "recorded")
    check(bound[4], data, "energy", "bound")


def test_inverse_dynamics_leave_alone_what_they_do_not_find():
    model = kt.load("quadruped")
    batch = scattered(model)
    bound = {name: batch.bind(name) for name in ("actuator_force", "qacc_smooth", "solver_niter", "xpos")}
    batch.forward()
    before = {name: array.copy() for name, array in bound.items()}
    forces = batch.inverse().copy()
    batch.copy().step()
    for name, array in before.items():
        assert np.array_equal(bound[name], array), name
    batch.step()
    assert np.array_equal(batch.bind("qfrc_inverse"), forces)


@pytest.mark.parametrize("name", MADE_ELSEWHERE)
def test_what_no_forward_pass_makes_is_refused(name):
    batch = kt.Batch(kt.load("cartpole"), 2, threads=1)
    with pytest.raises(ValueError, match=r"no result of forward dynamics: .* computes it|input of kt.aba"):
        batch.read(name)
    with pytest.raises(ValueError, match=r"no result of forward dynamics: .* computes it|input of kt.aba"):
        batch.rollout(nstep=1, record=[name])
    if name != "qfrc_inverse":
        with pytest.raises(ValueError, match=r"no result of forward dynamics: .* computes it|input of kt.aba"):
            batch.bind(name)


def test_forces_of_a_step_of_rk4_are_refused():
    model = kt.load("cartpole")
    model.opt.integrator = kt.Integrator.RK4
    batch = kt.Batch(model, 2, threads=1)
    with pytest.raises(ValueError, match="RK4 leaves no pass"):
        batch.bind("cacc")
    assert batch.read("cacc").any()


def test_momentum_after_a_step_of_rk4_is_that_of_its_last_pass():
    model = kt.load("humanoid")
    model.opt.integrator = kt.Integrator.RK4
    batch = scattered(model, 5)
    data, momentum = single(model, batch, 9), batch.bind("subtree_angmom")
    batch.step()
    kt.step(model, data)
    check(momentum[9], data, "subtree_angmom", "RK4")


SLEEPERS = """
<mujoco>
  <option timestep=".005"><flag sleep="enable"/></option>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>
    <body pos="1 0 .3"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>
  </worldbody>
</mujoco>
"""


def test_what_sleeps_is_read_alone():
    model = kt.load(SLEEPERS)
    batch = kt.Batch(model, N, threads=1)
    batch.qvel = np.random.default_rng(0).normal(size=(N, model.nv)) * np.linspace(0.0, 1.0, N)[:, None]
    batch.step(60)
    asleep = batch.bind("tree_asleep") >= 0
    assert asleep.any() and not asleep.all()
    for name in ("xpos", "qfrc_bias", "cvel", "subtree_angmom", "cfrc_int", "qacc_smooth"):
        fresh = batch.copy().read(name)
        order = np.random.default_rng(1).permutation(N)
        assert np.array_equal(batch.read(name, order), fresh[order])
        for i in range(N):
            check(fresh[i], batch.get_data(i), name, f"world {i}")
    for line in (lambda: batch.bind("cacc"), lambda: batch.rollout(nstep=1, record=["subtree_linvel"])):
        with pytest.raises(ValueError, match="trees that sleep"):
            line()


@kernel
def push_all(m, d):
    """A controller: the same for every actuator."""
    for k in range(m.nu):
        d.ctrl[k] = 0.1


def test_results_on_demand_are_recorded_under_controllers():
    model = kt.load("quadruped")
    batch = scattered(model)
    first, second = batch.copy(), batch.copy()
    wanted = batch.rollout(np.full((3, model.nu), 0.1), record=LAZY)
    in_step = first.rollout(controller=push_all, nstep=3, record=LAZY)
    between = second.rollout(controller=lambda batch, k: np.full(model.nu, 0.1), nstep=3, record=LAZY)
    for name in LAZY:
        assert wanted[name].any()
        assert np.array_equal(in_step[name], wanted[name]), name
        assert np.array_equal(between[name], wanted[name]), name


@pytest.mark.parametrize("integrator", ["EULER", "IMPLICITFAST"])
def test_results_on_demand_are_recorded_under_stable_pd(integrator):
    model = kt.load("humanoid")
    model.opt.integrator = kt.Integrator[integrator]
    batch = scattered(model, 5)
    spd, target = kt.StablePD(model, 20.0, 2.0), np.array(model.qpos0)
    data = single(model, batch, 8)
    out = batch.rollout(controller=spd, target=target, nstep=2, record=LAZY)
    for k in range(2):
        spd.step(data, target)
        for name in LAZY:
            check(out[name][8, k], data, name, f"step {k}")
