"""Speculative contacts against MuJoCo: every pair of shapes, whole scenes, what is in the way, trajectories, lanes."""

from __future__ import annotations

import itertools
import runpy
from pathlib import Path

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.tolerances import CONTACT_CONVEX, MACHINES
from kinetree.geometry.contact_list import FAR
from kinetree.geometry.driver import collision
from kinetree.geometry.speculative import swept_points
from kinetree.kernel import interpret
from tests.geometry.fast_scenes import (
    MOVING,
    STEP,
    fast_scene,
    judge,
    option,
    take_over,
    throw,
    throw_together,
    two_thrown,
)
from tests.geometry.scenes import rows

PAIRS = [("plane", kind) for kind in MOVING] + list(itertools.combinations_with_replacement(MOVING, 2))
STATES = 90
VARIANTS = {
    "plain": {},
    "margin and gap": {"attributes": 'margin=".006" gap=".02"'},
    "one contact": {"flags": 'multiccd="disable"'},
    "override": {
        "flags": 'override="enable"',
        "options": 'o_margin=".01" o_solref=".04 1.2" o_solimp=".8 .9 .01 .5 2"',
    },
    "direct reference": {"attributes": 'solref="-900 -20"'},
    "no spring": {"attributes": 'solref="0 -150" solimp=".99 .99 .003"'},
    "stiff": {"attributes": 'solref=".004 .7"', "flags": 'refsafe="disable"'},
    "stiff and safe": {"attributes": 'solref=".004 .7"'},
    "mixed signs": {"attributes": 'solref=".01 -2"'},
}


def both(mj):
    model = kt.load(mj)
    return mujoco.MjData(mj), model, kt.Data(model)


def compared(mj, states, what, spin=30.0):
    """Contacts in random states: how many there are ahead of time, and how many are not exact."""
    theirs, model, ours = both(mj)
    rng, ahead, inexact = np.random.default_rng(len(what)), 0, 0
    for k in range(states):
        throw_together(mj, theirs, rng, k % 3 == 0, spin)
        mujoco.mj_forward(mj, theirs)
        take_over(model, ours, theirs)
        inexact += judge(mj, theirs, ours, f"{what}, state {k}")
        ahead += int(ours._arrays["contact_swept"][: ours.ncon].sum())
        for name in ("includemargin", "solref", "solimp", "friction", "dim", "exclude"):
            np.testing.assert_allclose(rows(ours, name), rows(theirs, name), atol=1e-12, err_msg=f"{what} {name}")
    return ahead, inexact


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_two_shapes(pair):
    ahead, _ = compared(two_thrown(*pair), STATES, " ".join(pair))
    assert ahead > 6, f"{pair}: {ahead} contacts ahead of time"


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "plain"])
@pytest.mark.parametrize(
    "pair", [("plane", "box"), ("capsule", "box"), ("box", "mesh"), ("sphere", "sphere")], ids=" ".join
)
def test_margins_references_and_flags(pair, variant):
    what = f"{' '.join(pair)}, {variant}"
    assert compared(two_thrown(*pair, **VARIANTS[variant]), STATES, what)[0] > 6, what


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "override"])
def test_the_discrete_integrator_has_its_own_distance(variant):
    given = {**VARIANTS[variant], "options": 'integrator="discrete"'}
    assert compared(two_thrown("capsule", "box", **given), STATES, variant)[0] > 6, variant


@pytest.mark.parametrize("spin", [300.0, 3000.0])
@pytest.mark.parametrize("pair", [("plane", "cylinder"), ("box", "box"), ("capsule", "mesh")], ids=" ".join)
def test_what_turns_far_within_a_step(pair, spin):
    """Up to several revolutions: the sixteen bits of the way are not always enough."""
    assert compared(two_thrown(*pair), STATES, " ".join(pair), spin)[0] > 6


SCENES = {
    "": range(8),
    'multiccd="disable"': range(8, 10),
    'override="enable"': range(10, 12),
    'midphase="disable" filterparent="disable" refsafe="disable"': range(12, 14),
}


