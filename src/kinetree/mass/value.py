"""The value behind `MassProperties`: how its ten scalars are kept, shown, compared, copied and taken apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from .algebra import FULL, Ten
from .scalars import Scalar, are_numbers, array_library, assemble, elements, numbers, scalar, uniform

LOWER = ((3, 1), (6, 2), (7, 5))  # places of Iyx and Ixy, Izx and Ixz, Izy and Iyz in the tensor, row by row
ASYMMETRIC = "the inertia tensor is not symmetric, {}: see validate() and nearest_valid()"


def vector(value: Any, what: str) -> tuple[Scalar, ...]:
    """Three scalars; 0 is the origin."""
    if type(value) in (int, float) and value == 0:
        return (0.0, 0.0, 0.0)
    return elements(value, (3,), what)


ROUNDING = 1e-12  # of the largest element: what a product like R I R' lacks in symmetry


def _mass(value: Any) -> Scalar:
    """A mass; a plain number must be finite, but may be negative: a hole. What a batch holds is up to `validate`."""
    mass = scalar(value, "mass")
    if type(mass) is float and not math.isfinite(mass):
        raise ValueError(f"mass must be finite, got {mass}")
    return mass


def _fixed(array: Any) -> Any:
    """The same array, read-only if it is NumPy's: writing to it would change nothing."""
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    return array


