"""The layer in which trees fall asleep and wake: step by step, who sleeps, what is left, and where everything is.

Any model: its trees start near rest, all that the model allows to may sleep, actuated or not, and half way one velocity is set,
as a user would wake a tree. What is set alike on both sides: islands are on, without which nothing sleeps; the tolerance for
sleep is so large that many do, at rest or not; RK4, with which MuJoCo does not support sleep, counts as Euler.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np

import kinetree as kt

from ..types import EqType, Integrator, SleepPolicy
from . import tolerances
from .constrained import tight_motion
from .layer import Layer
from .recorder import Recorder
from .smooth import speed_gained
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


def can_sleep(model: Any) -> bool:
    """Whether MuJoCo lets trees of this model sleep at all: its equalities of tendons do not support it."""
    return model.ntree > 0 and not (model.eq_type == EqType.TENDON).any()


def pulled(model: Any) -> np.ndarray:
    """Trees that tendons act on (ntree): in the step in which these wake, MuJoCo has lengths of zero, with forces to match.

    kinetree has not, on purpose. They sleep in this layer if the model itself says so.
    """
    out = np.zeros(model.ntree, bool)
    for count, trees in zip(model.tendon_treenum, model.tendon_treeid, strict=True):
        out[trees[: min(count, len(trees))]] = True
    return out


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
            policy[(policy == SleepPolicy.AUTO_NEVER) & ~pulled(model)] = SleepPolicy.ALLOWED
        try:
            yield
        finally:
            policy[:] = kept
            for name, value in before.items():
                setattr(opt, name, value)


def awake_at_rest(model: mujoco.MjModel, data: mujoco.MjData, rng: np.random.Generator, _state: int = 0) -> None:
    """A random state near rest with all trees awake, on which nothing is applied."""
    RECORDER.records.clear()
    flags = int(model.opt.enableflags)
    model.opt.enableflags = flags & ~int(kt.EnableBit.SLEEP)
    mujoco.mj_resetData(model, data)
    resting_state(model, data, rng)
    data.qfrc_applied[:] = data.xfrc_applied[:] = 0.0  # with a force on it, no tree sleeps
    data.qvel[:] *= CALM
    model.opt.enableflags = flags


def read(model: Any, data: Any) -> dict[str, np.ndarray]:
    """What is compared after each step."""
    out = {name: np.array(getattr(data, name), float) for name in (*RECORDED, *LISTS)}
    for name, count in LISTS.items():
        out[name][getattr(data, count) :] = -1.0  # beyond, lists hold what they held before
    return out | {"speed gained": speed_gained(model, data)}


def push(model: Any, data: Any, step: int) -> None:
    """Half way, a velocity."""
    if step == PUSHED and model.nv:
        data.qvel[0] = PUSH


RECORDER = Recorder(read, STEPS, range(STEPS), push)


def sleepers(_model: mujoco.MjModel, data: mujoco.MjData) -> int:
    """How many trees slept in some step of MuJoCo's last run."""
    record = RECORDER.records.get(id(data))
    return 0 if record is None else int((record["tree_asleep"] >= 0).any(axis=0).sum())


SLEEP_LAYERS: tuple[Layer, ...] = (
    Layer(
        "sleep",
        tolerances.TRAJECTORY_CONTACT,
        RECORDER.motion(kt.step),
        RECORDER.motion(mujoco.mj_step),
        tuple(RECORDER.field(name, terms="speed gained" if name == "qvel" else "") for name in (*RECORDED, *LISTS)),
        setting=sleeping,
        prepare=awake_at_rest,
        count=sleepers,
        steps=STEPS,
    ),
)
