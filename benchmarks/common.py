"""What all benchmarks share: the timing loop, the description of the machine, the printed table and the JSON file.

Times on a shared machine wander by half within seconds. So the candidates take turns, round by round, and a ratio is the
median of the ratios within each round: what slows one candidate slows its neighbour too. Short runs are timed in processor
time of this process, which does not count while others have the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

SEPARATOR = " | "  # in a name: what was run, then how


@dataclass
class Candidate:
    """Something to time. `units`: how many units of work one run of the statement does, say worlds times repetitions."""

    name: str
    statement: str
    scope: Mapping[str, Any]
    units: int = 1


@dataclass
class Target:
    """A promise: `value` must not be above (`<=`, `<`) or below (`>=`) the limit."""

    name: str
    value: float
    relation: str
    limit: float
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether the promise is kept."""
        return {"<=": self.value <= self.limit, "<": self.value < self.limit, ">=": self.value >= self.limit}[
            self.relation
        ]


@dataclass
class Report:
    """Results of one benchmark: times by name (one per round), ratios, promises and whatever else is worth keeping."""

    title: str
    unit: str = "us"
    times: dict[str, list[float]] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    targets: list[Target] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    def median(self, name: str) -> float:
        """Median time of a candidate."""
        return statistics.median(self.times[name])

    def ratio(self, label: str, ours: str, peer: str) -> float:
        """Median over the rounds of time / time of a peer; kept under the label."""
        pairs = zip(self.times[ours], self.times[peer], strict=True)
        self.ratios[label] = statistics.median(a / b for a, b in pairs)
        return self.ratios[label]

    def difference(self, ours: str, peer: str) -> float:
        """Median over the rounds of time - time of a peer."""
        return statistics.median(a - b for a, b in zip(self.times[ours], self.times[peer], strict=True))

    def as_json(self) -> dict[str, Any]:
        """Everything, ready to be written."""
        return {
            "benchmark": self.title,
            "machine": machine(),
            "unit": self.unit,
            "times": {name: summary(values) for name, values in self.times.items()},
            "ratios": self.ratios,
            "targets": [{**asdict(t), "met": t.met} for t in self.targets],
            "notes": self.notes,
            "details": self.details,
        }

    def show(self, console: Console) -> None:
        """Print times, ratios and promises."""
        if all(SEPARATOR in name for name in self.times):
            medians = {name: f"{self.median(name):.3f}" for name in self.times}
            console.print(_by_subject(f"{self.title}, median [{self.unit}]", medians))
            console.print(_by_subject("Ratios within a round, median", {k: f"{v:.2f}" for k, v in self.ratios.items()}))
        else:
            table = Table("what", title=self.title, title_justify="left")
            for column in (f"median [{self.unit}]", "low", "high"):
                table.add_column(column, justify="right")
            for name, values in self.times.items():
                s = summary(values)
                table.add_row(name, *(f"{s[key]:.3f}" for key in ("median", "low", "high")))
            console.print(table)
            for label, value in self.ratios.items():
                console.print(f"ratio {value:.2f}  {label}")
        for t in self.targets:
            verdict = "[green]met[/green]" if t.met else "[red]missed[/red]"
            console.print(f"{verdict}  {t.name}: {t.value:.3g} {t.unit}  (target {t.relation} {t.limit:g} {t.unit})")
        for note in self.notes:
            console.print(f"note: {note}")


def _by_subject(title: str, cells: Mapping[str, str]) -> Table:
    """A table from names like "humanoid | float64": one row per subject, one column per candidate."""
    pairs = [name.split(SEPARATOR, 1) for name in cells]
    columns = list(dict.fromkeys(column for _, column in pairs))
    table = Table("", title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right")
    for subject in dict.fromkeys(subject for subject, _ in pairs):
        table.add_row(subject, *(cells.get(f"{subject}{SEPARATOR}{column}", "") for column in columns))
    return table


def summary(values: Sequence[float]) -> dict[str, float]:
    """Median, and the tenth and ninetieth percentile."""
    ordered = sorted(values)
    last = len(ordered) - 1
    return {
        "median": statistics.median(ordered),
        "low": ordered[round(0.1 * last)],
        "high": ordered[round(0.9 * last)],
        "rounds": len(ordered),
    }


def measure(candidates: Sequence[Candidate], rounds: int, seconds: float = 0.004) -> dict[str, list[float]]:
    """Microseconds of processor time per unit of work of each candidate, one value per round; in a round each takes `seconds`.

    The loop around the statement costs under 0.01 us a run and is counted.
    """
    timers = [timeit.Timer(c.statement, timer=time.process_time, globals=dict(c.scope)) for c in candidates]
    numbers = []
    for timer in timers:
        timer.timeit(1)  # compiles, fills caches
        once = min(timer.timeit(1) for _ in range(5))
        numbers.append(max(1, round(seconds / max(once, 1e-7))))
    out: dict[str, list[float]] = {c.name: [] for c in candidates}
    for _ in range(rounds):
        for candidate, timer, number in zip(candidates, timers, numbers, strict=True):
            out[candidate.name].append(timer.timeit(number) / number / candidate.units * 1e6)
    return out


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    versions = {}
    for package in ("kinetree", "numpy", "llvmlite", "mujoco"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": versions,
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    fields = dict(part.split(":", 1) for part in lines if ":" in part)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    model, family = fields.get("model name", ""), fields.get("cpu family")
    return f"{model} (family {family} model {fields.get('model')})" if family else model or platform.processor()


def arguments(description: str | None) -> argparse.Namespace:
    """The options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--quick", action="store_true", help="few rounds: shows that it works, measures little")
    return parser.parse_args()


def main(run: Callable[[bool], Report], description: str | None) -> None:
    """Run a benchmark from the command line."""
    options = arguments(description)
    report = run(options.quick)
    report.show(Console())
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report.as_json(), indent=1) + "\n", encoding="utf-8")
