"""Rays against MuJoCo's mj_ray and mj_multiRay, closed forms and identities; every shape, filter and kind of start."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.compare import oracle_model
from kinetree.conformance.states import copy_state, random_state
from kinetree.conformance.tolerances import KINEMATICS, SENSOR
from kinetree.geometry import ray as module
from kinetree.geometry.ray import RAY, multi_ray, ray
from kinetree.kernel.stage import plain
from kinetree.types import GeomType
from tests import corpora

SOURCES = {entry.name: entry.source for entry in corpora.entries()}
RAYS, MODEL = "tests/models/rays.xml", Path(__file__).parents[1] / "models" / "rays.xml"
NUMBER = 60  # rays in one state
FAR = 1e-5
"""At 100 m MuJoCo subtracts squares of that length from each other; at a glancing normal that costs half of the digits."""


class Pair(SimpleNamespace):
    """A model in one state on both sides."""


def posed(mj: mujoco.MjModel, seed: int) -> Pair:
    model = kt.load(mj)
    theirs = random_state(mj, np.random.default_rng(seed))
    ours = kt.Data(model)
    copy_state(theirs, ours)
    mujoco.mj_kinematics(mj, theirs)
    kt.kinematics(model, ours)
    return Pair(mj=mj, theirs=theirs, model=model, ours=ours)


@functools.cache
def pair(name: str, seed: int) -> Pair:
    return posed(oracle_model(SOURCES[name]()), seed)


def mujocos(p: Pair, point, direction, groups=None, static=True, exclude=-1):
    """What mj_ray gives."""
    geom, normal = np.zeros(1, np.int32), np.zeros(3)
    flags = None if groups is None else np.asarray(groups, np.uint8)
    distance = mujoco.mj_ray(p.mj, p.theirs, point, direction, flags, static, exclude, geom, normal)
    return distance, int(geom[0]), normal


def mujocos_distance(p: Pair, g: int, point, direction) -> float:
    """To one geom."""
    kind, normal = p.mj.geom_type[g], np.zeros(3)
    if kind in (GeomType.MESH, GeomType.HFIELD):
        call = mujoco.mj_rayMesh if kind == GeomType.MESH else mujoco.mj_rayHfield
        return call(p.mj, p.theirs, g, point, direction, normal)
    frame = p.theirs.geom_xpos[g], p.theirs.geom_xmat[g], p.mj.geom_size[g]
    return mujoco.mju_rayGeom(*frame, point, direction, kind, normal)


def agree(p: Pair, got, wanted, tolerance: float, what: str) -> None:
    name = p.model.names("geom")
    where = (
        f"{p.model.title}, {what}: {got} against {wanted} ({[name[g] if g >= 0 else '-' for g in (got[1], wanted[1])]})"
    )
    assert got[1] == wanted[1], where
    assert abs(got[0] - wanted[0]) <= tolerance * max(1.0, abs(wanted[0])), where
    assert np.abs(got[2] - wanted[2]).max() <= tolerance, where


def aimed(p: Pair, rng: np.random.Generator, number: int, away: float, geoms=None):
    """Random rays towards the geoms of a model (or some of them), from some distance, half of them from within it."""
    for i in range(number):
        g = rng.choice(p.mj.ngeom if geoms is None else geoms)
        size = p.mj.geom_rbound[g] or 1.0
        target = p.theirs.geom_xpos[g] + 0.5 * size * rng.normal(size=3)
        point = target + rng.normal(size=3) * (away if i % 2 else 0.3 * size)
        yield point, (target - point) * rng.uniform(0.2, 2.0)


# against MuJoCo


def test_the_table_has_every_shape_that_a_model_may_have():
    assert list(RAY) == [kind for kind in GeomType if kind < GeomType.SDF]
    assert set(kt.load(oracle_model(SOURCES[RAYS]())).geom_type) == set(RAY), "rays.xml has every shape"


def only(kind: GeomType) -> mujoco.MjModel:
    """rays.xml with every other shape invisible."""
    mj = oracle_model(SOURCES[RAYS]())
    mj.geom_matid[:] = -1
    mj.geom_rgba[:, 3] = mj.geom_type == kind
    return mj


@pytest.mark.parametrize("kind", RAY, ids=lambda kind: kind.name)
def test_shape_equals_mujocos(kind):
    p, rng = posed(only(kind), 3), np.random.default_rng(kind)
    geoms, met = np.flatnonzero(p.mj.geom_type == kind), set()
    for i, (point, direction) in enumerate(aimed(p, rng, 600, 2.0, geoms)):
        wanted = mujocos(p, point, direction)
        agree(p, ray(p.model, p.ours, point, direction), wanted, SENSOR, f"{kind.name} ray {i} {point} {direction}")
        met.add(wanted[1])
    assert met == {-1, *geoms}, "every geom is met, and some rays meet none"


@pytest.mark.parametrize("kind", RAY, ids=lambda kind: kind.name)
def test_rays_along_the_axes_of_a_shape_equal_mujocos(kind):
    p, rng = posed(only(kind), 4), np.random.default_rng(kind)
    for g in np.flatnonzero(p.mj.geom_type == kind):
        axes, size = p.theirs.geom_xmat[g].reshape(3, 3), p.mj.geom_rbound[g] or 1.0
        for k in range(3):
            for sign in (-1.0, 1.0):
                aside = 0.3 * size * rng.uniform(-1, 1, size=3)
                point = p.theirs.geom_xpos[g] + axes @ aside - 3.0 * sign * size * axes[:, k]
                direction = sign * axes[:, k]
                agree(
                    p, ray(p.model, p.ours, point, direction), mujocos(p, point, direction), SENSOR, f"axis {k} of {g}"
                )
    for k in range(3):
        for sign in (-1.0, 1.0):
            point, direction = rng.uniform([-3, -3, 0], [3, 3, 3]), sign * np.eye(3)[k]
            agree(p, ray(p.model, p.ours, point, direction), mujocos(p, point, direction), SENSOR, f"world axis {k}")


@pytest.mark.parametrize("seed", range(4))
def test_rays_of_all_kinds_equal_mujocos(seed):
    p, rng = pair(RAYS, seed), np.random.default_rng(seed)
    for away, tolerance in ((1.0, SENSOR), (5.0, SENSOR), (100.0, FAR)):
        for i, (point, direction) in enumerate(aimed(p, rng, 150, away)):
            got = ray(p.model, p.ours, point, direction)
            agree(p, got, mujocos(p, point, direction), tolerance, f"ray {i} from {point} to {direction}")


@pytest.mark.parametrize("name", SOURCES)
def test_corpora_equal_mujocos(name):
    p, rng = pair(name, 1), np.random.default_rng(0)
    if p.mj.ngeom:
        for i, (point, direction) in enumerate(aimed(p, rng, NUMBER, 1.0)):
            got, wanted = ray(p.model, p.ours, point, direction), mujocos(p, point, direction)
            if got[1] != wanted[1] >= 0:  # surfaces that coincide: rounding chooses
                wanted = mujocos_distance(p, got[1], point, direction), got[1], got[2]
                assert abs(mujocos(p, point, direction)[0] - wanted[0]) < KINEMATICS, (name, i)
            agree(p, got, wanted, SENSOR, f"ray {i} from {point} to {direction}")
    pair.cache_clear()


def double_sided(rng: np.random.Generator) -> Pair:
    """A mesh of loose triangles, each of them twice: once with its corners in the other order."""
    corners, faces = [], []
    for k in range(0, 3 * int(rng.integers(8, 16)), 3):
        corners.append(rng.uniform(-1, 1, (3, 3)))
        turned = np.roll([k, k + 2, k + 1], rng.integers(3))
        faces += [(k, k + 1, k + 2), turned] if rng.random() < 0.5 else [turned, (k, k + 1, k + 2)]
    vertex, face = (" ".join(map(str, np.ravel(x))) for x in (corners, faces))
    return posed(
        oracle_model(f"""<mujoco><asset><mesh name="loose" inertia="shell" vertex="{vertex}" face="{face}"/></asset>
        <worldbody><geom type="mesh" mesh="loose" pos=".1 .2 .3" euler="10 20 30"/></worldbody></mujoco>"""),
        0,
    )


@pytest.mark.parametrize("seed", range(8))
def test_double_sided_meshes_have_mujocos_normal_where_that_is_settled(seed):
    """Two triangles in one place: which one counts is a matter of order, unless rounding parts them."""
    rng = np.random.default_rng(seed)
    p, settled = double_sided(rng), 0
    for point, direction in aimed(p, rng, 200, 2.0):
        wanted = mujocos(p, point, direction)
        hairs = [mujocos(p, point + 1e-14 * rng.normal(size=3), direction)[2] for _ in range(20)]
        if wanted[1] >= 0 and np.min(np.array(hairs) @ wanted[2]) > 0.0:
            settled += 1
            agree(p, ray(p.model, p.ours, point, direction), wanted, KINEMATICS, f"double-sided, seed {seed}")
    assert settled > 5


def test_groups_static_geoms_and_bodies_are_left_out_as_in_mujoco():
    p, rng = pair(RAYS, 2), np.random.default_rng(5)
    bodies, passed = p.model.names("body"), 0
    for i, (point, direction) in enumerate(aimed(p, rng, 400, 3.0)):
        groups = None if i % 3 == 0 else rng.integers(0, 2, 6).tolist()
        static, body = bool(rng.integers(2)), int(rng.integers(-1, p.model.nbody))
        exclude = None if body < 0 else body if i % 2 else bodies[body]
        wanted = mujocos(p, point, direction, groups, static, body)
        got = ray(p.model, p.ours, point, direction, groups, static, exclude)
        agree(p, got, wanted, SENSOR, f"groups {groups}, static {static}, without {exclude}, ray {i}")
        passed += wanted[1] != mujocos(p, point, direction)[1]
    assert passed > 100, "the filters change little"


def test_several_rays_equal_single_ones_and_mujocos():
    p, rng = pair(RAYS, 3), np.random.default_rng(6)
    for i in range(12):
        point, directions = rng.uniform([-3, -3, 0.2], [3, 3, 3]), rng.normal(size=(50, 3))
        groups, static, exclude = rng.integers(0, 2, 6), bool(i % 2), int(rng.integers(p.model.nbody))
        got = multi_ray(p.model, p.ours, point, directions, groups, static, exclude)
        geoms, distances, normals = np.zeros(50, np.int32), np.zeros(50), np.zeros(150)
        mujoco.mj_multiRay(p.mj, p.theirs, point, directions.ravel(), groups.astype(np.uint8), static, exclude, geoms,
                           distances, normals, 50, 1e10)  # fmt: skip
        for k, one in enumerate(zip(*got, strict=True)):
            single = ray(p.model, p.ours, point, directions[k], groups, static, exclude)
            agree(p, one, single, 1e-15, f"ray {k} of several against one")
            agree(p, one, (distances[k], geoms[k], normals.reshape(-1, 3)[k]), SENSOR, f"ray {k} of several")


def test_cutoff_ignores_geoms_that_mujoco_ignores():
    """By the balls around them; planes are never left out."""
    mj = oracle_model(SOURCES[RAYS]())
    p, rng, dropped = posed(mj, 7), np.random.default_rng(8), 0
    for i in range(20):
        point, directions, cutoff = rng.uniform([-3, -3, 0.2], [3, 3, 3]), rng.normal(size=(50, 3)), rng.uniform(0, 3)
        got = multi_ray(p.model, p.ours, point, directions, cutoff=cutoff)
        geoms, distances = np.zeros(50, np.int32), np.zeros(50)
        mujoco.mj_multiRay(p.mj, p.theirs, point, directions.ravel(), None, 1, -1, geoms, distances, None, 50, cutoff)
        np.testing.assert_array_equal(got[1], geoms, err_msg=f"point {i} {point}, cutoff {cutoff}")
        np.testing.assert_allclose(got[0], distances, rtol=SENSOR, atol=SENSOR)
        dropped += (geoms != multi_ray(p.model, p.ours, point, directions)[1]).sum()
    assert dropped > 20, "the cutoff drops little"


# closed forms and identities


def scene(geoms: str) -> Pair:
    return posed(oracle_model(f"<mujoco><worldbody>{geoms}</worldbody></mujoco>"), 0)


@pytest.mark.parametrize("away", [0.5, 3.0, 1e3, 1e6])
def test_sphere_plane_and_box_in_closed_form(away):
    """The surface is met where geometry says, to the rounding of the distance itself, however far away it is."""
    p = scene('<geom type="plane" size="0 0 1" pos="0 0 -1"/><geom type="sphere" size=".4" pos="0 0 1"/>'
              '<geom type="box" size=".2 .3 .1" pos="5 0 0"/>')  # fmt: skip
    h = 0.3  # from the sphere's centre line
    distance, geom, normal = ray(p.model, p.ours, [h, 0, 1 + away], [0, 0, -1])
    depth = np.sqrt(0.4**2 - h**2)
    tolerance = 4e-16 * max(1.0, away)
    assert geom == 1 and abs(distance - (away - depth if away > depth else away + depth)) <= tolerance
    np.testing.assert_allclose(normal, np.array([h, 0, depth]) / 0.4, atol=1e-9 if away > 1e3 else KINEMATICS)
    slope = np.array([3.0, 4.0, -12.0]) / 13.0
    distance, geom, normal = ray(p.model, p.ours, np.array([0, 9, -1]) - away * slope, slope)
    assert geom == 0 and abs(distance - away) <= 4 * tolerance and normal.tolist() == [0, 0, 1]
    distance, geom, normal = ray(
        p.model, p.ours, np.array([5.2, 0.1, 0.05]) - away * np.array([-0.8, 0, 0.6]), [-4, 0, 3]
    )
    if away <= 1e3:  # the point itself is rounded by more than the box is large, farther out
        assert geom == 2 and abs(5 * distance - away) <= 4 * tolerance and normal.tolist() == [1, 0, 0]


def test_planes_are_met_from_the_front_within_their_rectangle():
    p = scene('<geom type="plane" size="1 0 1"/>')
    assert ray(p.model, p.ours, [0.9, 50, 2], [0, 0, -1])[:2] == (2.0, 0)
    assert ray(p.model, p.ours, [1.1, 0, 2], [0, 0, -1])[:2] == (-1.0, -1)
    assert ray(p.model, p.ours, [0, 0, -2], [0, 0, 1])[:2] == (-1.0, -1)
    assert ray(p.model, p.ours, [0, 0, 2], [1, 0, 0])[:2] == (-1.0, -1)


def test_tangents_decide_between_a_miss_and_a_hit():
    """A ray just inside a silhouette meets the surface and one just outside it does not."""
    for text, radius in (('type="sphere" size=".5"', 0.5), ('type="capsule" size=".5 1"', 0.5),
                         ('type="cylinder" size=".5 1"', 0.5), ('type="ellipsoid" size=".5 2 1"', 0.5),
                         ('type="box" size=".5 2 1"', 0.5)):  # fmt: skip
        p = scene(f"<geom {text}/>")
        assert ray(p.model, p.ours, [radius - 1e-9, -10, 0], [0, 1, 0])[1] == 0, text
        assert ray(p.model, p.ours, [radius + 1e-9, -10, 0], [0, 1, 0])[1] == -1, text


def test_the_length_of_a_direction_only_scales_the_distance():
    p, rng = pair(RAYS, 1), np.random.default_rng(2)
    for point, direction in aimed(p, rng, 40, 2.0):
        wanted = ray(p.model, p.ours, point, direction)
        for length in (1e-9, 1e-3, 1e6, 1e200):
            got = ray(p.model, p.ours, point, length * direction)
            assert got[1] == wanted[1], length
            assert got[0] == pytest.approx(wanted[0] / length if wanted[1] >= 0 else -1.0, rel=1e-12)
            np.testing.assert_allclose(got[2], wanted[2], atol=1e-9)


def test_points_lie_on_surfaces_and_normals_point_outwards():
    """From the point that is met, a ray against the normal stays inside at first, and one along it outside."""
    p, rng, step = pair(RAYS, 2), np.random.default_rng(3), 1e-5
    shapes = (GeomType.SPHERE, GeomType.CAPSULE, GeomType.ELLIPSOID, GeomType.CYLINDER, GeomType.BOX)
    geoms, count = np.flatnonzero(np.isin(p.mj.geom_type, shapes) & (p.mj.geom_matid < 0)), 0
    for point, direction in aimed(p, rng, 300, 1.0, geoms):
        distance, geom, normal = ray(p.model, p.ours, point, direction)
        if geom in geoms and abs(normal @ direction) > 0.3 * np.linalg.norm(direction):
            count += 1
            met = point + distance * direction
            assert abs(np.linalg.norm(normal) - 1) < KINEMATICS
            back, same, _ = ray(p.model, p.ours, met + step * normal, -normal)
            if same == geom:  # else another surface is in between
                assert back == pytest.approx(step, rel=1e-4), p.model.name("geom", geom)
    assert count > 60


def test_no_ray_leaves_a_closed_mesh_through_an_edge_or_a_corner():
    p = scene_of_mesh()
    model, data = p.model, p.ours
    corners = model.mesh_vert.astype(float)
    faces = corners[model.mesh_face]
    edges = [(1 - t) * faces + t * np.roll(faces, 1, axis=1) for t in (0.5, 0.3)]
    targets = (
        np.concatenate([corners, *(e.reshape(-1, 3) for e in edges)]) @ data.geom_xmat[0].reshape(3, 3).T
        + data.geom_xpos[0]
    )
    for k, start in enumerate(data.geom_xpos[0] + np.array([[0, 0, 0], [0.01, 0.02, -0.03]])):
        distances, geoms, normals = multi_ray(model, data, start, targets - start)
        np.testing.assert_allclose(distances, 1.0, rtol=1e-6, err_msg=f"start {k}")
        assert (np.einsum("ij,ij->i", normals, targets - start) > 0).all(), "outward"


def scene_of_mesh() -> Pair:
    return posed(
        oracle_model("""<mujoco><asset><mesh name="ball" builtin="supersphere" params="14 .7 1.2" scale=".35 .25 .3"/>
        </asset><worldbody><geom type="mesh" mesh="ball" pos="1 2 3" euler="20 50 70"/></worldbody></mujoco>"""),
        0,
    )


def test_mesh_without_its_tree_gives_the_same():
    """All triangles one by one, in NumPy."""
    p, rng = scene_of_mesh(), np.random.default_rng(4)
    axes, centre = p.ours.geom_xmat[0].reshape(3, 3), p.ours.geom_xpos[0]
    a, b, c = (p.model.mesh_vert.astype(float)[p.model.mesh_face[:, k]] @ axes.T + centre for k in range(3))
    for point, direction in aimed(p, rng, 300, 1.0):
        matrices = np.stack([a - c, b - c, np.broadcast_to(-direction, c.shape)], axis=-1)
        u, v, x = np.linalg.solve(matrices, (point - c)[..., None])[..., 0].T
        met = x[np.min([u, v, 1 - u - v, x], axis=0) >= 0]
        wanted = met.min() if met.size else -1.0
        assert ray(p.model, p.ours, point, direction)[0] == pytest.approx(wanted, abs=1e-9)


def test_height_field_from_above_is_as_high_as_its_grid_says():
    rows, cols, rng = 6, 9, np.random.default_rng(1)
    text = " ".join(f"{z:.3f}" for z in rng.uniform(size=rows * cols))
    p = posed(
        oracle_model(f"""<mujoco><asset><hfield name="h" nrow="{rows}" ncol="{cols}" size="2 1 .7 .1" elevation="{text}"/>
        </asset><worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>"""),
        0,
    )
    heights = p.model.hfield_data.astype(float).reshape(rows, cols) * 0.7
    for r in range(rows):
        for c in range(cols):  # exactly over a point of the grid: the corner of up to six triangles
            x, y = -2 + 4 * c / (cols - 1), -1 + 2 * r / (rows - 1)
            assert ray(p.model, p.ours, [x, y, 5], [0, 0, -1])[0] == pytest.approx(5 - heights[r, c], abs=1e-9), (r, c)
    for x, y in rng.uniform([-2, -1], [2, 1], size=(200, 2)):
        u, v = (x + 2) / 4 * (cols - 1), (y + 1) / 2 * (rows - 1)
        c, r = int(u), int(v)
        u, v = u - c, v - r
        a, b, e, f = heights[r, c], heights[r, c + 1], heights[r + 1, c], heights[r + 1, c + 1]
        z = a + u * (b - a) + v * (f - b) if u > v else a + v * (e - a) + u * (f - e)
        assert ray(p.model, p.ours, [x, y, 5], [0, 0, -1])[0] == pytest.approx(5 - z, abs=KINEMATICS)


def test_plain_python_equals_compiled_code():
    p, rng = pair(RAYS, 5), np.random.default_rng(9)
    rays = np.zeros((40, 8))
    rays[:, :3] = rng.normal(size=(40, 3))
    rays[:, :3] /= np.linalg.norm(rays[:, :3], axis=1)[:, None]
    point = np.array([0.2, -0.3, 1.4])
    arguments = SimpleNamespace(
        rays=rays, nray=40, x=point[0], y=point[1], z=point[2], cutoff=2.0, groups=63, static=1, exclude=3
    )
    plain(module.cast)(p.model.record(), p.ours.record(), arguments)
    distances, geoms, normals = multi_ray(p.model, p.ours, point, rays[:, :3], exclude=3, cutoff=2.0)
    np.testing.assert_array_equal(rays[:, 4], geoms)
    np.testing.assert_allclose(rays[:, 3], distances, atol=1e-13)
    np.testing.assert_allclose(rays[:, 5:], normals, atol=1e-13)


# from Python


def test_colours_decide_what_is_seen():
    p = scene('<geom size=".5"/><geom size=".2" pos="0 0 -2"/>')
    assert ray(p.model, p.ours, [0, 0, 2], [0, 0, -1])[:2] == (1.5, 0)
    p.model.geom_rgba[0, 3] = 0
    assert ray(p.model, p.ours, [0, 0, 2], [0, 0, -1])[:2] == (3.8, 1)
    p.model.geom_rgba[1, 3] = 0
    assert ray(p.model, p.ours, [0, 0, 2], [0, 0, -1])[:2] == (-1.0, -1)
    glass = pair(RAYS, 0).model.id("geom", "pane")
    opaque = kt.load(pair(RAYS, 0).mj)
    opaque.mat_rgba[opaque.geom_matid[glass], 3] = 0.5
    kt.kinematics(opaque, pair(RAYS, 0).ours)
    assert ray(opaque, pair(RAYS, 0).ours, [0.5, 0.9, 1.7], [0, 1, 0])[1] == glass
    kt.kinematics(pair(RAYS, 0).model, pair(RAYS, 0).ours)
    assert ray(pair(RAYS, 0).model, pair(RAYS, 0).ours, [0.5, 0.9, 1.7], [0, 1, 0])[1] != glass


def test_rays_change_nothing():
    p = pair(RAYS, 1)
    before = p.ours.buffer.copy()
    ray(p.model, p.ours, [0, 0, 3], [0, 0, -1])
    multi_ray(p.model, p.ours, [0, 0, 3], np.eye(3))
    np.testing.assert_array_equal(p.ours.buffer, before)


def test_results_are_plain_numbers_and_arrays():
    p = pair(RAYS, 1)
    distance, geom, normal = ray(p.model, p.ours, (0, 0, 9), (0, 0, -2))
    assert type(distance) is float and type(geom) is int and normal.shape == (3,)
    distances, geoms, normals = multi_ray(p.model, p.ours, (0, 0, 9), [[0, 0, -2], [0, 0, 1]])
    assert (distances[0], geoms[0], distances[1], geoms[1]) == (distance, geom, -1.0, -1) and not normals[1].any()
    assert geoms.dtype.kind == "i" and normals.shape == (2, 3)
    assert [a.shape for a in multi_ray(p.model, p.ours, (0, 0, 9), np.zeros((0, 3)))] == [(0,), (0,), (0, 3)]


def test_a_model_without_geoms_meets_nothing():
    p = scene("")
    assert ray(p.model, p.ours, [0, 0, 1], [0, 0, -1])[:2] == (-1.0, -1)


CASES = {
    "zero direction": (lambda m, d: ray(m, d, [0, 0, 0], [0, 0, 0]), ValueError, "has no length"),
    "tiny direction": (lambda m, d: ray(m, d, [0, 0, 0], [0, 1e-16, 0]), ValueError, "has no length"),
    "nan": (lambda m, d: ray(m, d, [0, np.nan, 0], [0, 0, 1]), ValueError, r"ray: point\[1\] is nan"),
    "infinite": (lambda m, d: ray(m, d, [0, 0, 0], [0, 0, np.inf]), ValueError, r"direction\[2\] is inf"),
    "two numbers": (lambda m, d: ray(m, d, [0, 0], [0, 0, 1]), ValueError, r"point: expected shape \(3,\), got \(2,\)"),
    "one number": (lambda m, d: ray(m, d, 0.0, [0, 0, 1]), ValueError, r"point: expected shape \(3,\)"),
    "text": (lambda m, d: ray(m, d, "here", [0, 0, 1]), TypeError, "point: expected numbers"),
    "list of text": (lambda m, d: ray(m, d, ["a", "b", "c"], [0, 0, 1]), TypeError, "point: expected numbers"),
    "five groups": (lambda m, d: ray(m, d, [0, 0, 0], [0, 0, 1], [1] * 5), ValueError, "groups: expected 6 flags"),
    "group of two": (lambda m, d: ray(m, d, [0, 0, 0], [0, 0, 1], [2] * 6), ValueError, "groups: expected flags"),
    "static": (lambda m, d: ray(m, d, [0, 0, 0], [0, 0, 1], None, "no"), TypeError, "static"),
    "body name": (lambda m, d: ray(m, d, [0, 0, 0], [0, 0, 1], exclude="drome"), KeyError, "no body is called 'drome'.*drone"),
    "body id": (lambda m, d: ray(m, d, [0, 0, 0], [0, 0, 1], exclude=99), IndexError, "body"),
    "no model": (lambda m, d: ray(None, d, [0, 0, 0], [0, 0, 1]), TypeError, "first argument"),
    "swapped": (lambda m, d: ray(d, m, [0, 0, 0], [0, 0, 1]), TypeError, "first argument"),
    "another model": (lambda m, d: ray(kt.load("humanoid"), d, [0, 0, 0], [0, 0, 1]), ValueError, "another model"),
    "one of several": (lambda m, d: multi_ray(m, d, [0, 0, 0], [0, 0, 1]), ValueError, r"expected shape \(n, 3\), got \(3,\)"),
    "number of several": (lambda m, d: multi_ray(m, d, [0, 0, 0], 1.0), ValueError, r"expected shape \(n, 3\), got \(\)"),
    "ragged": (lambda m, d: multi_ray(m, d, [0, 0, 0], [[0, 0, 1], [0, 1]]), ValueError, "directions: not a regular array"),
    "zero row": (lambda m, d: multi_ray(m, d, [0, 0, 0], [[0, 0, 1], [0, 0, 0]]), ValueError, r"directions\[1\]"),
    "cutoff": (lambda m, d: multi_ray(m, d, [0, 0, 0], np.eye(3), cutoff=-1), ValueError, "cutoff must not be negative"),
    "nan cutoff": (lambda m, d: multi_ray(m, d, [0, 0, 0], np.eye(3), cutoff=np.nan), ValueError, "cutoff is nan"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_wrong_arguments(case):
    call, error, message = CASES[case]
    p = pair(RAYS, 1)
    with pytest.raises(error, match=message):
        call(p.model, p.ours)


WILD = """
import numpy as np
import kinetree as kt
from kinetree.geometry.ray import multi_ray

model = kt.load({path!r})
data, rng = kt.Data(model), np.random.default_rng(0)
for value in (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e30, 1e-320, 0.0):
    data.qpos[:] = model.body_pos[:] = value
    kt.kinematics(model, data)
    for point in ([0, 0, 3], [1e300, 0, 0]):
        multi_ray(model, data, point, rng.normal(size=(100, 3)))
    for name in ("geom_size", "geom_rbound", "hfield_size", "hfield_data", "mesh_vert", "bvh_aabb"):
        getattr(model, name)[...] = value
    multi_ray(model, data, [0, 0, 3], rng.normal(size=(100, 3)))
print("alive")
"""


def test_wild_numbers_written_in_place_do_no_harm():
    environment = {**os.environ, "KINETREE_BOUNDS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", WILD.format(path=str(MODEL))]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr[-1000:]
