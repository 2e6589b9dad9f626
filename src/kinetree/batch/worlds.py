"""`Worlds`: what a batch keeps of each world, as rows: an array (worlds, …) for every field that outlives a call.

That is the state, the inputs, readings of sensors and warnings. All else is computed on a thread's block of lanes, and is gone
after the block; what is bound is copied out before. Memory so depends on the state alone: 2.7 kB for the bundled humanoid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..data import Data
from ..data_fields import DATA_FIELDS
from ..fields import INPUT, REAL, STATE, Field
from ..initial import FULLY_AWAKE
from ..layout import checked, fitting, may_be_infinite, may_fill, shown
from ..model import Model
from ..types import DisableBit, EnableBit

# What is no state, and yet there before a step is made: warnings, the energy that a sensor reads a step later; readings, where
# not all are made in every step; by what a tree that sleeps is woken.
WARNINGS = ("warning_number", "warning_lastinfo")
PAUSED = ("sensordata", "sensor_fresh")
RESULTS = ("sensordata", "qacc")  # of the last pass, always at hand
OF_SLEEP = ("tree_asleep", "qpos_asleep", "frame_asleep", "qacc")  # which stays as it is where a tree sleeps
NOT_CARRIED = ("aba_force", "aba_diagonal")  # inputs of `aba` alone
STATES = tuple(name for name, f in DATA_FIELDS.items() if f.role == STATE and name not in OF_SLEEP)
INPUTS = tuple(name for name, f in DATA_FIELDS.items() if f.role == INPUT and name not in NOT_CARRIED)
WRITTEN = (*INPUTS, *STATES, "qacc")  # what users write; qacc is what inverse dynamics takes
# Real fields of every world, as they stand in a block.
PACKED = ("time", "energy", "qpos", "qvel", "act", "history", "plastic", "qacc_warmstart", "ctrl")
# Rows that are made when somebody first looks at them.
ON_DEMAND = tuple(name for name in INPUTS if name not in ("ctrl", "mocap_pos", "mocap_quat"))

WIDTHS = {"float64": 8, "float32": 16}  # worlds side by side: what one AVX-512 register holds


def state_names(model: Model) -> tuple[str, ...]:
    """What a step reads and writes of each world."""
    pauses = model.sensor_delay.any() or model.sensor_interval.any() or model.opt.disableflags & DisableBit.SENSOR
    asleep = model.opt.enableflags & EnableBit.SLEEP
    return (*STATES, *WARNINGS, "energy", *(PAUSED if pauses or asleep else ()), *(OF_SLEEP if asleep else ()))


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
        self.touching = np.zeros(n, np.int32)
        self.refresh_start()
        self._pack()
        for name in dict.fromkeys((*state_names(model), *WRITTEN, *RESULTS)):
            if name not in ON_DEMAND:
                self.add(name)

    def _pack(self) -> None:
        """Fields that stand side by side in a block stand so in a row too: they are copied as one."""
        shapes = {name: shape_of(name, self.model) for name in PACKED}
        whole, at = np.zeros((self.n, sum(map(math.prod, shapes.values()))), self.real), 0
        for name, shape in shapes.items():
            self.rows[name] = whole[:, at : at + math.prod(shape)].reshape(self.n, *shape)  # a view
            self.rows[name][:] = self.start[name]
            at += math.prod(shape)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Inputs of which there are rows; the others are as after a reset."""
        return tuple(name for name in INPUTS if name in self.rows)

    def refresh_start(self) -> None:
        """The state after a reset, as the model has it now."""
        initial = Data(self.model)._arrays
        for name in dict.fromkeys((*STATES, *WARNINGS, "energy", *PAUSED, *OF_SLEEP, *WRITTEN)):
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
        number = checked(value, shape, dtype_of(field, self.real), f"batch.{name}", infinite=may_be_infinite(name))
        if number.ndim == 0 and rows.ndim > 1 and rows[0].size != 1 and not may_fill(field, number.item()):
            raise ValueError(
                f"batch.{name}: expected shape {rows.shape} or {rows.shape[1:]}, got one number ({value!r})"
            )
        rows[...] = number

    def reset(self, ids: Any) -> None:
        """Back to the initial state in some worlds, named by an index of rows."""
        for name, rows in self.rows.items():
            rows[ids] = self.start[name] if name in self.start else 0

    def follow(self) -> None:
        """Take over where worlds start, if the model was edited there."""
        model, start = self.model, self.start
        same = np.array_equal(start["qpos"], model.qpos0.astype(self.real)) and np.array_equal(
            start["eq_active"], model.eq_active0
        )
        if not same or model.nmocap or model.nplastic:
            self.refresh_start()

    def wake(self, ids: np.ndarray) -> None:
        """Wake what sleeps in some worlds: their models have changed."""
        if "tree_asleep" in self.rows:
            asleep = self.rows["tree_asleep"]
            asleep[ids] = np.where(asleep[ids] >= 0, FULLY_AWAKE, asleep[ids])

    def of(self, name: str, ids: np.ndarray) -> np.ndarray:
        """What some worlds have of a field, (worlds, …); rows are not made for it."""
        if name in self.rows:
            return self.rows[name][ids]
        return np.broadcast_to(self.start[name], (len(ids), *self.start[name].shape))

    def write(self, values: Mapping[str, np.ndarray], ids: np.ndarray, where: str) -> None:
        """Write numbers into some worlds, (…) or (worlds, …) of each field; rows are made where it is not the start's.

        Numbers that are not finite stay so. Nothing is written if one does not fit.
        """
        fit = {}
        for name, numbers in values.items():
            of_type = dtype_of(DATA_FIELDS[name], self.real)
            fit[name] = (
                fitting(numbers, of_type, f"{where}: {name}") if of_type.kind == "f" else numbers.astype(of_type)
            )
        for name, numbers in fit.items():
            if name in self.rows or not (numbers == self.start[name]).all():
                self.add(name)[ids] = numbers

    def take(self, i: int, data: Data, names: Iterable[str]) -> None:
        """Copy a Data into the rows of one world."""
        values = {name: data._arrays[name].reshape(shape_of(name, self.model)) for name in names}
        self.write(values, np.array([i]), "set_data")

    def put(self, i: int, data: Data, names: Iterable[str]) -> None:
        """Copy the rows of one world into a Data."""
        for name in names:
            data._arrays[name][...] = self.of(name, np.array([i])).reshape(data._arrays[name].shape)
