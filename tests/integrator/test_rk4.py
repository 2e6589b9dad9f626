"""RK4 on orientations against MuJoCo, also where a body turns by more than half a turn in a step."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.states import copy_state
from kinetree.conformance.tolerances import TRAJECTORY_SMOOTH

STEP = 0.01
# A ball joint below a free body: neither is in the middle of what turns.
TUMBLER = f"""<mujoco><option integrator="RK4" timestep="{STEP}" gravity="0 0 -9.81"/><worldbody><body pos="0 0 1"><freejoint/>
  <inertial pos=".01 .02 0" mass="1" diaginertia=".1 .2 .27"/><body pos=".1 0 .1"><joint type="ball" pos="0 0 .02"/>
  <inertial pos="0 .01 .02" mass=".4" diaginertia=".05 .04 .03"/></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize("turn", [0.01, 0.5, 2.0, 3.5, 5.0, 6.2, 7.0, 9.0])
def test_a_step_equals_mujocos_at_any_spin(turn):
    """turn: by which bodies rotate in a step [rad]."""
    mj, rng = mujoco.MjModel.from_xml_string(TUMBLER), np.random.default_rng(0)
    model, theirs = kt.load(mj), mujoco.MjData(mj)
    ours = kt.Data(model)
    for trial in range(20):
        mujoco.mj_resetData(mj, theirs)
        mujoco.mj_integratePos(mj, theirs.qpos, rng.normal(size=mj.nv), 1.0)
        for first in (3, 6):  # rotations of the free body and of the ball
            axis = rng.normal(size=3)
            theirs.qvel[first : first + 3] = turn / STEP * axis / np.linalg.norm(axis)
        theirs.qfrc_applied[:] = rng.normal(size=mj.nv)
        copy_state(theirs, ours)
        mujoco.mj_step(mj, theirs)
        kt.step(model, ours)
        for name in ("qpos", "qvel"):
            got, wanted = getattr(ours, name), getattr(theirs, name)
            error = np.abs(got - wanted) / max(1.0, np.abs(wanted).max())
            i = int(np.argmax(error))
            assert error[i] <= TRAJECTORY_SMOOTH, f"trial {trial}: {name}[{i}] is {got[i]} against {wanted[i]}"
