"""Forward dynamics of the same model in other libraries, for benchmarks/symbolic.py: adam and Pinocchio.

For models with a free joint on the first body and hinges on the others.
"""

from __future__ import annotations

import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import kinetree as kt

PROGRAM = Path(__file__).with_name("pinocchio_aba.cpp")
# What Pinocchio's own build defines, to hold all its kinds of joints.
DEFINITIONS = ("-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS")


@dataclass(frozen=True)
class State:
    """Position, velocity and joint forces in MuJoCo's coordinates: the free joint moves in world axes and turns in body axes.

    Nothing pushes the free joint: adam takes no such force.
    """

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray

    @property
    def arguments(self) -> tuple[np.ndarray, ...]:
        """As our functions take them."""
        return self.q, self.v, self.tau

    @property
    def rotation(self) -> np.ndarray:
        """From the axes of the free body to those of the world."""
        return rotation(self.q[3:7]).as_matrix()

    def for_adam(self) -> tuple[np.ndarray, ...]:
        """Pose and velocity of the free body, all in world axes, and the hinges."""
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = self.rotation, self.q[:3]
        velocity = np.concatenate([self.v[:3], self.rotation @ self.v[3:6]])
        return pose, self.q[7:], velocity, self.v[6:], self.tau[6:]

    def from_adam(self, a: np.ndarray) -> np.ndarray:
        """Its acceleration, as MuJoCo has it."""
        return np.concatenate([a[:3], self.rotation.T @ a[3:6], a[6:]])

    def for_pinocchio(self) -> tuple[np.ndarray, ...]:
        """Quaternion with w last, velocity of the free body all in body axes."""
        q, v = self.q.copy(), self.v.copy()
        q[3:7], v[:3] = np.roll(self.q[3:7], -1), self.rotation.T @ self.v[:3]
        return q, v, self.tau.copy()

    def from_pinocchio(self, a: np.ndarray) -> np.ndarray:
        """Its acceleration, as MuJoCo has it: the axes that it is given in turn with the body."""
        _, v, _ = self.for_pinocchio()
        return np.concatenate([self.rotation @ (a[:3] + np.cross(v[3:6], v[:3])), a[3:]])


def rotation(quaternion: np.ndarray) -> Rotation:
    """The rotation of a quaternion, w first."""
    return Rotation.from_quat(quaternion, scalar_first=True)


def adam_function(model: kt.Model) -> Any:
    """adam's ABA as a CasADi function; adam knows no armature."""
    from adam.casadi import KinDynComputations

    hinges = [f"joint{j}" for j in range(1, model.njnt)]
    gravity = np.concatenate([model.opt.gravity, np.zeros(3)])
    return KinDynComputations(urdf(model), hinges, gravity=gravity).aba_fun()


def urdf(model: kt.Model) -> str:
    """The tree as URDF. A link has its origin at the last hinge of its body; further hinges of a body move massless links."""
    parts, anchors = [], np.zeros((model.nbody, 3))  # origins of links, in the frames of their bodies
    for b in range(1, model.nbody):
        parent, first = int(model.body_parentid[b]), int(model.body_jntadr[b])
        joints = range(first, first + int(model.body_jntnum[b])) if parent else []
        place, turn = model.body_pos[b] - anchors[parent], rotation(model.body_quat[b])
        link = f"body{parent}"
        if parent and not joints:
            parts.append(_joint(f"weld{b}", "fixed", link, f"body{b}", _origin(place, turn)))
        for j in joints:
            place = place + turn.apply(model.jnt_pos[j] - anchors[b])
            child = f"body{b}" if j == joints[-1] else f"body{b}hinge{j}"
            if j != joints[-1]:
                parts.append(f'<link name="{child}"/>')
            axis = f'<axis xyz="{_text(model.jnt_axis[j])}"/><limit effort="1" velocity="1"/>'
            parts.append(_joint(f"joint{j}", "revolute", link, child, _origin(place, turn) + axis))
            link, place, turn, anchors[b] = child, np.zeros(3), Rotation.identity(), model.jnt_pos[j]
        x, y, z = map(float, model.body_inertia[b])
        parts.append(
            f'<link name="body{b}"><inertial>{_origin(model.body_ipos[b] - anchors[b], rotation(model.body_iquat[b]))}'
            f'<mass value="{float(model.body_mass[b])}"/>'
            f'<inertia ixx="{x}" iyy="{y}" izz="{z}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
    return f'<robot name="robot">{"".join(parts)}</robot>'


def _joint(name: str, kind: str, parent: str, child: str, rest: str) -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{rest}</joint>'


def _origin(place: np.ndarray, turn: Rotation) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at a quarter turn of pitch, roll and yaw are not unique: any do
        angles = turn.as_euler("xyz")
    return f'<origin xyz="{_text(place)}" rpy="{_text(angles)}"/>'


def _text(numbers: Any) -> str:
    return " ".join(str(float(x)) for x in numbers)


def compile_pinocchio_tracer(folder: Path) -> Path:
    """A program that traces Pinocchio's ABA, from the headers and libraries in the wheels of Pinocchio and CasADi (minutes)."""
    import casadi
    import pinocchio

    prefix, own, out = Path(pinocchio.__file__).parents[4], Path(casadi.__file__).parent, folder / "pinocchio_aba"
    headers = [prefix / "include", own / "include", own / "include" / "eigen3"]
    libraries = {prefix / "lib": ("pinocchio_default", "boost_serialization"), own: ("casadi",)}
    command = [
        "g++",
        "-std=c++17",
        "-w",
        *DEFINITIONS,
        *(f"-I{path}" for path in headers),
        str(PROGRAM),
        "-o",
        str(out),
    ]
    for path, names in libraries.items():
        command += [f"-L{path}", f"-Wl,-rpath,{path}", *(f"-l{name}" for name in names)]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
    return out


def pinocchio_function(tracer: Path, model: Any) -> Any:
    """Pinocchio's ABA of its own model as a CasADi function."""
    import casadi

    numbers, function = tracer.with_suffix(".txt"), tracer.with_suffix(".casadi")
    model.saveToText(str(numbers))
    subprocess.run([tracer, numbers, function], check=True, capture_output=True, text=True)
    return casadi.Function.load(str(function))
