"""Random changes of the fields from which constants of a model follow, such as a user may make."""

from __future__ import annotations

import numpy as np

import kinetree as kt
from kinetree.derived.shared import OF_SIMPLE
from kinetree.derived.table import SOURCES
from kinetree.types import JointType

# Scaled, so that zeros and signs stay; the rest is moved. Not changed: boxes of meshes, which belong to their vertices, what
# equalities and paths are made of, which pulleys divide, and the switch in geom_fluid, which worlds share.
GIVEN = {"geom_aabb", "eq_data", "wrap_prm", "geom_fluid"}
SCALED = {
    "body_mass", "body_inertia", "dof_armature", "geom_size", "geom_margin", "geom_gap", "hfield_size", "tendon_armature",
    "actuator_cranklength", "actuator_gear", "actuator_armature",
}  # fmt: skip
TURNED = {"body_quat", "body_iquat", "geom_quat", "site_quat", "cam_quat", "light_dir", "jnt_axis"}
CHANGED = sorted(set(SOURCES) - GIVEN)


def edited(model: kt.Model, name: str, rng: np.random.Generator, count: int = 1, by: float = 0.1) -> np.ndarray:
    """Values of a field for some worlds, that of the model and a little more or less."""
    old = np.repeat(getattr(model, name)[None], count, axis=0)
    if name in SCALED:
        return old * rng.uniform(1.0 - by, 1.0 + by, old.shape)
    if name == "qpos0":
        return reference(model, old, rng, by)
    new = old + 0.5 * by * rng.normal(size=old.shape)
    if name in TURNED:
        new /= np.linalg.norm(new, axis=-1, keepdims=True)
    if name in OF_SIMPLE:  # MuJoCo refuses what would make them not simple, or does not notice
        bodies = np.arange(model.nbody) if OF_SIMPLE[name] is None else getattr(model, OF_SIMPLE[name])
        simple = model.body_simple[bodies] > 0
        new[:, simple] = old[:, simple]
    return new


def reference(model: kt.Model, old: np.ndarray, rng: np.random.Generator, by: float) -> np.ndarray:
    """Other reference configurations."""
    new = old + by * rng.normal(size=old.shape)
    for kind, start in ((JointType.FREE, 3), (JointType.BALL, 0)):
        for at in model.jnt_qposadr[model.jnt_type == kind] + start:
            new[:, at : at + 4] /= np.linalg.norm(new[:, at : at + 4], axis=1, keepdims=True)
    return new


def everything(model: kt.Model, rng: np.random.Generator, count: int, by: float = 0.1) -> dict[str, np.ndarray]:
    """Values of all fields that may change, for some worlds."""
    return {name: edited(model, name, rng, count, by) for name in CHANGED if getattr(model, name).size}
