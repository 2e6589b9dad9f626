"""Edits after loading that let shapes meet: bits, flags, margins, explicit pairs; many of them while a body sleeps."""

from __future__ import annotations

import copy
import pickle

import mujoco
import numpy as np
import pytest

import kinetree as kt

WORLD = """<mujoco model="edited"><option gravity="0 0 0"/>
  <asset><hfield name="h" nrow="2" ncol="2" size="1 1 .1 .1"/></asset>
  <worldbody>
    <geom name="p" type="plane" size="1 1 1"/>
    <geom name="hills" type="hfield" hfield="h" pos="0 0 .4" contype="0" conaffinity="4"/>
    <body pos="0 0 {z}"><freejoint/><geom name="egg" type="ellipsoid" size=".1 .1 .15" contype="0" conaffinity="0"/></body>
  </worldbody>{more}</mujoco>"""


def test_bits_edited_later_count():
    """An ellipsoid may meet a height field since its bits were edited, as in MuJoCo."""
    mj = mujoco.MjModel.from_xml_string(WORLD.format(z=0.52, more=""))
    model, theirs = kt.load(mj), mujoco.MjData(mj)
    data = kt.Data(model)
    kt.step(model, data)
    assert data.ncon == 0
    data.reset()
    mj.geom_contype[mj.geom("egg").id] = model.geom_contype[model.id("geom", "egg")] = 4
    mujoco.mj_setConst(mj, theirs)  # MuJoCo keeps the bits of whole bodies too
    kt.forward(model, data)
    mujoco.mj_forward(mj, theirs)
    assert data.ncon == theirs.ncon > 0
    assert np.abs(data.contact_dist - theirs.contact.dist).max() < 1e-5


def test_contacts_that_were_switched_off_when_loading():
    mj = mujoco.MjModel.from_xml_string(WORLD.format(z=0.52, more="").replace('conaffinity="0"', 'conaffinity="4"'))
    mj.geom_contype[1] = 4
    mj.opt.disableflags |= kt.DisableBit.CONTACT
    model = kt.load(mj)
    data = kt.Data(model)
    kt.forward(model, data)
    assert data.ncon == 0
    model.opt.disableflags = 0
    kt.forward(model, data)
    assert data.ncon > 0


def test_planes_and_height_fields_never_meet():
    """Not even as an explicit pair, as in MuJoCo."""
    mj = mujoco.MjModel.from_xml_string(WORLD.format(z=2, more='<contact><pair geom1="p" geom2="hills"/></contact>'))
    model = kt.load(mj)
    data = kt.Data(model)
    kt.forward(model, data)
    theirs = mujoco.MjData(mj)
    mujoco.mj_forward(mj, theirs)
    assert data.ncon == theirs.ncon == 0


@pytest.mark.parametrize("flag", [kt.EnableBit.IPC])
def test_flags_that_are_refused_when_loading_are_refused_later(flag):
    model = kt.load(WORLD.format(z=2, more=""))
    before = model.opt.enableflags
    with pytest.raises(kt.UnsupportedFeatureError, match=f"flag {flag.name.lower()} "):
        model.opt.enableflags = kt.EnableBit.ENERGY | flag
    with pytest.raises(kt.UnsupportedFeatureError, match=f"flag {flag.name.lower()} "):
        model.replace(opt_enableflags=flag)
    assert model.opt.enableflags == before


SLEEPER, SHELF = 1, 3  # bodies and geoms of the scene below
SETTLED, EDITED = 60, 40  # steps until the box sleeps; steps that an edit lasts
ARRIVAL, END = 0.54, 1.0  # seconds after which the ball has met the box, and after which it is over


