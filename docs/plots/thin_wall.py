"""Bodies thrown at a thin wall, with speculative contacts and without, in both engines: the tables of docs/guide/contacts.md.

python docs/plots/thin_wall.py
"""

from __future__ import annotations

import mujoco
import numpy as np

import kinetree as kt

RADIUS, HALF, STEP = 0.02, 0.002, 0.005  # m, m, s: of the ball, of the wall's thickness, of time
SPEEDS = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 500.0)  # m/s
STARTS = 20  # places from which it is thrown, over the way of one step
SCENE = f"""
<mujoco>
  <option timestep="{STEP}" gravity="0 0 0"><flag speculative="{{flag}}"/></option>
  <worldbody>
    <geom type="box" size="{HALF} 1 1" euler="0 10 5"/>
    <body><freejoint/><geom size="{RADIUS}"/></body>
  </worldbody>
</mujoco>"""
TUMBLING = (5.0, 10.0, 20.0)  # m/s
SPIN = 3.0  # rad/s, about each axis
SHAPES = {
    "ball": 'size=".02"', "box": 'type="box" size=".02 .03 .02"', "cylinder": 'type="cylinder" size=".02 .03"',
}  # fmt: skip
TUMBLERS = f"""
<mujoco>
  <option timestep="{STEP}" gravity="0 0 0"><flag speculative="enable"/></option>
  <worldbody>
    <geom type="box" size="{HALF} 1 1"/>
    <body><freejoint/><geom {{shape}}/></body>
  </worldbody>
</mujoco>"""


def throw(flag: str, speed: float, start: float) -> tuple[tuple[float, float], ...]:
    """On which side of the wall the ball is [m] and how fast it comes or goes, 0.05 s later: in kinetree, in MuJoCo."""
    mj = mujoco.MjModel.from_xml_string(SCENE.format(flag=flag))
    model, theirs = kt.load(mj), mujoco.MjData(mj)
    ours = kt.Data(model)
    for data in (ours, theirs):
        data.qpos[:3] = -0.05 - start, 0.1, 0.05
        data.qvel[:3] = speed, 0.02 * speed, 0.0
    steps = 10 + round((0.05 + start) / speed / STEP)
    kt.step(model, ours, steps)
    mujoco.mj_step(mj, theirs, steps)
    normal = theirs.geom_xmat[0].reshape(3, 3)[:, 0]
    return tuple((float(data.qpos[:3] @ normal), float(data.qvel[:3] @ normal)) for data in (ours, theirs))


def row(speed: float) -> str:
    """A line of the table: how many of the balls end behind the wall, and the greatest speed of the others."""
    cells = [f"{speed:g}", f"{100 * speed * STEP:g}"]
    for flag in ("disable", "enable"):
        ends = np.array([throw(flag, speed, start) for start in speed * STEP * (np.arange(STARTS) + 0.5) / STARTS])
        through = (ends[:, :, 0] > 0.0).sum(axis=0)
        assert (through[0] == through[1]) and (np.abs(ends[:, 0] - ends[:, 1]).max() < 1e-6 * speed)
        stopped = ends[ends[:, 0, 0] <= 0.0, 0, 1]
        left = f"{np.abs(stopped).max():.2f}" if stopped.size else ""
        cells += [f"{through[0]} of {STARTS}", left]
    return f"| {' | '.join(cells)} |"


def tumble(shape: str, speed: float) -> int:
    """How many bodies in any orientation, turning, end behind an upright wall, in both engines."""
    mj, rng = mujoco.MjModel.from_xml_string(TUMBLERS.format(shape=SHAPES[shape])), np.random.default_rng(0)
    model, through = kt.load(mj), np.zeros(2, int)
    for start in speed * STEP * (np.arange(STARTS) + 0.5) / STARTS:
        turn, spin = rng.normal(size=4), SPIN * rng.normal(size=3)
        ours, theirs = kt.Data(model), mujoco.MjData(mj)
        for data in (ours, theirs):
            data.qpos[0], data.qpos[3:] = -0.05 - start, turn / np.linalg.norm(turn)
            data.qvel[0], data.qvel[3:] = speed, spin
        kt.step(model, ours, 40)
        mujoco.mj_step(mj, theirs, 40)
        through += ours.qpos[0] > 0.0, theirs.qpos[0] > 0.0
    assert through[0] == through[1], (shape, speed, through)
    return int(through[0])


def tumbling_table() -> list[str]:
    """All lines of the second table."""
    return [f"| {shape} | {' | '.join(f'{tumble(shape, v)} of {STARTS}' for v in TUMBLING)} |" for shape in SHAPES]


def table() -> list[str]:
    """All lines."""
    return [row(speed) for speed in SPEEDS]


if __name__ == "__main__":
    print("\n".join(table() + tumbling_table()))
