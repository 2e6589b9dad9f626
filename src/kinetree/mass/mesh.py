"""Mass properties of a body bounded by triangles: exact integrals over the tetrahedra between each triangle and a point.

Reference: Tonon, Explicit exact formulas for the 3-D tetrahedron inertia tensor, 2004. Files are read through
`trimesh`, an optional extra.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

import numpy as np

from .algebra import UPPER, moments_of
from .scalars import scalar
from .value import Value


class Meshes(Value):
    """Construction from triangle meshes."""

    @classmethod
    def from_mesh(
        cls,
        vertices: Any,
        faces: Any = None,
        *,
        density: float | None = None,
        mass: float | None = None,
        scale: float = 1.0,
    ) -> Self:
        """The solid inside a closed triangle mesh, of uniform density.

        vertices: an STL or OBJ file (needs the extra `kinetree[mesh]`), an object with `vertices` and `faces`, or an
        array of vertices (n, 3) with faces (k, 3), three vertices each. density [kg/m³] or mass [kg]; scale: metres for
        one unit of length, 0.001 for a file in millimetres. Raises a ValueError with the reason for a mesh that is not
        closed.
        """
        if (mass is None) == (density is None):
            raise TypeError("give either the mass or the density")
        size = _positive(scale, "scale")
        try:
            points, triangles = _vertices_and_faces(vertices, faces)
            points = points * size
            _check_closed(points, triangles)
            volume, centre, second = integrals(points, triangles)
        except ValueError as problem:
            if not isinstance(vertices, (str, os.PathLike)):
                raise
            raise ValueError(f"{os.fspath(vertices)}: {problem}") from None
        each = _positive(density, "density") if mass is None else _positive(mass, "mass") / volume
        moments = moments_of([second[i, j] for i, j in UPPER])
        return cls._made(each * volume, centre, [each * float(moment) for moment in moments])


def _positive(value: Any, name: str) -> float:
    number = scalar(value, name)
    if type(number) is not float or not 0 < number < np.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}")
    return number


def _vertices_and_faces(mesh: Any, faces: Any) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(mesh, (str, os.PathLike)):
        if faces is not None:
            raise TypeError("faces belong to an array of vertices, not to a file")
        mesh = _read(Path(mesh))
    if faces is None:
        if not hasattr(mesh, "vertices") or not hasattr(mesh, "faces"):
            raise TypeError("from_mesh needs a file, an object with vertices and faces, or vertices and faces")
        mesh, faces = mesh.vertices, mesh.faces
    points, triangles = np.asarray(mesh, dtype=np.float64), np.asarray(faces)
    if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
        raise ValueError(f"vertices: expected (n, 3) finite numbers, got shape {points.shape}")
    if not triangles.size:
        raise ValueError("the mesh has no triangles")
    if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
        raise ValueError(f"faces: expected (k, 3) whole numbers, got {triangles.dtype} of shape {triangles.shape}")
    if triangles.min() < 0 or triangles.max() >= len(points):
        raise ValueError(f"faces: vertex {triangles.max()} does not exist, there are {len(points)}")
    points, same = np.unique(
        points, axis=0, return_inverse=True
    )  # files often repeat a vertex for each of its triangles
    triangles = same.reshape(-1)[triangles]
    i, j, k = triangles.T
    triangles = triangles[(i != j) & (j != k) & (k != i)]
    if not triangles.size:
        raise ValueError("the mesh has no triangles but such with two corners in one place")
    return points, triangles


def _read(path: Path) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"no mesh file {path}")
    try:
        import trimesh
    except ImportError:
        raise ImportError(f"reading {path} needs trimesh: pip install 'kinetree[mesh]'") from None
    try:
        return trimesh.load(path, force="mesh")
    except Exception as problem:  # whatever a reader of a broken file may raise
        raise ValueError(f"{type(problem).__name__}: {problem}") from None


def _check_closed(points: np.ndarray, triangles: np.ndarray) -> None:
    """Each edge must be run through once in either direction; otherwise there is no inside."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    names = edges.min(axis=1) * len(points) + edges.max(axis=1)
    _, first, place, count = np.unique(names, return_index=True, return_inverse=True, return_counts=True)
    forwards = np.bincount(place.reshape(-1), edges[:, 0] < edges[:, 1])
    for bad, reason in (
        (count == 1, "belongs to one triangle only: the mesh has a hole there"),
        (count % 2 == 1, "belongs to an odd number of triangles"),
        (forwards * 2 != count, "has triangles that face opposite sides"),
    ):
        if bad.any():
            a, b = (tuple(float(x) for x in points[v]) for v in edges[first[np.argmax(bad)]])
            raise ValueError(
                f"the mesh is not closed: the edge {a} to {b} {reason} ({np.count_nonzero(bad)} such edges)"
            )


def integrals(points: np.ndarray, triangles: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume [m³], centroid [m] and second moments about the centroid [m⁵] of the solid inside triangles."""
    origin = points[triangles].mean(axis=(0, 1))  # near the body, for the sake of digits
    corners = points[triangles] - origin
    a, b, c = np.moveaxis(corners, 1, 0)
    volumes = np.einsum("ki,ki->k", a, np.cross(b, c)) / 6
    volume = float(volumes.sum())
    size = np.abs(corners).max(initial=0.0)
    if abs(volume) <= 1e-12 * size**3:
        raise ValueError("the mesh has no volume")
    if volume < 0:  # inside out as a whole
        volumes, volume = -volumes, -volume
    corner_sum = corners.sum(axis=1)
    centroid = volumes @ corner_sum / (4 * volume)
    second = np.einsum("k,kni,knj->ij", volumes, corners, corners)
    second = (second + np.einsum("k,ki,kj->ij", volumes, corner_sum, corner_sum)) / 20
    return volume, origin + centroid, second - volume * np.outer(centroid, centroid)
