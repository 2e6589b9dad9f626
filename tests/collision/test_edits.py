"""Edits after loading that let shapes meet which have no kernel: an error that names them, never a contact that is missed."""

from __future__ import annotations

import mujoco
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.collision.driver import collision

WORLD = """<mujoco model="edited"><option integrator="{integrator}" gravity="0 0 0"/>
  <asset><hfield name="h" nrow="2" ncol="2" size="1 1 .1 .1"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/><geom type="hfield" hfield="h"/>
    <body pos="0 0 {z}"><freejoint/><geom name="egg" type="ellipsoid" size=".1 .1 .15" contype="0" conaffinity="0"/></body>
    <body pos="0 0 .5"><joint type="slide" axis="0 0 1"/>
      <geom name="log" type="cylinder" size=".1 .1" contype="0" conaffinity="4"/>
      <body pos=".1 0 0"><joint/><geom name="chip" type="cylinder" size=".1 .1" contype="4" conaffinity="0"/></body></body>
  </worldbody></mujoco>"""
EGG = (
    "the edited model needs what kinetree does not support: "
    r"collision of ellipsoid with cylinder \(geom 'egg' with geom 'log'\)"
)


def edited(z: float = 0.52, integrator: str = "Euler") -> tuple[kt.Model, kt.Data]:
    """An ellipsoid that may meet a cylinder since its bits were edited."""
    model = kt.load(WORLD.format(z=z, integrator=integrator))
    data = kt.Data(model)
    kt.step(model, data)
    data.reset()
    model.geom_contype[model.id("geom", "egg")] = 4
    return model, data


@pytest.mark.parametrize(
    "run", [kt.step, kt.forward, kt.fwd_position, kt.step1, kt.inverse, kt.forward_skip], ids=lambda f: f.__name__
)
def test_every_way_of_stepping_names_both_geoms(run):
    model, data = edited()
    with pytest.raises(kt.UnsupportedFeatureError, match=EGG):
        run(model, data)


def test_the_state_is_that_before_the_step_and_data_can_be_used_again():
    model, data = edited()
    before = data.get_state()
    for _ in range(2):
        with pytest.raises(kt.UnsupportedFeatureError, match=EGG):
            kt.step(model, data, 5)
        assert (data.get_state() == before).all()
    model.geom_contype[model.id("geom", "egg")] = 0
    kt.step(model, data, 5)
    assert data.time == pytest.approx(0.01)


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_the_step_that_brings_them_together_raises(integrator):
    """While they are apart nothing is wrong; all steps before are made."""
    model, data = edited(1.2, integrator)
    free = kt.Data(kt.load(WORLD.format(z=1.2, integrator=integrator)))
    data.qvel[2] = free.qvel[2] = -1.0
    kt.step(free.model, free, 3)
    kt.step(model, data, 3)
    assert (data.qpos == free.qpos).all()
    with pytest.raises(kt.UnsupportedFeatureError, match=EGG):
        kt.step(model, data, 1000)
    done = round(data.time / model.opt.timestep)
    kt.step(free.model, free, done - 3)
    assert 100 < done < 1000 and (data.qpos == free.qpos).all() and 0.6 < data.qpos[2] < 0.82


def test_a_flag_that_brings_them_together():
    """Without the filter of parents the two cylinders may meet; without contacts nothing does."""
    model = kt.load(WORLD.format(z=2, integrator="Euler"))
    data = kt.Data(model)
    kt.forward(model, data)
    model.opt.disableflags = kt.DisableBit.FILTERPARENT
    with pytest.raises(kt.UnsupportedFeatureError, match=r"cylinder with cylinder \(geom 'log' with geom 'chip'\)"):
        kt.forward(model, data)
    model.opt.disableflags = kt.DisableBit.FILTERPARENT | kt.DisableBit.CONTACT
    kt.forward(model, data)


def test_a_model_that_was_loaded_without_contacts():
    text = WORLD.format(z=0.05, integrator="Euler").replace('contype="0" conaffinity="0"', "")
    with pytest.raises(kt.UnsupportedFeatureError, match="collision of"):
        kt.load(text)
    mj = mujoco.MjModel.from_xml_string(text)
    mj.opt.disableflags |= kt.DisableBit.CONTACT
    model = kt.load(mj)
    data = kt.Data(model)
    kt.forward(model, data)
    model.opt.disableflags = 0
    with pytest.raises(kt.UnsupportedFeatureError, match="collision of .*geom 'egg'"):
        kt.forward(model, data)


def test_on_lanes():
    model, _ = edited()
    worlds = [kt.Data(model) for _ in range(8)]
    for k, data in enumerate(worlds):
        data.qpos[2] = 5.0 if k != 3 else 0.52
        kt.kinematics(model, data)
    lanes = lanes_of(model, worlds)
    for _ in range(2):
        with pytest.raises(kt.UnsupportedFeatureError, match=EGG):
            lanes.run(collision)
    model.geom_contype[:] = 0
    lanes.run(collision)


def test_planes_and_height_fields_never_meet():
    """Not even as an explicit pair, as in MuJoCo."""
    text = (
        WORLD.format(z=2, integrator="Euler")
        .replace('type="plane"', 'name="p" type="plane"')
        .replace('type="hfield"', 'name="f" type="hfield"')
    )
    mj = mujoco.MjModel.from_xml_string(
        text.replace("</mujoco>", '<contact><pair geom1="p" geom2="f"/></contact></mujoco>')
    )
    model = kt.load(mj)
    data = kt.Data(model)
    kt.forward(model, data)
    theirs = mujoco.MjData(mj)
    mujoco.mj_forward(mj, theirs)
    assert data.ncon == theirs.ncon == 0


@pytest.mark.parametrize("flag", [kt.EnableBit.IPC, kt.EnableBit.SPECULATIVE])
def test_flags_that_are_refused_when_loading_are_refused_later(flag):
    model = kt.load(WORLD.format(z=2, integrator="Euler"))
    before = model.opt.enableflags
    with pytest.raises(kt.UnsupportedFeatureError, match=f"flag {flag.name.lower()} "):
        model.opt.enableflags = kt.EnableBit.ENERGY | flag
    with pytest.raises(kt.UnsupportedFeatureError, match=f"flag {flag.name.lower()} "):
        model.replace(opt_enableflags=flag)
    assert model.opt.enableflags == before
    with pytest.raises(kt.UnsupportedFeatureError, match="integrator discrete"):
        model.opt.integrator = kt.Integrator.DISCRETE
