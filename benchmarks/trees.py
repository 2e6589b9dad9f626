"""Chains and trees as MJCF, for benchmarks and tests: nothing parallel, nothing at an origin, equal masses."""

from __future__ import annotations

import numpy as np

JOINTS = {"hinge": 'axis="{axis}"', "ball": 'type="ball"', "slide": 'type="slide" axis="{axis}"'}
DOFS = {"hinge": 1, "ball": 3, "slide": 1}


def tree(
    count: int,
    arity: int,
    kind: str,
    timestep: float = 0.002,
    gravity: float = -9.81,
    free: bool = False,
    seed: int = 1,
) -> str:
    """`count` bodies with a joint of that kind each, `arity` children to a body (1 is a chain); the root may be free."""
    rng, lines = np.random.default_rng(seed), []

    def close(depth: int) -> None:
        while stack and stack[-1] >= depth:
            lines.append("</body>")
            stack.pop()

    order, depths = _depth_first(count, arity)
    stack: list[int] = []
    for body, depth in zip(order, depths, strict=True):
        close(depth)
        pos, quat, axis = (" ".join(f"{x:.6f}" for x in rng.normal(size=n)) for n in (3, 4, 3))
        joint = "<freejoint/>" if free and body == 1 else f"<joint {JOINTS[kind].format(axis=axis)}/>"
        lines.append(f'<body pos="{pos}" quat="{quat}">{joint}')
        lines.append('<inertial pos=".1 .2 .3" mass="1" diaginertia=".1 .2 .15"/>')
        stack.append(depth)
    close(0)
    option = f'<option timestep="{timestep!r}" gravity="0 0 {gravity}"/>'
    return (
        f'<mujoco model="{kind} tree {count} {arity}">{option}<worldbody>\n{chr(10).join(lines)}\n</worldbody></mujoco>'
    )


def _depth_first(count: int, arity: int) -> tuple[list[int], list[int]]:
    """Bodies 1.. in the order of a file, and how deep each is; body b hangs on 1 + (b - 2) // arity."""
    children: dict[int, list[int]] = {}
    for body in range(2, count + 1):
        children.setdefault(1 + (body - 2) // arity, []).append(body)
    order, depths, todo = [], [], [(1, 0)]
    while todo:
        body, depth = todo.pop()
        order.append(body)
        depths.append(depth)
        todo += [(child, depth + 1) for child in reversed(children.get(body, []))]
    return order, depths
