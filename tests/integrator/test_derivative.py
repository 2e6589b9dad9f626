"""Derivatives of smooth forces against MuJoCo, finite differences, CasADi and an identity."""

from __future__ import annotations

import casadi
import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.tolerances import MACHINES
from kinetree.dynamics.passive import passive
from kinetree.dynamics.rne import rne_bias
from kinetree.dynamics.tendon import tendon_velocity
from kinetree.dynamics.velocity import com_vel
from kinetree.integrator.derivative import smooth_derivative
from kinetree.integrator.sparse_lu import diagonal, is_above, lower, upper
from kinetree.kernel import interpret, symbolic_record
from kinetree.types import DisableBit, GainType
from tests.dynamics.paired import same
from tests.integrator.stepping import INTEGRATORS, OWN, SOURCES, dense, ready, refresh, source_of, stepped

AGREE = 1e-12  # sums of products, in another order than MuJoCo's
FINITE = 1e-6  # of finite differences
IMPLICIT, FAST = INTEGRATORS["implicit"], INTEGRATORS["implicitfast"]

# Every way in which the force of an actuator may depend on its velocity, or stop to do so.
MOTORS = """
<mujoco model="motors">
  <option timestep="0.002"/>
  <default><geom type="capsule" size=".05" fromto="0 0 0 .3 0 .1"/></default>
  <worldbody>
    <body pos="0 0 1"><joint name="a" axis="0 1 0" actuatorfrcrange="-.4 .5"/><geom/>
      <body pos=".3 0 .1"><joint name="b" axis="0 1 .2"/><geom/>
        <body pos=".3 0 .1"><joint name="c" axis="1 1 .2"/><geom/></body>
      </body>
    </body>
    <body pos="2 0 1"><joint name="e" axis="0 1 0"/><geom/></body>
  </worldbody>
  <tendon>
    <fixed name="t" actuatorfrcrange="-.2 .15"><joint joint="b" coef=".7"/><joint joint="c" coef="-.4"/></fixed>
    <fixed name="u" actuatorfrcrange="-.2 .15"><joint joint="c" coef=".7"/><joint joint="e" coef="-.4"/></fixed>
  </tendon>
  <actuator>
    <dcmotor joint="a" resistance="1.5" motorconst=".08" saturation=".02 0 0"/>
    <dcmotor joint="b" resistance="1.5" motorconst=".08" saturation=".1 0 0"/>
    <dcmotor joint="b" resistance="1.5" motorconst=".08" cogging=".05 4 .3" saturation=".1 0 0"/>
    <dcmotor joint="b" resistance="1.5" motorconst=".08" lugre="40 .2 .03 .05 .2" saturation=".1 0 0"/>
    <dcmotor joint="c" resistance=".9" motorconst=".06" controller="3 .6 .2 4 .15 6" input="pos vel ff voltage"/>
    <dcmotor joint="c" resistance=".9" motorconst=".06" controller="3 .6 .2 4 .15 6" input="pos vel ff" inductance=".004"
      thermal="5 10 0 .004 25 20" saturation=".2 0 30"/>
    <dcmotor joint="e" resistance=".9" motorconst=".06" controller="3 .6 .2 4 .15 6" input="pos" inductance=".004"
      saturation=".2 0 300"/>
    <dcmotor joint="e" resistance=".9" motorconst=".06" inductance=".01" saturation=".02 0 30"/>
    <dcmotor joint="e" resistance="1.2" motorconst=".05" thermal="4 8 0 .004 25 21" cogging=".02 8 .4"/>
    <dcmotor tendon="t" resistance="1.2" motorconst=".05" thermal="4 8 0 .004 25 21" cogging=".02 8 .4"
      lugre="40 .2 .03 .05 .2"/>
    <position tendon="t" kp=".2" kv=".1" group="2"/>
    <dcmotor tendon="u" resistance="1.2" motorconst=".05"/>
    <velocity joint="a" kv=".3" forcerange="-.3 .3"/>
    <damper joint="a" kv=".3" ctrlrange="0 1"/>
    <damper joint="e" kv=".3" ctrlrange="0 1" nsample="4" delay=".003"/>
    <muscle joint="b" lengthrange="-1 1"/>
    <muscle joint="e" lengthrange="-1 1" force="20" vmax="1"/>
    <general joint="e" gaintype="affine" gainprm="1 .2 .3" dyntype="filter" dynprm=".05" actearly="true"/>
    <general tendon="u" gaintype="affine" gainprm="1 .2 .3" dyntype="integrator" actlimited="true" actrange="-.1 .1"
      actearly="true"/>
  </actuator>
</mujoco>
"""

