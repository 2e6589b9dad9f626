"""`kinetree run`: move a model for a few seconds, summarise, plot and record.

Until kinetree has dynamics the motion is kinematic: joints follow prescribed sines, and the position stage computes
where everything is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import typer
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from ..data import Data
from ..io.trajectory import save_trajectory
from ..model import Model
from ..pipeline import fwd_position
from .common import load_model, output
from .figure import SNAPSHOTS, Pose, draw
from .motion import Motion, sweep_joints

LONGEST = 3600.0  # s; all frames are kept in memory
NOTICE = "Kinematic motion: joints follow prescribed sines. There are no dynamics yet: no gravity, forces or contacts."


@dataclass(frozen=True)
class Recording:
    """What `play` saw: centre of mass (frames, 3) in m, poses for the picture, median time per frame in s."""

    com: np.ndarray
    poses: list[Pose]
    frame_time: float


def run(argument: str, seconds: float, out: Path | None, seed: int) -> None:
    """The command; see `kinetree run --help`."""
    if not 0 < seconds <= LONGEST:
        wanted = f"must be more than 0 and at most {LONGEST:g}, got {seconds:g}"
        raise typer.BadParameter(wanted, param_hint="--seconds")
    name, model = load_model(argument)
    folder = out or Path("kinetree-run") / name
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)

    output.print(NOTICE, style="yellow", highlight=False)
    motion = sweep_joints(model, seconds, seed)
    recording = play(model, motion)
    output.print(summary(name, model, motion, recording))

    plot, trajectory = folder / "plot.png", folder / "trajectory.npz"
    with writing_to(folder):
        save_trajectory(trajectory, model_name=name, **vars(motion), com=recording.com)
        draw(plot, name, model, motion, recording.com, recording.poses)
    for label, path in (("plot", plot), ("trajectory", trajectory)):
        output.print(f"{label:<10}  {path}", soft_wrap=True, markup=False, highlight=False)


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Says which folder could not be written, and why."""
    try:
        yield
    except OSError as problem:
        raise OSError(f"cannot write to {folder}: {problem.strerror or problem}") from problem


def play(model: Model, motion: Motion) -> Recording:
    """Run the position stage on every frame, with a progress bar."""
    data, poses, frames = Data(model), [], len(motion.time)
    com, spent = np.zeros((frames, 3)), np.zeros(frames)
    pictured = set(np.linspace(0, frames - 1, SNAPSHOTS).round().astype(int).tolist())
    with output.status("Preparing the kernels; the first time on a machine this compiles them …"):
        fwd_position(model, data)
    with Progress(console=output) as progress:
        for k in progress.track(range(frames), description="playing"):
            data.time, data.qpos, data.qvel = motion.time[k], motion.qpos[k], motion.qvel[k]
            begin = perf_counter()
            fwd_position(model, data)
            spent[k] = perf_counter() - begin
            com[k] = data.subtree_com[0]
            if k in pictured:
                poses.append(Pose(motion.time[k], data.geom_xpos.copy(), data.geom_xmat.reshape(-1, 3, 3).copy()))
    return Recording(com, poses, float(np.median(spent)))


def summary(name: str, model: Model, motion: Motion, recording: Recording) -> Table:
    """The table printed at the end."""
    height = recording.com[:, 2]
    rows = {
        "model": name,
        "bodies, the world included": str(model.nbody),
        "joints": str(model.njnt),
        "nq, nv": f"{model.nq}, {model.nv}",
        "total mass": f"{np.sum(model.body_mass):.4g} kg",
        "duration": f"{motion.time[-1]:g} s",
        "frames": str(len(motion.time)),
        "height of centre of mass": f"{height.min():.3f} … {height.max():.3f} m",
        "time per frame, median": f"{recording.frame_time * 1e6:.1f} µs",
    }
    table = Table(show_header=False)
    table.add_column(style="cyan")
    table.add_column()
    for label, value in rows.items():
        table.add_row(label, Text(value))
    return table
