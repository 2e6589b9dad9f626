"""What the commands share: where they print, how they load a model, what they say is missing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rich.console import Console

from ..errors import ModelError, SettingError, nearest
from ..io.load import load
from ..model import Model
from ..models import names
from ..types import Integrator

WIDTH_OF_A_PIPE = 160  # a file has no edge at which to break lines, but tables want a width
_width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH_OF_A_PIPE

INTEGRATORS = [integrator.name.lower() for integrator in Integrator]

output = Console(width=_width)
errors = Console(stderr=True)


def load_model(argument: str) -> tuple[str, Model]:
    """The model that the user named on the command line, with a short name for headings and folders."""
    if not argument or (argument not in names() and not Path(argument).exists()):
        raise ModelError(f"no file and no bundled model {argument!r}; {nearest(argument, names())}")
    return Path(argument).stem, load(argument)


def integrator_named(name: str | None) -> Integrator | None:
    """The integrator that the user named, if any."""
    if name is None:
        return None
    try:
        return Integrator[name.upper()]
    except KeyError:
        raise SettingError(f"no integrator is called {name!r}: {nearest(name, INTEGRATORS)}") from None


def complain(reason: str) -> None:
    """One line on stderr, whatever the message."""
    errors.print(f"kinetree: {' '.join(reason.split())}", style="red", soft_wrap=True, markup=False, highlight=False)
