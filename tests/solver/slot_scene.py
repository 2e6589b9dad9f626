"""Robots with rows of every kind, and more dofs than slots: feet of all dimensions, limits, dry friction, equalities."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import kinetree as kt
from kinetree.kernel import stage
from kinetree.solver.alone import solve_rest
from kinetree.solver.solve import linear_terms, set_states
from tests.dynamics.paired import Pair

FEET = (1, 3, 4, 6)
JOINTS = 5


def limb(robot: int, k: int, dim: int) -> str:
    """A chain of hinges with a foot; one joint has a range, one dry friction."""
    text = f"<geom type='sphere' size='.06' condim='{dim}' friction='.8 .02 .01'/>"
    for j in reversed(range(JOINTS)):
        axis, more = ("0 1 0", "1 0 .2", "0 1 .3")[j % 3], ""
        more = "range='-3 3' limited='true'" if j == 1 else "frictionloss='.4'" if j == 2 and k < 2 else ""
        geom = (
            ""
            if j == JOINTS - 1
            else "<geom type='capsule' size='.02' fromto='0 0 0 0 0 -.1' contype='0' conaffinity='0'/>"
        )
        text = (
            f"<body pos='0 0 -.1'><joint name='r{robot}l{k}j{j}' axis='{axis}' damping='.1' {more}/>{geom}{text}</body>"
        )
    return text.replace("pos='0 0 -.1'", f"pos='{(0.2, -0.2)[k % 2]} {(0.2, -0.2)[k // 2]} 0'", 1)


def robots(count: int, joined: bool = False, more: str = "") -> str:
    """Robots side by side. joined: by an equality between the first two, so that they are one island. more: other bodies."""
    bodies = "".join(
        f"<body name='robot{r}' pos='{r} 0 .46'><freejoint/><geom type='box' size='.2 .2 .05' contype='0' conaffinity='0'/>"
        + "".join(limb(r, k, dim) for k, dim in enumerate(FEET))
        + "</body>"
        for r in range(count)
    )
    equality = "".join(f"<joint joint1='r{r}l0j0' joint2='r{r}l1j0'/>" for r in range(count))
    if joined:
        equality += "<joint joint1='r0l3j3' joint2='r1l2j3'/>"
    tendon = "".join(
        f"<fixed frictionloss='.2'><joint joint='r{r}l2j1' coef='1'/><joint joint='r{r}l3j1' coef='-.5'/></fixed>"
        for r in range(count)
    )
    motors = "".join(
        f"<motor joint='r{r}l{k}j{j}' gear='2'/>" for r in range(count) for k in range(4) for j in range(JOINTS)
    )
    return f"""<mujoco model="robots"><worldbody><geom type="plane" size="9 9 1" condim="1"/>{bodies}{more}</worldbody>
      <equality>{equality}</equality><tendon>{tendon}</tendon><actuator>{motors}</actuator></mujoco>"""


def model_of(count: int = 1, joined: bool = False, disable: int = 0, more: str = "", **options: Any) -> mujoco.MjModel:
    """MuJoCo's model of robots, with options."""
    mj = mujoco.MjModel.from_xml_string(robots(count, joined, more))
    mj.opt.disableflags |= disable
    for name, value in options.items():
        setattr(mj.opt, name, value)
    return mj


def states(mj: mujoco.MjModel, count: int, seed: int = 0) -> list[dict[str, np.ndarray]]:
    """States of a motion under random controls, each with a start for the solver that is not its solution."""
    rng, data, out = np.random.default_rng(seed), mujoco.MjData(mj), []
    data.qvel[:] = rng.normal(scale=0.5, size=mj.nv)
    while len(out) < count:
        data.ctrl[:] = rng.uniform(-1.0, 1.0, mj.nu)
        for _ in range(15):
            mujoco.mj_step(mj, data)
        warm = data.qacc_warmstart + rng.normal(scale=2.0, size=mj.nv)
        out.append(
            {"qpos": data.qpos.copy(), "qvel": data.qvel.copy(), "ctrl": data.ctrl.copy(), "qacc_warmstart": warm}
        )
    return out


def put(data: Any, state: dict[str, np.ndarray]) -> None:
    """Give a Data, ours or MuJoCo's, a state."""
    for name, value in state.items():
        getattr(data, name)[:] = value


def both(mj: mujoco.MjModel, state: dict[str, np.ndarray]) -> Pair:
    """Both sides after a forward pass from a state."""
    theirs, model = mujoco.MjData(mj), kt.load(mj)
    ours = kt.Data(model)
    for data in (theirs, ours):
        put(data, state)
    mujoco.mj_forward(mj, theirs)
    kt.forward(model, ours)
    return Pair(mj, theirs, model, ours)


def in_slots(data: kt.Data) -> bool:
    """Whether the last solve of this thread was in constraint space."""
    return not data.record().solve_alone[0]


@stage
def solve_accelerations(m, d):
    """Newton's method in acceleration space, whatever the number of slots."""
    for k in range(20):
        d.solver_niter[k] = 0
    linear_terms(m, d)
    d.solve_alone[0] = True
    solve_rest(m, d)
    set_states(m, d)
