"""`MassProperties`: mass, centre of gravity and inertia of a body, as one value for numbers, batches and symbols."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Self, overload

import numpy as np

from .algebra import Ten, aggregated, combined, divided, scaled, sum_of
from .exchange import Exchange
from .frames import Frames
from .mesh import Meshes
from .parameters import Parameters
from .scalars import Scalar, are_numbers, array_library, common_shape, numbers, scalar, uniform
from .solids import Solids
from .validity import Validity
from .value import Value

NAMES = ("mass", "cg", "inertia")
SINGLE = {"x_cg", "y_cg", "z_cg", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz"}  # of AeroSandbox and from_components


class MassProperties(Solids, Meshes, Frames, Validity, Parameters, Exchange):
    """Mass [kg], centre of gravity [m] and inertia tensor about it [kg·m²] of a body, in one coordinate frame.

    Sign convention: the tensor is the standard one, with **Ixy = -∫xy dm** off the diagonal. Many CAD tools print the
    product of inertia +∫xy dm: give such numbers to `from_components`, which negates them.

        total = wing + fuselage - hole

    The value never changes. Its scalars are floats, NumPy arrays (a batch of bodies in one value: mass (n,), cg (n, 3),
    inertia (n, 3, 3); arrays in a tuple are scalars, cg=(x, y, z)), CasADi SX or MX, JAX arrays, or anything with
    + - * /. What needs eigenvalues or a decision is for numbers only and raises a TypeError on symbols. Of a symbolic
    tensor the upper triangle is read.
    """

    # construction

    @overload
    def __init__(self, mass: Any, cg: Any, inertia: Any) -> None: ...

    @overload
    def __init__(self, mass: Any, *, cg_offset: Any, inertia: Any) -> None: ...

    def __init__(self, *arguments: Any, **named: Any) -> None:
        given = _renamed(named)
        if len(arguments) > len(NAMES) or not set(given) <= set(NAMES[len(arguments) :]):
            raise TypeError(_wrong_arguments(arguments, named))
        given.update(zip(NAMES, arguments, strict=False))
        missing = [name for name in NAMES if name not in given]
        if missing:
            raise TypeError(f"MassProperties takes mass, cg and inertia: {' and '.join(missing)} missing")
        super().__init__(**given)

    @classmethod
    def zero(cls) -> Self:
        """Nothing: no mass, no inertia, at the origin."""
        return cls._of((0.0,) * 10)

    @classmethod
    def point_mass(cls, mass: Any, position: Any) -> Self:
        """All of the mass in one point."""
        return cls._made(mass, position, (0.0,) * 6)

    @classmethod
    def diagonal(cls, mass: Any, *arguments: Any, **named: Any) -> Self:
        """`diagonal(mass, cg, Ixx, Iyy, Izz)`: principal axes along x, y, z. Without cg the body is at the origin."""
        named = _renamed(named)
        with_cg = "cg" not in named and len(arguments) + len(named) == 4
        given = dict(zip(("cg", "Ixx", "Iyy", "Izz")[not with_cg :], arguments, strict=False), **named)
        if len(given) != len(arguments) + len(named) or {"cg", *given} != {"cg", "Ixx", "Iyy", "Izz"}:
            raise TypeError("diagonal takes mass, cg, Ixx, Iyy, Izz, or mass, Ixx, Iyy, Izz")
        return cls._made(mass, given.get("cg", 0), (given["Ixx"], given["Iyy"], given["Izz"], 0.0, 0.0, 0.0))

    @classmethod
    def from_components(cls, mass: Any, cg: Any, Ixx: Any, Iyy: Any, Izz: Any, Ixy: Any, Ixz: Any, Iyz: Any) -> Self:
        """From moments and **positive products** of inertia, Ixy = +∫xy dm, as CAD tools print them; they are negated here."""
        products = (-scalar(product, name) for product, name in ((Ixy, "Ixy"), (Ixz, "Ixz"), (Iyz, "Iyz")))
        return cls._made(mass, cg, (Ixx, Iyy, Izz, *products))

    @classmethod
    def full(cls, mass: Any, Ixx: Any, Iyy: Any, Izz: Any, Ixy: Any, Ixz: Any, Iyz: Any) -> Self:
        """Deprecated: `from_components` at the origin."""
        _deprecated("full(mass, ...)", "from_components(mass, 0, ...)")
        return cls.from_components(mass, 0, Ixx, Iyy, Izz, Ixy, Ixz, Iyz)

    @classmethod
    def from_mass(cls, mass: Any) -> Self:
        """Deprecated: a point mass at the origin."""
        _deprecated("from_mass(mass)", "point_mass(mass, (0, 0, 0))")
        return cls.point_mass(mass, 0)

    @classmethod
    def stack(cls, components: Iterable[MassProperties]) -> Self:
        """Several bodies as one batch, of numbers."""
        parts = [numbers(_component(c)._symmetric(), "stack") for c in components]
        columns = np.moveaxis(np.stack(parts), -1, 0) if parts else np.zeros((10, 0))
        return cls._of(uniform(tuple(columns)))

    @property
    def cg_offset(self) -> Any:
        """Deprecated: `cg`."""
        _deprecated("cg_offset", "cg")
        return self.cg

    # algebra

    def __add__(self, other: Any) -> Self:
        """Both bodies as one; 0 is nothing."""
        if not isinstance(other, Value):
            return self if type(other) is int and other == 0 else NotImplemented
        return self._result(_both(self._symmetric(), other._symmetric()))

    __radd__ = __add__  # `sum` starts with 0

    def __sub__(self, other: Any) -> Self:
        """This body with the other cut out: a hole."""
        if not isinstance(other, Value):
            return NotImplemented
        return self._result(_both(self._symmetric(), scaled(other._symmetric(), -1.0)))

    def __neg__(self) -> Self:
        """A hole of this shape."""
        return self * -1.0

    def __pos__(self) -> Self:
        return self

    def __mul__(self, factor: Any) -> Self:
        """That many times the mass and inertia in the same place."""
        if isinstance(factor, Value):
            return NotImplemented
        return self._result(scaled(self._symmetric(), scalar(factor, "factor")))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Self:
        if isinstance(divisor, Value):
            return NotImplemented
        number = scalar(divisor, "divisor")
        if are_numbers(number) and np.any(number == 0):
            raise ZeroDivisionError("mass properties divided by zero")
        return self._result(divided(self._symmetric(), number))

    def _result(self, ten: tuple[Scalar, ...]) -> Self:
        return self._of(ten if type(ten[0]) is float else uniform(ten))


def aggregate(components: Iterable[MassProperties] | MassProperties) -> MassProperties:
    """All components as one body, about their common centre of gravity; nothing gives the zero value.

    components: mass properties one by one, or a batch, which is summed over its first axis. Where masses of some
    components cancel, as of a body and a hole of the same mass, this is right in any order; adding one by one would
    lose the cg on the way.
    """
    if isinstance(components, Value) and components.shape:
        ten = components._symmetric()
        if not len(components):
            return MassProperties._of(uniform([_over_first_axis([s]) for s in ten]))
        near = [s[0] for s in ten[1:4]]
        return MassProperties._of(uniform(aggregated([ten], _over_first_axis, len(components), near)))
    if isinstance(components, Value):
        raise TypeError("aggregate takes several mass properties or a batch, not one body")
    if isinstance(components, Mapping):
        raise TypeError("aggregate takes the mass properties alone, without names: aggregate(components.values())")
    if not isinstance(components, Iterable):
        raise TypeError(f"aggregate takes several mass properties or a batch, not {type(components).__name__}")
    parts = [_component(c)._symmetric() for c in components]
    if not parts:
        return MassProperties.zero()
    try:
        return MassProperties._of(uniform(aggregated(parts, sum_of, len(parts), parts[0][1:4])))
    except (TypeError, ValueError):
        _check_shapes(parts)
        raise


def _both(a: Ten, b: Ten) -> Ten:
    try:
        return combined(a, b)
    except (TypeError, ValueError):
        _check_shapes((a, b))
        raise


def _check_shapes(parts: Iterable[Ten]) -> None:
    """A clear error for batches that do not fit, where the arrays' own library gave another one."""
    common_shape([part[0] for part in parts if array_library(part[0]) is not None])


