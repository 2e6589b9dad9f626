"""Models whose geoms need a convex solver are refused by name, unless those geoms cannot touch."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.readable import without_missing_pairs
from kinetree.io.contacts import missing_kinds, missing_pairs
from kinetree.types import GeomType

MESH, HILLS = 'vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"', 'nrow="3" ncol="3" size="1 1 .1 .1"'
ASSETS = f'<asset><mesh name="m" {MESH}/><hfield name="h" {HILLS}/></asset>'
SHAPES = {
    "sphere": 'type="sphere" size=".1"', "capsule": 'type="capsule" size=".1 .1"', "box": 'type="box" size=".1 .1 .1"',
    "cylinder": 'type="cylinder" size=".1 .1"', "ellipsoid": 'type="ellipsoid" size=".1 .1 .2"', "mesh": 'type="mesh" mesh="m"',
    "hfield": 'type="hfield" hfield="h"',
}  # fmt: skip


def scene(
    first: str, second: str, contact: str = "", flags: str = "", bits: str = "", joint: str = "<freejoint/>"
) -> str:
    """Two geoms on two bodies, the first on a static one if it is a height field."""
    own = "" if first == "hfield" else joint
    return (
        f"<mujoco><option><flag {flags}/></option>{ASSETS}<worldbody>"
        f'<body name="p">{own}<geom name="one" {SHAPES[first]} {bits}/></body>'
        f'<body name="q">{joint}<geom name="other" {SHAPES[second]}/></body></worldbody><contact>{contact}</contact></mujoco>'
    )


@pytest.mark.parametrize("second", ["sphere", "capsule", "box", "cylinder", "ellipsoid", "mesh"])
@pytest.mark.parametrize("first", ["hfield", "mesh", "ellipsoid"])
def test_both_geoms_are_named(first, second):
    kinds = sorted((first, second), key=lambda kind: GeomType[kind.upper()])
    with pytest.raises(kt.UnsupportedFeatureError, match=f"collision of {kinds[0]} with {kinds[1]}") as refusal:
        kt.load(scene(first, second))
    assert "geom 'one'" in str(refusal.value) and "geom 'other'" in str(refusal.value)


def test_pairs_are_counted():
    geoms = "".join(f'<body><freejoint/><geom name="g{k}" {SHAPES["cylinder"]}/></body>' for k in range(4))
    with pytest.raises(
        kt.UnsupportedFeatureError, match=r"cylinder with cylinder \(geom 'g0' with geom 'g1' and 5 more\)"
    ):
        kt.load(f"<mujoco><worldbody>{geoms}</worldbody></mujoco>")


@pytest.mark.parametrize(
    "harmless",
    [
        scene("mesh", "mesh", flags='contact="disable"'),
        scene("mesh", "mesh", flags='constraint="disable"'),
        scene("mesh", "mesh", '<exclude body1="q" body2="p"/>'),
        scene("mesh", "mesh", bits='contype="0" conaffinity="0"'),
        scene("mesh", "mesh", bits='contype="2" conaffinity="4"'),
        scene("mesh", "mesh", joint=""),
    ],
    ids=["contact", "constraint", "exclude", "no bits", "other bits", "static"],
)
def test_geoms_that_cannot_touch_do_no_harm(harmless):
    kt.load(harmless)


def test_an_explicit_pair_is_refused_whatever_the_bits_say():
    pair = '<pair geom1="one" geom2="other"/>'
    with pytest.raises(kt.UnsupportedFeatureError, match="collision of cylinder with box"):
        kt.load(scene("box", "cylinder", pair, bits='contype="0" conaffinity="0"'))
    kt.load(scene("box", "sphere", pair))


def test_parents_count_unless_the_filter_is_off():
    chain = (
        '<mujoco><option><flag filterparent="{}"/></option><worldbody><body><joint/><geom type="cylinder" size=".1 .1"/>'
        '<body><joint axis="1 0 0"/><geom type="cylinder" size=".1 .1"/></body></body></worldbody></mujoco>'
    )
    kt.load(chain.format("enable"))
    with pytest.raises(kt.UnsupportedFeatureError, match="cylinder with cylinder"):
        kt.load(chain.format("disable"))


def test_the_speculative_flag_is_refused():
    with pytest.raises(kt.UnsupportedFeatureError, match="flag speculative"):
        kt.load('<mujoco><option><flag speculative="enable"/></option></mujoco>')


@pytest.mark.parametrize("seed", range(5))
def test_missing_pairs_are_those_that_mujoco_would_collide(seed):
    """All geoms at one place: every pair of geoms with a contact in MuJoCo is possible; the rest of the list is not."""
    rng = np.random.default_rng(seed)
    kinds = [kind for kind in SHAPES if kind not in ("hfield", "sphere")]

    def body(depth: int) -> str:
        bits = f'contype="{rng.integers(4)}" conaffinity="{rng.integers(4)}"'
        joint = ("", '<joint axis="0 0 1" range="-.001 .001"/>')[int(rng.uniform() < 0.7)]
        inside = body(depth - 1) if depth else ""
        return f'<body name="b{rng.integers(10**9)}">{joint}<geom {SHAPES[rng.choice(kinds)]} {bits}/>{inside}</body>'

    spec = mujoco.MjSpec.from_string(
        f"<mujoco>{ASSETS}<worldbody>{''.join(body(3) for _ in range(4))}</worldbody></mujoco>"
    )
    mj = spec.compile()
    data = mujoco.MjData(mj)
    mujoco.mj_kinematics(mj, data)
    mujoco.mj_collision(mj, data)
    touching = {tuple(int(g) for g in pair) for pair in data.contact.geom}
    missing = set(missing_pairs(mj))
    unknown = {pair for kinds in missing_kinds(mj).values() for pair in kinds}
    assert missing == unknown
    closed = {pair for pair in touching if pair not in missing}
    for pair in closed:
        assert {GeomType(mj.geom_type[g]).name for g in pair} <= {"CAPSULE", "BOX"}, pair
    assert missing <= touching
    kt.load(without_missing_pairs(spec))
