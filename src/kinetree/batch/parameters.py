"""`Parameters`: what worlds of a batch have for themselves of the model: real fields with a row for each world.

A field is given values by `expand`, and what follows from it gets rows too, computed by our own kernels on lanes. Rows come into
the models of a thread's lanes with the state of each block; all other numbers are those of the batch's model when it was first
expanded. MuJoCo: expand and set_const of mujoco.batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..fields import Field
from ..layout import checked, may_be_infinite, may_fill
from ..model import FIELDS, LAYOUT, Model
from .constants import rederive
from .lanes import LaneData
from .models import GATES, OPTIONS, OWN, LaneModels


class Parameters:
    """Rows of parameters of n worlds. lanes: worlds with parameters of their own, to check and derive with."""

    def __init__(self, lanes: LaneData, n: int):
        self._lanes, self._n = lanes, n
        self.rows: dict[str, np.ndarray] = {}
        self.gates = dict.fromkeys(GATES, 0)

    @property
    def _models(self) -> LaneModels:
        assert self._lanes.models is not None
        return self._lanes.models

    def expand(self, name: str, values: Any, ids: np.ndarray) -> tuple[str, ...]:
        """Give some worlds their own numbers of a field, and all that follows from them; which fields have rows then.

        Nothing is changed if some of it is refused.
        """
        numbers = self._models.array(name)  # or an error that says why it has none
        shape = FIELDS[name].shape(self._models.base.sizes)
        given = _given(name, FIELDS[name], values, (len(ids), *shape), numbers.dtype)
        rows = {each: array.copy() for each, array in self.rows.items()}
        _row(rows, name, self._n, self._models)[ids] = given
        width, gates = self._lanes.width, dict(self.gates)
        for first in range(0, len(ids), width):
            block = ids[np.minimum(np.arange(first, first + width), len(ids) - 1)]
            self._bring(rows, block, name)
            self._models.write(name, rows[name][block])
            gates = {gate: max(gates[gate], self._gate(gate)) for gate in GATES}
            for derived in rederive(self._models, self._lanes, [name]):
                target = _row(rows, derived, self._n, self._models)
                found = np.moveaxis(place(self._models, derived), -1, 0)
                target[block] = found.reshape(width, *target.shape[1:])
        self.rows, self.gates = rows, gates
        return tuple(rows)

    def _bring(self, rows: dict[str, np.ndarray], block: np.ndarray, but: str) -> None:
        """What worlds have already into the models of the lanes."""
        for name, array in rows.items():
            if name != but:
                place(self._models, name)[...] = np.moveaxis(array[block], 0, -1).reshape(
                    place(self._models, name).shape
                )

    def _gate(self, name: str) -> int:
        return int(self._models.tables[0, LAYOUT.word[name]])

    def open(self, models: LaneModels) -> None:
        """Have models of other lanes expect such rows."""
        models.expect(self.rows, self.gates)

    def model_of(self, i: int) -> Model:
        """The model of one world."""
        self._bring(self.rows, np.full(self._lanes.width, i), "")
        self._models.note(self.rows)
        return self._models.of(0)


def place(models: LaneModels, name: str) -> np.ndarray:
    """Where the numbers of a field lie in the models of lanes; the last axis is the world."""
    return models.numbers[name] if name in OWN else models.options[OPTIONS.index(name)]


def _row(rows: dict[str, np.ndarray], name: str, n: int, models: LaneModels) -> np.ndarray:
    """The rows of a field, at first the numbers of the model."""
    if name not in rows:
        shape = FIELDS[name].shape(models.base.sizes)
        base = models.base._arrays[name] if name in OWN else np.array(models.base._constant(name))
        rows[name] = np.empty((n, *shape), place(models, name).dtype)
        rows[name][:] = base.reshape(shape)
    return rows[name]


def _given(name: str, field: Field, values: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Checked values: a row for each world, or one for all."""
    array = np.asarray(values)
    wanted = shape if array.ndim >= len(shape) else shape[1:]
    out = checked(values, wanted, dtype, f"batch.expand({name!r})", infinite=may_be_infinite(name))
    if out.ndim == 0 and len(shape) > 1 and not may_fill(field, out.item()):
        raise ValueError(f"batch.expand({name!r}): expected shape {shape} or {shape[1:]}, got one number ({values!r})")
    return np.broadcast_to(out, shape)
