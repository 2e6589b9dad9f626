"""`kt.step` against MuJoCo's mj_step with the discrete integrator on both sides, on the corpus in contact.

Scenes, controls and rounds are those of `contact.py`, with the integrator set. Beside it, what a step of ours takes with
implicitfast: the price of the metric.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from common import SEPARATOR, Candidate, Report, Target, main, measure
from contact import DROP, HUMANOID, STATEMENT, STEPS, candidates, entries, scene, scope

import kinetree as kt


def run(quick: bool = False) -> Report:
    """Measure all models, one after the other."""
    warnings.simplefilter("ignore", kt.SimulationWarning)
    report = Report("Steps of the discrete integrator in contact, from Python")
    rounds, ratios, prices = 3 if quick else 5, {}, {}
    sources = {e.name: e.source for e in entries() if not e.name.startswith("tests/")}
    for name in [HUMANOID] if quick else sources:
        s = scene(name, sources[name](), DROP, integrator=kt.Integrator.DISCRETE)
        if isinstance(s, str):
            report.notes.append(f"{name} is left out: it {s}")
            continue
        both, counts = candidates(s)
        if not counts["MuJoCo"]["ncon"] > 0:
            continue
        other = s.model.replace(opt_integrator=int(kt.Integrator.IMPLICITFAST))
        fast = f"{name}{SEPARATOR}implicitfast"
        both.append(Candidate(fast, STATEMENT, scope(s, other, kt.Data(other), kt.step), STEPS))
        report.times |= measure(both, rounds, 0.002)
        ours, theirs = f"{name}{SEPARATOR}kinetree", f"{name}{SEPARATOR}MuJoCo"
        ratios[name] = report.ratio(f"{name}{SEPARATOR}kinetree / MuJoCo", ours, theirs)
        prices[name] = report.ratio(f"{name}{SEPARATOR}discrete / implicitfast", ours, fast)
        report.details[name] = counts
    mean = math.exp(np.mean(np.log(list(ratios.values()))))
    price = math.exp(np.mean(np.log(list(prices.values()))))
    report.targets.append(
        Target(f"discrete step / mj_step, geometric mean over {len(ratios)} models", mean, "<=", 0.75)
    )
    report.notes.append(f"our discrete step takes {price:.2f} of our implicitfast step, geometric mean")
    report.details["ratios"] = ratios
    return report


if __name__ == "__main__":
    main(run, __doc__)
