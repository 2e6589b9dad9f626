"""Eight worlds with different constraints on SIMD lanes against the same worlds on floats."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from kinetree.constraint.jacobian_product import add_J_transpose
from kinetree.kernel import stage
from kinetree.types import Cone, EnableBit
from tests.constraint.lane_rows import lane_jacobian, matching_rows, side_by_side
from tests.constraint.paired_rows import ROWS, agree, close, finish, our_jacobian
from tests.constraint.test_make import CONTACTS, EQUALITIES, LIMITS, beyond_limits, corpus, in_state
from tests.dynamics.paired import Pair

LANES = 1e-11  # the order of multiplications and additions may differ, and masses of rows amplify it
NEUTRAL = {"efc_R": 1.0}  # all else is zero


@stage
def transposed_product(m, d):
    """qfrc_constraint = J' efc_vel."""
    for i in range(m.nv):
        d.qfrc_constraint[i] = 0.0
    add_J_transpose(m, d, d.efc_vel, d.qfrc_constraint)


def equal_worlds(pairs: list[Pair]) -> int:
    """Every row of a world has the numbers it has on floats, every other row is neutral; how many of those there are."""
    lanes, slots = side_by_side(pairs)
    a, n = lanes.arrays, int(lanes.arrays["nefc"][0])
    lanes.run(transposed_product)
    neutral = 0
    for lane, pair in enumerate(pairs):
        ours, what = pair.ours, f"{pair.model.title} lane {lane}"
        rows = matching_rows(lanes, slots, lane, pair)
        others = [row for row in range(n) if row not in rows]
        jacobian = lane_jacobian(lanes, lane)
        close(jacobian[rows], our_jacobian(ours), f"{what} efc_J", LANES)
        close(a["efc_KBIP"][rows, :, lane], ours.efc_KBIP, f"{what} efc_KBIP", LANES)
        assert not jacobian[others].any() and not a["efc_KBIP"][others][:, [0, 1, 3], lane].any(), what
        for name in ROWS:
            close(a[name][rows, lane], getattr(ours, name), f"{what} {name}", LANES)
            if name != "efc_diagA":
                assert (a[name][others, lane] == NEUTRAL.get(name, 0.0)).all(), f"{what} {name}"
        close(a["qfrc_constraint"][:, lane], our_jacobian(ours).T @ ours.efc_vel, f"{what} J' efc_vel", LANES)
        neutral += len(others)
    return neutral


@pytest.mark.parametrize("seed", [0, 8])
def test_equalities_on_lanes(seed):
    equal_worlds([in_state(EQUALITIES, seed + k) for k in range(8)])


def every_third_off(k):
    """In each world others."""

    def change(mj, theirs):
        theirs.eq_active[:] = (np.arange(mj.neq) + k) % 3 != 0

    return change


def test_equalities_that_are_off_in_some_worlds():
    assert equal_worlds([in_state(EQUALITIES, k, change=every_third_off(k)) for k in range(8)]) > 0


def test_limits_on_lanes():
    assert equal_worlds([in_state(LIMITS, k, change=beyond_limits) for k in range(8)]) > 0


def scattered(seed: int, cone: Cone, **options) -> Pair:
    """The model with contacts, its bodies a little higher or lower than they start: some touch, some are in the gap."""
    mj = mujoco.MjModel.from_xml_path(str(CONTACTS))
    mj.opt.cone = cone
    for name, value in options.items():
        setattr(mj.opt, name, value)
    theirs, rng = mujoco.MjData(mj), np.random.default_rng(seed)
    for j in range(mj.njnt):
        if mj.jnt_type[j] == 0:
            theirs.qpos[mj.jnt_qposadr[j] + 2] += rng.uniform(-0.03, 0.04)
    theirs.qvel[:] = 0.3 * rng.normal(size=mj.nv)
    return finish(mj, theirs, 0, None)


@pytest.mark.parametrize("cone", list(Cone))
def test_contacts_on_lanes(cone):
    """An adhesive contact has friction in some of the worlds only, and here it does in some and holds in the gap in others."""
    pairs = [scattered(seed, cone) for seed in range(8)]
    for pair in pairs:
        agree(pair)
    assert equal_worlds(pairs) > 0
    tacky = pairs[0].mj.geom("tacky").id
    dims = {int(dim) for p in pairs for dim in p.theirs.contact.dim[(p.theirs.contact.geom == tacky).any(axis=1)]}
    assert dims == {1, 4}


@pytest.mark.parametrize("cone", list(Cone))
def test_exact_diagonal_on_lanes(cone):
    equal_worlds([scattered(seed, cone, enableflags=int(EnableBit.DIAGEXACT)) for seed in range(8)])


@pytest.mark.parametrize("name", ["dm_control/suite/humanoid.xml", "dm_control/suite/manipulator.xml"])
def test_corpus_models_on_lanes(name):
    source = corpus(name)
    assert equal_worlds([in_state(source, seed, steps=60 + 40 * seed) for seed in range(8)]) > 0


def test_worlds_that_are_alike_have_no_neutral_rows():
    assert equal_worlds([scattered(3, Cone.ELLIPTIC) for _ in range(8)]) == 0


@pytest.mark.soak
def test_one_world_on_lanes_has_no_neutral_rows():
    assert equal_worlds([scattered(3, Cone.ELLIPTIC)]) == 0
