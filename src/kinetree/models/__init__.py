"""Models that come with kinetree, by name: `kt.load("humanoid")`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import nearest

if TYPE_CHECKING:
    from pathlib import Path

_FOLDER = os.path.dirname(__file__)


def names() -> list[str]:
    """Names of the bundled models, sorted."""
    return sorted(name.removesuffix(".xml") for name in os.listdir(_FOLDER) if name.endswith(".xml"))


def path(name: str) -> Path:
    """The MJCF file of a bundled model; a ValueError suggests the nearest names."""
    known = names()
    if name not in known:
        raise ValueError(f"no bundled model {name!r}; {nearest(name, known)}")
    from pathlib import Path  # a part of the time of an import

    return Path(_FOLDER, f"{name}.xml")
