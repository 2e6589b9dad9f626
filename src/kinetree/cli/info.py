"""`kinetree info`: what a model is made of."""

from __future__ import annotations

import numpy as np
from rich.table import Table
from rich.text import Text

from ..model import Model
from ..types import JointType
from .common import load_model, output

SIZES = {
    "bodies, the world included": "nbody", "joints": "njnt", "positions (nq)": "nq", "degrees of freedom (nv)": "nv",
    "actuators": "nactuator", "geoms": "ngeom", "sites": "nsite", "sensors": "nsensor", "tendons": "ntendon",
    "equalities": "neq", "keyframes": "nkey",
}  # fmt: skip


def info(argument: str) -> None:
    """Print the tables."""
    name, model = load_model(argument)
    output.print(_sizes(name, model))
    output.print(_bodies(model))
    if model.nkey:
        keys = ", ".join(key or "(unnamed)" for key in model.names("keyframe"))
        output.print(f"keyframes: {keys}", markup=False, highlight=False)


def _sizes(name: str, model: Model) -> Table:
    table = Table(title=Text(name), show_header=False, title_justify="left")
    table.add_column(style="cyan")
    table.add_column(justify="right")
    for label, size in SIZES.items():
        table.add_row(label, str(getattr(model, size)))
    table.add_row("total mass", f"{np.sum(model.body_mass):.4g} kg")
    table.add_row("time step", f"{model.opt.timestep:g} s")
    return table


def _bodies(model: Model) -> Table:
    table = Table(title="Bodies", title_justify="left")
    table.add_column("id", justify="right")
    table.add_column("body", style="cyan")
    table.add_column("parent")
    table.add_column("mass (kg)", justify="right")
    table.add_column("joints")
    for b in range(model.nbody):
        parent = "" if b == 0 else _label(model, "body", int(model.body_parentid[b]))
        name, mass = _label(model, "body", b), f"{model.body_mass[b]:.4g}"
        table.add_row(str(b), Text(name), Text(parent), mass, _joints(model, b))
    return table


def _joints(model: Model, body: int) -> Text:
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    kinds = ((j, JointType(int(model.jnt_type[j])).name.lower()) for j in range(first, first + count))
    return Text("\n".join(f"{_label(model, 'joint', j)} ({kind})" for j, kind in kinds))


def _label(model: Model, kind: str, index: int) -> str:
    return model.name(kind, index) or f"#{index}"
