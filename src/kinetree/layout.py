"""Memory behind `Model` and `Data`: the table of words that compiled code reads, and checked assignment from Python.

Each field takes the words (pointer, shape...), each constant one word. The order follows the declarations alone, so the
compiled code is the same for every model.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .errors import nearest
from .fields import Field

# Last dimensions of quaternions, rotation matrices, and of configurations, which may hold some.
ORIENTATIONS = ("4", "9", "nmocap*4", "nq", "nplastic")


class Layout:
    """Where the words of each field and constant stand.

    elsewhere: fields whose arrays are not part of this memory. inner: a layout whose table is found behind the constant of its
    name, so that kernels see its fields as if they were here.
    """

    def __init__(
        self,
        name: str,
        fields: Mapping[str, Field],
        constants: Mapping[str, str],
        elsewhere: Mapping[str, Field] | None = None,
        inner: Layout | None = None,
    ):
        self.name, self.fields, self.constants = name, dict(fields), dict(constants)
        self.elsewhere, self.inner = dict(elsewhere or {}), inner
        if inner is not None:
            self.constants[inner.name] = "int64"
        self.word: dict[str, int] = {}
        self.size = 0
        for key in self.constants:
            self.word[key] = self.size
            self.size += 1
        for key, field in (*self.fields.items(), *self.elsewhere.items()):
            self.word[key] = self.size
            self.size += 1 + self.ndim(field)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Tells whether saved contents still fit."""
        import hashlib  # a part of the time of an import, and seldom needed

        text = repr([(key, f.dims, f.dtype) for key, f in self.fields.items()] + [*self.constants.items()])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @staticmethod
    def ndim(field: Field) -> int:
        """Axes of the stored array: a scalar is stored as an array of one."""
        return max(1, len(field.shape_names))

    def words(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """The table for these arrays; constants start at zero."""
        out = np.zeros(self.size, np.int64)
        for key in self.fields:
            self.point(out, key, arrays[key])
        return out

    def point(self, words: np.ndarray, key: str, array: np.ndarray) -> None:
        """Enter the place and the shape of a field's array."""
        if not array.flags.c_contiguous:
            raise ValueError(f"{self.name}.{key} is not contiguous")
        word = self.word[key]
        words[word : word + 1 + array.ndim] = array.ctypes.data, *array.shape


def read_only(array: np.ndarray) -> np.ndarray:
    """A view that can never be made writeable: its base is a buffer that refuses, where `flags` alone could be set back."""
    return np.asarray(memoryview(array).toreadonly())  # type: ignore[arg-type]


def shown(array: np.ndarray, writeable: bool) -> np.ndarray:
    """What Python users see of an array."""
    return array.view() if writeable else read_only(array)


def may_be_infinite(name: str) -> bool:
    """Whether an infinity makes sense in a field: it is a bound that never binds."""
    return name.endswith("range")


def checked(
    value: Any, shape: tuple[int, ...], dtype: DTypeLike, where: str, infinite: bool = False, fill: bool = True
) -> np.ndarray:
    """The value as an array of that shape and type, or a clear error.

    fill: one number may stand for all entries, and is then returned as it is.
    """
    dtype = np.dtype(dtype)
    try:
        a = np.asarray(value)
        if a.dtype == object and a.ndim == 0 and hasattr(value, "__index__"):  # an enumeration of MuJoCo
            a = np.asarray(operator.index(value))
    except ValueError as error:  # ragged nested lists
        raise ValueError(f"{where}: not a regular array ({error})") from None
    if a.dtype.kind not in "fiub" or (a.dtype.kind == "b" and dtype.kind != "b"):
        raise TypeError(f"{where}: expected {_kind(dtype)}, got {_describe(value, a)}")
    if a.ndim and a.shape != shape:
        wanted = f"shape {shape}, got {a.shape}" if shape else f"one number, got shape {a.shape}"
        raise ValueError(f"{where}: expected {wanted}")
    if a.dtype.kind == "f" and dtype.kind != "f":
        if np.isfinite(a).all() and not (a == np.rint(a)).all():
            raise TypeError(f"{where}: expected {_kind(dtype)}, got {_describe(value, a)}")
    if dtype.kind in "fiu":
        bad = np.isnan(a) if infinite else ~np.isfinite(a)
        if bad.any():
            raise ValueError(f"{_entry(where, bad)} is {a[bad].flat[0]}")
        if dtype.kind == "f":
            number = fitting(a, dtype, where, infinite)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        bad = (a < limits.min) | (a > limits.max)
        if bad.any():
            raise ValueError(f"{_entry(where, bad)} is {a[bad].flat[0]}, which does not fit {dtype}")
    if dtype.kind == "b" and not np.isin(a, (0, 1)).all():
        raise ValueError(f"{where}: expected flags (true or false), got {_describe(value, a)}")
    if a.ndim == 0 and not fill and math.prod(shape) != 1:
        raise ValueError(f"{where}: expected shape {shape}, got one number ({value!r})")
    return number if dtype.kind == "f" else a.astype(dtype)


def fitting(numbers: np.ndarray, dtype: DTypeLike, where: str, infinite: bool = False) -> np.ndarray:
    """Numbers in a real type, infinite ones too; refused are those that become infinite there, unless they may."""
    with np.errstate(over="ignore"):
        out = numbers.astype(dtype)
    if not infinite and not np.isfinite(out).all():
        bad = np.isinf(out) & np.isfinite(numbers)
        if bad.any():
            raise ValueError(f"{_entry(where, bad)} is {numbers[bad].flat[0]!s}, which does not fit {out.dtype}")
    return out


def _entry(where: str, bad: np.ndarray) -> str:
    at = ", ".join(str(int(i)) for i in np.argwhere(bad)[0])
    return f"{where}[{at}]" if at else where


def _kind(dtype: np.dtype) -> str:
    return {"f": "numbers", "i": "whole numbers", "u": "whole numbers", "b": "flags"}[dtype.kind]


def _describe(value: Any, a: np.ndarray) -> str:
    return repr(value) if a.ndim == 0 and len(repr(value)) < 60 else f"an array of {a.dtype}"


class FieldHolder:
    """Base of Model and Data: fields are attributes that hold views. Nothing can be deleted."""

    _label = "object"
    _declared: Mapping[str, Field] = {}

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self._label}.{name} cannot be deleted")

    def _unknown(self, name: str) -> AttributeError:
        """What to raise for an attribute that does not exist."""
        if name.startswith("_"):  # asked for by copy, pickle, NumPy and others: no time for suggestions
            return AttributeError(f"{self._label} has no {name!r}")
        known = [n for n in dir(self) if not n.startswith("_")]
        return AttributeError(f"{self._label} has no {name!r}: {nearest(name, known)}")


