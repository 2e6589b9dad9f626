"""`kinetree info`: everything a model has is listed, and what kinetree leaves out is said."""

import mujoco
import numpy as np
import pytest

import kinetree as kt
from tests import corpora

OWN = corpora.own_models()


@pytest.mark.parametrize("name, path", OWN, ids=[name for name, _ in OWN])
def test_every_element_is_listed(kinetree, name, path):
    """Every named body, joint, actuator, tendon, sensor and keyframe of MuJoCo's model, and the total mass."""
    status, out, err = kinetree("info", str(path))
    assert (status, err) == (0, "")
    model = mujoco.MjModel.from_xml_path(str(path))
    kinds = {"BODY": model.nbody, "JOINT": model.njnt, "ACTUATOR": model.nactuator, "TENDON": model.ntendon,
             "SENSOR": model.nsensor, "KEY": model.nkey}  # fmt: skip
    for kind, count in kinds.items():
        for i in range(count):
            label = mujoco.mj_id2name(model, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), i) or ""
            assert label in out, f"{name}: {kind.lower()} {label}"
    assert f"{np.sum(model.body_mass):.4g} kg" in out


def test_tree_joints_and_ranges(kinetree):
    _, out, _ = kinetree("info", "tendon_finger")
    for part in (
        "└── palm  0.04752 kg",
        "knuckle (hinge)",
        "-0.3491 … 0.3491 rad",
        "tendon flexor",
        "none, fixed, affine",
        "spatial",
        "tendonpos",
        "Sensors",
        "options that are not default: timestep 0.001, integrator implicitfast",
    ):
        assert part in out, part
    assert "done otherwise: nothing" in out
    lines = out.splitlines()
    indents = [
        next(line for line in lines if f"── {body}  " in line).index("──") for body in ("palm", "knuckle", "distal")
    ]
    assert indents == sorted(set(indents)), "children stand further right than their parents"


def test_plugins_show_their_parameters(kinetree):
    _, out, _ = kinetree("info", str(corpora.package_root("kinetree").parent / "tests/models/plugins.xml"))
    for part in ("mujoco.pid kp 2 ki 40 kd 0.4 imax 0.3 slewmax 2.5", "touch_grid 5x4x3"):
        assert part in out, part
    assert "max -1" not in out, "no bound is no number"


def test_flags_that_are_not_default(kinetree, tmp_path):
    option = """<option gravity="0 0 -1.62" cone="elliptic" density="1.2">
      <flag contact="disable" warmstart="disable" energy="enable" sleep="enable"/></option>"""
    body = "<body><freejoint/><geom size='.1'/></body>"
    (tmp_path / "moon.xml").write_text(f"<mujoco>{option}<worldbody>{body}</worldbody></mujoco>")
    _, out, _ = kinetree("info", "moon.xml")
    line = next(line for line in out.splitlines() if line.startswith("options that are not default"))
    for part in ("gravity 0 0 -1.62", "density 1.2", "cone elliptic", "without contact", "without warmstart",
                 "with energy", "with sleep"):  # fmt: skip
        assert part in line, part
    assert "done otherwise: nothing" in out


def test_a_model_with_nothing_special(kinetree, tmp_path):
    (tmp_path / "plain.xml").write_text(
        "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    _, out, _ = kinetree("info", "plain.xml")
    assert "options that are not default: none" in out and "done otherwise: nothing" in out


def test_unnamed_elements_have_their_number(kinetree, tmp_path):
    (tmp_path / "plain.xml").write_text(
        "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    _, out, _ = kinetree("info", "plain.xml")
    assert "#1" in out and "#0 (hinge)" in out


def test_names_are_printed_as_they_are(kinetree, tmp_path):
    (tmp_path / "x.xml").write_text(
        "<mujoco><worldbody><body name='[bold]b[/bold]'><joint name='[red]'/><geom size='.1'/></body></worldbody></mujoco>"
    )
    out = kinetree("info", "x.xml")[1]
    assert "[bold]b[/bold]" in out and out.count("[red]") == 2


@pytest.mark.parametrize("name", corpora.REFUSED)
def test_a_refused_model_lists_all_features(kinetree, name):
    path = dict(corpora.refused_models())[name]
    status, out, _ = kinetree("info", str(path))
    assert status == 1
    with pytest.raises(kt.UnsupportedFeatureError) as refusal:
        kt.load(path)
    assert [line.strip() for line in out.splitlines()[1:]] == list(refusal.value.features)
