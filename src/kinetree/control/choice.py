"""Which solver a model gets from solver="auto": the faster one, estimated from the shape of its tree.

The recursion takes a time for each dof and each body. The factor of M takes, for a dof with n others above it, n entries of M
and about n^2 / 2 products: on deep chains that sum grows like a cube, on bushy trees hardly at all. Our recursion is quick, so
the factor wins only where bodies have few dofs above them, as in a tree of hinges with four children each, and then by a tenth
at most. The constants are a fit to times of both on chains, trees, stars, bundled models and dm_control's (one core of a Zen 4
CPU).
"""

from __future__ import annotations

import functools
from typing import Any

from ..dynamics.aba import check_aba
from ..errors import UnsupportedFeatureError, nearest
from ..integrator.coupling import armature_couples, couplers, damping_couples
from ..kernel.reads import access
from ..model import Model

CHOICES = ("auto", "dense", "sparse", "maba")

# nanoseconds that sparse takes longer than maba: once, for each entry of M beside the diagonal, for each product ...
ONCE, PER_ENTRY, PER_SQUARE = 60.0, 3.1, 0.052
PER_BODY = 10.3  # ... and shorter, for each body: articulated inertias have more entries to move than rigid ones


def lead_of_maba(model: Model) -> float:
    """How much longer sparse would take than maba [ns], negative where it is faster."""
    above = model.M_rownnz.astype(float) - 1.0
    return ONCE + PER_ENTRY * above.sum() + PER_SQUARE * (above**2).sum() - PER_BODY * model.nbody


def is_coupled(model: Model) -> bool:
    """Whether armature or damping couples dofs beyond what the recursion sees."""
    mark = coupling_mark(model)
    if model.__dict__.get("_coupled", (None, False))[0] != mark:
        model.__dict__["_coupled"] = mark, couples(model.record())
    return model.__dict__["_coupled"][1]


def couples(m: Any) -> bool:
    """The same of a record of a model."""
    return armature_couples(m) or damping_couples(m)


@functools.cache
def coupling_fields() -> tuple[str, ...]:
    """What coupling hangs on, by the texts that tell."""
    return tuple(sorted(access(armature_couples, "m").reads | access(damping_couples, "m").reads))


def coupling_mark(model: Model) -> bytes:
    """All numbers of a model that coupling hangs on: where they are as they were, the answer is."""
    return b"".join(
        model._arrays[name].tobytes() if name in model._arrays else repr(model._constant(name)).encode()
        for name in coupling_fields()
    )


def check_maba(model: Model) -> None:
    """Refuse such a model, naming what couples its dofs."""
    check_aba(model, "maba")
    found = couplers(model)
    if found:
        raise UnsupportedFeatureError(found, f"maba of {model.title!r} (solver='auto' takes another)")


def choose(model: Model) -> str:
    """maba or sparse."""
    if is_coupled(model):
        return "sparse"
    return "maba" if lead_of_maba(model) >= 0.0 else "sparse"


def checked_choice(value: object, allowed: tuple[str, ...], what: str) -> str:
    """One of the allowed words."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is one of {', '.join(map(repr, allowed))}, not {type(value).__name__}")
    if value not in allowed:
        raise ValueError(f"no {what} is called {value!r}: {nearest(value, allowed)}")
    return value
