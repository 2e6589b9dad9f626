"""The layers of the comparison: which fields, how closely, and how to fill them on either side.

A new layer is one more row in `LAYERS`. Rows are run in order on the same pair of datas, so a layer may count on what
the rows above it have computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

import kinetree as kt

from ..dynamics.tendon import tendon
from . import convert, tolerances

Getter = Callable[[Any, Any], np.ndarray]


@dataclass(frozen=True)
class Field:
    """One compared quantity. `ours(model, data)` and `theirs(model, data)` read it in our conventions."""

    name: str
    ours: Getter
    theirs: Getter


@dataclass(frozen=True)
class Layer:
    """Fields computed together: `run(model, data)` fills ours, `oracle(model, data)` fills MuJoCo's."""

    name: str
    tolerance: float
    run: Callable[[Any, Any], None]
    oracle: Callable[[mujoco.MjModel, mujoco.MjData], None]
    fields: tuple[Field, ...]


def plain(*names: str) -> tuple[Field, ...]:
    """Fields that have the same name and meaning on both sides."""
    return tuple(Field(name, _reader(name), _reader(name)) for name in names)


def converted(conversion: Callable[[Any, Any, str], np.ndarray], *names: str) -> tuple[Field, ...]:
    """Fields that MuJoCo takes at another reference point (see `convert`)."""

    def theirs(name: str) -> Getter:
        return lambda model, data: conversion(model, data, name)

    return tuple(Field(name, _reader(name), theirs(name)) for name in names)


def _reader(name: str) -> Getter:
    return lambda _model, data: getattr(data, name)


def _run_positions(model: Any, data: Any) -> None:
    kt.kinematics(model, data)
    kt.com_pos(model, data)
    kt.camlight(model, data)


def _oracle_positions(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_camlight(model, data)


def _already_run(_model: Any, _data: Any) -> None:
    """The layer above has filled these fields too."""


def subtree_mass(model: mujoco.MjModel, _data: mujoco.MjData) -> np.ndarray:
    """Mass of every body with all its descendants, summed from the leaves: MuJoCo keeps no such field in its data."""
    mass = np.array(model.body_mass, dtype=float)
    for body in range(model.nbody - 1, 0, -1):
        mass[model.body_parentid[body]] += mass[body]
    return mass


LAYERS: tuple[Layer, ...] = (
    Layer(
        "kinematics",
        tolerances.KINEMATICS,
        _run_positions,
        _oracle_positions,
        plain(
            "xpos", "xquat", "xmat", "xipos", "xiquat", "ximat", "xanchor", "xaxis",
            "geom_xpos", "geom_xquat", "geom_xmat", "site_xpos", "site_xquat", "site_xmat",
            "cam_xpos", "cam_xmat", "light_xpos", "light_xdir", "subtree_com",
        ),
    ),
    Layer(
        "com",
        tolerances.COM,
        _already_run,
        _already_run,
        (
            Field("subtree_mass", _reader("subtree_mass"), subtree_mass),
            *converted(convert.body_inertia, "cinert"),
            *converted(convert.dof_motion, "cdof"),
        ),
    ),
    Layer("tendon", tolerances.FORCE, tendon, mujoco.mj_tendon, plain("ten_length", "ten_J")),
)  # fmt: skip


def layer_names() -> tuple[str, ...]:
    """Names of all layers, in the order in which they run."""
    return tuple(layer.name for layer in LAYERS)
