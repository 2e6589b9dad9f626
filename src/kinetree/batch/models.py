"""`LaneModels`: models of worlds side by side, which differ in real numbers alone: parameters and options.

What steers addresses (integers, sizes, meshes) is the same in all of them. Worlds that share one model need none of this.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from ..fields import REAL
from ..memory import Memory
from ..model import LAYOUT, Model
from ..types import DynType, GainType, WrapType

OPTIONS = [name for name, kind in LAYOUT.constants.items() if kind == REAL]  # options and statistics of one number
WHOLE = [LAYOUT.word[name] for name, kind in LAYOUT.constants.items() if kind != REAL]
SHARED = [name for name, kind in LAYOUT.constants.items() if kind != REAL and name not in ("edition", "hooks")]


def _servos(model: Model) -> np.ndarray:
    """Actuators whose parameters decide by being zero which states there are."""
    return np.isin(model.actuator_gaintype, (GainType.DCMOTOR, GainType.PID)) | (model.actuator_dyntype == DynType.PID)


# Where it counts whether a real number is zero or not: on what there is a state of, or which of two ways is gone.
DECIDING: dict[str, Callable[[Model], np.ndarray]] = {
    "actuator_dynprm": lambda model: model.actuator_dynprm[_servos(model)] > 0.0,
    "actuator_gainprm": lambda model: model.actuator_gainprm[_servos(model)] > 0.0,
    "pid_ki": lambda model: model.pid_ki != 0.0,
    "pid_slewmax": lambda model: model.pid_slewmax >= 0.0,
    "sensor_delay": lambda model: model.sensor_delay > 0.0,
    "sensor_interval": lambda model: model.sensor_interval > 0.0,
    "geom_fluid": lambda model: model.geom_fluid[:, 0] > 0.0,
    "wrap_prm": lambda model: np.where(model.wrap_type == WrapType.PULLEY, 0.0, model.wrap_prm),  # side sites
}


class LaneModels(Memory):
    """The models of `width` worlds, at first all the same, in reals of a dtype."""

    def __init__(self, model: Model, width: int, dtype: str):
        super().__init__(LAYOUT, model.sizes, width, dtype)
        self.worlds = [model] * width
        self.options = np.zeros((len(OPTIONS), width), dtype)
        self._views_of_lanes = np.array([*(table.ctypes.data for table in self.tables[1:]), 0])  # ends with a zero
        for lane, table in enumerate(self.tables, -1):
            for name, numbers in zip(OPTIONS, self.options, strict=True):
                table[LAYOUT.word[name]] = numbers[max(lane, 0) :].ctypes.data
            LAYOUT.point(table, "views", self._views_of_lanes)
        self.follow(model)
        for name, field in LAYOUT.fields.items():
            if not field.per_world:
                self[name][...] = model._arrays[name]
        for lane in range(width):
            self.load(lane, model)

    def follow(self, model: Model) -> None:
        """Take over whole numbers among the options, which all worlds share."""
        for table in self.tables:
            table[WHOLE] = model._words[WHOLE]

    def load(self, lane: int, model: Model) -> None:
        """Give a world the numbers of a model that is like the others in all else."""
        other = self._differs(model)
        if other is not None:
            raise ValueError(f"worlds on lanes share {other}, in which this model differs")
        for name, field in LAYOUT.fields.items():
            if field.per_world:
                self[name][..., lane] = model._arrays[name]
        self.options[:, lane] = [model._constant(name) for name in OPTIONS]
        self.worlds[lane] = copy.copy(model)  # as it is now

    def _differs(self, model: Model) -> str | None:
        """The first of the things that worlds must share in which a model differs."""
        first = self.worlds[0]
        if model.sizes is not first.sizes:
            return next(name for name in model.sizes if model.sizes[name] != first.sizes[name])
        for name in SHARED:
            if model._words[LAYOUT.word[name]] != self.tables[0][LAYOUT.word[name]]:
                return name
        for name, field in LAYOUT.fields.items():
            if not field.per_world and not np.array_equal(model._arrays[name], self[name]):
                return name
        for name, decided in DECIDING.items():
            if not np.array_equal(decided(model), decided(first)):
                return name
        return None
