"""Load a model in kinetree and in MuJoCo, put both into the same random states, and compare field by field."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import kinetree as kt

from ..io.load import mujoco_warnings
from .layers import LAYERS, Layer
from .states import copy_state, random_state


@dataclass(frozen=True)
class FieldResult:
    """The worst disagreement of one field over all states.

    error: max |ours - theirs| / max(1, max |theirs|), infinite when a side is not finite or the shapes differ.
    index, ours, theirs: where the difference is largest, and both values there (None for an empty field).
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

    @property
    def ok(self) -> bool:
        """Whether the field agrees within its tolerance."""
        return self.error <= self.tolerance

    def __str__(self) -> str:
        verdict = "ok  " if self.ok else "FAIL"
        text = f"{verdict} {self.model}: {self.layer}: {self.field} error {self.error:.2e}"
        text += f" (tolerance {self.tolerance:.0e})"
        if self.index is not None:
            where = ", ".join(str(i) for i in self.index)
            text += f" at [{where}]: ours {self.ours!r}, MuJoCo {self.theirs!r}, state {self.state}"
        return text + (f": {self.note}" if self.note else "")


@dataclass(frozen=True)
class Report:
    """What a comparison found: one result per field, in the order of the layers."""

    model: str
    results: tuple[FieldResult, ...]
    states: int
    seed: int

    @property
    def ok(self) -> bool:
        """Whether every field of every layer agrees."""
        return all(result.ok for result in self.results)

    def failures(self) -> list[FieldResult]:
        """The fields that do not agree."""
        return [result for result in self.results if not result.ok]

    def layers(self) -> list[str]:
        """The compared layers, in order."""
        return list(dict.fromkeys(result.layer for result in self.results))

    def worst(self, layer: str) -> FieldResult:
        """The result of the field with the largest error in a layer."""
        return max((result for result in self.results if result.layer == layer), key=lambda result: result.error)

    def __str__(self) -> str:
        verdict = "agrees with" if self.ok else "DIFFERS from"
        lines = [f"{self.model} {verdict} MuJoCo {mujoco.__version__} ({self.states} random states, seed {self.seed})"]
        for name in self.layers():
            worst = self.worst(name)
            count = sum(result.layer == name for result in self.results)
            state = "ok" if all(result.ok for result in self.results if result.layer == name) else "FAIL"
            lines.append(
                f"  {name:<12} {count:>3} fields  worst {worst.error:.1e} in {worst.field:<17} "
                f"tolerance {worst.tolerance:.0e}  {state}"
            )
        return "\n".join(lines + [f"  {failure}" for failure in self.failures()])


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
    with quiet():
        for state in range(states):
            random_state(pair.theirs_model, rng, pair.theirs)
            copy_state(pair.theirs, pair.ours)
            for layer in layers:
                for field, mine, reference in pair.values(layer):
                    result = compare(mine, reference, title, layer.name, field, layer.tolerance, state)
                    key = (layer.name, field)
                    if key not in worst or result.error > worst[key].error:
                        worst[key] = result
    return Report(title, tuple(worst.values()), states, seed)


@dataclass(frozen=True)
class Pair:
    """A model on both sides, each with a data. Both models are copies: layers change them."""

    ours_model: kt.Model
    ours: kt.Data
    theirs_model: mujoco.MjModel
    theirs: mujoco.MjData

    @classmethod
    def of(cls, source: Any) -> Pair:
        """Load a source on both sides. All trees are awake: kinetree does not put any to sleep yet."""
        ours = kt.load(source)
        with quiet():  # what MuJoCo has to say about the source, `load` has passed on already
            theirs = copy.copy(oracle_model(source))
        for model in (ours, theirs):
            model.opt.enableflags = int(model.opt.enableflags) & ~int(kt.EnableBit.SLEEP)
        return cls(ours, kt.Data(ours), theirs, mujoco.MjData(theirs))

    def values(self, layer: Layer) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        """Run a layer on both sides; name, our value and MuJoCo's of each of its fields."""
        with layer.setting(self.ours_model), layer.setting(self.theirs_model):
            if layer.prepare is not None:
                layer.prepare(self.theirs_model, self.theirs)
                copy_state(self.theirs, self.ours)
            layer.oracle(self.theirs_model, self.theirs)
            layer.run(self.ours_model, self.ours)
            for field in layer.fields:
                mine = np.atleast_1d(np.asarray(field.ours(self.ours_model, self.ours), dtype=float))
                reference = np.atleast_1d(np.asarray(field.theirs(self.theirs_model, self.theirs), dtype=float))
                yield field.name, mine, reference


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
    ours: np.ndarray, theirs: np.ndarray, model: str, layer: str, field: str, tolerance: float, state: int = 0
) -> FieldResult:
    """Compare one field in one state."""
    if ours.shape != theirs.shape:
        note = f"shape {ours.shape} against MuJoCo's {theirs.shape}"
        return FieldResult(model, layer, field, tolerance, np.inf, state=state, note=note)
    if not theirs.size:
        return FieldResult(model, layer, field, tolerance, 0.0, state=state)
    with np.errstate(invalid="ignore"):
        difference = np.abs(ours - theirs)
    # Whatever is not finite, on either side or on both, must never pass for agreement.
    difference[~(np.isfinite(ours) & np.isfinite(theirs))] = np.inf
    index = np.unravel_index(int(np.argmax(difference)), difference.shape)
    largest = float(difference[index])
    error = largest / max(1.0, float(np.max(np.abs(theirs)))) if np.isfinite(largest) else np.inf
    where = tuple(int(i) for i in index)
    note = "" if np.isfinite(largest) else "not finite"
    return FieldResult(
        model, layer, field, tolerance, error, where, float(ours[index]), float(theirs[index]), state, note
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
