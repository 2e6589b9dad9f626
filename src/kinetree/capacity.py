"""Room for contacts and constraints, whose number each step decides.

Fields with a size of `CAPACITIES` live apart from the others, in memory that can be replaced. A kernel asks `fits` before it
writes; where there is no room it notes how much it needs and goes on counting. The driver sees the note, makes room, and
runs the stage again: nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .data_fields import DATA_FIELDS
from .fields import CAPACITIES, Field
from .layout import allocate

FIXED: dict[str, Field] = {name: field for name, field in DATA_FIELDS.items() if not field.growing}
GROWING: dict[str, Field] = {name: field for name, field in DATA_FIELDS.items() if field.growing}
START = 8
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


def make_room(
    arrays: dict[str, np.ndarray], sizes: Mapping[str, int], capacity: Mapping[str, int],
    lanes: int | None = None, real: type | str = np.float64,
) -> np.ndarray:  # fmt: skip
    """Allocate the growing fields for a capacity, with what they held, and enter them among the arrays.

    The driver then tells kernels where they are, and only after that, by `note_capacity`, that there is more room: an error
    or interrupt in between must not leave a capacity that the memory does not have.
    """
    buffer, views = allocate(GROWING, {**sizes, **capacity}, lanes, real)
    for name, view in views.items():  # what was there stays
        if name in arrays:
            kept = min(len(view), len(arrays[name]))
            view[:kept] = arrays[name][:kept]
    arrays["capacity"][:] = np.minimum(arrays["capacity"], [capacity[name] for name in CAPACITIES])
    arrays.update(views)
    return buffer


def note_capacity(arrays: Mapping[str, np.ndarray], capacity: Mapping[str, int]) -> None:
    """Tell kernels how much room there is."""
    arrays["H_pattern"][0] = 0  # so that the pattern of the Hessian is made anew
    arrays["needed"][:] = 0
    arrays["capacity"][:] = [capacity[name] for name in CAPACITIES]
