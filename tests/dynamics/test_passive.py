"""Springs, dampers, springs that yield and gravity compensation: against MuJoCo, and against what springs and dampers are."""

from __future__ import annotations

import casadi
import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.compare import oracle_model
from kinetree.conformance.tolerances import FORCE, MACHINES
from kinetree.dynamics.configuration import integrate_pos
from kinetree.dynamics.damping import damping_derivative
from kinetree.dynamics.energy import energy_pos
from kinetree.dynamics.passive import passive
from kinetree.dynamics.rne import rne_bias
from kinetree.dynamics.spring import advance_plastic
from kinetree.dynamics.velocity import com_vel
from kinetree.kernel import compiled, float_machine, interpret, kernel, symbolic_record
from kinetree.types import DisableBit
from tests.corpora import entries
from tests.dynamics.paired import MODELS, agree, paired, same, update
from tests.trees import random_tree

PASSIVE = MODELS / "passive.xml"
FIELDS = ["qfrc_spring", "qfrc_damper", "qfrc_gravcomp", "qfrc_fluid", "qfrc_adhesion", "qfrc_passive"]
FLAGS = [DisableBit.SPRING, DisableBit.DAMPER, DisableBit.GRAVITY, DisableBit.ACTUATION, DisableBit.CONTACT]
DAMPING_ACTUATORS = """<actuator>
  <motor joint="hinge" gear="2" damping="0.5 0.4 0.3"/>
  <motor joint="slide" gear="-3" damping="0.1"/>
  <motor joint="slide" gear="0.5" damping="0 0.2 0"/></actuator>"""


@kernel
def yield_now(m, d):
    """The end of a step that moved with qvel."""
    advance_plastic(m, d, d.qvel)


def spring_chain(joint: str = "", option: str = "", more: str = "") -> str:
    """A ball, a hinge and a slide on three bodies, off the plane."""
    return f"""
    <mujoco model="chain"><compiler angle="radian"/><option {option}/><default><joint {joint}/></default><worldbody>
      <body pos="0 0 1"><joint name="ball" type="ball"/><geom type="box" size=".1 .05 .02" pos=".03 0 .01"/>
        <body pos=".1 .2 0" euler=".3 .1 .2"><joint name="hinge" axis=".2 1 .1"/><geom size=".1" pos="0 .1 .1"/>
          <body pos="0 .1 .2"><joint name="slide" type="slide" axis="1 .3 0"/><geom size=".05" pos=".1 0 0"/></body>
        </body></body>
    </worldbody>{more}</mujoco>"""


def slide_tendon(attributes: str, coefficient: float) -> str:
    """A fixed tendon on the slide of that chain."""
    return f'<tendon><fixed {attributes}><joint joint="slide" coef="{coefficient}"/></fixed></tendon>'


# against MuJoCo


@pytest.mark.parametrize("entry", entries(), ids=lambda e: e.name)
def test_equals_mujoco_on_the_corpora(entry):
    mj = oracle_model(entry.source())
    for seed in range(2):
        pair = paired(mj, seed)
        passive(pair.model, pair.ours)
        agree(pair, FIELDS, FORCE, f"state {seed}")


@pytest.mark.parametrize("seed", range(6))
def test_equals_mujoco_on_random_trees(seed):
    text = random_tree(seed, nbody=8)
    for kind in ("ball", "slide", "hinge", "free"):
        text = text.replace(f'type="{kind}"', f'type="{kind}" stiffness="3 0.5 0.2" damping="0.3 0.1 0.05"')
    text = text.replace("<body ", '<body gravcomp="0.7" ')
    pair = paired(text, seed, density=1.5, viscosity=0.1, wind=[0.3, -0.2, 0.5])
    passive(pair.model, pair.ours)
    agree(pair, FIELDS, FORCE)


@pytest.mark.parametrize("flags", range(1 << len(FLAGS)))
def test_equals_mujoco_under_every_flag(flags):
    disable = sum(flag for k, flag in enumerate(FLAGS) if flags >> k & 1)
    pair = paired(PASSIVE, flags, disable=disable)
    for name in FIELDS:
        getattr(pair.ours, name)[:] = 7.0  # whatever was there before is overwritten
    passive(pair.model, pair.ours)
    agree(pair, FIELDS, FORCE, f"flags {disable:#x}")


def test_disabled_actuator_groups_still_damp():
    pair = paired(PASSIVE, 3, disableactuator=1)
    passive(pair.model, pair.ours)
    agree(pair, FIELDS, FORCE)


