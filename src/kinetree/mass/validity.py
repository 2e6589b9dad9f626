"""Whether a body can exist, and its principal axes. On numbers only: symbols have no eigenvalues to look at.

A tensor is possible if the second moments of some distribution of mass give it: principal moments I1 <= I2 <= I3 that
are not negative, with I1 + I2 >= I3. Flat plates and rods lie on that boundary, so all tests have a tolerance, relative
to the largest element of the tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, Self

import numpy as np

from .scalars import numbers
from .value import ASYMMETRIC, Value

RTOL = 1e-9
AXES = np.ones((3, 3)) - np.eye(3)  # principal moments from second moments along the principal axes


class Validity(Value):
    """Checks and principal axes."""

    def is_physically_valid(self, rtol: float = RTOL) -> Any:
        """Whether such a body can exist; of a batch, a flag for each item. `validate` says what is wrong.

        Mass not negative, all numbers finite, tensor symmetric, principal moments not negative and none larger than the
        sum of the others, each within rtol times the largest element; without mass no inertia.
        """
        out = ~np.any([failed for failed, _ in self._conditions(rtol)], axis=0)
        return out if self.shape else bool(out)

    def validate(self, rtol: float = RTOL) -> Self:
        """This value, or a ValueError that names every condition it fails, with its number."""
        problems = self.problems(rtol)
        if problems:
            raise ValueError(f"not physically possible: {'; '.join(problems)}")
        return self

    def problems(self, rtol: float = RTOL) -> list[str]:
        """What keeps such a body from existing, in words; of a batch, for its first impossible item. Empty if nothing does."""
        conditions = list(self._conditions(rtol))
        failed = np.any([bad for bad, _ in conditions], axis=0)
        if not failed.any():
            return []
        at = tuple(int(i) for i in np.argwhere(failed)[0])
        words = [describe(at) for bad, describe in conditions if bad[at]]
        if self.shape:
            where = at[0] if len(at) == 1 else at
            words[0] = f"{np.count_nonzero(failed)} of {failed.size} items fail, first item {where}: {words[0]}"
        return words

    def _conditions(self, rtol: float) -> Iterator[tuple[np.ndarray, Callable[[tuple[int, ...]], str]]]:
        """Each condition: where it fails, and how to say so for one item."""
        values = self._numbers("validity")
        mass, tensor = values[..., 0], values[..., 4:].reshape(*values.shape[:-1], 3, 3)
        finite = np.isfinite(values).all(axis=-1)
        for name, part in (("mass", values[..., :1]), ("cg", values[..., 1:4]), ("inertia", values[..., 4:])):
            yield ~np.isfinite(part).all(axis=-1), partial(_not_finite, name, part)
        yield mass < 0, lambda at: f"mass is negative: {mass[at]:.6g} kg"
        tensor = np.where(finite[..., None, None], tensor, 0.0)  # eigenvalues of what is not finite are no help
        largest = np.abs(tensor).max(axis=(-1, -2))
        slack = rtol * largest + np.finfo(np.float64).tiny  # smaller numbers have no relative precision
        skew = np.abs(tensor - np.swapaxes(tensor, -1, -2)).max(axis=(-1, -2))
        yield skew > slack, lambda at: f"inertia is not symmetric: {(self[at] if self.shape else self)._asymmetry()}"
        yield (mass == 0) & (largest > 0), lambda at: f"inertia without mass: {largest[at]:.6g} kg·m²"
        moments = np.linalg.eigvalsh((tensor + np.swapaxes(tensor, -1, -2)) / 2)
        i1, i2, i3 = np.moveaxis(moments, -1, 0)
        yield i1 < -slack, lambda at: f"principal moment I1 is negative: {i1[at]:.6g} kg·m²"
        yield (
            i1 + i2 - i3 < -slack,
            lambda at: f"triangle inequality I1 + I2 >= I3 fails: {i1[at]:.6g} + {i2[at]:.6g} < {i3[at]:.6g} kg·m²",
        )

    def is_point_mass(self, atol: float = 0.0) -> Any:
        """Whether all of the mass is in one point: no element of the tensor above atol [kg·m²]. Of a batch, flags."""
        out = np.abs(self._numbers("is_point_mass")[..., 4:]).max(axis=-1) <= atol
        return out if self.shape else bool(out)

    def principal_moments(self) -> np.ndarray:
        """The three principal moments [kg·m²], ascending."""
        return np.linalg.eigvalsh(self._matrix("principal_moments"))

    def principal_axes(self) -> np.ndarray:
        """A rotation whose columns are the principal axes in the order of the moments: R diag(moments) Rᵀ = I, det R = 1."""
        axes = np.linalg.eigh(self._matrix("principal_axes"))[1]
        axes[..., 2] *= np.sign(np.linalg.det(axes))[..., None]
        return axes

    def nearest_valid(self, rtol: float = 0.0) -> Self:
        """The possible body with the tensor nearest to this one, elements compared as they are (Frobenius norm).

        Mass and cg stay; a negative mass becomes zero, and without mass there is no inertia. A possible body stays as
        it is. rtol: what `is_physically_valid` may forgive.
        """
        values = self._numbers("nearest_valid")
        if not np.isfinite(values).all():
            raise ValueError("nearest_valid needs finite numbers")
        valid = np.asarray(self.is_physically_valid(rtol))
        if valid.all():
            return self
        tensor = values[..., 4:].reshape(*values.shape[:-1], 3, 3)
        tensor = (tensor + np.swapaxes(tensor, -1, -2)) / 2
        moments, axes = np.linalg.eigh(tensor)
        nearest = (axes * _possible(moments)[..., None, :]) @ np.swapaxes(axes, -1, -2)
        mass = np.maximum(values[..., 0], 0.0)
        nearest = np.where((mass > 0)[..., None, None], (nearest + np.swapaxes(nearest, -1, -2)) / 2, 0.0)
        tensor = np.where(valid[..., None, None], tensor, nearest)
        return type(self)(mass, values[..., 1:4], tensor)

    def _matrix(self, purpose: str) -> np.ndarray:
        """The tensor as numbers that have eigenvalues."""
        if self._skew is not None:
            raise ValueError(ASYMMETRIC.format(self._asymmetry()))
        nine = numbers(self._tensor(), purpose)
        if not np.isfinite(nine).all():
            raise ValueError(f"{purpose} needs finite numbers")
        return nine.reshape(*nine.shape[:-1], 3, 3)


def _not_finite(name: str, part: np.ndarray, at: tuple[int, ...]) -> str:
    return f"{name} is not finite: {', '.join(f'{value:.6g}' for value in part[at])}"


def _possible(moments: np.ndarray) -> np.ndarray:
    """The nearest principal moments that are possible: those of second moments that are not negative.

    The possible ones are a cone with three edges, the columns of AXES. The nearest point lies inside, on a face, on an
    edge or at the tip: of the eight candidates the nearest one that belongs to the cone.
    """
    scale = np.abs(moments).max(axis=-1, keepdims=True)  # squares of very large or small moments would be lost
    moments = moments / np.where(scale > 0, scale, 1.0)
    best = np.zeros_like(moments)
    distance = (moments**2).sum(axis=-1)
    for chosen in product((False, True), repeat=3):
        edges = AXES[:, list(chosen)]
        weights = moments @ np.linalg.pinv(edges).T
        candidate = np.maximum(weights, 0.0) @ edges.T
        off = ((candidate - moments) ** 2).sum(axis=-1)
        closer = (weights >= 0).all(axis=-1) & (off < distance)
        best, distance = np.where(closer[..., None], candidate, best), np.where(closer, off, distance)
    return best * scale