@pytest.mark.parametrize("flags, seed", [(flags, seed) for flags, seeds in SCENES.items() for seed in seeds])
def test_scenes(flags, seed):
    """All contacts, their order, what hides them, and the rows they become."""
    run_scene(seed, flags)


def run_scene(seed, flags="", states=8):
    options = 'o_margin=".01" o_solref=".04 1"' if "override" in flags else ""
    mj = fast_scene(seed, flags, options)
    theirs, model, ours = both(mj)
    rng, ahead = np.random.default_rng(seed), 0
    for k in range(states):
        throw(mj, theirs, rng)
        mujoco.mj_forward(mj, theirs)
        take_over(model, ours, theirs)
        what = f"scene {seed}, state {k}"
        inexact = judge(mj, theirs, ours, what)
        ahead += int(ours._arrays["contact_swept"][: ours.ncon].sum())
        assert ours.nefc == theirs.nefc, what
        if not inexact:
            for name in ("efc_pos", "efc_margin", "efc_aref", "efc_D"):
                got, wanted = getattr(ours, name), getattr(theirs, name)
                np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6, err_msg=f"{what} {name}")
    assert ahead > 10, f"scene {seed}: {ahead} contacts ahead of time"


@pytest.mark.soak
@pytest.mark.parametrize("batch", range(20))
def test_many_scenes(batch):
    for seed in range(1000 + 20 * batch, 1020 + 20 * batch):
        run_scene(seed, list(SCENES)[seed % len(SCENES)])


# what is in the way


TABLE = f"""<mujoco>{option()}<worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body name="top" pos="0 0 1"><geom name="top" type="box" size=".5 .5 .005" {{top}}/></body>
    <body name="box" pos="0 0 1.2"><freejoint/><geom name="box" type="box" size=".05 .04 .03" conaffinity="3"/></body>{{more}}
    </worldbody>{{end}}</mujoco>"""


def seen(more="", top="", end="", speed=150.0):
    """Pairs of geoms, by name, of a box that falls on a table, on both sides."""
    mj = mujoco.MjModel.from_xml_string(TABLE.format(more=more, top=top, end=end))
    theirs, model, ours = both(mj)
    theirs.qvel[2] = -speed
    mujoco.mj_forward(mj, theirs)
    take_over(model, ours, theirs)
    judge(mj, theirs, ours, f"table {more}{top}{end}")
    return {tuple(sorted(model.name("geom", int(g)) for g in pair)) for pair in ours.contact_geom}


def test_a_tabletop_hides_the_floor():
    assert seen() == {("box", "top")}


def test_what_the_box_does_not_collide_with_hides_nothing():
    assert seen(top='contype="0" conaffinity="0"') == {("box", "floor")}
    assert seen(end='<contact><exclude body1="top" body2="box"/></contact>') == {("box", "floor")}


def test_an_explicit_pair_hides_whatever_its_bits_are():
    pair = '<contact><pair geom1="box" geom2="top"/></contact>'
    assert seen(top='contype="0" conaffinity="0"', end=pair) == {("box", "top")}


@pytest.mark.parametrize("height, hides", [(1.1695, False), (1.16, True)])
def test_what_the_box_touches_already_hides_nothing(height, hides):
    """A lid under the box, through which the table passes."""
    shape = 'type="box" size=".05 .04 .001" contype="2" conaffinity="0"'
    lid = f'<body pos="0 0 {height}"><freejoint/><geom name="lid" {shape}/></body>'
    assert (("box", "top") not in seen(more=lid)) == hides


SCREENS = {
    "sphere": 'size=".078"', "capsule": 'size=".075 .002"', "ellipsoid": 'size=".09 .08 .04"', "cylinder": 'size=".09 .02"',
    "box": 'size=".08 .09 .02"', "mesh": 'mesh="shape"',
}  # fmt: skip
OCTAHEDRON = '<asset><mesh name="shape" vertex=".16 0 0 -.16 0 0 0 .15 0 0 -.15 0 0 0 .05 0 0 -.05"/></asset>'


