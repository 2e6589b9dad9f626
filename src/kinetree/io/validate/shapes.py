"""Geoms and what they are made of: meshes with their hulls and bounding volumes, height fields, pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...types import GeomType
from .report import first, outside, starts, unequal


def geoms(m: Any) -> Iterator[str]:
    """Geoms lie in the order of their bodies; meshes and height fields have their shape."""
    yield from unequal("geom_bodyid", m.geom_bodyid, np.repeat(np.arange(m.nbody), m.body_geomnum))
    shapes = np.where(m.geom_type == GeomType.HFIELD, m.nhfield, m.nmesh)
    needed = np.isin(m.geom_type, (GeomType.HFIELD, GeomType.MESH))
    yield from outside("geom_dataid", m.geom_dataid, np.where(needed, 0, -1), shapes)
    yield from outside("site_dataid", m.site_dataid, np.where(m.site_type == GeomType.MESH, 0, -1), m.nmesh)
    yield from outside("cam_resolution", m.cam_resolution, 0, 2**31)


def hfields(m: Any) -> Iterator[str]:
    """Grids lie one behind the other."""
    for name in ("hfield_nrow", "hfield_ncol"):
        yield from outside(name, getattr(m, name), 2, m.nhfielddata + 1)
    samples = m.hfield_nrow.astype(np.int64) * m.hfield_ncol
    if samples.sum() != m.nhfielddata:
        yield f"hfield_nrow and hfield_ncol ask for {samples.sum()} samples, but nhfielddata is {m.nhfielddata}"
    yield from unequal("hfield_adr", m.hfield_adr, starts(samples))


def meshes(m: Any) -> Iterator[str]:
    """Vertices and polygons are counted within their mesh."""
    vertices = m.mesh_vertnum
    yield from outside("mesh_extrema", m.mesh_extrema, 0, vertices[:, None])
    yield from outside("mesh_face", m.mesh_face, 0, np.repeat(vertices, m.mesh_facenum)[:, None])
    yield from outside("mesh_polyvertnum", m.mesh_polyvertnum, 1, m.nmeshpolyvert + 1)
    within = np.repeat(np.repeat(vertices, m.mesh_polynum), m.mesh_polyvertnum)
    yield from outside("mesh_polyvert", m.mesh_polyvert, 0, within)
    polygons = np.repeat(np.repeat(m.mesh_polynum, vertices), m.mesh_polymapnum)
    yield from outside("mesh_polymap", m.mesh_polymap, 0, polygons)
    yield from outside("mesh_graphadr", m.mesh_graphadr, -1, m.nmeshgraph)
    for i in np.flatnonzero(m.mesh_graphadr >= 0):
        yield from _hull(m.mesh_graph, int(m.mesh_graphadr[i]), int(vertices[i]))
        corners = int(m.mesh_graph[m.mesh_graphadr[i]])
        yield from outside(f"mesh_extrema of mesh {i}, a corner of its hull:", m.mesh_extrema[i], 0, corners)


def _hull(graph: np.ndarray, at: int, vertices: int) -> Iterator[str]:
    """A convex hull: two counts, then for each corner the place of its edges, and its vertex; edges; faces."""
    corners, faces = (int(n) for n in np.resize(graph[at : at + 2], 2))
    edges = corners + 3 * faces
    if corners < 1 or faces < 1 or at + 2 + 2 * corners + edges + 3 * faces > graph.size:
        yield f"mesh_graph[{at}] is the head of a hull with {corners} corners and {faces} faces, which does not fit"
    parts = np.split(graph[at + 2 :], np.cumsum([corners, corners, edges, 3 * faces]))
    for part, low, high in zip(parts, (0, 0, -1, 0), (edges, vertices, corners, vertices), strict=False):
        yield from outside(f"mesh_graph of the hull at {at}:", part, low, high)
    if parts[2][-1] != -1:
        yield f"mesh_graph of the hull at {at}: its list of edges has no end"


def octrees(m: Any) -> Iterator[str]:
    """A node has eight children or none; they come after it, so every walk ends; boxes have a size to divide by."""
    place = np.arange(m.noct) - np.repeat(m.mesh_octadr, m.mesh_octnum)
    size = np.repeat(m.mesh_octnum, m.mesh_octnum)
    yield from outside("oct_child", m.oct_child, -1, size[:, None])
    inner = (m.oct_child >= 0).any(axis=1)
    early = inner[:, None] & (m.oct_child <= place[:, None])
    yield from first(early, "oct_child", m.oct_child, "not a node that comes after its parent")
    yield from first(m.oct_aabb[:, 3:] <= 0.0, "oct_aabb", m.oct_aabb[:, 3:], "not a size of a box")


def bounding_volumes(m: Any) -> Iterator[str]:
    """Trees of bodies, then of meshes; children come after their parent, so every walk ends."""
    for owner in ("body", "mesh"):
        counts = getattr(m, f"{owner}_bvhnum")
        yield from outside(f"{owner}_bvhnum", counts, 0, m.nbvh + 1)
    counts = np.concatenate([m.body_bvhnum, m.mesh_bvhnum]).astype(np.int64)
    if counts.sum() != m.nbvh:
        yield f"body_bvhnum and mesh_bvhnum add up to {counts.sum()}, but nbvh is {m.nbvh}"
    begin = starts(counts)
    yield from unequal("body_bvhadr", m.body_bvhadr, np.where(m.body_bvhnum > 0, begin[: m.nbody], -1))
    yield from unequal("mesh_bvhadr", m.mesh_bvhadr, begin[m.nbody :])
    place = np.arange(m.nbvh) - np.repeat(begin, counts)
    leaf = (m.bvh_child == -1).all(axis=1)
    size = np.repeat(counts, counts)
    yield from outside(
        "bvh_child", m.bvh_child, np.where(leaf, -1, place + 1)[:, None], np.where(leaf, 0, size)[:, None]
    )
    content = np.repeat(np.concatenate([np.full(m.nbody, m.ngeom), m.mesh_facenum]), counts)
    yield from outside("bvh_nodeid", m.bvh_nodeid, np.where(leaf, 0, -1), np.where(leaf, content, 0))


def pairs(m: Any) -> Iterator[str]:
    """A signature holds two body ids."""
    for name in ("pair_signature", "exclude_signature"):
        for half in (getattr(m, name) >> 16, getattr(m, name) & 0xFFFF):
            yield from first((half < 0) | (half >= m.nbody), name, getattr(m, name), "not the ids of two bodies")
