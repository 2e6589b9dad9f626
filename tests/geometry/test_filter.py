"""Which geoms collide, against MuJoCo, filter by filter: all geoms overlap, so only the filters decide."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.geometry.driver import collision
from kinetree.types import DisableBit, SleepState
from tests.geometry.scenes import agree, both, detect, rows

BALL = '<geom name="{0}" size=".1" pos="{1} 0 0" {2}/>'


def ball(name: str, attributes: str = "") -> str:
    """A sphere at a place of its own, so that no two centres coincide."""
    return BALL.format(name, 0.001 * sum(map(ord, name)) % 0.05, attributes)


def body(name: str, inside: str, joint: str = '<joint axis="0 0 1"/>', attributes: str = "") -> str:
    """A body with a ball of the same name."""
    return f'<body name="{name}" {attributes}>{joint}{ball(name)}{inside}</body>'


def chain(*names: str) -> str:
    """Bodies one inside the other."""
    return body(names[0], chain(*names[1:])) if names else ""


TREES = {
    "one body": '<body><freejoint/><geom size=".1"/><geom size=".1" pos=".01 0 0"/></body>',
    "parent and child": chain("a", "b"),
    "grandchildren": chain("a", "b", "c", "d"),
    "siblings": chain("a", "b") + chain("c", "d"),
    "a world with a geom": ball("w") + chain("a", "b"),
    "welded to the world": body("s", chain("a"), joint="") + chain("b"),
    "welded in between": body("a", body("s", chain("b"), joint="")),
    "welded at the end": body("a", body("b", body("s", "", joint=""))),
    "two static bodies": body("s", "", joint="") + body("t", "", joint="") + chain("a"),
    "mocap": body("m", chain("a"), joint="", attributes='mocap="true"') + body("s", "", joint="") + chain("b"),
    "mocap and its weld": body("m", body("s", chain("a"), joint=""), joint="", attributes='mocap="true"'),
    "two mocap": "".join(body(n, "", joint="", attributes='mocap="true"') for n in "mn") + chain("a"),
    "free": body("a", chain("b"), joint="<freejoint/>") + body("c", "", joint="<freejoint/>"),
    "plane on a static body": '<body><geom type="plane" size="1 1 1" pos="0 0 -.05"/></body>' + chain("a", "b"),
    "plane on a mocap body": '<body mocap="true"><geom type="plane" size="1 1 1" pos="0 0 -.05"/></body>'
    + chain("a", "b"),
}
BITS = [(contype, conaffinity) for contype in (0, 1, 2, 3) for conaffinity in (0, 1, 2)]


def compare(mj: mujoco.MjModel, what: str) -> int:
    """The contacts of the initial state; returns how many there are."""
    theirs, model, ours = both(mj)
    detect(mj, theirs, model, ours)
    agree(theirs, ours, what)
    return theirs.ncon


def compiled(world: str, contact: str = "", flags: str = "") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option><flag {flags}/></option><worldbody>{world}</worldbody><contact>{contact}</contact></mujoco>"
    )


@pytest.mark.parametrize("flags", ["", 'filterparent="disable"', 'midphase="disable"'])
@pytest.mark.parametrize("tree", TREES)
def test_parents_and_welds(tree, flags):
    compare(compiled(TREES[tree], flags=flags), f"{tree} {flags}")


@pytest.mark.parametrize("first, second", list(itertools.product(BITS[::2], BITS)))
def test_bits(first, second):
    def geom(name, bits):
        return "<body><freejoint/>" + ball(name, f'contype="{bits[0]}" conaffinity="{bits[1]}"') + "</body>"

    expected = bool(first[0] & second[1] or second[0] & first[1])
    assert compare(compiled(geom("a", first) + geom("b", second)), f"bits {first} {second}") == expected


def test_bits_of_single_geoms_on_one_body():
    """The bits of a body are those of its geoms together, and yet each geom keeps its own."""
    geoms = [ball(f"g{i}", f'contype="{a}" conaffinity="{b}"') for i, (a, b) in enumerate(BITS)]
    world = "".join(f"<body><freejoint/>{''.join(part)}</body>" for part in (geoms[::3], geoms[1::3], geoms[2::3]))
    assert compare(compiled(world), "mixed bits") > 5


@pytest.mark.parametrize("excluded", ["a b", "b a", "a c", "world b", "s d"])
def test_excluded_bodies(excluded):
    world = ball("w") + body("s", "", joint="") + chain("a") + chain("b") + chain("c", "x", "d")
    first, second = excluded.split()
    all_contacts = compare(compiled(world), "no exclusion")
    contact = f'<exclude body1="{first}" body2="{second}"/>'
    assert compare(compiled(world, contact), f"exclude {excluded}") < all_contacts
    contact += '<exclude body1="c" body2="b"/><exclude body1="a" body2="d"/>'
    compare(compiled(world, contact), f"exclude {excluded} and more")


def test_explicit_pairs_pass_the_other_filters():
    """Welds, parents, exclusions and bits do not hold for them; they come before other contacts of the same bodies."""
    world = ball("w") + chain("a", "b", "c") + body("s", "", joint="") + chain("d")
    pairs = ["a b", "w s", "b c", "d a", "c a", "d w", "a b"]
    contact = "".join(
        f'<pair geom1="{p.split()[0]}" geom2="{p.split()[1]}" condim="{(1, 3, 4, 6)[k % 4]}"/>'
        for k, p in enumerate(pairs)
    )
    contact += '<exclude body1="a" body2="d"/><exclude body1="b" body2="d"/>'
    assert compare(compiled(world, contact), "explicit pairs") > len(pairs)


def test_explicit_pairs_of_bodies_with_several_geoms():
    """A pair on the list replaces the one that would be found, and leaves the others of the same bodies alone."""
    world = "".join(
        "<body><freejoint/>" + "".join(ball(f"{b}{k}") for k in range(3)) + "</body>" for b in "abc"
    )  # fmt: skip
    for flags in ("", 'midphase="disable"'):
        contact = '<pair geom1="b2" geom2="a1" condim="1"/><pair geom1="a0" geom2="b1" condim="4"/>'
        assert compare(compiled(world, contact, flags), f"pairs among several geoms {flags}") == 27


@pytest.mark.parametrize("kinds", ["sphere sphere", "plane sphere", "box box"])
def test_explicit_pairs_on_the_world(kinds):
    """The world alone has no contacts; beside any body, even one without geoms, its pairs have them."""
    geoms = "".join(
        f'<geom name="{name}" type="{kind}" size=".1 .1 .1" pos="{x} 0 0"/>'
        for name, kind, x in zip("ab", kinds.split(), (0.0, 0.05), strict=True)
    )
    others = {
        "nothing": ("", 0),
        "an empty static body": ("<body/>", 1),
        "a mocap body": ('<body mocap="true"/>', 1),
        "a body apart": (body("c", "", attributes='pos="9 0 9"'), 1),
        "a static body": (body("c", "", joint="", attributes='pos="9 0 9"'), 1),
        "a body that touches them": (body("c", ""), 3),
    }
    for what, (inside, least) in others.items():
        found = compare(compiled(geoms + inside, '<pair geom1="a" geom2="b"/>'), f"{kinds} beside {what}")
        assert found >= least and (least > 0 or found == 0), (kinds, what)


@pytest.mark.parametrize("flag", ["contact", "constraint"])
def test_disabled(flag):
    world = chain("a") + chain("b")
    assert compare(compiled(world), "enabled") == 1
    assert compare(compiled(world, flags=f'{flag}="disable"'), f"{flag} disabled") == 0
    model = kt.load(compiled(world))
    data = kt.Data(model)
    kt.kinematics(model, data)
    collision(model, data)
    assert data.ncon == 1
    model.opt.disableflags = DisableBit[flag.upper()]
    collision(model, data)
    assert data.ncon == 0


def test_edited_bits_are_seen():
    """Bits may be taken away at once; set_const lets bodies that had none collide."""
    mj = compiled(chain("a") + chain("b") + chain("c"))
    theirs, model, ours = both(mj)
    for bits in (0, 1):
        mj.geom_contype[0] = mj.geom_conaffinity[0] = model.geom_contype[0] = model.geom_conaffinity[0] = bits
        mujoco.mj_setConst(mj, theirs)
        kt.set_const(model)
        detect(mj, theirs, model, ours)
        agree(theirs, ours, f"bits {bits}")
        assert theirs.ncon == (3 if bits else 1)


@pytest.mark.parametrize("sleeping", [(), ("a",), ("a", "b"), ("a", "b", "c")])
def test_sleeping_bodies_collide_with_those_awake_only(sleeping):
    """Sleep itself is not simulated yet: the states are set by hand."""
    world = ball("w") + chain("a") + chain("b") + chain("c") + body("s", "", joint="")
    mj = compiled(world, '<pair geom1="a" geom2="w"/><pair geom1="a" geom2="b"/>', 'sleep="enable"')
    theirs, model, ours = both(mj)
    for name in sleeping:
        at = mj.body(name).id
        theirs.body_awake[at] = ours._arrays["body_awake"][at] = SleepState.ASLEEP
    theirs.nbody_awake = mj.nbody - len(sleeping)
    ours._arrays["nbody_awake"][0] = theirs.nbody_awake
    mujoco.mj_collision(mj, theirs)
    expected = rows(theirs, "geom").tolist()
    kt.kinematics(model, ours)
    collision(model, ours)
    assert rows(ours, "geom").tolist() == expected


def test_order_is_by_bodies_then_geoms():
    """With MuJoCo's mid phase contacts are sorted by the geoms as they are named in them, without it by body."""
    kinds = ("capsule", "sphere", "box")
    shapes = {"capsule": "size='.1 .1'", "sphere": "size='.12'", "box": "size='.1 .11 .09'"}
    world = '<geom type="plane" size="1 1 1"/>'
    for k in range(3):
        turned = kinds[k:] + kinds[:k]
        geoms = "".join(f'<geom type="{kind}" {shapes[kind]} euler="{10 * k} 5 3"/>' for kind in turned)
        world += f'<body pos="{0.03 * k} {0.02 * k} .1"><freejoint/>{geoms}</body>'
    orders = []
    for flags in ("", 'midphase="disable"'):
        mj = compiled(world, flags=flags)
        theirs, model, ours = both(mj)
        detect(mj, theirs, model, ours)
        agree(theirs, ours, f"order {flags}")
        orders.append(rows(ours, "geom"))
    assert not np.array_equal(*orders) and sorted(orders[0].tolist()) == sorted(orders[1].tolist())
