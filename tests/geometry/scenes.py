"""Scenes of geoms for the tests of collision, and the comparison of our contacts with MuJoCo's."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import kinetree as kt
from kinetree.conformance.poses import square_quaternion
from kinetree.conformance.states import random_quaternion
from kinetree.conformance.tolerances import CONTACT_CLOSED_FORM, CONTACT_CONVEX, KINEMATICS
from kinetree.geometry.convex import convex
from kinetree.geometry.driver import PAIRS, collision
from kinetree.geometry.hfield import terrain
from kinetree.types import GeomType

SIZES = {
    "plane": "1 1 1", "sphere": ".11", "capsule": ".07 .15", "ellipsoid": ".1 .15 .07", "cylinder": ".1 .12",
    "box": ".1 .07 .15",
}  # fmt: skip
OTHER_SIZES = {
    "sphere": ".13",
    "capsule": ".05 .2",
    "ellipsoid": ".06 .08 .2",
    "cylinder": ".12 .05",
    "box": ".12 .1 .08",
}
CONVEX_NORMAL = 5e-3  # normals of curved surfaces whose depth is found to opt.ccd_tolerance
GEOMETRY = ("dist", "pos", "frame")
PARAMETERS = (
    "includemargin", "friction", "solref", "solreffriction", "solimp", "adhesion", "surfacevel", "dim", "geom", "exclude",
)  # fmt: skip


def vertices(count: int, seed: int = 0) -> str:
    """Random points on an ellipsoid, as the attribute of a mesh."""
    points = np.random.default_rng(seed).normal(size=(count, 3))
    points *= np.array([0.1, 0.15, 0.12]) / np.linalg.norm(points, axis=1)[:, None]
    return " ".join(f"{x:.6f}" for x in points.ravel())


def prism(sides: int) -> str:
    """Points of an upright prism whose ends have that many corners, on a circle."""
    angles = np.arange(sides) * 2 * np.pi / sides + 0.1
    points = [(0.1 * np.cos(t), 0.12 * np.sin(t), z) for z in (-0.07, 0.07) for t in angles]
    return " ".join(f"{x:.6f}" for x in np.ravel(points))


def geom(kind: str, name: str, sizes: dict[str, str] = SIZES, attributes: str = "") -> str:
    """A geom of a type."""
    shape = 'mesh="shape"' if kind == "mesh" else f'size="{sizes[kind]}"'
    return f'<geom name="{name}" type="{kind}" {shape} {attributes}/>'


def two_geoms(first: str, second: str, attributes: str = "", contact: str = "", mesh: str = "") -> mujoco.MjModel:
    """Two geoms, each on a free body, or the first on the world if it is a plane."""
    one, other = geom(first, "a", SIZES, attributes), geom(second, "b", OTHER_SIZES, attributes)
    if first != "plane":
        one = f'<body name="a"><freejoint/>{one}</body>'
    assets = f'<asset><mesh name="shape" vertex="{mesh or vertices(20)}"/></asset>'
    return mujoco.MjModel.from_xml_string(
        f'<mujoco model="{first} {second}">{assets}<worldbody>{one}<body name="b"><freejoint/>{other}</body></worldbody>'
        f"<contact>{contact}</contact></mujoco>"
    )


def about_an_axis(rng: np.random.Generator) -> np.ndarray:
    """A rotation about one of the axes."""
    half = rng.uniform(0, np.pi)
    quat = np.zeros(4)
    quat[0], quat[rng.integers(1, 4)] = np.cos(half), np.sin(half)
    return quat


ROTATIONS = {"any": random_quaternion, "right angles": square_quaternion, "about an axis": about_an_axis}


def random_pose(rng: np.random.Generator, rotation: str) -> np.ndarray:
    """Seven numbers of a pose near the origin; it may be at it, or on one of the planes of the axes."""
    place = rng.uniform(-1, 1, 3) * rng.choice([0.3, 0.12, 0.05, 0.0], p=[0.4, 0.4, 0.15, 0.05])
    if rotation != "any" and rng.uniform() < 0.3:
        place[rng.integers(3)] = 0.0
    return np.concatenate((place, ROTATIONS[rotation](rng)))


def both(mj: mujoco.MjModel) -> tuple[mujoco.MjData, kt.Model, kt.Data]:
    """Data of MuJoCo, our model and our data."""
    model = kt.load(mj)
    return mujoco.MjData(mj), model, kt.Data(model)


def detect(mj: mujoco.MjModel, theirs: mujoco.MjData, model: kt.Model, ours: kt.Data) -> None:
    """Contacts on both sides, from the poses of theirs: what is tested elsewhere is taken over from MuJoCo."""
    mujoco.mj_kinematics(mj, theirs)
    mujoco.mj_collision(mj, theirs)
    for name in ("geom_xpos", "geom_xmat", "xipos", "ximat"):
        getattr(ours, name)[:] = getattr(theirs, name)
    collision(model, ours)


def rows(data: Any, name: str) -> np.ndarray:
    """A member of all contacts, one row for each; data of either side."""
    values = getattr(data.contact, name) if isinstance(data, mujoco.MjData) else getattr(data, f"contact_{name}")
    out = np.asarray(values, float)
    return out.reshape(out.shape[0], -1) if out.size else np.zeros((0, 1))


def agree(theirs: mujoco.MjData, ours: kt.Data, what: str, ordered: bool = True) -> None:
    """Both sides have the same contacts, in the same order or in any, or a message with the first difference."""
    pairs = [rows(data, "geom").astype(int).tolist() for data in (ours, theirs)]
    assert pairs[0] == pairs[1], f"{what}: contacts {pairs[0]} against MuJoCo's {pairs[1]}"
    order = range(theirs.ncon) if ordered else _matching(theirs, ours)
    curved = [_is_convex(ours, pair) for pair in pairs[0]]
    for name in (*GEOMETRY, *PARAMETERS):
        tolerance = CONTACT_CLOSED_FORM if name in (*GEOMETRY, "surfacevel") else KINEMATICS
        got, wanted = rows(ours, name)[list(order)], rows(theirs, name)
        error = np.abs(got - wanted) / max(1.0, np.abs(wanted).max(initial=0.0))
        if name in (*GEOMETRY, "surfacevel"):
            error[curved] *= tolerance / (CONTACT_CONVEX if name != "frame" else CONVEX_NORMAL)
        if error.size and not error.max() <= tolerance:
            at = np.unravel_index(np.argmax(error), error.shape)
            raise AssertionError(f"{what}: {name}{[int(i) for i in at]} is {got[at]} against MuJoCo's {wanted[at]}")


def _is_convex(ours: kt.Data, pair: list[int]) -> bool:
    """Whether contacts of two geoms are found by iteration, to a tolerance."""
    kinds = sorted(int(ours.model.geom_type[geom]) for geom in pair)
    return PAIRS[GeomType(kinds[0]), GeomType(kinds[1])] in (convex, terrain)


def _matching(theirs: mujoco.MjData, ours: kt.Data) -> list[int]:
    """For each of their contacts, the nearest of ours that is still free."""
    here, there, free, order = rows(ours, "pos"), rows(theirs, "pos"), list(range(ours.ncon)), []
    for point in there:
        order.append(min(free, key=lambda k: np.linalg.norm(here[k] - point)))
        free.remove(order[-1])
    return order


# Contact bits with which only pairs that have a closed form meet.
BITS = {
    "plane": 'contype="7" conaffinity="0"', "sphere": 'contype="3" conaffinity="1"', "capsule": 'contype="1" conaffinity="1"',
    "box": 'contype="1" conaffinity="1"', "cylinder": 'contype="0" conaffinity="2"', "ellipsoid": 'contype="0" conaffinity="4"',
    "mesh": 'contype="0" conaffinity="4"',
}  # fmt: skip


def zoo(count: int = 3, attributes: str = "") -> mujoco.MjModel:
    """Two planes and a box on the world, geoms of every shape on free bodies, and two bodies of three geoms each."""

    def one(kind: str, name: str, sizes: dict[str, str] = SIZES, more: str = "") -> str:
        return geom(kind, name, sizes, f"{BITS[kind]} {attributes} {more}")

    bodies = [
        one(kind, f"{kind} {k}", SIZES if k % 2 else OTHER_SIZES)
        for k in range(count)
        for kind in ("sphere", "capsule", "box", "cylinder", "ellipsoid", "mesh")
    ]
    for k in range(2):
        kinds = enumerate(("box", "sphere", "capsule"))
        bodies.append("".join(one(kind, f"part {kind} {k}", SIZES, f'pos="{0.2 * i} 0 0"') for i, kind in kinds))
    free = "".join(f"<body><freejoint/>{geoms}</body>" for geoms in bodies)
    fixed = one("plane", "floor") + one("plane", "wall", SIZES, 'pos="-1 0 0" euler="0 70 0"')
    fixed += one("box", "step", SIZES, 'pos=".3 .3 0"')
    return mujoco.MjModel.from_xml_string(
        f'<mujoco model="zoo"><asset><mesh name="shape" vertex="{vertices(20)}"/></asset>'
        f"<worldbody>{fixed}{free}</worldbody></mujoco>"
    )


def scatter(mj: mujoco.MjModel, data: mujoco.MjData, rng: np.random.Generator, size: float = 0.8) -> None:
    """Put all free bodies into random poses above the floor."""
    for joint in np.flatnonzero(mj.jnt_type == mujoco.mjtJoint.mjJNT_FREE):
        at = mj.jnt_qposadr[joint]
        data.qpos[at : at + 3] = rng.uniform((-size, -size, 0.0), size)
        data.qpos[at + 3 : at + 7] = random_quaternion(rng)
