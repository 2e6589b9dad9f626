"""Field-by-field comparison of kinetree with MuJoCo, for any model: `check(source)` returns a `Report`."""

from __future__ import annotations

from .compare import Report, check, tally
from .judge import FieldResult
from .layers import LAYERS, Field, Layer, group_names, layer_names
from .report import Outcome, markdown, survey
from .states import copy_state, random_state

__all__ = [
    "LAYERS", "Field", "FieldResult", "Layer", "Outcome", "Report", "check", "copy_state", "group_names",
    "layer_names", "markdown", "random_state", "survey", "tally",
]  # fmt: skip
