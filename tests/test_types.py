"""The enumerations against MuJoCo's: every member and value, in both directions."""

from __future__ import annotations

import re
from enum import Enum, IntEnum, IntFlag
from pathlib import Path

import mujoco
import pytest

from kinetree import types
from kinetree.types import MUJOCO_ENUMS

# Enumerations of mjtype.h that kinetree does without, by reason.
LEFT_OUT = {
    "rendering": "mjtTexture mjtTextureRole mjtColorSpace",
    "flexes and distance fields are refused": "mjtFlexSelf mjtSDFType",
    "length ranges are found when a model is compiled": "mjtLRMode",
    "MuJoCo's timers and log": "mjtTimer mjtLogLevel mjtLogTopic",
}


def _mujoco_members(name: str) -> dict[str, int]:
    """Members of a MuJoCo enumeration without prefix. Counts such as mjNOBJECT have no prefix: they are no members."""
    return {key.split("_", 1)[1]: int(v.value) for key, v in getattr(mujoco, name).__members__.items() if "_" in key}


@pytest.mark.parametrize("ours, theirs", MUJOCO_ENUMS.items(), ids=MUJOCO_ENUMS.values())
def test_members_and_values_are_mujocos(ours: type[Enum], theirs: str):
    assert {name: int(member.value) for name, member in ours.__members__.items()} == _mujoco_members(theirs)


@pytest.mark.parametrize("ours, theirs", MUJOCO_ENUMS.items(), ids=MUJOCO_ENUMS.values())
def test_bits_are_flags_and_choices_are_not(ours: type[Enum], theirs: str):
    bits = theirs.endswith("Bit") or theirs in ("mjtState", "mjtCtrlInput")
    assert issubclass(ours, IntFlag if bits else IntEnum)
    assert ours.__doc__ and ours.__doc__.strip().endswith(".") and "\n" not in ours.__doc__


def test_every_enumeration_is_mirrored_or_left_out_for_a_reason():
    declared = re.findall(r"typedef enum (\w+)", (Path(mujoco.HEADERS_DIR) / "mjtype.h").read_text())
    skipped = [name for names in LEFT_OUT.values() for name in names.split()]
    assert sorted([*MUJOCO_ENUMS.values(), *skipped]) == sorted(declared)


def test_every_class_is_in_the_map():
    classes = {c for c in vars(types).values() if isinstance(c, type) and issubclass(c, Enum)}
    assert classes - {Enum, IntEnum, IntFlag} == set(MUJOCO_ENUMS)


def test_mujoco_is_not_needed():
    assert "mujoco" not in re.findall(r"^(?:import|from) (\w+)", Path(types.__file__).read_text(), re.MULTILINE)
