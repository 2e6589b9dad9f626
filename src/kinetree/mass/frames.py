"""Mass properties seen from another point, in another frame, turned, moved or mirrored."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .algebra import FULL, about, shifted, turned
from .scalars import Scalar, are_numbers, assemble, elements, numbers, uniform
from .value import Value, vector

ORTHOGONAL = 1e-8  # how far R Rᵀ of a rotation may be from 1
NORMALS = {"x": (1, 0, 0), "yz": (1, 0, 0), "y": (0, 1, 0), "xz": (0, 1, 0), "z": (0, 0, 1), "xy": (0, 0, 1)}


class Frames(Value):
    """Changes of the reference point and of the frame; each gives a new value."""

    def inertia_about_point(self, point: Any) -> Any:
        """The inertia tensor about a point [kg·m²]: J = I + m (|r|² 1 - r rᵀ), r from the point to the cg."""
        six = self.inertia_components_about_point(point)
        return assemble([six[k] for k in FULL], (3, 3))

    def inertia_components_about_point(self, point: Any) -> tuple[Scalar, ...]:
        """(Jxx, Jyy, Jzz, Jxy, Jxz, Jyz) about a point [kg·m²], elements of the tensor: Jxy = -∫xy dm.

        Negate the last three before `from_components`, which takes products of inertia.
        """
        return uniform(about(self._symmetric(), *vector(point, "point")))

    def transform(self, rotation: Any, translation: Any = 0) -> Self:
        """The same body in a new frame: cg' = R (cg - t), I' = R I Rᵀ.

        rotation: R, 3 x 3, from the old frame to the new one. translation: t, from the old origin to the new one, in
        the old frame [m].
        """
        x, y, z = vector(translation, "translation")
        return self._of(uniform(turned(shifted(self._symmetric(), -x, -y, -z), _rotation(rotation))))

    def rotated(self, rotation: Any) -> Self:
        """The body turned about the origin by a rotation matrix: cg' = R cg, I' = R I Rᵀ."""
        return self.transform(rotation)

    def translated(self, by: Any) -> Self:
        """The body moved: cg' = cg + by [m]. (`transform` moves the frame instead.)"""
        return self._of(uniform(shifted(self._symmetric(), *vector(by, "by"))))

    def mirrored(self, normal: Any, point: Any = 0) -> Self:
        """The body's mirror image: a left wing from a right one.

        normal: the normal of the mirror, a vector, or "x", "y", "z"; or its plane, "yz", "xz", "xy". point: where the
        mirror is [m].
        """
        if isinstance(normal, str):
            if normal not in NORMALS:
                raise ValueError(f"normal: expected a vector or one of {', '.join(NORMALS)}, got {normal!r}")
            normal = NORMALS[normal]
        n, p = vector(normal, "normal"), vector(point, "point")
        square = n[0] * n[0] + n[1] * n[1] + n[2] * n[2]
        if are_numbers(*n) and not np.all(square > 0):
            raise ValueError("normal: a vector of length zero has no direction")
        mirror = [float(i == j) - 2 * n[i] * n[j] / square for i in range(3) for j in range(3)]
        there = shifted(self._symmetric(), *(-c for c in p))
        return self._of(uniform(shifted(turned(there, mirror), *p)))


def _rotation(value: Any) -> tuple[Scalar, ...]:
    """Nine scalars of a rotation matrix; of numbers, one that is one."""
    nine = elements(value, (3, 3), "rotation")
    if are_numbers(*nine):
        r = numbers(nine, "rotation")
        r = r.reshape(*r.shape[:-1], 3, 3)
        error = np.abs(r @ np.swapaxes(r, -1, -2) - np.eye(3)).max() if r.size else 0.0
        if not error <= ORTHOGONAL:
            raise ValueError(f"rotation is not orthogonal: R Rᵀ differs from 1 by {error:.3g}")
        if np.any(np.linalg.det(r) < 0):
            raise ValueError("rotation has determinant -1, it mirrors: see mirrored()")
    return nine
