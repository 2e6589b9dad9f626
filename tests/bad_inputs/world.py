"""What the tables of bad input are made of: a world to try them on, a case, and short ways to write common ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

import kinetree as kt
from tests.test_fields import RICH

NAN, INF = float("nan"), float("inf")
PENDULUM = "<mujoco><worldbody><body name='b'><joint name='j'/><geom size='1'/></body></worldbody>{}</mujoco>"
OTHER = """<mujoco><worldbody><body><joint type="slide"/><geom size=".1"/><body name="pole"><joint axis="0 1 0"/>
<geom size=".1"/></body></body></worldbody></mujoco>"""


class World:
    """What a case may use: a rich model with its data, another model, and a folder for files."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.model = kt.load(RICH)
        self.data = kt.Data(self.model)
        self.mj = mujoco.MjModel.from_xml_string(RICH)
        self.other = kt.load(OTHER)
        self.other_data = kt.Data(self.other)
        kt.fwd_position(self.model, self.data)

    def file(self, name: str, contents: bytes | str) -> Path:
        path = self.folder / name
        path.write_bytes(contents.encode() if isinstance(contents, str) else contents)
        return path

    def binary(self, name: str = "model.mjb") -> bytes:
        mujoco.mj_saveModel(self.mj, str(self.folder / name), None)
        return (self.folder / name).read_bytes()

    def damaged(self, field: str, index: Any, value: float) -> kt.Model:
        """Load a MuJoCo model with one wrong number."""
        getattr(self.mj, field)[index] = value
        return kt.load(self.mj)

    def option(self, name: str, value: Any) -> kt.Model:
        setattr(self.mj.opt, name, value)
        return kt.load(self.mj)

    def trajectory(self, **changes: Any) -> Path:
        frames = {"model_name": "m", "time": np.zeros(3), "qpos": np.zeros((3, 2)), "qvel": np.zeros((3, 2)), **changes}
        return kt.save_trajectory(self.folder / "run.npz", **frames)

    def archive(self, **arrays: Any) -> kt.Trajectory:
        with (self.folder / "other.npz").open("wb") as file:
            np.savez(file, **arrays)
        return kt.load_trajectory(self.folder / "other.npz")


class Case(NamedTuple):
    label: str
    act: Callable[[World], Any]
    error: type[BaseException]
    message: str


def put(path: str, value: Any) -> Callable[[World], None]:
    """Assign: put("data.qpos", 3) is data.qpos = 3."""
    *owners, name = path.split(".")

    def act(world: World) -> None:
        target: Any = world
        for owner in owners:
            target = getattr(target, owner)
        setattr(target, name, value)

    return act


def remove(path: str) -> Callable[[World], None]:
    *owners, name = path.split(".")

    def act(world: World) -> None:
        target: Any = world
        for owner in owners:
            target = getattr(target, owner)
        delattr(target, name)

    return act


def load(source: Any, **options: Any) -> Callable[[World], Any]:
    return lambda world: kt.load(source, **options)


def load_file(name: str, contents: bytes | str) -> Callable[[World], Any]:
    return lambda world: kt.load(world.file(name, contents))


def damaged(field: str, index: Any, value: float) -> Callable[[World], Any]:
    return lambda world: world.damaged(field, index, value)


def option(name: str, value: Any) -> Callable[[World], Any]:
    return lambda world: world.option(name, value)


def damage(field: str, index: Any, value: float, message: str) -> Case:
    """A compiled model with one wrong number is refused."""
    return Case(f"{field}[{index}] = {value}", damaged(field, index, value), kt.ModelError, message)


def feature(field: str, index: Any, value: int, message: str) -> Case:
    """A type that kinetree lacks is refused by name."""
    return Case(f"{field}[{index}] = {value}", damaged(field, index, value), kt.UnsupportedFeatureError, message)


def feature_option(name: str, value: int, message: str) -> Case:
    """An option that kinetree lacks is refused by name."""
    return Case(f"option {name} = {value}", option(name, value), kt.UnsupportedFeatureError, message)
