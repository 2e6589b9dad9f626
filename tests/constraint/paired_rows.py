"""MuJoCo's constraint rows and ours in the same state, with the contacts that MuJoCo found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

import kinetree as kt
from kinetree.conformance.compare import oracle_model
from kinetree.conformance.states import copy_state, random_state
from kinetree.conformance.tolerances import CONSTRAINT_ROWS
from kinetree.constraint.diagonal import exact_diagonal
from kinetree.constraint.make import make_constraint
from kinetree.constraint.reference_acceleration import reference_constraint
from kinetree.dynamics.velocity import com_vel
from tests.dynamics.paired import Pair, same

CONTACT_REALS = (
    "dist", "pos", "frame", "includemargin", "friction", "solref", "solreffriction", "solimp", "adhesion", "surfacevel",
)  # fmt: skip
CONTACT_INTEGERS = ("dim", "geom", "exclude")
ROWS = ("efc_pos", "efc_margin", "efc_frictionloss", "efc_diagA", "efc_D", "efc_R", "efc_vel", "efc_aref")

Change = Callable[[mujoco.MjModel, mujoco.MjData], None]


def in_state(source: Any, seed: int = 0, steps: int = 0, change: Change | None = None, **options: Any) -> Pair:
    """Both sides in a random state, moved on by MuJoCo for some steps if it is to be in contact.

    change: of MuJoCo's model and state. options: values for `opt`.
    """
    mj = oracle_model(source)
    for name, value in options.items():
        setattr(mj.opt, name, value)
    theirs = random_state(mj, np.random.default_rng(seed))
    return finish(mj, theirs, steps, change)


def at_rest(source: Any, change: Change | None = None, seed: int = 0, **options: Any) -> Pair:
    """Both sides where the model starts, with small random velocities."""
    mj = oracle_model(source)
    for name, value in options.items():
        setattr(mj.opt, name, value)
    theirs = mujoco.MjData(mj)
    theirs.qvel[:] = 0.3 * np.random.default_rng(seed).normal(size=mj.nv)
    return finish(mj, theirs, 0, change)


def finish(mj: mujoco.MjModel, theirs: mujoco.MjData, steps: int, change: Change | None) -> Pair:
    """Our side of a pair, and the rows on both."""
    if steps:
        theirs.qvel *= 0.1
        mujoco.mj_step(mj, theirs, steps)
    if change is not None:
        change(mj, theirs)
    model = kt.load(mj)
    pair = Pair(mj, theirs, model, kt.Data(model))
    update(pair)
    return pair


def update(pair: Pair) -> None:
    """The rows of MuJoCo and ours after a change of MuJoCo's state."""
    mujoco.mj_fwdPosition(pair.mj, pair.theirs)
    mujoco.mj_fwdVelocity(pair.mj, pair.theirs)
    prepare(pair.model, pair.ours, pair.theirs)
    make_rows(pair.model, pair.ours, pair.theirs)


def prepare(model: kt.Model, ours: kt.Data, theirs: mujoco.MjData) -> None:
    """MuJoCo's state, and all but contacts that rows depend on."""
    copy_state(theirs, ours)
    kt.fwd_position(model, ours)
    com_vel(model, ours)
    ours.ten_length[:], ours.ten_J[:] = theirs.ten_length, np.ravel(theirs.ten_J)


def make_rows(model: kt.Model, ours: kt.Data, theirs: mujoco.MjData) -> None:
    """Our rows; growing loses the contacts, so they are put back and the rows made again."""
    room = None
    while room != ours._arrays.capacity:
        put_contacts(ours, theirs)
        room = dict(ours._arrays.capacity)
        make_constraint(model, ours)
    exact_diagonal(model, ours)
    reference_constraint(model, ours)


def put_contacts(ours: kt.Data, theirs: mujoco.MjData) -> None:
    """MuJoCo's contacts."""
    if ours._arrays.capacity["maxcon"] < theirs.ncon:
        ours._make_room({**ours._arrays.capacity, "maxcon": theirs.ncon})
    arrays, n = ours._arrays, theirs.ncon
    arrays["ncon"][0] = n
    for name in (*CONTACT_REALS, *CONTACT_INTEGERS):
        arrays[f"contact_{name}"][:n] = getattr(theirs.contact, name).reshape(arrays[f"contact_{name}"][:n].shape)
    arrays["contact_exclude"][:n][arrays["contact_exclude"][:n] == 3] = 0  # ours to find out


def their_jacobian(mj: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """MuJoCo's Jacobian as a matrix (nefc, nv)."""
    if not mujoco.mj_isSparse(mj):
        return data.efc_J[: data.nefc * mj.nv].reshape(data.nefc, mj.nv)
    out = np.zeros((data.nefc, mj.nv))
    for row, (first, count) in enumerate(zip(data.efc_J_rowadr, data.efc_J_rownnz, strict=True)):
        out[row, data.efc_J_colind[first : first + count]] = data.efc_J[first : first + count]
    return out


def our_jacobian(data: kt.Data) -> np.ndarray:
    """Our Jacobian as a matrix (nefc, nv); the columns of a row ascend."""
    out = np.zeros((data.nefc, data.model.nv))
    for row, (first, count) in enumerate(zip(data.efc_J_rowadr, data.efc_J_rownnz, strict=True)):
        columns = data.efc_J_colind[first : first + count]
        assert (np.diff(columns) > 0).all(), f"row {row} has columns {columns}"
        out[row, columns] = data._arrays["efc_J"][first : first + count]
    return out


def close(got: Any, wanted: Any, what: str, tolerance: float = CONSTRAINT_ROWS) -> None:
    """Every number agrees relative to the larger of 1 and itself: masses of rows differ by many orders."""
    got, wanted = np.asarray(got, float), np.asarray(wanted, float)
    assert got.shape == wanted.shape, f"{what}: shape {got.shape} against {wanted.shape}"
    if wanted.size:
        error = np.abs(got - wanted) / np.maximum(1.0, np.abs(wanted))
        at = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
        assert error[at] <= tolerance, f"{what}{[int(i) for i in at]}: {got[at]} against {wanted[at]}"


def agree(pair: Pair, note: str = "") -> None:
    """All that describes the rows equals MuJoCo's."""
    mj, theirs, model, ours = pair
    what = f"{model.title} {note}"
    for name in ("nefc", "ne", "nf", "nl"):
        assert getattr(ours, name) == getattr(theirs, name), (
            f"{what} {name}: {getattr(ours, name)}, {getattr(theirs, name)}"
        )
    for name in ("efc_type", "efc_id"):
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist(), f"{what} {name}"
    same(our_jacobian(ours), their_jacobian(mj, theirs), CONSTRAINT_ROWS, f"{what} efc_J")
    close(ours.efc_KBIP, theirs.efc_KBIP, f"{what} efc_KBIP")
    for name in ROWS:
        close(getattr(ours, name), getattr(theirs, name), f"{what} {name}")
    close(ours.contact_mu, theirs.contact.mu, f"{what} contact_mu")
    assert ours.contact_efc_address.tolist() == theirs.contact.efc_address.tolist(), f"{what} contact_efc_address"
    assert ours.contact_exclude.tolist() == theirs.contact.exclude.tolist(), f"{what} contact_exclude"
