"""The motion of `kinetree run`: where it starts, whether there is gravity, and the loop that makes it."""

from __future__ import annotations

import warnings
from collections import Counter
from time import perf_counter

import numpy as np
from rich.progress import Progress

from ..data import Data
from ..errors import SimulationWarning
from ..model import Model
from ..stepping import step
from ..types import DisableBit, JointType
from .common import output
from .motion import Motion
from .recording import Recorder, Recording
from .stop import Stop, Stopped

FRAME_RATE = 60.0  # Hz, or one frame per step where steps are longer
HINGE_SPEED, SLIDE_SPEED = 3.0, 0.3  # typical random velocity of a joint, rad/s and m/s
TUMBLE, DRIFT = 0.6, 0.05  # likewise of a free joint, about and along each axis


def set_gravity(model: Model, wanted: bool | None) -> None:
    """Switch gravity on or off if asked; else it is as the model has it."""
    if wanted is not None:
        flags = DisableBit(model.opt.disableflags)
        model.opt.disableflags = flags & ~DisableBit.GRAVITY if wanted else flags | DisableBit.GRAVITY


def has_gravity(model: Model) -> bool:
    """Whether anything has weight."""
    return bool(np.any(model.opt.gravity)) and not model.opt.disableflags & DisableBit.GRAVITY


def start(model: Model, keyframe: str | None, seed: int) -> Data:
    """A Data at a keyframe, by default the first, or at the initial pose where there is none.

    Without gravity a model at rest would stay at rest, so it gets small random velocities.
    """
    data = Data(model)
    if keyframe is not None or model.nkey:
        data.reset_keyframe(0 if keyframe is None else keyframe)
    if not has_gravity(model) and not np.any(data.qvel):
        data.qvel[:] = random_velocities(model, data.qpos, np.random.default_rng(seed))
    return data


def random_velocities(model: Model, qpos: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Small velocities; those of joints with a range point into the larger part of it."""
    qvel = np.zeros(model.nv)
    for j in range(model.njnt):
        kind, q, v = JointType(int(model.jnt_type[j])), int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j])
        if kind == JointType.FREE:
            qvel[v : v + 6] = rng.normal(size=6) * np.repeat((DRIFT, TUMBLE), 3)
        elif kind == JointType.BALL:
            qvel[v : v + 3] = rng.normal(size=3) * HINGE_SPEED
        else:
            qvel[v] = rng.normal() * (HINGE_SPEED if kind == JointType.HINGE else SLIDE_SPEED)
            if model.jnt_limited[j]:
                qvel[v] = np.copysign(qvel[v], np.mean(model.jnt_range[j]) - qpos[q])
    return qvel


def simulate(model: Model, data: Data, seconds: float, stop: Stop) -> Recording:
    """Simulate for that long and keep sixty frames a second, with a progress bar.

    Ends early if the state is no longer finite, which happens only where a model switches the automatic reset off, and at a
    signal: the last frame is then that of the last whole step. From then on signals are noted, and no longer raised.
    """
    timestep = model.opt.timestep
    total, chunk = max(1, round(seconds / timestep)), max(1, round(1 / (FRAME_RATE * timestep)))
    counts = [min(chunk, total - done) for done in range(0, total, chunk)]
    recorder, each, steps = Recorder(model, len(counts) + 1), [], 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SimulationWarning)
        step(model, data.copy())  # what must be compiled is compiled here, with a progress bar of its own
        recorder.keep(data)
        try:
            with Progress(console=output) as progress:
                for count in progress.track(counts, description="simulating"):
                    begin = perf_counter()
                    step(model, data, count)
                    each.append((perf_counter() - begin) / count)
                    steps += count
                    if not np.all(np.isfinite([*data.qpos, *data.qvel])):
                        text = f"the state is not finite any more at time {data.time:g}: the simulation ends here"
                        warnings.warn(text, SimulationWarning, stacklevel=1)
                        break
                    recorder.keep(data)
            stop.raises = False  # what there is will be saved
        except Stopped:
            since = data.time - float(recorder.rows[-1][0])
            steps = chunk * (len(recorder.rows) - 1) + max(0, round(since / timestep))
            if since:
                recorder.keep(data)
    typical = float(np.median(each)) if each else 0.0  # without what is loaded on the way
    told = dict(Counter(str(warning.message) for warning in caught))
    return recorder.recording(steps, steps * typical, told)


def play(model: Model, motion: Motion, stop: Stop) -> Recording:
    """Run the position stage on every frame of a prescribed motion, with a progress bar; signals as in `simulate`."""
    data, recorder, spent = Data(model), Recorder(model, len(motion.time)), 0.0
    frames = list(zip(*vars(motion).values(), strict=True))
    Recorder(model, 1).keep(data)  # what must be compiled is compiled here
    try:
        with Progress(console=output) as progress:
            for data.time, data.qpos, data.qvel in progress.track(frames, description="playing"):
                begin = perf_counter()
                recorder.keep(data)
                spent += perf_counter() - begin
        stop.raises = False
    except Stopped:
        if not recorder.rows:
            raise
    return recorder.recording(None, spent, {})
