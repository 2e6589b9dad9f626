"""MJCF and URDF: what MuJoCo makes of the elements, and back, to 1e-12."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinetree as kt
from kinetree.conformance.tolerances import MASS
from tests.mass.bodies import assert_same, bodies, random_body, rotation

MP = kt.MassProperties
AWKWARD = {
    "sphere": MP.solid_sphere(3, 1, cg=(1, 2, 3)),
    "box": MP.solid_box(2, 1, 2, 3),
    "plate": MP.plate(2, 1, 2, cg=(0, 0, 1)),
    "turned plate": MP.plate(2, 1, 2).rotated(rotation(np.array((1.0, 0.3, -0.2, 0.5)))),
    "upright": MP.solid_box(2, 1, 2, 3).rotated(rotation(np.array((1.0, 0, 1, 0))) @ rotation(np.array((1.0, 0.2, 0, 0)))),
    "half turn": MP.solid_box(2, 1, 2, 3).rotated(rotation(np.array((1e-9, 1, 1, 0.5)))),
    "small": MP.solid_box(1e-3, 2e-3, 3e-3, 5e-3).rotated(rotation(np.array((1.0, 2, 3, 4)))),
    "large": MP.solid_box(1e6, 200, 300, 500, cg=(1e3, 0, 0)).rotated(rotation(np.array((1.0, 2, 3, 4)))),
    "slender": MP.solid_cylinder(1, 1e-3, 10).rotated(rotation(np.array((1.0, 2, 3, 4)))),
}  # fmt: skip


def mjcf(element: str) -> str:
    return f"<mujoco><worldbody><body name='it'><joint type='ball'/>{element}</body></worldbody></mujoco>"


def urdf(element: str) -> str:
    return f"""<robot name="r"><link name="base"/><link name="it">{element}</link>
    <joint name="j" type="revolute"><parent link="base"/><child link="it"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


@pytest.mark.parametrize("label", AWKWARD)
@pytest.mark.parametrize("form", ["mjcf", "urdf"])
def test_round_trip(label, form):
    body = AWKWARD[label]
    text = mjcf(body.to_mjcf()) if form == "mjcf" else urdf(body.to_urdf())
    assert_same(MP.from_body(kt.load(text), "it"), body)


@given(bodies(flat=False))
def test_round_trips_of_random_bodies(body):
    assert_same(MP.from_body(kt.load(mjcf(body.to_mjcf())), "it"), body)
    assert_same(MP.from_body(kt.load(urdf(body.to_urdf())), "it"), body)


@given(bodies(flat=False), st.sampled_from(["mjcf", "urdf"]))
def test_mujoco_has_the_same_principal_inertia(body, form):
    text = mjcf(body.to_mjcf()) if form == "mjcf" else urdf(body.to_urdf())
    model = mujoco.MjModel.from_xml_string(text)
    moments = np.sort(model.body_inertia[model.body("it").id])
    np.testing.assert_allclose(moments, body.principal_moments(), rtol=0, atol=MASS * moments.max())


def test_mujoco_finds_the_same_principal_inertia_by_itself():
    """From fullinertia, whose products are tensor elements too, through its own diagonalisation."""
    body = random_body(np.random.default_rng(0))
    i = body.inertia
    full = " ".join(repr(float(x)) for x in (i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]))
    pos = " ".join(repr(float(x)) for x in body.cg)
    text = mjcf(f'<inertial pos="{pos}" mass="{body.mass!r}" fullinertia="{full}"/>')
    assert_same(MP.from_mjcf_body(text), body, rtol=1e-11)


def test_urdf_in_the_frame_of_the_link_has_tensor_elements():
    """ixy of URDF is -∫xy dm, as MuJoCo reads it."""
    body = random_body(np.random.default_rng(1))
    i = body.inertia
    xyz = " ".join(repr(float(x)) for x in body.cg)
    element = f"""<inertial><origin xyz="{xyz}"/><mass value="{body.mass!r}"/><inertia ixx="{i[0, 0]!r}" ixy="{i[0, 1]!r}"
    ixz="{i[0, 2]!r}" iyy="{i[1, 1]!r}" iyz="{i[1, 2]!r}" izz="{i[2, 2]!r}"/></inertial>""".replace(
        "np.float64(", ""
    ).replace(")", "")
    assert_same(MP.from_body(kt.load(urdf(element)), "it"), body, rtol=1e-11)


