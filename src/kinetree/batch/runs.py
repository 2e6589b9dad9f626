"""`Runs`: how a batch runs its worlds: which are taken, in which order, with what going in and out, and who is told.

A base of `Batch`. MuJoCo: the loop of mujoco.batch.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .. import pipeline
from ..errors import BusyError, UnsupportedFeatureError
from ..kernel.machine import machine
from ..model import Model
from ..notices import get_ready
from .blocks import DERIVE
from .controllers import FREE, Under
from .crew import Crew
from .lanes import LaneData
from .parameters import Places
from .plan import FRESH, Block, Plan, Rows
from .results import (
    found_by_inverse,
    stages_wanted,
    wanted,
)
from .telling import Told
from .worlds import INPUTS, RESULTS, WIDTHS, Worlds, state_names

Method = TypeVar("Method", bound=Callable[..., Any])


def alone(method: Method) -> Method:
    """Decorator: a method that runs worlds or changes them all, which one call at a time may do."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        if not self._lock.acquire(blocking=False):
            raise BusyError("this Batch is in the middle of a call: give each thread its own kt.Batch")
        try:
            return method(self, *args, **named)
        finally:
            self._lock.release()

    return call  # type: ignore[return-value]


class Runs:
    """Worlds of a model, and the threads that run them."""

    model: Model
    n: int
    dtype: str
    threads: int
    width: int
    _worlds: Worlds
    _told: Told
    _crew: Crew
    _parameters: Any  # or None, as long as all worlds have the model's
    _bound: dict[str, np.ndarray]
    _plans: dict[Any, Plan]
    _buffers: dict[Any, Any]
    _fresh: dict[str, int]
    _everyone: np.ndarray
    _version: int
    _edition: int

    def __init__(self, model: Model, n: int, dtype: str = "float64", threads: int | None = None):
        if not isinstance(model, Model):
            raise TypeError(f"Batch needs a kinetree Model, got {type(model).__name__}: use kt.load first")
        try:
            dtype = np.dtype(dtype).name  # NumPy's types are taken too
        except TypeError:
            dtype = str(dtype)
        if dtype not in WIDTHS:
            raise ValueError(f"dtype: {dtype!r} is none of {', '.join(WIDTHS)}")
        own = self.__dict__
        own["model"], own["n"], own["dtype"] = model, _count("n", n), dtype
        own["threads"] = _processors() if threads is None else _count("threads", threads)
        own["width"] = WIDTHS[dtype]
        own["_worlds"] = Worlds(model, n, dtype)
        own["_everyone"] = np.arange(n)
        own["_bound"] = {}
        own["_plans"], own["_buffers"] = {}, {}
        own["_parameters"] = None
        own["_version"] = 0  # of what the models of lanes have to expect
        own["_fresh"] = dict.fromkeys(FRESH, 0)
        own["_told"] = Told(model, self._worlds)
        own["_lock"] = threading.Lock()
        own["_edition"] = model._constant("edition")
        make = weakref.WeakMethod(self._new_block)
        own["_crew"] = Crew(self.threads, lambda: make()())  # type: ignore[misc]

    @alone
    def _run(
        self,
        ids: Any,
        nstep: int = 0,
        stages: Sequence[Any] = (),
        takes: tuple[str, ...] = (),
        plan: Plan | None = None,
        keep: bool = True,
        progress: Callable[[int], None] | None = None,
        under: Under = FREE,
    ) -> None:
        """Run steps, or stages if there are some, on worlds. takes: further inputs. keep: whether their state goes back."""
        model, lanes = self.model, machine(self.dtype, self.width, self._parameters is not None)
        if model.callbacks.any:
            raise UnsupportedFeatureError([f"callbacks in a batch ({model.callbacks})"], "Batch")
        get_ready(model)
        self._follow_model()
        order = self._in_blocks(self._ids(ids))
        code = under.entry.on(lanes, model)
        plan = plan or self._usual_plan(stages, takes)
        for stage in (*stages, *stages_wanted(plan.constants)):
            stage.compile_for(lanes, model)
        shared = {"stop": self._crew.stop, "resets": self._worlds.resets}
        before, after, news = dict(self._fresh), dict(self._fresh), []

        def job(block: Block, first: int, end: int) -> None:
            if block.version != self._version:
                self._parameters.open(block.lanes.models)
                block.version = self._version
            further = under.join(block)
            fresh, told = block.run(code, plan, order, first, end, nstep, before, shared, *further)
            after.update(fresh)
            if told:
                news.append(first)

        try:
            self._crew.run(len(order), self.width, len(order) * max(nstep, 1), job, progress)
        finally:
            if keep:
                self._fresh.update(after)
                if news:
                    self._told.tell()

    def _follow_model(self) -> None:
        """After edits of the model: what sleeps with another edition of it wakes, and a reset leads to its present start."""
        if self._edition != self.model._constant("edition"):
            self.__dict__["_edition"] = self.model._constant("edition")
            self._worlds.wake(self._everyone)
        self._worlds.follow()

    def _usual_plan(self, stages: Sequence[Any], takes: tuple[str, ...]) -> Plan:
        """State and inputs in, state and what is bound out; the same for calls of one kind."""
        names = state_names(self.model)
        key = (names, self._worlds.inputs, tuple(self._bound), tuple(stages), takes)
        if key not in self._plans:
            results = self._results
            if pipeline.inverse in stages:
                results = {name: rows for name, rows in results.items() if found_by_inverse(name)}
                results["qfrc_inverse"] = self._bound["qfrc_inverse"]
            self._plans[key] = self._plan(names, results, stages, takes)
        return self._plans[key]

    @property
    def _results(self) -> dict[str, np.ndarray]:
        """Rows of results that go out in every call, but for what `inverse` alone finds."""
        bound = {name: rows for name, rows in self._bound.items() if name != "qfrc_inverse"}
        return {**{name: self._worlds.rows[name] for name in RESULTS}, **bound}

    def _plan(
        self,
        names: tuple[str, ...],
        results: Mapping[str, np.ndarray],
        stages: Sequence[Any] = (),
        takes: tuple[str, ...] = (),
        control: Sequence[Rows] = (),
        record: Sequence[Rows] = (),
        keep: bool = True,
    ) -> Plan:
        state = [Rows(name, self._worlds.add(name)) for name in names]
        inputs = [Rows(name, self._worlds.add(name)) for name in (*self._worlds.inputs, *takes)]
        start = [Rows(name, self._worlds.start[name], shared=True) for name in dict.fromkeys((*names, *INPUTS))]
        own = {} if self._parameters is None else self._parameters.rows
        starts = {} if self._parameters is None else self._parameters.start(self.model)
        start = [Rows(each.name, starts[each.name]) if each.name in starts else each for each in start]
        tables = {
            "parameters": [Rows(name, array, owner="model") for name, array in own.items()],
            "state": state if keep else [], "inputs": inputs if keep else [*state, *inputs], "start": start,
            "results": [Rows(name, array) for name, array in results.items() if not (keep and name in names)]
            + [Rows("touching", self._worlds.touching)],
            "control": list(control), "record": list(record),
        }  # fmt: skip
        on_demand = wanted([*results, *(rows.name for rows in record)])
        return Plan(tables, stages, {"when": self._worlds.when.ctypes.data, **on_demand})

    def _new_block(self) -> Block:
        if self._parameters is None:
            return Block(LaneData(self.model, self.width, self.dtype))
        lanes = LaneData(self.model, self.width, self.dtype, own=True, numbers=self._parameters.base)
        return Block(lanes, model=Places(lanes.models))  # type: ignore[arg-type]

    def _in_blocks(self, ids: np.ndarray) -> np.ndarray:
        """Worlds in the order in which they go into blocks: those with contacts of the same bodies side by side.

        They share rows, and so have fewer in all; to the numbers of a world its neighbours make no difference.
        """
        if len(ids) <= self.width:
            return ids
        return ids[np.argsort(self._worlds.touching[ids].astype(np.int16), kind="stable")]

    def _ids(self, ids: Any) -> np.ndarray:
        """Numbers of worlds, each once."""
        if ids is None:
            return self._everyone
        array = np.asarray(ids)
        if array.dtype == bool:
            if array.shape != (self.n,):
                raise ValueError(f"a mask of worlds has shape ({self.n},), got {array.shape}")
            return np.flatnonzero(array)
        array = np.atleast_1d(array)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise TypeError(
                f"worlds are named by whole numbers or by a mask of {self.n} flags: mask.astype(bool) makes one"
            )
        array = array.astype(np.int64)
        if array.size and not (0 <= array.min() and array.max() < self.n):
            wrong = int(array[(array < 0) | (array >= self.n)][0])
            raise IndexError(f"world {wrong} is outside 0..{self.n - 1}")
        if np.unique(array).size != array.size:
            raise ValueError("a world is named twice: numbers name worlds, and a mask is made of booleans")
        return array

    def _one(self, call: str, i: Any) -> int:
        """The number of one world."""
        ids = self._ids(i)
        if i is None or ids.size != 1:
            raise ValueError(f"batch.{call} is about one world, and got {'none' if i is None else ids.size}")
        return int(ids[0])

    def _derive(self, plan: Plan, ids: np.ndarray, groups: int) -> None:
        """Run a plan of derived constants on worlds."""
        code = DERIVE.on(machine(self.dtype, self.width, True), self.model)
        shared = {"stop": self._crew.stop, "resets": self._worlds.resets}

        def job(block: Block, first: int, end: int) -> None:
            self._parameters.open(block.lanes.models)
            block.run(code, plan, ids, first, end, 0, self._fresh, shared, groups)

        self._crew.run(len(ids), self.width, len(ids), job, None)


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"Batch: {name} must be a whole number from 1 on, got {value!r}")
    return int(value)


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