def test_every_kind_of_spring_and_damper_acts_in_the_test_model():
    pair = paired(PASSIVE, 1)
    model = pair.model
    passive(model, pair.ours)
    for name in FIELDS:
        if name != "qfrc_adhesion":
            assert np.abs(getattr(pair.ours, name)).max() > 1e-3, name
    assert set(model.jnt_actuatorid) >= {-2, -1, 0} and set(model.tendon_actuatorid) >= {-2, -1, 3}
    routed = model.jnt_actgravcomp[model.dof_jntid].astype(bool)
    assert np.abs(pair.ours.qfrc_gravcomp[routed]).min() > 1e-6
    same(
        pair.ours.qfrc_passive[routed], (pair.ours.qfrc_spring + pair.ours.qfrc_damper + pair.ours.qfrc_fluid)[routed],
        1e-15, "gravity compensation by actuators is not passive:",
    )  # fmt: skip


def test_a_quaternion_far_from_unit_length_is_as_good():
    pair = paired(PASSIVE, 2)
    for j in np.flatnonzero(pair.model.jnt_type == kt.JointType.BALL):
        a = pair.model.jnt_qposadr[j]
        pair.theirs.qpos[a : a + 4] *= -3.0
        pair.ours.qpos[a : a + 4] *= -3.0
    update(pair)
    passive(pair.model, pair.ours)
    agree(pair, FIELDS, FORCE)


# springs and dampers


@pytest.mark.parametrize("seed", range(4))
def test_springs_and_weights_pull_down_the_slope_of_the_energy(seed):
    """Along every dof the energy grows as fast as the forces resist: central differences."""
    pair = paired(PASSIVE, seed, speed=0.0)
    model, h = pair.model, 1e-5

    start = pair.ours.qpos.copy()
    passive(model, pair.ours)
    rne_bias(model, pair.ours)
    wanted = pair.ours.qfrc_bias - pair.ours.qfrc_spring

    def energy(step: np.ndarray) -> float:
        pair.theirs.qpos[:] = pair.ours.qpos[:] = integrate_pos(model, start, step, 1.0)
        update(pair)
        energy_pos(model, pair.ours)
        return float(pair.ours.energy[0])

    slope = [(energy(step) - energy(-step)) / (2 * h) for step in h * np.eye(model.nv)]
    same(slope, wanted, 1e-7, "slope of the energy along dof ")


def test_symbolic_slope_of_the_energy_is_the_spring_force():
    """Exact derivatives, on a model of slides and hinges: d energy / d qpos = -qfrc_spring."""
    text = spring_chain('stiffness="3 .5 .2" springref=".3"', 'gravity="0 0 0"').replace('type="ball"', 'type="slide"')
    model = kt.load(text)
    data = kt.Data(model)
    data.qpos[:] = [-0.2, -0.7, 0.5]
    q = casadi.SX.sym("q", model.nq)
    record = symbolic_record(data, qpos=q)
    interpret(energy_pos, symbolic_record(model), record)
    interpret(passive, symbolic_record(model), record)
    force = casadi.vertcat(*record.qfrc_spring)
    difference = casadi.Function("f", [q], [casadi.gradient(record.energy[0], q) + force, force])
    residual, force = (np.asarray(x).ravel() for x in difference(data.qpos))
    assert np.abs(force).min() > 0.1
    same(residual, np.zeros(model.nq), 1e-14, "slope plus force of dof ")


def test_symbolic_stiffness_is_finite_at_rest():
    """A length that vanishes must not spoil the derivatives of springs along vectors."""
    model = kt.load('<mujoco><worldbody><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>')
    model = model.replace(jnt_stiffness=2.0, jnt_stiffnesspoly=[[0.3, 0.1]])
    data = kt.Data(model)
    q = casadi.SX.sym("q", model.nq)
    record = symbolic_record(data, qpos=q)
    interpret(passive, symbolic_record(model), record)
    slope = casadi.jacobian(casadi.vertcat(*record.qfrc_spring[:3]), q[:3])
    same(np.asarray(casadi.Function("f", [q], [slope])(model.qpos_spring)), -2.0 * np.eye(3), 1e-15, "stiffness ")


def test_dampers_only_take_power():
    for seed in range(5):
        pair = paired(PASSIVE, seed, speed=3.0)
        passive(pair.model, pair.ours)
        power = pair.ours.qfrc_damper @ pair.ours.qvel
        assert power < 0.0, (seed, power)