# Ellipsoids and boxes in a medium: on bodies that fly alone, on bodies welded to such, on others.
SWARM = """
<mujoco model="swarm">
  <option density="1.2" viscosity="0.1"/>
  <default>
    <geom euler="10 20 30" pos=".02 .01 0"/>
    <default class="wing"><geom type="ellipsoid" fluidshape="ellipsoid" fluidcoef=".5 .25 1.5 1 1"/></default>
  </default>
  <worldbody>
    <body pos="0 0 1"><freejoint/><geom class="wing" size=".1 .2 .03"/>
      <body pos=".1 .2 .1" euler="10 20 30"><geom class="wing" size=".1 .05 .03"/>
        <body pos=".1 .2 .1" euler="10 20 30"><geom type="box" size=".1 .05 .03"/></body>
      </body>
    </body>
    <body pos="0 2 1"><freejoint/><geom type="box" size=".1 .2 .03"/></body>
    <body pos="0 4 1"><freejoint/><geom class="wing" size=".1 .2 .03"/><geom class="wing" type="cylinder" size=".1 .2"/>
      <geom type="capsule" size=".1 .2"/>
      <body pos=".1 .2 .1"><joint axis="1 2 3"/><geom class="wing" type="sphere" size=".1"/></body>
    </body>
    <body pos="0 6 1"><geom type="box" size=".1 .1 .1"/>
      <body pos="0 0 .1"><joint axis="1 0 0"/><geom type="box" size=".1 .1 .1" pos="0 .1 .1"/></body>
    </body>
  </worldbody>
</mujoco>
"""


def derivative_agrees(pair, note):
    smooth_derivative(pair.model, pair.ours)
    wanted = stepped(pair).qDeriv
    same(pair.ours.qDeriv, wanted, AGREE, f"{pair.model.title} {note} qDeriv")
    return wanted


@pytest.mark.parametrize("name", SOURCES)
def test_places_follow_from_the_tree(name):
    """The pattern that MuJoCo lists is the one that `sparse_lu` computes."""
    model = kt.load(source_of(name))
    listed = {}
    for i in range(model.nv):
        row = model.D_rowadr[i]
        listed |= {(i, int(model.D_colind[at])): at for at in range(row, row + model.D_rownnz[i])}
    computed = {(i, i): diagonal(model, i) for i in range(model.nv)}
    for i in range(model.nv):
        for k in range(i):
            if is_above(model, k, i):
                computed |= {(i, k): lower(model, i, k), (k, i): upper(model, k, i)}
    assert computed == listed


