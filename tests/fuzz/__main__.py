"""`python -m tests.fuzz SECONDS`: all attacks in turn; `python -m tests.fuzz NAME SEED`: one case, or the lines of a file."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import sys
import time

from tests.fuzz.harness import ATTACKS, Result, run_case, shortened


def attack_for(seconds: float, first_seed: int, workers: int) -> int:
    """Run cases of all attacks in turn until the time is over; how many failed."""
    began, counts, failures = time.monotonic(), dict.fromkeys(ATTACKS, (0, 0, 0)), 0
    cases = ((name, seed) for seed in range(first_seed, 1 << 31) for name in ATTACKS)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        running: set[concurrent.futures.Future[Result]] = set()
        while running or time.monotonic() - began < seconds:
            while len(running) < workers and time.monotonic() - began < seconds:
                running.add(pool.submit(run_case, *next(cases)))
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                result = future.result()
                case, line, refused = counts[result.attack]
                counts[result.attack] = (case + 1, line + len(result.lines), refused + result.refused)
                if result.ending:
                    failures += 1
                    print(shortened(result).report(), flush=True)
    for name, (case, line, refused) in counts.items():
        text = f"{case:6} cases {line:9} operations {refused:9} refused, as they should be"
        print(f"{name:10} {text if case else 'not run, for want of time'}")
    total = sum(line for _, line, _ in counts.values())
    print(f"{total} operations, {failures} failures, {time.monotonic() - began:.0f} s")
    return failures


def main(arguments: list[str]) -> int:
    """Exit code: whether something failed."""
    if len(arguments) == 2:
        result = run_case(arguments[0], int(arguments[1]) if arguments[1].isdigit() else pathlib.Path(arguments[1]))
        print(result.report() if result.ending else f"{len(result.lines)} operations, {result.refused} refused")
        return bool(result.ending)
    seconds = float(arguments[0]) if arguments else 60.0
    os.environ.setdefault("FUZZ_OPERATIONS", "2000")  # the start of a process takes as long as a thousand
    first_seed = int(os.environ.get("FUZZ_SEED", int(time.time()) % 10**6 * 1000))
    print(f"first seed {first_seed} (FUZZ_SEED starts there again)", flush=True)
    return bool(attack_for(seconds, first_seed, int(os.environ.get("WORKERS", 2))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
