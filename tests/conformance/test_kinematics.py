"""Positions in the odd cases, against MuJoCo (test_layers compares them on the whole corpus and on random trees)."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance import check, tolerances
from kinetree.conformance.layers import LAYERS
from tests import corpora

POSITION_LAYERS = [layer for layer in LAYERS if layer.name in ("kinematics", "com")]

# What MuJoCo computes from positions alone without constraints, by the function that writes it.
WRITTEN = {
    "mj_kinematics": {
        "xpos", "xquat", "xmat", "xipos", "xiquat", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xquat", "geom_xmat",
        "site_xpos", "site_xquat", "site_xmat",
    },
    "mj_comPos": {"subtree_com", "cinert", "cdof"},
    "mj_camlight": {"cam_xpos", "cam_xmat", "light_xpos", "light_xdir"},
}  # fmt: skip


def assert_agrees(report):
    assert report.ok, str(report)


@pytest.mark.parametrize("quaternion", [(0, 0, 0, 0), (3, 0, 0, 0), (1e-20, 0, 0, 0), (-2, 1, 0.5, 4), (0, 1e-9, 0, 0)])
@pytest.mark.parametrize("joint", ["free", "ball", "mocap"])
def test_quaternion_that_is_not_normalised(joint, quaternion):
    """MuJoCo normalises on the fly and takes a quaternion of zeros for no rotation; so must we."""
    attributes, child = ('mocap="true"', "") if joint == "mocap" else ("", f'<joint type="{joint}"/>')
    source = (
        f'<mujoco><worldbody><body pos="1 2 3" quat="0.5 0.5 0.1 0.7" {attributes}>{child}'
        '<geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0"/></body></worldbody></mujoco>'
    )
    theirs_model = mujoco.MjModel.from_xml_string(source)
    theirs = mujoco.MjData(theirs_model)
    model = kt.load(source)
    ours = kt.Data(model)
    for data in (theirs, ours):
        (data.mocap_quat[0] if joint == "mocap" else data.qpos[-4:])[:] = quaternion
    mujoco.mj_kinematics(theirs_model, theirs)
    kt.kinematics(model, ours)
    for field in ("xquat", "xmat", "xpos", "geom_xpos", "geom_xquat"):
        mine, reference = getattr(ours, field), getattr(theirs, field)
        assert np.max(np.abs(mine - reference)) <= tolerances.KINEMATICS, f"{joint} {field}: {mine} against {reference}"


@pytest.mark.parametrize("position", ["0 0 2", "0 0 -2", "0 0 0", "1e-17 0 2", "0 1e-16 0"])
@pytest.mark.parametrize("mode", ["targetbody", "targetbodycom"])
def test_camera_with_no_direction_of_its_own(mode, position):
    """Straight above or below its target, or on it, a camera has no horizontal axis; MuJoCo's choice is ours."""
    attributes = f'mode="{mode}" target="ball" pos="{position}"'
    source = (
        f"<mujoco><worldbody><camera {attributes}/><light {attributes}/>"
        '<body name="ball"><joint type="ball"/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    assert_agrees(check(source, states=2, layers=POSITION_LAYERS))


@pytest.mark.parametrize("stage", WRITTEN)
def test_layers_cover_all_that_mujoco_writes(stage):
    """Fill MuJoCo's fields with a marker, run one function, and see which fields changed: each must be compared."""
    model = mujoco.MjModel.from_xml_path(str(dict(corpora.own_models())["tests/models/cameras.xml"]))
    model_sites = mujoco.MjModel.from_xml_path(str(dict(corpora.own_models())["tests/models/frames.xml"]))
    written = _written(model, stage) | _written(model_sites, stage)
    assert written == WRITTEN[stage]
    assert written <= {field.name for layer in POSITION_LAYERS for field in layer.fields}


def _written(model, stage):
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    inputs = {"qpos", "mocap_pos", "mocap_quat"}
    # Fields in the arena move with its allocations and belong to later stages.
    names = [n for n in dir(data) if not n.startswith(("_", "efm_", "efc_", "iefc_")) and n not in inputs]
    arrays = {n: a for n in names if isinstance(a := getattr(data, n), np.ndarray) and a.dtype == float and a.size}
    before = {n: a.copy() for n, a in arrays.items()}
    outputs = set(arrays) if stage == "mj_kinematics" else set(arrays) - WRITTEN["mj_kinematics"]
    outputs -= {"subtree_com"} if stage == "mj_camlight" else set()
    for name in outputs:
        arrays[name][...] = 777.125
    getattr(mujoco, stage)(model, data)
    changed = {n for n in outputs if not np.any(arrays[n] == 777.125)}
    assert all(np.allclose(arrays[n], before[n]) for n in changed)
    return changed
