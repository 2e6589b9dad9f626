"""Shapes that lie flush on each other, or on a grid: places of measure zero that builders of models love."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
import pytest

import kinetree as kt

HALF = 0.125
CORNERS = " ".join(f"{x} {y} {z}" for x, y, z in itertools.product((-HALF, HALF), repeat=3))
SHAPES = {
    "box": f'type="box" size="{HALF} {HALF} {HALF}"',
    "mesh": 'type="mesh" mesh="cube"',
    "cylinder": f'type="cylinder" size=".1 {HALF}"',
    "drum": 'type="cylinder" size=".3 .4"',
    "capsule": 'type="capsule" size=".3 .1"',
    "field": 'type="hfield" hfield="flat"',
}
TOPS = {"box": HALF, "mesh": HALF, "drum": 0.4, "capsule": 0.4, "field": 0.0}
ROUNDING = 1e-8  # m; a gap or overlap beyond it is real
SHALLOW = 2e-6  # m; depth of a contact that the tolerance of EPA allows


def pair(lower: str, upper: str) -> tuple[kt.Model, kt.Data, mujoco.MjModel]:
    mj = mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><mesh name="cube" vertex="{CORNERS}"/><hfield name="flat" nrow="9" ncol="9" size="1 1 .2 .1"/></asset>'
        f"<worldbody><geom {SHAPES[lower]}/><body><freejoint/><geom {SHAPES[upper]}/></body></worldbody></mujoco>"
    )
    model = kt.load(mj)
    return model, kt.Data(model), mj


def depths(model: kt.Model, data: kt.Data, qpos: np.ndarray) -> np.ndarray:
    data.qpos[:] = qpos
    kt.fwd_position(model, data)
    return np.sort(data.contact.dist)


def oracle_depths(mj: mujoco.MjModel, qpos: np.ndarray) -> np.ndarray:
    data = mujoco.MjData(mj)
    data.qpos[:] = qpos
    mujoco.mj_fwdPosition(mj, data)
    return np.sort(data.contact.dist)


def poses(height: float, seed: int, count: int) -> list[np.ndarray]:
    """On top of the other shape, at places in centimetres or anywhere, turned or not."""
    rng, out = np.random.default_rng(seed), []
    for k in range(count):
        yaw = rng.uniform(0, 2 * np.pi) * (k % 3 > 0)
        x, y = rng.uniform(-0.06, 0.06, 2).round(2 if k % 2 else 9)
        out.append(np.array([x, y, height, np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)]))
    return out


@pytest.mark.parametrize("shapes", [("box", "mesh"), ("mesh", "mesh"), ("box", "box")], ids="-".join)
def test_cubes_on_a_grid(shapes):
    """Closed form: the distance of two boxes along the axes."""
    model, data, _ = pair(*shapes)
    places = np.array(list(itertools.product(range(-10, 11), repeat=3))) / 32
    for place in np.random.default_rng(0).permutation(places)[:500]:
        found = depths(model, data, np.array([*place, 1, 0, 0, 0]))
        gaps = np.abs(place) - 2 * HALF
        expected = np.linalg.norm(np.maximum(gaps, 0)) if gaps.max() > 0 else gaps.max()
        assert kt.geom_distance(model, data, 0, 1)[0] == pytest.approx(expected, abs=1e-9), place
        assert (len(found) > 0) == (expected < 0) or abs(expected) < ROUNDING, (place, found)


@pytest.mark.parametrize("shapes", [("box", "mesh"), ("mesh", "mesh")], ids="-".join)
def test_cubes_in_one_place(shapes):
    model, data, mj = pair(*shapes)
    qpos = np.array([0.0, 0, 0, 1, 0, 0, 0])
    assert np.allclose(depths(model, data, qpos), oracle_depths(mj, qpos), atol=1e-6)


@pytest.mark.parametrize("gap", [0.0, 1e-12, -1e-12, 1e-9, -1e-9, 1e-7, -1e-7])
@pytest.mark.parametrize("upper", ["box", "mesh", "cylinder"])
@pytest.mark.parametrize("lower", ["box", "mesh", "drum", "capsule", "field"])
def test_what_lies_flush_is_neither_missed_nor_deep(lower, upper, gap):
    model, data, _ = pair(lower, upper)
    for qpos in poses(TOPS[lower] + HALF + gap, 1, 40):
        found = depths(model, data, qpos)
        assert not len(found) or found[0] > gap - SHALLOW, (qpos, found)
        assert abs(gap) < ROUNDING or (len(found) > 0) == (gap < 0), (qpos, found)


@pytest.mark.parametrize("gap", [0.0, -1e-9, -1e-3])
@pytest.mark.parametrize("upper", ["box", "mesh", "cylinder"])
def test_flush_on_a_field_as_in_mujoco(upper, gap):
    model, data, mj = pair("field", upper)
    for qpos in poses(HALF + gap, 2, 40):
        ours, theirs = depths(model, data, qpos), oracle_depths(mj, qpos)
        assert len(ours) == len(theirs) and np.allclose(ours, theirs, atol=1e-6), (qpos, ours, theirs)
