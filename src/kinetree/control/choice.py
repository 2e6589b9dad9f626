"""Which solver a model gets from solver="auto": the faster one, estimated from the shape of its tree.

The recursion takes a time for each dof and each body. The factor of M takes, for a dof with n others above it, n entries of M
and about n^2 / 2 products: on deep chains that sum grows like a cube, on bushy trees hardly at all. Our recursion is quick, so
the factor wins only where bodies have few dofs above them, as in a tree of hinges with four children each, and then by a tenth
at most. The constants are a fit to times of both on chains, trees, stars, bundled models and dm_control's (one core of a Zen 4
CPU).
"""

from __future__ import annotations

from ..dynamics.armature import tendon_armature
from ..errors import nearest
from ..model import Model

CHOICES = ("auto", "dense", "sparse", "maba")

# nanoseconds that sparse takes longer than maba: once, for each entry of M beside the diagonal, for each product ...
ONCE, PER_ENTRY, PER_SQUARE = 60.0, 3.1, 0.052
PER_BODY = 10.3  # ... and shorter, for each body: articulated inertias have more entries to move than rigid ones


def lead_of_maba(model: Model) -> float:
    """How much longer sparse would take than maba [ns], negative where it is faster."""
    above = model.M_rownnz.astype(float) - 1.0
    return ONCE + PER_ENTRY * above.sum() + PER_SQUARE * (above**2).sum() - PER_BODY * model.nbody


def has_tendon_armature(model: Model) -> bool:
    """Whether tendons carry inertia, which couples joints that no body connects: the recursion cannot see that."""
    if not model.sizes["ntendon"] or not (model.tendon_armature.any() or model.actuator_armature.any()):
        return False
    return any(tendon_armature(model, t) != 0.0 for t in range(model.ntendon))


def choose(model: Model) -> str:
    """maba or sparse."""
    if has_tendon_armature(model):
        return "sparse"
    return "maba" if lead_of_maba(model) >= 0.0 else "sparse"


def checked_choice(value: object, allowed: tuple[str, ...], what: str) -> str:
    """One of the allowed words."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is one of {', '.join(map(repr, allowed))}, not {type(value).__name__}")
    if value not in allowed:
        raise ValueError(f"no {what} is called {value!r}: {nearest(value, allowed)}")
    return value
