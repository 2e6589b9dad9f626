"""Bodies of simple shape: solids, thin shells, rods and plates, by mass or by density. Closed forms, for every scalar.

The shapes stand centred on `cg`, with their axis along z; `rotated` and `translated` put them where they belong.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from .scalars import Scalar, are_numbers, quotient, scalar
from .value import Value


def _size(value: Any, name: str) -> Scalar:
    """A length or density that can be one: finite and not negative, as far as it is a number."""
    if value is None:
        raise TypeError(f"{name} is missing")
    size = scalar(value, name)
    if are_numbers(size) and not (np.isfinite(size).all() and np.all(size >= 0)):
        raise ValueError(f"{name} must be finite and not negative, got {value}")
    return size


def _mass(mass: Any, density: Any, extent: Scalar) -> Scalar:
    """The mass that was given, or the one that follows from a density."""
    if (mass is None) == (density is None):
        raise TypeError("give either the mass or the density")
    if mass is not None:
        return scalar(mass, "mass")
    return _size(density, "density") * extent


class Solids(Value):
    """Constructors by shape. Lengths in m; density in kg/m³ of a solid, kg/m² of a thin shell, disc or plate, kg/m of a rod."""

    @classmethod
    def _shape(cls, mass: Scalar, cg: Any, xx: Scalar, yy: Scalar, zz: Scalar) -> Self:
        """A body from its principal moments for each kilogram."""
        return cls._made(mass, cg, (mass * xx, mass * yy, mass * zz, 0.0, 0.0, 0.0))

    # solids

    @classmethod
    def solid_sphere(cls, mass: Any = None, radius: Any = None, cg: Any = 0, *, density: Any = None) -> Self:
        """A solid ball: 2/5 m r²."""
        return cls.solid_ellipsoid(mass, radius, radius, radius, cg, density=density)

    @classmethod
    def solid_ellipsoid(
        cls, mass: Any = None, rx: Any = None, ry: Any = None, rz: Any = None, cg: Any = 0, *, density: Any = None
    ) -> Self:
        """A solid ellipsoid with half axes rx, ry, rz along x, y, z."""
        a, b, c = _size(rx, "radius"), _size(ry, "radius"), _size(rz, "radius")
        m = _mass(mass, density, 4 / 3 * math.pi * a * b * c)
        return cls._shape(m, cg, (b * b + c * c) / 5, (a * a + c * c) / 5, (a * a + b * b) / 5)

    @classmethod
    def solid_cylinder(
        cls, mass: Any = None, radius: Any = None, length: Any = None, cg: Any = 0, *, density: Any = None
    ) -> Self:
        """A solid cylinder along z."""
        return cls.tube(mass, 0.0, _size(radius, "radius"), length, cg, density=density)

    @classmethod
    def solid_box(
        cls, mass: Any = None, dx: Any = None, dy: Any = None, dz: Any = None, cg: Any = 0, *, density: Any = None
    ) -> Self:
        """A solid box with edges dx, dy, dz along x, y, z."""
        a, b, c = _size(dx, "dx"), _size(dy, "dy"), _size(dz, "dz")
        m = _mass(mass, density, a * b * c)
        return cls._shape(m, cg, (b * b + c * c) / 12, (a * a + c * c) / 12, (a * a + b * b) / 12)

    @classmethod
    def solid_capsule(
        cls, mass: Any = None, radius: Any = None, length: Any = None, cg: Any = 0, *, density: Any = None
    ) -> Self:
        """A cylinder along z of that length between two half balls; end to end it measures length + 2 radius."""
        r, h = _size(radius, "radius"), _size(length, "length")
        ends = 4 / 3 * r  # length of the cylinder that both half balls would fill
        m = _mass(mass, density, math.pi * r * r * (h + ends))
        middle, caps = quotient(h, h + ends, 0.0), quotient(ends, h + ends, 0.0)
        across = middle * (r * r / 4 + h * h / 12) + caps * (r * r * 0.4 + h * h / 4 + h * r * 0.375)
        return cls._shape(m, cg, across, across, middle * (r * r / 2) + caps * (r * r * 0.4))

    @classmethod
    def solid_cone(
        cls, mass: Any = None, radius: Any = None, height: Any = None, cg: Any = 0, *, density: Any = None
    ) -> Self:
        """A solid cone along z. Its cg lies a quarter of the height above the base."""
        r, h = _size(radius, "radius"), _size(height, "height")
        m = _mass(mass, density, math.pi / 3 * r * r * h)
        across = 0.15 * r * r + 0.0375 * h * h
        return cls._shape(m, cg, across, across, 0.3 * r * r)

    # hollow

    @classmethod
    def hollow_sphere(
        cls, mass: Any = None, inner_radius: Any = None, outer_radius: Any = None, cg: Any = 0, *, density: Any = None
    ) -> Self:
        """A ball with a ball cut out of its middle."""
        r, s = _ring(inner_radius, outer_radius)
        m = _mass(mass, density, 4 / 3 * math.pi * (s * s * s - r * r * r))
        powers = s * s * s * s + s * s * s * r + s * s * r * r + s * r * r * r + r * r * r * r
        each = 0.4 * quotient(powers, s * s + s * r + r * r, 0.0)  # (s⁵ - r⁵) / (s³ - r³), also for a thin wall
        return cls._shape(m, cg, each, each, each)

    @classmethod
    def tube(
        cls, mass: Any = None, inner_radius: Any = None, outer_radius: Any = None, length: Any = None, cg: Any = 0,
        *, density: Any = None,
    ) -> Self:  # fmt: skip
        """A cylinder along z with a cylinder cut out of its middle, open at both ends."""
        (r, s), h = _ring(inner_radius, outer_radius), _size(length, "length")
        m = _mass(mass, density, math.pi * (s * s - r * r) * h)
        along = (s * s + r * r) / 2
        return cls._shape(m, cg, along / 2 + h * h / 12, along / 2 + h * h / 12, along)

    # thin walls

    @classmethod
    def thin_sphere(cls, mass: Any = None, radius: Any = None, cg: Any = 0, *, density: Any = None) -> Self:
        """A spherical shell of no thickness: 2/3 m r². Density in kg/m²."""
        r = _size(radius, "radius")
        each = r * r * (2 / 3)
        return cls._shape(_mass(mass, density, 4 * math.pi * r * r), cg, each, each, each)

    @classmethod
    def thin_cylinder(
        cls, mass: Any = None, radius: Any = None, length: Any = None, cg: Any = 0, *, density: Any = None
    ) -> Self:
        """The wall of a cylinder along z, open at both ends. Density in kg/m²."""
        r, h = _size(radius, "radius"), _size(length, "length")
        m = _mass(mass, density, 2 * math.pi * r * h)
        across = r * r / 2 + h * h / 12
        return cls._shape(m, cg, across, across, r * r)

    @classmethod
    def thin_cone(
        cls, mass: Any = None, radius: Any = None, height: Any = None, cg: Any = 0, *, density: Any = None
    ) -> Self:
        """The wall of a cone along z, open at its base. Its cg lies a third of the height above the base. Density in kg/m²."""
        r, h = _size(radius, "radius"), _size(height, "height")
        m = _mass(mass, density, math.pi * r * (r * r + h * h) ** 0.5)
        across = r * r / 4 + h * h / 18
        return cls._shape(m, cg, across, across, r * r / 2)

    @classmethod
    def thin_box(
        cls, mass: Any = None, dx: Any = None, dy: Any = None, dz: Any = None, cg: Any = 0, *, density: Any = None
    ) -> Self:
        """The six walls of a box with edges dx, dy, dz. Density in kg/m²."""
        a, b, c = _size(dx, "dx"), _size(dy, "dy"), _size(dz, "dz")
        area = 2 * (a * b + a * c + b * c)
        m = _mass(mass, density, area)
        # ∫x² over the walls: two faces at x = ± a/2, four that run along x
        x, y, z = (
            quotient(p * q * e * e / 2 + (p + q) * e * e * e / 6, area, 0.0)
            for e, p, q in ((a, b, c), (b, a, c), (c, a, b))
        )
        return cls._shape(m, cg, y + z, x + z, x + y)

    # flat and straight

    @classmethod
    def rod(cls, mass: Any = None, length: Any = None, cg: Any = 0, *, density: Any = None) -> Self:
        """A thin rod along z: m l²/12 across, nothing along. Density in kg/m."""
        h = _size(length, "length")
        across = h * h / 12
        return cls._shape(_mass(mass, density, h), cg, across, across, 0.0 * across)

    @classmethod
    def disc(cls, mass: Any = None, radius: Any = None, cg: Any = 0, *, density: Any = None) -> Self:
        """A thin disc across z. Density in kg/m²."""
        r = _size(radius, "radius")
        return cls._shape(_mass(mass, density, math.pi * r * r), cg, r * r / 4, r * r / 4, r * r / 2)

    @classmethod
    def plate(cls, mass: Any = None, dx: Any = None, dy: Any = None, cg: Any = 0, *, density: Any = None) -> Self:
        """A thin rectangular plate across z with edges dx, dy. Density in kg/m²."""
        a, b = _size(dx, "dx"), _size(dy, "dy")
        return cls._shape(_mass(mass, density, a * b), cg, b * b / 12, a * a / 12, (a * a + b * b) / 12)

    @classmethod
    def from_radii_of_gyration(cls, mass: Any, kx: Any, ky: Any, kz: Any, cg: Any = 0) -> Self:
        """A body with moments m kx², m ky², m kz² about x, y, z through its cg."""
        a, b, c = _size(kx, "kx"), _size(ky, "ky"), _size(kz, "kz")
        return cls._shape(scalar(mass, "mass"), cg, a * a, b * b, c * c)


def _ring(inner: Any, outer: Any) -> tuple[Scalar, Scalar]:
    r, s = _size(inner, "inner_radius"), _size(outer, "outer_radius")
    if are_numbers(r, s) and np.any(r > s):
        raise ValueError(f"inner_radius {inner} is larger than outer_radius {outer}")
    return r, s
