"""A URDF that MuJoCo's compiler makes part of the world is told of, with links and remedies; others load in silence."""

from __future__ import annotations

import warnings

import mujoco
import pytest

import kinetree as kt

INERTIAL = (
    '<inertial><mass value="{}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><box size="1 1 1"/></geometry></collision>'
)


def link(name, mass=2.0):
    return f'<link name="{name}">{INERTIAL.format(mass)}</link>'


def joint(kind, parent, child):
    limits = '<limit lower="-1" upper="1" effort="1" velocity="1"/>' if kind == "revolute" else ""
    return f'<joint name="j" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{limits}</joint>'


def robot(*parts):
    return f'<robot name="r">{"".join(parts)}</robot>'


STILL = {
    "one link": (robot(link("brick")), ["brick"]),
    "fused links": (robot(link("brick"), link("lid"), joint("fixed", "brick", "lid")), ["brick", "lid"]),
    "fixed to a world": (robot('<link name="world"/>', link("brick"), joint("fixed", "world", "brick")), ["brick"]),
    "not fused": (
        robot('<mujoco><compiler fusestatic="false"/></mujoco>', link("brick")), ["brick"]
    ),
}  # fmt: skip
QUIET = {
    "floating": robot('<link name="world"/>', link("brick"), joint("floating", "world", "brick")),
    "an arm on a base": robot(link("base"), link("arm"), joint("revolute", "base", "arm")),
    "a marker without mass": robot('<link name="frame"/>'),
    "a scene in MJCF": "<mujoco><worldbody><geom size='1'/><body><geom size='1'/></body></worldbody></mujoco>",
}


@pytest.mark.parametrize("as_file", [False, True], ids=["string", "file"])
@pytest.mark.parametrize("name", STILL)
def test_a_urdf_in_which_nothing_moves_is_told_of(name, as_file, tmp_path):
    text, links = STILL[name]
    source = text
    if as_file:
        source = tmp_path / "still.urdf"
        source.write_text(text)
    with pytest.warns(kt.SimulationWarning, match="nothing in this model moves") as caught:
        model = kt.load(source)
    assert model.nv == 0
    message = str(caught[0].message)
    assert f"mass ({', '.join(map(repr, links))})" in message and caught[0].filename == __file__
    assert not as_file or "still.urdf" in message


@pytest.mark.parametrize("name", QUIET)
def test_others_load_in_silence(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kt.load(QUIET[name])


def test_the_remedies_work():
    """A floating joint is among the quiet ones; a free joint by MjSpec moves as a body does that falls."""
    spec = mujoco.MjSpec.from_string(STILL["one link"][0])
    spec.body("brick").add_freejoint()
    model = kt.load(spec)
    data = kt.Data(model)
    kt.forward(model, data)
    assert model.nv == 6 and data.qacc[2] == pytest.approx(-9.81)
