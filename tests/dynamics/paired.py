"""MuJoCo's data and ours in the same random state, ready for a stage that needs positions, velocities and tendons."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

import kinetree as kt
from kinetree.conformance.compare import oracle_model
from kinetree.conformance.states import copy_state, random_state
from kinetree.dynamics.velocity import com_vel

MODELS = Path(__file__).parents[1] / "models"


class Pair(NamedTuple):
    """A model and a state on both sides."""

    mj: mujoco.MjModel
    theirs: mujoco.MjData
    model: kt.Model
    ours: kt.Data


def paired(source: Any, seed: int, speed: float = 1.0, disable: int = 0, **options: Any) -> Pair:
    """Both sides with positions and velocities computed. disable: flags to add. options: values for `opt`."""
    mj = oracle_model(source)
    mj.opt.disableflags |= disable
    for name, value in options.items():
        setattr(mj.opt, name, value)
    model = kt.load(mj)
    rng = np.random.default_rng(seed)
    theirs = random_state(mj, rng)
    theirs.qvel *= speed
    theirs.plastic[:] += 0.2 * rng.normal(size=mj.nplastic)
    ours = kt.Data(model)
    copy_state(theirs, ours)
    ours.plastic[:] = theirs.plastic
    pair = Pair(mj, theirs, model, ours)
    update(pair)
    return pair


def update(pair: Pair) -> None:
    """Positions and velocities after a change of the state. What is tested elsewhere is taken over from MuJoCo."""
    mj, theirs, model, ours = pair
    mujoco.mj_kinematics(mj, theirs)
    mujoco.mj_comPos(mj, theirs)
    mujoco.mj_tendon(mj, theirs)
    mujoco.mj_makeM(mj, theirs)
    mujoco.mj_collision(mj, theirs)
    mujoco.mj_makeConstraint(mj, theirs)
    mujoco.mj_transmission(mj, theirs)
    mujoco.mj_fwdVelocity(mj, theirs)
    kt.fwd_position(model, ours)
    com_vel(model, ours)
    ours.ten_length[:], ours.ten_velocity[:] = theirs.ten_length, theirs.ten_velocity
    ours.ten_J[:] = np.ravel(theirs.ten_J)
    ours.M[:] = theirs.M


def agree(pair: Pair, fields: list[str], tolerance: float, note: str = "") -> None:
    """Our fields equal MuJoCo's, or a message with model, field, index and both values."""
    for name in fields:
        got, wanted = np.asarray(getattr(pair.ours, name)), np.asarray(getattr(pair.theirs, name))
        same(got, wanted, tolerance, f"{pair.model.title} {note} {name}")


def same(got: Any, wanted: Any, tolerance: float, what: str) -> None:
    """Two arrays agree within a tolerance relative to the larger of 1 and the largest value."""
    got, wanted = np.asarray(got, float), np.asarray(wanted, float)
    assert got.shape == wanted.shape, f"{what}: shape {got.shape} against {wanted.shape}"
    if wanted.size:
        error = np.abs(got - wanted) / max(1.0, np.abs(wanted).max())
        at = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
        assert error[at] <= tolerance, f"{what}{[int(i) for i in at]}: {got[at]} against {wanted[at]}"
