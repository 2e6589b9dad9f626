"""Is a step slower than in another version of kinetree? Both run side by side, each in a process of its own, in turns.

    python benchmarks/two_versions.py OTHER_CHECKOUT [--quick] [MODEL ...]

Every corpus model, or those named, in motion; each process times the same steps, and a ratio is the median of the ratios
within each round.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROUNDS, SECONDS = 21, 0.004  # of each model, and about how long one of them takes

WORKER = """
import json, sys, time, warnings
sys.path.insert(0, sys.argv[2])
import numpy as np
import kinetree as kt
from tests.corpora import entries
warnings.simplefilter("ignore")
sources = {entry.name: entry.source for entry in entries()}
for line in sys.stdin:
    name, n = json.loads(line)
    if name:
        model = kt.load(sources[name]())
        data, rng = kt.Data(model), np.random.default_rng(0)
        data.ctrl[:] = rng.uniform(-0.2, 0.2, model.nu)
        kt.step(model, data, 100)
        start = data.get_state(kt.State.INTEGRATION)
    data.set_state(start, kt.State.INTEGRATION)
    before = time.process_time()
    kt.step(model, data, n)
    print(json.dumps((time.process_time() - before) / n), flush=True)
"""


class Version:
    """A process that runs a checkout's code."""

    def __init__(self, checkout: Path):
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "KINETREE_QUIET": "1"}
        command = [sys.executable, "-c", WORKER, "worker", str(ROOT)]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=checkout
        )

    def seconds(self, name: str, n: int) -> float:
        """Processor time of a step, in n of them; of the model at hand if there is no name."""
        self.process.stdin.write(json.dumps((name, n)) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def compare(old: Version, new: Version, name: str, rounds: int) -> float:
    """Time of the new version over that of the old one."""
    once = max(old.seconds(name, 3), new.seconds(name, 3))
    n = max(1, min(1000, round(SECONDS / max(once, 1e-6))))
    return statistics.median(new.seconds("", n) / old.seconds("", n) for _ in range(rounds))


def main() -> None:
    """Print the ratio of each model, the worst ones, and the geometric mean."""
    sys.path.insert(0, str(ROOT))
    from tests.corpora import entries

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="a checkout of the other version")
    parser.add_argument("--quick", action="store_true", help="few rounds, and every tenth model unless some are named")
    parser.add_argument("names", nargs="*", help="models of the corpus; all by default")
    options = parser.parse_intermixed_args()
    known = [entry.name for entry in entries()]
    if unknown := set(options.names) - set(known):
        parser.error(f"no model of the corpus is called {', '.join(sorted(unknown))}")
    old, new = Version(options.other.resolve()), Version(ROOT)
    ratios = {}
    for name in options.names or known[:: 10 if options.quick else 1]:
        ratios[name] = compare(old, new, name, 5 if options.quick else ROUNDS)
    for name in sorted(ratios, key=ratios.__getitem__):
        print(f"{ratios[name]:.3f}  {name}")
    mean = math.exp(statistics.mean(math.log(ratio) for ratio in ratios.values()))
    print(f"geometric mean of {len(ratios)} models {mean:.3f}, slowest {max(ratios.values()):.3f}")


if __name__ == "__main__":
    main()
