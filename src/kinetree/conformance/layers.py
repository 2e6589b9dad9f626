"""All layers of the comparison, in the order in which they run.

A new layer is one more row in `smooth.py`, `contact.py`, `shipped.py` or `sleeping.py`. Rows are run in order on the same
pair of datas, so a layer may count on what the rows above it have computed.
"""

from __future__ import annotations

from .constrained import CONTACT_LAYERS
from .layer import STEPS, Field, Layer
from .shipped import SHIPPED_LAYERS
from .sleeping import SLEEP_LAYERS
from .smooth import SMOOTH, SMOOTH_LAYERS

LAYERS: tuple[Layer, ...] = (*SMOOTH_LAYERS, *CONTACT_LAYERS, *SHIPPED_LAYERS, *SLEEP_LAYERS)


def group_names() -> dict[str, tuple[str, ...]]:
    """Names of the layers by what they are about, for a summary."""
    contact = [layer.name for layer in CONTACT_LAYERS]
    return {
        "without constraints": tuple(layer.name for layer in SMOOTH_LAYERS),
        "contacts and rows": tuple(contact[:3]),
        "solved exactly": (*contact[3:6], contact[7]),
        "default solver": (contact[6],),
        "as shipped": tuple(layer.name for layer in SHIPPED_LAYERS),
        "sleep": tuple(layer.name for layer in SLEEP_LAYERS),
    }


def layer_names() -> tuple[str, ...]:
    """Names of all layers, in the order in which they run."""
    return tuple(layer.name for layer in LAYERS)


__all__ = [
    "CONTACT_LAYERS",
    "LAYERS",
    "SHIPPED_LAYERS",
    "SLEEP_LAYERS",
    "SMOOTH",
    "SMOOTH_LAYERS",
    "STEPS",
    "Field",
    "Layer",
    "group_names",
    "layer_names",
]
