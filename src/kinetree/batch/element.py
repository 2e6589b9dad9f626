"""Named access in a batch: `batch.joint("knee").qpos` is an array (n, …), with a row for each world."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..data_fields import DATA_FIELDS
from ..model import Model
from ..named import Element


class _LastAxis:
    """The fields of a batch with the worlds as their last axis, as an element takes rows from the first."""

    def __init__(self, batch: Any):
        self._batch = batch

    def __getattr__(self, name: str) -> np.ndarray:
        return np.moveaxis(getattr(self._batch, name), 0, -1)


class BatchElement(Element):
    """One named element in all worlds; its attributes are views, and assigning writes through."""

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
        whole = np.array(getattr(self._batch, name))  # so that all is checked before anything is written
        target = np.moveaxis(Element(_LastAxis(SimpleNamespace(**{name: whole})), DATA_FIELDS, self._model, self._kind,
                                     self.id)._rows(attribute)[1], -1, 0)  # fmt: skip
        target[...] = np.reshape(value, target.shape) if np.size(value) == target.size else value
        setattr(self._batch, name, whole)

    def __reduce__(self) -> tuple:
        return self._batch._element, (self._kind, self.id)
