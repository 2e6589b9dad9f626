"""What a layer of the comparison is: which fields, how closely, and how to fill them on either side."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import Enum
from typing import Any

import mujoco
import numpy as np

from ..types import Integrator

Getter = Callable[[Any, Any], np.ndarray]
Run = Callable[[Any, Any], None]
Prepare = Callable[[mujoco.MjModel, mujoco.MjData, np.random.Generator, int], None]
Parts = tuple[tuple[int, str], ...]

STEPS = 100
"""Length of a compared trajectory."""


class Along(Enum):
    """What the first axis of a field counts, and so how our entries find MuJoCo's (see `matching`)."""

    NUMBERS = "as they are"
    CONTACTS = "contacts, matched within a pair of geoms"
    ROWS = "rows of constraints, matched by what they belong to"
    READINGS = "sensors, with the slots of a contact sensor matched"


@dataclass(frozen=True)
class Field:
    """One compared quantity. `ours(model, data)` and `theirs(model, data)` read it in our conventions.

    each: whether every number is judged by its own size, not by the largest of the field (see `judge`).
    along: what its first axis counts.
    parts: columns of one unit and that unit, one after the other along the last axis; each has its own scale (see `scales`).
    scale: what entries are relative to, by MuJoCo, if not the largest of the field.
    choice: indices of the contacts that are compared, if not all are.
    """

    name: str
    ours: Getter
    theirs: Getter
    each: bool = False
    along: Along = Along.NUMBERS
    parts: Parts = ()
    scale: Getter | None = None
    choice: Getter | None = None


@dataclass(frozen=True)
class Layer:
    """Fields computed together: `run(model, data)` fills ours, `oracle(model, data)` fills MuJoCo's.

    setting: changes that both models, which are alike in their names, undergo while the layer runs.
    prepare: makes MuJoCo's state of the layer, if the layer wants another one; ours is then set to it. It gets a generator of
    random numbers and the number of the state.
    count: how much there is to compare, by MuJoCo, if that may be nothing; nothing is not counted as agreement.
    steps: how many steps a run takes, which is what its cost is reckoned by (see `budget`).
    sleeps: whether trees sleep if the model says so; otherwise all are awake.
    """

    name: str
    tolerance: float
    run: Run
    oracle: Callable[[mujoco.MjModel, mujoco.MjData], None]
    fields: tuple[Field, ...]
    setting: Callable[[Any], AbstractContextManager[None]] = nullcontext
    prepare: Prepare | None = None
    count: Callable[[mujoco.MjModel, mujoco.MjData], int] | None = None
    steps: int = 1
    sleeps: bool = False


def plain(*names: str, each: bool = False, along: Along = Along.NUMBERS, unit: str = "") -> tuple[Field, ...]:
    """Fields that have the same name and meaning on both sides, and one unit."""
    parts: Parts = ((0, unit),) if unit else ()
    return tuple(Field(name, reader(name), reader(name), each, along, parts) for name in names)


def converted(conversion: Callable[[Any, Any, str], np.ndarray], *names: str, parts: Parts = ()) -> tuple[Field, ...]:
    """Fields that MuJoCo takes at another reference point (see `convert`)."""

    def theirs(name: str) -> Getter:
        return lambda model, data: conversion(model, data, name)

    return tuple(Field(name, reader(name), theirs(name), parts=parts) for name in names)


def reader(name: str) -> Getter:
    """Reads a field as it is."""
    return lambda _model, data: getattr(data, name)


def unless_discrete(run: Run, otherwise: Run) -> Run:
    """One way to fill a layer, and another with the discrete integrator, where rows and accelerations wait for the metric."""

    def either(model: Any, data: Any) -> None:
        (otherwise if model.opt.integrator == Integrator.DISCRETE else run)(model, data)

    return either


def sequence(*stages: Callable[[Any, Any], Any]) -> Run:
    """One stage after the other."""

    def run(model: Any, data: Any) -> None:
        for stage in stages:
            stage(model, data)

    return run
