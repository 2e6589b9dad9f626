"""What a scalar of mass properties may be, and how scalars go into arrays and come out of them: the one place that knows.

A scalar is a float, a NumPy array (one number for each item of a batch), a JAX array, a CasADi SX or MX, or anything
else with + - * /. Neither CasADi nor JAX is imported: a symbol brings its library along.
"""

from __future__ import annotations

import numbers as abstract
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

Scalar = Any
OPERATORS = ("__add__", "__sub__", "__mul__", "__truediv__")


def from_casadi(value: Any) -> bool:
    """Whether this is a number, vector or matrix of CasADi."""
    return type(value).__module__.partition(".")[0] == "casadi"


def array_library(value: Any) -> Any:
    """The namespace of an array that has one: numpy, or jax.numpy for JAX. None for all else."""
    if isinstance(value, np.ndarray):
        return np
    return value.__array_namespace__() if hasattr(value, "__array_namespace__") else None


def _casadi(value: Any) -> ModuleType:
    return sys.modules[type(value).__module__.partition(".")[0]]


def scalar(value: Any, what: str) -> Scalar:
    """One scalar: numbers become floats, arrays of numbers read-only copies in double precision, symbols stay."""
    if type(value) is float:
        return value
    if from_casadi(value):
        return _casadi_elements(value, (1, 1), what)[0]
    if isinstance(value, (np.ndarray, list, tuple)):
        return _batch(value, what)
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{what}: expected a number, got {value!r}")
    if isinstance(value, abstract.Number) and not isinstance(value, (complex, np.complexfloating)):
        try:
            return float(value)  # type: ignore[arg-type]
        except OverflowError:
            raise ValueError(f"{what}: {type(value).__name__} too large for a float") from None
    if value is None or not all(hasattr(value, name) for name in OPERATORS):
        raise TypeError(f"{what}: expected a number, an array or a symbol, got {_shown(value)}")
    return value


def _batch(value: Any, what: str) -> Scalar:
    try:
        a = np.asarray(value)
    except ValueError as error:  # ragged lists
        raise ValueError(f"{what}: not a regular array ({error})") from None
    if a.dtype == object and a.ndim == 0:
        return scalar(a.item(), what)
    if a.dtype.kind not in "fiu":
        raise TypeError(f"{what}: expected numbers, got {_shown(value)}")
    a = a.astype(np.float64)
    a.flags.writeable = False
    return a if a.ndim else float(a)


def elements(value: Any, shape: tuple[int, ...], what: str) -> tuple[Scalar, ...]:
    """The scalars of a vector or matrix, row by row.

    value: nested sequences of scalars, each of which may be a batch; or an array, or lists of plain numbers, whose last
    axes have this shape, the ones before being a batch; or a CasADi vector or matrix.
    """
    if from_casadi(value):
        return _casadi_elements(value, shape, what)
    if array_library(value) is None:
        if isinstance(value, Sequence) and not isinstance(value, str):
            nested = _nested(value, shape)
            if nested is not None:
                return tuple(scalar(item, what) for item in nested)
            value = _regular(value, what)
        elif hasattr(value, "__array__"):  # a column of a table, say
            value = np.asarray(value)
        else:
            raise TypeError(f"{what}: expected {_wanted(shape)}, got {_shown(value)}")
    if len(value.shape) < len(shape) or tuple(value.shape[-len(shape) :]) != shape:
        raise ValueError(f"{what}: expected {_wanted(shape)}, got shape {tuple(value.shape)}")
    return tuple(scalar(value[(..., *at)], what) for at in np.ndindex(shape))


def _nested(value: Sequence[Any], shape: tuple[int, ...]) -> list[Any] | None:
    """The items of nested sequences of exactly this shape, unless what they hold are sequences again: a batch."""
    rows: list[Any] = list(value)
    if len(rows) != shape[0]:
        return None
    if len(shape) == 1:
        return None if any(isinstance(item, (list, tuple, str)) for item in rows) else rows
    if not all(isinstance(row, (list, tuple)) or array_library(row) is not None for row in rows):
        return None
    out: list[Any] = []
    for row in rows:
        inner = _nested(list(row), shape[1:])
        if inner is None:
            return None
        out += inner
    return out


def _regular(value: Any, what: str) -> np.ndarray:
    if any(array_library(item) is not None and item.ndim for item in value):  # x, y, z or rows? only one may be meant
        raise ValueError(f"{what}: {len(value)} arrays in a sequence: give a batch as one array, np.stack(...)")
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{what}: not a regular array ({error})") from None


