"""Parts: where the numbers of worlds lie in a batch, and where they belong in a block of worlds on lanes.

A part is one field: its place in the block, how many numbers it has, where those of world 0 and step 0 lie, and how many bytes
further those of the next world and of the next step do. What is the same for all worlds has no bytes from one to the next.
"""

from __future__ import annotations

import math

import numpy as np

from ..kernel import kernel
from ..kernel.raw import entries_at

PLACE, COUNT, ADDRESS, OF_WORLD, OF_STEP, KIND = range(6)
REALS, INTEGERS, FLAGS = range(3)  # kinds of parts
KINDS = {"f": REALS, "i": INTEGERS, "b": FLAGS}


def part(place: np.ndarray, rows: np.ndarray, steps: bool = False, shared: bool = False) -> list[int]:
    """The part of a field at a place in a block, whose numbers lie in rows: (worlds, numbers) or (worlds, steps, numbers).

    shared: the rows are the same for all worlds, without their axis.
    """
    axes = steps + (not shared)
    of_world, of_step = 0 if shared else rows.strides[0], rows.strides[axes - 1] if steps else 0
    count = math.prod(rows.shape[axes:])
    return [place.ctypes.data, count, rows.ctypes.data, of_world, of_step, KINDS[rows.dtype.kind]]


SIZE = {INTEGERS: 4, FLAGS: 1}  # bytes


def table(parts: list[list[int]], width: int, real: int) -> np.ndarray:
    """Parts as compiled code reads them: without those of no numbers, and as one where they follow each other on both sides.

    width: worlds of a block. real: bytes of a real number.
    """
    out: list[list[int]] = []
    for each in parts:
        last = out[-1] if out else each
        size = real if last[KIND] == REALS else SIZE[last[KIND]]
        after = last[PLACE] + last[COUNT] * width * size, last[ADDRESS] + last[COUNT] * size
        if out and (each[PLACE], each[ADDRESS]) == after and each[OF_WORLD:] == last[OF_WORLD:]:
            last[COUNT] += each[COUNT]
        elif each[COUNT] > 0:
            out.append(list(each))
    return np.array(out, np.int64).reshape(-1, 6)


@kernel
def copy_part(like, parts, p, width, lane, world, step, inward):
    """Copy one part of one world into its lane, or out of it."""
    here = entries_at(like, parts[p, PLACE])
    there = entries_at(like, parts[p, ADDRESS] + world * parts[p, OF_WORLD] + step * parts[p, OF_STEP])
    if inward:
        for k in range(parts[p, COUNT]):
            here[k * width + lane] = there[k]
    else:
        for k in range(parts[p, COUNT]):
            there[k] = here[k * width + lane]


@kernel
def copy_parts(d, parts, count, width, lane, world, step, inward):
    """The same for all parts of a table."""
    for p in range(count):
        kind = parts[p, KIND]
        if kind == REALS:
            copy_part(d.time, parts, p, width, lane, world, step, inward)
        elif kind == INTEGERS:
            copy_part(d.warning_number, parts, p, width, lane, world, step, inward)
        else:
            copy_part(d.bad, parts, p, width, lane, world, step, inward)
