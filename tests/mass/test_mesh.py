"""Solids inside triangles: closed forms, trimesh and MuJoCo; and what is refused, with the reason."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from tests.mass.bodies import assert_same, rotation

MP = kt.MassProperties

CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
CUBE = np.array([
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7],
    [1, 7, 3],
])  # fmt: skip
TETRAHEDRON = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
WHERE = np.array([100.0, -50.0, 20.0])


def torus(large: float, small: float, around: int, across: int):
    """A torus about z; not convex, and with a hole."""
    u, v = np.meshgrid(2 * np.pi * np.arange(around) / around, 2 * np.pi * np.arange(across) / across, indexing="ij")
    ring = large + small * np.cos(v)
    points = np.stack([ring * np.cos(u), ring * np.sin(u), small * np.sin(v)], axis=-1).reshape(-1, 3)
    faces = []
    for i in range(around):
        for j in range(across):
            a, b = i * across + j, (i + 1) % around * across + j
            c, d = (i + 1) % around * across + (j + 1) % across, i * across + (j + 1) % across
            faces += [[a, b, c], [a, c, d]]
    return points, np.array(faces)


@pytest.mark.parametrize("shift", [np.zeros(3), WHERE])
def test_box(shift):
    turn = rotation(np.array((1.0, 2, 3, 4)))
    points = (CORNERS * (1, 2, 3)) @ turn.T + shift
    box = MP.solid_box(density=5, dx=1, dy=2, dz=3, cg=(0.5, 1, 1.5)).rotated(turn).translated(shift)
    assert_same(MP.from_mesh(points, CUBE, density=5), box)
    assert_same(MP.from_mesh(points.tolist(), CUBE.tolist(), mass=30), box)
    assert_same(MP.from_mesh(points * 1000, CUBE, density=5, scale=0.001), box)


def test_tetrahedron():
    """With corners at the origin and 1 along each axis: volume 1/6, centre 1/4, ∫x² = 1/60, ∫xy = 1/120."""
    points = np.vstack([np.zeros(3), np.eye(3)])
    body = MP.from_mesh(points, TETRAHEDRON, density=6)
    moments = body.inertia_components_about_point((0, 0, 0))
    assert body.mass == pytest.approx(1, rel=1e-14)
    np.testing.assert_allclose(body.cg, (0.25,) * 3, rtol=1e-14)
    np.testing.assert_allclose(moments, [6 * 2 / 60] * 3 + [-6 / 120] * 3, rtol=1e-13)


def test_inside_out_is_the_same_body():
    assert_same(MP.from_mesh(CORNERS, CUBE[:, ::-1], mass=3), MP.from_mesh(CORNERS, CUBE, mass=3))


def test_repeated_vertices_are_one():
    """As in STL files, where each triangle has vertices of its own."""
    assert_same(
        MP.from_mesh(CORNERS[CUBE].reshape(-1, 3), np.arange(36).reshape(12, 3), mass=3),
        MP.solid_box(3, 1, 1, 1, (0.5,) * 3),
    )


def test_a_cavity_is_a_hole():
    inner = CORNERS * 0.5 + 0.25
    points, faces = np.vstack([CORNERS, inner]), np.vstack([CUBE, CUBE[:, ::-1] + 8])
    hollow = MP.solid_box(density=2, dx=1, dy=1, dz=1) - MP.solid_box(density=2, dx=0.5, dy=0.5, dz=0.5)
    assert_same(MP.from_mesh(points, faces, density=2), hollow.translated((0.5,) * 3))


def test_a_fine_mesh_comes_close_to_the_torus():
    points, faces = torus(1.0, 0.3, 300, 200)
    body = MP.from_mesh(points, faces, density=1)
    mass = 2 * np.pi**2 * 0.3**2
    assert body.mass == pytest.approx(mass, rel=1e-3)
    np.testing.assert_allclose(body.inertia[2, 2], mass * (1 + 0.75 * 0.09), rtol=1e-3)
    np.testing.assert_allclose(body.inertia[0, 0], mass * (0.5 + 0.625 * 0.09), rtol=1e-3)


def test_equals_trimesh(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    rng = np.random.default_rng(0)
    meshes = [
        trimesh.creation.icosphere(subdivisions=2, radius=0.3),
        trimesh.creation.annulus(r_min=0.2, r_max=0.5, height=0.8),
        trimesh.Trimesh(*torus(1.0, 0.3, 20, 12)),
        trimesh.convex.convex_hull(rng.normal(size=(30, 3))),
    ]
    for i, mesh in enumerate(meshes):
        turn = np.eye(4)
        turn[:3, :3], turn[:3, 3] = rotation(rng.normal(size=4)), rng.normal(size=3)
        mesh.apply_transform(turn)
        mesh.density = 700.0
        expected = MP(mesh.mass, mesh.center_mass, mesh.moment_inertia)
        ours = MP.from_mesh(mesh, density=700.0)
        assert_same(ours, expected, rtol=1e-11)
        for suffix in ("stl", "obj"):
            path = tmp_path / f"mesh{i}.{suffix}"
            mesh.export(path)
            assert_same(MP.from_mesh(path, density=700.0), ours, rtol=1e-6)  # files hold few digits
            assert_same(MP.from_mesh(str(path), mass=3.0), ours * (3.0 / ours.mass), rtol=1e-6)


def test_equals_mujoco():
    rng = np.random.default_rng(1)
    points, faces = torus(0.5, 0.2, 16, 10)
    points = points @ rotation(rng.normal(size=4)).T * (1, 0.7, 1.3)
    vertex, face = (" ".join(map(str, a.ravel())) for a in (points, faces))
    mesh = f'<mesh name="m" vertex="{vertex}" face="{face}" inertia="exact"/>'
    body = '<body><geom type="mesh" mesh="m" density="700"/></body>'
    xml = f"<mujoco><asset>{mesh}</asset><worldbody>{body}</worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(xml)
    ours = MP.from_mesh(points, faces, density=700)
    assert ours.mass == pytest.approx(model.body_mass[1], rel=1e-6)  # MuJoCo keeps vertices in single precision
    np.testing.assert_allclose(np.sort(ours.principal_moments()), np.sort(model.body_inertia[1]), rtol=1e-6)


@pytest.mark.parametrize("faces, reason", [
    (CUBE[1:], r"one triangle only: the mesh has a hole there \(3 such edges\)"),
    (np.vstack([CUBE, CUBE[:1]]), "odd number of triangles"),
    (np.vstack([CUBE[1:], CUBE[:1, ::-1]]), "face opposite sides"),
    (CUBE[:2], "a hole"),
])  # fmt: skip
def test_open_meshes_are_refused_with_the_reason(faces, reason):
    with pytest.raises(ValueError, match=f"the mesh is not closed: the edge .* {reason}"):
        MP.from_mesh(CORNERS, faces, density=1)


@pytest.mark.parametrize("arguments, options, error, reason", [
    ((CORNERS, CUBE), {}, TypeError, "either the mass or the density"),
    ((CORNERS, CUBE), {"mass": 1, "density": 1}, TypeError, "either the mass or the density"),
    ((CORNERS, CUBE), {"mass": -1}, ValueError, "mass must be a positive number"),
    ((CORNERS, CUBE), {"density": np.nan}, ValueError, "density must be a positive number"),
    ((CORNERS, CUBE), {"density": 1, "scale": 0}, ValueError, "scale must be a positive number"),
    ((CORNERS[:, :2], CUBE), {"mass": 1}, ValueError, r"vertices: expected \(n, 3\)"),
    ((CORNERS * np.nan, CUBE), {"mass": 1}, ValueError, "finite"),
    ((CORNERS, CUBE + 1), {"mass": 1}, ValueError, "vertex 8 does not exist"),
    ((CORNERS, CUBE * 1.0), {"mass": 1}, ValueError, "faces: expected"),
    ((CORNERS, CUBE[:0]), {"mass": 1}, ValueError, "the mesh has no triangles"),
    ((CORNERS, []), {"mass": 1}, ValueError, "the mesh has no triangles"),
    ((CORNERS, [[0, 1, 1]]), {"mass": 1}, ValueError, "the mesh has no triangles"),
    ((CORNERS * (1, 1, 0), CUBE), {"mass": 1}, ValueError, "no volume|not closed"),
    ((CORNERS,), {"mass": 1}, TypeError, "needs a file"),
    (("no/such/file.stl",), {"mass": 1}, FileNotFoundError, "no mesh file"),
    (("file.stl", CUBE), {"mass": 1}, TypeError, "not to a file"),
])  # fmt: skip
def test_bad_input_is_told(arguments, options, error, reason):
    with pytest.raises(error, match=reason):
        MP.from_mesh(*arguments, **options)


def test_a_broken_file_is_told(tmp_path):
    pytest.importorskip("trimesh")
    path = tmp_path / "broken.stl"
    path.write_bytes(b"solid nothing\nfacet")
    with pytest.raises(ValueError, match="broken.stl: "):
        MP.from_mesh(path, mass=1)


def test_an_open_file_is_told_by_name(tmp_path):
    pytest.importorskip("trimesh")
    path = tmp_path / "open.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    for given in (path, str(path)):
        with pytest.raises(ValueError, match="open.obj: the mesh is not closed"):
            MP.from_mesh(given, mass=1)
