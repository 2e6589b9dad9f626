"""Random bodies for the tests of mass properties, and the slow and obvious way to their sums."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import kinetree as kt
from kinetree.conformance.tolerances import MASS


def rotation(q) -> np.ndarray:
    """The rotation matrix of a quaternion of any length, w first, column by column from Hamilton's product."""
    w, v = q[0] / np.linalg.norm(q), np.asarray(q[1:]) / np.linalg.norm(q)
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def numbers(low: float, high: float):
    return st.floats(low, high, allow_nan=False, allow_subnormal=False)


def vectors(low: float = -3.0, high: float = 3.0):
    return st.tuples(*[numbers(low, high)] * 3)


rotations = (
    st.tuples(*[numbers(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1).map(lambda q: rotation(np.array(q)))
)


@st.composite
def bodies(draw, flat: bool = True) -> kt.MassProperties:
    """Possible bodies; flat ones and points among them unless they are not wanted."""
    mass = draw(numbers(0.5, 5.0))
    radii = st.one_of(st.just(0.0), numbers(1e-3, 1.0)) if flat else numbers(0.05, 1.0)
    spread = np.square(draw(st.tuples(radii, radii, radii)))
    tensor = mass * (spread.sum() * np.eye(3) - np.diag(spread))
    turn = draw(rotations)
    tensor = turn @ tensor @ turn.T
    return kt.MassProperties(mass, draw(vectors()), (tensor + tensor.T) / 2)


def random_body(rng: np.random.Generator) -> kt.MassProperties:
    points, masses = rng.normal(size=(6, 3)), rng.uniform(0.1, 2.0, 6)
    return naive_sum(masses, points)


def naive_sum(masses, points, tensors=None) -> kt.MassProperties:
    """Mass properties by their definition: first moments, then ∫(|r|² 1 - r rᵀ) dm about the centre."""
    mass = sum(masses)
    cg = sum(m * np.asarray(p) for m, p in zip(masses, points, strict=True)) / mass
    tensor = np.zeros((3, 3))
    for i, (m, p) in enumerate(zip(masses, points, strict=True)):
        r = np.asarray(p) - cg
        tensor += m * (r @ r * np.eye(3) - np.outer(r, r))
        if tensors is not None:
            tensor += tensors[i]
    return kt.MassProperties(mass, cg, tensor)


def assert_same(a: kt.MassProperties, b: kt.MassProperties, rtol: float = MASS, scale: float = 0.0) -> None:
    """Both are the same; scale: a mass times a distance squared that rounding errors were made with."""
    atol = rtol * scale
    assert a.isclose(b, rtol, atol), (
        f"\n{a!r} is not\n{b!r}\nmass {a.mass - b.mass}, cg {a.cg - b.cg},\n{a.inertia - b.inertia}"
    )
