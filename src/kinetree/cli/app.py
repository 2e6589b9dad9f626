"""The commands with their options; what each one does stands in a module of its own."""

from __future__ import annotations

import io
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from .. import __version__
from ..errors import ModelError, SettingError
from . import bench as bench_command
from . import cache as cache_command
from . import check as check_command
from . import info as info_command
from . import mass as mass_command
from . import run as run_command
from . import warmup as warmup_command
from .common import INTEGRATORS, complain
from .stop import Stopped

app = typer.Typer(
    name="kinetree",
    help="Articulated rigid-body dynamics: MuJoCo's physics from one readable Python source.",
    invoke_without_command=True,
    add_completion=False,
)

ModelArgument = Annotated[str, typer.Argument(help="A bundled model's name, or an MJCF, URDF or MJB file.")]

IntegratorOption = Annotated[
    str | None, typer.Option(help=f"In place of the model's own: {', '.join(INTEGRATORS)}.", show_default=False)
]


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False,
) -> None:
    if version:
        typer.echo(f"kinetree {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def run(
    model: ModelArgument,
    seconds: Annotated[float, typer.Option(help="Length of the motion, in s.")] = 5.0,
    out: Annotated[Path | None, typer.Option(help="Folder to write to.  [default: kinetree-run/<model>]")] = None,
    seed: Annotated[int, typer.Option(help="Chooses random velocities, or the sines of --kinematic.", min=0)] = 0,
    gravity: Annotated[
        bool | None,
        typer.Option(help="Switch gravity on or off.  [default: as the model has it]"),
    ] = None,
    keyframe: Annotated[str | None, typer.Option(help="Where to start.  [default: the first keyframe]")] = None,
    kinematic: Annotated[
        bool, typer.Option("--kinematic", help="Prescribed joint motions instead of dynamics.")
    ] = False,
    integrator: IntegratorOption = None,
) -> None:
    """Simulate a model for a few seconds; print a summary, write a plot and a trajectory file.

    Ctrl-C, SIGTERM and SIGHUP end it early, with all that was simulated saved. Exit status is then 128 + the signal.
    """
    run_command.run(model, seconds, out, seed, gravity, keyframe, kinematic, integrator)


@app.command()
def check(
    model: ModelArgument,
    states: Annotated[int, typer.Option(help="Random states to compare in.", min=1)] = 3,
    seed: Annotated[int, typer.Option(help="Chooses the states.", min=0)] = 0,
    json: Annotated[Path | None, typer.Option(help="Write the report to this file as well.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show every layer, and every field in doubt.")] = False,
    integrator: IntegratorOption = None,
) -> None:
    """Compare a model with MuJoCo, number by number. Exit status 0: they agree; 1: they do not; 2: it cannot be loaded."""
    raise typer.Exit(check_command.check(model, states, seed, json, verbose, integrator))


@app.command()
def bench(
    models: Annotated[list[str] | None, typer.Argument(help="As for run; the bundled ones if none is named.")] = None,
    worlds: Annotated[int, typer.Option(help="Worlds in a batch.", min=1)] = 1024,
    threads: Annotated[int, typer.Option(help="Threads of each batch, MuJoCo's too.", min=1)] = 1,
    seconds: Annotated[float, typer.Option(help="Random motion before the timed steps, in s.", min=0.0)] = 2.0,
    rounds: Annotated[int, typer.Option(help="How often each takes its turn.", min=1)] = 5,
    json: Annotated[
        Path | None, typer.Option(help="Write all numbers to this file as well; - prints them alone.")
    ] = None,
) -> None:
    """Measure how fast models run on this machine, one world and batches of them, beside MuJoCo."""
    raise typer.Exit(bench_command.bench(models or [], worlds, threads, seconds, rounds, json))


@app.command()
def info(model: ModelArgument) -> None:
    """Show what a model is made of, and what kinetree does not compute for it."""
    raise typer.Exit(info_command.info(model))


@app.command()
def warmup(
    models: Annotated[list[str] | None, typer.Argument(help="Bundled models, or MJCF, URDF or MJB files.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All stages and functions, on floats and on lanes: minutes.")
    ] = False,
) -> None:
    """Compile now what the first step of these models would wait for."""
    if not models and not everything:
        raise typer.BadParameter("name a model, or --all")
    raise typer.Exit(warmup_command.warmup(models or [], everything))


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove everything.")] = False,
    old: Annotated[
        bool,
        typer.Option("--old", help="Remove what other versions left of kinetree's own stages."),
    ] = False,
) -> None:
    """Show where compiled machine code is kept and how much of it there is. KINETREE_CACHE names another folder."""
    raise typer.Exit(cache_command.cache(clear, old))


@app.command()
def mass(
    budget: Annotated[Path, typer.Argument(help="A table of components, .toml or .csv.")],
    picture: Annotated[Path | None, typer.Argument(help="With --plot: the file to draw to, such as out.png.")] = None,
    about: Annotated[
        tuple[float, float, float] | None, typer.Option(help="The point that the inertia is taken about, in m.")
    ] = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw components, cg and ellipsoid of inertia to PICTURE, or open it.")
    ] = False,
    mjcf: Annotated[bool, typer.Option("--mjcf", help="Print the total as an inertial element of MJCF.")] = False,
    urdf: Annotated[bool, typer.Option("--urdf", help="Print the total as an inertial element of URDF.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    regularise: Annotated[
        float | None,
        typer.Option(help="For --mjcf and --urdf: raise smaller principal moments to this, in kg·m²."),
    ] = None,
) -> None:
    """Add up a table of components: mass, centre of gravity, inertia, principal axes; warn of what cannot exist."""
    chosen = [name for name, wanted in (("mjcf", mjcf), ("urdf", urdf), ("json", json)) if wanted]
    if len(chosen) > 1:
        raise typer.BadParameter(f"choose one of --{', --'.join(chosen)}")
    raise typer.Exit(mass_command.mass(budget, picture, about, plot, chosen[0] if chosen else "table", regularise))


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the `kinetree` script: a failure is one line on stderr; exit status 1, or 2 for wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a pipe that cannot show a name must not end the run
    warnings.showwarning = lambda message, *_: complain(
        f"warning: {message}"
    )  # without the line of Python it came from
    try:
        sys.exit(app(args=arguments, prog_name="kinetree", standalone_mode=False))
    except TyperException as problem:
        _leave(problem.format_message(), problem.exit_code)
    except (ModelError, SettingError, OSError) as problem:
        _leave(str(problem), 1)
    except ModuleNotFoundError as problem:  # the compiler, where it is needed after all
        _leave(str(problem), 1)
    except Stopped as problem:
        _leave(f"stopped by {problem.name} before there was anything to save", problem.status)
    except (Abort, KeyboardInterrupt):
        _leave("interrupted", 130)


def _leave(reason: str, status: int) -> None:
    complain(reason)
    sys.exit(status)
