"""Compare models with MuJoCo: `python -m kinetree.conformance robot.xml`; `--corpus` writes a page for many models."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

import mujoco

from ..types import Integrator
from .changes import with_section
from .compare import check
from .report import markdown, survey


def main(arguments: list[str] | None = None) -> int:
    """Print a report per model, or write the page of a corpus; the exit status is 1 when anything differs."""
    parser = argparse.ArgumentParser(prog="python -m kinetree.conformance", description=__doc__)
    parser.add_argument("models", nargs="*", help="MJCF, URDF or MJB files, or names of bundled models")
    parser.add_argument("--states", type=int, default=3, help="random states per model")
    parser.add_argument("--seed", type=int, default=0)
    names = [kind.name.lower() for kind in Integrator]
    parser.add_argument("--integrator", choices=names, help="in place of the models' own")
    parser.add_argument(
        "--corpus", type=Path, help="Python file with corpus() -> [(name, source)], unloadable() and changes()"
    )
    parser.add_argument("--output", type=Path, help="where the page of the corpus goes; standard output otherwise")
    parser.add_argument(
        "--changes", action="store_true", help="write the table of MuJoCo's changes alone, without comparing"
    )
    options = parser.parse_args(arguments)
    if options.corpus is not None:
        return _write_page(options)
    if not options.models:
        parser.error("name a model or a corpus")
    reports = [check(model, options.states, options.seed, integrator=_integrator(options)) for model in options.models]
    print("\n\n".join(str(report) for report in reports))
    return 0 if all(report.ok for report in reports) else 1


def _integrator(options: argparse.Namespace) -> Integrator | None:
    return None if options.integrator is None else Integrator[options.integrator.upper()]


def _write_page(options: argparse.Namespace) -> int:
    corpus = runpy.run_path(str(options.corpus))
    changes = corpus["changes"]() if "changes" in corpus else []
    if options.changes and options.output is not None:
        page = options.output.read_text(encoding="utf-8")
        options.output.write_text(with_section(page, changes, mujoco.__version__), encoding="utf-8")
        return 0
    kind = _integrator(options)
    outcomes = survey(corpus["corpus"](), options.states, options.seed, kind)
    page = markdown(outcomes, options.states, options.seed, unloadable=corpus["unloadable"](), integrator=kind)
    page = with_section(page, changes, mujoco.__version__) if changes and kind is None else page
    if options.output is None:
        print(page)
    else:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(page, encoding="utf-8")
    return 0 if all(outcome.ok or outcome.refused for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
