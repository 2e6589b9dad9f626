"""Paths past spheres and cylinders: against MuJoCo, against a slow reference, and in closed form."""

from __future__ import annotations

import functools

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.states import random_quaternion
from kinetree.conformance.tolerances import FORCE, MACHINES
from kinetree.dynamics.tendon import tendon, tendon_path
from kinetree.kernel import interpret
from tests.dynamics.paired import same

RADIUS = 0.5
GEOMS = ("sphere", "cylinder")
# Both ends, the side site and the geom move freely; sites are carried by the geom inside and outside of it.
MODEL = """
<mujoco model="{geom}"><worldbody>
  <body name="start"><freejoint/><geom size="0.01"/><site name="start"/></body>
  <body name="end"><freejoint/><geom size="0.01"/><site name="end"/></body>
  <body name="side"><freejoint/><geom size="0.01"/><site name="side"/></body>
  <body name="geom"><freejoint/><geom size="0.01"/><geom name="geom" type="{geom}" size="0.5 1"/>
    <site name="within" pos="0.1 0.2 0.1"/><site name="beside" pos="0.1 0.6 0.1"/></body>
</worldbody><tendon>
  <spatial name="free"><site site="start"/><geom geom="geom"/><site site="end"/></spatial>
  <spatial name="moving"><site site="start"/><geom geom="geom" sidesite="side"/><site site="end"/></spatial>
  <spatial name="within"><site site="start"/><geom geom="geom" sidesite="within"/><site site="end"/></spatial>
  <spatial name="beside"><site site="start"/><geom geom="geom" sidesite="beside"/><site site="end"/></spatial>
  <spatial name="carried"><site site="beside"/><geom geom="geom"/><site site="end"/></spatial>
</tendon></mujoco>"""
FREE, MOVING, WITHIN, BESIDE = range(4)


@functools.cache
def model_of(geom: str) -> kt.Model:
    return kt.load(MODEL.format(geom=geom))


def data_of(geom: str, start, end, side=(0.0, 0.0, 1.0), pose=(0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)) -> kt.Data:
    """Our data with all tendons computed. Points are in the geom's frame, whose pose in the world is given last."""
    model = model_of(geom)
    data = kt.Data(model)
    position, turn = np.array(pose[:3], float), np.zeros(9)
    mujoco.mju_quat2Mat(turn, np.array(pose[3:], float))
    for k, point in enumerate((start, end, side)):
        data.qpos[7 * k : 7 * k + 3] = turn.reshape(3, 3) @ np.array(point, float) + position
    data.qpos[21:] = pose
    kt.fwd_position(model, data)
    tendon(model, data)
    tendon_path(model, data)
    return data


def oracle(data: kt.Data) -> mujoco.MjData:
    """MuJoCo in the same configuration."""
    mj = data.model.to_mujoco()
    theirs = mujoco.MjData(mj)
    theirs.qpos[:] = data.qpos
    mujoco.mj_kinematics(mj, theirs)
    mujoco.mj_comPos(mj, theirs)
    mujoco.mj_tendon(mj, theirs)
    return theirs


def equal_mujocos(data: kt.Data, what: str, jacobian: bool = True) -> None:
    theirs = oracle(data)
    same(data.ten_length, theirs.ten_length, FORCE, f"{what} ten_length")
    if jacobian:
        same(data.ten_J, theirs.ten_J, FORCE, f"{what} ten_J")
    same(data.ten_wrapnum, theirs.ten_wrapnum, 0.0, f"{what} ten_wrapnum")
    count = int(theirs.ten_wrapnum.sum())
    same(data.wrap_xpos.ravel()[: 3 * count], theirs.wrap_xpos.ravel()[: 3 * count], FORCE, f"{what} wrap_xpos")


def random_case(geom: str, rng: np.random.Generator) -> kt.Data:
    start, end, side = 0.8 * rng.normal(size=(3, 3))
    return data_of(geom, start, end, side, np.concatenate((rng.normal(size=3), random_quaternion(rng))))


