"""Load a model in kinetree and in MuJoCo, put both into the same random states, and compare field by field."""

from __future__ import annotations

import copy
import dataclasses
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import kinetree as kt

from ..io.load import mujoco_warnings
from ..types import Integrator
from . import budget
from .judge import Entries, FieldResult, line_up, oracle_values, verdict
from .layer import Field, Layer
from .layers import LAYERS
from .matching import match, parts_of
from .spread import spread
from .states import copy_state, random_state
from .touching import get_start


@dataclass(frozen=True)
class Report:
    """What a comparison found: one result per field, in the order of the layers.

    counts: of the layers that may have nothing to compare, how many contacts or rows there were in each state.
    cuts: what was left out because the model is large.
    """

    model: str
    results: tuple[FieldResult, ...]
    states: int
    seed: int
    counts: Mapping[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)
    cuts: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no entry of any layer differs."""
        return not self.failures()

    @property
    def entries(self) -> tuple[int, int, int]:
        """How many entries agree, are undecided, and differ, over all states and the layers that have something to compare."""
        full = {layer for layer in self.layers() if not self.empty(layer)}
        return tally(result for result in self.results if result.layer in full)

    @property
    def verdict(self) -> str:
        """The report in a few words."""
        agree, undecided, differ = self.entries
        total = agree + undecided + differ
        if not self.ok:
            return f"DIFFERS from MuJoCo {mujoco.__version__} in {differ} of {total} numbers; {undecided} are undecided"
        share = (
            f" in {agree} of {total} numbers; {undecided} are undecided" if undecided else f" in all {total} numbers"
        )
        return f"agrees with MuJoCo {mujoco.__version__}{share}"

    def failures(self) -> list[FieldResult]:
        """The fields with entries that differ."""
        return [result for result in self.results if result.differs]

    def undecided(self) -> list[FieldResult]:
        """The other fields that have entries of which MuJoCo itself is not sure."""
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
                lines.append(f"  {name:<24} nothing to compare")
                continue
            agree, undecided, differ = tally(result for result in self.results if result.layer == name)
            state = "FAIL" if differ else "undecided" if undecided else "ok"
            lines.append(
                f"  {name:<24} {agree:>7} agree {undecided:>5} undecided {differ:>5} differ  worst {worst.error:.1e} in "
                f"{worst.field:<17} tolerance {worst.tolerance:.0e}  {state}"
            )
        lines += [f"  {result}" for result in (*self.failures(), *self.undecided())]
        return "\n".join(lines + [f"  cut: {cut}" for cut in self.cuts])


def tally(results: Iterable[FieldResult]) -> tuple[int, int, int]:
    """How many entries of some fields agree, are undecided, and differ."""
    results = list(results)
    return (
        sum(result.agreeing_entries for result in results),
        sum(result.undecided_entries for result in results),
        sum(result.differing_entries for result in results),
    )


def merged(first: FieldResult | None, second: FieldResult) -> FieldResult:
    """Two results of one field in different states: the one that says more, with the entries of both."""
    if first is None:
        return second
    return dataclasses.replace(
        second if second.rank > first.rank else first,
        entries=first.entries + second.entries,
        undecided_entries=first.undecided_entries + second.undecided_entries,
        differing_entries=first.differing_entries + second.differing_entries,
    )


def check(
    source: Any,
    states: int = 3,
    seed: int = 0,
    name: str | None = None,
    layers: Iterable[Layer] = LAYERS,
    integrator: Integrator | None = None,
) -> Report:
    """Compare a model with MuJoCo in `states` random states.

    source: anything `kinetree.load` takes. name: how the report calls the model, by default its file or model name.
    layers: rows of `layers.LAYERS`, in their order. integrator: in place of the model's own.
    """
    if states < 1:
        raise ValueError(f"states must be at least 1, got {states}")
    layers = tuple(layers)
    pair = Pair.of(source, integrator)
    title = name or _title(source, pair.theirs_model)
    rng = np.random.default_rng(seed)
    worst: dict[tuple[str, str], FieldResult] = {}
    counts: dict[str, list[int]] = {layer.name: [] for layer in layers if layer.count is not None}
    cuts = dict.fromkeys(budget.cuts(pair.theirs_model, layers, states))
    with quiet():
        for state in range(states):
            random_state(pair.theirs_model, rng, pair.theirs)
            pair.ours.reset()
            copy_state(pair.theirs, pair.ours)
            for layer in layers:
                count, results, cut = pair.judge(layer, np.random.default_rng((seed, state)), state, title)
                if layer.count is not None:
                    counts[layer.name].append(count)
                for result in results:
                    key = (layer.name, result.field)
                    worst[key] = merged(worst.get(key), result)
                cuts |= dict.fromkeys(cut)
    numbers = {name: tuple(found) for name, found in counts.items()}
    return Report(title, tuple(worst.values()), states, seed, numbers, tuple(cuts))


@dataclass(frozen=True)
class Pair:
    """A model on both sides, each with a data. Both models are copies: layers change them."""

    ours_model: kt.Model
    ours: kt.Data
    theirs_model: mujoco.MjModel
    theirs: mujoco.MjData

    @classmethod
    def of(cls, source: Any, integrator: Integrator | None = None) -> Pair:
        """Load a source on both sides, if asked with another integrator."""
        ours = kt.load(source)
        with quiet():  # what MuJoCo has to say about the source, `load` has passed on already
            theirs = copy.copy(oracle_model(source))
        for model in (ours, theirs):  # the older solver of convex shapes is MuJoCo's alone
            model.opt.disableflags = int(model.opt.disableflags) & ~int(kt.DisableBit.NATIVECCD)
            if integrator is not None:
                model.opt.integrator = int(integrator)
        return cls(ours, kt.Data(ours), theirs, mujoco.MjData(theirs))

    def run(self, layer: Layer, rng: np.random.Generator, state: int = 0) -> tuple[np.ndarray, int]:
        """Run a layer on both sides: the state before, and how much there is to compare.

        rng, state: for layers with states of their own, which are sought with the model's own solver.
        """
        with self._awake(layer):
            if layer.prepare is not None:
                layer.prepare(self.theirs_model, self.theirs, rng, state)
                self.ours.reset()  # who sleeps, and since when trees are at rest, is no part of a copied state
                copy_state(self.theirs, self.ours)
            start, before = get_start(self.theirs_model, self.theirs), self._count(layer)
            with layer.setting(self.ours_model), layer.setting(self.theirs_model):
                layer.oracle(self.theirs_model, self.theirs)
                layer.run(self.ours_model, self.ours)
        return start, max(before, self._count(layer))

    def values(self, field: Field) -> tuple[np.ndarray, np.ndarray]:
        """Our values of a field and MuJoCo's, as each side has them."""
        mine = np.atleast_1d(np.array(field.ours(self.ours_model, self.ours), dtype=float))
        return mine, oracle_values(field, self.theirs_model, self.theirs)

    def judge(
        self, layer: Layer, rng: np.random.Generator, state: int = 0, title: str = ""
    ) -> tuple[int, list[FieldResult], list[str]]:
        """Run a layer on both sides and judge its fields: how much there is to compare, the results, and what was cut."""
        start, count = self.run(layer, rng, state)
        parts, other = parts_of(self.theirs), parts_of(self.ours)
        found = match(parts, other)
        entries: dict[str, Entries] = {}
        values: dict[str, np.ndarray] = {}
        for field in layer.fields:
            mine, values[field.name] = self.values(field)
            entries[field.name] = line_up(
                field, self.theirs_model, self.theirs, values[field.name], self.ours, mine, found, parts, other,
                layer.tolerance,
            )  # fmt: skip
        doubts = {name: found for name, found in entries.items() if (found.errors() > layer.tolerance).any()}
        own: dict[str, np.ndarray] = {}
        cut = []
        if doubts:
            choices = {n: e.field.choice(self.theirs_model, self.theirs) for n, e in doubts.items() if e.field.choice}
            with self._awake(layer), layer.setting(self.theirs_model):
                own, runs = spread(
                    layer, self.theirs_model, start, parts, values, doubts, choices, np.random.default_rng(0)
                )
            if budget.REPEATS > runs == budget.repeats(self.theirs_model, layer.steps):
                cut = [f"{layer.name}: MuJoCo was run {runs} times against itself, not {budget.REPEATS}"]
        results = [
            verdict(found, title, layer.name, layer.tolerance, state, own.get(name)) for name, found in entries.items()
        ]
        return count, results, cut

    @contextmanager
    def _awake(self, layer: Layer) -> Iterator[None]:
        """Both models with all trees awake, unless the layer has them sleep as the model says."""
        awake = nullcontext if layer.sleeps else all_awake
        with awake(self.ours_model), awake(self.theirs_model):
            yield

    def _count(self, layer: Layer) -> int:
        return 1 if layer.count is None else layer.count(self.theirs_model, self.theirs)


@contextmanager
def all_awake(model: Any) -> Iterator[None]:
    """The model without sleep."""
    enabled = int(model.opt.enableflags)
    model.opt.enableflags = enabled & ~int(kt.EnableBit.SLEEP)
    try:
        yield
    finally:
        model.opt.enableflags = enabled


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of either side: an unstable motion must be so on both, and the comparison says whether it is."""
    with mujoco_warnings() as told, warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.SimulationWarning)
        try:
            yield
        finally:
            told.clear()


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