@pytest.mark.parametrize("kind", SCREENS)
def test_every_shape_can_stand_in_the_way(kind):
    """Over the table, and under it, turned a little."""
    for height in (1.09, 0.9):
        shape = f'<geom name="x" type="{kind}" {SCREENS[kind]}/>'
        found = seen(more=f'<body pos=".01 .005 {height}" euler="3 4 40"><freejoint/>{shape}</body>', end=OCTAHEDRON)
        assert (("box", "top") in found) == (height < 1.0), f"{kind} at {height}: {found}"


# when there is none


def contacts(xml, velocity):
    """How many contacts a free body has that moves so, on both sides."""
    mj = mujoco.MjModel.from_xml_string(xml)
    theirs, model, ours = both(mj)
    theirs.qvel[:] = velocity
    mujoco.mj_forward(mj, theirs)
    take_over(model, ours, theirs)
    judge(mj, theirs, ours, xml)
    return ours.ncon


BALL = """<mujoco>{option}<asset><hfield name="h" nrow="2" ncol="2" size="1 1 .1 .1"/></asset><worldbody>
    <geom type="{kind}" {shape}/><body pos="0 0 .5"><freejoint/><geom size=".05"/></body></worldbody></mujoco>"""
WALL = {"kind": "box", "shape": 'size="1 1 .01"'}
FAST, SLOW = (0, 0, -80, 0, 0, 0), (0, 0, -0.9, 0, 0, 0)


def test_only_what_is_fast_has_them():
    assert contacts(BALL.format(option=option(), **WALL), FAST) == 1
    assert contacts(BALL.format(option=option(), **WALL).replace(" .5", " .065"), SLOW) == 0


def test_the_flag_has_to_be_set_and_the_native_solver_on():
    assert contacts(BALL.format(option=f'<option timestep="{STEP}"/>', **WALL), FAST) == 0
    assert contacts(BALL.format(option=option('nativeccd="disable"'), **WALL), FAST) == 0


def test_height_fields_have_none():
    assert contacts(BALL.format(option=option(), kind="hfield", shape='hfield="h"'), FAST) == 0


def test_a_body_of_many_geoms_is_swept_as_a_whole():
    """It takes part in the broad phase as a tree of boxes."""
    balls = "".join(
        f'<geom size=".01" pos="{x} {y} {0.02 * x}"/>' for x in np.linspace(-1, 1, 9) for y in np.linspace(-1, 1, 9)
    )
    xml = f"""<mujoco>{option()}<worldbody><geom type="box" size="2 2 .01"/><body pos="0 0 .5"><freejoint/>{balls}</body>
        </worldbody></mujoco>"""
    assert contacts(xml, (0, 0, -70, 0, 0, 0)) == 81
    assert contacts(xml, (5, 3, -10, 60, 40, 0)) > 8


# what comes of it


CHAIN = f"""<mujoco>{option()}<worldbody><geom type="plane" size="9 9 1" pos="0 0 -1.5"/>
    <geom type="box" size=".002 1 1" pos="1 0 0" euler="0 10 5"/>
    <geom type="capsule" size=".01 .5" pos="-1 .2 .1" euler="80 0 0"/>
    <body pos="0 0 0"><joint axis=".3 1 .1"/><geom type="capsule" size=".01" fromto="0 0 0 .5 .1 0"/>
    <body pos=".5 .1 0"><joint axis="1 .2 .7"/><geom type="box" size=".2 .01 .02" pos=".2 0 0"/>
    <body pos=".4 0 0"><joint type="ball"/><geom type="ellipsoid" size=".02 .1 .05" pos="0 .1 0"/></body></body></body>
    <body pos=".2 .5 .5"><freejoint/><geom type="cylinder" size=".1 .01"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("seed", range(4))
def test_steps_are_mujocos(seed):
    """Each step from MuJoCo's state: links that whirl past walls, and a disc that is thrown at them."""
    mj = mujoco.MjModel.from_xml_string(CHAIN)
    mj.opt.tolerance, mj.opt.iterations = 1e-14, 500
    theirs, model, ours = both(mj)
    rng, ahead = np.random.default_rng(seed), 0
    for k in range(120):
        if k % 12 == 0:  # some are thrown again
            theirs.qvel[:] += rng.normal(size=mj.nv) * 20.0
        ours.set_state(kt.Data(model).get_state())
        for name in ("qpos", "qvel", "qacc_warmstart"):
            getattr(ours, name)[:] = getattr(theirs, name)
        before = mujoco.MjData(mj)
        before.qpos[:], before.qvel[:] = theirs.qpos, theirs.qvel
        mujoco.mj_step(mj, theirs)
        if theirs.warning.number.any():  # unstable, and reset
            theirs.warning.number[:] = 0
            continue
        kt.step(model, ours)
        mujoco.mj_forward(mj, before)
        if not judge(mj, before, ours, f"seed {seed}, step {k}"):
            error = np.abs(ours.qvel - theirs.qvel) / (1 + np.abs(theirs.qvel).max())
            i = int(np.argmax(error))
            assert error[i] < 1e-6, f"seed {seed}, step {k}: qvel[{i}] {ours.qvel[i]} against MuJoCo's {theirs.qvel[i]}"
        ahead += int(ours._arrays["contact_swept"][: ours.ncon].any())
    assert ahead > 2


