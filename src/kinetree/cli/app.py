"""The commands with their options; what each one does stands in a module of its own."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from .. import __version__
from ..errors import ModelError
from . import info as info_command
from . import run as run_command
from .common import errors

app = typer.Typer(
    name="kinetree",
    help="Articulated rigid-body dynamics: MuJoCo's physics from one readable Python source.",
    invoke_without_command=True,
    add_completion=False,
)

ModelArgument = Annotated[str, typer.Argument(help="A bundled model's name, or an MJCF, URDF or MJB file.")]


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
    seed: Annotated[int, typer.Option(help="Chooses the motion.", min=0)] = 0,
) -> None:
    """Move a model for a few seconds; print a summary, write a plot and a trajectory file."""
    run_command.run(model, seconds, out, seed)


@app.command()
def info(model: ModelArgument) -> None:
    """Show a model's sizes, bodies, masses and joints."""
    info_command.info(model)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the `kinetree` script: a failure is one line on stderr; exit status 1, or 2 for wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a pipe that cannot show a name must not end the run
    try:
        sys.exit(app(args=arguments, prog_name="kinetree", standalone_mode=False))
    except TyperException as problem:
        _leave(problem.format_message(), problem.exit_code)
    except (ModelError, OSError) as problem:
        _leave(str(problem), 1)
    except (Abort, KeyboardInterrupt):
        _leave("interrupted", 130)


def _leave(reason: str, status: int) -> None:
    errors.print(f"kinetree: {' '.join(reason.split())}", style="red", soft_wrap=True, markup=False, highlight=False)
    sys.exit(status)
