"""Every field of a scene in which some of everything sleeps, step by step against MuJoCo; random scenes likewise."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance import convert
from kinetree.types import Integrator
from tests.dynamics.paired import Pair, same
from tests.dynamics.test_sleep import agree, follow, pair_of, push

SCENE = (Path(__file__).parents[1] / "models" / "asleep.xml").read_text().replace("<flag ", '<flag energy="enable" ')
WITHIN = 2e-6  # accelerations among contacts: solvers that stop at different digits
FIELDS = (
    "time", "qpos", "qvel", "act", "history", "qacc_warmstart", "qacc", "act_dot", "sensordata", "energy", "xpos", "xquat",
    "xipos", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat", "site_xpos", "site_xmat", "cam_xpos", "cam_xmat",
    "light_xpos", "light_xdir", "subtree_com", "M", "actuator_length", "actuator_velocity", "actuator_force", "qfrc_actuator",
    "ten_velocity", "qfrc_spring", "qfrc_damper", "qfrc_gravcomp", "qfrc_fluid", "qfrc_passive", "qfrc_bias", "qfrc_smooth",
    "qacc_smooth", "qfrc_constraint", "subtree_linvel", "subtree_angmom", "ncon", "nefc", "nisland", "tree_island",
)  # fmt: skip
MOVED = {
    "cvel": convert.body_motion, "cdof": convert.dof_motion, "cdof_dot": convert.dof_motion, "cinert": convert.body_inertia,
    "crb": convert.body_inertia,
}  # fmt: skip
EVENTS = {
    3: push("ctrl", slice(None), (0.0, 0.05, 0.3, 0.02, 0.01, 0.0)),
    60: push("qvel", 0, 0.3),
    350: push("ctrl", 0, 0.5),
    380: push("mocap_pos", (0, 0), 0.001),
    420: push("xfrc_applied", (3, 0), 0.5),
}


def all_fields_agree(pair: Pair, note: str) -> None:
    for name in FIELDS:
        if name == "tree_island" and pair.theirs.nisland == 0:
            continue  # which then is as before in MuJoCo
        ours, theirs = (np.atleast_1d(getattr(data, name)) for data in (pair.ours, pair.theirs))
        same(ours, theirs, WITHIN, f"{note} {name}")
    for name, move in MOVED.items():
        same(getattr(pair.ours, name), move(pair.mj, pair.theirs, name), WITHIN, f"{note} {name}")


@pytest.mark.parametrize("integrator", [Integrator.EULER, Integrator.IMPLICIT, Integrator.IMPLICITFAST])
def test_every_field_of_what_sleeps_and_wakes(integrator):
    pair, slept = pair_of(SCENE, integrator=integrator), np.zeros(6, bool)
    for k in range(450):
        if k in EVENTS:
            EVENTS[k](pair.theirs)
            EVENTS[k](pair.ours)
        mujoco.mj_step(pair.mj, pair.theirs)
        kt.step(pair.model, pair.ours)
        agree(pair, f"step {k}")
        all_fields_agree(pair, f"step {k}")
        slept |= pair.ours.tree_awake == 0
    assert slept.sum() >= 5, "all but the arm, which its muscle moves"


def test_tendons_keep_their_length_while_they_sleep():
    """MuJoCo has zero for it, and so a wrong energy of their springs."""
    pair = pair_of(SCENE)
    rope = follow_length(pair, 100)
    assert pair.theirs.ten_length[0] == 0.0
    sites = pair.ours.site_xpos[[pair.model.id("site", name) for name in ("crate", "other")]]
    assert rope == pytest.approx(np.linalg.norm(sites[1] - sites[0]), abs=1e-12)


def follow_length(pair: Pair, steps: int) -> float:
    follow(pair, steps)
    assert not pair.ours.tree_awake[[1, 2]].any()
    return float(pair.ours.ten_length[0])


def random_sleepers(seed: int) -> str:
    """Things that slide, roll and swing to rest beside each other: lone shapes, arms on the floor, some tied together."""
    rng, world, sensors, ties = np.random.default_rng(seed), "", "", ""
    shapes = ('type="box" size=".1 .08 .1"', 'type="sphere" size=".1"', 'type="capsule" size=".06 .08"')
    for k in range(8):
        x, y = 0.32 * (k % 4) + rng.uniform(-0.02, 0.02), 0.4 * (k // 4)
        name, shape = f"b{k}", shapes[rng.integers(3)]
        geom = f'<geom {shape} condim="{rng.choice([3, 4, 6])}" friction="1 .02 .01"/><site name="{name}"/>'
        if rng.random() < 0.7:
            world += f'<body name="{name}" pos="{x} {y} .16"><freejoint/>{geom}</body>'
        else:
            damping = f'damping="{rng.uniform(0.2, 1)}" frictionloss="{rng.choice([0.0, 0.05])}"'
            world += (
                f'<body name="{name}" pos="{x} {y} .5"><joint type="{rng.choice(["hinge", "ball"])}" axis="1 .3 0" '
            )
            world += (
                f'pos=".03 .02 .3" {damping}/>{geom}<body pos="0 0 -.2"><joint axis="1 .2 0" pos="0 .02 .1" {damping}/>'
            )
            world += '<geom size=".06"/></body></body>'  # axes pass no centre: what touches them can turn them
        sensors += f'<framelinvel objtype="site" objname="{name}"/><accelerometer site="{name}"/>'
    for _ in range(2):
        a, b = rng.choice(8, 2, replace=False)
        ties += f'<connect body1="b{a}" body2="b{b}" anchor="0 0 0" active="false"/>'
    a, b = rng.choice(8, 2, replace=False)
    rope = f'<spatial limited="true" range="0 1.4"><site site="b{a}"/><site site="b{b}"/></spatial>'
    options = f'integrator="{rng.choice(["Euler", "implicit", "implicitfast"])}" cone="{rng.choice(["pyramidal", "elliptic"])}"'
    return f"""<mujoco><option {options} sleep_tolerance=".05"><flag sleep="enable"/></option><worldbody>
      <geom type="plane" size="5 5 1"/><body name="hand" mocap="true" pos="0 0 2"><geom size=".1"/></body>{world}</worldbody>
      <tendon>{rope}</tendon><equality>{ties}</equality><sensor>{sensors}</sensor></mujoco>"""


def random_event(pair: Pair, rng: np.random.Generator) -> None:
    """Do one thing to both that wakes trees, or may."""
    kind, tree = rng.integers(6), int(rng.integers(pair.model.ntree))
    dof, body, value = pair.model.tree_dofadr[tree], pair.model.tree_bodyadr[tree], rng.uniform(-0.5, 0.5)
    for data in (pair.theirs, pair.ours):
        data.xfrc_applied[:] = 0.0
        if kind == 0:
            data.qvel[dof] = value
        elif kind == 1:
            data.xfrc_applied[body, 0] = value
        elif kind == 2:
            data.mocap_pos[0] = (0.0, 0.0, 2.0) if data.mocap_pos[0, 2] < 1.0 else (*data.xpos[body, :2], 0.3)
        elif kind == 3:
            data.qpos[pair.model.jnt_qposadr[pair.model.dof_jntid[dof]]] += 1e-3 * value
        elif kind == 4:
            data.eq_active[0] = not data.eq_active[0]


def take_over(pair: Pair) -> None:
    """Our trees that are awake where MuJoCo's are, so that rounding does not add up; those that sleep are so already."""
    awake = pair.ours.tree_awake != 0
    joints = awake[pair.model.dof_treeid[pair.model.jnt_dofadr]]
    for joint, first in enumerate(pair.model.jnt_qposadr):
        if joints[joint]:
            end = pair.model.jnt_qposadr[joint + 1] if joint + 1 < pair.model.njnt else pair.model.nq
            pair.ours.qpos[first:end] = pair.theirs.qpos[first:end]
    for name in ("qvel", "qacc_warmstart"):
        getattr(pair.ours, name)[awake[pair.model.dof_treeid]] = getattr(pair.theirs, name)[
            awake[pair.model.dof_treeid]
        ]


@pytest.mark.parametrize("seed", range(12))
def test_random_scenes(seed):
    """Who sleeps, since when, where everything is and what sensors read, after every step; now and then something happens."""
    pair, rng = pair_of(random_sleepers(seed)), np.random.default_rng(seed)
    pair.theirs.qvel[:] = pair.ours.qvel[:] = 0.2 * rng.normal(size=pair.model.nv)
    most = woken = 0
    for k in range(500):
        before = pair.ours.ntree_awake
        if k % 50 == 49:
            random_event(pair, rng)
        mujoco.mj_step(pair.mj, pair.theirs)
        kt.step(pair.model, pair.ours)
        agree(pair, f"scene {seed} step {k}")
        most = max(most, pair.model.ntree - pair.ours.ntree_awake)
        woken += pair.ours.ntree_awake > before
        take_over(pair)
    assert most >= 2 and woken >= 1, f"{most} of {pair.model.ntree} trees slept at once, {woken} woke"
