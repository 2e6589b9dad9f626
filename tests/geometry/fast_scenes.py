"""Scenes in which geoms are fast, for the tests of speculative contacts, and the judge of what they find."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import kinetree as kt
from kinetree.conformance.states import random_quaternion
from kinetree.types import GeomType, JointType
from tests.geometry.scenes import geom, rows, vertices

STEP = 0.01  # s
MOVING = ("sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")
NUMBERS = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3, "mesh": 0}  # of a size
EXACT = 1e-9  # m; of a direction: 1e-9
CURVED = 1e-6  # m: opt.ccd_tolerance, to which ellipsoids and cylinders are found
HAIR, HAIRS = 1e-9, 700  # by how much at most MuJoCo's own state is changed to see what it is sure of, and how often
ALLOWED = 3.0  # how much farther from MuJoCo than MuJoCo from itself


def option(flags: str = "", options: str = "") -> str:
    """The options of a scene with speculative contacts."""
    return f'<option timestep="{STEP}" {options}><flag speculative="enable" {flags}/></option>'


def two_thrown(first: str, second: str, attributes: str = "", flags: str = "", options: str = "") -> mujoco.MjModel:
    """Two geoms of some types, each on a free body, or the first on the world if it is a plane."""
    one, other = geom(first, "a", attributes=attributes), geom(second, "b", attributes=attributes)
    if first != "plane":
        one = f'<body name="a"><freejoint/>{one}</body>'
    return mujoco.MjModel.from_xml_string(
        f'<mujoco model="{first} {second}">{option(flags, options)}'
        f'<asset><mesh name="shape" vertex="{vertices(20)}"/></asset><worldbody>{one}<body name="b"><freejoint/>'
        f"{other}</body></worldbody></mujoco>"
    )


def throw_together(
    mj: mujoco.MjModel, data: mujoco.MjData, rng: np.random.Generator, square: bool, spin: float
) -> None:
    """A random state in which two geoms fly at each other. square: neither is turned, or turns."""
    for k in range(mj.njnt):
        data.qpos[7 * k : 7 * k + 3] = rng.uniform(-0.4, 0.4, 3)
        data.qpos[7 * k + 3 : 7 * k + 7] = [1.0, 0.0, 0.0, 0.0] if square else random_quaternion(rng)
        data.qvel[6 * k : 6 * k + 3] = rng.normal(size=3) * 20.0
        data.qvel[6 * k + 3 : 6 * k + 6] = 0.0 if square else rng.normal(size=3) * spin
    if mj.njnt == 1:
        data.qpos[2] = rng.uniform(0.1, 1.0)
        data.qvel[2] -= rng.uniform(0.0, 60.0)
    else:
        data.qvel[:3] += (data.qpos[7:10] - data.qpos[:3]) * rng.uniform(0.0, 100.0)


def _list(values: Any) -> str:
    return " ".join(f"{x:.5f}" for x in np.atleast_1d(values))


def _some_geom(rng: np.random.Generator, name: str) -> str:
    """A geom of a random shape with random parameters of contact, somewhere near the origin of its body."""
    kind = MOVING[rng.integers(len(MOVING))]
    shape = 'mesh="shape"' if kind == "mesh" else f'size="{_list(rng.uniform(0.01, 0.15, NUMBERS[kind]))}"'
    out = [f'margin="{rng.uniform(0, 0.02):.4f}"'] if rng.random() < 0.3 else []
    out += [f'gap="{rng.uniform(0, 0.05):.4f}"'] if rng.random() < 0.2 else []
    if rng.random() < 0.3:
        out.append(f'solref="{rng.uniform(0.01, 0.05):.3f} {rng.uniform(0.5, 1.5):.2f}"')
    elif rng.random() < 0.15:
        out.append(f'solref="-{rng.uniform(100, 5000):.1f} -{rng.uniform(1, 100):.2f}"')
    out += ['priority="1"'] if rng.random() < 0.2 else []
    out += ['contype="2" conaffinity="1"'] if rng.random() < 0.2 else []
    out += [f'condim="{rng.choice([1, 4, 6])}"'] if rng.random() < 0.2 else []
    out += [f'adhesion="{rng.uniform(0.1, 5):.2f}"'] if rng.random() < 0.1 else []
    place = f'pos="{_list(rng.normal(size=3) * 0.05)}" quat="{_list(random_quaternion(rng))}"'
    return f'<geom name="{name}" type="{kind}" {shape} {place} {" ".join(out)}/>'


def _body(rng: np.random.Generator, spread: float, content: str) -> str:
    return (
        f'<body pos="{_list(rng.uniform(-spread, spread, 3))}" quat="{_list(random_quaternion(rng))}">{content}</body>'
    )


def _chain(rng: np.random.Generator, root: str, name: str) -> str:
    """Three links whose axes are in no plane; one has two joints."""
    axis = [f'axis="{_list(rng.normal(size=3))}" pos="{_list(rng.normal(size=3) * 0.05)}"' for _ in range(4)]
    last = _body(rng, 0.3, f"<joint {axis[3]}/>{_some_geom(rng, name + '2')}")
    middle = f'<joint {axis[1]}/><joint type="slide" {axis[2]}/>{_some_geom(rng, name + "1")}{last}'
    return _body(rng, 0.8, f'<joint type="{root}" {axis[0]}/>{_some_geom(rng, name + "0")}{_body(rng, 0.3, middle)}')


def fast_scene(seed: int, flags: str = "", options: str = "") -> mujoco.MjModel:
    """Free bodies, two chains, thin walls, a floor, a mocap body with a pendulum, an explicit pair and an exclusion."""
    rng = np.random.default_rng(seed)
    parts = ['<geom type="plane" size="1 1 1" pos="0 0 -.8"/>']
    parts.append('<geom name="wall" type="box" size="1 1 .004" pos="0 0 -.5" quat="1 .1 0 0"/>')
    for k in range(4):
        size, place = [*rng.uniform(0.05, 0.5, 2), 0.003], rng.uniform(-0.8, 0.8, 3)
        turn = _list(random_quaternion(rng))
        parts.append(f'<geom name="w{k}" type="box" size="{_list(size)}" pos="{_list(place)}" quat="{turn}"/>')
    for k in range(6):
        other = _some_geom(rng, f"g{k}") if rng.random() < 0.3 else ""
        body = _body(rng, 1.0, f"<freejoint/>{_some_geom(rng, f'f{k}')}{other}")
        parts.append(body.replace("<body", f'<body name="f{k}"', 1))
    parts += [_chain(rng, "hinge", "c"), _chain(rng, "ball", "b")]
    pendulum = _body(rng, 0.2, f'<joint axis="1 1 0"/>{_some_geom(rng, "m1")}')
    parts.append(_body(rng, 0.5, _some_geom(rng, "m0") + pendulum).replace("<body", '<body mocap="true"', 1))
    contact = '<exclude body1="f0" body2="f1"/><pair geom1="f3" geom2="c0" gap=".01"/>'
    contact += '<pair geom1="f2" geom2="wall" margin="0.004" solref="0.03 0.8" condim="4"/>'
    return mujoco.MjModel.from_xml_string(
        f'<mujoco model="fast {seed}">{option(flags, options)}<asset><mesh name="shape" vertex="{vertices(20)}"/></asset>'
        f"<worldbody>{''.join(parts)}</worldbody><contact>{contact}</contact></mujoco>"
    )


def throw(mj: mujoco.MjModel, data: mujoco.MjData, rng: np.random.Generator, spin: float = 20.0) -> None:
    """A random state of a scene, some of whose bodies are fast."""
    mujoco.mj_resetData(mj, data)
    for q, v, kind in zip(mj.jnt_qposadr, mj.jnt_dofadr, mj.jnt_type.astype(int), strict=True):
        if kind == JointType.FREE:
            data.qpos[q : q + 3] = rng.uniform(-1, 1, 3)
            data.qvel[v : v + 3] = rng.normal(size=3) * rng.choice([0, 10, 50, 120])
            q, v = q + 3, v + 3
        if kind <= JointType.BALL:
            data.qpos[q : q + 4] = random_quaternion(rng)
            data.qvel[v : v + 3] = rng.normal(size=3) * spin
        else:
            data.qpos[q], data.qvel[v] = rng.normal(), rng.normal() * spin


def take_over(model: kt.Model, ours: kt.Data, theirs: mujoco.MjData) -> None:
    """MuJoCo's state in ours, and a forward pass."""
    for name in ("qpos", "qvel", "mocap_pos", "mocap_quat", "qacc_warmstart"):
        getattr(ours, name)[:] = getattr(theirs, name)
    kt.forward(model, ours)


