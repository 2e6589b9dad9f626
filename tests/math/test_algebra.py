"""Vectors, quaternions and spatial vectors on every machine, against NumPy and the definitions."""

from __future__ import annotations

import numpy as np
import pytest

from kinetree.kernel import kernel
from kinetree.math import quaternion as Q
from kinetree.math import spatial as S
from kinetree.math import vec3 as V
from tests.kernel.tables import SCALARS, dtype_of, run_on

add, sub, scale, add_scaled, cross = V.add, V.sub, V.scale, V.add_scaled, V.cross
dot, norm, mul_mat_vec, mul_mat_t_vec, column = V.dot, V.norm, V.mul_mat_vec, V.mul_mat_t_vec, V.column
mul_quat, normalize4, axis_angle, rotate, to_matrix = Q.mul_quat, Q.normalize4, Q.axis_angle, Q.rotate, Q.to_matrix
add6, scale6, add_scaled6, dot6, cross_motion = S.add6, S.scale6, S.add_scaled6, S.dot6, S.cross_motion
cross_force, shift_motion, shift_force = S.cross_force, S.shift_motion, S.shift_force
mul_inertia, shift_inertia = S.mul_inertia, S.shift_inertia

# A table row is one number, so a world's vectors lie in consecutive rows: `width` numbers of each argument.


@kernel
def vec(field, i):
    return field[i], field[i + 1], field[i + 2]


@kernel
def quat(field, i):
    return field[i], field[i + 1], field[i + 2], field[i + 3]


@kernel
def six(field, i):
    return field[i], field[i + 1], field[i + 2], field[i + 3], field[i + 4], field[i + 5]


@kernel
def nine(field, i):
    return (
        field[i], field[i + 1], field[i + 2], field[i + 3], field[i + 4], field[i + 5], field[i + 6], field[i + 7],
        field[i + 8],
    )  # fmt: skip


@kernel
def ten(field, i):
    return (
        field[i], field[i + 1], field[i + 2], field[i + 3], field[i + 4], field[i + 5], field[i + 6], field[i + 7],
        field[i + 8], field[i + 9],
    )  # fmt: skip


@kernel
def put(field, v, n):
    for k in range(n):
        field[k] = v[k]


@kernel
def apply(m, d):
    a, b, s = d.a, d.b, d.b[9]
    if m.choice == 0:
        put(d.c, add(vec(a, 0), vec(b, 0)), 3)
    elif m.choice == 1:
        put(d.c, sub(vec(a, 0), vec(b, 0)), 3)
    elif m.choice == 2:
        put(d.c, scale(vec(a, 0), s), 3)
    elif m.choice == 3:
        put(d.c, add_scaled(vec(a, 0), vec(b, 0), s), 3)
    elif m.choice == 4:
        put(d.c, cross(vec(a, 0), vec(b, 0)), 3)
    elif m.choice == 5:
        d.c[0] = dot(vec(a, 0), vec(b, 0))
        d.c[1] = norm(vec(a, 0))
        d.c[2] = dot6(six(a, 0), six(b, 0))
    elif m.choice == 6:
        put(d.c, mul_mat_vec(nine(a, 0), vec(b, 0)), 3)
    elif m.choice == 7:
        put(d.c, mul_mat_t_vec(nine(a, 0), vec(b, 0)), 3)
    elif m.choice == 8:
        put(d.c, column(nine(a, 0), 1), 3)
    elif m.choice == 9:
        put(d.c, mul_quat(quat(a, 0), quat(b, 0)), 4)
    elif m.choice == 10:
        put(d.c, normalize4(quat(a, 0)), 4)
    elif m.choice == 11:
        put(d.c, axis_angle(vec(a, 0), s), 4)
    elif m.choice == 12:
        put(d.c, rotate(normalize4(quat(a, 0)), vec(b, 0)), 3)
    elif m.choice == 13:
        put(d.c, to_matrix(normalize4(quat(a, 0))), 9)
    elif m.choice == 14:
        put(d.c, add6(six(a, 0), six(b, 0)), 6)
    elif m.choice == 15:
        put(d.c, scale6(six(a, 0), s), 6)
    elif m.choice == 16:
        put(d.c, add_scaled6(six(a, 0), six(b, 0), s), 6)
    elif m.choice == 17:
        put(d.c, cross_motion(six(a, 0), six(b, 0)), 6)
    elif m.choice == 18:
        put(d.c, cross_force(six(a, 0), six(b, 0)), 6)
    elif m.choice == 19:
        put(d.c, shift_motion(six(a, 0), vec(b, 0)), 6)
    elif m.choice == 20:
        put(d.c, shift_force(six(a, 0), vec(b, 0)), 6)
    elif m.choice == 21:
        put(d.c, mul_inertia(ten(a, 0), six(b, 0)), 6)
    else:
        put(d.c, shift_inertia(ten(a, 0), vec(b, 0)), 10)


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def matrix_of(q):
    """Rotation matrix by Rodrigues' formula."""
    w, v = q[0], np.asarray(q[1:])
    return np.eye(3) + 2 * w * skew(v) + 2 * skew(v) @ skew(v)


