"""`kinetree check`: how closely kinetree agrees with MuJoCo on a model, layer by layer."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from ..conformance import LAYERS, FieldResult, Report, group_names, tally
from ..conformance import check as compare
from ..errors import ModelError, SettingError, UnsupportedFeatureError
from ..notices import not_computed
from .common import complain, integrator_named, load_model, output
from .warmup import prepare

AGREES, DIFFERS, NO_VERDICT = 0, 1, 2  # exit status


SHOWN = 2  # fields that differ, in a summary


def check(
    argument: str, states: int, seed: int, file: Path | None, verbose: bool = False, integrator: str | None = None
) -> int:
    """Print the report, write it to a file if one is given, and return the exit status."""
    try:
        kind = integrator_named(integrator)
    except SettingError as problem:
        complain(str(problem))
        return NO_VERDICT
    try:
        name, model = load_model(argument)
    except (ModelError, OSError) as problem:
        complain(str(problem))
        features = list(problem.features) if isinstance(problem, UnsupportedFeatureError) else []
        _write(file, {"model": argument, "agrees": None, "error": str(problem), "unsupported": features})
        return NO_VERDICT
    missing = not_computed(model)
    prepare(model)
    with output.status("Comparing …"):
        report = compare(argument, states, seed, name, integrator=kind)
    output.print(table(report) if verbose else summary(report))
    failures = sorted(report.failures(), key=lambda result: -result.differing_entries)
    for failure in failures if verbose else failures[:SHOWN]:
        _say(describe(failure, verbose), "red", wrap=verbose)
    if missing:
        _say(f"Done otherwise, and so by MuJoCo for this comparison: {', '.join(missing)}.", "yellow", wrap=verbose)
    if verbose:
        for text in (*map(describe, report.undecided()), *(f"left out: {cut}" for cut in report.cuts)):
            _say(text, "yellow", wrap=True)
    elif report.cuts:
        _say(f"Left out: {'; '.join(report.cuts)}.", "yellow")
    style = "red" if not report.ok else "yellow" if report.undecided() else "green"
    more = "" if verbose or (report.ok and not report.undecided()) else "; --verbose says where"
    _say(f"{name} {report.verdict}{more}", style, wrap=True)
    if not _write(file, as_json(report, missing)):
        return NO_VERDICT
    return AGREES if report.ok else DIFFERS


def _say(text: str, style: str, wrap: bool = False) -> None:
    """One line, which goes on below if it may, or ends at the edge."""
    overflow: Any = "fold" if wrap else "ellipsis"
    output.print(text, style=style, soft_wrap=wrap, no_wrap=not wrap, overflow=overflow, markup=False, highlight=False)


def summary(report: Report) -> Table:
    """One row for each kind of layers: how many numbers agree, are undecided and differ, and the worst of them."""
    out = Table(title=Text(_heading(report)), title_justify="left", box=None, pad_edge=False)
    out.add_column("", style="cyan")
    for column in ("agree", "undecided", "differ"):
        out.add_column(column, justify="right")
    out.add_column("worst, in tolerances", no_wrap=True)
    for group, layers in group_names().items():
        full = [layer for layer in report.layers() if layer in layers and not report.empty(layer)]
        results = [result for result in report.results if result.layer in full]
        if not results:
            out.add_row(group, "", "", "", "nothing to compare")
            continue
        agree, undecided, differ = tally(results)
        worst = max(results, key=lambda result: (*result.rank[:2], result.error / result.tolerance))
        style = "red" if differ else "yellow" if undecided else "green"
        near = f"{worst.error / worst.tolerance:.0e} {worst.field}"
        out.add_row(group, str(agree), str(undecided), str(differ), Text(near, style=style))
    return out


def _heading(report: Report) -> str:
    return f"{report.model}: kinetree against MuJoCo in {report.states} random states, seed {report.seed}"


def table(report: Report) -> Table:
    """One row per layer: how many of its fields hold numbers in this model, and the worst of them.

    In the layers with constraints there may be none to compare; otherwise their numbers in the states are given.
    """
    out = Table(title=Text(_heading(report)), title_justify="left")
    out.add_column("layer", style="cyan")
    for column in ("fields", "worst field", "worst error", "tolerance"):
        out.add_column(column, justify="left" if column == "worst field" else "right")
    out.add_column("ok")
    out.add_column("contacts, rows")
    for layer in LAYERS:
        results = [result for result in report.results if result.layer == layer.name]
        held = [result for result in results if result.index is not None or not result.ok]
        counts = report.counts.get(layer.name, ())
        if results and not report.empty(layer.name):
            worst = report.worst(layer.name)
            out.add_row(
                layer.name, str(len(held)), worst.field, f"{worst.error:.1e}", f"{worst.tolerance:.0e}", _verdict(held),
                " ".join(map(str, counts)),
            )  # fmt: skip
        else:
            out.add_row(layer.name, "none", "", "", f"{layer.tolerance:.0e}", "", "none" if counts else "")
    return out


def _verdict(results: list[FieldResult]) -> Text:
    """On the fields of a layer."""
    agree, undecided, differ = tally(results)
    if differ:
        return Text(f"NO: {differ} of {agree + undecided + differ}", style="red")
    return Text(f"{undecided} undecided", style="yellow") if undecided else Text("yes", style="green")


def describe(failure: FieldResult, closely: bool = True) -> str:
    """How far a field is off, if asked also where it is worst and both values there."""
    count = failure.differing_entries or failure.undecided_entries
    text = f"{failure.layer}: {failure.field} {'is undecided' if failure.undecided else 'differs'} in {count} of "
    text += f"{failure.entries} numbers, by up to {failure.error:.2e}, tolerance {failure.tolerance:.0e}"
    if closely and failure.index is not None:
        where = ", ".join(map(str, failure.index))
        text += f"; worst at [{where}] in state {failure.state}: {failure.ours!r}, MuJoCo {failure.theirs!r}"
        text += f", which differs from itself by {failure.spread:.2e} when it starts a hair away"
    return text + (f" ({failure.note})" if failure.note else "")


def as_json(report: Report, missing: list[str]) -> dict[str, Any]:
    """The report for other programs; what is not finite becomes null, which JSON has no number for."""
    fields = ("field", "error", "tolerance", "ok", "undecided", "spread", "index", "ours", "theirs", "state", "note",
              "entries", "undecided_entries", "differing_entries")  # fmt: skip
    layers: dict[str, list[dict[str, Any]]] = {}
    for result in report.results:
        row = {name: getattr(result, name) for name in fields}
        finite = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
        layers.setdefault(result.layer, []).append(finite)
    return {
        "model": report.model, "agrees": report.ok, "states": report.states, "seed": report.seed, "layers": layers,
        "counts": {name: list(numbers) for name, numbers in report.counts.items()}, "not_computed": missing,
        "entries": dict(zip(("agree", "undecided", "differ"), report.entries, strict=True)), "cuts": list(report.cuts),
    }  # fmt: skip


def _write(file: Path | None, contents: dict[str, Any]) -> bool:
    """Whether the file could be written; without a file there is nothing to go wrong."""
    try:
        if file is not None:
            file.write_text(json.dumps(contents, indent=1) + "\n", encoding="utf-8")
    except OSError as problem:
        complain(f"cannot write to {file}: {problem.strerror or problem}")
        return False
    return True
