"""Memory behind worlds and work: arrays of declared fields, in one buffer that stays and one that grows.

Where fields lie is worked out once for all memory of the same sizes. Arrays are views that are made when they are first
asked for, so that a world costs two blocks of memory and a table of words, whatever the number of its fields.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping

import numpy as np

from .data_fields import DATA_FIELDS
from .fields import REAL, Field
from .layout import Layout
from .work_fields import WORK_FIELDS

# Sizes that each step decides, in the order in which they are declared.
CAPACITIES = tuple(
    dict.fromkeys(field.shape_names[0] for field in (*DATA_FIELDS.values(), *WORK_FIELDS.values()) if field.growing)
)
ALIGNMENT = 64  # bytes: one cache line, one AVX-512 register
SINGLE = 16  # where nothing is loaded but by single numbers: of padding there would be more than of numbers
START = 4
"""Room at first; small, so that growing is exercised all the time."""
LIMIT = 2**28
"""Most entries of one field: two gigabytes."""


def starting_capacity() -> dict[str, int]:
    """Room of a fresh Data."""
    return dict.fromkeys(CAPACITIES, START)


def grown(capacity: Mapping[str, int], needed: np.ndarray) -> dict[str, int]:
    """Room for what is needed, with some to spare."""
    out = {}
    for name, wanted in zip(CAPACITIES, needed.tolist(), strict=True):
        if wanted > LIMIT:
            raise MemoryError(f"this state needs {wanted} entries of {name}, more than the {LIMIT} there can be")
        out[name] = max(capacity[name], wanted + wanted // 4) if wanted > capacity[name] else capacity[name]
    return out


class Placement:
    """Where some fields of a layout lie in a buffer, for given sizes. lanes: what is per world has a last axis of that size."""

    def __init__(
        self, layout: Layout, fields: Mapping[str, Field], sizes: Mapping[str, int], lanes: int | None, real: str
    ):
        self.places: dict[str, tuple[tuple[int, ...], np.dtype, int]] = {}
        self.size = 0
        step = ALIGNMENT if lanes is not None else SINGLE
        pointers: list[int] = []
        offsets: list[int] = []
        extents: list[int] = []
        lengths: list[int] = []
        for key, field in fields.items():
            wide = lanes is not None and field.per_world
            dtype, shape = np.dtype(real if field.dtype == REAL else field.dtype), field.shape(sizes) or (1,)
            pointers.append(layout.word[key])
            offsets.append(self.size)
            extents += range(layout.word[key] + 1, layout.word[key] + 1 + len(shape))
            lengths += shape
            shape = (*shape, lanes) if wide and lanes is not None else shape
            self.places[key] = shape, dtype, self.size
            self.size += -(-math.prod(shape) * dtype.itemsize // step) * step
        self._pointers, self._offsets = np.array(pointers, np.intp), np.array(offsets, np.int64)
        self._extents, self._lengths = np.array(extents, np.intp), np.array(lengths, np.int64)
        self._strides = np.array([self.places[key][1].itemsize * fields[key].per_world for key in fields], np.int64)

    def buffer(self) -> np.ndarray:
        """Zeroed memory for these fields, on the boundary of a cache line."""
        raw = np.zeros(self.size + ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % ALIGNMENT
        return raw[start : start + self.size]

    def view(self, buffer: np.ndarray, key: str) -> np.ndarray:
        """The array of a field."""
        shape, dtype, offset = self.places[key]
        return np.ndarray(shape, dtype, buffer=buffer, offset=offset)

    def tell(self, words: np.ndarray, buffer: np.ndarray, lane: int = 0) -> None:
        """Enter pointers, to a lane, and shapes into the table that compiled code reads."""
        words[self._pointers] = self._offsets + buffer.ctypes.data + lane * self._strides
        words[self._extents] = self._lengths


@functools.lru_cache(maxsize=256)
def _placement(
    layout: Layout, growing: bool, sizes: tuple[tuple[str, int], ...], lanes: int | None, real: str
) -> Placement:
    fields = {key: field for key, field in layout.fields.items() if field.growing == growing}
    return Placement(layout, fields, dict(sizes), lanes, real)


class Memory(Mapping[str, np.ndarray]):
    """The arrays of a layout's fields for given sizes, and the tables of words by which compiled code finds them.

    tables: that of all lanes, and then one that sees each lane alone.
    """

    def __init__(self, layout: Layout, sizes: Mapping[str, int], lanes: int | None = None, real: str = "float64"):
        self.layout, self.sizes, self.lanes, self.real = layout, sizes, lanes, real
        self.capacity = starting_capacity()
        self._views: dict[str, np.ndarray] = {}
        self._before: np.ndarray | None = None
        self._fixed = _placement(layout, False, tuple(sizes.items()), lanes, real)
        self._grows = self._placed(self.capacity)
        self.fixed, self.room = self._fixed.buffer(), self._grows.buffer()
        self.tables = [np.zeros(layout.size, np.int64) for _ in range(1 + (lanes or 0))]
        self.tell()

    def _placed(self, capacity: Mapping[str, int]) -> Placement:
        return _placement(self.layout, True, (*self.sizes.items(), *capacity.items()), self.lanes, self.real)

    @property
    def address(self) -> int:
        """Where compiled code finds the table."""
        return self.tables[0].ctypes.data

    def tell(self) -> None:
        """Enter all arrays into the tables."""
        for lane, table in enumerate(self.tables, -1):
            self._fixed.tell(table, self.fixed, max(lane, 0))
            self._grows.tell(table, self.room, max(lane, 0))

    def __getitem__(self, key: str) -> np.ndarray:
        view = self._views.get(key)
        if view is None:
            if key in self._fixed.places:
                view = self._fixed.view(self.fixed, key)
            else:
                view = self._grows.view(self.room, key)
            self._views[key] = view
        return view

    def forget_views(self) -> None:
        """Give back what the views cost that were looked at so far."""
        self._views.clear()

    def __iter__(self) -> Iterator[str]:
        yield from self._fixed.places
        yield from self._grows.places

    def __len__(self) -> int:
        return len(self._fixed.places) + len(self._grows.places)

    def make_room(self, capacity: Mapping[str, int]) -> None:
        """Give the growing fields another capacity, with what they held."""
        grows = self._placed(capacity)
        room = grows.buffer()
        for key in grows.places:
            old, new = self[key], grows.view(room, key)
            kept = min(len(old), len(new))
            new[:kept] = old[:kept]
        self._before = self.room  # until the tables point elsewhere: an interrupt may come at any line here
        self._grows, self.room = grows, room
        self.tell()
        self._views = {key: view for key, view in self._views.items() if key in self._fixed.places}
        self.capacity = dict(capacity)
        self._before = None