def may_fill(field: Field, number: float) -> bool:
    """Whether one number may stand for all entries of a field: if it has one for each element, or the number is zero.

    Vectors with axes of their own (gravity, a body's pos) want all their numbers, or zero. Orientations, and qpos, which may
    hold some, want all their numbers in any case.
    """
    *_, last = field.shape_names
    if last in ORIENTATIONS:
        return False
    return number == 0 or (len(field.shape_names) == 1 and field.static_dims()[0] is None)


def assign(target: np.ndarray, field: Field, value: Any, where: str) -> None:
    """Copy a checked value into a field's own memory, or some rows of it; one number only where `may_fill` allows it."""
    if not field.writable:
        raise AttributeError(f"{where} is read-only: it is set by {field.stage!r}")
    a = checked(value, target.shape, field.dtype, where, infinite=may_be_infinite(field.name))
    if a.ndim == 0 and target.size != 1 and field.dims and not may_fill(field, a.item()):
        raise ValueError(f"{where}: expected shape {target.shape}, got one number ({value!r})")
    if field.choices:
        bad = ~np.isin(a, field.choices)
        if bad.any():
            raise ValueError(f"{_entry(where, bad)} is {a[bad].flat[0]}, none of {', '.join(map(str, field.choices))}")
    target[...] = a
