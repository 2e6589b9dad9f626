"""Principal moments and frame in the form that MuJoCo's bodies have: a diagonal inertia and the quaternion of its frame."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from .validity import Validity

NOISE = 1e-14  # of the largest element: products of inertia that are rounding
URDF_SLACK = 4e-15  # MuJoCo turns the tensor of a URDF link, and so rounds moments on the boundary over it
SMALLEST = 1e-14  # kg, kg·m²: what MuJoCo's compiler takes for nothing (mjEPS)


def principal_frame(properties: Validity) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments and the rotation to their frame, of all choices the one that turns least.

    So a tensor that is diagonal already, but for rounding, keeps its axes.
    """
    tensor = properties._matrix("principal_frame")
    off = np.abs(tensor - np.diag(np.diag(tensor))).max()
    if off <= NOISE * np.abs(tensor).max():
        return np.diag(tensor).copy(), np.eye(3)
    moments, axes = np.linalg.eigh(tensor)
    order = list(max(permutations((0, 1, 2)), key=lambda p: float(np.abs(np.diag(axes[:, list(p)])).sum())))
    moments, axes = moments[order], axes[:, order]
    axes = axes * np.where(np.diag(axes) < 0, -1.0, 1.0)
    if np.linalg.det(axes) < 0:
        axes[:, np.argmin(np.abs(np.diag(axes)))] *= -1
    return moments, axes


def quaternion(rotation: np.ndarray) -> np.ndarray:
    """The unit quaternion of a rotation matrix, w first and not negative."""
    r = rotation
    # w², x², y², z² from the trace; the largest of them gives the others without loss of digits
    squares = (1 + np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) @ np.diag(r)) / 4
    outer = np.diag(squares)
    for i, j, k in ((1, 2, 3), (2, 3, 1), (3, 1, 2)):
        outer[0, i] = outer[i, 0] = (r[k - 1, j - 1] - r[j - 1, k - 1]) / 4
        outer[i, j] = outer[j, i] = (r[i - 1, j - 1] + r[j - 1, i - 1]) / 4
    q = outer[np.argmax(squares)]
    q = q / np.linalg.norm(q)
    return -q if q[0] < 0 else q + 0.0


def rotation_of(quat: np.ndarray) -> np.ndarray:
    """The rotation matrix of a quaternion, w first, of any length."""
    w, x, y, z = quat / np.linalg.norm(quat)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def for_mujoco(properties: Any, regularise: float | None = None, moving: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments that MuJoCo takes, and the rotation to their frame; a ValueError that says what it would refuse.

    regularise: principal moments below this [kg·m²] are raised to it. Moments on the boundary of the triangle
    inequality, as of a plate, are put exactly on it: MuJoCo knows no tolerance there.
    """
    if properties.shape:
        raise ValueError(f"this needs one body, not a batch of shape {properties.shape}")
    properties.validate()
    moments, axes = principal_frame(properties)
    if regularise is not None:
        if not 0 < regularise < np.inf:
            raise ValueError(f"regularise must be a positive moment [kg·m²], got {regularise}")
        moments = np.maximum(moments, regularise)
    if moving and properties.mass < SMALLEST:
        raise ValueError(f"MuJoCo needs a moving body to have a mass, this one has {properties.mass:.6g} kg")
    if moving and moments.min() < SMALLEST:
        raise ValueError(
            f"MuJoCo needs three positive principal moments of a moving body, the smallest is {moments.min():.3g} kg·m²: "
            "a rod or a point mass has none about its axis; regularise=1e-6, say, raises it to 1e-6 kg·m²"
        )
    moments = np.maximum(moments, 0.0)
    largest = int(np.argmax(moments))
    moments[largest] = min(moments[largest], np.delete(moments, largest).sum())
    return moments, axes
