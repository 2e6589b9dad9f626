"""Models that come with kinetree, by name: `kt.load("humanoid")`."""

from __future__ import annotations

from pathlib import Path

from ..errors import nearest

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Names of the bundled models, sorted."""
    return sorted(file.stem for file in _FOLDER.glob("*.xml"))


def path(name: str) -> Path:
    """The MJCF file of a bundled model; a ValueError suggests the nearest names."""
    known = names()
    if name not in known:
        raise ValueError(f"no bundled model {name!r}; {nearest(name, known)}")
    return _FOLDER / f"{name}.xml"
