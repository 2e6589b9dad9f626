"""How a field of `Model` or `Data` is declared; everything else about it is derived from that one line.

A declaration names the field, its shape in symbolic dimensions, its type, its unit, its meaning and the stage that writes
it. Allocation, handles for compiled code, copies, named access, the documentation page and tests all read these tables.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

# MuJoCo's storage types. Only REAL fields become symbols. On lanes they are per world, and so are integers and flags that
# are declared so; the others steer loops and addresses, and are the same in every world.
REAL, INT, FLAG, BYTE, FLOAT32 = "float64", "int32", "bool", "uint8", "float32"
COUNT = "int64"  # kinetree's own counters

# What a field is for, which decides where it lives and who may write it. A note is what a world remembers beside its state and
# results: it is copied with them, but nothing to look at. Work is the thread's, not the world's.
PARAMETER, OPTION, STATE, INPUT, RESULT, NOTE, WORK = "parameter", "option", "state", "input", "result", "note", "work"
ROLES = (PARAMETER, OPTION, STATE, INPUT, RESULT, NOTE, WORK)

# Fixed lengths that MuJoCo gives names to (mjNREF, ...).
CONSTANT_DIMS = {
    "nref": 2, "nimp": 5, "neqdata": 12, "ndyn": 10, "ngain": 10, "nbias": 10, "npoly": 2, "nfluid": 12, "nsens": 3,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """One line of a field table.

    name: MuJoCo's name.  dims: sizes separated by spaces, symbolic ("nbody"), fixed ("3") or a product ("nmocap*3");
    "" is a scalar.
    dtype: REAL, INT, FLAG, BYTE or FLOAT32.  unit: SI, "1" when there is none, "mixed" when it depends on the type.
    meaning: one line.  stage: who writes it ("load", "set_const", "user" or a stage of the pipeline).
    editable: whether a user may write it. Integers steer addresses in compiled code, so they default to read-only.
    choices: values that may be assigned to it; the array itself is read-only, as nothing checks what is written into it.
    role: one of ROLES.  each: whether on lanes every world has an integer or flag of its own; it then steers no address.
    """

    name: str
    dims: str
    dtype: str
    unit: str
    meaning: str
    stage: str = "load"
    editable: bool | None = None
    choices: tuple[int, ...] = ()
    role: str = PARAMETER
    each: bool = False

    @property
    def shape_names(self) -> tuple[str, ...]:
        """The dimensions one by one, still symbolic."""
        return tuple(self.dims.split())

    @property
    def writable(self) -> bool:
        """Whether Python users may assign to it."""
        if self.role in (NOTE, WORK):
            return False
        if self.editable is None:
            return self.dtype in (REAL, FLAG, FLOAT32) or bool(self.choices)
        return self.editable

    @property
    def per_world(self) -> bool:
        """Whether on lanes every world has its own."""
        return self.dtype == REAL or self.each

    @property
    def in_place(self) -> bool:
        """Whether they may also write into its array, past any check."""
        return self.writable and not self.choices

    @property
    def shown(self) -> bool:
        """Whether users see it."""
        return self.role not in (NOTE, WORK)

    @property
    def growing(self) -> bool:
        """Whether its first size is one that each step decides: it has room for more than it holds (see `memory.py`)."""
        return self.dims.startswith("max")

    def static_dims(self) -> tuple[int | None, ...]:
        """Dimensions that the declaration itself fixes; None where the size belongs to the model."""
        return tuple(int(n) if n.isdigit() else CONSTANT_DIMS.get(n) for n in self.shape_names)

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape for a model with these sizes; a scalar is one number."""
        return tuple(math.prod([n if isinstance(n, int) else sizes[n] for n in dim]) for dim in _factors(self.dims))


Option = functools.partial(Field, role=OPTION)
State = functools.partial(Field, role=STATE)
Input = functools.partial(Field, role=INPUT)
Result = functools.partial(Field, role=RESULT)
Note = functools.partial(Field, role=NOTE)
Work = functools.partial(Field, role=WORK)


@functools.cache
def _factors(dims: str) -> tuple[tuple[int | str, ...], ...]:
    """What is multiplied for each dimension: numbers, and names of sizes that belong to the model."""
    return tuple(
        tuple(int(n) if n.isdigit() else CONSTANT_DIMS.get(n, n) for n in dim.split("*")) for dim in dims.split()
    )


def table(fields: Iterable[Field]) -> dict[str, Field]:
    """The declarations by name; a name declared twice is an error."""
    out: dict[str, Field] = {}
    for field in fields:
        if field.name in out:
            raise ValueError(f"field {field.name!r} is declared twice")
        np.dtype(field.dtype)
        out[field.name] = field
    return out
