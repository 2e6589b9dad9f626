"""What a URDF says that MuJoCo's compiler leaves out: its root link, and all that is fixed to it, becomes the world."""

from __future__ import annotations

import warnings
from pathlib import Path

import mujoco

from ..errors import SimulationWarning
from ..notices import user_level
from .hostile import strictly_parsed

ROOT = "robot"


def heavy_links(text: str | bytes) -> list[str]:
    """Names of the links with mass; none if the text is no URDF."""
    robot = strictly_parsed(text.lstrip("\ufeff").encode(errors="replace") if isinstance(text, str) else text)
    if robot is None or robot.tag != ROOT:  # MuJoCo, which has read it, is not as strict
        return []
    masses = {link.get("name", ""): link.find("inertial/mass") for link in robot.findall("link")}
    return [name for name, mass in masses.items() if mass is not None and float(mass.get("value", 0.0)) > 0.0]


def warn_if_nothing_moves(mj: mujoco.MjModel, source: str | Path, where: str) -> None:
    """Warn of a URDF whose links with mass all became part of the static world. source: the XML, or the path to it."""
    if mj.nv:
        return
    links = heavy_links(source if isinstance(source, str) else source.read_bytes())
    if links:
        first, few = links[0], ", ".join(map(repr, links[:5])) + (", …" if len(links) > 5 else "")
        text = (
            f"{where}: nothing in this model moves. In a URDF the root link is fixed to the world, and all its links with "
            f"mass ({few}) hang on it without a joint that moves. To let it go, add a link "
            f'"world" and a joint of type "floating" from it to {first!r}, or load a mujoco.MjSpec of it after '
            f"spec.body({first!r}).add_freejoint()"
        )
        warnings.warn(text, SimulationWarning, stacklevel=user_level())
