"""Scenes whose constraints join some trees and not others, in every way in which rows can."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import kinetree as kt
from kinetree.conformance.states import copy_state
from tests.dynamics.paired import Pair

# Equalities, tendons and friction losses across trees; joint equalities and tendons that reach a tree with no arm.
JOINED = """
  <body name="a" pos="10 0 1"><joint name="a" axis="0 1 0" frictionloss=".2"/><geom size=".1" pos=".3 0 0"/>
    <site name="a" pos=".2 0 .1"/></body>
  <body name="b" pos="11 0 1"><joint name="b" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
    <site name="b" pos=".2 .1 .15"/></body>
  <body name="c" pos="12 0 1"><joint name="c" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/><site name="c" pos=".2 .1 .1"/></body>
  <body name="d" pos="13 0 1"><joint name="d" axis="0 1 0" range="0 .29" limited="true" ref=".3"/>
    <geom size=".1" pos=".3 0 0"/></body>
  <body name="e" pos="14 0 1"><joint name="e" type="slide" frictionloss="1"/><geom size=".1"/></body>
  <body name="f" pos="15 0 1"><joint name="f" type="slide"/><geom size=".1"/></body>
  <body name="g" pos="16 0 1"><freejoint/><geom size=".1"/><site name="g"/></body>
  <body name="h" pos="16.5 0 1"><joint name="h" type="ball"/><geom size=".1"/></body>"""
BONDS = """
  <equality><joint joint1="a" joint2="c" polycoef=".01 {slope} 0 0 0"/><weld body1="g" body2="h"/>
    <tendon tendon1="pair"/></equality>
  <tendon><fixed name="pair" frictionloss=".3"><joint joint="e" coef="1"/><joint joint="f" coef="{arm}"/></fixed>
    <spatial name="rope" range="0 .995" limited="true"><site site="b"/><site site="c"/></spatial></tendon>"""


def archipelago(seed: int, bodies: int = 14, slope: float = 0.5, arm: float = 2.0, bonds: bool = True) -> str:
    """Balls, boxes and two-link chains scattered over a floor, some touching, some high above, and trees that are joined."""
    rng, world = np.random.default_rng(seed), '<geom type="plane" size="20 20 1"/>'
    for k in range(bodies):
        x, y = rng.uniform(-0.5, 0.5, 2)
        z = rng.choice([0.097, 0.29, 3.0 + k])
        shape = rng.choice(['size=".1"', 'type="box" size=".1 .08 .1"', 'type="capsule" size=".06 .08"'])
        link = (
            '<body pos="0 0 .25"><joint axis="1 0 0" frictionloss=".05"/><geom size=".06"/></body>'
            if rng.random() < 0.3
            else ""
        )
        world += f'<body pos="{x} {y} {z}"><freejoint/><geom {shape}/>{link}</body>'
    extra = BONDS.format(slope=slope, arm=arm) if bonds else ""
    return f"<mujoco model='archipelago {seed}'><worldbody>{world}{JOINED if bonds else ''}</worldbody>{extra}</mujoco>"


def both(text: str, seed: int = 0, speed: float = 0.3, disable: int = 0, **options: Any) -> Pair:
    """Both sides where the model starts, with small random velocities. options: values for `opt`."""
    mj = mujoco.MjModel.from_xml_string(text)
    mj.opt.disableflags |= disable
    for name, value in options.items():
        setattr(mj.opt, name, value)
    theirs, model = mujoco.MjData(mj), kt.load(mj)
    theirs.qvel[:] = speed * np.random.default_rng(seed).normal(size=mj.nv)
    ours = kt.Data(model)
    copy_state(theirs, ours)
    return Pair(mj, theirs, model, ours)
