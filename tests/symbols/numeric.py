"""The numeric side of comparisons: smooth models, random states, and what the compiled kernels give there."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import mujoco
import numpy as np

import kinetree as kt
from kinetree.conformance.states import random_state


class State(NamedTuple):
    """Everything that functions read."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    act: np.ndarray
    ctrl: np.ndarray


def smooth(source: Any, driven: bool = True, **options: Any) -> kt.Model:
    """The model without constraints and sleep, and without actuators if it is not driven. options: values for `opt`."""
    model = copy.copy(source) if isinstance(source, kt.Model) else kt.load(source)
    model.opt.disableflags |= kt.DisableBit.CONSTRAINT | (0 if driven else kt.DisableBit.ACTUATION)
    model.opt.enableflags = (model.opt.enableflags | kt.EnableBit.ENERGY) & ~kt.EnableBit.SLEEP
    for name, value in options.items():
        setattr(model.opt, name, value)
    return model


def random(model: kt.Model, seed: int) -> State:
    """A seeded random state; tau gives accelerations of order one, under which light bodies do not fly apart."""
    rng = np.random.default_rng(seed)
    mj = smooth(model, driven=False).to_mujoco()
    data = random_state(mj, rng)
    q, v, act, ctrl = (np.array(x) for x in (data.qpos, data.qvel, data.act, data.ctrl))
    data.qacc[:] = rng.normal(size=model.nv)
    mujoco.mj_inverse(mj, data)
    return State(q, v, rng.normal(size=model.nv), data.qfrc_inverse.copy(), act, ctrl)


def at_rest(model: kt.Model) -> State:
    """The state in which models are made: springs and quaternions at rest, nothing moves, nothing is applied.

    Controls and activations are not quite zero: there is the end of their range, and a kink where muscles relax.
    """
    still = np.zeros(model.nv)
    return State(model.qpos0.copy(), still, still, still, np.full(model.na, 0.1), np.full(model.nu, 0.05))


def data_of(model: kt.Model, state: State, tau: bool = True) -> kt.Data:
    """A fresh Data in a state, with tau applied to joints if asked; the first step, which no rate limits, is over."""
    data = kt.Data(model)
    data.time = 1.0
    data.qpos[:], data.qvel[:], data.act[:], data.ctrl[:] = state.q, state.v, state.act, state.ctrl
    if tau:
        data.qfrc_applied[:] = state.tau
    return data


def forward(model: kt.Model, state: State, tau: bool = True) -> kt.Data:
    """A Data with everything computed."""
    data = data_of(model, state, tau)
    kt.forward(model, data)
    kt.energy_pos(model, data)
    kt.energy_vel(model, data)
    kt.subtree_vel(model, data)
    return data


def inverse(model: kt.Model, state: State) -> np.ndarray:
    """The joint forces of an acceleration."""
    data = data_of(model, state, tau=False)
    data.qacc[:] = state.a
    kt.inverse(model, data)
    return data.qfrc_inverse.copy()


def stepped(model: kt.Model, state: State, tau: bool = True) -> kt.Data:
    """A Data one step later."""
    data = data_of(model, state, tau)
    kt.step(model, data)
    return data


def reach_of_rounding(model: kt.Model, data: kt.Data, tau: np.ndarray, diagonal: Any = 0.0) -> np.ndarray:
    """For each acceleration what it is a sum of, all parts counted positive: forces on all dofs, through the inverse of M.

    diagonal: what a controller adds to that of M.
    """
    forces = np.abs(tau) + np.abs(data.qfrc_passive) + np.abs(data.qfrc_bias)
    return np.abs(np.linalg.inv(kt.full_m(model, data) + np.diag(np.broadcast_to(diagonal, model.nv)))) @ forces


def same(got: Any, wanted: Any, tolerance: float, what: str, scale: Any = None) -> None:
    """Two arrays agree within a tolerance relative to a scale, by default the largest value, or 1; columns count as vectors."""
    wanted = np.asarray(wanted, float)
    got = np.asarray(got, float).reshape(wanted.shape)
    if wanted.size:
        error = np.abs(got - wanted) / np.maximum(1.0, np.abs(wanted).max() if scale is None else scale)
        at = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
        assert error[at] <= tolerance, f"{what}{[int(i) for i in at]}: {got[at]} against {wanted[at]}"
