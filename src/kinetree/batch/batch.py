"""`Batch`: many worlds of one model, stepped side by side on SIMD lanes and threads. MuJoCo's mujoco.batch.Batch.

State and inputs are arrays with one row for each world, to read and to write. A call takes the worlds of a block onto the lanes
of a thread, runs, and puts their state back: memory grows with the state alone. Results of a world do not depend on the others,
on the number of threads, or on the order of worlds: they are the same to the last bit.
"""

from __future__ import annotations

import copy
import functools
import math
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .. import pipeline
from ..data import Data
from ..data_fields import DATA_FIELDS
from ..driver import check_nstep
from ..errors import BusyError, UnsupportedFeatureError, nearest
from ..kernel.machine import machine
from ..layout import checked, read_only
from ..model import Model
from ..named import NamedAccess
from ..notices import get_ready
from ..types import EnableBit
from .blocks import DERIVE
from .controllers import FREE, Under
from .crew import Crew
from .element import BatchElement
from .lanes import LaneData
from .parameters import Parameters, Places
from .plan import FRESH, Block, Plan, Rows
from .results import (
    found_by_inverse,
    has_place,
    is_read_alone,
    read_of,
    refuse_unless_found,
    refuse_unless_shown,
    stages_for,
    stages_wanted,
    wanted,
)
from .rollout import roll_out
from .saved import check_counts, checked_parts
from .stable_pd import BatchStablePD
from .telling import Told
from .worlds import INPUTS, OF_SLEEP, RESULTS, WIDTHS, WRITTEN, Worlds, dtype_of, shape_of, state_names

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


