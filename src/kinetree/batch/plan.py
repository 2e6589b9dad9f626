"""`Plan`: what a call brings into blocks of worlds, runs there and takes out; `Block`: the lanes of a thread, and plans laid
out for them, so that a call that comes again has nothing to prepare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..bad_states import LACKS_ROOM
from ..occupancy import BUSY
from .blocks import LAYOUT, STOPPED, TABLES
from .lanes import LaneData
from .parts import part, table

# Words of a plan that are addresses in the block, by the fields that lie there.
PLACES = {
    "bad": "bad",
    "number": "warning_number",
    "lastinfo": "warning_lastinfo",
    "before": "warning_before",
    "was_reset": "was_reset",
    "time": "time",
}
# Flags that worlds share: which results on demand were found in the last pass.
FRESH = {
    "fresh_pos": "flg_energypos", "fresh_vel": "flg_energyvel", "fresh_subtree": "flg_subtreevel", "fresh_rne": "flg_rnepost",
}  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """Rows of a field that go into blocks or come out: (worlds, numbers).

    steps: with an axis of steps behind that of worlds. shared: without that of worlds. owner: whose arrays the field is one of,
    by the name under which a block has it.
    """

    name: str
    array: np.ndarray
    steps: bool = False
    shared: bool = False
    owner: str = "world"


@dataclass(eq=False)
class Plan:
    """Rows by the table that they belong to, and stages to run; none: steps."""

    tables: dict[str, list[Rows]]
    stages: Sequence[Any] = ()
    constants: dict[str, int] = field(default_factory=dict)


class Block:
    """The lanes of a thread. arrays: by owner, what rows are copied to."""

    def __init__(self, lanes: LaneData, **others: Mapping[str, np.ndarray]):
        self.lanes = lanes
        self.arrays: dict[str, Mapping[str, np.ndarray]] = {"world": lanes.arrays, **others}
        self.version = 0  # of the parameters that its models expect
        self.controllers: dict[str, Any] = {}  # by owner, whose arrays are above
        self._laid_out: dict[Plan, tuple[np.ndarray, dict[str, np.ndarray]]] = {}

    def words(self, plan: Plan) -> np.ndarray:
        """The table of words of a plan."""
        if plan not in self._laid_out:
            self._laid_out.clear()  # of plans that come again there is one
            real = self.lanes.machine.dtype.itemsize
            tables = {name: table(self._parts(plan.tables.get(name, ())), self.lanes.width, real) for name in TABLES}
            arrays = {
                **tables, "stage": np.array([stage.stage_index for stage in plan.stages], np.int64),
                "order": np.zeros(1, np.int64), "stop": np.zeros(1, np.int64), "resets": np.zeros(1, np.int64),
            }  # fmt: skip
            words = LAYOUT.words(arrays)
            numbers = {f"n{name}": len(arrays[name]) for name in (*TABLES, "stage")}
            numbers |= {word: self.lanes.arrays[name].ctypes.data for word, name in PLACES.items()}
            for name, number in {**numbers, "width": self.lanes.width, **plan.constants}.items():
                words[LAYOUT.word[name]] = number
            self._laid_out[plan] = words, arrays
        return self._laid_out[plan][0]

    def _parts(self, rows: Sequence[Rows]) -> list[list[int]]:
        """Parts of rows, in the order in which they stand in the block, so that neighbours can be copied as one."""
        places = [(self.arrays[r.owner][r.name], r) for r in rows]
        places.sort(key=lambda each: each[0].ctypes.data)
        return [part(place, r.array, r.steps, r.shared) for place, r in places]

    def run(
        self, code: Any, plan: Plan, order: np.ndarray, first: int, end: int, nstep: int, fresh: dict[str, int],
        shared: dict[str, np.ndarray], *further: int,
    ) -> tuple[dict[str, int], bool]:  # fmt: skip
        """Run a plan on the worlds of an order from `first` up to `end`; what worlds share after that, and if there is news."""
        words = self.words(plan)
        for name, array in {"order": order, **shared}.items():
            LAYOUT.point(words, name, array)
        for name, number in {"at": first, "nstep": nstep, "news": 0, **fresh}.items():
            words[LAYOUT.word[name]] = number
        lanes = self.lanes
        lanes._get_ready()
        lanes.arrays["edition_asleep"][0] = lanes.edition  # who sleeps with another one was woken before
        while (status := code(lanes.model_address, lanes.address, words.ctypes.data, end, *further)) not in (
            0,
            STOPPED,
        ):
            lanes._grow(BUSY if status == BUSY else 0 if status == LACKS_ROOM else status)
        return {word: int(lanes.arrays[name][0]) for word, name in FRESH.items()}, bool(words[LAYOUT.word["news"]])
