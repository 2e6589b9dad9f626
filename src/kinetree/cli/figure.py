"""The picture `kinetree run` writes: the model at a few instants, the centre of mass, some joints and energy over time.

Geoms are drawn as filled silhouettes: convex shapes, so the outline is the convex hull of projected surface points.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from ..io.whole import written_whole
from ..model import Model
from ..types import GeomType, JointType
from .motion import Motion
from .recording import Pose, Recording

CURVES = 6
AZIMUTH, ELEVATION = np.radians(60.0), np.radians(12.0)  # where the viewer stands
DARKEST = 0.35  # how much darker the farthest shape is than the nearest
HIDDEN_GROUP = 3  # MuJoCo's viewers do not show geoms of this group and above

LOOK = np.array([
    np.cos(ELEVATION) * np.cos(AZIMUTH), np.cos(ELEVATION) * np.sin(AZIMUTH), -np.sin(ELEVATION)
])  # fmt: skip
RIGHT = np.array([np.sin(AZIMUTH), -np.cos(AZIMUTH), 0.0])
UP = np.cross(RIGHT, LOOK)


def draw(path: Path, title: str, model: Model, recording: Recording) -> None:
    """Write the picture as PNG."""
    motion, com = recording.motion, recording.com
    figure = Figure(figsize=(15, 8), layout="constrained")
    FigureCanvasAgg(figure)  # no window system, no global state
    figure.suptitle(_plain(title), fontsize=14)
    halves = np.asarray(figure.subfigures(2, 1, height_ratios=(1, 1)))
    _film_strip(halves[0].subplots(), model, com, motion, recording.poses)
    panels = halves[1].subplots(1, 3 if recording.energy is None else 4)
    _path_from_above(panels[0], motion, com)
    _height(panels[1], motion, com)
    if recording.energy is not None:
        _energy(panels[2], motion, recording.energy)
    _joints(panels[-1], model, motion)
    with written_whole(path) as file:
        figure.savefig(file, dpi=120, format="png")


def _film_strip(axes: Axes, model: Model, com: np.ndarray, motion: Motion, poses: list[Pose]) -> None:
    """The model at equal intervals, side by side.

    The viewer stands still before a model on a fixed base, and goes along with one that floats or travels far.
    """
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_visible(False)
    shapes = {g: _surface(GeomType(int(model.geom_type[g])), model.geom_size[g]) for g in _visible_geoms(model)}
    if not shapes:
        axes.text(0.5, 0.5, "no shapes to draw", ha="center", transform=axes.transAxes)
        return
    size = float(np.ptp(_corners(_outlines(model, poses[0], shapes, com[0])), axis=0).max())
    travel = np.ptp(com, axis=0)
    along = bool(np.any(model.jnt_type == JointType.FREE)) or travel[:2].max() > 2 * size
    followed = np.array([along, along, travel[2] > 2 * size])
    centres = [com[np.argmin(np.abs(motion.time - pose.time))] for pose in poses]
    strips = [_outlines(model, p, shapes, np.where(followed, c, com[0])) for p, c in zip(poses, centres, strict=True)]
    corners = [_corners(strip) for strip in strips]
    if not along:
        corners = [np.vstack(corners)] * len(poses)
    low, gap, right = min(points[:, 1].min() for points in corners), 0.15 * size, 0.0
    for pose, strip, points in zip(poses, strips, corners, strict=True):
        left, width = points[:, 0].min(), np.ptp(points[:, 0])
        hulls = [hull + (right - left, 0) for hull, _ in strip]
        colors = [color for _, color in strip]
        edges = [(*color[:3] * 0.5, color[3]) for color in colors]
        axes.add_collection(PolyCollection(hulls, facecolors=colors, edgecolors=edges, lw=0.6))
        axes.text(right + width / 2, low - gap / 2, f"{pose.time:.2f} s", ha="center", va="top", color="0.4")
        right += width + gap
    axes.autoscale_view()
    axes.set_ylim(bottom=low - 1.5 * gap)


Outline = tuple[np.ndarray, np.ndarray]  # corners in the plane of the picture, colour


def _outlines(model: Model, pose: Pose, shapes: dict[int, np.ndarray], origin: np.ndarray) -> list[Outline]:
    """Silhouettes of all shapes as the viewer sees them, far ones first and darker."""
    depth = {g: (pose.positions[g] - origin) @ LOOK for g in shapes}
    far, near = max(depth.values()), min(depth.values())
    out = []
    for g in sorted(shapes, key=lambda g: -depth[g]):
        points = pose.positions[g] - origin + shapes[g] @ pose.rotations[g].T
        shade = 1 - DARKEST * (depth[g] - near) / max(far - near, 1e-9)
        color = np.clip(model.geom_rgba[g], 0, 1) * (shade, shade, shade, 1)
        out.append((convex_hull(np.column_stack([points @ RIGHT, points @ UP])), color))
    return out


def _corners(strip: list[Outline]) -> np.ndarray:
    return np.vstack([hull for hull, _ in strip])


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


def _energy(axes: Axes, motion: Motion, energy: np.ndarray) -> None:
    potential, kinetic = energy.T
    axes.plot(motion.time, potential, lw=1.3, label="potential")
    axes.plot(motion.time, kinetic, lw=1.3, label="kinetic")
    axes.plot(motion.time, potential + kinetic, lw=1.3, color="black", label="total")
    axes.set(title="energy", xlabel="time (s)", ylabel="J")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)


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
