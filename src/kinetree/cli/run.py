"""`kinetree run`: simulate a model for a few seconds, summarise, plot and record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from ..errors import SettingError, UnknownNameError
from ..io.trajectory import save_trajectory
from ..model import Model
from ..types import Integrator
from .common import complain, integrator_named, load_model, output
from .figure import draw
from .motion import sweep_joints
from .recording import Recording
from .simulate import has_gravity, play, set_gravity, simulate, start
from .stop import Stop, Stopped, stoppable

LONGEST = 3600.0  # s; all frames are kept in memory
KINEMATIC = "Kinematic motion: joints follow prescribed sines; no gravity, forces or contacts."


def run(
    argument: str,
    seconds: float,
    out: Path | None,
    seed: int,
    gravity: bool | None,
    keyframe: str | None,
    kinematic: bool,
    integrator: str | None = None,
) -> None:
    """The command; see `kinetree run --help`."""
    if not 0 < seconds <= LONGEST:
        wanted = f"must be more than 0 and at most {LONGEST:g}, got {seconds:g}"
        raise typer.BadParameter(wanted, param_hint="--seconds")
    try:
        kind = integrator_named(integrator)
    except SettingError as problem:
        raise typer.BadParameter(str(problem), param_hint="--integrator") from None
    with stoppable() as stop:
        name, model = load_model(argument)
        if kind is not None:
            model.opt.integrator = kind
        if keyframe is not None:
            _check_keyframe(model, keyframe)
        folder = out or Path("kinetree-run") / name
        with writing_to(folder):
            folder.mkdir(parents=True, exist_ok=True)
        if kinematic:
            output.print(KINEMATIC, style="yellow", highlight=False)
            recording = play(model, sweep_joints(model, seconds, seed, keyframe), stop)
        else:
            set_gravity(model, gravity)
            recording = simulate(model, start(model, keyframe, seed), seconds, stop)

        output.print(summary(name, model, recording))
        plot, trajectory = folder / "plot.png", folder / "trajectory.npz"
        energy = {} if recording.energy is None else {"energy": recording.energy}
        with writing_to(folder):
            save_trajectory(trajectory, model_name=name, **vars(recording.motion), com=recording.com, **energy)
            drawn = _draw_unless_hurried(plot, f"{name}: {_kind(model, recording)}", model, recording, stop)
        for label, path in (("plot", plot if drawn else "not drawn"), ("trajectory", trajectory)):
            output.print(f"{label:<10}  {path}", soft_wrap=True, markup=False, highlight=False)
        if stop.stopped:
            at, but = recording.motion.time[-1], "" if drawn else f", but {_no_plot(plot)}"
            complain(f"stopped by {stop.stopped.name} at {at:g} s; all up to the last whole step is saved{but}")
            raise typer.Exit(stop.stopped.status)


def _draw_unless_hurried(path: Path, title: str, model: Model, recording: Recording, stop: Stop) -> bool:
    """Draw, with what counts saved: a second signal ends it, or came already. Returns whether there is a picture."""
    try:
        stop.can_hurry = True
        if not stop.hurried:
            draw(path, title, model, recording)
            stop.can_hurry = False
            return True
    except Stopped:
        pass
    return False


def _no_plot(path: Path) -> str:
    return f"no plot is drawn{f': {path} is that of an earlier run' if path.exists() else ''}"


def _check_keyframe(model: Model, keyframe: str) -> None:
    try:
        model.id("keyframe", keyframe)
    except UnknownNameError as problem:
        raise typer.BadParameter(str(problem), param_hint="--keyframe") from None


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Says which folder could not be written, and why."""
    try:
        yield
    except OSError as problem:
        raise OSError(f"cannot write to {folder}: {problem.strerror or problem}") from problem


def _kind(model: Model, recording: Recording) -> str:
    """What kind of motion it is, for the title of the picture."""
    if recording.energy is None:
        return "kinematic motion, no dynamics"
    weight = "with" if has_gravity(model) else "without"
    return f"simulated {weight} gravity, {_integrator(model)}, time step {model.opt.timestep:g} s"


def _integrator(model: Model) -> str:
    return Integrator(model.opt.integrator).name.lower()


def summary(name: str, model: Model, recording: Recording) -> Table:
    """The table printed at the end."""
    time, height = recording.motion.time, recording.com[:, 2]
    rows = {
        "model": name,
        "bodies, the world included": str(model.nbody),
        "joints": str(model.njnt),
        "nq, nv": f"{model.nq}, {model.nv}",
        "total mass": f"{np.sum(model.body_mass):.4g} kg",
        "duration": f"{time[-1] - time[0]:g} s",
        "frames": str(len(time)),
        **_effort(model, recording),
        **_energies(model, recording),
        "height of centre of mass": f"{height.min():.3f} … {height.max():.3f} m",
    }
    told = [f"{text} ({count} times)" if count > 1 else text for text, count in recording.warnings.items()]
    table = Table(show_header=False)
    table.add_column(style="cyan")
    table.add_column()
    for label, value in rows.items():
        table.add_row(label, Text(value))
    table.add_row("warnings", Text("\n".join(told) or "none", style="yellow" if told else ""))
    return table


def _effort(model: Model, recording: Recording) -> dict[str, str]:
    """What the motion cost."""
    spent = recording.seconds
    if not recording.steps:
        return {"time per frame": f"{spent / len(recording.motion.time) * 1e6:.1f} µs"}
    return {
        "integrator": _integrator(model),
        "time step": f"{model.opt.timestep:g} s",
        "steps": str(recording.steps),
        "wall time": f"{spent:.3g} s, {spent / recording.steps * 1e6:.1f} µs per step",
        "times real time": f"{recording.steps * model.opt.timestep / max(spent, 1e-9):.0f}",
    }


def _energies(model: Model, recording: Recording) -> dict[str, str]:
    if recording.energy is None or not model.nv:
        return {}
    ends = {"energy at the start": recording.energy[0], "energy at the end": recording.energy[-1]}
    return {
        label: f"{potential + kinetic:.5g} J = {potential:.5g} potential + {kinetic:.5g} kinetic"
        for label, (potential, kinetic) in ends.items()
    }
