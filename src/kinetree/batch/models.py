"""`LaneModels`: models of worlds side by side, which differ in real numbers alone: parameters and options.

What steers addresses (integers, flags, sizes, meshes) is that of one model, the base, in its own memory: edits of it are
followed. Its real numbers are not, each world has taken its own. Worlds that share one model need none of this.

A world takes all numbers of a model (`load`), or all worlds get numbers of one field (`write`). Constants that follow from
what was written are computed anew for all worlds at once by `rederive`, as `set_const` does for one model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..derived.shared import COUNTED, MIN_MASS, OF_SIMPLE, STEERS, gates, opened, without_mass
from ..errors import ModelError, nearest
from ..fields import REAL
from ..layout import checked, may_be_infinite
from ..memory import Placement
from ..model import FIELDS, LAYOUT, Model
from ..types import DynType, GainType, WrapType

OWN = {name: field for name, field in LAYOUT.fields.items() if field.per_world}
OPTIONS = [name for name, kind in LAYOUT.constants.items() if kind == REAL]  # options and statistics of one number
WORDS_OF_OPTIONS, ROWS = np.array([LAYOUT.word[name] for name in OPTIONS]), np.arange(len(OPTIONS))
GATES = (
    "ngravcomp",
    "flg_gravcomp",
    "flg_surfacevel",
    "flg_adhesion",
)  # whether there is something that zeros leave out: if one world has it
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


def check_parameter(base: Model, numbers: Mapping[str, np.ndarray], name: str, fresh: np.ndarray) -> None:
    """Refuse numbers for a field that do not suit what all worlds share, as `numbers` do; the last axis is the world."""
    now: Any = SimpleNamespace(**{**base._arrays, **numbers, name: fresh})
    if name in DECIDING:
        before: Any = SimpleNamespace(**{**base._arrays, **numbers})
        if (DECIDING[name](now) != DECIDING[name](before)[..., :1]).any():
            raise ValueError(f"worlds on lanes share where {name} is zero, in which these numbers differ")
    if name in ("body_mass", "body_inertia"):
        b = without_mass(base, np.moveaxis(now.body_mass, -1, 0), np.moveaxis(now.body_inertia, -1, 0))
        if b >= 0:
            raise ModelError(f"{name}: mass and inertia of moving bodies must be larger than {MIN_MASS}: body {b}")
    if name in OF_SIMPLE:
        owner = OF_SIMPLE[name]
        of_simple = (base.body_simple if owner is None else base.body_simple[getattr(base, owner)]) > 0
        if (fresh[of_simple] != numbers[name][of_simple][..., :1]).any():
            raise ValueError(
                f"{name}: bodies whose block of M is diagonal keep theirs, or are compiled as simple='false'"
            )


class LaneModels:
    """The models of `width` worlds, at first all the same, in reals of a dtype.

    tables: that of all lanes, and then one that sees each lane alone. worlds: the model of each, as it was when it was loaded.
    """

    def __init__(self, model: Model, width: int, dtype: str, numbers: Model | None = None):
        """numbers: a model whose real numbers the worlds have at first, in place of the base's."""
        numbers = numbers or model
        self.base, self._followed = model, b""
        self._place = Placement(LAYOUT, OWN, model.sizes, width, dtype)
        self.worlds = [model._beside(numbers)] * width
        # Integers that are not the base's, as worlds differ in what they follow from.
        self.own_integers: dict[str, np.ndarray] = {}
        self._written: set[str] = set()  # fields whose numbers are not those of `worlds`
        self._behind = [False] * width  # whether a world's model is to take numbers from here
        self.options = np.zeros((len(OPTIONS), width), dtype)
        self._allocate(model._words)
        self._take(slice(None), numbers)

    def _allocate(self, words: np.ndarray) -> None:
        """Arrays of all worlds, and tables that point to them, and in all else where the given one points."""
        width, buffer = len(self.worlds), self._place.buffer()
        self._buffer = buffer
        self.numbers = {name: self._place.view(buffer, name) for name in OWN}
        self.tables = np.tile(words, (1 + width, 1))
        self.address = self.tables.ctypes.data
        starts = self.tables[1:].ctypes.data + np.arange(width) * self.tables.strides[0]
        self._views_of_lanes = np.append(starts, 0)  # ends with a zero
        for lane, table in enumerate(self.tables, -1):
            self._place.tell(table, buffer, max(lane, 0))
            table[WORDS_OF_OPTIONS] = self.options[:, max(lane, 0) :].ctypes.data + ROWS * self.options.strides[0]
            LAYOUT.point(table, "views", self._views_of_lanes)

    def __copy__(self) -> LaneModels:
        """Other worlds with the same numbers: a tenth of the time that making them takes."""
        out = object.__new__(LaneModels)
        out.__dict__.update(self.__dict__)
        out.worlds, out._behind, out._written = list(self.worlds), list(self._behind), set(self._written)
        out.own_integers, out.options = dict(self.own_integers), self.options.copy()
        out._allocate(self.tables[0])
        out._buffer[:] = self._buffer
        return out

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
        self.worlds[lane], self._behind[lane] = self.base._beside(model), False
        self._share_integers(self.worlds[lane])
        self._take(slice(lane, lane + 1), self.worlds[lane])

    def of(self, lane: int) -> Model:
        """The model of a world."""
        if self._behind[lane]:
            self._catch_up(lane)
        model = self.worlds[lane]
        model._words[STEERING] = self.base._words[STEERING]
        return model

    def write(self, name: str, values: Any) -> None:
        """Give every world its own numbers of one real field, options with their prefix: values[lane] is that world's.

        What follows from the field is as it was until `rederive`. Refused is what would lead worlds apart: see DECIDING, and
        bodies whose block of M is diagonal keep the frames that make it so.
        """
        self.put(name, self.checked(name, values))

    def checked(self, name: str, values: Any) -> np.ndarray:
        """Numbers of all worlds for a field as they are stored, if they may be."""
        numbers = self.array(name)
        shape = (numbers.shape[-1], *FIELDS[name].shape(self.base.sizes))
        given = checked(values, shape, numbers.dtype, name, infinite=may_be_infinite(name), fill=False).reshape(shape)
        fresh = np.moveaxis(given, 0, -1).reshape(numbers.shape)
        check_parameter(self.base, self.numbers, name, fresh)
        return fresh

    def put(self, name: str, fresh: np.ndarray) -> None:
        """Store checked numbers of a field."""
        known = name in self._written
        self.array(name)[...] = fresh
        self.note([name])
        if not known and name in STEERS:
            self._own_integers(opened(self.base, self._written))
        if name in COUNTED:
            self._open_gates()

    def array(self, name: str) -> np.ndarray:
        """The numbers of all worlds in a real field that may be written; the last axis is the world."""
        field = FIELDS.get(name)
        if field is None:
            raise AttributeError(f"model has no field {name!r}: {nearest(name, FIELDS)}")
        if field.dtype != REAL or not field.writable:
            raise AttributeError(
                f"{name} is shared by all worlds: only real numbers that may be edited are a world's own"
            )
        return self.numbers[name] if name in OWN else self.options[OPTIONS.index(name)]

    def expect(self, names: Iterable[str], gates: Mapping[str, int]) -> None:
        """Be ready for numbers of some fields that come past `write`, checked elsewhere. gates: as they are over all worlds."""
        self.note(names)
        if not STEERS.isdisjoint(self._written):
            self._own_integers(opened(self.base, self._written))
        for name, count in gates.items():
            word = LAYOUT.word[name]
            self.tables[:, word] = np.maximum(self.tables[:, word], count)

    def note(self, names: Iterable[str]) -> None:
        """Remember that numbers of all worlds in these fields have changed."""
        self._written.update(names)
        self._behind = [True] * len(self.worlds)

    def _catch_up(self, lane: int) -> None:
        """Make the model of a world anew, with the numbers that were written."""
        model = self.worlds[lane] = self.base._beside(self.worlds[lane])
        for name in self._written:
            if name in OWN:
                model._arrays[name][...] = self.numbers[name][..., lane]
            else:
                model._set_constant(name, self.options[OPTIONS.index(name), lane])
        model._be_edited()
        self._share_integers(model)
        self._behind[lane] = False

    def _own_integers(self, integers: Mapping[str, np.ndarray]) -> None:
        """Have integers that are not those of the base."""
        self.own_integers.update(integers)
        for name, array in integers.items():
            for table in self.tables:
                LAYOUT.point(table, name, array)

    def _share_integers(self, model: Model) -> None:
        """Give the model of a world the integers that are not those of the base."""
        for name, integers in self.own_integers.items():
            model._arrays[name] = integers
            LAYOUT.point(model._words, name, integers)

    def _take(self, lanes: slice, model: Model) -> None:
        """Copy the numbers of a model into some worlds."""
        for name, numbers in self.numbers.items():
            numbers[..., lanes] = model._arrays[name][..., None]
        self.options[:, lanes] = [[model._constant(name)] for name in OPTIONS]
        self._open_gates()

    def _open_gates(self) -> None:
        """Have looked for what zeros leave out if one world has it: as its model says, or numbers that were written."""
        found = gates(self.numbers) if not COUNTED.isdisjoint(self._written) else {}
        for name in GATES:
            counts = (each._constant(name) for each in self.worlds)
            self.tables[:, LAYOUT.word[name]] = max(found.get(name, 0), *counts)

    def _differs(self, model: Model) -> str | None:
        """The first of the things that worlds must share in which a model differs."""
        base = self.base
        if model.sizes is not base.sizes:
            return next(name for name in model.sizes if model.sizes[name] != base.sizes[name])
        for name in SHARED:
            if model._constant(name) != base._constant(name):
                return name
        for name, array in base._arrays.items():
            if (
                name not in OWN
                and name not in self.own_integers
                and model._arrays[name] is not array
                and not np.array_equal(model._arrays[name], array)
            ):
                return name
        for name, decided in DECIDING.items():
            if not np.array_equal(decided(model), decided(self.of(0))):
                return name
        return None
