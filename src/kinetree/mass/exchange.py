"""Mass properties as inertial elements of MJCF and URDF, and as JSON; and back from MJCF.

MJCF takes the principal moments and the quaternion of their frame, so that no digit is lost in MuJoCo's own
diagonalisation, which stops at 1e-12. URDF takes moments and tensor elements ixy = -∫xy dm in a frame given by roll,
pitch and yaw: likewise the principal one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from .body import Bodies
from .principal import URDF_SLACK, for_mujoco, quaternion


class Exchange(Bodies):
    """To and from the formats of other tools."""

    def to_mjcf(self, regularise: float | None = None) -> str:
        """An `<inertial>` element for a body of an MJCF file, which `kt.load` reads back to the last digits.

        MuJoCo refuses moving bodies without mass or with a principal moment of zero. For a rod or a point mass,
        regularise raises the moments that are smaller to that many kg·m²; without it they are a ValueError.
        """
        moments, axes = for_mujoco(self, regularise)
        quat = quaternion(axes)
        turned = "" if quat[0] == 1 else f' quat="{_words(quat)}"'
        return f'<inertial pos="{_words(self.cg)}"{turned} mass="{self.mass!r}" diaginertia="{_words(moments)}"/>'

    def to_urdf(self, regularise: float | None = None) -> str:
        """An `<inertial>` element for a link of a URDF file; `regularise` as in `to_mjcf`."""
        moments, axes = for_mujoco(self, regularise)
        largest = int(np.argmax(moments))
        moments[largest] = min(moments[largest], np.delete(moments, largest).sum() * (1.0 - URDF_SLACK))
        xx, yy, zz = (repr(float(moment)) for moment in moments)
        return (
            f'<inertial>\n  <origin xyz="{_words(self.cg)}" rpy="{_words(_roll_pitch_yaw(axes))}"/>\n'
            f'  <mass value="{self.mass!r}"/>\n'
            f'  <inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/>\n</inertial>'
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON: `mass` [kg], `cg` [m], `inertia` about the cg [kg·m²], with Ixy = -∫xy dm."""
        self._numbers("to_dict")
        return {name: (np.asarray(getattr(self, name)) + 0.0).tolist() for name in ("mass", "cg", "inertia")}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        return cls(values["mass"], values["cg"], values["inertia"])

    @classmethod
    def from_mjcf_body(cls, source: Any, body: str | int | None = None) -> Self:
        """A body of an MJCF model in its own frame, as MuJoCo compiles it: its inertial element, or else its geoms.

        source: whatever `kt.load` takes, or the text of one `<body>` or `<inertial>` element. body: its name or id; by
        default the first one.
        """
        if isinstance(source, str):
            element = re.match(r"\s*<(body|inertial)\b", source)
            if element:
                inside = source if element[1] == "body" else f"<body>{source}</body>"
                source = f"<mujoco><worldbody>{inside}</worldbody></mujoco>"
        return cls._from_source(source, body)


def _words(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)).removesuffix(".0") for value in values)


def _roll_pitch_yaw(r: np.ndarray) -> np.ndarray:
    """Angles of R = Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = np.arctan2(-r[2, 0], np.hypot(r[0, 0], r[1, 0]))
    if np.hypot(r[0, 0], r[1, 0]) < 1e-9:  # straight up or down: only roll and yaw together are defined
        return np.array([np.arctan2(-r[1, 2], r[1, 1]), pitch, 0.0])
    return np.array([np.arctan2(r[2, 1], r[2, 2]), pitch, np.arctan2(r[1, 0], r[0, 0])]) + 0.0
