"""The picture of `kinetree mass`: components by mass, the centre of gravity, and the ellipsoid of inertia."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..mass import Budget, MassProperties

WITHOUT_WINDOW = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")
LARGEST_DOT = 120.0  # points², of the heaviest component


def screen() -> bool:
    """Whether a window can be opened: without a screen matplotlib chooses a backend that has none."""
    return matplotlib.get_backend().lower() not in WITHOUT_WINDOW


def draw(path: Path, budget: Budget) -> None:
    """Write the picture."""
    figure = Figure(figsize=(11, 8), layout="constrained")
    FigureCanvasAgg(figure)
    _fill(figure, budget)
    figure.savefig(path, dpi=120)


def show(budget: Budget) -> None:
    """Open a window with the picture, and wait until it is closed."""
    from matplotlib import pyplot

    _fill(pyplot.figure(figsize=(11, 8), layout="constrained"), budget)
    pyplot.show()


def ellipsoid(properties: MassProperties) -> np.ndarray | None:
    """Half axes, as columns, of the solid ellipsoid with the same mass and inertia; None for a body that cannot exist."""
    if properties.mass <= 0 or properties.problems():
        return None
    moments = properties.principal_moments()
    squares = 2.5 / properties.mass * (moments.sum() - 2 * moments)
    return properties.principal_axes() * np.sqrt(np.maximum(squares, 0.0))


def _fill(figure: Any, budget: Budget) -> None:
    axes: Any = figure.add_subplot(projection="3d", computed_zorder=False)
    total, reached = budget.total, []
    heaviest = max((abs(c.mass) for c in budget.components.values()), default=0.0) or 1.0
    for name, component in budget.components.items():
        hole = name in budget.holes
        color = "tab:red" if hole else "tab:blue"
        reached.append(_body(axes, -component if hole else component, color, alpha=0.25))
        dot = max(LARGEST_DOT * abs(component.mass) / heaviest, 8.0)
        axes.scatter(*component.cg, s=dot, c="none" if hole else color, edgecolors=color, depthshade=False)
        axes.text(*component.cg, f"   {_plain(name)}", fontsize=8)
    reached.append(_body(axes, total, "tab:orange", alpha=0.6, label="total: solid ellipsoid of the same inertia"))
    axes.scatter(*total.cg, marker="x", s=120, c="black", linewidths=2, label=f"total: cg, {total.mass:.5g} kg")
    low, high = np.min([low for low, _ in reached], axis=0), np.max([high for _, high in reached], axis=0)
    margin = 0.05 * max(float((high - low).max()), 1e-3)
    limits = np.stack([low - margin, high + margin])
    axes.set(xlim=limits[:, 0], ylim=limits[:, 1], zlim=limits[:, 2])
    axes.set_box_aspect(np.maximum(np.ptp(limits, axis=0), 0.2 * np.ptp(limits, axis=0).max()), zoom=1.15)
    axes.set(xlabel="x (m)", ylabel="y (m)", zlabel="z (m)", title=_plain(budget.title))
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 1.0))


def _plain(text: str) -> str:
    """A name for matplotlib, which would read dollars as mathematics."""
    return text.replace("$", r"\$")


def _body(axes: Any, properties: MassProperties, color: str, alpha: float, label: str = "") -> Any:
    """Draw the ellipsoid of a body, if it has one; the corners of the box that it fills."""
    centre, half_axes = np.asarray(properties.cg), ellipsoid(properties)
    if half_axes is None or not half_axes.any():
        return centre, centre
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13))
    sphere = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)])
    surface = np.einsum("ij,jkl->ikl", half_axes, sphere) + centre[:, None, None]
    axes.plot_wireframe(*surface, color=color, lw=0.6, alpha=alpha, label=label)
    reach = np.linalg.norm(half_axes, axis=1)
    return centre - reach, centre + reach
