"""Two convex shapes in many poses: in which share of them kinetree finds the very contacts that MuJoCo finds.

`python -m kinetree.conformance.poses docs/convex.md` writes the page; a test holds the shares to their bounds.
A set of contacts is the same if it has as many contacts and each has its partner, nearer than a tolerance in place and depth.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np

from ..data import Data
from ..geometry.convex import convex
from ..geometry.distance import geom_distance
from ..geometry.driver import PAIRS
from ..io.load import load
from ..pipeline import collision, kinematics
from ..types import GeomType
from .states import random_quaternion
from .tolerances import CONTACT_CONVEX

COMMAND = "python -m kinetree.conformance.poses docs/convex.md"
SIZES = {
    "sphere": ".11", "capsule": ".07 .15", "ellipsoid": ".1 .15 .07", "cylinder": ".1 .12", "box": ".1 .07 .15", "stone": "",
    "prism": "",
}  # fmt: skip
"""Shapes; the last two are meshes."""
POSES = {
    "shallow": "any orientation, pushed into each other by up to 3 mm",
    "deep": "any orientation and place in which they overlap",
    "flat": "one lies on the other, tilted by thousandths, up to 3 mm deep",
    "square": "axes along axes, pushed into each other by up to 3 mm",
}
LEAST, LEAST_CURVED = 0.98, {"shallow": 0.92, "deep": 0.95, "flat": 0.92, "square": 0.93}
"""The share of poses with the same contacts below which a test fails; by kind of pose where a cylinder takes part, of which
the nearest points are known to few digits, and with them the edges along which several contacts are laid."""
DEPTH, TILT = 3e-3, 3e-3


class Row(NamedTuple):
    """What one pair of shapes gives in one kind of pose."""

    pair: str
    kind: str
    closed_form: bool
    touching: int  # poses in which MuJoCo finds contacts
    same: float  # share of these with the same set
    counts: float  # share of these with as many contacts
    distance: float  # largest difference of `geom_distance` from MuJoCo's [m]
    missed: int  # poses in which only one side finds contacts

    @property
    def bound(self) -> float:
        """The least share that is accepted."""
        curved = not self.closed_form and "cylinder" in self.pair.split()
        return LEAST_CURVED[self.kind] if curved else LEAST


def stone(count: int = 30) -> np.ndarray:
    """Random points on an ellipsoid: a hull of triangles."""
    points = np.random.default_rng(0).normal(size=(count, 3))
    return points * np.array([0.1, 0.15, 0.12]) / np.linalg.norm(points, axis=1)[:, None]


def prism(sides: int = 6) -> np.ndarray:
    """An upright prism: a hull of larger polygons."""
    angles = np.arange(sides) * 2 * np.pi / sides + 0.1
    return np.array([(0.1 * np.cos(t), 0.12 * np.sin(t), z) for z in (-0.07, 0.07) for t in angles])


def scene(first: str, second: str) -> mujoco.MjModel:
    """Two free bodies of one geom each."""

    def mesh(name: str, points: np.ndarray) -> str:
        return f'<mesh name="{name}" vertex="{" ".join(f"{x:.6f}" for x in points.ravel())}"/>'

    def body(kind: str) -> str:
        form = f'type="{kind}" size="{SIZES[kind]}"' if SIZES[kind] else f'type="mesh" mesh="{kind}"'
        return f"<body><freejoint/><geom {form}/></body>"

    return mujoco.MjModel.from_xml_string(
        f'<mujoco model="{first} {second}"><asset>{mesh("stone", stone())}{mesh("prism", prism())}</asset>'
        f"<worldbody>{body(first)}{body(second)}</worldbody></mujoco>"
    )


def square_quaternion(rng: np.random.Generator) -> np.ndarray:
    """A rotation that takes axes to axes."""
    matrix = np.zeros((3, 3))
    matrix[range(3), rng.permutation(3)] = rng.choice([-1.0, 1.0], 3)
    matrix[2] = np.cross(matrix[0], matrix[1])
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, matrix.ravel())
    return quat


def _turn(kind: str, rng: np.random.Generator) -> np.ndarray:
    if kind == "square":
        return square_quaternion(rng)
    if kind != "flat":
        return random_quaternion(rng)
    half = rng.uniform(0, np.pi)
    turn = np.array([np.cos(half), *(TILT * rng.normal(size=2)), np.sin(half)])
    return turn / np.linalg.norm(turn)


def place(mj: mujoco.MjModel, data: mujoco.MjData, kind: str, rng: np.random.Generator) -> None:
    """Put both bodies into a pose of a kind; geoms are in their places then."""
    data.qpos[:7] = [0, 0, 0, *_turn(kind, rng)]
    data.qpos[7:] = [0, 0, 0, *_turn(kind, rng)]
    if kind == "deep":
        data.qpos[7:10] = rng.uniform(-0.15, 0.15, 3)
        mujoco.mj_kinematics(mj, data)
        return
    way = rng.normal(size=3) if kind == "shallow" else np.array([0.0, 0.0, 1.0])
    aside = np.array([*rng.uniform(-0.04, 0.04, 2), 0.0]) if kind != "shallow" else np.zeros(3)
    way, wanted = way / np.linalg.norm(way), -DEPTH * rng.uniform(0.05, 1.0)
    reach = 1.0
    for _ in range(60):  # from afar, by the distance that is left: they never meet too early
        data.qpos[7:10] = aside + reach * way
        mujoco.mj_kinematics(mj, data)
        left = mujoco.mj_geomDistance(mj, data, 0, 1, 10.0, None) - wanted
        if abs(left) < 1e-2 * DEPTH:
            break
        reach -= left


def difference(theirs: mujoco.MjData, ours: Data) -> float:
    """Largest difference of places and depths between two sets of contacts; infinite if their sizes differ."""
    if theirs.ncon != ours.ncon:
        return np.inf
    free, worst = list(range(ours.ncon)), 0.0
    for point, depth in zip(theirs.contact.pos, theirs.contact.dist, strict=True):
        near = min(free, key=lambda k: float(np.linalg.norm(ours.contact_pos[k] - point)))
        free.remove(near)
        worst = max(worst, float(np.abs(ours.contact_pos[near] - point).max()), abs(ours.contact_dist[near] - depth))
    return worst


def compare(first: str, second: str, kind: str, count: int, seed: int = 0) -> Row:
    """Contacts of one pair on both sides, in so many poses of a kind."""
    mj, rng = scene(first, second), np.random.default_rng(seed)
    model, theirs = load(mj), mujoco.MjData(mj)
    ours = Data(model)
    touching = same = counts = missed = 0
    distance = 0.0
    for _ in range(count):
        place(mj, theirs, kind, rng)
        mujoco.mj_collision(mj, theirs)
        ours.qpos = theirs.qpos
        kinematics(model, ours)
        collision(model, ours)
        apart = mujoco.mj_geomDistance(mj, theirs, 0, 1, 1.0, None) - geom_distance(model, ours, 0, 1, 1.0)[0]
        distance = max(distance, abs(apart))
        missed += (theirs.ncon > 0) != (ours.ncon > 0)
        if theirs.ncon and ours.ncon:
            touching += 1
            counts += theirs.ncon == ours.ncon
            same += difference(theirs, ours) <= CONTACT_CONVEX
    types = sorted(GeomType[kind.upper()] if SIZES[kind] else GeomType.MESH for kind in (first, second))
    closed = PAIRS[types[0], types[1]] is not convex
    most = max(touching, 1)
    return Row(f"{first} {second}", kind, closed, touching, same / most, counts / most, distance, missed)


def rows(count: int) -> Iterator[Row]:
    """The whole table."""
    for first, second in itertools.combinations_with_replacement(SIZES, 2):
        for kind in POSES:
            yield compare(first, second, kind, count)


PAGE = """# Convex shapes against MuJoCo, pose by pose

