"""Mass properties as a pseudo-inertia matrix and as log-Cholesky parameters, for identification and randomisation.

The pseudo-inertia holds the moments of the mass distribution, P = ∫ [r; 1] [r; 1]ᵀ dm; a body is possible just when P
is positive semidefinite. Its triangular factor with a logarithmic diagonal has ten free parameters.

References: Wensing, Kim, Slotine, Linear matrix inequalities for physically consistent inertial parameter
identification, 2018; Rucker, Wensing, Smooth parameterization of rigid-body inertia, 2022.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .algebra import UPPER, about, linear_parameters, moments_of, spread
from .scalars import are_numbers, assemble, elements, exponential, numbers, quotient, uniform
from .value import Value

PLACE = {pair: k for k, pair in enumerate(UPPER)}


class Parameters(Value):
    """Other coordinates for the same ten numbers."""

    def pseudo_inertia(self) -> Any:
        """The 4 x 4 matrix [[∫r rᵀ dm, m c], [m cᵀ, m]] about the origin [kg·m², kg·m, kg]."""
        a = self._symmetric()
        mass, cg, second = a[0], a[1:4], spread(a)
        rows = [
            [second[PLACE[min(i, j), max(i, j)]] + mass * cg[i] * cg[j] for j in range(3)] + [mass * cg[i]]
            for i in range(3)
        ]
        rows.append([mass * c for c in cg] + [mass])
        return assemble([element for row in rows for element in row], (4, 4))

    @classmethod
    def from_pseudo_inertia(cls, matrix: Any) -> Self:
        """The body with this pseudo-inertia about the origin; of symbols, the upper triangle is read."""
        p = elements(matrix, (4, 4), "pseudo-inertia")
        if are_numbers(*p):
            square = numbers(p, "pseudo-inertia")
            square = square.reshape(*square.shape[:-1], 4, 4)
            if not np.allclose(
                square, np.swapaxes(square, -1, -2), rtol=1e-9, atol=1e-9 * np.abs(square).max(initial=0)
            ):
                raise ValueError("pseudo-inertia: the matrix is not symmetric")
        mass = p[15]
        cg = [quotient(p[4 * i + 3], mass, 0.0) for i in range(3)]
        second = [p[4 * i + j] - p[4 * i + 3] * cg[j] for i, j in UPPER]
        return cls._of(uniform((mass, *cg, *moments_of(second))))

    def inertial_parameters(self) -> Any:
        """Ten numbers in which dynamics is linear: m, m cg, and the tensor about the origin (xx, yy, zz, xy, xz, yz)."""
        return assemble(linear_parameters(self._symmetric()), (10,))

    @classmethod
    def from_inertial_parameters(cls, parameters: Any) -> Self:
        """The body with these ten numbers, see `inertial_parameters`."""
        mass, *rest = elements(parameters, (10,), "parameters")
        cg = [quotient(moment, mass, 0.0) for moment in rest[:3]]
        return cls._of(
            uniform((mass, *cg, *about((-mass, *cg, *rest[3:]), 0.0, 0.0, 0.0)))
        )  # Steiner's theorem, backwards

    def log_cholesky(self) -> np.ndarray:
        """Ten parameters (α, d1, d2, d3, s12, s23, s13, t1, t2, t3); numbers only.

        m = e^2α, cg = t, and ∫r rᵀ dm about the cg is m S Sᵀ with S = [[e^d1, s12, s13], [0, e^d2, s23], [0, 0, e^d3]].
        Rods, plates and points have none: a ValueError says so.
        """
        a = self._symmetric()
        values = numbers((a[0], *a[1:4], *spread(a)), "log_cholesky")
        if not np.isfinite(values).all():
            raise ValueError("log_cholesky needs finite numbers")
        mass, cg = values[..., 0], values[..., 1:4]
        if np.any(mass <= 0):
            raise ValueError("log_cholesky needs a positive mass")
        xx, yy, zz, xy, xz, yz = np.moveaxis(values[..., 4:] / mass[..., None], -1, 0)
        third = _root(zz)
        s23, s13 = yz / third, xz / third
        second = _root(yy - s23 * s23)
        s12 = (xy - s13 * s23) / second
        first = _root(xx - s12 * s12 - s13 * s13)
        columns = (np.log(mass) / 2, np.log(first), np.log(second), np.log(third), s12, s23, s13)
        return np.concatenate([np.stack(columns, axis=-1), cg], axis=-1)

    @classmethod
    def from_log_cholesky(cls, parameters: Any) -> Self:
        """The body with these ten parameters (see `log_cholesky`); whatever they are, it is a possible one."""
        alpha, d1, d2, d3, s12, s23, s13, *cg = elements(parameters, (10,), "parameters")
        mass = exponential(2 * alpha)
        e1, e2, e3 = exponential(d1), exponential(d2), exponential(d3)
        second = (
            e1 * e1 + s12 * s12 + s13 * s13, e2 * e2 + s23 * s23, e3 * e3,
            s12 * e2 + s13 * s23, s13 * e3, s23 * e3,
        )  # fmt: skip
        ten = (mass, *cg, *(mass * moment for moment in moments_of(second)))
        if are_numbers(*ten) and not np.isfinite(numbers(ten, "parameters")).all():
            raise ValueError("parameters: too large, mass or inertia is beyond the range of floats")
        return cls._of(uniform(ten))


def _root(pivot: np.ndarray) -> np.ndarray:
    if np.any(pivot <= 0):
        raise ValueError("log_cholesky needs a body that extends in three directions, not a rod, a plate or a point")
    return np.sqrt(pivot)
