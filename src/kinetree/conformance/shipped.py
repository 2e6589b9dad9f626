"""The layer in which every option is as the model has it: solver, iterations, tolerances, islands, Jacobian, sleep.

Other layers make solvers exact, so that what they compare is no question of where a solver stops. A user's simulation is not: a
robot with five iterations and a line search of six stands where these leave it. So here a motion of the model as it is shipped
is compared, from its reference pose, from its keyframes and from random states of contact, step by step at first.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import kinetree as kt

from . import tolerances
from .layer import STEPS, Along, Layer
from .recorder import Recorder
from .smooth import acceleration_terms, force_terms
from .states import random_controls
from .touching import CALM, resting_state

MOMENTS = (0, 1, 2, 4, 9, 19, 49, STEPS - 1)
"""Steps after which the motion is compared: early ones, before a chaotic motion is beyond comparison, and the last."""
READ = ("ncon", "nefc", "nisland", "qacc", "qfrc_constraint", "qpos", "qvel", "act")

TERMS = {"qacc": "accelerations", "qvel": "speed gained", "qfrc_constraint": "forces"}
"""What is small because it cancels, at rest, and what it is then relative to."""


def read(model: Any, data: Any) -> dict[str, np.ndarray]:
    """What is compared after a step, and the terms of it."""
    accelerations = acceleration_terms(model, data)
    terms = {
        "accelerations": accelerations,
        "speed gained": model.opt.timestep * accelerations,
        "forces": force_terms(data),
    }
    return {name: getattr(data, name) for name in (*READ, "sensordata")} | terms


RECORDER = Recorder(read, STEPS, MOMENTS)


def as_shipped(model: mujoco.MjModel, data: mujoco.MjData, rng: np.random.Generator, state: int = 0) -> None:
    """The reference pose with random controls; then in turn keyframes and random states near rest in which geoms touch."""
    RECORDER.records.clear()
    keyframe = state // 2 if state % 2 else model.nkey
    if keyframe < model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, keyframe)
    elif state == 0 or int(model.opt.enableflags) & int(kt.EnableBit.SLEEP):  # who sleeps is no part of a copied state
        mujoco.mj_resetData(model, data)
        data.ctrl[:] = CALM * random_controls(model, rng)
    else:
        resting_state(model, data, rng)


SHIPPED_LAYERS: tuple[Layer, ...] = (
    Layer(
        "as shipped",
        tolerances.AS_SHIPPED,
        RECORDER.motion(kt.step),
        RECORDER.motion(mujoco.mj_step),
        (
            *(RECORDER.field(name, terms=TERMS.get(name, "")) for name in READ),
            RECORDER.field("sensordata", Along.READINGS),
        ),
        prepare=as_shipped,
        steps=STEPS,
        sleeps=True,
    ),
)