def _casadi_elements(value: Any, shape: tuple[int, ...], what: str) -> tuple[Scalar, ...]:
    """A vector may stand or lie; what CasADi calls DM are numbers."""
    given, count = tuple(value.shape), int(np.prod(shape))
    fits = given == shape if len(shape) == 2 else given in ((count, 1), (1, count))
    if not fits:
        raise ValueError(f"{what}: expected {_wanted(shape)}, got a CasADi {type(value).__name__} of shape {given}")
    if hasattr(value, "full"):
        return tuple(float(number) for number in value.full().ravel())
    if len(shape) == 1:
        return tuple(value[i] for i in range(count))
    return tuple(value[i, j] for i in range(shape[0]) for j in range(shape[1]))


def _wanted(shape: tuple[int, ...]) -> str:
    return "one number" if shape == (1, 1) else f"{' x '.join(map(str, shape))} numbers"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"a {type(value).__name__}"


def uniform(scalars: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The same scalars; where one is an array, all are arrays of one shape, read-only ones in NumPy."""
    arrays = [s for s in scalars if type(s) is not float and array_library(s) is not None]
    symbols = [s for s in scalars if type(s) is not float and from_casadi(s)]
    if symbols and (arrays or any(s.shape != (1, 1) for s in symbols)):
        raise TypeError("a batch of numbers cannot be mixed with CasADi symbols: build one value for each item")
    if not arrays:
        return tuple(scalars)
    xp = next((array_library(a) for a in arrays if not isinstance(a, np.ndarray)), np)
    shape = common_shape(arrays)
    if xp is np and not shape:
        return tuple(float(s) for s in scalars)
    return tuple(xp.broadcast_to(xp.asarray(s), shape) for s in scalars)


def common_shape(arrays: Sequence[Any]) -> tuple[int, ...]:
    """The shape of batches together; a ValueError where they do not fit."""
    try:
        return np.broadcast_shapes(*(tuple(a.shape) for a in arrays))
    except ValueError:
        shapes = sorted({tuple(a.shape) for a in arrays})
        raise ValueError(f"batches of different shapes: {', '.join(map(str, shapes))}") from None


def assemble(scalars: Sequence[Scalar], shape: tuple[int, ...]) -> Any:
    """An array, or a matrix of the symbols' own library, from scalars that `uniform` has seen; batch axes stay in front."""
    first = next((s for s in scalars if type(s) is not float), None)
    if first is None:
        return np.array(scalars).reshape(shape)
    if from_casadi(first):
        rows = [list(scalars[i : i + shape[-1]]) for i in range(0, len(scalars), shape[-1])]
        return _casadi(first).vertcat(*rows[0]) if len(shape) == 1 else _casadi(first).blockcat(rows)
    xp = array_library(first)
    if xp is not None:
        return xp.stack(uniform(scalars), axis=-1).reshape((*first.shape, *shape))
    out = np.empty(len(scalars), object)
    out[:] = list(scalars)
    return out.reshape(shape)


def numbers(scalars: Sequence[Scalar], purpose: str) -> np.ndarray:
    """Scalars as one array of numbers, a batch in front, the scalars along the last axis; a TypeError for symbols."""
    out = []
    for s in scalars:
        if type(s) is not float and not isinstance(s, np.ndarray):
            try:
                s = np.asarray(s, dtype=np.float64) if array_library(s) is not None else None
            except TypeError:  # JAX while it traces
                s = None
            if s is None:
                kind = next(type(x).__name__ for x in scalars if type(x) is not float and not isinstance(x, np.ndarray))
                raise TypeError(f"{purpose} needs numbers and cannot decide on symbols ({kind}): evaluate them first")
        out.append(s)
    return np.stack(np.broadcast_arrays(*out), axis=-1)


def are_numbers(*scalars: Scalar) -> bool:
    """Whether all are floats or NumPy arrays, so that their values can be looked at."""
    return all(type(s) is float or isinstance(s, np.ndarray) for s in scalars)


def quotient(numerator: Scalar, denominator: Scalar, otherwise: Scalar) -> Scalar:
    """A division that gives `otherwise` where the denominator is the number zero. Symbols are divided as they are."""
    if type(denominator) is float:
        return numerator / denominator if denominator else otherwise
    xp = array_library(denominator)
    if xp is None:
        return numerator / denominator
    zero = denominator == 0
    return xp.where(zero, otherwise, numerator / xp.where(zero, 1.0, denominator))


def exponential(value: Scalar) -> Scalar:
    """e to the power of a scalar."""
    if are_numbers(value):
        with np.errstate(over="ignore"):  # infinite, as the caller will see
            return scalar(np.exp(value), "exponential")
    xp = array_library(value)
    return xp.exp(value) if xp is not None else value.exp()