def _geometry(data: Any) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Pairs of geoms in the order of the contacts; their distances (against 1 m and more), places and normals, one row each."""
    dist = rows(data, "dist").reshape(-1, 1)
    numbers = np.hstack((dist / np.maximum(1.0, np.abs(dist)), rows(data, "pos"), rows(data, "frame")[:, :3]))
    return [tuple(pair) for pair in rows(data, "geom").astype(int).tolist()], numbers


def _errors(wanted: np.ndarray, pairs: list[tuple[int, ...]], got: np.ndarray) -> np.ndarray:
    """For each contact wanted the difference from the nearest one of the same two geoms."""
    out = np.zeros(len(wanted))
    for k, row in enumerate(wanted):
        same = [j for j, pair in enumerate(pairs) if pair == pairs[k]]
        out[k] = min(np.abs(got[j] - row).max() for j in same)
    return out


def judge(mj: mujoco.MjModel, theirs: mujoco.MjData, ours: kt.Data, what: str) -> int:
    """Our contacts are MuJoCo's, pair by pair in its order; each is as near as EXACT, or as MuJoCo's own a hair away.

    Returns how many are not exact, or not in their place among those of their pair.
    """
    pairs, wanted = _geometry(theirs) if theirs.ncon else ([], np.zeros((0, 7)))
    if not theirs.ncon or not ours.ncon:
        assert ours.ncon == theirs.ncon, f"{what}: {ours.ncon} contacts against MuJoCo's {theirs.ncon}"
        return 0
    own, got = _geometry(ours)
    assert own == pairs, f"{what}: contacts {own} against MuJoCo's {pairs}"
    errors = _errors(wanted, pairs, got)
    round_ones = np.isin(mj.geom_type[np.array(pairs)], (GeomType.ELLIPSOID, GeomType.CYLINDER)).any(axis=1)
    doubtful = errors > EXACT
    unexplained, spread, run = doubtful.copy(), np.zeros(len(wanted)), 0
    rng, other = np.random.default_rng(0), mujoco.MjData(mj)
    other.mocap_pos[:], other.mocap_quat[:] = theirs.mocap_pos, theirs.mocap_quat
    while unexplained.any() and run < HAIRS:
        size = HAIR * 10.0 ** -(run % 7)
        other.qpos[:], other.qvel[:] = theirs.qpos, theirs.qvel * (1.0 + size * rng.normal(size=mj.nv))
        mujoco.mj_integratePos(mj, other.qpos, size * rng.normal(size=mj.nv), 1.0)
        mujoco.mj_fwdPosition(mj, other)
        again = _geometry(other) if other.ncon else ([], wanted)
        if again[0] == pairs:
            spread = np.maximum(spread, _errors(wanted, pairs, again[1]))
        unexplained, run = doubtful & (errors > np.where(round_ones, CURVED, EXACT) + ALLOWED * spread), run + 1
    if unexplained.any():
        k = int(np.argmax(unexplained))
        raise AssertionError(
            f"{what}: contact {k} of geoms {pairs[k]} is {got[k].tolist()} against MuJoCo's {wanted[k].tolist()}; "
            f"MuJoCo's own differ by {spread[k]}"
        )
    return int((np.abs(got - wanted).max(axis=1) > EXACT).sum())
