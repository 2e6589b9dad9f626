"""Load a model in kinetree and in MuJoCo, put both into the same random states, and compare field by field."""

from __future__ import annotations

import copy
import dataclasses
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import kinetree as kt

from ..io.load import mujoco_warnings
from .layer import Field, Layer
from .layers import LAYERS
from .spread import HAIR, error_of, spread
from .states import copy_state, random_state
from .touching import get_start

Values = list[tuple[Field, np.ndarray, np.ndarray]]
"""Fields, each with our value and MuJoCo's."""


@dataclass(frozen=True)
class FieldResult:
    """The worst disagreement of one field over all states.

    error: max |ours - theirs| / max(1, max |theirs|), infinite when a side is not finite or the shapes differ. In fields of
    `each`, whose numbers differ by many orders, it is the largest |ours - theirs| / max(1, |theirs|) instead.
    index, ours, theirs: where the difference is largest, and both values there (None for an empty field).
    spread: the error between MuJoCo's own runs from starts a hair apart, where that was looked at.
    """

    model: str
    layer: str
    field: str
    tolerance: float
    error: float
    index: tuple[int, ...] | None = None
    ours: float | None = None
    theirs: float | None = None
    state: int = 0
    note: str = ""
    spread: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the field agrees within its tolerance."""
        return self.error <= self.tolerance

    @property
    def undecided(self) -> bool:
        """Whether it does not, but MuJoCo does not agree with itself either."""
        return not self.ok and self.spread > self.tolerance

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Of two results the one that says more: a difference, then what is undecided, then the larger error."""
        return not self.ok and not self.undecided, self.undecided, self.error

    def __str__(self) -> str:
        verdict = "ok  " if self.ok else "    " if self.undecided else "FAIL"
        text = f"{verdict} {self.model}: {self.layer}: {self.field} error {self.error:.2e}"
        text += f" (tolerance {self.tolerance:.0e})"
        if self.index is not None:
            where = ", ".join(str(i) for i in self.index)
            text += f" at [{where}]: ours {self.ours!r}, MuJoCo {self.theirs!r}, state {self.state}"
        if self.undecided:
            text += f"; undecided: MuJoCo differs from itself by {self.spread:.2e} if it starts {HAIR:.0e} away"
        return text + (f": {self.note}" if self.note else "")