def falling_ball(flags: str = 'sleep="enable"', policy: str = "auto") -> mujoco.MjModel:
    """A box on a floor that falls asleep, while a ball is on its way down to it from far above, and a shelf beside."""
    return mujoco.MjModel.from_xml_string(
        f'<mujoco model="sleeper"><option o_margin=".05"><flag {flags}/></option><worldbody>'
        '<geom type="plane" size="9 9 .1"/>'
        f'<body pos="0 0 .1" sleep="{policy}"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
        '<body pos=".02 .01 1.5"><freejoint/><geom size=".05"/></body>'
        '<body name="shelf" pos="2 0 1"><geom type="box" size=".2 .2 .02"/></body></worldbody></mujoco>'
    )


def follow(mj, theirs, model, ours, steps):
    """Steps of both engines: contacts, sleep and states agree in each."""
    for k in range(steps):
        kt.step(model, ours)
        mujoco.mj_step(mj, theirs)
        assert ours.tree_asleep.tolist() == theirs.tree_asleep.tolist(), f"step {k}: tree_asleep"
        assert ours.contact_geom[: ours.ncon].tolist() == theirs.contact.geom.tolist(), f"step {k}: contact_geom"
        assert np.abs(ours.qpos - theirs.qpos).max() < 1e-8, f"step {k}: qpos {ours.qpos} against {theirs.qpos}"


def settle(mj):
    """Both engines with the box asleep and the ball in the air."""
    model, theirs = kt.load(mj), mujoco.MjData(mj)
    ours = kt.Data(model)
    follow(mj, theirs, model, ours, SETTLED)
    assert theirs.tree_asleep[0] >= 0 > theirs.tree_asleep[1]
    return theirs, model, ours


def finish(mj, theirs, model, ours):
    """The ball arrives and wakes the box."""
    follow(mj, theirs, model, ours, round((ARRIVAL - theirs.time) / mj.opt.timestep))
    assert theirs.tree_asleep[0] < 0 and theirs.qpos[9] > 0.2, "the ball did not meet the box"
    follow(mj, theirs, model, ours, round((END - theirs.time) / mj.opt.timestep))


def no_bits(m):
    m.geom_contype[SLEEPER] = m.geom_conaffinity[SLEEPER] = 0


def no_contacts(m):
    m.opt.disableflags = kt.DisableBit.CONTACT


def no_midphase(m):
    m.opt.disableflags = kt.DisableBit.MIDPHASE


def no_sleep(m):
    m.opt.enableflags = 0


def wide_margin(m):
    m.geom_margin[SLEEPER] = 0.3


def wide_gap(m):
    m.geom_margin[SLEEPER], m.geom_gap[SLEEPER] = 0.05, 0.25


def override(m):
    m.opt.enableflags |= int(kt.EnableBit.OVERRIDE)
    m.opt.o_margin = 0.3


def undo(m):
    """Back to the model as it was loaded."""
    m.geom_contype[:] = m.geom_conaffinity[:] = 1
    m.geom_margin[:] = m.geom_gap[:] = 0
    m.opt.disableflags, m.opt.enableflags, m.opt.o_margin = 0, int(kt.EnableBit.SLEEP), 0.05


EDITS = [no_bits, no_contacts, no_midphase, no_sleep, wide_margin, wide_gap, override]


@pytest.mark.parametrize("edit", EDITS)
def test_edits_while_a_body_sleeps_that_are_undone(edit):
    """Nothing of them is left when the ball arrives."""
    mj = falling_ball()
    theirs, model, ours = settle(mj)
    for change in (edit, undo):
        change(mj)
        change(model)
        follow(mj, theirs, model, ours, EDITED)
    finish(mj, theirs, model, ours)


@pytest.mark.parametrize("edit", EDITS)
def test_edits_while_a_body_sleeps_that_last(edit):
    mj = falling_ball()
    theirs, model, ours = settle(mj)
    edit(mj)
    edit(model)
    follow(mj, theirs, model, ours, 500)
    through = theirs.qpos[9] < (-1 if edit is no_contacts else 0.1)
    assert through == (edit in (no_bits, no_contacts)), f"the ball is at {theirs.qpos[9]}"


