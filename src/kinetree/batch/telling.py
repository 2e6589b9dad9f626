"""What a batch has to say after a call: one warning for each kind of trouble, which names the first worlds.

MuJoCo: mj_warning, mj_resetData where a check of the state failed.
"""

from __future__ import annotations

import numpy as np

from ..bad_states import message
from ..model import Model
from ..notices import RESETS, warn_of_moment
from ..types import WarningType
from .worlds import Worlds

NAMED = 5  # worlds that a warning names


class Told:
    """Which warnings of which worlds were told."""

    def __init__(self, model: Model, worlds: Worlds):
        self._model, self._worlds = model, worlds
        self._numbers = worlds.rows["warning_number"].copy()
        self._resets = worlds.resets.copy()

    def forget(self, ids: np.ndarray) -> None:
        """After a reset by hand: what comes now is new."""
        self._numbers[ids] = self._worlds.rows["warning_number"][ids]
        self._resets[ids] = self._worlds.resets[ids]

    def tell(self) -> None:
        """Warn of what is new."""
        worlds = self._worlds
        numbers, was_reset = worlds.rows["warning_number"], worlds.resets > self._resets
        new = numbers > self._numbers
        new[:, list(RESETS)] |= was_reset[:, None] & (numbers[:, list(RESETS)] > 0)
        if not new.any():
            return
        self.forget(np.arange(self._worlds.n))
        for what in WarningType:
            ids = np.flatnonzero(new[:, what])
            if ids.size:
                bad = what in RESETS and bool(was_reset[ids[0]])
                warn_of_moment(f"{named_worlds(ids, self._worlds.n)}: {self._message(int(ids[0]), what, bad)}")

    def _message(self, world: int, what: WarningType, bad: bool) -> str:
        worlds = self._worlds
        time = worlds.when[world] if bad else worlds.rows["time"][world]
        seen = {"warning_lastinfo": worlds.rows["warning_lastinfo"][world], "time": np.atleast_1d(time)}
        return message(self._model, seen, what, bad)


def named_worlds(ids: np.ndarray, n: int) -> str:
    """Those that it is about, in words."""
    if ids.size == 1:
        return f"world {ids[0]}"
    named = ", ".join(str(i) for i in ids[:NAMED]) + ", …" * (ids.size > NAMED)
    return f"{ids.size} of {n} worlds ({named}), first world {ids[0]}"