@dataclass(frozen=True)
class Report:
    """What a comparison found: one result per field, in the order of the layers.

    counts: of the layers that may have nothing to compare, how many contacts or rows there were in each state.
    """

    model: str
    results: tuple[FieldResult, ...]
    states: int
    seed: int
    counts: Mapping[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether no field of any layer differs."""
        return not self.failures()

    @property
    def verdict(self) -> str:
        """The report in a few words."""
        if not self.ok:
            return f"DIFFERS from MuJoCo {mujoco.__version__}"
        where = ", where that agrees with itself" if self.undecided() else ""
        return f"agrees with MuJoCo {mujoco.__version__}{where}"

    def failures(self) -> list[FieldResult]:
        """The fields that differ."""
        return [result for result in self.results if not result.ok and not result.undecided]

    def undecided(self) -> list[FieldResult]:
        """The fields of which MuJoCo itself is not sure, in some state."""
        return [result for result in self.results if result.undecided]

    def layers(self) -> list[str]:
        """The compared layers, in order."""
        return list(dict.fromkeys(result.layer for result in self.results))

    def empty(self, layer: str) -> bool:
        """Whether a layer had nothing to compare in any state, on either side, so that it proves nothing."""
        results = [result for result in self.results if result.layer == layer]
        if layer in self.counts:
            return not any(self.counts[layer]) and all(result.ok for result in results)
        return all(result.ok and result.index is None for result in results)

    def worst(self, layer: str) -> FieldResult:
        """The result of the field that says most about a layer: of a difference if there is one, of the largest error else."""
        return max((result for result in self.results if result.layer == layer), key=lambda result: result.rank)

    def __str__(self) -> str:
        lines = [f"{self.model} {self.verdict} ({self.states} random states, seed {self.seed})"]
        for name in self.layers():
            worst = self.worst(name)
            if self.empty(name):
                lines.append(f"  {name:<21} nothing to compare")
                continue
            count = sum(result.layer == name for result in self.results)
            state = "ok" if worst.ok else "undecided" if worst.undecided else "FAIL"
            lines.append(
                f"  {name:<21} {count:>3} fields  worst {worst.error:.1e} in {worst.field:<17} "
                f"tolerance {worst.tolerance:.0e}  {state}"
            )
        return "\n".join(lines + [f"  {result}" for result in (*self.failures(), *self.undecided())])


def check(
    source: Any, states: int = 3, seed: int = 0, name: str | None = None, layers: Iterable[Layer] = LAYERS
) -> Report:
    """Compare a model with MuJoCo in `states` random states.

    source: anything `kinetree.load` takes. name: how the report calls the model, by default its file or model name.
    layers: rows of `layers.LAYERS`, in their order.
    """
    if states < 1:
        raise ValueError(f"states must be at least 1, got {states}")
    layers = tuple(layers)
    pair = Pair.of(source)
    title = name or _title(source, pair.theirs_model)
    rng = np.random.default_rng(seed)
    worst: dict[tuple[str, str], FieldResult] = {}
    counts: dict[str, list[int]] = {layer.name: [] for layer in layers if layer.count is not None}
    with quiet():
        for state in range(states):
            random_state(pair.theirs_model, rng, pair.theirs)
            pair.ours.reset()
            copy_state(pair.theirs, pair.ours)
            for layer in layers:
                start, count, values = pair.run(layer, np.random.default_rng((seed, state)))
                if layer.count is not None:
                    counts[layer.name].append(count)
                results = []
                for field, mine, reference in values:
                    result = compare(mine, reference, title, layer.name, field.name, layer.tolerance, state, field.each)
                    results.append(result)
                differ = {result.field for result in results if not result.ok}
                if layer.jumps and differ:
                    theirs = {field.name: reference for field, _, reference in values if field.name in differ}
                    own = pair.spread(layer, start, theirs)
                    results = [dataclasses.replace(result, spread=own.get(result.field, 0.0)) for result in results]
                for result in results:
                    key = (layer.name, result.field)
                    if key not in worst or result.rank > worst[key].rank:
                        worst[key] = result
    numbers = {name: tuple(found) for name, found in counts.items()}
    return Report(title, tuple(worst.values()), states, seed, numbers)


@dataclass(frozen=True)
class Pair:
    """A model on both sides, each with a data. Both models are copies: layers change them."""

    ours_model: kt.Model
    ours: kt.Data
    theirs_model: mujoco.MjModel
    theirs: mujoco.MjData

    @classmethod
    def of(cls, source: Any) -> Pair:
        """Load a source on both sides. All trees are awake, but in the layer of sleep.

        Convex shapes collide by MuJoCo's native solver on its side too, whatever the model says.
        """
        ours = kt.load(source)
        with quiet():  # what MuJoCo has to say about the source, `load` has passed on already
            theirs = copy.copy(oracle_model(source))
        for model in (ours, theirs):
            model.opt.enableflags = int(model.opt.enableflags) & ~int(kt.EnableBit.SLEEP)
            model.opt.disableflags = int(model.opt.disableflags) & ~int(kt.DisableBit.NATIVECCD)
        return cls(ours, kt.Data(ours), theirs, mujoco.MjData(theirs))

    def run(self, layer: Layer, rng: np.random.Generator) -> tuple[np.ndarray, int, Values]:
        """Run a layer on both sides: the state before, how much there is to compare, and the fields.

        rng: for layers with states of their own.
        """
        with layer.setting(self.ours_model), layer.setting(self.theirs_model):
            if layer.prepare is not None:
                layer.prepare(self.theirs_model, self.theirs, rng)
                copy_state(self.theirs, self.ours)
            start, before = get_start(self.theirs_model, self.theirs), self._count(layer)
            layer.oracle(self.theirs_model, self.theirs)
            layer.run(self.ours_model, self.ours)
            return start, max(before, self._count(layer)), [(field, *self._values(field)) for field in layer.fields]

    def spread(self, layer: Layer, start: np.ndarray, theirs: dict[str, np.ndarray]) -> dict[str, float]:
        """How far MuJoCo is from itself in a layer (see `spread`)."""
        with layer.setting(self.theirs_model):
            return spread(layer, self.theirs_model, start, theirs, np.random.default_rng(0))

    def _count(self, layer: Layer) -> int:
        return 1 if layer.count is None else layer.count(self.theirs_model, self.theirs)

    def _values(self, field: Field) -> tuple[np.ndarray, np.ndarray]:
        mine = np.atleast_1d(np.array(field.ours(self.ours_model, self.ours), dtype=float))
        return mine, np.atleast_1d(np.array(field.theirs(self.theirs_model, self.theirs), dtype=float))


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of either side: an unstable motion must be so on both, and the comparison says whether it is."""
    with mujoco_warnings() as told, warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.SimulationWarning)
        try:
            yield
        finally:
            told.clear()


def compare(
    ours: np.ndarray, theirs: np.ndarray, model: str, layer: str, field: str, tolerance: float, state: int = 0,
    each: bool = False,
) -> FieldResult:  # fmt: skip
    """Compare one field in one state. each: judge every number by its own size."""
    error, index = error_of(ours, theirs, each)
    if index is None:
        note = f"shape {ours.shape} against MuJoCo's {theirs.shape}" if error else ""
        return FieldResult(model, layer, field, tolerance, error, state=state, note=note)
    note = "" if np.isfinite(error) else "not finite"
    return FieldResult(
        model, layer, field, tolerance, error, index, float(ours[index]), float(theirs[index]), state, note
    )


def oracle_model(source: Any) -> mujoco.MjModel:
    """Compile the source with MuJoCo alone, on no path that kinetree's own loader shares."""
    if isinstance(source, mujoco.MjModel):
        return source
    if isinstance(source, mujoco.MjSpec):
        return source.copy().compile()
    if isinstance(source, str) and source.lstrip().startswith("<"):
        return mujoco.MjModel.from_xml_string(source)
    bundled = isinstance(source, str) and source in kt.models.names()
    path = kt.models.path(source) if bundled else Path(os.fspath(source))
    if path.suffix.lower() == ".mjb":
        return mujoco.MjModel.from_binary_path(str(path))
    return mujoco.MjModel.from_xml_path(str(path))


def _title(source: Any, model: mujoco.MjModel) -> str:
    """The file's name, or the name the model gives itself, which MuJoCo keeps first in its string of names."""
    if isinstance(source, os.PathLike) or (isinstance(source, str) and not source.lstrip().startswith("<")):
        return Path(source).name
    return bytes(model.names).split(b"\0", 1)[0].decode() or "model"
