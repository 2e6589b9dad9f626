"""`rederive`: constants that follow from numbers which worlds have for themselves, for all worlds of a block at once.

What is derived, what from, and what needs none of it (friction does not) is the table in `derived/table.py`. Numbers agree with
`set_const` up to rounding. Integers that steer are not derived for each world: see `derived/shared.py` and `LaneModels.write`.
MuJoCo: mjb_setConst.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..data import let_in
from ..derived.derive import DERIVE
from ..derived.table import DERIVED, groups_of
from ..errors import ModelError
from .models import LaneModels


def rederive(models: LaneModels, scratch: Any, changed: Iterable[str]) -> tuple[str, ...]:
    """Compute anew what follows from some fields, in every world; the fields that were computed.

    scratch: worlds of the same model on the same kind of lanes, as many (`LaneData(..., own=True)`, or what has its `machine`,
    `address` and `_grow`); their state is lost. changed: fields that were written; where nothing follows from any, nothing is
    done. Raises ModelError if something derived is no number; those numbers stay.
    """
    groups = groups_of(changed)
    if groups == 0:
        return ()
    if not scratch.machine.own or scratch.machine.width != len(models.worlds):
        raise TypeError(f"rederive needs {len(models.worlds)} worlds with parameters of their own to work with")
    models.follow()
    unsound = let_in(scratch, DERIVE.on(scratch.machine, models.base), models.address, scratch.address, groups)
    derived = tuple(name for name, group in DERIVED.items() if group & groups)
    models.note(derived)
    if unsound:
        _raise_unsound(models, derived)
    return derived


def _raise_unsound(models: LaneModels, derived: Iterable[str]) -> None:
    for name in derived:
        bad = np.argwhere(~np.isfinite(models.numbers[name]))
        if len(bad):
            *at, lane = bad[0].tolist()
            raise ModelError(f"world {lane}: set_const gives model.{name}{at} = {models.numbers[name][tuple(bad[0])]}")