@pytest.mark.parametrize("before", [no_bits, no_contacts])
def test_a_body_that_slept_before_it_could_touch_anything(before):
    """It floats: without gravity nothing else is needed to fall asleep."""
    mj = falling_ball()
    mj.opt.gravity[:] = 0
    before(mj)
    model, theirs = kt.load(mj), mujoco.MjData(mj)
    ours = kt.Data(model)
    for data in (theirs, ours):
        data.qvel[8] = -2
    follow(mj, theirs, model, ours, SETTLED)
    assert theirs.tree_asleep[0] >= 0
    undo(mj)
    undo(model)
    follow(mj, theirs, model, ours, 600)
    assert theirs.tree_asleep[0] < 0


def test_bodies_asleep_from_the_start():
    """Of them nothing was computed but what the reset needs."""
    mj = falling_ball(policy="init")
    theirs, model, ours = settle(mj)
    finish(mj, theirs, model, ours)


@pytest.mark.parametrize("policy", ["auto", "init"])
def test_sleep_that_is_switched_on_later(policy):
    mj = falling_ball('sleep="disable"', policy)
    model, theirs = kt.load(mj), mujoco.MjData(mj)
    ours = kt.Data(model)
    follow(mj, theirs, model, ours, 5)
    undo(mj)
    undo(model)
    follow(mj, theirs, model, ours, SETTLED)
    assert theirs.tree_asleep[0] >= 0
    finish(mj, theirs, model, ours)


COPIES = {"copy": lambda data: data.copy(), "pickle": lambda data: pickle.loads(pickle.dumps(data))}


@pytest.mark.parametrize("way", COPIES)
def test_copies_of_what_sleeps(way):
    """A copy goes on as the original would, edits included."""
    mj = falling_ball()
    theirs, model, ours = settle(mj)
    ours, theirs = COPIES[way](ours), copy.copy(theirs)
    no_bits(mj)
    no_bits(model)
    follow(mj, theirs, model, ours, EDITED)
    ours, theirs = COPIES[way](ours), copy.copy(theirs)
    undo(mj)
    undo(model)
    finish(mj, theirs, model, ours)


@pytest.mark.parametrize("policy", ["auto", "init"])
def test_reset_of_what_sleeps(policy):
    mj = falling_ball(policy=policy)
    theirs, model, ours = settle(mj)
    no_bits(mj)
    no_bits(model)
    follow(mj, theirs, model, ours, EDITED)
    undo(mj)
    undo(model)
    mujoco.mj_resetData(mj, theirs)
    ours.reset()
    follow(mj, theirs, model, ours, SETTLED)
    finish(mj, theirs, model, ours)


@pytest.mark.parametrize("fresh", [True, False])
def test_states_set_while_a_body_sleeps(fresh):
    """An earlier one, in which it lay where it lies, or the same in a Data that knows nothing yet."""
    mj = falling_ball()
    theirs, model, ours = settle(mj)
    state, size = int(kt.State.FULLPHYSICS), mujoco.mj_stateSize(mj, kt.State.FULLPHYSICS)
    own, kept = ours.get_state(state), np.zeros(size)
    mujoco.mj_getState(mj, theirs, kept, state)
    if fresh:
        theirs, ours = mujoco.MjData(mj), kt.Data(model)
    else:
        follow(mj, theirs, model, ours, EDITED)
    mujoco.mj_setState(mj, theirs, kept, state)
    ours.set_state(own, state)
    follow(mj, theirs, model, ours, EDITED)
    finish(mj, theirs, model, ours)


def test_another_model_for_what_sleeps():
    """One that was derived anew wakes everything, and the ball stays on what woke or rolls off it."""
    _, model, ours = settle(falling_ball())
    kt.step(model.replace(geom_contype=[1, 0, 1, 1], geom_conaffinity=[1, 0, 1, 1]), ours, nstep=2)
    assert ours.tree_asleep[0] < 0
    kt.step(model, ours, nstep=500)
    assert ours.qpos[9] > 0.2 or np.hypot(*ours.qpos[7:9]) > 0.1, f"the ball is at {ours.qpos[7:10]}"