def test_damper_is_the_documented_polynomial():
    """-(a v + b v |v| + c v^3) with the gear squared, by hand."""
    text = spring_chain('damping="0.3 0.2 0.1"', 'gravity="0 0 0"', DAMPING_ACTUATORS)
    model = kt.load(text)
    data = kt.Data(model)
    data.qvel[:] = v = np.array([0.5, -1.5, 2.0, -0.7, 1.3])
    passive(model, data)
    a, b, c = (np.full(5, x) for x in (0.3, 0.2, 0.1))
    a[3], b[3], c[3] = a[3] + 4 * 0.5, b[3] + 4 * 0.4, c[3] + 4 * 0.3
    a[4], b[4] = a[4] + 9 * 0.1, b[4] + 0.25 * 0.2
    same(data.qfrc_damper, -(a * v + b * v * np.abs(v) + c * v**3), 1e-15, "qfrc_damper ")


def test_damping_derivative_is_mujocos():
    """MuJoCo's qDeriv after an implicit step holds minus the slope of the damping force on its diagonal."""
    text = spring_chain('damping="0.3 0.2 0.1"', 'gravity="0 0 0" integrator="implicitfast"', DAMPING_ACTUATORS)
    pair = paired(text, 5)
    mujoco.mj_step(pair.mj, pair.theirs)
    wanted = -pair.theirs.qDeriv[pair.mj.D_rowadr + pair.mj.D_diag]
    got = [damping_derivative(pair.model.record(), pair.ours.record(), i) for i in range(pair.mj.nv)]
    same(got, wanted, 1e-14, "damping_derivative ")


def test_tendon_deadband():
    """No force inside the interval, a spring from its nearest end outside."""
    model = kt.load(spring_chain("", 'gravity="0 0 0"', slide_tendon('springlength="-0.2 0.5" stiffness="10 2 3"', 2)))
    data = kt.Data(model)
    data.ten_J[:] = 2.0
    for length, x in ((0.1, 0.0), (0.5, 0.0), (0.9, 0.4), (-0.2, 0.0), (-1.0, -0.8)):
        data.ten_length[0] = length
        passive(model, data)
        same(data.qfrc_spring, [0, 0, 0, 0, -2 * (10 * x + 2 * x**2 + 3 * x**3)], 1e-14, f"length {length}: dof ")


# gravity compensation


@pytest.mark.parametrize("seed", range(4))
def test_full_gravity_compensation_carries_every_weight(seed):
    text = random_tree(seed, nbody=10).replace("<body ", '<body gravcomp="1" ')
    pair = paired(text, seed, speed=0.0, gravity=[1.0, -2.0, -9.0])
    passive(pair.model, pair.ours)
    rne_bias(pair.model, pair.ours)
    same(pair.ours.qfrc_gravcomp, pair.ours.qfrc_bias, 1e-14, f"tree {seed}, at rest: dof ")


# springs that yield


@pytest.mark.parametrize("integrator", ["EULER", "IMPLICITFAST", "RK4"])
def test_springs_yield_as_in_mujoco(integrator):
    """Positions, and the start of the step for tendons, are MuJoCo's: only the plastic state is ours."""
    pair = paired(PASSIVE, 11, integrator=kt.Integrator[integrator])
    mj, theirs, model, ours = pair
    theirs.plastic[:] = mujoco.MjData(mj).plastic
    run = compiled(yield_now, float_machine())
    moved = np.zeros(mj.nplastic, bool)
    for step in range(150):
        mujoco.mj_forward(mj, theirs)
        start = theirs.qpos.copy()
        ours.ten_length[:], ours.ten_J[:] = theirs.ten_length, np.ravel(theirs.ten_J)
        ours.plastic[:] = theirs.plastic
        mujoco.mj_step(mj, theirs)
        ours.qpos[:] = theirs.qpos
        mujoco.mj_differentiatePos(mj, ours.qvel, mj.opt.timestep, start, theirs.qpos)
        before = ours.plastic.copy()
        run(model.address, ours.address)
        agree(pair, ["plastic"], 1e-12, f"step {step}")
        moved |= before != ours.plastic
    assert moved[:8].all() and moved[9], f"some spring never yielded: {moved}"
    assert ours.plastic[8] == 0.0  # the lower end of a slack tendon stays


