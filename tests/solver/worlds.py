"""Small scenes with something wrong in them, and both sides ready to solve them."""

from __future__ import annotations

from typing import Any

import mujoco

from kinetree.types import DisableBit
from tests.constraint.paired_rows import finish
from tests.dynamics.paired import Pair

HANGING = """<mujoco><worldbody><body><joint type="ball"/><geom size="0.1" pos="0 0 1"/></body></worldbody></mujoco>"""
REDUNDANT = """<mujoco model="redundant"><worldbody><geom type="plane" size="1 1 1"/>
  <body pos="0 0 0.095"><freejoint/><geom size="0.1"/><geom size="0.1"/><geom size="0.1" pos="0.001 0 0"/></body>
  <body name="a" pos="1 0 1"><freejoint/><geom size="0.1"/></body>
  <body name="b" pos="1.2 0 1"><joint type="ball"/><geom size="0.1"/></body></worldbody>
  <equality><connect body1="a" body2="b" anchor="0.1 0 0"/><connect body1="a" body2="b" anchor="0.1 0 0"/>
  <weld body1="a" body2="b"/></equality></mujoco>"""
SLIDING = """<mujoco model="sliding"><worldbody><geom type="plane" size="1 1 1" friction="0 0 0"/>
  <body pos="0 0 0.095"><freejoint/><geom size="0.1" friction="0 0 0"/></body>
  <body pos="1 0 0.095"><freejoint/><geom size="0.1" condim="6" friction="0 0 0"/></body>
  <body pos="2 0 0.095"><freejoint/><geom size="0.1" condim="1"/></body></worldbody></mujoco>"""


def stack(light: float, heavy: float) -> str:
    """A heavy ball on a light one on the floor, and a light one beside them."""
    return f"""<mujoco model="{light} and {heavy}"><worldbody><geom type="plane" size="1 1 1"/>
      <body pos="0 0 0.099"><freejoint/><geom size="0.1" mass="{light}"/></body>
      <body pos="0 0 0.297"><freejoint/><geom size="0.1" mass="{heavy}"/></body>
      <body pos="1 0 0.099"><freejoint/><geom size="0.1" condim="4" mass="{light}"/></body></worldbody></mujoco>"""


# The same constraint several times, contacts without friction, masses of a milligram and of a thousand tons.
DEGENERATE = {
    "redundant": REDUNDANT,
    "no friction": SLIDING,
    "light": stack(1e-6, 1e-6),
    "heavy": stack(1e6, 1e6),
    "heavy on light": stack(1e-3, 1e3),
    "light on heavy": stack(1e3, 1e-3),
}


def of_text(text: str, **options: Any) -> Pair:
    """Both sides of a scene with its bodies moving slowly, islands off."""
    mj = mujoco.MjModel.from_xml_string(text)
    mj.opt.disableflags |= DisableBit.ISLAND
    for name, value in options.items():
        setattr(mj.opt, name, value)
    theirs = mujoco.MjData(mj)
    theirs.qvel[:] = 0.1
    return finish(mj, theirs, 0, None)