@pytest.mark.parametrize("speed", [5.0, 20.0, 100.0, 1000.0])
def test_a_ball_lands_on_the_wall_at_the_end_of_the_step(speed):
    """Where the impedance is almost one the row gets what it asks for: of the way a fiftieth is left, for clearance."""
    share, radius = 0.3, 0.05  # of the step until it meets the wall
    start = radius + 0.01 + share * STEP * speed
    xml = BALL.format(option=option('gravity="disable"'), kind="box", shape='size="1 1 .01" solimp=".9999 .9999 .001"')
    model = kt.load(
        xml.replace('pos="0 0 .5"', f'pos="0 0 {start}"').replace('size=".05"', 'size=".05" solimp=".9999 .9999 .001"')
    )
    data = kt.Data(model)
    data.qvel[2] = -speed
    kt.step(model, data)
    left = data.qpos[2] - radius - 0.01
    assert left == pytest.approx(0.02 * share * STEP * speed, rel=0.01, abs=1e-9)


def test_the_guide_has_the_table_of_the_thin_wall():
    """Made by its script, which also asserts that both engines agree."""
    root = Path(__file__).parents[2]
    script = runpy.run_path(str(root / "docs" / "plots" / "thin_wall.py"))
    made = script["table"]() + script["tumbling_table"]()
    page = (root / "docs" / "guide" / "contacts.md").read_text(encoding="utf-8")
    assert len(made) > 5 and not [line for line in made if line not in page]


def test_a_sleeper_wakes_before_it_is_hit():
    xml = f"""<mujoco>{option('sleep="enable" gravity="disable"')}<worldbody>
        <body name="still" sleep="init"><freejoint/><geom type="box" size=".5 .4 .004"/></body>
        <body pos="0 .1 3" sleep="never"><freejoint/><geom size=".05"/></body></worldbody></mujoco>"""
    mj = mujoco.MjModel.from_xml_string(xml)
    theirs, model, ours = both(mj)
    mujoco.mj_resetData(mj, theirs)
    theirs.qvel[8], ours.qvel[8] = -90.0, -90.0
    woke = []
    for k in range(12):
        mujoco.mj_step(mj, theirs)
        kt.step(model, ours)
        assert ours.tree_asleep.tolist() == theirs.tree_asleep.tolist(), f"step {k}"
        np.testing.assert_allclose(ours.qpos, theirs.qpos, atol=1e-8, err_msg=f"step {k}")
        woke.append(bool((ours.tree_asleep < 0).all()))
    assert not woke[0] and woke[-1]


def test_contacts_stay_speculative_in_copies():
    """What gives force at any distance is remembered with the contact."""
    model = kt.load(BALL.format(option=option(), **WALL))
    data = kt.Data(model)
    data.qvel[:] = FAST
    kt.pipeline.fwd_position(model, data)
    copied = data.copy()
    for each in (data, copied):
        kt.pipeline.make_constraint(model, each)
        assert each.nefc == 4 and (each.contact_dist > each.contact_includemargin).all()


# machines


def thrown(seed, model, mj):
    """A Data of a scene in a random state, with its contacts."""
    theirs = mujoco.MjData(mj)
    throw(mj, theirs, np.random.default_rng(seed))
    data = kt.Data(model)
    data.qpos[:], data.qvel[:] = theirs.qpos, theirs.qvel
    kt.forward(model, data)
    return data


