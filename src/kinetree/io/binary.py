"""MuJoCo's binary form of a model, as in MJB files: what it is made of, and the same with other contents.

Also a look at the raw memory before MuJoCo's reader, which adds address and count and crashes if that overflows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import mujoco
import numpy as np

from ..errors import ModelError

HEADER = 5 * 4  # bytes: five integers that tell the format
ITEM_SIZES = {"int": 4, "float": 4, "mjtNum": 8, "mjtSize": 8, "mjtByte": 1, "mjtBool": 1, "char": 1}
LARGEST = 2**30  # more entries than any array of a model has
ALIGNMENT = 64  # bytes: MuJoCo starts each array of a model at a multiple


@cache
def fields() -> Any:
    """Declarations of MuJoCo's model."""
    from mujoco.introspect import structs  # takes as long as to load a small model

    return structs.STRUCTS["mjModel"].fields


def is_whole(contents: bytes) -> bool:
    """Whether a binary form is as long as its sizes say; MuJoCo's reader refuses any other."""
    if len(contents) < HEADER + 8 * len(_size_names()):
        return False
    arrays = arrays_of(_sizes(contents))
    return all(n >= 0 for _, _, n in arrays) and len(contents) == bytes_before_arrays() + _bytes_of(arrays)


def wild_address(contents: bytes) -> str:
    """The first address or count that no model can have, as a message; "" if all are sane or the file is not whole."""
    if not is_whole(contents):
        return ""
    at = bytes_before_arrays()
    for name, kind, n in arrays_of(_sizes(contents)):
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
    sizes = {name: getattr(empty, name) for name in _size_names()}
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


def _size_names() -> list[str]:
    return [field.name for field in fields() if str(field.type) == "mjtSize"]


def _sizes(contents: bytes) -> dict[str, int]:
    names = _size_names()
    return dict(zip(names, np.frombuffer(contents, np.int64, len(names), HEADER).tolist(), strict=True))


def part_of(contents: bytes, wanted: str) -> tuple[int, int]:
    """Where an array begins in a whole binary form, and how many entries it has."""
    at = bytes_before_arrays()
    for name, kind, n in arrays_of(_sizes(contents)):
        if name == wanted:
            return at, n
        at += ITEM_SIZES[kind] * n
    raise KeyError(wanted)


def exchanged(mj: mujoco.MjModel, new: Mapping[str, np.ndarray], new_sizes: Mapping[str, int]) -> bytes:
    """The binary form of a model with other contents in some arrays, also of another length."""
    contents = np.zeros(mujoco.mj_sizeModel(mj), np.uint8)
    mujoco.mj_saveModel(mj, None, contents)
    names = _size_names()
    sizes = {name: int(getattr(mj, name)) for name in names}
    if _buffer_size(sizes) != sizes["nbuffer"]:
        raise ModelError("MuJoCo's binary form is not the one that kinetree knows")
    start = bytes_before_arrays()
    head = bytearray(contents[:start].tobytes())
    parts, at = [head], start
    for name, kind, n in arrays_of(sizes):
        size = ITEM_SIZES[kind] * n
        parts.append(bytearray(new[name].tobytes() if name in new else contents[at : at + size].tobytes()))
        at += size
    sizes |= new_sizes
    sizes["nbuffer"] = _buffer_size(sizes)
    head[HEADER : HEADER + 8 * len(names)] = np.array([sizes[name] for name in names], np.int64).tobytes()
    return b"".join(parts)


def _buffer_size(sizes: dict[str, int]) -> int:
    """Bytes that MuJoCo takes for all arrays, each aligned, and for aligning the first."""
    end = 0
    for _, kind, n in arrays_of(sizes):
        end += -end % ALIGNMENT + ITEM_SIZES[kind] * n
    return end + ALIGNMENT - 1
