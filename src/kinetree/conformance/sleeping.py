"""The layer in which trees fall asleep and wake: step by step, who sleeps, what is left, and where everything is.

Any model: its trees start near rest, all that the model allows to may sleep, actuated or not, and half way one velocity is set,
as a user would wake a tree. What is set alike on both sides: islands are on, without which nothing sleeps; the tolerance for
sleep is so large that many do, at rest or not; RK4, with which MuJoCo does not support sleep, counts as Euler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np

import kinetree as kt

from ..types import EqType, Integrator, SleepPolicy
from . import tolerances
from .contact import tight_motion
from .layer import Field, Getter, Layer
from .touching import resting_state

STEPS = 120
"""Steps of a run."""
PUSHED, PUSH = 60, 0.05
"""When the first dof is given a velocity, and which."""
TOLERANCE = 0.5
"""Speed [m/s] below which trees may sleep: not at rest, but soon after the start."""
CALM = 0.1
"""Share of the velocities that is left at the start."""
CHANGED = ("enableflags", "disableflags", "integrator", "sleep_tolerance")
RECORDED = (
    "tree_asleep", "body_awake", "ntree_awake", "nbody_awake", "nparent_awake", "nv_awake", "nisland", "nefc", "qpos", "qvel",
)  # fmt: skip
LISTS = {"body_awake_ind": "nbody_awake", "parent_awake_ind": "nparent_awake", "dof_awake_ind": "nv_awake"}

_records: dict[int, dict[str, np.ndarray]] = {}  # by the identity of a data, of its last run


def can_sleep(model: Any) -> bool:
    """Whether MuJoCo lets trees of this model sleep at all: its equalities of tendons do not support it."""
    return model.ntree > 0 and not (model.eq_type == EqType.TENDON).any()


@contextmanager
def sleeping(model: Any) -> Iterator[None]:
    """The model with sleep and islands, and every tree that may sleep allowed to."""
    policy = model._arrays["tree_sleep_policy"] if isinstance(model, kt.Model) else model.tree_sleep_policy
    kept, opt = policy.copy(), model.opt
    with tight_motion(model):
        before = {name: getattr(opt, name) for name in CHANGED}
        if can_sleep(model):
            opt.enableflags = int(opt.enableflags) | int(kt.EnableBit.SLEEP)
        opt.disableflags = int(opt.disableflags) & ~int(kt.DisableBit.ISLAND)
        opt.sleep_tolerance = max(TOLERANCE, opt.sleep_tolerance)
        if opt.integrator == Integrator.RK4:
            opt.integrator = int(Integrator.EULER)
        if not (model.tendon_treenum > 2).any():  # MuJoCo lets no one overrule these
            policy[policy == SleepPolicy.AUTO_NEVER] = SleepPolicy.ALLOWED
        try:
            yield
        finally:
            policy[:] = kept
            for name, value in before.items():
                setattr(opt, name, value)


def awake_at_rest(model: mujoco.MjModel, data: mujoco.MjData, rng: np.random.Generator) -> None:
    """A random state near rest with all trees awake, on which nothing is applied."""
    _records.clear()
    flags = int(model.opt.enableflags)
    model.opt.enableflags = flags & ~int(kt.EnableBit.SLEEP)
    mujoco.mj_resetData(model, data)
    resting_state(model, data, rng)
    data.qfrc_applied[:] = data.xfrc_applied[:] = 0.0  # with a force on it, no tree sleeps
    data.qvel[:] *= CALM
    model.opt.enableflags = flags


def recorder(step: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Some steps, with what is compared recorded after each."""

    def run(model: Any, data: Any) -> None:
        rows: dict[str, list[np.ndarray]] = {name: [] for name in (*RECORDED, *LISTS)}
        for k in range(STEPS):
            if k == PUSHED and model.nv:
                data.qvel[0] = PUSH
            step(model, data)
            for name in RECORDED:
                rows[name].append(np.atleast_1d(np.array(getattr(data, name), float)))
            for name, count in LISTS.items():
                entries = np.array(getattr(data, name), float)
                entries[getattr(data, count) :] = -1.0  # beyond, lists hold what they held before
                rows[name].append(entries)
        _records[id(data)] = {name: np.array(values) for name, values in rows.items()}

    return run


def fields() -> tuple[Field, ...]:
    """Everything that is recorded, a row for each step."""

    def getter(name: str) -> Getter:
        return lambda _model, data: _records[id(data)][name]

    return tuple(Field(name, getter(name), getter(name)) for name in (*RECORDED, *LISTS))


def sleepers(_model: mujoco.MjModel, data: mujoco.MjData) -> int:
    """How many trees slept in some step of MuJoCo's last run."""
    record = _records.get(id(data))
    return 0 if record is None else int((record["tree_asleep"] >= 0).any(axis=0).sum())


SLEEP_LAYERS: tuple[Layer, ...] = (
    Layer(
        "sleep",
        tolerances.TRAJECTORY_CONTACT,
        recorder(kt.step),
        recorder(mujoco.mj_step),
        fields(),
        setting=sleeping,
        prepare=awake_at_rest,
        count=sleepers,
        jumps=True,
    ),
)
