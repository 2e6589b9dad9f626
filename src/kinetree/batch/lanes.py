"""`LaneData`: the data of a few worlds of one model, interleaved so that one SIMD instruction serves them all.

Every real field has one more, last axis: the world. Integers are the same in all worlds. The model is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import pipeline
from ..data import Data, grow, until_it_fits
from ..data_fields import DATA_FIELDS
from ..errors import UnsupportedFeatureError, nearest
from ..fields import REAL
from ..kernel import machine
from ..kernel.stage import refuse_part, runner
from ..layout import assign, shown
from ..model import Model
from ..occupancy import exclusive, holding
from ..workspace import World

OWN_ROOM = ("capacity", "needed", "overflow")  # how much room there is belongs to the lanes themselves


class LaneData:
    """`width` worlds on lanes of a dtype; width 1 is one world on strict reals of that dtype."""

    def __init__(self, model: Model, width: int = 8, dtype: str = "float64"):
        if not isinstance(model, Model):
            raise TypeError(f"LaneData needs a kinetree Model, got {type(model).__name__}")
        self.machine = machine(dtype, width)
        self.model, self.sizes, self.width = model, model.sizes, width
        self._entries: dict[Callable[..., Any], Callable[..., Any]] = {}
        self.arrays = self._arrays = World(model._kin(), model.sizes, self.machine.stages, width, dtype)
        self._guard, self.address = self.arrays.guard, self.arrays.address
        start = Data(model)
        for lane in range(width):
            self.load(lane, start)

    def __getattr__(self, name: str) -> np.ndarray:
        arrays = self.__dict__.get("arrays", {})
        if name not in DATA_FIELDS or not arrays:
            raise AttributeError(f"LaneData has no field {name!r}: {nearest(name, arrays)}")
        return shown(arrays[name], DATA_FIELDS[name].writable)  # integers steer addresses in compiled code

    def __setattr__(self, name: str, value: Any) -> None:
        if name in DATA_FIELDS:
            assign(self.arrays[name], DATA_FIELDS[name], value, f"lanes.{name}")
        elif name in self.__dict__:
            raise AttributeError(f"lanes.{name} is read-only")
        else:
            object.__setattr__(self, name, value)

    def load(self, lane: int, data: Data) -> None:
        """Copy a Data into one world; integers and flags are then those of this Data in every world."""
        self._check(lane, data)
        if not data._belongs_to(self.model):
            data = data.copy()._adopt(self.model)
        self._take_in(lane, data)

    @holding(0, 2)
    def _take_in(self, lane: int, data: Data) -> None:
        room, wanted = self.arrays.capacity, data._arrays.capacity
        if any(wanted[name] > room[name] for name in room):
            self._make_room({name: max(room[name], wanted[name]) for name in room})
        for name, array in self.arrays.items():
            if name in OWN_ROOM:
                continue
            if DATA_FIELDS[name].growing:
                array = array[: data._arrays[name].shape[0]]
            if DATA_FIELDS[name].dtype == REAL:
                array[..., lane] = data._arrays[name]
            else:
                array[...] = data._arrays[name]

    def store(self, lane: int, data: Data) -> None:
        """Copy one world into a Data."""
        self._check(lane, data)
        self._give_out(lane, data)

    @holding(0, 2)
    def _give_out(self, lane: int, data: Data) -> None:
        data._make_room(self.arrays.capacity)
        for name, array in self.arrays.items():
            data._arrays[name][...] = array[..., lane] if DATA_FIELDS[name].dtype == REAL else array
        data._belong_to(self.model)

    def run(self, stage: Any) -> None:
        """Run a stage on all worlds."""
        if self.model.callbacks.any:
            raise UnsupportedFeatureError([f"callbacks on lanes ({self.model.callbacks})"], "LaneData")
        entry = self._entries.get(stage)
        if entry is None:
            if not hasattr(stage, "compile_for"):
                name = getattr(stage, "__name__", str(stage))
                hint = f": write kt.pipeline.{name}" if name in pipeline.__all__ else ""
                raise TypeError(f"{name} is not a stage{hint}")
            refuse_part(stage)
            stage.compile_for(self.machine, self.model)
            entry = self._entries[stage] = runner(stage, self.machine)
        arguments = self.model.address, self.address, stage.stage_index
        until_it_fits(self, entry(*arguments), entry, *arguments)

    @exclusive
    def _make_room(self, capacity: Mapping[str, int]) -> None:
        """Room for more contacts and constraints in every world."""
        self.arrays.make_room(capacity)

    def _grow(self, status: int = 0) -> None:
        """Room for what the last run needed; raises what went wrong in it. status: what it returned."""
        grow(self, status)

    def __reduce__(self) -> Any:
        raise TypeError("LaneData cannot be copied or pickled: store its worlds into Data")

    def _check(self, lane: int, data: Data) -> None:
        if isinstance(lane, bool) or not isinstance(lane, (int, np.integer)):
            raise TypeError(f"a lane is a whole number, not {type(lane).__name__}")
        if not 0 <= lane < self.width:
            raise IndexError(f"lane {lane} is outside 0..{self.width - 1}")
        if not isinstance(data, Data) or data.sizes is not self.sizes:
            raise ValueError("this Data belongs to another model")


def lanes_of(model: Model, worlds: Sequence[Data], dtype: str = "float64") -> LaneData:
    """The given worlds side by side."""
    out = LaneData(model, len(worlds), dtype)
    for lane, data in enumerate(worlds):
        out.load(lane, data)
    return out
