"""`Worlds`: what a batch keeps of each world, as rows: an array (worlds, …) for every field that outlives a call.

That is the state, the inputs, readings of sensors and warnings. All else is computed on a thread's block of lanes, and is gone
after the block; what is bound is copied out before. Memory so depends on the state alone: 2.7 kB for the bundled humanoid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..data import Data
from ..data_fields import DATA_FIELDS
from ..fields import INPUT, REAL, STATE, Field
from ..initial import FULLY_AWAKE
from ..layout import checked, may_be_infinite, shown
from ..model import Model
from ..types import EnableBit

# What is no state, and yet there before a step is made: readings, and those that wait for the time when they are due; the
# energy that a sensor reads a step later, warnings, and by what a tree that sleeps is woken.
REMEMBERED = ("sensordata", "energy", "warning_number", "warning_lastinfo")
OF_SLEEP = ("tree_asleep", "qpos_asleep", "frame_asleep")
NOT_CARRIED = ("aba_force", "aba_diagonal")  # inputs of `aba` alone
STATES = tuple(name for name, f in DATA_FIELDS.items() if f.role == STATE and name not in OF_SLEEP)
INPUTS = tuple(name for name, f in DATA_FIELDS.items() if f.role == INPUT and name not in NOT_CARRIED)
WRITTEN = (*INPUTS, *STATES, "qacc")  # what users write; qacc is what inverse dynamics takes
ON_DEMAND = tuple(name for name in INPUTS if name != "ctrl")  # rows that are made when somebody first looks at them


def state_names(model: Model) -> tuple[str, ...]:
    """What a step reads and writes of each world."""
    pauses = ("sensor_fresh",) if model.sensor_delay.any() or model.sensor_interval.any() else ()
    return (*STATES, *REMEMBERED, *pauses, *(OF_SLEEP if model.opt.enableflags & EnableBit.SLEEP else ()))


def dtype_of(field: Field, real: str) -> np.dtype:
    """The type of a field's numbers in a batch of a precision."""
    return np.dtype(real if field.dtype == REAL else field.dtype)


def shape_of(name: str, model: Model) -> tuple[int, ...]:
    """The shape of a field in one world: () for what is one number."""
    return DATA_FIELDS[name].shape(model.sizes)


class Worlds:
    """Rows of n worlds of a model, at first all at the initial state. Inputs that nobody has looked at have none yet."""

    def __init__(self, model: Model, n: int, real: str):
        self.model, self.n, self.real = model, n, real
        self.rows: dict[str, np.ndarray] = {}
        self.start: dict[str, np.ndarray] = {}
        self.resets = np.zeros(n, np.int64)
        self.when = np.zeros(n, real)
        self.refresh_start()
        for name in dict.fromkeys((*state_names(model), *WRITTEN)):
            if name not in ON_DEMAND:
                self.add(name)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Inputs of which there are rows; the others are as after a reset."""
        return tuple(name for name in INPUTS if name in self.rows)

    def refresh_start(self) -> None:
        """The state after a reset, as the model has it now."""
        initial = Data(self.model)._arrays
        for name in dict.fromkeys((*STATES, *REMEMBERED, "sensor_fresh", *OF_SLEEP, *WRITTEN)):
            field = DATA_FIELDS[name]
            row = initial[name].astype(dtype_of(field, self.real)).reshape(shape_of(name, self.model))
            if name in self.start:
                self.start[name][...] = row
            else:
                self.start[name] = row

    def add(self, name: str) -> np.ndarray:
        """The rows of a field, made if there are none."""
        if name not in self.rows:
            field = DATA_FIELDS[name]
            self.rows[name] = np.zeros((self.n, *shape_of(name, self.model)), dtype_of(field, self.real))
            if name in self.start:
                self.rows[name][:] = self.start[name]
        return self.rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def shown(self, name: str) -> np.ndarray:
        """The rows as users see them."""
        field = DATA_FIELDS[name]
        return shown(self.add(name), field.writable and name in WRITTEN)

    def assign(self, name: str, value: Any) -> None:
        """Write a checked value: one for all worlds, or a row for each."""
        field = DATA_FIELDS[name]
        if name not in WRITTEN:
            raise AttributeError(f"batch.{name} is read-only: it is set by {field.stage!r}")
        rows = self.add(name)
        array = np.asarray(value)
        shape = rows.shape if array.ndim >= rows.ndim or rows.ndim == 1 else rows.shape[1:]
        number = checked(value, shape, field.dtype, f"batch.{name}", infinite=may_be_infinite(name))
        if number.ndim == 0 and rows.ndim > 1 and number != 0 and rows[0].size != 1:
            raise ValueError(
                f"batch.{name}: expected shape {rows.shape} or {rows.shape[1:]}, got one number ({value!r})"
            )
        rows[...] = number

    def reset(self, ids: Any) -> None:
        """Back to the initial state in some worlds, named by an index of rows."""
        for name, rows in self.rows.items():
            rows[ids] = self.start[name] if name in self.start else 0

    def wake(self, ids: np.ndarray) -> None:
        """Wake what sleeps in some worlds: their models have changed."""
        if "tree_asleep" in self.rows:
            asleep = self.rows["tree_asleep"]
            asleep[ids] = np.where(asleep[ids] >= 0, FULLY_AWAKE, asleep[ids])

    def take(self, i: int, data: Data, names: Iterable[str]) -> None:
        """Copy a Data into the rows of one world."""
        for name in names:
            self.add(name)[i] = data._arrays[name].reshape(shape_of(name, self.model))

    def put(self, i: int, data: Data, names: Iterable[str]) -> None:
        """Copy the rows of one world into a Data."""
        for name in names:
            data._arrays[name][...] = self.add(name)[i].reshape(data._arrays[name].shape)