def test_a_fixed_body_moved_while_another_sleeps():
    """It is seen at once, as by MuJoCo without sleep; with sleep MuJoCo leaves fixed bodies where they were."""
    mj = falling_ball()
    _, model, ours = settle(mj)
    mj.opt.enableflags = 0
    theirs = mujoco.MjData(mj)
    mujoco.mj_step(mj, theirs, SETTLED)
    mj.body_pos[SHELF] = model.body_pos[SHELF] = [0.1, 0, 0.4]
    touched = False
    for k in range(250):
        kt.step(model, ours)
        mujoco.mj_step(mj, theirs)
        touched = touched or [2, SHELF] in ours.contact_geom[: ours.ncon].tolist()
        assert np.abs(ours.qpos[7:] - theirs.qpos[7:]).max() < 1e-8, f"step {k}"
    assert touched and ours.tree_asleep[0] >= 0


@pytest.mark.parametrize("sleep", [True, False])
def test_explicit_pairs_of_what_cannot_move(sleep):
    """They touch even where nothing moves, but not with sleep enabled, as in MuJoCo."""
    mj = mujoco.MjModel.from_xml_string(
        f'<mujoco><option><flag sleep="{"enable" if sleep else "disable"}"/></option><worldbody><geom name="a" size=".1"/>'
        '<body><geom name="b" size=".1" pos=".15 0 0"/></body></worldbody>'
        '<contact><pair geom1="a" geom2="b"/></contact></mujoco>'
    )
    model, theirs = kt.load(mj), mujoco.MjData(mj)
    ours = kt.Data(model)
    kt.forward(model, ours)
    mujoco.mj_forward(mj, theirs)
    assert ours.ncon == theirs.ncon == (0 if sleep else 1)


def test_contacts_of_what_sleeps_once_sleep_is_off():
    """The stage alone finds them, before anything has woken."""
    mj = mujoco.MjModel.from_xml_string(
        '<mujoco><option><flag sleep="enable"/></option><worldbody><geom type="plane" size="9 9 .1"/>'
        '<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>'
    )
    model, theirs = kt.load(mj), mujoco.MjData(mj)
    ours = kt.Data(model)
    follow(mj, theirs, model, ours, SETTLED)
    assert ours.nv_awake == theirs.nv_awake == 0
    no_sleep(mj)
    no_sleep(model)
    kt.collision(model, ours)
    mujoco.mj_collision(mj, theirs)
    assert ours.ncon == theirs.ncon == 4


def test_geoms_that_are_made_thin_can_be_jumped_over():
    """Sizes are edited in place: a thick wall becomes a thin one, and what is fast for it has a contact ahead of time."""
    mj = mujoco.MjModel.from_xml_string("""<mujoco><option timestep=".005" gravity="0 0 0"><flag speculative="enable"/></option>
        <worldbody><geom type="box" size=".5 1 1"/>
        <body pos="-1.3 0 0"><freejoint/><geom size=".4"/></body></worldbody></mujoco>""")
    model = kt.load(mj)
    for each in (mj, model):
        each.geom_size[0, 0] = each.geom_aabb[0, 3] = 0.002
        each.geom_size[1, 0] = each.geom_rbound[1] = 0.02
        each.geom_aabb[1, 3:] = 0.02
    theirs, ours = mujoco.MjData(mj), kt.Data(model)
    theirs.qvel[0] = ours.qvel[0] = 50.0  # a quarter of a metre in a step
    follow(mj, theirs, model, ours, 12)
    assert ours.qpos[0] < 0.0, f"the ball went through the wall and is at {ours.qpos[0]}"
