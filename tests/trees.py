"""Random off-plane trees as MJCF, for tests that must not depend on a tidy model.

Nothing is parallel and nothing is at an origin: random body frames, joint axes and anchors, centres of mass off the
frame, rotated inertias, several joints on a body, ball and free joints, branching, and massless bodies between others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

JOINTS = ("free", "ball", "slide", "hinge")
DOFS = {"free": 6, "ball": 3, "slide": 1, "hinge": 1}
MAX_DOFS = 6
GEOMS = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3}
HARD = ("ellipsoid", "cylinder")  # these do not collide: most pairs with them have no closed form
CAMERA_MODES = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")


def random_tree(seed: int, nbody: int = 10, joints: Sequence[str] = JOINTS, massless: float = 0.2) -> str:
    """MJCF of a random forest of `nbody` moving bodies, the same for the same arguments.

    joints: the joint types to draw from. massless: the share of bodies without mass of their own.
    """
    unknown = set(joints) - set(JOINTS)
    if unknown or not joints:
        raise ValueError(f"joints must be some of {JOINTS}, got {tuple(joints)}")
    rng = np.random.default_rng(seed)
    children: list[list[int]] = [[] for _ in range(nbody + 1)]
    for body in range(1, nbody + 1):
        # Mostly chains, so that trees are deep, with branches at random ancestors and now and then a new root.
        parent = body - 1 if rng.uniform() < 0.6 else int(rng.integers(0, body))
        children[parent].append(body)
    bodies = "".join(_body(child, children, True, joints, massless, nbody, rng) for child in children[0])
    return (
        f'<mujoco model="tree{seed}"><compiler angle="radian"/><worldbody>\n'
        f'{_camera("world", nbody, rng)}<site name="world" {_pose(rng)}/>\n{bodies}</worldbody></mujoco>\n'
    )


def standing_tree(seed: int, nbody: int = 8, solver: str = "Newton", cone: str = "pyramidal") -> str:
    """A random forest over a floor, with every kind of constraint: its parts touch the floor and each other, joints have limits
    and friction, and a body of the middle hangs on the world.

    Joints have armature and damping: without any, light links spin so fast that rounding decides where they end.
    """
    rng = np.random.default_rng(seed)
    condim = (1, 3, 4, 6)[seed % 4]
    head = (
        f'<option solver="{solver}" cone="{cone}" impratio="{rng.uniform(1, 3):.2f}"/><default>'
        f'<joint armature="0.05" damping="0.2" frictionloss="{rng.uniform(0, 0.1):.3f}"/>'
        f'<geom condim="{condim}" friction="{rng.uniform(0.2, 1.2):.2f} 0.02 0.01" margin="{0.01 * (seed % 2)}"/></default>'
        '<worldbody><geom name="floor" type="plane" size="5 5 0.1" pos="0 0 -0.6"/>'
    )
    connect = f'<equality><connect body1="b{1 + nbody // 2}" anchor="{_vector(rng, 0.1)}"/></equality>'
    tree = random_tree(seed, nbody).replace("<worldbody>", head, 1)
    return tree.replace("</mujoco>", f"{connect}</mujoco>")


def _body(
    body: int,
    children: list[list[int]],
    root: bool,
    joints: Sequence[str],
    massless: float,
    nbody: int,
    rng: np.random.Generator,
) -> str:
    lines = [f'<body name="b{body}" {_pose(rng)}>']
    types = _joint_types(root, joints, rng)
    lines += [_joint(f"j{body}_{k}", kind, rng) for k, kind in enumerate(types)]
    if rng.uniform() >= massless:
        lines.append(_mass(rng))
    elif types:
        # A jointed body may only be massless when something massive is welded to it.
        lines.append(f'<body name="w{body}" {_pose(rng)}>{_inertial(rng)}<site {_pose(rng)}/></body>')
    lines.append(_geom(rng, mass="0"))
    lines.append(f'<site name="s{body}" {_pose(rng)}/>')
    if rng.uniform() < 0.4:
        lines.append(_camera(f"c{body}", nbody, rng, forbidden=body))
    if rng.uniform() < 0.3:
        mode = CAMERA_MODES[int(rng.integers(0, 3))]
        lines.append(f'<light mode="{mode}" pos="{_vector(rng)}" dir="{_vector(rng)}"/>')
    lines += [_body(child, children, False, joints, massless, nbody, rng) for child in children[body]]
    return "\n".join(lines) + "</body>\n"


def _joint_types(root: bool, joints: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Up to three joints, six dofs at most; a free joint stands alone on a root, and only slides may follow a ball."""
    if root and "free" in joints and (rng.uniform() < 0.5 or set(joints) == {"free"}):
        return ["free"]
    others = [kind for kind in joints if kind != "free"]
    if not others:
        return []
    count = int(rng.choice([0, 1, 2, 3], p=[0.1, 0.45, 0.3, 0.15]))
    types: list[str] = []
    for kind in rng.choice(others, size=max(count, int(root))):
        if "ball" in types and kind != "slide":
            continue
        if sum(DOFS[t] for t in types) + DOFS[str(kind)] <= MAX_DOFS:
            types.append(str(kind))
    return types