def angle(a: np.ndarray, b: np.ndarray) -> float:
    """From a to b in the plane, counterclockwise, at most half a turn either way."""
    return np.arctan2(a[0] * b[1] - a[1] * b[0], a @ b)


def in_plane(geom: str, *points: np.ndarray) -> list[np.ndarray]:
    """Coordinates in the plane of the circle."""
    if geom == "cylinder":
        return [p[:2] for p in points]
    x = points[0] / np.linalg.norm(points[0])
    y = points[1] - (points[1] @ x) * x
    y /= np.linalg.norm(y)
    return [np.array([p @ x, p @ y]) for p in points]


def reference(geom: str, start, end, side=None) -> tuple[float, float]:
    """Length of the path and angle of its arc: the turn of the polyline through the side, less what tangents save."""
    start, end = np.array(start, float), np.array(end, float)
    straight = float(np.linalg.norm(end - start))
    plane = in_plane(geom, start, end, *([] if side is None else [np.array(side, float)]))
    a, b = plane[:2]
    if min(a @ a, b @ b) < RADIUS**2:
        return straight, 0.0
    turn = angle(a, b) if side is None else angle(a, plane[2]) + angle(plane[2], b)
    tangents = [np.sqrt(p @ p - RADIUS**2) for p in (a, b)]
    arc = abs(turn) - sum(np.arctan2(t, RADIUS) for t in tangents)
    if arc <= 0:
        return straight, 0.0
    flat = sum(tangents) + RADIUS * arc
    return float(np.hypot(flat, end[2] - start[2]) if geom == "cylinder" else flat), float(arc)


@pytest.mark.parametrize("geom", GEOMS)
def test_random_paths_equal_mujocos(geom):
    rng = np.random.default_rng(1)
    touched = set()
    for k in range(300):
        data = random_case(geom, rng)
        equal_mujocos(data, f"{geom} case {k}")
        touched |= {(t, bool(data.ten_wrapnum[t] == 4)) for t in range(5)}
    assert len(touched) == 10, touched


@pytest.mark.parametrize("geom", GEOMS)
def test_lengths_equal_a_slow_reference(geom):
    """Without MuJoCo: the winding of the polyline, also of more than half a turn."""
    rng = np.random.default_rng(2)
    arcs: dict[int, list[float]] = {FREE: [], MOVING: []}
    for k in range(300):
        start, end, side = 0.8 * rng.normal(size=(3, 3))
        side *= max(1.0, 1.01 * RADIUS / np.linalg.norm(side))
        data = data_of(geom, start, end, side)
        for t, given in ((FREE, None), (MOVING, side)):
            length, arc = reference(geom, start, end, given)
            same(data.ten_length[t], length, 1e-13, f"{geom} case {k} tendon {t}")
            arcs[t].append(arc)
    assert max(arcs[FREE]) > 1.0 and max(arcs[MOVING]) > np.pi and min(arcs[MOVING]) == 0.0


@pytest.mark.parametrize("geom", GEOMS)
def test_an_inside_path_is_the_shortest_that_touches(geom):
    """Against all points of the circle, one by one."""
    rng = np.random.default_rng(3)
    bent = 0
    for k in range(60):
        start, end = 0.8 * rng.normal(size=(2, 3))
        if geom == "cylinder":
            start[2] = end[2] = 0.1  # then the path stays in a plane
        data = data_of(geom, start, end)
        a, b = in_plane(geom, start, end)
        t = np.linspace(-np.pi, np.pi, 20001)
        circle = RADIUS * np.stack((np.cos(t), np.sin(t)), axis=1)
        shortest = (np.linalg.norm(circle - a, axis=1) + np.linalg.norm(circle - b, axis=1)).min()
        if data.ten_wrapnum[WITHIN] == 4:
            same(data.ten_length[WITHIN], shortest, 1e-6, f"{geom} case {k}")
            bent += 1
        else:
            same(data.ten_length[WITHIN], np.linalg.norm(end - start), 1e-14, f"{geom} case {k}")
    assert 0 < bent < 60


