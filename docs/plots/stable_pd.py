"""Draws the plots of docs/guide/stable-pd.md: `python docs/plots/stable_pd.py FOLDER [bench-results/stable_pd.json]`.

bound.png: which gains are stable, with points that simulations found. character.png: a character of ball joints tracking a
motion, from examples/02. cost.png: the times of `python benchmarks/run.py stable_pd`, if its file is given.
"""

from __future__ import annotations

import json
import runpy
import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

import kinetree as kt  # noqa: E402

ROOT = Path(__file__).parents[2]
H = 1 / 60
MASS = f"""<mujoco><option timestep="{H}" gravity="0 0 0"/><worldbody><body><joint type="slide"/>
  <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody></mujoco>"""
COLOURS = {
    "dense": "tab:red",
    "sparse": "tab:orange",
    "maba": "tab:blue",
    "DART dense": "tab:grey",
    "MuJoCo step": "tab:green",
}


def grows(model: kt.Model, kp: float, kd: float) -> bool:
    """Whether stable PD in mode "spd" is unstable."""
    data, spd = kt.Data(model), kt.StablePD(model, kp, kd)
    data.qpos[:] = 1e-3
    spd.step(data, nstep=3000)
    return bool(data.warning_number.any() or abs(data.qpos[0]) + H * abs(data.qvel[0]) > 1e-3)


def largest_kp(model: kt.Model, kd: float) -> float:
    """Where "spd" becomes unstable, by bisection on simulations."""
    low, high = 1.0, 1e5
    while high > 1.003 * low:
        middle = np.sqrt(low * high)
        low, high = (low, middle) if grows(model, middle, kd) else (middle, high)
    return float(np.sqrt(low * high))


def bound(path: Path) -> None:
    """The largest stiffness over the damping, of four ways to compute a PD torque."""
    damping = np.linspace(0.0, 6.0, 200)
    model, measured = kt.load(MASS), np.array([0.0, 0.5, 1.0, 2.0, 3.0, 4.5, 6.0])
    found = [largest_kp(model, x / H) * H * H for x in measured]
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    axes.plot(damping, np.maximum(0.0, 4 - 2 * damping), label="explicit: 4 - 2x")
    axes.plot(damping, 4 + 2 * damping, label="damping implicit: 4 + 2x")
    axes.plot(damping, (4 + 2 * damping) / 3, label='"spd": (4 + 2x) / 3')
    axes.plot(measured, found, "o", color="tab:green", label='"spd", simulated')
    axes.plot(damping, damping**2 / 4, "k:", label="critical damping")
    axes.set(xlabel="x = h kd / m", ylabel="h² kp / m", ylim=(0, 12), xlim=(0, 6))
    axes.set_title('Stable below the line; "implicit" has none')
    axes.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def character(path: Path) -> None:
    """Error and torque of the character, joint by joint."""
    run = runpy.run_path(str(ROOT / "examples" / "02_ball_joint_character.py"))
    errors, torques = np.abs(run["errors"]), np.abs(run["torques"])[:, 6:]
    time = H * np.arange(1, len(errors) + 1)
    figure, (upper, lower) = plt.subplots(2, sharex=True, figsize=(7, 4.5), layout="constrained")
    upper.plot(time, errors, color="tab:blue", lw=0.6)
    upper.set(ylabel="error [rad]", title="A character of ball joints tracks a motion at 60 steps a second")
    lower.plot(time, torques, color="tab:orange", lw=0.6)
    lower.set(xlabel="time [s]", ylabel="torque [N m]")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def cost(path: Path, results: Path) -> None:
    """Time of a torque over the number of dofs, log-log, for each shape of tree."""
    contents = json.loads(results.read_text(encoding="utf-8"))
    times, details = contents["times"], contents["details"]
    shapes = [
        shape for shape in ("hinge chain", "ball chain", "hinge tree", "ball tree") if any(shape in n for n in details)
    ]
    figure, all_axes = plt.subplots(
        1, len(shapes), sharey=True, figsize=(3.2 * len(shapes), 4), layout="constrained", squeeze=False
    )
    for shape, axes in zip(shapes, all_axes[0], strict=True):
        for way, colour in COLOURS.items():
            rows = [(d["nv"], times[f"{n} | {way}"]["median"]) for n, d in details.items()
                    if n.startswith(shape) and f"{n} | {way}" in times]  # fmt: skip
            if rows:
                axes.loglog(*zip(*sorted(rows), strict=True), "o-", color=colour, label=way, ms=3)
        axes.set(title=shape, xlabel="degrees of freedom")
        axes.grid(alpha=0.3)
    all_axes[0, 0].set(ylabel="µs, from Python")
    all_axes[0, 0].legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(arguments: list[str]) -> int:
    """Draw into a folder."""
    if not 1 <= len(arguments) <= 2:
        print(f"usage: {(__doc__ or '').split('`')[1]}", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.SimulationWarning)
        bound(folder / "bound.png")
    character(folder / "character.png")
    if len(arguments) == 2:
        cost(folder / "cost.png", Path(arguments[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
