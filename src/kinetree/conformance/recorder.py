"""Motions of which not only the end is compared: what is read at some moments is kept, a row for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import budget
from .layer import Along, Field, Getter, Parts

Read = Callable[[Any, Any], dict[str, np.ndarray]]


class Recorder:
    """Runs a motion of either side and keeps what `read(model, data)` gives after the steps of some numbers, from zero.

    steps: how many there are, if the model is not too large. before: called with model, data and the number of the coming step.
    """

    def __init__(
        self, read: Read, steps: int, moments: Iterable[int], before: Callable[[Any, Any, int], None] | None = None
    ) -> None:
        self.read, self.steps, self.moments, self.before = read, steps, frozenset(moments), before
        self.records: dict[int, dict[str, np.ndarray]] = {}  # by the identity of a data, of its last run

    def motion(self, step: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        """The motion, by a function that takes one step."""

        def run(model: Any, data: Any) -> None:
            rows: dict[str, list[np.ndarray]] = {}
            for k in range(budget.steps(model, self.steps)):
                if self.before is not None:
                    self.before(model, data, k)
                step(model, data)
                if k in self.moments:
                    for name, values in self.read(model, data).items():
                        rows.setdefault(name, []).append(np.atleast_1d(np.array(values, float)))
            self.records[id(data)] = {name: np.array(values) for name, values in rows.items()}

        return run

    def field(self, name: str, along: Along = Along.NUMBERS, terms: str = "") -> Field:
        """What was read under a name. Each moment has a scale of its own, not smaller than what was read as its terms."""
        own: Getter | None = None if along is Along.READINGS else self._largest(name, terms)
        getter: Getter = lambda _model, data: self.records[id(data)][name]  # noqa: E731
        parts: Parts = ((0, "1"),) if along is Along.READINGS else ()
        return Field(name, getter, getter, along=along, scale=own, parts=parts)

    def _largest(self, name: str, terms: str) -> Getter:
        def largest(_model: Any, data: Any) -> np.ndarray:
            record = self.records[id(data)]
            tables = [record[name], record[terms]] if terms else [record[name]]
            return np.concatenate([np.abs(table) for table in tables], axis=1).max(axis=1, initial=0.0, keepdims=True)

        return largest