This page is generated by `{command}`.

Two shapes are put into {count} random poses of four kinds. In each, the contacts of kinetree are the same as MuJoCo's if
there are as many of them, and each has its partner within {tolerance:g} m in place and depth. Both sides stop iterations at
`ccd_tolerance` = 1e-6 m. "distance" is the largest difference of `kt.geom_distance` from `mj_geomDistance` [m], which in these
poses is the depth. Stones are meshes of triangles, prisms meshes of larger polygons. A star marks pairs with a closed form,
for which nothing iterates.

| poses | |
|---|---|
{kinds}

| pair | {names} | distance |
|---|{rules}---|
{table}

Sets differ where a cylinder takes part: nearest points on its surface are known to three or four digits, and on them hangs
which edges and faces the several contacts are laid along. The depth itself agrees. On flat faces, rounding
chooses between quadrilaterals of equal size, and it may end the search for the depth a triangle too early, on either side.
{missed} of all {total} poses touch on one side only.
"""


def page(count: int) -> str:
    """The table in Markdown."""
    by_pair: dict[str, list[Row]] = {}
    for row in rows(count):
        by_pair.setdefault(row.pair, []).append(row)
    lines = [
        f"| {pair}{' *' if found[0].closed_form else ''} | {' | '.join(f'{row.same:.1%}' for row in found)} "
        f"| {max(row.distance for row in found):.0e} |"
        for pair, found in by_pair.items()
    ]
    return PAGE.format(
        command=COMMAND, count=count, tolerance=CONTACT_CONVEX, names=" | ".join(POSES), rules="---|" * len(POSES),
        kinds="\n".join(f"| {kind} | {meaning} |" for kind, meaning in POSES.items()), table="\n".join(lines),
        missed=sum(row.missed for found in by_pair.values() for row in found),
        total=count * sum(len(found) for found in by_pair.values()),
    )  # fmt: skip


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(300), encoding="utf-8", newline="\n")
