"""What a layer of the comparison is: which fields, how closely, and how to fill them on either side."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

Getter = Callable[[Any, Any], np.ndarray]
Run = Callable[[Any, Any], None]

STEPS = 100
"""Length of a compared trajectory."""


@dataclass(frozen=True)
class Field:
    """One compared quantity. `ours(model, data)` and `theirs(model, data)` read it in our conventions.

    each: whether every number is judged by its own size, not by the largest of the field (see `compare`).
    """

    name: str
    ours: Getter
    theirs: Getter
    each: bool = False


@dataclass(frozen=True)
class Layer:
    """Fields computed together: `run(model, data)` fills ours, `oracle(model, data)` fills MuJoCo's.

    setting: changes that both models, which are alike in their names, undergo while the layer runs.
    prepare: makes MuJoCo's state of the layer, if the layer wants another one; ours is then set to it.
    count: how much there is to compare, by MuJoCo, if that may be nothing; nothing is not counted as agreement.
    jumps: whether the last digit may decide what happens, as where surfaces just touch or where a motion is chaotic. Where such
    a layer differs, it is first seen whether MuJoCo agrees with itself (see `spread`).
    """

    name: str
    tolerance: float
    run: Run
    oracle: Callable[[mujoco.MjModel, mujoco.MjData], None]
    fields: tuple[Field, ...]
    setting: Callable[[Any], AbstractContextManager[None]] = nullcontext
    prepare: Callable[[mujoco.MjModel, mujoco.MjData, np.random.Generator], None] | None = None
    count: Callable[[mujoco.MjModel, mujoco.MjData], int] | None = None
    jumps: bool = False


def plain(*names: str, each: bool = False) -> tuple[Field, ...]:
    """Fields that have the same name and meaning on both sides."""
    return tuple(Field(name, reader(name), reader(name), each) for name in names)


def converted(conversion: Callable[[Any, Any, str], np.ndarray], *names: str) -> tuple[Field, ...]:
    """Fields that MuJoCo takes at another reference point (see `convert`)."""

    def theirs(name: str) -> Getter:
        return lambda model, data: conversion(model, data, name)

    return tuple(Field(name, reader(name), theirs(name)) for name in names)


def reader(name: str) -> Getter:
    """Reads a field as it is."""
    return lambda _model, data: getattr(data, name)


def sequence(*stages: Callable[[Any, Any], Any]) -> Run:
    """One stage after the other."""

    def run(model: Any, data: Any) -> None:
        for stage in stages:
            stage(model, data)

    return run
