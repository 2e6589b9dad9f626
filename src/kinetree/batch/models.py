"""`LaneModels`: models of worlds side by side, which differ in real numbers alone: parameters and options.

What steers addresses (integers, flags, sizes, meshes) is that of one model, the base, in its own memory: edits of it are
followed. Its real numbers are not, each world has taken its own. Worlds that share one model need none of this.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..fields import REAL
from ..memory import Placement
from ..model import LAYOUT, Model
from ..types import DynType, GainType, WrapType

OWN = {name: field for name, field in LAYOUT.fields.items() if field.per_world}
OPTIONS = [name for name, kind in LAYOUT.constants.items() if kind == REAL]  # options and statistics of one number
GATES = ("ngravcomp", "flg_gravcomp")  # whether there is something that zeros leave out: if one world has it
APART = (*GATES, "edition", "hooks")
SHARED = [name for name, kind in LAYOUT.constants.items() if kind != REAL and name not in APART]
STEERING = [LAYOUT.word[name] for name in SHARED]
FOLLOWED = [*STEERING, LAYOUT.word["hooks"]]


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


class LaneModels:
    """The models of `width` worlds, at first all the same, in reals of a dtype.

    tables: that of all lanes, and then one that sees each lane alone. worlds: the model of each, as it was when it was loaded.
    """

    def __init__(self, model: Model, width: int, dtype: str):
        self.base, self._followed = model, b""
        place = Placement(LAYOUT, OWN, model.sizes, width, dtype)
        buffer = place.buffer()
        self.numbers = {name: place.view(buffer, name) for name in OWN}
        self.options = np.zeros((len(OPTIONS), width), dtype)
        self.tables = np.tile(model._words, (1 + width, 1))  # which point to the arrays of the base
        self.address = self.tables.ctypes.data
        starts = self.tables[1:].ctypes.data + np.arange(width) * self.tables.strides[0]
        self._views_of_lanes = np.append(starts, 0)  # ends with a zero
        for lane, table in enumerate(self.tables, -1):
            place.tell(table, buffer, max(lane, 0))
            for name, numbers in zip(OPTIONS, self.options, strict=True):
                table[LAYOUT.word[name]] = numbers[max(lane, 0) :].ctypes.data
            LAYOUT.point(table, "views", self._views_of_lanes)
        self.worlds = [model._beside(model)] * width
        for lane in range(width):
            self._write(lane)

    def follow(self) -> None:
        """Take over whole numbers among the options, which all worlds share. Arrays are those of the base."""
        now = self.base._words[: len(LAYOUT.constants)].tobytes()  # which come first
        if now != self._followed:
            self._followed, self.tables[:, FOLLOWED] = now, self.base._words[FOLLOWED]

    def load(self, lane: int, model: Model) -> None:
        """Give a world the numbers of a model that is like the others in all else."""
        other = self._differs(model)
        if other is not None:
            raise ValueError(f"worlds on lanes share {other}, in which this model differs")
        self.worlds[lane] = self.base._beside(model)
        self._write(lane)

    def of(self, lane: int) -> Model:
        """The model of a world."""
        model = self.worlds[lane]
        model._words[STEERING] = self.base._words[STEERING]
        return model

    def _write(self, lane: int) -> None:
        model = self.worlds[lane]
        for name, numbers in self.numbers.items():
            numbers[..., lane] = model._arrays[name]
        self.options[:, lane] = [model._constant(name) for name in OPTIONS]
        for name in GATES:
            self.tables[:, LAYOUT.word[name]] = max(each._constant(name) for each in self.worlds)

    def _differs(self, model: Model) -> str | None:
        """The first of the things that worlds must share in which a model differs."""
        base = self.base
        if model.sizes is not base.sizes:
            return next(name for name in model.sizes if model.sizes[name] != base.sizes[name])
        for name in SHARED:
            if model._constant(name) != base._constant(name):
                return name
        for name, array in base._arrays.items():
            if name not in OWN and model._arrays[name] is not array and not np.array_equal(model._arrays[name], array):
                return name
        for name, decided in DECIDING.items():
            if not np.array_equal(decided(model), decided(self.worlds[0])):
                return name
        return None
