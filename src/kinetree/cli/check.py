"""`kinetree check`: how closely kinetree agrees with MuJoCo on a model, layer by layer."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from ..conformance import LAYERS, FieldResult, Report
from ..conformance import check as compare
from ..errors import ModelError, UnsupportedFeatureError
from ..stepping import not_computed
from .common import complain, load_model, output

AGREES, DIFFERS, NO_VERDICT = 0, 1, 2  # exit status


def check(argument: str, states: int, seed: int, file: Path | None) -> int:
    """Print the report, write it to a file if one is given, and return the exit status."""
    try:
        name, model = load_model(argument)
    except (ModelError, OSError) as problem:
        complain(str(problem))
        features = list(problem.features) if isinstance(problem, UnsupportedFeatureError) else []
        _write(file, {"model": argument, "agrees": None, "error": str(problem), "unsupported": features})
        return NO_VERDICT
    missing = not_computed(model)
    with output.status("Comparing; the first time on a machine this compiles the kernels …"):
        report = compare(argument, states, seed, name)
    output.print(table(report))
    for failure in report.failures():
        output.print(describe(failure), style="red", soft_wrap=True, markup=False, highlight=False)
    if missing:
        text = f"Done otherwise, and so by MuJoCo for this comparison: {', '.join(missing)}."
        output.print(text, style="yellow", highlight=False)
    for result in report.undecided():
        output.print(describe(result), style="yellow", soft_wrap=True, markup=False, highlight=False)
    style = "red" if not report.ok else "yellow" if report.undecided() else "green"
    output.print(f"{name} {report.verdict}", style=style, markup=False, highlight=False)
    if not _write(file, as_json(report, missing)):
        return NO_VERDICT
    return AGREES if report.ok else DIFFERS


def table(report: Report) -> Table:
    """One row per layer: how many of its fields hold numbers in this model, and the worst of them.

    In the layers with constraints there may be none to compare; otherwise their numbers in the states are given.
    """
    heading = f"{report.model}: kinetree against MuJoCo in {report.states} random states, seed {report.seed}"
    out = Table(title=Text(heading), title_justify="left")
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
    failed = sum(not result.ok and not result.undecided for result in results)
    if failed:
        return Text(f"NO: {failed} of {len(results)}", style="red")
    undecided = any(result.undecided for result in results)
    return Text("undecided", style="yellow") if undecided else Text("yes", style="green")


def describe(failure: FieldResult) -> str:
    """Where a field is worst, and both values there."""
    text = f"{failure.layer}: {failure.field} differs by {failure.error:.2e}, tolerance {failure.tolerance:.0e}"
    if failure.index is not None:
        where = ", ".join(map(str, failure.index))
        text += f"; worst at [{where}] in state {failure.state}: {failure.ours!r}, MuJoCo {failure.theirs!r}"
    if failure.undecided:
        text += f"; undecided, as MuJoCo differs from itself by {failure.spread:.2e} when it starts a hair away"
    return text + (f" ({failure.note})" if failure.note else "")


def as_json(report: Report, missing: list[str]) -> dict[str, Any]:
    """The report for other programs; what is not finite becomes null, which JSON has no number for."""
    fields = ("field", "error", "tolerance", "ok", "undecided", "spread", "index", "ours", "theirs", "state", "note")
    layers: dict[str, list[dict[str, Any]]] = {}
    for result in report.results:
        row = {name: getattr(result, name) for name in fields}
        finite = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
        layers.setdefault(result.layer, []).append(finite)
    return {
        "model": report.model, "agrees": report.ok, "states": report.states, "seed": report.seed, "layers": layers,
        "counts": {name: list(numbers) for name, numbers in report.counts.items()}, "not_computed": missing,
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