def test_a_body_along_the_axes_keeps_them():
    element = ET.fromstring(MP.solid_box(2, 3, 1, 2, cg=(0.1, 0, 0)).to_mjcf())
    assert "quat" not in element.attrib and element.attrib["pos"] == "0.1 0 0"
    assert ET.fromstring(MP.solid_box(2, 3, 1, 2).to_urdf()).find("origin").attrib["rpy"] == "0 0 0"


@pytest.mark.parametrize("method", ["to_mjcf", "to_urdf"])
def test_what_mujoco_refuses_is_told_or_regularised(method):
    wrap = mjcf if method == "to_mjcf" else urdf
    for body in (MP.rod(2, 3), MP.point_mass(2, (1, 2, 3))):
        with pytest.raises(ValueError, match="three positive principal moments .* regularise=1e-6"):
            getattr(body, method)()
        model = kt.load(wrap(getattr(body, method)(regularise=1e-6)))
        back = MP.from_body(model, "it")
        assert back.mass == body.mass and back.principal_moments().min() == pytest.approx(1e-6)
        np.testing.assert_allclose(back.inertia, body.inertia, rtol=0, atol=1.1e-6)
    for body, reason in (
        (MP.diagonal(1, 1, 1, 3), "triangle inequality"),
        (MP.point_mass(-1, 0), "mass is negative"),
        (MP.zero(), "needs a moving body to have a mass"),
        (MP.point_mass([np.nan], 0)[0], "not finite"),
    ):
        with pytest.raises(ValueError, match=reason):
            getattr(body, method)(regularise=1e-6)
    with pytest.raises(ValueError, match="regularise must be"):
        getattr(MP.rod(1, 1), method)(regularise=-1)
    with pytest.raises(ValueError, match="one body, not a batch"):
        getattr(MP.solid_sphere(np.ones(3), 1), method)()


def test_from_an_mjcf_body():
    geoms = """<body name="link" pos="5 5 5" euler="10 20 30"><geom type="box" size=".1 .2 .3" pos="1 0 0" mass="2"/>
    <geom size=".1" mass="1" pos="0 1 0"/><body name="next"><geom size="1" mass="100"/></body></body>"""
    expected = MP.solid_box(2, 0.2, 0.4, 0.6, cg=(1, 0, 0)) + MP.solid_sphere(1, 0.1, cg=(0, 1, 0))
    assert_same(MP.from_mjcf_body(geoms), expected, rtol=1e-11)  # MuJoCo diagonalises to 1e-12
    whole = f"<mujoco><worldbody>{geoms}</worldbody></mujoco>"
    assert_same(MP.from_mjcf_body(whole, "link"), expected, rtol=1e-11)
    assert_same(MP.from_mjcf_body(whole, "next"), MP.solid_sphere(100, 1))
    assert_same(MP.from_mjcf_body(kt.load(whole), 2), MP.solid_sphere(100, 1))
    for body in AWKWARD.values():
        assert_same(MP.from_mjcf_body(body.to_mjcf()), body)
    assert MP.from_mjcf_body("humanoid", "torso") == MP.from_body(kt.load("humanoid"), "torso")
    with pytest.raises(KeyError, match="no body is called 'lonk': did you mean 'link'"):
        MP.from_mjcf_body(whole, "lonk")
    with pytest.raises(kt.ModelError, match="no body but the world"):
        MP.from_mjcf_body("<mujoco/>")
    with pytest.raises(kt.ModelError):
        MP.from_mjcf_body("<body><geom/>")


def test_dictionaries_go_through_json():
    body = random_body(np.random.default_rng(2))
    values = json.loads(json.dumps(body.to_dict()))
    assert MP.from_dict(values) == body and set(values) == {"mass", "cg", "inertia"}
    batch = MP.solid_sphere(np.arange(1.0, 4), 1)
    assert MP.from_dict(json.loads(json.dumps(batch.to_dict()))) == batch


def test_turned_plates_go_through_urdf():
    """Their moments lie on the boundary of the triangle inequality, which MuJoCo checks after turning the tensor."""
    rng = np.random.default_rng(4)
    for _ in range(40):
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        plate = kt.MassProperties.plate(*rng.uniform(0.5, 2.0, 3)).rotated(axes * np.sign(np.linalg.det(axes)))
        text = f'<robot name="r"><link name="a"/><link name="b">{plate.to_urdf()}</link>'
        text += '<joint name="j" type="floating"><parent link="a"/><child link="b"/></joint></robot>'
        back = kt.MassProperties.from_body(kt.load(text), "b")
        np.testing.assert_allclose(back.inertia, plate.inertia, rtol=1e-12, atol=1e-13)
