"""MJB files: a look at the raw memory before MuJoCo's reader, which adds address and count and crashes if that overflows."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any

import mujoco
import numpy as np

HEADER = 5 * 4  # bytes: five integers that tell the format
ITEM_SIZES = {"int": 4, "float": 4, "mjtNum": 8, "mjtSize": 8, "mjtByte": 1, "mjtBool": 1, "char": 1}
LARGEST = 2**30  # more entries than any array of a model has


@cache
def fields() -> Any:
    """Declarations of MuJoCo's model."""
    from mujoco.introspect import structs  # takes as long as to load a small model

    return structs.STRUCTS["mjModel"].fields


def wild_address(contents: bytes) -> str:
    """The first address or count that no model can have, as a message; "" if all are sane or the file is not whole."""
    names = [field.name for field in fields() if str(field.type) == "mjtSize"]
    if len(contents) < HEADER + 8 * len(names):
        return ""
    sizes = dict(zip(names, np.frombuffer(contents, np.int64, len(names), HEADER).tolist(), strict=True))
    arrays = arrays_of(sizes)
    at = bytes_before_arrays()
    if any(n < 0 for _, _, n in arrays) or len(contents) != at + _bytes_of(arrays):
        return ""
    for name, kind, n in arrays:
        if kind == "int" and n and re.search("adr|num", name):
            values = np.frombuffer(contents, np.int32, n, at).astype(np.int64)
            wild = values[np.abs(values) > LARGEST]
            if wild.size:
                return f"{name} holds {wild[0]}, which is outside any model"
        at += ITEM_SIZES[kind] * n
    return ""


@cache
def bytes_before_arrays() -> int:
    empty = mujoco.MjModel.from_xml_string("<mujoco/>")
    sizes = {field.name: getattr(empty, field.name) for field in fields() if str(field.type) == "mjtSize"}
    return mujoco.mj_sizeModel(empty) - _bytes_of(arrays_of(sizes))


def arrays_of(sizes: dict[str, int]) -> list[tuple[str, str, int]]:
    """Name, C type and length of every array, in the order of the file."""
    return [(f.name, str(f.type).split()[0], _length(f.array_extent, sizes)) for f in fields() if f.array_extent]


def _bytes_of(arrays: list[tuple[str, str, int]]) -> int:
    return sum(ITEM_SIZES[kind] * n for _, kind, n in arrays)


def _length(extent: tuple[str | int, ...], sizes: dict[str, int]) -> int:
    factors = "*".join(str(e) for e in extent).split("*")
    return math.prod(int(f) if f.isdigit() else sizes[f] if f in sizes else _constant(f) for f in factors)


def _constant(name: str) -> int:
    return int(getattr(mujoco, name, None) or getattr(mujoco.mjtTextureRole, name))
