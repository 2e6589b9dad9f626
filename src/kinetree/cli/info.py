"""`kinetree info`: what a model is made of, and what kinetree does not compute for it."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from ..errors import UnsupportedFeatureError
from ..io.load import load
from ..io.plugins import ATTRIBUTES, BOUNDS, PID, PREFIXES, TOUCH_GRID
from ..model import OPTION_CHOICES, Model
from ..model_fields import OPTION_FIELDS
from ..notices import not_computed
from ..types import (
    BiasType,
    DisableBit,
    DynType,
    EnableBit,
    GainType,
    JointType,
    ObjType,
    SensorType,
    TendonType,
    TrnType,
)
from .common import load_model, output

SIZES = {
    "bodies, the world included": "nbody", "joints": "njnt", "positions (nq)": "nq", "degrees of freedom (nv)": "nv",
    "controls (nu)": "nu", "activations (na)": "na", "actuators": "nactuator", "geoms": "ngeom", "sites": "nsite",
    "cameras": "ncam", "sensors": "nsensor", "tendons": "ntendon", "equalities": "neq", "keyframes": "nkey",
}  # fmt: skip

# Which elements a transmission drives; all others drive joints.
TRANSMITS_TO = {
    TrnType.TENDON: "tendon", TrnType.SITE: "site", TrnType.SLIDERCRANK: "site", TrnType.BODY: "body",
}  # fmt: skip
OBSERVED = {
    ObjType.BODY: "body", ObjType.XBODY: "body", ObjType.JOINT: "joint", ObjType.GEOM: "geom", ObjType.SITE: "site",
    ObjType.CAMERA: "camera", ObjType.TENDON: "tendon", ObjType.ACTUATOR: "actuator",
}  # fmt: skip


def info(argument: str) -> int:
    """Print all there is to say; the exit status is 1 for a model that kinetree refuses."""
    try:
        name, model = load_model(argument)
    except UnsupportedFeatureError as refusal:
        _print(f"{argument}: kinetree does not support", "red")
        for feature in refusal.features:
            _print(f"  {feature}", "red")
        return 1
    output.print(_sizes(name, model))
    output.print(_bodies(model))
    for size, part in (("njnt", _joints), ("nactuator", _actuators), ("ntendon", _tendons), ("nsensor", _sensors)):
        if getattr(model, size):
            output.print(part(model))
    if model.nkey:
        _print(f"keyframes: {', '.join(key or '(unnamed)' for key in model.names('keyframe'))}")
    _print(f"options that are not default: {', '.join(_options(model)) or 'none'}")
    missing = not_computed(model)
    _print(
        f"done otherwise: {', '.join(missing) or 'nothing, this model gets all it asks for'}",
        "yellow" if missing else "",
    )
    return 0


def _print(text: str, style: str = "") -> None:
    output.print(text, style=style, soft_wrap=True, markup=False, highlight=False)


def _table(title: str, *columns: str) -> Table:
    """A table whose first column names an element."""
    table = Table(title=Text(title), title_justify="left")
    table.add_column(columns[0], style="cyan")
    for column in columns[1:]:
        table.add_column(column)
    return table


def _add(table: Table, *cells: str) -> None:
    table.add_row(*(Text(cell) for cell in cells))  # names may look like markup


def _sizes(name: str, model: Model) -> Table:
    table = Table(title=Text(name), show_header=False, title_justify="left")
    table.add_column(style="cyan")
    table.add_column(justify="right")
    for label, size in SIZES.items():
        if getattr(model, size):
            table.add_row(label, str(getattr(model, size)))
    table.add_row("total mass", f"{np.sum(model.body_mass):.4g} kg")
    table.add_row("time step", f"{model.opt.timestep:g} s")
    return table


def _bodies(model: Model) -> Tree:
    """The tree of bodies with their masses and joints."""
    nodes: list[Tree] = []
    for b in range(model.nbody):
        label = Text(_label(model, "body", b), style="cyan") + Text(f"  {model.body_mass[b]:.4g} kg", style="default")
        first, count = int(model.body_jntadr[b]), int(model.body_jntnum[b])
        joints = [
            f"{_label(model, 'joint', j)} ({_named(JointType, model.jnt_type[j])})" for j in range(first, first + count)
        ]
        if joints:
            label += Text("  " + ", ".join(joints), style="default dim")
        nodes.append(Tree(label) if b == 0 else nodes[model.body_parentid[b]].add(label))
    return nodes[0]


def _joints(model: Model) -> Table:
    table = _table("Joints", "joint", "type", "body", "range")
    for j in range(model.njnt):
        kind = JointType(int(model.jnt_type[j]))
        unit = "m" if kind == JointType.SLIDE else "rad"
        limits = _range(model.jnt_limited[j], model.jnt_range[j], unit)
        _add(
            table, _label(model, "joint", j), kind.name.lower(), _label(model, "body", int(model.jnt_bodyid[j])), limits
        )
    return table


def _actuators(model: Model) -> Table:
    table = _table("Actuators", "actuator", "acts on", "dynamics, gain, bias", "controls", "force")
    for a in range(model.nactuator):
        dynamics = _named(DynType, model.actuator_dyntype[a])
        gain, bias = _named(GainType, model.actuator_gaintype[a]), _named(BiasType, model.actuator_biastype[a])
        first, count = int(model.actuator_ctrladr[a]), int(model.actuator_ctrlnum[a])
        limits = zip(model.actuator_ctrllimited, model.actuator_ctrlrange, strict=True)
        controls = [_range(*pair) or "free" for pair in list(limits)[first : first + count]]
        force = _range(model.actuator_forcelimited[a], model.actuator_forcerange[a])
        p = int(model.actuator_plugin[a])
        laws = f"{dynamics}, {gain}, {bias}" if p < 0 else _pid(model, p, dynamics)
        _add(table, _label(model, "actuator", a), _target(model, a), laws, "; ".join(controls), force)
    return table


def _pid(model: Model, p: int, dynamics: str) -> str:
    """A plugin's laws: dynamics before it, its name and its parameters; bounds below zero are none."""
    values = {name: model._arrays[f"{PREFIXES[PID]}{name}"][p] for name in ATTRIBUTES[PID]}
    given = " ".join(f"{name} {value:g}" for name, value in values.items() if not (name in BOUNDS and value < 0.0))
    return f"{'' if dynamics == 'none' else f'{dynamics}, '}{PID} {given}"