@pytest.mark.parametrize("bounds", ["0 0.3", "0.1 0.3", "-0.4 0", "0 0", "0.5", "-0.1 0.2"])
def test_tendon_intervals_yield_as_in_mujoco(bounds):
    """Back and forth over every kind of interval, and with a yield of zero and of less set at run time."""
    tendon = slide_tendon(f'springlength="{bounds}" stiffness="1" springyield="0.2"', 1)
    text = spring_chain("", 'gravity="0 0 0" timestep="1e-9"', tendon)
    for limit in (0.2, 0.0, -1.0):
        pair = paired(text, 1, speed=0.0)
        pair.mj.tendon_springyield[:] = limit
        model = pair.model.replace(tendon_springyield=limit)
        mujoco.mj_resetData(pair.mj, pair.theirs)
        pair.ours.plastic[:] = pair.theirs.plastic
        pair.ours.ten_J[:] = 1.0
        for length in (1.0, -1.0, 0.3, 0.05, -0.4, 1.0, 2.0):
            pair.theirs.qpos[-1] = pair.ours.ten_length[0] = length
            pair.theirs.qvel[:] = pair.ours.qvel[:] = 0.0
            mujoco.mj_step(pair.mj, pair.theirs)
            compiled(yield_now, float_machine())(model.address, pair.ours.address)
            agree(pair, ["plastic"], 1e-8, f"{bounds} yield {limit} length {length}")


def test_a_disabled_spring_does_not_yield():
    for disable, yields in ((DisableBit.SPRING, False), (DisableBit.DAMPER, True)):
        pair = paired(PASSIVE, 4, disable=disable)
        before = pair.ours.plastic.copy()
        compiled(yield_now, float_machine())(pair.model.address, pair.ours.address)
        assert (before != pair.ours.plastic).any() == yields, disable


def test_ideal_plasticity():
    """A hinge that is pushed past its yield keeps its spring at exactly that displacement: a constant force."""
    text = spring_chain().replace('name="hinge"', 'name="hinge" stiffness="5" springyield="0.2" springref="0.1"')
    model = kt.load(text)
    data = kt.Data(model)
    data.plastic[0] = model.qpos_spring[4]
    for angle in (0.25, 0.8, 0.7, -0.5):
        data.qpos[4] = angle
        compiled(yield_now, float_machine())(model.address, data.address)
        passive(model, data)
        assert abs(data.qfrc_spring[3]) <= 5 * 0.2 * (1 + 1e-12), (angle, data.qfrc_spring[3])
    assert data.plastic[0] == pytest.approx(-0.3) and data.qfrc_spring[3] == pytest.approx(1.0)


# machines


@pytest.mark.parametrize(
    ("dtype", "width"), [("float64", 8), pytest.param("float64", 1, marks=pytest.mark.soak), ("float32", 16)]
)
def test_lanes_equal_floats(dtype, width):
    pairs = [paired(PASSIVE, seed) for seed in range(width)]
    model = pairs[0].model
    worlds = []
    for pair in pairs:
        world = kt.Data(model)
        for name, array in pair.ours._arrays.items():
            world._arrays[name][...] = array
        worlds.append(world)
    lanes = lanes_of(model, worlds, dtype)
    lanes.run(passive)
    compiled(yield_now, lanes.machine)(model.address, lanes.address)
    out = kt.Data(model)
    for lane, world in enumerate(worlds):
        passive(model, world)
        compiled(yield_now, float_machine())(model.address, world.address)
        lanes.store(lane, out)
        for name in [*FIELDS, "plastic"]:
            same(getattr(out, name), getattr(world, name), MACHINES[dtype], f"{dtype} lane {lane} {name}")


def test_plain_python_and_symbols_equal_floats():
    pair = paired(PASSIVE, 6)
    model, data = pair.model, pair.ours
    plain = data.copy()
    interpret(passive, model.record(), plain.record())
    inputs = {name: casadi.SX.sym(name, getattr(data, name).size) for name in ("qpos", "qvel", "plastic")}
    record = symbolic_record(data, **inputs)
    masses = casadi.SX.sym("mass", model.nbody)
    com_vel(symbolic_record(model), record)
    interpret(passive, symbolic_record(model, body_mass=masses), record)
    outputs = [casadi.vertcat(*getattr(record, name)) for name in FIELDS]
    values = casadi.Function("f", [*inputs.values(), masses], outputs)(
        *(getattr(data, name) for name in inputs), model.body_mass
    )
    passive(model, data)
    for name, value in zip(FIELDS, values, strict=True):
        same(getattr(plain, name), getattr(data, name), MACHINES["float64"], f"plain Python {name}")
        same(np.asarray(value).ravel(), getattr(data, name), MACHINES["float64"], f"symbols {name}")