@pytest.mark.parametrize("geom", GEOMS)
def test_points_lie_on_the_surface_and_the_path_is_tangent(geom):
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(100):
        start, end, side = 0.8 * rng.normal(size=(3, 3))
        data = data_of(geom, start, end, side)
        if data.ten_wrapnum[BESIDE] != 4:
            continue
        found += 1
        points = data.wrap_xpos.reshape(-1, 3)[data.ten_wrapadr[BESIDE] :][:4]
        axes = 3 if geom == "sphere" else 2
        for inner, outer in ((points[1], points[0]), (points[2], points[3])):
            assert abs(np.linalg.norm(inner[:axes]) - RADIUS) < 1e-14
            assert abs(inner[:axes] @ (outer - inner)[:axes]) < 1e-14
    assert found > 10


@pytest.mark.parametrize("geom", GEOMS)
@pytest.mark.parametrize(
    "start, end, side",
    [
        ((1, 0, 0), (-1, 0, 0), (0, 1, 0)),  # through the centre
        ((0, 1, 0), (0, -1, 0), (1, 0, 0)),
        ((1, 1, 0.5), (-1, -1, -0.5), (0, -1, 0)),
        ((3, 1, 2), (-3, -1, -2), (0, 1, 0)),
        ((1, 2, 3), (-2, -4, -6), (1, 0, 0)),
        ((0, 0, 1), (0, 0, -1), (0, 1, 0)),  # along the cylinder's axis
        ((1, 0, 0), (2, 0, 0), (0, 1, 0)),  # in one direction
        ((1, 0, 0), (1.5, 1e-9, 0), (0, 1, 0)),
        ((1, 0, 0), (1, 0, 0), (0, 1, 0)),  # one point
        ((1, 1e-8, 0), (1, -1e-8, 0), (-1, 0, 0)),  # too close to be wound
        ((1, 2e-8, 0), (1, -2e-8, 0), (-1, 0, 0)),
        ((1, 1e-8, 0), (1, -1e-8, 1), (-1, 0, 0)),
        ((1, 0.2, 0), (-1, 0.2, 0), (0, 0, 1)),  # side site across the plane, or on the axis
        ((-1, 0.2, 0), (-1, -0.2, 0), (0, 0, 1)),
        ((-1, 0.2, 0), (-1, -0.2, 0), (1e-14, -1e-14, 1)),
        ((0.4, 0, 0), (0, 1, 0), (0, 1, 0)),  # an end inside
        ((0.5, 0, 0), (-1, 0.1, 0), (0, 1, 0)),  # an end on the surface
        ((0, 0, 0), (1, 1, 0), (0, 1, 0)),  # an end at the centre
        ((0.5 - 1e-9, -1, 0), (0.5 - 1e-9, 1, 0), (1, 0, 0)),  # just touching
        ((0.5 + 1e-9, -1, 0), (0.5 + 1e-9, 1, 0), (1, 0, 0)),
        ((80, 30, 1), (-70, 20, 3), (0, -1, 0)),  # far away
    ],
)
def test_special_places_equal_mujocos(geom, start, end, side):
    where = f"{geom} {start} {end} {side}"
    data = data_of(geom, start, end, side)
    assert np.isfinite(data.ten_J).all(), where
    # On the surface MuJoCo divides a length of zero by itself; we take the tangent.
    on_surface = np.isclose(np.linalg.norm(start), RADIUS)
    equal_mujocos(data, where, jacobian=not on_surface)


