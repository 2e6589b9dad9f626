"""`States`: states of the worlds of a batch, and the parameters that they have for themselves: given, taken, reset.

A base of `Batch`. MuJoCo: reset, expand, set_const, get_data, get_model of mujoco.batch.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from .. import pipeline
from ..data import Data
from ..layout import read_only
from ..model import Model
from ..types import EnableBit
from .parameters import Parameters
from .runs import Runs, alone
from .worlds import INPUTS, OF_SLEEP, shape_of, state_names

WRITTEN_STATE = tuple(
    name for name in ("time", "qpos", "qvel", "act", "history", "qacc_warmstart", "ctrl", "qfrc_applied", "xfrc_applied",
                      "eq_active", "mocap_pos", "mocap_quat", "userdata", "plastic")
)  # fmt: skip


class States(Runs):
    """Worlds whose states and parameters are written and read."""

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