def unit(v):
    return v / np.linalg.norm(v)


def spatial_cross(v):
    """The 6 x 6 matrix of a motion acting on motions; its negative transpose acts on forces."""
    out = np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = skew(v[:3])
    out[3:, :3] = skew(v[3:])
    return out


def inertia_matrix(a):
    """The 6 x 6 matrix of ten numbers."""
    tensor = np.array([[a[0], a[3], a[4]], [a[3], a[1], a[5]], [a[4], a[5], a[2]]])
    h = skew(a[6:9])
    return np.block([[tensor, h], [-h, a[9] * np.eye(3)]])


def moved(r):
    """The 6 x 6 matrix that moves a motion to a point further on by r."""
    out = np.eye(6)
    out[3:, :3] = -skew(r)
    return out


def ten_of(matrix):
    t, h = matrix[:3, :3], matrix[:3, 3:]
    return [t[0, 0], t[1, 1], t[2, 2], t[0, 1], t[0, 2], t[1, 2], h[2, 1], h[0, 2], h[1, 0], matrix[3, 3]]


REFERENCES = [
    lambda a, b: a[:3] + b[:3],
    lambda a, b: a[:3] - b[:3],
    lambda a, b: a[:3] * b[9],
    lambda a, b: a[:3] + b[:3] * b[9],
    lambda a, b: np.cross(a[:3], b[:3]),
    lambda a, b: [a[:3] @ b[:3], np.linalg.norm(a[:3]), a[:6] @ b[:6]],
    lambda a, b: a[:9].reshape(3, 3) @ b[:3],
    lambda a, b: a[:9].reshape(3, 3).T @ b[:3],
    lambda a, b: a[:9].reshape(3, 3)[:, 1],
    lambda a, b: np.r_[a[0] * b[0] - a[1:4] @ b[1:4], a[0] * b[1:4] + b[0] * a[1:4] + np.cross(a[1:4], b[1:4])],
    lambda a, b: unit(a[:4]),
    lambda a, b: np.r_[np.cos(b[9] / 2), np.sin(b[9] / 2) * a[:3]],
    lambda a, b: matrix_of(unit(a[:4])) @ b[:3],
    lambda a, b: matrix_of(unit(a[:4])).ravel(),
    lambda a, b: a[:6] + b[:6],
    lambda a, b: a[:6] * b[9],
    lambda a, b: a[:6] + b[:6] * b[9],
    lambda a, b: spatial_cross(a[:6]) @ b[:6],
    lambda a, b: -spatial_cross(a[:6]).T @ b[:6],
    lambda a, b: moved(b[:3]) @ a[:6],
    lambda a, b: np.linalg.inv(moved(b[:3])).T @ a[:6],
    lambda a, b: inertia_matrix(a) @ b[:6],
    lambda a, b: ten_of(np.linalg.inv(moved(b[:3])).T @ inertia_matrix(a) @ np.linalg.inv(moved(b[:3]))),
]
NAMES = (
    "add sub scale add_scaled cross dot mul_mat_vec mul_mat_t_vec column mul_quat normalize4 axis_angle rotate to_matrix "
    "add6 scale6 add_scaled6 cross_motion cross_force shift_motion shift_force mul_inertia shift_inertia"
).split()


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", NAMES)
def test_against_numpy(name, scalar):
    choice = NAMES.index(name)
    width = int(scalar.split()[0]) if " x " in scalar else 1
    rng = np.random.default_rng(choice)
    a, b = rng.normal(size=(2, 10, width))
    got = run_on(apply, scalar, a.ravel(), b.ravel(), choice=choice).reshape(10, width)
    tolerance = 1e-13 if dtype_of(scalar) is np.float64 else 2e-5
    for world in range(width):
        wanted = np.asarray(REFERENCES[choice](a[:, world], b[:, world]))
        np.testing.assert_allclose(got[: len(wanted), world], wanted, atol=tolerance, err_msg=f"{name}, world {world}")


def test_a_quaternion_without_length_is_no_rotation():
    for scalar in SCALARS:
        width = int(scalar.split()[0]) if " x " in scalar else 1
        got = run_on(apply, scalar, np.zeros(10 * width), np.zeros(10 * width), choice=NAMES.index("normalize4"))
        np.testing.assert_array_equal(got.reshape(10, width)[:4], np.repeat([[1], [0], [0], [0]], width, axis=1))
