"""Parameters of contacts against MuJoCo, one by one: of geoms, of explicit pairs, of the options."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.geometry.contact_list import FAR
from kinetree.geometry.driver import collision
from kinetree.geometry.parameters import IN_GAP
from tests.geometry.scenes import agree, both, detect, rows

# Attributes of two geoms that touch, of which the rule for one parameter can be seen.
MIXED = {
    "defaults": ("", ""),
    "condim 1": ('condim="1"', 'condim="1"'),
    "larger condim": ('condim="4"', 'condim="6"'),
    "larger friction": ('friction=".5 .1 .02"', 'friction=".7 .03 .01"'),
    "least friction": ('friction="0 0 0"', 'friction="0 0 0"'),
    "solref by equal solmix": ('solref=".03 .8"', 'solref=".01 1.2"'),
    "solref by solmix": ('solref=".03 .8" solmix="3"', 'solref=".01 1.2" solmix=".5"'),
    "one solref direct": ('solref="-100 -8" solmix="3"', 'solref=".01 1.2"'),
    "both solref direct": ('solref="-100 -8"', 'solref="-150 -5"'),
    "solimp by solmix": ('solimp=".8 .9 .01 .4 3" solmix=".2"', 'solimp=".7 .97 .002 .6 1"'),
    "first solmix zero": ('solref=".03 .8" solmix="0"', 'solref=".01 1.2"'),
    "second solmix zero": ('solref=".03 .8"', 'solref=".01 1.2" solmix="0"'),
    "both solmix zero": ('solref=".03 .8" solmix="0"', 'solref=".01 1.2" solmix="0"'),
    "first priority": (
        'priority="2" condim="1" friction=".2 .1 .1" solref=".03 .8" solimp=".8 .9 .01 .4 3" adhesion="3"',
        'priority="1" condim="6" friction=".7 .3 .1" solref="-9 -8" solimp=".7 .97 .002 .6 1" adhesion="5"',
    ),
    "second priority": (
        'priority="0" condim="1" friction=".2 .1 .1" solref=".03 .8" solimp=".8 .9 .01 .4 3" adhesion="3"',
        'priority="1" condim="6" friction=".7 .3 .1" solref="-9 -8" solimp=".7 .97 .002 .6 1" adhesion="5"',
    ),
    "negative priority": ('priority="-3" condim="1"', 'priority="-2" condim="4"'),
    "margins add up": ('margin=".01"', 'margin=".02"'),
    "gaps add up": ('gap=".01"', 'gap=".02"'),
    "margin and gap": ('margin=".01" gap=".02"', 'margin=".02"'),
    "negative margin": ('margin="-.03" gap=".04"', 'margin=".01"'),
    "adhesions add up": ('adhesion="3"', 'adhesion="5"'),
    "adhesion in the gap": ('adhesion="3" gap=".04" condim="6"', ""),
    "constant surface velocity": ('surfacevel="1 2 3 0 0 0"', ""),
    "turning surfaces": ('surfacevel="0 0 0 1 2 3"', 'surfacevel=".3 .2 .1 3 1 2" condim="6"'),
}  # fmt: skip
PAIR = (
    'condim="4" friction=".1 .2 .3 .4 .5" solref=".05 .6" solreffriction=".07 .9" solimp=".6 .8 .03 .5 1" margin=".03" '
    'gap=".02" adhesion="2"'
)
EXPLICIT = {
    "nothing said": "",
    "condim": 'condim="1"',
    "friction": 'friction=".1 .2 .3 .4 .5"',
    "solref": 'solref=".05 .6"',
    "solreffriction": 'solreffriction=".07 .9"',
    "solimp": 'solimp=".6 .8 .03 .5 1"',
    "margin": 'margin=".03"',
    "margin and gap": 'margin=".01" gap=".05"',
    "adhesion": 'adhesion="2"',
    "all": PAIR,
}
OVERRIDE = (
    '<option o_margin="{margin}" o_solref=".04 .7" o_solimp=".5 .7 .02 .4 2" o_friction=".9 .8 .7 .6 .5">'
    '<flag override="enable"/></option>'
)


def scene(first: str, second: str, contact: str = "", option: str = "") -> mujoco.MjModel:
    """A tilted box on the world and a capsule that is dropped on it; both are turned, so that frames matter."""
    return mujoco.MjModel.from_xml_string(
        f"<mujoco>{option}<worldbody>"
        f'<geom name="a" type="box" size=".3 .2 .1" euler="10 20 30" {first}/>'
        f'<body pos=".02 .01 .2"><freejoint/><geom name="b" type="capsule" size=".05 .1" euler="70 10 5" {second}/></body>'
        f"</worldbody><contact>{contact}</contact></mujoco>"
    )


def compare(mj: mujoco.MjModel, what: str) -> set[int]:
    """Contacts while the second geom comes down; returns the values of `exclude` that occurred."""
    theirs, model, ours = both(mj)
    seen: set[int] = set()
    for z in np.arange(0.26, 0.12, -0.01):
        theirs.qpos[2] = z
        detect(mj, theirs, model, ours)
        agree(theirs, ours, f"{what} at {z:.2f}")
        seen.update(int(x) for x in rows(theirs, "exclude").ravel())
    assert 0 in seen, f"{what}: no contact"
    return seen


@pytest.mark.parametrize("case", MIXED)
def test_parameters_of_two_geoms(case):
    seen = compare(scene(*MIXED[case]), case)
    gap = "gap" in case and "adhesion" not in case or case == "negative margin"
    assert (IN_GAP in seen) == gap, f"{case}: exclude {seen}"


@pytest.mark.parametrize("case", EXPLICIT)
def test_parameters_of_an_explicit_pair(case):
    first, second = (
        'friction=".5 .1 .02" margin=".01" solref=".03 .8" priority="2"',
        'condim="6" gap=".01" adhesion="9"',
    )
    compare(scene(first, second, f'<pair geom1="b" geom2="a" {EXPLICIT[case]}/>'), f"pair {case}")


@pytest.mark.parametrize("margin", [0.0, 0.03])
@pytest.mark.parametrize("contact", ["", f'<pair geom1="a" geom2="b" {PAIR}/>'], ids=["geoms", "pair"])
def test_override(contact, margin):
    first, second = 'friction=".5 .1 .02" margin=".01" gap=".005"', 'condim="6" solref="-9 -8" adhesion="2"'
    compare(scene(first, second, contact, OVERRIDE.format(margin=margin)), f"override {contact}")


def test_edits_of_parameters_are_seen():
    """Friction and the like are read at every step, as in MuJoCo."""
    mj = scene("", "")
    theirs, model, ours = both(mj)
    theirs.qpos[2] = 0.15
    for name, value in (("geom_friction", 0.3), ("geom_solref", 0.05), ("geom_adhesion", 2.0), ("geom_margin", 0.01)):
        getattr(mj, name)[:] = value
        getattr(model, name)[:] = value
        detect(mj, theirs, model, ours)
        agree(theirs, ours, f"after an edit of {name}")
        assert theirs.ncon > 0


def test_on_lanes_a_contact_is_in_the_gap_if_it_is_so_in_every_world_that_has_it():
    model = kt.load(scene("gap='.04'", ""))
    for heights, exclude in (((0.25, 0.35), IN_GAP), ((0.25, 0.15), 0)):
        worlds = [kt.Data(model) for _ in range(8)]
        for k, data in enumerate(worlds):
            data.qpos[2] = heights[k % 2]
            kt.kinematics(model, data)
        lanes = lanes_of(model, worlds)
        lanes.run(collision)
        count = lanes.arrays["ncon"][0]
        assert count > 0 and lanes.contact_exclude[0] == exclude
        collision(model, worlds[0])
        assert worlds[0].ncon == 1 and worlds[0].contact_exclude[0] == IN_GAP
        if exclude == IN_GAP:
            assert (lanes.contact_dist[:count, 1] == FAR).all()
