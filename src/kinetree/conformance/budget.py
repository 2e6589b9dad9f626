"""How much work a comparison may be: counted in dofs and geoms times steps, so that it is the same on every machine.

A robot is compared in full. A scene of a thousand bodies would take minutes, so fewer random states are sought for it, motions
are shorter, and MuJoCo is run less often against itself; the report says what was cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .layer import Layer

REPEATS, FEWEST_REPEATS = 400, 4
"""Runs after which MuJoCo counts as agreeing with itself: of a small model, and of a large one at least."""
REPEATED = 24_000_000
"""Work of all such runs of one layer in one state."""
MOTION = 100_000
"""Work of one motion, which each side does once."""
FEWEST_STEPS = 10
TRIED, FEWEST_TRIES = 50_000, 3
"""Work of the random states among which one in contact is sought."""
CROWD = 1000
"""Size beyond which bodies are not thrown together at random, where thousands of them would overlap."""
DENSE = 600
"""Dofs beyond which M and the Jacobian of constraints are not compared as matrices, but by their products with vectors."""


def size(model: Any) -> int:
    """What one step of a model costs, in some unit."""
    return int(model.nv) + int(model.ngeom) + 1


def repeats(model: Any, wanted: int) -> int:
    """Runs of a layer that should have so many steps."""
    return max(FEWEST_REPEATS, min(REPEATS, REPEATED // (size(model) * steps(model, wanted))))


def steps(model: Any, wanted: int) -> int:
    """How many steps of a motion that should have so many."""
    return max(min(wanted, FEWEST_STEPS), min(wanted, MOTION // size(model)))


def tries(model: Any, wanted: int) -> int:
    """How many random states are tried of so many."""
    return max(min(wanted, FEWEST_TRIES), min(wanted, TRIED // size(model)))


def cuts(model: Any, layers: Iterable[Layer], states: int) -> list[str]:
    """What is shorter for a model than it should be, in words. states: how many are compared."""
    short = [(layer.name, steps(model, layer.steps), layer.steps) for layer in layers if layer.steps > 1]
    out = [f"{name}: {some} steps, not {wanted}" for name, some, wanted in short if some < wanted]
    if out:
        out.append("states in contact: fewer tries and shorter ways to rest")
    if model.nv > DENSE:
        out.append("M and efc_J: compared by their products with a few vectors")
    if model.nkey > states // 2 and any(layer.name == "as shipped" for layer in layers):
        out.append(f"as shipped: from {states // 2} of {model.nkey} keyframes")
    return out
