"""Chains and trees for benchmarks and tests: nothing parallel, nothing at an origin, equal masses."""

from __future__ import annotations

import mujoco
import numpy as np

JOINTS = {"hinge": mujoco.mjtJoint.mjJNT_HINGE, "ball": mujoco.mjtJoint.mjJNT_BALL}
DOFS = {"hinge": 1, "ball": 3}


def tree(
    count: int,
    arity: int,
    kind: str,
    timestep: float = 0.002,
    gravity: float = -9.81,
    free: bool = False,
    seed: int = 1,
) -> mujoco.MjSpec:
    """`count` bodies with a joint of that kind each, `arity` children to a body (1 is a chain); the root may be free.

    A specification rather than a file: the parser of XML refuses elements nested 500 deep.
    """
    rng, spec = np.random.default_rng(seed), mujoco.MjSpec()
    spec.modelname = f"{kind} tree {count} {arity}"
    spec.option.timestep, spec.option.gravity = timestep, [0, 0, gravity]
    bodies = [spec.worldbody]
    for k in range(count):
        parent = bodies[1 + (k - 1) // arity] if k else bodies[0]
        quat = rng.normal(size=4)
        body = parent.add_body(pos=rng.normal(size=3), quat=quat / np.linalg.norm(quat))
        body.explicitinertial, body.mass, body.ipos, body.inertia = True, 1.0, [0.1, 0.2, 0.3], [0.1, 0.2, 0.15]
        axis = rng.normal(size=3)
        if free and k == 0:
            body.add_freejoint()
        elif kind == "hinge":
            body.add_joint(type=JOINTS[kind], axis=axis / np.linalg.norm(axis))
        else:
            body.add_joint(type=JOINTS[kind])
        bodies.append(body)
    return spec