def _grid(model: Model, p: int) -> str:
    """A plugin's name, and how many cells there are across and down, with how many numbers in each."""
    across, down = model.grid_size[p]
    return f"{TOUCH_GRID.removeprefix('mujoco.sensor.')} {across}x{down}x{model.grid_nchannel[p]}"


def _target(model: Model, actuator: int) -> str:
    """What an actuator acts on."""
    kind, (first, reference) = TrnType(int(model.actuator_trntype[actuator])), model.actuator_trnid[actuator].tolist()
    element = TRANSMITS_TO.get(kind, "joint")
    if kind == TrnType.SO3 and reference >= 0:
        element = "site"  # between two sites, otherwise of a ball joint
    return f"{kind.name.lower()} {_label(model, element, first)}"


def _tendons(model: Model) -> Table:
    table = _table("Tendons", "tendon", "type", "parts", "range", "stiffness", "damping")
    for t in range(model.ntendon):
        _add(
            table, _label(model, "tendon", t), _named(TendonType, model.tendon_type[t]), str(model.tendon_num[t]),
            _range(model.tendon_limited[t], model.tendon_range[t]), f"{model.tendon_stiffness[t]:g}",
            f"{model.tendon_damping[t]:g}",
        )  # fmt: skip
    return table


def _sensors(model: Model) -> Table:
    table = _table("Sensors", "sensor", "type", "of", "numbers")
    for s in range(model.nsensor):
        kind, index = ObjType(int(model.sensor_objtype[s])), int(model.sensor_objid[s])
        known = kind in OBSERVED and index >= 0
        target = f"{kind.name.lower()} {_label(model, OBSERVED[kind], index)}" if known else ""
        _add(
            table,
            _label(model, "sensor", s),
            _grid(model, int(model.sensor_plugin[s]))
            if model.sensor_type[s] == SensorType.PLUGIN
            else _named(SensorType, model.sensor_type[s]),
            target,
            str(model.sensor_dim[s]),
        )
    return table


def _options(model: Model) -> list[str]:
    """Options and flags that differ from those of an empty model."""
    default = load("<mujoco/>")
    flags = {"disableflags": ("without", DisableBit), "enableflags": ("with", EnableBit)}
    out = []
    for name in OPTION_FIELDS:
        value, usual = getattr(model.opt, name), getattr(default.opt, name)
        if np.array_equal(value, usual):
            continue
        if name in flags:
            word, bits = flags[name]
            out += [f"{word} {str(bit.name).lower()}" for bit in bits if value & ~usual & bit]
        else:
            out.append(f"{name} {_shown(name, value)}")
    return out


def _shown(name: str, value: Any) -> str:
    if name in OPTION_CHOICES:
        return _named(OPTION_CHOICES[name], value)
    return " ".join(f"{number:g}" for number in np.atleast_1d(value))


def _named(kinds: type[IntEnum], value: Any) -> str:
    return kinds(int(value)).name.lower()


def _range(limited: Any, bounds: np.ndarray, unit: str = "") -> str:
    return f"{bounds[0]:.4g} … {bounds[1]:.4g} {unit}".strip() if limited else ""


def _label(model: Model, kind: str, index: int) -> str:
    return model.name(kind, index) or f"#{index}"
