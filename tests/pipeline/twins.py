"""Pairs of models of the same sizes, so that a Data fits both, which differ in what leads kernels from place to place."""

from __future__ import annotations

from collections.abc import Sequence


def mechanism(parents: Sequence[int], more: str = "", joint: str = "") -> str:
    """A tree of hinges by the parent of each body, -1 for the world; most of them are beyond their limits at qpos 0.3."""

    def body(i: int) -> str:
        children = "".join(body(k) for k, parent in enumerate(parents) if parent == i)
        return (
            f'<body name="b{i}" pos="{0.1 + 0.05 * i} .1 {0.05 * i}"><joint name="j{i}" axis="{0.3 * i} 1 .2" '
            f'limited="true" range="-.1 {0.1 + 0.05 * i}" {joint}/><geom name="g{i}" size=".05" mass="{1 + i}" contype="0" '
            f'conaffinity="0"/><site name="s{i}" pos=".02 .03 {0.1 * i}"/>{children}</body>'
        )

    bodies = "".join(body(k) for k, parent in enumerate(parents) if parent == -1)
    return f'<mujoco><compiler angle="radian"/><worldbody>{bodies}</worldbody>{more}</mujoco>'


def bodies_apart(shapes: Sequence[str], more: str = "", options: str = "") -> str:
    """Free bodies side by side, each in the floor and in the next one; one shape for each."""
    bodies = "".join(
        f'<body name="b{i}" pos="{0.18 * i} 0 .09"><freejoint/><geom name="g{i}" {shape}/></body>'
        for i, shape in enumerate(shapes)
    )
    return (
        f'<mujoco>{options}<asset><mesh name="t" vertex="0 0 0 .2 0 0 0 .2 0 0 0 .2 .2 .2 .1"/>'
        '<hfield name="h" nrow="3" ncol="3" size="1 1 .1 .1" elevation="0 1 0 1 0 1 0 1 0"/></asset>'
        f'<worldbody><geom name="floor" type="plane" size="2 2 1"/>{bodies}</worldbody>{more}</mujoco>'
    )


def pulled(points: str) -> str:
    """A mechanism with a tendon through some points, at its limit, that a motor pulls."""
    tendon = f'<tendon><spatial name="t" limited="true" range="0 .1" stiffness="20">{points}</spatial></tendon>'
    return mechanism((-1, 0, 1, 0), tendon + '<actuator><motor tendon="t"/></actuator>')


SITE, GEOM = '<site site="s{}"/>', '<geom geom="g{}"/>'
SPHERE, BOX, CAPSULE = 'size=".1"', 'type="box" size=".1 .1 .1"', 'type="capsule" size=".1 .05"'
CYLINDER, ELLIPSOID, MESH = 'type="cylinder" size=".1 .1"', 'type="ellipsoid" size=".1 .12 .1"', 'type="mesh" mesh="t"'
SLEEPY = '<option sleep_tolerance="1"><flag sleep="enable"/></option>'
ANY_HEIGHT = '<geom type="hfield" hfield="h" pos="0 0 -.05" contype="1" conaffinity="1"/>'


def delayed(first: int, second: int) -> str:
    """Two sensors with so many past readings each."""
    return mechanism(
        (-1, 0, 0),
        f'<sensor><jointpos joint="j0" nsample="{first}" delay=".004" interp="linear"/>'
        f'<jointvel joint="j1" nsample="{second}" delay=".002" interp="cubic"/></sensor>',
    )


def terrain(shapes: Sequence[str]) -> str:
    """Bodies on a height field."""
    return bodies_apart(shapes).replace("<worldbody>", "<worldbody>" + ANY_HEIGHT)


TWINS: dict[str, tuple[str, str]] = {
    "parents": (mechanism((-1, 0, 1, 0)), mechanism((-1, 0, 0, 2))),
    "trees": (mechanism((-1, 0, -1, 2, 2)), mechanism((-1, -1, 1, 1, 1))),
    "friction": (
        mechanism((-1, 0, 1, 0), joint='frictionloss=".5" damping=".1"'),
        mechanism((-1, 0, 0, 2), joint='frictionloss=".5" damping=".1"'),
    ),
    "equalities": (
        mechanism((-1, 0, -1, 2), '<equality><connect body1="b1" body2="b3" anchor=".1 0 0"/><joint joint1="j0"/></equality>'),
        mechanism((-1, 0, 0, -1), '<equality><joint joint1="j0" joint2="j3"/><weld body1="b3" body2="b1"/></equality>'),
    ),
    "wrapping": (
        pulled(SITE.format(0) + GEOM.format(1) + SITE.format(2) + SITE.format(3)),
        pulled(SITE.format(3) + SITE.format(1) + GEOM.format(0) + SITE.format(2)),
    ),
    "actuators": (
        mechanism((-1, 0, 1, 0), '<actuator><position joint="j0" kp="5"/><motor site="s2" refsite="s0"/></actuator>'),
        mechanism((-1, 0, 0, 2), '<actuator><motor site="s1" refsite="s2"/><position joint="j2" kp="5"/></actuator>'),
    ),
    "histories": (delayed(3, 5), delayed(5, 3)),
    "shapes": (bodies_apart((SPHERE, BOX, CAPSULE, MESH)), bodies_apart((MESH, CAPSULE, SPHERE, BOX))),
    "convex": (
        bodies_apart((ELLIPSOID, CYLINDER, BOX), options='<option cone="elliptic"/>'),
        bodies_apart((BOX, ELLIPSOID, CYLINDER), options='<option cone="elliptic"/>'),
    ),
    "terrain": (terrain((SPHERE, MESH)), terrain((MESH, CAPSULE))),
    "islands": (
        bodies_apart((SPHERE,) * 4, '<equality><connect body1="b0" body2="b2" anchor="0 0 0"/></equality>'),
        bodies_apart((SPHERE,) * 4, '<equality><connect body1="b3" body2="b1" anchor="0 0 0"/></equality>'),
    ),
    "sleep": (
        bodies_apart((SPHERE, BOX, SPHERE), options=SLEEPY),
        bodies_apart((BOX, SPHERE, BOX), options=SLEEPY).replace(".18 0 .09", ".6 0 .09"),
    ),
}  # fmt: skip