def _renamed(named: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, with cg for the cg_offset of old."""
    if "cg_offset" not in named or "cg" in named:
        return dict(named)
    _deprecated("cg_offset=", "cg=", level=4)
    return {"cg" if name == "cg_offset" else name: value for name, value in named.items()}


def _wrong_arguments(arguments: tuple[Any, ...], named: dict[str, Any]) -> str:
    """What to call instead of MassProperties(...), by what it was given."""
    twice = [name for name in NAMES[: len(arguments)] if name in named]
    unknown = [name for name in named if name not in NAMES]
    if len(arguments) > len(NAMES):
        text = f"MassProperties takes mass, cg and inertia, not {len(arguments)} values"
    elif unknown:
        text = f"MassProperties takes mass, cg and inertia, not {', '.join(unknown)}"
    else:
        text = f"MassProperties was given {' and '.join(twice or ('cg', 'cg_offset'))} twice"
    if len(arguments) > len(NAMES) or SINGLE.intersection(unknown):
        text += (
            ": moments one by one go to MassProperties.from_components(mass, (x, y, z), Ixx, Iyy, Izz, Ixy, Ixz, Iyz), "
            "with positive products Ixy = +∫xy dm"
        )
    return text


def _over_first_axis(values: Iterable[Scalar]) -> Scalar:
    out = sum_of(value.sum(axis=0) for value in values)
    return float(out) if isinstance(out, np.floating) else out


def _component(value: Any) -> Value:
    if not isinstance(value, Value):
        raise TypeError(f"expected mass properties, got {type(value).__name__}")
    return value


def aggregate_mass_properties(components: Iterable[MassProperties]) -> MassProperties:
    """Deprecated: `aggregate`."""
    _deprecated("aggregate_mass_properties", "aggregate")
    return aggregate(components)


def transform_mass_properties(properties: MassProperties, rotation: Any, translation: Any) -> MassProperties:
    """Deprecated: `properties.transform(rotation, translation)`."""
    _deprecated("transform_mass_properties", "properties.transform")
    return properties.transform(rotation, translation)


def _deprecated(old: str, new: str, level: int = 3) -> None:
    warnings.warn(f"{old} is deprecated: write {new}", DeprecationWarning, stacklevel=level)
