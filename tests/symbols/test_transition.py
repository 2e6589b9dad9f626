"""`Symbolic.transition` against MuJoCo's mjd_transitionFD, which takes central differences of mj_step."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.states import random_state
from kinetree.conformance.tolerances import SYMBOLS_GRADIENT, TRANSITION
from tests.symbols import numeric
from tests.symbols.differences import differences

# Activations of three kinds, on joints of all types that are not parallel.
ACTIVE = """
<mujoco model="active">
  <worldbody>
    <body pos="0 0 1">
      <freejoint/>
      <geom type="box" size=".1 .2 .05" pos=".02 .01 0"/>
      <body pos=".3 0 .1">
        <joint name="ball" type="ball" damping=".1"/>
        <geom type="capsule" fromto="0 0 0 .1 .2 .1" size=".03"/>
        <body pos=".1 .2 .1">
          <joint name="slide" type="slide" axis="1 2 3" stiffness="20"/>
          <joint name="hinge" axis="3 1 -1" damping=".2"/>
          <geom type="ellipsoid" size=".05 .06 .07" pos="0 .05 .03"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <general joint="slide" dyntype="filter" dynprm=".1" gainprm="3"/>
    <intvelocity joint="hinge" kp="5" actrange="-2 2"/>
    <muscle joint="hinge" lengthrange=".1 1.5" force="10"/>
    <motor joint="ball" gear="1 2 3"/>
  </actuator>
</mujoco>
"""
# In water, with drag by shape; moving, then turning, then not at all.
FISH = """
<mujoco model="fish">
  <option density="1000" viscosity="0.1"/>
  <worldbody><body><freejoint/><geom type="box" size=".1 .2 .3" fluidshape="ellipsoid"/></body></worldbody>
</mujoco>
"""
SOURCES = {"active": ACTIVE, **{name: name for name in ("cartpole", "arm", "humanoid", "ball_humanoid")}}
INTEGRATORS = (kt.Integrator.EULER, kt.Integrator.IMPLICITFAST, kt.Integrator.IMPLICIT)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
@pytest.mark.parametrize("name", SOURCES)
def test_transition_is_the_slope_of_a_step(name, integrator):
    model = kt.load(SOURCES[name])
    model.opt.disableflags |= kt.DisableBit.CONSTRAINT
    model.opt.integrator = integrator
    mj = model.to_mujoco()
    theirs = mujoco.MjData(mj)
    random_state(mj, np.random.default_rng(3), theirs)
    theirs.qfrc_applied[:] = 0
    theirs.xfrc_applied[:] = 0
    theirs.act[:] = np.clip(theirs.act, 0.2, 0.8)  # between the ends of their ranges, where slopes have no corners
    compare(name, model, mj, theirs)


@pytest.mark.parametrize("velocity", ["1 2 3 0 0 0", "0 0 0 1 2 3", "0 0 0 0 0 0"])
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_drag_has_a_slope_without_motion(integrator, velocity):
    model = kt.load(FISH)
    model.opt.integrator = integrator
    mj = model.to_mujoco()
    theirs = mujoco.MjData(mj)
    theirs.qvel[:] = np.fromstring(velocity, sep=" ")
    compare(f"fish at {velocity}", model, mj, theirs)


def compare(name, model, mj, theirs):
    """Both matrices, with field, index and both values in the message."""
    size = 2 * model.nv + model.na
    wanted = np.zeros((size, size)), np.zeros((size, model.nu))
    found = kt.symbolic(model).transition(theirs.qpos, theirs.qvel, theirs.act, theirs.ctrl)
    mujoco.mjd_transitionFD(mj, theirs, 1e-6, True, *wanted, None, None)
    for field, a, b in zip("AB", found, wanted, strict=True):
        error = np.abs(a.full() - b)
        at = np.unravel_index(np.argmax(error), error.shape) if error.size else ()
        assert not error.size or error[at] <= TRANSITION * max(1.0, np.abs(b).max()), (
            f"{name}: {field}{[int(i) for i in at]} is {a.full()[at]}, by differences {b[at]}"
        )


@pytest.mark.parametrize("name", ["active", "ball_humanoid"])
def test_transition_of_rk4_is_the_slope_of_a_step(name):
    """MuJoCo takes no differences of RK4: ours, of the compiled step, in the tangent space."""
    model = numeric.smooth(SOURCES[name], integrator=kt.Integrator.RK4)
    s = numeric.random(model, 91)
    s = s._replace(act=np.clip(s.act, 0.2, 0.8), ctrl=0.1 * s.ctrl)
    start = numeric.stepped(model, s, tau=False)

    def change(state):
        near = numeric.stepped(model, state, tau=False)
        turned = kt.differentiate_pos(model, 1.0, start.qpos, near.qpos)
        return np.concatenate((turned, near.qvel - start.qvel, near.act - start.act))

    wanted = {which: differences(model, change, s, which) for which in ("q", "v", "act", "ctrl")}
    for kind in ("SX", "MX"):
        A, B = kt.symbolic(model, kind=kind).transition(s.q, s.v, s.act, s.ctrl)
        state = np.concatenate([wanted[which] for which in ("q", "v", "act")], axis=1)
        numeric.same(A, state, SYMBOLS_GRADIENT, f"{name} {kind}: A ")
        numeric.same(B, wanted["ctrl"], SYMBOLS_GRADIENT, f"{name} {kind}: B ")
