"""What a model may ask of contacts: every shape meets every other; the older convex solver is replaced, and that is said."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.notices import not_computed

MESH, HILLS = 'vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"', 'nrow="3" ncol="3" size="1 1 .1 .1"'
ASSETS = f'<asset><mesh name="m" {MESH}/><hfield name="h" {HILLS}/></asset>'
SHAPES = {
    "plane": 'type="plane" size="1 1 1"', "hfield": 'type="hfield" hfield="h"',
    "sphere": 'type="sphere" size=".1"', "capsule": 'type="capsule" size=".1 .1"', "box": 'type="box" size=".1 .1 .1"',
    "cylinder": 'type="cylinder" size=".1 .1"', "ellipsoid": 'type="ellipsoid" size=".1 .1 .2"', "mesh": 'type="mesh" mesh="m"',
}  # fmt: skip
FIXED = ("plane", "hfield")


def scene(first: str, second: str, flags: str = "") -> str:
    """Two geoms in one place on two bodies, the first on a static one if it must be."""
    joint = "" if first in FIXED else "<freejoint/>"
    return (
        f"<mujoco><option><flag {flags}/></option>{ASSETS}<worldbody>"
        f"<body>{joint}<geom {SHAPES[first]}/></body><body><freejoint/><geom {SHAPES[second]}/></body></worldbody></mujoco>"
    )


@pytest.mark.parametrize(
    "pair", [p for p in itertools.combinations_with_replacement(SHAPES, 2) if p[1] not in FIXED], ids=" ".join
)
def test_shapes_in_one_place_touch(pair):
    model = kt.load(scene(*pair))
    data = kt.Data(model)
    kt.forward(model, data)
    assert data.ncon > 0 and np.isfinite(data.qacc).all()


@pytest.mark.parametrize("second", ["cylinder", "ellipsoid", "box"])
def test_the_older_convex_solver_is_replaced_with_a_warning(second):
    """Once for each model, by name; contacts are those of the native solver."""
    model = kt.load(scene("mesh", second, flags='nativeccd="disable"'))
    data = kt.Data(model)
    with pytest.warns(kt.SimulationWarning, match='nativeccd="disable" is not offered'):
        kt.forward(model, data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kt.forward(model, data)
    other = kt.Data(kt.load(scene("mesh", second)))
    kt.forward(other.model, other)
    assert data.ncon == other.ncon > 0 and (data.contact_pos == other.contact_pos).all()


def test_speculative_contacts_without_the_native_solver_are_warned_of_once():
    model = kt.load(scene("sphere", "box", flags='nativeccd="disable"'))
    data = kt.Data(model)
    kt.forward(model, data)
    model.opt.enableflags = kt.EnableBit.SPECULATIVE
    with pytest.warns(kt.SimulationWarning, match="no speculative contacts with nativeccd"):
        kt.forward(model, data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kt.forward(model, data)


def test_the_older_solver_does_not_matter_to_closed_forms():
    assert not_computed(kt.load(scene("sphere", "box", flags='nativeccd="disable"'))) == []
    model = kt.load(scene("mesh", "box"))
    assert not_computed(model) == []
    kt.forward(model, kt.Data(model))
    model.opt.disableflags = kt.DisableBit.NATIVECCD
    with pytest.warns(kt.SimulationWarning, match="nativeccd"):
        kt.forward(model, kt.Data(model))