@pytest.mark.parametrize("speed", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", SOURCES)
def test_derivative_equals_mujocos(name, integrator, speed):
    for seed in range(2):
        pair = ready(source_of(name), seed, INTEGRATORS[integrator], speed)
        derivative_agrees(pair, f"{integrator}, state {seed}, speed {speed}:")


def test_actuators_at_their_limits_equal_mujocos():
    """Random speeds and controls of all sizes: limits of motors, joints and tendons, and groups switched off."""
    seen = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        options = {"disableactuator": 1 << 2 if seed % 5 == 0 else 0}
        disable = int(DisableBit.CLAMPCTRL) if seed % 7 == 0 else 0
        pair = ready(mujoco.MjModel.from_xml_string(MOTORS), seed, FAST, 10 ** rng.uniform(-2, 1.5), disable, **options)
        pair.theirs.ctrl[:] *= 10 ** rng.uniform(-1, 1)
        pair.ours.ctrl[:] = pair.theirs.ctrl
        refresh(pair)
        wanted = derivative_agrees(pair, f"state {seed}:")
        seen |= {round(float(x), 9) for x in wanted}
    assert len(seen) > 60, "the states hit few of the cases"


def test_a_limited_orientation_servo_counts_for_nothing():
    """As if it were not there; MuJoCo says so too, where its rounded torque is not below the limit."""
    mj = mujoco.MjModel.from_xml_path(str(OWN["actuators"]))
    k = mj.actuator("orientation").id
    row, most = mj.actuator_outadr[k], mj.actuator_forcerange[k, 1]
    limited = 0
    for seed in range(12):
        pair = ready(mj, seed, FAST)
        smooth_derivative(pair.model, pair.ours)
        group = pair.mj.actuator_group
        if np.linalg.norm(pair.theirs.actuator_force[row : row + 3]) > most * (1 - 1e-10):
            limited += 1
            group[k] = 30
            pair.mj.opt.disableactuator = 1 << 30
        same(pair.ours.qDeriv, stepped(pair).qDeriv, AGREE, f"state {seed} qDeriv")
    assert 0 < limited < 12
    assert mj.actuator_gaintype[k] == GainType.SO3


@pytest.mark.parametrize("flags", [("SPRING", "DAMPER"), ("DAMPER",), ("SPRING",), ("ACTUATION",), ("GRAVITY",)])
@pytest.mark.parametrize("name", ["actuators", "passive", "tendons", "tree1"])
def test_flags_equal_mujocos(name, flags):
    disable = sum(int(DisableBit[flag]) for flag in flags)
    derivative_agrees(ready(source_of(name), 4, IMPLICIT, disable=disable), f"without {flags}:")


@pytest.mark.parametrize("speed", [0.0, 1e-17, 1e-12, 1e-9, 1e-6, 1e-3, 1.0, 30.0])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_medium_equals_mujocos_at_any_speed(integrator, speed):
    """Also at rest, and for ellipsoids welded to a body that flies alone, whose slopes stay as they are."""
    pair = ready(mujoco.MjModel.from_xml_string(SWARM), 3, INTEGRATORS[integrator], speed)
    derivative_agrees(pair, f"{integrator}, speed {speed}:")


@pytest.mark.parametrize("name", ["joints", "humanoid", "passive", "tendons", "actuators", "tree0", "tree3", "tree5"])
def test_derivative_equals_finite_differences(name):
    """Of MuJoCo's forces; what tendon armature adds to qfrc_bias and the slip of bristles are left out, as in MuJoCo."""
    mj = source_of(name)
    bristles = (mj.actuator_gaintype == GainType.DCMOTOR) & (mj.actuator_dynprm[:, 5] > 0)
    mj.actuator_group[bristles] = 30
    pair = ready(mj, 1, IMPLICIT, disableactuator=1 << 30)
    smooth_derivative(pair.model, pair.ours)
    got = dense(pair.mj, pair.ours.qDeriv)
    step = 1e-6
    slope = np.zeros_like(got)
    for i in range(mj.nv):
        slope[:, i] = (smooth_forces(pair, i, step) - smooth_forces(pair, i, -step)) / (2 * step)
    pattern = dense(pair.mj, np.ones(pair.mj.nD)) > 0
    same(got[pattern], slope[pattern], FINITE, f"{name} qDeriv")


def smooth_forces(pair, i, change):
    """MuJoCo's smooth forces after a change of one velocity."""
    data = mujoco.MjData(pair.mj)
    mujoco.mj_copyData(data, pair.mj, pair.theirs)
    data.qvel[i] += change
    mujoco.mj_forward(pair.mj, data)
    bias = np.zeros(pair.mj.nv)
    mujoco.mj_rne(pair.mj, data, 0, bias)
    return data.qfrc_passive + data.qfrc_actuator - bias


@pytest.mark.parametrize("name", ["joints", "passive", "tree2", "tree4"])
def test_derivative_equals_the_symbolic_one(name):
    """Our own forces, differentiated by CasADi: exact."""
    pair = ready(source_of(name), 2, IMPLICIT, disable=int(DisableBit.ACTUATION))
    model, data = pair.model, pair.ours
    qvel = casadi.SX.sym("qvel", model.nv)
    record, symbols = symbolic_record(data, qvel=qvel), symbolic_record(model)
    for stage in (com_vel, tendon_velocity, passive, rne_bias):
        interpret(stage, symbols, record)
    force = casadi.vertcat(*(record.qfrc_passive - record.qfrc_bias))
    slope = np.asarray(casadi.Function("slope", [qvel], [casadi.jacobian(force, qvel)])(data.qvel))
    smooth_derivative(model, data)
    pattern = dense(pair.mj, np.ones(pair.mj.nD)) > 0
    same(dense(pair.mj, data.qDeriv)[pattern], slope[pattern], 1e-11, f"{name} qDeriv")


@pytest.mark.parametrize("name", ["joints", "humanoid", "massless", "tree0", "tree1", "tree2", "tree3"])
def test_velocity_forces_are_quadratic(name):
    """Without gravity bias forces are a quadratic form: their derivative times qvel is twice themselves (Euler)."""
    disable = int(DisableBit.GRAVITY) | int(DisableBit.SPRING) | int(DisableBit.DAMPER) | int(DisableBit.ACTUATION)
    pair = ready(source_of(name), 6, IMPLICIT, 3.0, disable)
    smooth_derivative(pair.model, pair.ours)
    rne_bias(pair.model, pair.ours)
    same(-dense(pair.mj, pair.ours.qDeriv) @ pair.ours.qvel, 2 * pair.ours.qfrc_bias, AGREE, f"{name} 2 qfrc_bias")


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", ["joints", "passive", "actuators", "servos", "tree1"])
def test_lanes_equal_floats(name, integrator):
    pairs = [ready(source_of(name), seed, INTEGRATORS[integrator], 3.0 ** (seed % 4)) for seed in range(8)]
    model = pairs[0].model
    worlds = [kt.Data(model) for _ in pairs]
    for pair, world in zip(pairs, worlds, strict=True):
        for field, array in world._arrays.items():
            array[...] = pair.ours._arrays[field]
    lanes = lanes_of(model, worlds)
    lanes.run(smooth_derivative)
    out = kt.Data(model)
    for lane, world in enumerate(worlds):
        smooth_derivative(model, world)
        lanes.store(lane, out)
        same(out.qDeriv, world.qDeriv, MACHINES["float64"], f"{name} lane {lane} qDeriv")
