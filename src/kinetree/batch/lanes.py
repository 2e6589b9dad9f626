"""`LaneData`: the data of a few worlds of one model, interleaved so that one SIMD instruction serves them all.

Every real field has one more, last axis: the world. So have integers that are declared so (`Field.each`); the others are the
same in all worlds. The model is shared, or each world has numbers of its own (`own`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import pipeline
from ..bad_states import KINDS_OF_RETURN, LACKS_ROOM
from ..data import Data, grow, until_it_fits
from ..data_fields import DATA_FIELDS
from ..driver import ENTRIES, check_nstep
from ..errors import UnsupportedFeatureError, nearest
from ..initial import FULLY_AWAKE
from ..kernel import machine
from ..kernel.stage import refuse_part, runner
from ..layout import assign, shown
from ..model import LAYOUT as MODEL_LAYOUT
from ..model import Model
from ..notices import get_ready
from ..occupancy import BUSY, exclusive, holding
from ..stepping import run_steps
from ..types import EnableBit
from ..workspace import World
from .constants import rederive
from .models import LaneModels
from .notices import report_worlds

EDITION = MODEL_LAYOUT.word["edition"]
SOMETHING_NEW = 1  # kind of what a run returns
# How much room there is, and with which edition of the model trees fell asleep: that of the lanes themselves.
OWN_BOOKS = ("capacity", "needed", "overflow", "edition_asleep")


class LaneData:
    """`width` worlds on lanes of a dtype; width 1 is one world on strict reals of that dtype.

    own: whether each world has real parameters of its own: `lanes.set_model(lane, model)`. numbers: where these come from at
    first, in place of the model.
    """

    def __init__(
        self, model: Model, width: int = 8, dtype: str = "float64", own: bool = False, numbers: Model | None = None
    ):
        if not isinstance(model, Model):
            raise TypeError(f"LaneData needs a kinetree Model, got {type(model).__name__}")
        self.machine = machine(dtype, width, own)
        self.models = LaneModels(model, width, dtype, numbers) if own else None
        self.model_address = model.address if self.models is None else self.models.address
        self.model, self.sizes, self.width = model, model.sizes, width
        self._listed = True
        self._scratch: LaneData | None = None  # worlds to derive constants with
        self._entries: dict[Callable[..., Any], Callable[..., Any]] = {}
        self.arrays = self._arrays = World(model._kin(), model.sizes, self.machine.stages, width, dtype)
        self._guard, self.address = self.arrays.guard, self.arrays.address
        self.arrays["edition_asleep"][0] = model._constant("edition")
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
        elif name in self.__dict__ and not name.startswith("_"):
            raise AttributeError(f"lanes.{name} is read-only")
        else:
            object.__setattr__(self, name, value)

    @property
    def edition(self) -> int:
        """The edition of the model, as kernels see it."""
        return int(self.model._words[EDITION] if self.models is None else self.models.tables[0, EDITION])

    def load(self, lane: int, data: Data) -> None:
        """Copy a Data into one world; integers that worlds share are then those of this Data."""
        self._check(lane, data)
        model = self._model_of(lane)
        if not data._belongs_to(model):
            data = data.copy()._adopt(model)
        self._take_in(lane, data)
        self._listed = False
        if int(data._arrays["edition_asleep"][0]) != model._constant("edition"):
            self._wake(lane)

    @holding(0, 2)
    def _take_in(self, lane: int, data: Data, alone: bool = False) -> None:
        """alone: what worlds share stays as it is."""
        room, wanted = self.arrays.capacity, data._arrays.capacity
        if any(wanted[name] > room[name] for name in room):
            self._make_room({name: max(room[name], wanted[name]) for name in room})
        for name, array in self.arrays.items():
            if name in OWN_BOOKS:
                continue
            if DATA_FIELDS[name].growing:
                array = array[: data._arrays[name].shape[0]]
            if DATA_FIELDS[name].per_world:
                array[..., lane] = data._arrays[name]
            elif not alone:
                array[...] = data._arrays[name]

    def store(self, lane: int, data: Data) -> None:
        """Copy one world into a Data."""
        self._check(lane, data)
        self._give_out(lane, data)
        if self.model.opt.enableflags & EnableBit.SLEEP:
            pipeline.update_sleep(self._model_of(lane), data)  # lists name what is awake in other worlds

    @holding(0, 2)
    def _give_out(self, lane: int, data: Data) -> None:
        data._make_room(self.arrays.capacity)
        for name, array in self.arrays.items():
            data._arrays[name][...] = array[..., lane] if DATA_FIELDS[name].per_world else array
        model = self._model_of(lane)
        if self.models is not None:
            data._arrays["edition_asleep"][0] = model._constant("edition")
        data._belong_to(model)

    def step(self, nstep: int = 1) -> None:
        """Advance all worlds by some time steps; one that goes bad is reset and reported alone. MuJoCo's mj_step."""
        count = nstep if type(nstep) is int and nstep == 1 else check_nstep("step", nstep)
        run = self._entries.get(run_steps)
        if run is None:
            code = ENTRIES[run_steps].on(self.machine, self.model)
            run = self._entries[run_steps] = functools.partial(code, self.model_address, self.address)
        self._advance(run, count)

    def _advance(self, run: Callable[[int], int], nstep: int) -> int:
        """Run a kernel that makes steps; returns 0, or what the kernel met before the first one (see `control.forward`)."""
        get_ready(self.model)
        self._get_ready()
        status = run(nstep)
        return self._go_on(run, nstep, status) if status else 0

    @holding(0)
    def _go_on(self, run: Callable[[int], int], left: int, status: int) -> int:
        """After an early return: see to what it was for, and make the steps that are left."""
        while status:
            if status == BUSY:
                self._grow(status)
            else:
                left, kind = divmod(status, KINDS_OF_RETURN)
                if kind == 0:
                    return status
                if kind == LACKS_ROOM:
                    self._grow()
                elif kind == SOMETHING_NEW:
                    report_worlds(self, left != 0)
                if left == 0:
                    return 0
                self._get_ready()  # worlds that were reset are awake
            status = run(left)
        return 0

    def _get_ready(self) -> None:
        """Before a run: refuse what does not work here, and list what is awake in some world."""
        if self.model.callbacks.any:
            raise UnsupportedFeatureError([f"callbacks on lanes ({self.model.callbacks})"], "LaneData")
        if self.models is not None:
            self.models.follow()
        if not self._listed:
            self._listed = True
            if self.model.opt.enableflags & EnableBit.SLEEP:
                self.run(pipeline.update_sleep)

    def reset(self, lane: int) -> None:
        """Back to the initial state in one world."""
        self._check_lane(lane)
        self._take_in(lane, Data(self._model_of(lane)), alone=True)
        self._listed = False

    def _model_of(self, lane: int) -> Model:
        """That of a world."""
        return self.model if self.models is None else self.models.of(lane)

    def run(self, stage: Any) -> None:
        """Run a stage on all worlds."""
        entry = self._entries.get(stage) or self._entry(stage)
        self._get_ready()
        before = self.arrays["energy"].copy(), self.arrays["flg_energyvel"].copy()
        if status := entry():
            until_it_fits(self, status, functools.partial(self._again, entry, before))

    def _again(self, entry: Callable[[], int], before: tuple[np.ndarray, np.ndarray]) -> int:
        """Run a stage once more, as if it had not run: a sensor tells the energy of the pass before."""
        self.arrays["energy"][...], self.arrays["flg_energyvel"][...] = before
        return entry()

    def _entry(self, stage: Any) -> Callable[..., int]:
        """The machine code of a stage, with its arguments."""
        if not hasattr(stage, "compile_for"):
            name = getattr(stage, "__name__", str(stage))
            hint = f": write kt.pipeline.{name}" if name in pipeline.__all__ else ""
            raise TypeError(f"{name} is not a stage{hint}")
        refuse_part(stage)
        stage.compile_for(self.machine, self.model)
        code = runner(stage, self.machine)
        self._entries[stage] = functools.partial(code, self.model_address, self.address, stage.stage_index)
        return self._entries[stage]

    @exclusive
    def _make_room(self, capacity: Mapping[str, int]) -> None:
        """Room for more contacts and constraints in every world."""
        self.arrays.make_room(capacity)

    def _grow(self, status: int = 0) -> None:
        """Room for what the last run needed; raises what went wrong in it. status: what it returned."""
        grow(self, status)

    def __reduce__(self) -> Any:
        raise TypeError("LaneData cannot be copied or pickled: store its worlds into Data")

    def set_model(self, lane: int, model: Model) -> None:
        """Give one world the real numbers of a model, options included; in all else it must be like the others."""
        if self.models is None:
            raise TypeError("these worlds share a model: make them with LaneData(..., own=True)")
        self._check_lane(lane)
        if not isinstance(model, Model):
            raise TypeError(f"set_model needs a kinetree Model, got {type(model).__name__}")
        self._take_model(lane, model)

    def set_parameters(self, values: Mapping[str, Any]) -> None:
        """Give every world numbers of its own in some real fields, options with their prefix: values[name][lane].

        What follows from them is derived anew, as by `set_const`, and trees that sleep wake. If one is refused, none is taken.
        """
        if self.models is None:
            raise TypeError("these worlds share a model: make them with LaneData(..., own=True)")
        if self._scratch is None:
            self._scratch = LaneData(self.model, self.width, self.machine.dtype.name, own=True)
        self._take_parameters(values)

    @holding(0)
    def _take_parameters(self, values: Mapping[str, Any]) -> None:
        models: LaneModels = self.models  # type: ignore[assignment]
        for name, fresh in [(name, models.checked(name, numbers)) for name, numbers in values.items()]:
            models.put(name, fresh)
        rederive(models, self._scratch, values)
        for lane in range(self.width):
            self._wake(lane)

    @holding(0)
    def _take_model(self, lane: int, model: Model) -> None:
        before = self._model_of(lane)._constant("edition")
        self.models.load(lane, model)  # type: ignore[union-attr]
        if model._constant("edition") != before:
            self._wake(lane)

    def _wake(self, lane: int) -> None:
        """Wake what sleeps in a world: its model is another than the one with which it fell asleep."""
        asleep = self.arrays["tree_asleep"][:, lane]
        asleep[asleep >= 0] = FULLY_AWAKE
        self._listed = False

    def _check_lane(self, lane: int) -> None:
        if isinstance(lane, bool) or not isinstance(lane, (int, np.integer)):
            raise TypeError(f"a lane is a whole number, not {type(lane).__name__}")
        if not 0 <= lane < self.width:
            raise IndexError(f"lane {lane} is outside 0..{self.width - 1}")

    def _check(self, lane: int, data: Data) -> None:
        self._check_lane(lane)
        if not isinstance(data, Data) or data.sizes is not self.sizes:
            raise ValueError("this Data belongs to another model")


def lanes_of(
    model: Model, worlds: Sequence[Data], dtype: str = "float64", models: Sequence[Model] | None = None
) -> LaneData:
    """The given worlds side by side. models: of each world, where they differ."""
    if models is not None and len(models) != len(worlds):
        raise ValueError(f"{len(worlds)} worlds need as many models, got {len(models)}")
    out = LaneData(model, len(worlds), dtype, own=models is not None)
    for lane, own in enumerate(models or ()):
        out.set_model(lane, own)
    for lane, data in enumerate(worlds):
        out.load(lane, data)
    return out
