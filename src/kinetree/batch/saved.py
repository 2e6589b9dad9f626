"""Saved batches: what a pickle holds is checked before compiled code may follow it.

Rows are read where a plan says that they are, so their shapes, types and order must be what it takes them for; circles of
trees that sleep and what parameters decide by being zero steer addresses. `kinetree.saved` is the same for one Data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..data_fields import DATA_FIELDS
from ..initial import FULLY_AWAKE
from ..layout import may_be_infinite
from ..model import Model
from .parameters import Parameters
from .plan import FRESH
from .worlds import OF_SLEEP, PAUSED, RESULTS, WARNINGS, WIDTHS, WRITTEN, dtype_of, shape_of

ROWS = frozenset((*WRITTEN, *RESULTS, *WARNINGS, "energy", *PAUSED, *OF_SLEEP))  # that a batch may have
PARTS = ("rows", "resets", "fresh", "own")


def check_counts(model: Any, n: Any, dtype: Any, threads: Any, saved: Any) -> None:
    """Refuse what no batch can be made of, before memory is taken for it."""
    if not isinstance(model, Model):
        raise _damaged(f"its model is a {type(model).__name__}")
    if not isinstance(dtype, str) or dtype not in WIDTHS:
        raise _damaged(f"dtype is {dtype!r}, none of {', '.join(WIDTHS)}")
    for name, value in (("n", n), ("threads", threads)):
        if type(value) is not int or value < 1:
            raise _damaged(f"{name} is {value!r}, no whole number from 1 on")
    if not isinstance(saved, Mapping) or set(saved) != set(PARTS):
        raise _damaged(f"it is not made of {', '.join(PARTS)}")
    _check_array("resets", saved["resets"], (n,), np.dtype(np.int64))


def checked_parts(model: Model, n: int, dtype: str, saved: Mapping[str, Any]) -> Parameters | None:
    """Check all that a batch takes over; the parameters among it, None if there are none."""
    for problem in _problems(model, n, dtype, saved):
        raise _damaged(problem)
    if not saved["own"]:
        return None
    parameters = Parameters(model, n, dtype)
    try:
        parameters.restore(saved["own"])
    except ValueError as error:  # what must be alike in all worlds is not
        raise _damaged(str(error)) from None
    return parameters


def _damaged(problem: str) -> ValueError:
    return ValueError(f"this Batch is damaged: {problem}")


def _problems(model: Model, n: int, dtype: str, saved: Mapping[str, Any]) -> Iterator[str]:
    rows, own, fresh = saved["rows"], saved["own"], saved["fresh"]
    for what, part in (("rows", rows), ("own", own), ("fresh", fresh)):
        if not isinstance(part, dict):
            yield f"{what} is a {type(part).__name__}"
    _check_array("resets", saved["resets"], (n,), np.dtype(np.int64))
    yield from _negative("resets", saved["resets"])
    for name, array in rows.items():
        if name not in ROWS:
            yield f"{name!r} is no field that a Batch keeps"
        _check_array(name, array, (n, *shape_of(name, model)), dtype_of(DATA_FIELDS[name], dtype))
        if array.dtype == bool and (wild := np.argwhere(array.view(np.uint8) > 1)).size:
            yield f"{name}{wild[0].tolist()} is {array.view(np.uint8)[tuple(wild[0])]}, neither 0 nor 1"
    if "warning_number" in rows:
        yield from _negative("warning_number", rows["warning_number"])
    if "tree_asleep" in rows:
        yield from _sleepers(rows["tree_asleep"])
    for name, flag in fresh.items():
        if name not in FRESH or type(flag) is not int or flag not in (0, 1):
            yield f"fresh[{name!r}] is {flag!r}, no flag of {', '.join(FRESH)}"
    yield from _parameters(Parameters(model, n, dtype), (n,), dtype, own)


def _check_array(name: str, array: Any, shape: tuple[int, ...], dtype: np.dtype) -> None:
    if type(array) is not np.ndarray:
        raise _damaged(f"{name} is a {type(array).__name__}, no array")
    if array.shape != shape or array.dtype != dtype:
        raise _damaged(f"{name} has shape {array.shape} and type {array.dtype}, not {shape} and {dtype}")


def _negative(name: str, numbers: np.ndarray) -> Iterator[str]:
    bad = np.argwhere(numbers < 0)
    if bad.size:
        yield f"{name}{bad[0].tolist()} is {numbers[tuple(bad[0])]}, less than 0"


def _sleepers(following: np.ndarray) -> Iterator[str]:
    """Trees asleep are in rings in each world: what follows each, with those awake themselves, is every tree once."""
    trees = np.arange(following.shape[1])
    bad = np.argwhere((following < FULLY_AWAKE) | (following >= max(len(trees), 1)))
    if bad.size:
        yield f"tree_asleep{bad[0].tolist()} is {following[tuple(bad[0])]}, outside {FULLY_AWAKE}..{len(trees) - 1}"
    whole = (np.sort(np.where(following >= 0, following, trees), axis=1) == trees).all(axis=1)
    if not whole.all():
        world = int(np.argmin(whole))
        yield f"tree_asleep[{world}] is {following[world].tolist()}, where trees asleep are not in rings"


def _parameters(parameters: Parameters, worlds: tuple[int], dtype: str, own: Mapping[str, Any]) -> Iterator[str]:
    for name, array in own.items():
        try:
            field = parameters.check(name, given=False)
        except (AttributeError, TypeError) as error:
            raise _damaged(str(error)) from None
        _check_array(name, array, (*worlds, *field.shape(parameters.base.sizes)), np.dtype(dtype))
        bad = np.argwhere(np.isnan(array) if may_be_infinite(name) else ~np.isfinite(array))
        if bad.size:
            yield f"{name}{bad[0].tolist()} is {array[tuple(bad[0])]}"
