"""How a problem in a compiled model is found and told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def first(bad: Any, name: str, values: Any, what: str) -> Iterator[str]:
    """The first bad entry, if there is one."""
    bad, values = np.asarray(bad), np.asarray(values)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        yield f"{name}{list(at) if at else ''} is {values[at]}, {what}"


def outside(name: str, values: Any, low: Any, high: Any) -> Iterator[str]:
    """The first entry that is not in low..high-1; the bounds are numbers, or arrays with one for each entry."""
    values = np.asarray(values, np.int64)
    low, high = np.broadcast_to(low, values.shape), np.broadcast_to(high, values.shape)
    bad = (values < low) | (values >= high)
    if bad.any():
        at = np.unravel_index(int(np.argmax(bad)), bad.shape)
        yield from first(bad, name, values, f"outside {low[at]}..{high[at] - 1}")


def unequal(name: str, values: Any, expected: Any) -> Iterator[str]:
    """The first entry that is not the one that follows from other fields."""
    values, expected = np.asarray(values, np.int64), np.asarray(expected, np.int64)
    bad = values != expected
    if bad.any():
        yield from first(bad, name, values, f"but {expected[np.unravel_index(int(np.argmax(bad)), bad.shape)]} follows")


def starts(counts: Any) -> np.ndarray:
    """Where each row begins when rows of these lengths lie one behind the other."""
    counts = np.asarray(counts, np.int64)
    return np.cumsum(counts) - counts
