"""Run all benchmarks, one after the other, each in a process of its own.

Writes <out>/<benchmark>.json and ends with the list of targets. `make bench` runs this.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from rich.console import Console

FOLDER = Path(__file__).parent
BENCHMARKS = sorted(
    path.stem
    for path in FOLDER.glob("*.py")
    if path.stem
    not in ("common", "dart_skeleton", "run", "symbolic_peers", "trees", "two_versions", "performance_page")
)


def main() -> int:
    """Run them; the exit status is 0 unless one of them fails to run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="folder for the JSON files")
    parser.add_argument("--quick", action="store_true", help="few rounds: shows that all work, measures little")
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(BENCHMARKS)}; all by default")
    options = parser.parse_args()
    unknown = set(options.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    console, status, targets = Console(), 0, []
    for name in options.names or BENCHMARKS:
        result = options.out / f"{name}.json"
        command = [sys.executable, str(FOLDER / f"{name}.py"), "--json", str(result)]
        done = subprocess.run(command + ["--quick"] * options.quick, check=False)
        if done.returncode:
            console.print(f"[red]{name} failed[/red]")
            status = 1
        else:
            targets += json.loads(result.read_text(encoding="utf-8"))["targets"]
    console.rule("targets")
    for t in targets:
        verdict = "[green]met   [/green]" if t["met"] else "[red]missed[/red]"
        console.print(f"{verdict} {t['name']}: {t['value']:.3g} {t['unit']} (target {t['relation']} {t['limit']:g})")
    console.print(f"results: {options.out}/")
    return status


if __name__ == "__main__":
    sys.exit(main())
