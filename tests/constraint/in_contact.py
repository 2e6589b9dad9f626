"""Both sides in the same states along motions in which constraints act."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import kinetree as kt
from kinetree.conformance.compare import oracle_model
from kinetree.conformance.states import copy_state
from tests.pipeline.both import Both, quietly

MODELS = Path(__file__).parents[1] / "models"
SOURCES: dict[str, Any] = {
    "humanoid": "humanoid",
    "quadruped": "quadruped",
    **{name: MODELS / f"{name}.xml" for name in ("contacts", "limits", "equalities", "sensors")},
}
CONES = tuple(int(cone) for cone in (mujoco.mjtCone.mjCONE_PYRAMIDAL, mujoco.mjtCone.mjCONE_ELLIPTIC))
ISLAND = int(kt.DisableBit.ISLAND)


def start(source: Any, seed: int = 0, **options: Any) -> Both:
    """Both sides where the model starts, or lying if it is the humanoid, with random velocities, forces and controls.

    MuJoCo solves all islands at once, as we do: else its solver would stop at other places.
    """
    mj = oracle_model(SOURCES.get(source, source) if isinstance(source, str) else source)
    mj.opt.disableflags |= ISLAND
    for name, value in options.items():
        setattr(mj.opt, name, value)
    theirs, rng = mujoco.MjData(mj), np.random.default_rng(seed)
    if source == "humanoid":
        theirs.qpos[2:7] = 0.35, *(np.array([0.7, 0.1, 0.7, 0.05]) / np.linalg.norm([0.7, 0.1, 0.7, 0.05]))
    elif source == "quadruped":
        theirs.qpos[:] = mj.key_qpos[0]
    theirs.qvel[:] = 0.3 * rng.normal(size=mj.nv)
    theirs.ctrl[:] = 0.2 * rng.normal(size=mj.nu)
    theirs.qfrc_applied[:] = 0.1 * rng.normal(size=mj.nv)
    theirs.xfrc_applied[1:] = 0.1 * rng.normal(size=(mj.nbody - 1, 6))
    model = kt.load(mj)
    return Both(mj, theirs, model, kt.Data(model))


def forward(pair: Both) -> None:
    """Our side takes over MuJoCo's state; then both run."""
    copy_state(pair.theirs, pair.ours)
    with quietly():
        kt.forward(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)


def along(pair: Both, steps: int = 150, every: int = 10, change: Callable[[Any], None] | None = None) -> Iterator[str]:
    """Go along MuJoCo's motion and stop at every so many steps, after `forward` on both sides in the same state.

    Gives a note for messages. change: of MuJoCo's state before each stop.
    """
    for k in range(0, steps, every):
        if change is not None:
            change(pair.theirs)
        forward(pair)
        yield f"step {k}, {pair.theirs.ncon} contacts, {pair.theirs.nefc} rows"
        mujoco.mj_step(pair.mj, pair.theirs, every)


def scattered(source: Any, count: int = 8, **options: Any) -> list[Both]:
    """Worlds at different times of different motions, with different contacts."""
    pairs = []
    for seed in range(count):
        pair = start(source, seed, **options)
        mujoco.mj_step(pair.mj, pair.theirs, 5 + 15 * seed)
        forward(pair)
        pairs.append(pair)
    return pairs
