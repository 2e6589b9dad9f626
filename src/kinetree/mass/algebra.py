"""The physics of mass properties: functions on ten scalars, the same for floats, batches and symbols.

The ten are mass; x, y, z of the centre of gravity; and the inertia tensor about it: Ixx, Iyy, Izz, Ixy, Ixz, Iyz, where
Ixy = -∫xy dm. Nothing here looks at a value, except that numbers are not divided by zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .scalars import Scalar, quotient

Ten = tuple[Scalar, ...]

UPPER = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # where the six moments stand in the tensor
FULL = (0, 3, 4, 3, 1, 5, 4, 5, 2)  # which of the six stands where, row by row


def combined(a: Ten, b: Ten) -> Ten:
    """Both bodies as one. The offset enters through the reduced mass: coinciding centres stay exactly where they are."""
    ma, ax, ay, az, axx, ayy, azz, axy, axz, ayz = a
    mb, bx, by, bz, bxx, byy, bzz, bxy, bxz, byz = b
    mass = ma + mb
    if type(mass) is float:
        share = mb / mass if mass else 0.5
        reduced = ma * share if mass else 0.0
    else:
        share, reduced = quotient(mb, mass, 0.5), ma * quotient(mb, mass, 0.0)
    dx, dy, dz = bx - ax, by - ay, bz - az
    px, py, pz = reduced * dx, reduced * dy, reduced * dz
    xx, yy, zz = px * dx, py * dy, pz * dz
    return (
        mass, ax + share * dx, ay + share * dy, az + share * dz,
        axx + bxx + (yy + zz), ayy + byy + (xx + zz), azz + bzz + (xx + yy),
        axy + bxy - px * dy, axz + bxz - px * dz, ayz + byz - py * dz,
    )  # fmt: skip


def aggregated(
    parts: Sequence[Ten], total: Callable[[Iterable[Scalar]], Scalar], count: float, near: Sequence[Scalar]
) -> Ten:
    """Many bodies as one, about their common centre of gravity.

    `total` sums over the bodies, of which there are `count`; `near` is a point to measure from: the centre of gravity of one of
    them, so that coinciding centres stay exactly where they are. Other than adding one by one, this is right also where the
    masses of some cancel on the way.
    """
    mass = total(p[0] for p in parts)
    x, y, z = (
        o + quotient(total(p[0] * (p[k] - o) for p in parts), mass, total(p[k] - o for p in parts) / count)
        for k, o in zip((1, 2, 3), near, strict=True)
    )
    moved = [about(p, x, y, z) for p in parts]
    return (mass, x, y, z, *(total(p[k] for p in moved) for k in range(6)))


def scaled(a: Ten, factor: Scalar) -> Ten:
    """The same body, that many times as dense."""
    return (a[0] * factor, *a[1:4], *(moment * factor for moment in a[4:]))


def divided(a: Ten, divisor: Scalar) -> Ten:
    """The inverse of `scaled`."""
    return (a[0] / divisor, *a[1:4], *(moment / divisor for moment in a[4:]))


def about(a: Ten, x: Scalar, y: Scalar, z: Scalar) -> Ten:
    """The six moments about a point: J = I + m (|r|² 1 - r rᵀ), r from the point to the centre of gravity."""
    mass, cx, cy, cz, ixx, iyy, izz, ixy, ixz, iyz = a
    rx, ry, rz = cx - x, cy - y, cz - z
    px, py, pz = mass * rx, mass * ry, mass * rz
    xx, yy, zz = px * rx, py * ry, pz * rz
    return (ixx + (yy + zz), iyy + (xx + zz), izz + (xx + yy), ixy - px * ry, ixz - px * rz, iyz - py * rz)


def linear_parameters(a: Ten) -> Ten:
    """Mass, first moment m c, and the six moments about the origin: the ten numbers in which dynamics is linear."""
    return (a[0], a[0] * a[1], a[0] * a[2], a[0] * a[3], *about(a, 0.0, 0.0, 0.0))


def shifted(a: Ten, x: Scalar, y: Scalar, z: Scalar) -> Ten:
    """The body moved by x, y, z."""
    return (a[0], a[1] + x, a[2] + y, a[3] + z, *a[4:])


def turned(a: Ten, r: Sequence[Scalar]) -> Ten:
    """The body under an orthogonal matrix, nine scalars row by row: c' = R c, I' = R I Rᵀ."""
    six = a[4:]
    tensor = [six[k] for k in FULL]
    half = [sum_of(r[3 * i + k] * tensor[3 * k + j] for k in range(3)) for i in range(3) for j in range(3)]
    cg = (sum_of(r[3 * i + k] * a[1 + k] for k in range(3)) for i in range(3))
    return (a[0], *cg, *(sum_of(half[3 * i + k] * r[3 * j + k] for k in range(3)) for i, j in UPPER))


def spread(a: Ten) -> Ten:
    """Second moments ∫xx dm, ∫yy dm, ∫zz dm, ∫xy dm, ∫xz dm, ∫yz dm about the centre of gravity."""
    half = (a[4] + a[5] + a[6]) / 2
    return (half - a[4], half - a[5], half - a[6], -a[7], -a[8], -a[9])


def moments_of(spread: Sequence[Scalar]) -> Ten:
    """The six moments of inertia from second moments, the inverse of `spread`."""
    xx, yy, zz, xy, xz, yz = spread
    return (yy + zz, xx + zz, xx + yy, -xy, -xz, -yz)


def sum_of(values: Iterable[Scalar]) -> Scalar:
    """A sum that starts with its first term, not with 0: symbols stay as short as they are."""
    items = iter(values)
    out = next(items)
    for value in items:
        out = out + value
    return out