class Batch(NamedAccess):
    """n worlds of a model, at first all at its initial state.

    dtype: "float64", or "float32" for twice the lanes at single precision. threads: None is one for each processor.
    """

    _declared = DATA_FIELDS

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

    # fields

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_worlds" not in own or name.startswith("_"):
            raise AttributeError(f"Batch has no {name!r}")
        field = DATA_FIELDS.get(name)
        if field is None or not field.shown:
            raise AttributeError(
                f"batch has no {name!r}: {nearest(name, [f for f in DATA_FIELDS if DATA_FIELDS[f].shown])}"
            )
        return self.bind(name)

    def __setattr__(self, name: str, value: Any) -> None:
        field = DATA_FIELDS.get(name)
        if field is None or not field.shown:
            if hasattr(self, name):
                raise AttributeError(f"batch.{name} is read-only")
            raise AttributeError(f"batch has no {name!r}: {nearest(name, WRITTEN)}")
        self._worlds.assign(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *(name for name, field in DATA_FIELDS.items() if field.shown)})

    def bind(self, name: str) -> np.ndarray:
        """A live array (n, …) of a field. Of results, it holds from the next call on what the last pass of each world found.

        After `step` that is the pass before the last step, as in MuJoCo.
        """
        if name == "energy":
            refuse_unless_found(self.model, name)
        if name in self._worlds.rows or name in WRITTEN:
            return self._worlds.shown(name)
        if name not in self._bound:
            self._refuse_unless_per_world(name)
            if name != "qfrc_inverse":  # which `inverse` finds
                refuse_unless_found(self.model, name)
            self._bound[name] = np.zeros((self.n, *shape_of(name, self.model)), dtype_of(DATA_FIELDS[name], self.dtype))
        return read_only(self._bound[name])

    def _refuse_unless_per_world(self, name: str) -> None:
        refuse_unless_shown(name)
        if not has_place(name):
            raise ValueError(
                f"{name} has no fixed place in a block of worlds: see batch.read({name!r}), or batch.get_data(i)"
            )

    def _element(self, kind: str, key: str | int) -> BatchElement:
        return BatchElement(self, self.model, kind, self.model.id(kind, key))

    # running

    def step(self, nstep: int = 1, ids: Any = None, progress: Callable[[int], None] | None = None) -> None:
        """Advance worlds by some time steps, each alone if one goes bad. MuJoCo's mj_step for each.

        ids: which worlds, by number or by a mask; None is all. progress: called with the number of worlds that were done.
        """
        count = check_nstep("step", nstep)
        if count:
            self._run(ids, nstep=count, progress=progress)

    def forward(self, ids: Any = None) -> None:
        """Forward dynamics: accelerations, readings of sensors, bound results. MuJoCo's mj_forward for each world."""
        self._run(ids, stages=[pipeline.forward])

    def inverse(self, ids: Any = None) -> np.ndarray:
        """Inverse dynamics of `batch.qacc`: the joint forces that give it, (n, nv). MuJoCo's mj_inverse for each world."""
        forces = self.bind("qfrc_inverse")
        self._run(ids, stages=[pipeline.inverse], takes=("qacc",))
        return forces

    def read(self, name: str, ids: Any = None) -> Any:
        """A field as it is at the present state of worlds: computed for this call by the stages that it needs, and no others.

        The state stays as it is. Fields that worlds have no place for are computed world by world; those without a fixed size
        (contacts, rows) come as a list.
        """
        worlds = self._ids(ids)
        if name in WRITTEN and name != "qacc":
            return self._worlds.add(name)[worlds].copy()
        refuse_unless_shown(name)
        field = DATA_FIELDS[name]
        stages = stages_for(self.model, name)
        if is_read_alone(self.model, name):
            found = [read_of(self.get_data(int(i)), name) for i in worlds]
            if field.growing:
                return found
            shape, dtype = shape_of(name, self.model), dtype_of(field, self.dtype)
            return np.array(found, dtype).reshape(len(worlds), *shape)
        out = np.zeros((self.n, *shape_of(name, self.model)), dtype_of(field, self.dtype))
        plan = self._plan(state_names(self.model), {name: out}, stages, keep=False)
        self._run(worlds, stages=stages, plan=plan, keep=False)
        return out[worlds]

    def rollout(
        self,
        controls: Any = None,
        record: Sequence[str] = ("qpos", "qvel"),
        nstep: int | None = None,
        progress: Callable[[int], None] | None = None,
        controller: Any = None,
        target: Any = None,
    ) -> dict[str, np.ndarray]:
        """Steps with controls for each, and a record of fields after each: arrays (n, nstep, …) by name.

        controls: (nstep, nu) for all worlds or (n, nstep, nu); None leaves `batch.ctrl` as it is, for `nstep` steps. Of
        results the record of a step has what its forward pass found: that before the step, as in MuJoCo. Nothing of it passes
        through Python between steps.

        controller: a `StablePD` or what `stable_pd` makes, with target (nq,), (n, nq), (nstep, nq) or (n, nstep, nq), and
        "torque" to record; or a kernel of (m, d), compiled into the step where MuJoCo calls mjcb_control, once a step: RK4's
        substeps hold its controls; or a Python function of (batch, k), called before step k, which writes `batch.ctrl` or
        returns controls.
        """
        return roll_out(self, controller, target, controls, record, nstep, progress)

    def stable_pd(
        self,
        kp: Any,
        kd: Any,
        h: float | None = None,
        mode: str = "spd",
        solver: str = "auto",
        torque_limit: Any = None,
    ) -> BatchStablePD:
        """Stable PD on these worlds. kp, kd, torque_limit: as `kt.StablePD` takes them, or a row for each world, (n, nv)."""
        return BatchStablePD(self, kp, kd, h, mode, solver, torque_limit)

    def _controls(self, controls: Any, nstep: int | None) -> tuple[list[Rows], int]:
        """Controls as plans take them, and the number of steps."""
        if controls is None:
            if nstep is None:
                raise ValueError("rollout: give controls, or nstep")
            return [], check_nstep("rollout", nstep)
        array = np.asarray(controls)
        nu = self.model.nu
        if array.ndim not in (2, 3) or array.shape[-1] != nu or (array.ndim == 3 and array.shape[0] != self.n):
            raise ValueError(f"controls: expected shape (nstep, {nu}) or ({self.n}, nstep, {nu}), got {array.shape}")
        if nstep is not None and nstep != array.shape[-2]:
            raise ValueError(f"controls are for {array.shape[-2]} steps, and nstep is {nstep}")
        array = checked(array, array.shape, self.dtype, "controls")
        return [Rows("ctrl", np.ascontiguousarray(array), steps=True, shared=array.ndim == 2)], array.shape[-2]

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

    # parameters

    @alone
    def expand(self, name: str, values: Any = None, ids: Any = None) -> np.ndarray:
        """Give worlds their own numbers of a real field of the model, options with their prefix: "opt_timestep".

        values: one for all worlds, or a row for each, (n, …); None is the model's. ids: which worlds, None is all. Constants
        that follow from the field are computed anew, as `kt.set_const` does, on lanes. Returns what all worlds have now,
        read-only. From the first call on, edits of real numbers of the model itself are not followed any more.
        """
        name = name.replace(".", "_", 1) if name.startswith(("opt.", "stat.")) else name
        worlds, parameters = self._ids(ids), self._parameters or Parameters(self.model, self.n, self.dtype)
        parameters.check(name, given=values is not None)
        if values is None:
            values = parameters.rows[name][worlds] if name in parameters.rows else parameters.of_model(name)
        first = self._parameters is None
        if first:
            self.__dict__["_parameters"] = parameters
            self._crew.forget_blocks()
        try:
            more = parameters.expand(name, values, worlds, self._derive)
        except BaseException:
            if first:
                self.__dict__["_parameters"] = None
            self._crew.forget_blocks()  # lanes may have numbers that were refused
            raise
        self.__dict__["_version"] += more
        self._plans.clear()
        if self.model.opt.enableflags & EnableBit.SLEEP:
            self._worlds.wake(worlds)
        return read_only(parameters.rows[name])

    def _derive(self, plan: Plan, ids: np.ndarray, groups: int) -> None:
        """Run a plan of derived constants on worlds."""
        code = DERIVE.on(machine(self.dtype, self.width, True), self.model)
        shared = {"stop": self._crew.stop, "resets": self._worlds.resets}

        def job(block: Block, first: int, end: int) -> None:
            self._parameters.open(block.lanes.models)
            block.run(code, plan, ids, first, end, 0, self._fresh, shared, groups)

        self._crew.run(len(ids), self.width, len(ids), job, None)

    @property
    def expanded(self) -> tuple[str, ...]:
        """Fields of the model of which worlds have their own numbers, those that were derived among them."""
        return () if self._parameters is None else tuple(self._parameters.rows)

    def get_model(self, i: int) -> Model:
        """The model of one world: a copy of the batch's, with that world's numbers."""
        world = self._one("get_model", i)
        if self._parameters is None:
            return copy.copy(self.model)
        return self._parameters.model_of(self.model, world)

    # states

    @alone
    def reset(self, ids: Any = None, keyframe: str | int | None = None) -> None:
        """Back to the initial state, or to a keyframe, in all or some worlds. MuJoCo's mj_resetData."""
        worlds = self._ids(ids)
        if keyframe is None:
            self._worlds.refresh_start()
            self._worlds.reset(worlds)
            starts = {} if self._parameters is None else self._parameters.start(self.model)
            for name, rows in starts.items():
                self._worlds.add(name)[worlds] = rows[worlds]
        else:
            self.model.id("keyframe", keyframe)
            self._worlds.refresh_start()
            self._worlds.reset(worlds)
            if any(name.startswith("key_") for name in self.expanded):
                for world in worlds:
                    self._take_keyframe(self.get_model(int(world)), keyframe, np.array([world]))
            else:
                self._take_keyframe(self.model, keyframe, worlds)
        self._told.forget(worlds)

    def _take_keyframe(self, model: Model, keyframe: str | int, worlds: np.ndarray) -> None:
        """The state of a keyframe, as a model has it, for some worlds."""
        data = Data(model)
        data.reset_keyframe(keyframe)
        names = (*INPUTS, *state_names(model))
        state = {name: data._arrays[name].reshape(shape_of(name, model)) for name in names}
        self._worlds.write(state, worlds, "reset")

    def get_data(self, i: int) -> Data:
        """A Data in the state of one world, after `kt.forward`: to look at, to render, or to go on with."""
        world = self._one("get_data", i)
        model = self.model if self._parameters is None else self.get_model(world)
        data = Data(model)
        names = (*INPUTS, *state_names(self.model))
        self._worlds.put(world, data, [name for name in names if name not in OF_SLEEP])
        if "tree_asleep" in names:  # poses of what sleeps are computed while it is awake
            pipeline.forward(model, data)
            self._worlds.put(world, data, names)
            data._arrays["edition_asleep"][0] = model._constant("edition")
            pipeline.update_sleep(model, data)
        pipeline.forward(model, data)
        self._worlds.put(world, data, names)  # counts of warnings and readings are those of the world
        return data

    @alone
    def set_data(self, i: int, data: Data) -> None:
        """Take state and inputs of a Data for one world."""
        world = self._one("set_data", i)
        if not isinstance(data, Data) or data.sizes is not self.model.sizes:
            raise ValueError("set_data: this Data belongs to another model")
        self._worlds.take(world, data, (*INPUTS, *state_names(self.model)))
        self._told.forget(np.array([world]))

    @alone
    def set_state(self, state: Any, ids: Any = None) -> None:
        """Write vectors that `get_state` of a Batch or Data gave: one for all worlds, or a row for each.

        Numbers that are not finite are taken as they are, so that what `get_state` gave always goes back: a world in a bad
        state is reset by its next step.
        """
        worlds = self._ids(ids)
        vectors = np.asarray(state)
        sizes = [math.prod(shape_of(name, self.model)) for name in WRITTEN_STATE]
        size = sum(sizes)
        if vectors.shape not in ((size,), (len(worlds), size)) or vectors.dtype.kind not in "fiu":
            raise ValueError(f"state: expected shape ({len(worlds)}, {size}) or ({size},), got {vectors.shape}")
        parts = np.split(np.broadcast_to(vectors, (len(worlds), size)), np.cumsum(sizes)[:-1], axis=1)
        shapes = {name: (len(worlds), *shape_of(name, self.model)) for name in WRITTEN_STATE}
        values = {name: part.reshape(shapes[name]) for name, part in zip(WRITTEN_STATE, parts, strict=True)}
        self._worlds.write(values, worlds, "state")
        self._told.forget(worlds)

    def get_state(self, ids: Any = None) -> np.ndarray:
        """State and inputs of worlds, a row of numbers for each: MuJoCo's mjSTATE_INTEGRATION, as `Data.get_state` has it."""
        worlds = self._ids(ids)
        parts = [self._worlds.of(name, worlds).astype(np.float64).reshape(len(worlds), -1) for name in WRITTEN_STATE]
        return np.concatenate(parts, axis=1)

    @property
    def warning(self) -> np.ndarray:
        """How often each warning was raised in each world since its reset: (n, 7), by `kt.WarningType`."""
        return read_only(self._worlds.rows["warning_number"])

    @property
    def resets(self) -> np.ndarray:
        """How often each world went bad and was reset."""
        return read_only(self._worlds.resets)

    # copies

    def copy(self) -> Batch:
        """A second batch of the same model in the same state."""
        out = type(self)(self.model, self.n, self.dtype, self.threads)
        out._take_over(self._saved())
        return out

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Batch:
        return self.copy()

    def _saved(self) -> dict[str, Any]:
        rows = {name: array.copy() for name, array in self._worlds.rows.items()}
        own = {} if self._parameters is None else {name: array.copy() for name, array in self._parameters.rows.items()}
        return {"rows": rows, "resets": self._worlds.resets.copy(), "fresh": dict(self._fresh), "own": own}

    def _take_over(self, saved: dict[str, Any]) -> None:
        parameters = checked_parts(self.model, self.n, self.dtype, saved)
        for name, array in saved["rows"].items():
            self._worlds.add(name)[...] = array
        self._worlds.resets[...] = saved["resets"]
        self._fresh.update(saved["fresh"])
        if parameters is not None:
            self.__dict__.update(_parameters=parameters, _version=1)
        self._told.forget(np.arange(self.n))

    def __reduce__(self) -> tuple:
        return _restore, (self.model, self.n, self.dtype, self.threads, self._saved())

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        return f"<kinetree.Batch of {self.n} worlds of {self.model.title!r}: {self.dtype}, {threads}>"


WRITTEN_STATE = tuple(
    name for name in ("time", "qpos", "qvel", "act", "history", "qacc_warmstart", "ctrl", "qfrc_applied", "xfrc_applied",
                      "eq_active", "mocap_pos", "mocap_quat", "userdata", "plastic")
)  # fmt: skip


def _restore(model: Model, n: int, dtype: str, threads: int, saved: dict[str, Any]) -> Batch:
    check_counts(model, n, dtype, threads, saved)
    out = Batch(model, n, dtype, threads)
    out._take_over(saved)
    return out


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"Batch: {name} must be a whole number from 1 on, got {value!r}")
    return int(value)


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
