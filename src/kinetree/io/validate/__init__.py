"""Validation: every number of a compiled model is one that compiled code may follow without looking.

A model can reach us with anything in it: a user may write into a `mujoco.MjModel`, and an MJB file is raw memory. MuJoCo's
own reader checks much, but lets -1 pass for any id and does not see whether counts and addresses fit together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...errors import ModelError
from . import elements, plugins, shapes, table, tree

# Each rule is a generator of problems. The first problem ends it all, so a rule may rely on those before it.
RULES = (
    table.finite, table.options, table.spans, table.references, table.choices,
    tree.joints, tree.tree, tree.inertia,
    shapes.geoms, shapes.hfields, shapes.meshes, shapes.octrees, shapes.bounding_volumes, shapes.pairs,
    elements.equalities, elements.paths, elements.actuators, elements.sensors, elements.tuples, elements.histories,
    plugins.instances, plugins.wrong_states, plugins.sensors,
)  # fmt: skip


def problems(m: Any) -> Iterator[str]:
    """What is wrong with a compiled MuJoCo model whose types `features` knows; only the first is sure to be right."""
    for rule in RULES:
        yield from rule(m)


def validate(m: Any, where: str) -> None:
    """Raise ModelError, naming field, index and value, where compiled code could be led astray."""
    for problem in problems(m):
        raise ModelError(f"{where}: {problem}")