@pytest.mark.parametrize("width", [8, pytest.param(1, marks=pytest.mark.soak)])
def test_lanes_have_the_contacts_of_floats(width):
    mj = fast_scene(3)
    model = kt.load(mj)
    worlds = [thrown(seed, model, mj) for seed in range(width)]
    lanes, out, ahead = lanes_of(model, worlds), kt.Data(model), set()
    lanes.run(collision)
    for lane, data in enumerate(worlds):
        lanes.store(lane, out)
        own = np.flatnonzero(out.contact_dist < FAR)
        assert len(own) == data.ncon, f"lane {lane}: {len(own)} contacts, on floats {data.ncon}"
        for name in ("geom", "dim", "dist", "pos", "frame", "includemargin"):
            got, wanted = rows(out, name)[own], rows(data, name)
            error = np.abs(got - wanted).max() / max(1.0, np.abs(wanted).max())
            assert error <= MACHINES["float64"], f"lane {lane} {name}: {error}"
        swept = out._arrays["contact_swept"][: out.ncon][own]
        assert swept.tolist() == data._arrays["contact_swept"][: data.ncon].tolist(), f"lane {lane}"
        ahead.add(int(swept.sum()))
    assert max(ahead) > 2 and (width == 1 or len(ahead) > 1)


def test_lanes_step_like_floats():
    mj = fast_scene(4)
    mj.opt.tolerance = 1e-12
    model = kt.load(mj)
    worlds = [thrown(seed, model, mj) for seed in range(8)]
    lanes, out = lanes_of(model, worlds), kt.Data(model)
    lanes.step(1)
    for lane, data in enumerate(worlds):
        kt.step(model, data)
        lanes.store(lane, out)
        error = np.abs(out.qvel - data.qvel).max() / (1 + np.abs(data.qvel).max())
        assert error < 1e-7, f"lane {lane}: {error}"


@pytest.mark.parametrize("seed", range(3))
def test_single_precision_has_them_too(seed):
    """The same pairs, but for those that graze each other; distances to the digits it has."""
    mj = fast_scene(seed)
    model = kt.load(mj)
    worlds = [thrown(each, model, mj) for each in range(16)]
    lanes, out, same, found = lanes_of(model, worlds, "float32"), kt.Data(model), 0, 0
    lanes.run(collision)
    for lane, data in enumerate(worlds):
        lanes.store(lane, out)
        own = np.flatnonzero(out.contact_dist < FAR)
        ours, wanted = (
            {
                tuple(pair): dist
                for pair, dist in zip(d.contact_geom[rows_].tolist(), d.contact_dist[rows_], strict=True)
            }
            for d, rows_ in ((out, own), (data, np.arange(data.ncon)))
        )
        assert len(set(ours) ^ set(wanted)) <= 1, f"lane {lane}: {set(ours) ^ set(wanted)}"
        for pair in set(ours) & set(wanted):
            found += 1
            same += abs(ours[pair] - wanted[pair]) <= 2e-3 * max(1.0, abs(wanted[pair]))
    assert same > 0.97 * found > 50, f"{same} of {found}"


def test_plain_python_equals_machine_code():
    mj = fast_scene(5)
    model = kt.load(mj)
    data = thrown(2, model, mj)
    plain = data.copy()
    plain._arrays["ncon"][0] = 0
    interpret(collision, model.record(), plain.record())
    assert plain.ncon == data.ncon > 3 and plain._arrays["contact_swept"][: data.ncon].any()
    for name in ("dist", "pos", "frame", "geom"):
        assert np.abs(rows(plain, name) - rows(data, name)).max() <= 10.0 * CONTACT_CONVEX, name


def test_the_stage_runs_only_where_something_is_fast():
    model = kt.load(BALL.format(option=option(), **WALL))
    data = kt.Data(model)
    kt.forward(model, data)
    runs = data._arrays["stage_runs"]
    assert runs[swept_points.stage_index] == 0
    data.qvel[:] = FAST
    kt.forward(model, data)
    assert runs[swept_points.stage_index] > 0
