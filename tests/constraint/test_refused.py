"""Equalities that kinetree has no rows for are refused by name, those of older MuJoCo versions included."""

from __future__ import annotations

import mujoco
import pytest

import kinetree as kt
from kinetree.types import EqType

KNOWN = (EqType.CONNECT, EqType.WELD, EqType.JOINT, EqType.TENDON)


@pytest.mark.parametrize("kind", [kind for kind in EqType if kind not in KNOWN], ids=lambda kind: kind.name)
def test_equalities_without_rows(kind):
    """MuJoCo's compiler makes no `distance` any more, and the others need a flex: so the compiled model is edited."""
    mj = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body name="a"><freejoint/><geom size=".1"/></body></worldbody>'
        '<equality><connect name="odd" body1="a" anchor="0 0 0"/></equality></mujoco>'
    )
    mj.eq_type[0] = kind
    with pytest.raises(kt.UnsupportedFeatureError, match=rf"eq_type {kind.name.lower()} \(equality 'odd'\)"):
        kt.load(mj)


BODY = '<mujoco><worldbody><body name="a"><freejoint/><geom name="g" size=".1"/></body></worldbody></mujoco>'


def test_distance_in_a_spec_is_refused_by_the_compiler():
    spec = mujoco.MjSpec.from_string(BODY)
    spec.add_equality(type=mujoco.mjtEq.mjEQ_DISTANCE, objtype=mujoco.mjtObj.mjOBJ_GEOM, name1="g", name2="g")
    with pytest.raises(kt.ModelError, match="invalid type in equality"):
        kt.load(spec)


def test_an_equality_of_a_spec_that_refers_to_nothing_is_not_dropped():
    """MuJoCo's copy of a spec leaves it out in silence."""
    spec = mujoco.MjSpec.from_string(BODY)
    spec.add_equality(type=mujoco.mjtEq.mjEQ_WELD, objtype=mujoco.mjtObj.mjOBJ_BODY, name1="a", name2="nobody")
    with pytest.raises(kt.ModelError, match="nobody"):
        kt.load(spec)
