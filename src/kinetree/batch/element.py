"""Named access in a batch: `batch.joint("knee").qpos` is an array (n, …), with a row for each world."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..data_fields import DATA_FIELDS
from ..layout import checked, may_fill
from ..model import Model
from ..named import Element


class _LastAxis:
    """The fields of a batch with the worlds as their last axis, as an element takes rows from the first."""

    def __init__(self, batch: Any):
        self._batch = batch

    def __getattr__(self, name: str) -> np.ndarray:
        return np.moveaxis(getattr(self._batch, name), 0, -1)


class BatchElement(Element):
    """One named element in all worlds; its attributes are views, and assigning writes through.

    What is assigned is one number, what one world gets, (k,), or a row for each, (n, k); of an element with one entry that has
    no axis, a vector has an entry for each world.
    """

    __slots__ = ("_batch",)
    _batch: Any

    def __init__(self, batch: Any, model: Model, kind: str, index: int):
        super().__init__(_LastAxis(batch), DATA_FIELDS, model, kind, index)
        object.__setattr__(self, "_batch", batch)

    def _view(self, attribute: str) -> tuple[str, np.ndarray]:
        field, rows = self._rows(attribute)
        view = np.moveaxis(rows, -1, 0)
        if (
            rows.ndim == 2
            and field.shape_names[0] != "nq"
            and self._kind not in ("joint", "sensor")
            and rows.shape[0] == 1
        ):
            view = view[:, 0]
        return field.name, view

    def __getattr__(self, attribute: str) -> np.ndarray:
        if attribute.startswith("_"):
            raise AttributeError(f"an element has no {attribute!r}")
        return self._view(attribute)[1]

    def __setattr__(self, attribute: str, value: Any) -> None:
        if attribute in (*Element.__slots__, "_batch"):
            raise AttributeError(f"{attribute} of {self!r} is read-only")
        name, view = self._view(attribute)
        field, of_one = DATA_FIELDS[name], view.shape[1:]
        if not view.flags.writeable:
            raise AttributeError(f"batch.{name} is read-only: it is set by {field.stage!r}")
        shape = of_one if np.shape(value) == of_one else view.shape
        number = checked(value, shape, view.dtype, f"{self!r}.{attribute}")
        if number.ndim == 0 and math.prod(of_one) != 1 and not may_fill(field, number.item()):
            raise ValueError(
                f"{self!r}.{attribute}: expected shape {view.shape} or {of_one}, got one number ({value!r})"
            )
        view[...] = number

    def __reduce__(self) -> tuple:
        return self._batch._element, (self._kind, self.id)