def _joint(name: str, kind: str, rng: np.random.Generator) -> str:
    if kind == "free":
        return f'<joint name="{name}" type="free"/>'
    attributes = f'pos="{_vector(rng, 0.1)}"'
    if kind != "ball":
        attributes += f' axis="{_vector(rng)}" ref="{rng.uniform(-0.5, 0.5):.4f}"'
    if rng.uniform() < 0.3:
        attributes += ' range="0 2"' if kind == "ball" else ' range="-1.1 1.3"'
    return f'<joint name="{name}" type="{kind}" {attributes}/>'


def _mass(rng: np.random.Generator) -> str:
    return _inertial(rng) if rng.uniform() < 0.5 else _geom(rng) + _geom(rng)


def _inertial(rng: np.random.Generator) -> str:
    mass = rng.uniform(0.3, 3.0)
    # The diagonal of a solid box, so that the triangle inequality holds.
    squares = rng.uniform(0.05, 0.3, size=3) ** 2
    inertia = mass / 12 * (squares.sum() - squares)
    return f'<inertial {_pose(rng)} mass="{mass:.4f}" diaginertia="{_join(inertia, 8)}"/>'


def _geom(rng: np.random.Generator, mass: str | None = None) -> str:
    kind = str(rng.choice(list(GEOMS)))
    size = _join(rng.uniform(0.02, 0.15, size=GEOMS[kind]))
    weight = f' mass="{mass}"' if mass is not None else ""
    bits = ' contype="0" conaffinity="0"' if kind in HARD else ""
    return f'<geom type="{kind}" size="{size}" {_pose(rng)}{weight}{bits}/>'


def _camera(name: str, nbody: int, rng: np.random.Generator, forbidden: int = 0) -> str:
    mode = str(rng.choice(CAMERA_MODES))
    target = int(rng.integers(1, nbody + 1))
    if target == forbidden or not mode.startswith("target"):
        return f'<camera name="{name}" mode="{"fixed" if mode.startswith("target") else mode}" {_pose(rng)}/>'
    return f'<camera name="{name}" mode="{mode}" target="b{target}" {_pose(rng)}/>'


def _pose(rng: np.random.Generator) -> str:
    quat = rng.normal(size=4)
    return f'pos="{_vector(rng, 0.3)}" quat="{_join(quat / np.linalg.norm(quat))}"'


def _vector(rng: np.random.Generator, scale: float = 1.0) -> str:
    return _join(scale * rng.normal(size=3))


def _join(values: np.ndarray, digits: int = 4) -> str:
    return " ".join(f"{value:.{digits}f}" for value in values)
