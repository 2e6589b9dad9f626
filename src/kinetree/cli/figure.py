"""The picture `kinetree run` writes: the model at a few instants, the centre of mass, some joints over time.

Geoms are drawn as filled silhouettes: convex shapes, so the outline is the convex hull of projected surface points.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from ..model import Model
from ..types import GeomType, JointType
from .motion import Motion

SNAPSHOTS = 6
CURVES = 6
AZIMUTH, ELEVATION = np.radians(60.0), np.radians(12.0)  # where the viewer stands
HIDDEN_GROUP = 3  # MuJoCo's viewers do not show geoms of this group and above

LOOK = np.array([
    np.cos(ELEVATION) * np.cos(AZIMUTH), np.cos(ELEVATION) * np.sin(AZIMUTH), -np.sin(ELEVATION)
])  # fmt: skip
RIGHT = np.array([np.sin(AZIMUTH), -np.cos(AZIMUTH), 0.0])
UP = np.cross(RIGHT, LOOK)


@dataclass(frozen=True)
class Pose:
    """Where all geoms are at one instant: time in s, positions (ngeom, 3) in m, rotation matrices (ngeom, 3, 3)."""

    time: float
    positions: np.ndarray
    rotations: np.ndarray


def draw(path: Path, name: str, model: Model, motion: Motion, com: np.ndarray, poses: list[Pose]) -> None:
    """Write the picture as PNG."""
    figure = Figure(figsize=(12, 7), layout="constrained")
    FigureCanvasAgg(figure)  # no window system, no global state
    figure.suptitle(f"{_plain(name)}: kinematic motion, no dynamics yet", fontsize=13)
    halves = np.asarray(figure.subfigures(2, 1, height_ratios=(1, 1.1)))
    _film_strip(halves[0].subplots(), model, motion, com, poses)
    path_axes, height_axes, joint_axes = halves[1].subplots(1, 3, width_ratios=(1, 1, 1.2))
    _path_from_above(path_axes, motion, com)
    _height(height_axes, motion, com)
    _joints(joint_axes, model, motion)
    figure.savefig(path, dpi=120)


def _film_strip(axes: Axes, model: Model, motion: Motion, com: np.ndarray, poses: list[Pose]) -> None:
    """The model at equal intervals, side by side, each above the ground point below its centre of mass."""
    shapes = {g: _surface(GeomType(int(model.geom_type[g])), model.geom_size[g]) for g in _visible_geoms(model)}
    strips = []
    for pose in poses:
        ground = com[np.searchsorted(motion.time, pose.time)] * (1, 1, 0)
        outlines = []
        for g in sorted(shapes, key=lambda g: -(pose.positions[g] @ LOOK)):  # far ones first
            points = pose.positions[g] - ground + shapes[g] @ pose.rotations[g].T
            outlines.append((convex_hull(np.column_stack([points @ RIGHT, points @ UP])), model.geom_rgba[g]))
        strips.append(outlines)
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_visible(False)
    if not shapes:
        axes.text(0.5, 0.5, "no shapes to draw", ha="center", transform=axes.transAxes)
        return
    extent = max(np.abs(hull[:, 0]).max() for outlines in strips for hull, _ in outlines)
    low = min(hull[:, 1].min() for outlines in strips for hull, _ in outlines)
    for k, (pose, outlines) in enumerate(zip(poses, strips, strict=True)):
        shift = np.array([2.1 * extent * k, 0.0])
        colors = [np.clip(rgba, 0, 1) for _, rgba in outlines]
        edges = [(*color[:3] * 0.5, color[3]) for color in colors]
        hulls = [hull + shift for hull, _ in outlines]
        axes.add_collection(PolyCollection(hulls, facecolors=colors, edgecolors=edges, lw=0.6))
        axes.text(shift[0], low - 0.1 * extent, f"{pose.time:.2f} s", ha="center", va="top", color="0.4")
    axes.autoscale_view()
    axes.set_ylim(bottom=low - 0.3 * extent)


def _visible_geoms(model: Model) -> list[int]:
    """Geoms that move and have an outline: not the scenery, not planes and terrain, not what viewers hide."""
    endless = (GeomType.PLANE, GeomType.HFIELD)
    return [
        g
        for g in range(model.ngeom)
        if model.geom_bodyid[g] and model.geom_type[g] not in endless
        and model.geom_group[g] < HIDDEN_GROUP and model.geom_rgba[g, 3] > 0
    ]  # fmt: skip


def _surface(kind: GeomType, size: np.ndarray) -> np.ndarray:
    """Points on the surface of a geom, in its own frame; meshes are drawn as their bounding boxes."""
    if kind == GeomType.SPHERE:
        return size[0] * _sphere()
    if kind == GeomType.ELLIPSOID:
        return size * _sphere()
    if kind == GeomType.CAPSULE:
        ends = np.array([[0.0, 0.0, size[1]]])
        return np.vstack([size[0] * _sphere() + ends, size[0] * _sphere() - ends])
    if kind == GeomType.CYLINDER:
        angle = np.linspace(0, 2 * np.pi, 32, endpoint=False)
        rim = size[0] * np.column_stack([np.cos(angle), np.sin(angle)])
        return np.vstack([np.column_stack([rim, np.full(32, z)]) for z in (-size[1], size[1])])
    corners = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    return size * corners


def _sphere(count: int = 120) -> np.ndarray:
    """Evenly spread points on the unit sphere (Fibonacci lattice)."""
    k = np.arange(count) + 0.5
    z, turn = 1 - 2 * k / count, np.pi * (1 + 5**0.5) * k
    rim = np.sqrt(1 - z * z)
    return np.column_stack([rim * np.cos(turn), rim * np.sin(turn), z])


def convex_hull(points: np.ndarray) -> np.ndarray:
    """Corners of the convex hull of points in the plane, anticlockwise (Andrew's monotone chain)."""
    ordered = sorted(map(tuple, points.tolist()))

    def chain(sequence: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
        out: list[tuple[float, ...]] = []
        for p in sequence:
            while len(out) > 1 and _turns_right(out[-2], out[-1], p):
                out.pop()
            out.append(p)
        return out[:-1]

    corners = chain(ordered) + chain(ordered[::-1])
    return np.array(corners or ordered[:1])


def _turns_right(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0


def _path_from_above(axes: Axes, motion: Motion, com: np.ndarray) -> None:
    points = axes.scatter(com[:, 0], com[:, 1], c=motion.time, cmap="viridis", s=6)
    middle, reach = (com.max(axis=0) + com.min(axis=0)) / 2, max(0.02, np.ptp(com[:, :2], axis=0).max() * 0.6)
    axes.set(xlim=(middle[0] - reach, middle[0] + reach), ylim=(middle[1] - reach, middle[1] + reach), aspect="equal")
    axes.set(title="centre of mass from above", xlabel="x (m)", ylabel="y (m)")
    axes.figure.colorbar(points, ax=axes, label="time (s)", shrink=0.8)
    axes.grid(alpha=0.3)


def _height(axes: Axes, motion: Motion, com: np.ndarray) -> None:
    axes.plot(motion.time, com[:, 2], color="tab:blue")
    axes.set(title="centre of mass, height", xlabel="time (s)", ylabel="z (m)")
    axes.grid(alpha=0.3)


def _joints(axes: Axes, model: Model, motion: Motion) -> None:
    """The joints that move most."""
    curves = {}
    for j in range(model.njnt):
        kind, q, label = JointType(int(model.jnt_type[j])), int(model.jnt_qposadr[j]), model.name("joint", j) or f"#{j}"
        if kind == JointType.BALL:
            vector = np.linalg.norm(motion.qpos[:, q + 1 : q + 4], axis=1)
            curves[label] = 2 * np.arctan2(vector, motion.qpos[:, q])
        elif kind != JointType.FREE:
            curves[label] = motion.qpos[:, q]
    for label in sorted(curves, key=lambda name: -np.ptp(curves[name]))[:CURVES]:
        axes.plot(motion.time, curves[label], lw=1.3, label=_plain(label))
    axes.set(title="joint positions", xlabel="time (s)", ylabel="rad, or m for slides")
    axes.grid(alpha=0.3)
    if not curves:
        axes.text(0.5, 0.5, "no hinge, slide or ball joints", ha="center", transform=axes.transAxes)
    else:
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def _plain(text: str) -> str:
    """A name for matplotlib, which would read dollars as mathematics."""
    return text.replace("$", r"\$")
