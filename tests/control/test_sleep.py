"""Sleep under stable PD: what the controller holds stays awake, everything else sleeps and wakes as without it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt

SCENE = """<mujoco><option timestep=".002"><flag sleep="enable" eulerdamp="disable"/></option><worldbody>
  <geom type="plane" size="5 5 1"/>
  <body name="box" pos="0 0 .1"><freejoint name="box"/><geom type="box" size=".1 .1 .1"/><site name="box"/></body>
  <body name="ball" pos="0 1 .1"><freejoint name="ball"/><geom size=".1" condim="6" friction="1 .05 .02"/></body>
  <body name="arm" pos=".75 0 .5"><joint name="shoulder" axis="0 1 0"/><geom type="capsule" size=".04" fromto="0 0 0 -.4 0 0"/>
    <body pos="-.4 0 0"><joint name="elbow" axis="0 1 0"/><geom type="capsule" size=".04" fromto="0 0 0 -.4 0 0"/></body></body>
  </worldbody><sensor><velocimeter site="box"/></sensor></mujoco>"""


def controlled(mode: str = "implicit", solver: str = "auto"):
    model = kt.load(SCENE)
    gains = np.zeros(model.nv)
    gains[12:] = 1.0
    return model, kt.Data(model), kt.StablePD(model, kp=400 * gains, kd=20 * gains, mode=mode, solver=solver)


@pytest.mark.parametrize("solver", ["dense", "sparse", "maba"])
def test_what_the_controller_holds_stays_awake(solver):
    """The rest falls asleep in the step in which it does in MuJoCo, where the arm is held by the same torque."""
    model, data, spd = controlled(solver=solver)
    mj = mujoco.MjModel.from_xml_string(SCENE)
    theirs, target = mujoco.MjData(mj), model.qpos0.copy()
    for k in range(200):
        torque = spd.step(data, target)
        theirs.qfrc_applied[12:] = torque[12:]
        mujoco.mj_step(mj, theirs)
        assert data.tree_awake.tolist() == theirs.tree_awake.tolist(), f"step {k}"
        assert data.tree_asleep[:2].tolist() == theirs.tree_asleep[:2].tolist(), f"step {k}"
        np.testing.assert_allclose(data.qpos, theirs.qpos, atol=1e-6, err_msg=f"step {k}")
        np.testing.assert_allclose(data.sensordata, theirs.sensordata, atol=1e-6, err_msg=f"step {k}")
    assert data.tree_awake.tolist() == [0, 0, 1] and not data.qvel[:12].any() and not data.sensordata.any()


def test_the_arm_wakes_what_it_touches_and_a_push_wakes_too():
    model, data, spd = controlled()
    spd.step(data, model.qpos0, nstep=200)
    assert data.tree_awake.tolist() == [0, 0, 1]
    data.qvel[6] = 0.3
    spd.step(data, model.qpos0)
    assert data.tree_awake.tolist() == [0, 1, 1]
    target = model.qpos0.copy()
    target[-2:] = -0.6, 0.2
    spd.step(data, target, nstep=400)
    assert data.tree_awake[0] == 1 and data.qpos[0] != 0.0, "the box was hit"


def test_a_controller_wakes_what_fell_asleep_without_it():
    model, data, spd = controlled()
    model.opt.gravity[:] = 0.0
    data.qpos[9] += 1.0  # the ball is off the floor
    kt.step(model, data, 100)
    assert not data.tree_awake.any()
    target = model.qpos0.copy()
    target[-1] = 0.5
    before = data.qpos[-1]
    spd.step(data, target, nstep=20)
    assert data.tree_awake.tolist() == [0, 0, 1] and data.qpos[-1] > before
    for read in (spd.torque, spd.acceleration):
        kt.step(model, data, 600)
        assert not data.tree_awake[:2].any()
        assert np.isfinite(read(data, target)).all()


def test_with_callbacks_it_wakes_too():
    model, data, spd = controlled()
    model.opt.gravity[:] = 0.0
    kt.step(model, data, 100)
    assert not data.tree_awake.any()
    model.callbacks.control = lambda m, d: None
    target = model.qpos0.copy()
    target[-1] = 0.5
    spd.step(data, target, nstep=20)
    assert data.tree_awake[2] == 1 and data.qpos[-1] > 1e-4
