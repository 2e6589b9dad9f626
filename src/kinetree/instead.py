"""Names that users of MuJoCo will try: the error says what to write instead.

Functions and methods are found by what their docstrings say of MuJoCo's; enumerations stand in `types`, classes in a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .types import MUJOCO_ENUMS

CLASSES = {
    "MjModel": "kt.load(path, XML text, mujoco.MjModel or mujoco.MjSpec)",
    "MjData": "kt.Data(model)",
    "MjSpec": "kt.load(mujoco.MjSpec)",
    "MjOption": "model.opt",
    "MjStatistic": "model.stat",
    "MjContact": "data.contact",
}
LOADERS = ("from_xml_path", "from_xml_string", "from_binary_path")
CALLBACK = re.compile(r"(?:set_)?mjcb_(control|passive|sensor|act_dyn|act_gain|act_bias)")


def is_mujocos(name: str) -> bool:
    """Whether a name looks like one of MuJoCo's."""
    return name.startswith(("mj", "Mj", "set_mjcb"))


def instead_of(name: str, public: Mapping[str, Any]) -> str:
    """What to write instead of one of MuJoCo's names; "" if nothing is known. public: the names of the package."""
    if name in CLASSES:
        return CLASSES[name]
    for ours, theirs in MUJOCO_ENUMS.items():
        if name == theirs:
            return f"kt.{ours.__name__}" if ours.__name__ in public else f"kinetree.types.{ours.__name__}"
    if found := CALLBACK.fullmatch(name):
        return f"model.callbacks.{found[1]} = function"
    said = re.compile(rf"MuJoCo's (?:mj\w+(?:,| and) )*{re.escape(name)}\b")
    return " or ".join(what for what, text in _documented(public) if said.search(text))


def _documented(public: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Public functions and methods, as they are written, with their docstrings."""
    for name, value in public.items():
        yield f"kt.{name}", getattr(value, "__doc__", None) or ""
    for owner in ("Model", "Data"):
        for name, value in vars(public[owner]).items():
            if not name.startswith("_"):
                yield f"{owner.lower()}.{name}", getattr(value, "__doc__", None) or ""