class Value:
    """Ten scalars that never change, of one body or of a batch. Made by `MassProperties`, which see."""

    _scalars: Ten
    _skew: Ten | None = None  # Iyx - Ixy, Izx - Ixz, Izy - Iyz of a tensor that is not symmetric
    __array_ufunc__ = None  # NumPy leaves `2.0 * body` to us

    def __init__(self, mass: Any, cg: Any, inertia: Any):
        tensor = elements(inertia, (3, 3), "inertia")
        upper = (tensor[0], tensor[4], tensor[8], tensor[1], tensor[2], tensor[5])
        self.__dict__["_scalars"] = uniform((_mass(mass), *vector(cg, "cg"), *upper))
        if are_numbers(*tensor):
            self._look_at_symmetry(tensor)

    def _look_at_symmetry(self, tensor: Sequence[Scalar]) -> None:
        """Keep what a tensor lacks in symmetry; a difference by rounding alone is halved between both elements."""
        above = [tensor[place] for _, place in LOWER]
        with np.errstate(invalid="ignore", over="ignore"):
            skew = [np.where(np.isfinite(tensor[below]), tensor[below] - tensor[place], 0.0) for below, place in LOWER]
            largest = np.max([np.abs(np.nan_to_num(np.asarray(x, float))) for x in tensor], axis=0) if skew else 0.0
        skew = [np.where(np.isfinite(s), s, 0.0) for s in skew]
        if not any(np.any(s != 0) for s in skew):
            return
        if all(np.all(np.abs(s) <= ROUNDING * largest) for s in skew):
            scalars = list(self._scalars)
            for k, (x, s) in enumerate(zip(above, skew, strict=True)):
                scalars[7 + k] = x + 0.5 * s if np.ndim(scalars[7 + k]) else float(x + 0.5 * s)
            self.__dict__["_scalars"] = tuple(scalars)
        else:
            self.__dict__["_skew"] = tuple(skew)

    @classmethod
    def _of(cls, scalars: Ten) -> Self:
        """A value of ten scalars, of which arrays have one shape already."""
        self = object.__new__(cls)
        self.__dict__["_scalars"] = scalars
        return self

    @classmethod
    def _made(cls, mass: Any, cg: Any, moments: Sequence[Scalar]) -> Self:
        """A value from what a user gave: mass, centre of gravity and the six moments, all still to be looked at."""
        names = ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
        six = (scalar(moment, name) for moment, name in zip(moments, names, strict=True))
        return cls._of(uniform((_mass(mass), *vector(cg, "cg"), *six)))

    def _symmetric(self) -> Ten:
        """The ten scalars, for whatever would lose the lower half of a tensor that is not symmetric."""
        if self._skew is not None:
            raise ValueError(ASYMMETRIC.format(self._asymmetry()))
        return self._scalars

    def _asymmetry(self) -> str:
        """The worst pair of products, in words."""
        assert self._skew is not None
        below = numbers(self._skew, "symmetry").reshape(-1, 3)
        item, pair = np.unravel_index(np.nanargmax(np.abs(below)), below.shape)
        above = float(np.ravel(self._scalars[7 + pair])[item])
        names = (("Ixy", "Iyx"), ("Ixz", "Izx"), ("Iyz", "Izy"))[pair]
        return f"{names[0]} = {above:.6g} but {names[1]} = {above + below[item, pair]:.6g}"

    # what it holds

    @property
    def mass(self) -> Scalar:
        """Mass [kg]."""
        return self._scalars[0]

    @property
    def cg(self) -> Any:
        """Centre of gravity [m], three numbers, read-only."""
        return _fixed(assemble(self._scalars[1:4], (3,)))

    @property
    def inertia(self) -> Any:
        """Inertia tensor about the centre of gravity [kg·m²], 3 x 3, read-only, with Ixy = -∫xy dm off the diagonal."""
        return _fixed(assemble(self._tensor(), (3, 3)))

    def _tensor(self) -> list[Scalar]:
        """Nine scalars, row by row."""
        tensor = [self._scalars[4 + k] for k in FULL]
        if self._skew is not None:
            for (below, _), difference in zip(LOWER, self._skew, strict=True):
                tensor[below] = tensor[below] + difference
        return tensor

    # batches

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the batch; () for one body."""
        mass = self._scalars[0]
        return () if type(mass) is float or array_library(mass) is None else tuple(mass.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("one body has no length; a batch has")
        return self.shape[0]

    def __bool__(self) -> bool:
        """True, as of any object; of a batch, whether it has items."""
        return not self.shape or self.shape[0] > 0

    def __getitem__(self, index: Any) -> Self:
        if not self.shape:
            raise TypeError("one body has no items; a batch has")
        picked = [s[index] for s in self._scalars]
        out = self._of(tuple(float(s) if isinstance(s, np.floating) else s for s in picked))
        if self._skew is not None:
            skew = tuple(np.broadcast_to(s, self.shape)[index] for s in self._skew)
            if any(np.any(s != 0) for s in skew):
                out.__dict__["_skew"] = tuple(float(s) if isinstance(s, np.floating) else s for s in skew)
        return out

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    # it never changes

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"mass properties never change: cannot set {name!r}, make a new value")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"mass properties never change: cannot delete {name!r}")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    # comparison

    def __eq__(self, other: object) -> bool:
        """Whether every number is the same; of a batch, in every item."""
        if not isinstance(other, Value):
            return NotImplemented
        a, b = self._numbers("=="), other._numbers("==")
        return a.shape == b.shape and bool(np.array_equal(a, b))

    def __hash__(self) -> int:
        if self.shape:
            raise TypeError("a batch of mass properties cannot be hashed")
        return hash(tuple((self._numbers("hash") + 0.0).tolist()))  # + 0.0: -0.0 equals 0.0

    def isclose(self, other: Value, rtol: float = 1e-9, atol: float = 0.0) -> Any:
        """Whether both are the same within a tolerance; of a batch, a flag for each item.

        rtol is relative to the mass m, to the length L of the body and its distance from the origin, and to m L²; atol
        is in kg, m and kg·m². So a product of inertia that rounding made 1e-17 instead of 0 is close.
        """
        if not isinstance(other, Value):
            raise TypeError(f"isclose compares with other mass properties, not with {type(other).__name__}")
        a, b = self._numbers("isclose"), other._numbers("isclose")
        mass, length = np.maximum(_magnitude(a[..., :1]), _magnitude(b[..., :1])), np.maximum(_length(a), _length(b))
        inertia = np.maximum(mass * length**2, np.maximum(_magnitude(a[..., 4:]), _magnitude(b[..., 4:])))
        limit = np.empty(np.broadcast_shapes(a.shape, b.shape))
        limit[..., 0], limit[..., 1:4], limit[..., 4:] = mass, length[..., None], inertia[..., None]
        with np.errstate(invalid="ignore"):  # inf - inf is not close
            out = (np.abs(a - b) <= atol + rtol * limit).all(axis=-1)
        return out if out.ndim else bool(out)

    def _numbers(self, purpose: str) -> np.ndarray:
        """Mass, cg and the nine elements of the tensor along the last axis."""
        return numbers((*self._scalars[:4], *self._tensor()), purpose)

    # text

    def __repr__(self) -> str:
        if self.shape:
            return f"<MassProperties: batch of shape {self.shape}>"
        tensor = _texts(self._tensor())
        rows = ", ".join(f"[{', '.join(tensor[i : i + 3])}]" for i in (0, 3, 6))
        [mass], cg = _texts([self.mass]), ", ".join(_texts(self._scalars[1:4]))
        return f"MassProperties(mass={mass} kg, cg=({cg}) m, inertia=[{rows}] kg·m²)"


def _texts(values: Sequence[Scalar]) -> list[str]:
    """Six digits; what is only rounding beside the largest of them is shown as 0."""
    noise = 1e-14 * max((abs(v) for v in values if type(v) is float and np.isfinite(v)), default=0.0)
    out = []
    for value in values:
        text = f"{0.0 if abs(value) <= noise else value:.6g}" if type(value) is float else str(value)
        out.append(text if len(text) <= 40 else f"{text[:37]}...")
    return out


def _magnitude(values: np.ndarray) -> np.ndarray:
    return np.abs(values).max(axis=-1)


def _length(values: np.ndarray) -> np.ndarray:
    """The larger of the distance from the origin and the radius of gyration."""
    mass, inertia = np.abs(values[..., 0]), _magnitude(values[..., 4:])
    gyration = np.sqrt(np.divide(inertia, mass, out=np.zeros_like(inertia), where=mass > 0))
    return np.maximum(_magnitude(values[..., 1:4]), gyration)
