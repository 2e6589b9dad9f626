"""Both sides just before the integrator: a random state with all smooth forces, constraints off."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from kinetree.dynamics.crb import make_m
from kinetree.dynamics.transmission import transmission
from kinetree.pipeline import fwd_actuation
from kinetree.types import DisableBit, GainType, Integrator
from tests.corpora import own_models
from tests.dynamics.paired import Pair, paired
from tests.trees import random_tree

INTEGRATORS = {"implicit": int(Integrator.IMPLICIT), "implicitfast": int(Integrator.IMPLICITFAST)}
OWN = {path.stem: path for _, path in own_models() if path.suffix == ".xml"}
SOURCES = (*OWN, *(f"tree{seed}" for seed in range(6)))

# What earlier stages compute and other tests compare with MuJoCo.
ADOPTED = (
    "ten_J", "ten_length", "ten_velocity", "actuator_length", "actuator_velocity", "act_dot", "actuator_force",
    "qfrc_bias", "qfrc_passive", "qfrc_gravcomp", "qfrc_actuator", "qfrc_smooth", "qfrc_constraint", "qacc", "M", "qLD",
    "qLDiagInv",
)  # fmt: skip


def damped_tree(seed: int, nbody: int = 9) -> mujoco.MjModel:
    """A random tree with damping of every order, armature and a medium around it."""
    rng = np.random.default_rng(seed)
    mj = mujoco.MjModel.from_xml_string(random_tree(seed, nbody))
    mj.dof_damping[:] = rng.uniform(0.0, 2.0, size=mj.nv)
    mj.dof_dampingpoly[:] = rng.uniform(0.0, 0.3, size=mj.dof_dampingpoly.shape)
    mj.dof_armature[:] = rng.uniform(0.0, 0.1, size=mj.nv)
    mj.opt.density, mj.opt.viscosity, mj.opt.wind[:] = 3.0, 0.2, rng.normal(size=3)
    return mj


def source_of(name: str) -> mujoco.MjModel:
    """A model of SOURCES, without limits on orientation servos.

    Scaled to its limit, their torque is within rounding of it, on either side; MuJoCo takes it as limited on one side only.
    """
    if name.startswith("tree"):
        return damped_tree(int(name.removeprefix("tree")))
    mj = mujoco.MjModel.from_xml_path(str(OWN[name]))
    mj.actuator_forcelimited[mj.actuator_gaintype == GainType.SO3] = 0
    return mj


def ready(source: Any, seed: int, integrator: int, speed: float = 1.0, disable: int = 0, **options: Any) -> Pair:
    """Both sides in one random state after the forward pass of MuJoCo, from which our side adopts what it needs."""
    disable |= int(DisableBit.CONSTRAINT)
    pair = paired(source, seed, speed, disable, integrator=integrator, **options)
    pair.ours.history[:] = pair.theirs.history
    refresh(pair)
    return pair


def refresh(pair: Pair) -> None:
    """The forward pass on both sides, after a change of the state or the model."""
    mj, theirs, model, ours = pair
    mujoco.mj_forward(mj, theirs)
    make_m(model, ours)
    transmission(model, ours)
    for adopt in range(2):  # before the actuation, which needs some of them, and again after it
        for name in ADOPTED:
            getattr(ours, name)[:] = np.ravel(getattr(theirs, name))
        if adopt == 0:
            fwd_actuation(model, ours)


def stepped(pair: Pair) -> mujoco.MjData:
    """MuJoCo's data one step later, qDeriv included."""
    out = mujoco.MjData(pair.mj)
    mujoco.mj_copyData(out, pair.mj, pair.theirs)
    mujoco.mj_implicit(pair.mj, out)
    return out


def dense(mj: mujoco.MjModel, values: np.ndarray) -> np.ndarray:
    """A matrix of the square pattern."""
    out = np.zeros((mj.nv, mj.nv))
    rows = np.repeat(np.arange(mj.nv), mj.D_rownnz)
    out[rows, mj.D_colind] = values
    return out
