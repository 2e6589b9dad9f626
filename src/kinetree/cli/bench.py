"""`kinetree bench`: how fast models run on this machine, one world and batches of them, beside MuJoCo."""

from __future__ import annotations

import json
import statistics
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from ..errors import SimulationWarning
from ..models import names
from .common import errors, load_model, output

DTYPES = ("float64", "float32")


def measured(argument: str, worlds: int, threads: int, seconds: float, rounds: int) -> dict[str, Any]:
    """Microseconds for a step of a world, and how many times faster than MuJoCo."""
    from ..conformance.speed import ALONE, MUJOCO, Race, faster, one_world  # with MuJoCo's batch

    label, model = load_model(argument)
    race = Race(model, worlds, DTYPES, threads, seconds)
    times, alone = race.rounds(rounds), one_world(model, race, rounds)
    return {
        "model": label, "worlds": worlds, "threads": threads, **race.counts(),
        "microseconds": {who: statistics.median(values) for who, values in times.items()}
        | {f"{who}, alone": statistics.median(values) for who, values in alone.items()},
        "faster": {dtype: faster(times, dtype) for dtype in DTYPES} | {"one world": faster(alone, ALONE, MUJOCO)},
    }  # fmt: skip


def shown(results: Sequence[dict[str, Any]]) -> Table:
    """The results as a table."""
    table = Table(title="µs for a step of a world, and how many times faster than MuJoCo's", title_justify="left")
    for column in ("model", "contacts", "kt.step", "batch, float64", "batch, float32"):
        table.add_column(column, justify="left" if column == "model" else "right", overflow="fold")
    for each in results:
        us, gain = each["microseconds"], each["faster"]
        cells = [
            f"{us[time]:.3g} × {gain[who]:.2f}"
            for time, who in (("one world, alone", "one world"), ("float64", "float64"), ("float32", "float32"))
        ]
        table.add_row(each["model"], f"{each['ncon']:.1f}", *cells)
    return table


def bench(models: Sequence[str], worlds: int, threads: int, seconds: float, rounds: int, file: Path | None) -> int:
    """Measure models, the bundled ones if none is named; a table, and all numbers as JSON if a file is named."""
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        for argument in models or names():
            with errors.status(f"{argument}: {worlds} worlds"):
                results.append(measured(argument, worlds, threads, seconds, rounds))
    if file is not None and str(file) == "-":
        output.print_json(json.dumps(results))
        return 0
    output.print(shown(results))
    if file is not None:
        file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0