@pytest.mark.parametrize("geom", GEOMS)
def test_an_end_on_the_surface_in_closed_form(geom):
    """A quarter of the circle; straight where the path only leaves the surface, for which MuJoCo takes a whole turn."""
    data = data_of(geom, (RADIUS, 0, 0), (0, RADIUS, 0), (1, 1, 0))
    np.testing.assert_allclose(data.ten_length[[FREE, MOVING]], RADIUS * np.pi / 2, rtol=1e-15)
    for end in ((1, 0, 0), (1, 0.1, 0), (RADIUS + 1e-12, 1, 0)):
        data = data_of(geom, (RADIUS, 0, 0), end, (1, 1, 0))
        straight = np.linalg.norm(np.subtract(end, (RADIUS, 0, 0)))
        np.testing.assert_allclose(data.ten_length[[FREE, MOVING]], straight, rtol=1e-15, err_msg=f"{geom} {end}")
        data = data_of(geom, end, (RADIUS, 0, 0), (1, 1, 0))
        np.testing.assert_allclose(data.ten_length[[FREE, MOVING]], straight, rtol=1e-15, err_msg=f"{geom} from {end}")


def test_winding_in_closed_form():
    """From (2 r, 0) round the side opposite: three quarters of a turn less two sixths, and two tangents of sqrt(3) r."""
    data = data_of("cylinder", (1, 0, 0), (0, -1, 0), (-1, 1, 0))
    turn = 1.5 * np.pi - 2 * np.pi / 3
    np.testing.assert_allclose(data.ten_length[MOVING], RADIUS * (turn + 2 * np.sqrt(3)), rtol=1e-15)
    np.testing.assert_allclose(data.ten_length[FREE], np.sqrt(2), rtol=1e-15)


@pytest.mark.parametrize("geom", GEOMS)
def test_length_and_directions_are_continuous_where_the_path_starts_to_touch(geom):
    steps = np.concatenate((-np.logspace(-3, -15, 13), [0.0], np.logspace(-15, -3, 13)))
    cases = [data_of(geom, (RADIUS + e, -1, 0), (RADIUS + e, 1.5, 0), (1, 0, 0)) for e in steps]
    for t in (FREE, MOVING, WITHIN):
        for a, b, e, f in zip(cases, cases[1:], steps, steps[1:], strict=False):
            same(a.ten_length[t], b.ten_length[t], 3 * (f - e) + 1e-15, f"{geom} length of {t} at {e}")
            row = slice(a.model.ten_J_rowadr[t], a.model.ten_J_rowadr[t] + a.model.ten_J_rownnz[t])
            # A bend is found to 1e-6.
            same(a.ten_J[row], b.ten_J[row], 20 * (f - e) + 2e-6, f"{geom} Jacobian of {t} at {e}")


@pytest.mark.parametrize("dtype, width", [("float64", 8), ("float32", 16)])
@pytest.mark.parametrize("geom", GEOMS)
def test_lanes_that_go_different_ways_equal_floats(geom, dtype, width):
    rng, model = np.random.default_rng(5), model_of(geom)
    for _ in range(10):
        worlds = [random_case(geom, rng) for _ in range(width)]
        lanes = lanes_of(model, worlds, dtype)
        lanes.run(tendon)
        out = kt.Data(model)
        for lane, data in enumerate(worlds):
            lanes.store(lane, out)
            for field in ("ten_length", "ten_J", "wrap_touch", "wrap_point"):
                note = f"{geom} lane {lane} of {width} {dtype}: {field}"
                same(getattr(out, field), getattr(data, field), 10 * MACHINES[dtype], note)


@pytest.mark.parametrize("geom", GEOMS)
def test_plain_python_equals_floats(geom):
    rng = np.random.default_rng(6)
    for _ in range(5):
        data = random_case(geom, rng)
        plain = data.copy()
        for field in ("ten_length", "ten_J", "wrap_touch", "wrap_point"):
            plain._arrays[field][...] = np.nan
        interpret(tendon, data.model.record(), plain.record())
        for field in ("ten_length", "ten_J"):
            same(getattr(plain, field), getattr(data, field), MACHINES["float64"], f"{geom} in plain Python: {field}")
