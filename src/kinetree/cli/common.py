"""What the commands share: where they print, how they load a model."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from ..errors import ModelError, nearest
from ..io.load import load
from ..model import Model
from ..models import names

output = Console()
errors = Console(stderr=True)


def load_model(argument: str) -> tuple[str, Model]:
    """The model that the user named on the command line, with a short name for headings and folders."""
    if not argument or (argument not in names() and not Path(argument).exists()):
        raise ModelError(f"no file and no bundled model {argument!r}; {nearest(argument, names())}")
    return Path(argument).stem, load(argument)
