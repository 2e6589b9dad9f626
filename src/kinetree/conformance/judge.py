"""The verdict on every entry of a field: it agrees, it differs, or MuJoCo does not decide it.

An entry agrees if it is off by no more than the tolerance times its scale (`scales`). It is undecided if it is off by more, but
by no more than three times the largest difference of MuJoCo from itself in that entry, over several runs from starts a hair
away (`spread`). It differs otherwise. Nothing else excuses an entry: not its neighbours, and not that MuJoCo is unsure of it if
we are further off than it is. A contact or row that only one side has is undecided if MuJoCo's own runs lose or gain one of the
same pair of geoms, or of the same joint, tendon or equality. A number of ours that is none is never excused.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from dataclasses import field as default
from typing import Any

import mujoco
import numpy as np

from .layer import Along, Field
from .matching import Match, Parts, match_readings
from .scales import scale_of
from .tolerances import EXCUSE, NO_INERTIA

EXACT = ("efc_type", "efc_id", "efc_pos", "efc_margin", "efc_frictionloss")
"""Of rows that can move nothing too, what no inertia takes part in."""


@dataclass(frozen=True)
class FieldResult:
    """The worst disagreement of one field over all states, and how many of its entries agree.

    error: |ours - theirs| relative to the scale of the entry, infinite when a side is not finite or lacks the entry.
    index, ours, theirs: where it is worst, and both values there (None for an empty field).
    spread: the largest error between MuJoCo's own runs from starts a hair apart at that entry, where that was looked at.
    entries: how many were judged; of them, how many MuJoCo leaves undecided and how many differ.
    """

    model: str
    layer: str
    field: str
    tolerance: float
    error: float
    index: tuple[int, ...] | None = None
    ours: float | None = None
    theirs: float | None = None
    state: int = 0
    note: str = ""
    spread: float = 0.0
    entries: int = 0
    undecided_entries: int = 0
    differing_entries: int = 0

    @property
    def ok(self) -> bool:
        """Whether all entries agree within the tolerance."""
        return not self.differing_entries and not self.undecided_entries

    @property
    def differs(self) -> bool:
        """Whether some entry differs by more than MuJoCo does from itself."""
        return self.differing_entries > 0

    @property
    def undecided(self) -> bool:
        """Whether no entry differs, but MuJoCo leaves some undecided."""
        return not self.differs and self.undecided_entries > 0

    @property
    def agreeing_entries(self) -> int:
        """How many entries agree."""
        return self.entries - self.undecided_entries - self.differing_entries

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Of two results the one that says more: a difference, then what is undecided, then the larger error."""
        return self.differs, self.undecided, self.error

    def __str__(self) -> str:
        verdict = "ok  " if self.ok else "    " if self.undecided else "FAIL"
        text = f"{verdict} {self.model}: {self.layer}: {self.field} error {self.error:.2e}"
        text += f" (tolerance {self.tolerance:.0e})"
        if self.index is not None:
            where = ", ".join(str(i) for i in self.index)
            text += f" at [{where}]: ours {self.ours!r}, MuJoCo {self.theirs!r}, state {self.state}"
        if not self.ok:
            text += (
                f"; of {self.entries} entries {self.differing_entries} differ, {self.undecided_entries} are undecided"
            )
            text += f"; MuJoCo differs from itself by {self.spread:.2e} there"
        return text + (f": {self.note}" if self.note else "")


@dataclass
class Entries:
    """One field in one state: both sides in MuJoCo's order, with NaN for what a side lacks.

    groups: along the first axis, what an entry belongs to that may flip as a whole (see `matching`).
    lacking: along the first axis, what only one side has. skipped: entries that are not judged.
    """

    field: Field
    ours: np.ndarray
    theirs: np.ndarray
    scale: np.ndarray
    groups: list[Hashable] = default(default_factory=list)
    lacking: np.ndarray = default(default_factory=lambda: np.zeros(0, bool))
    skipped: np.ndarray | None = None
    note: str = ""

    def errors(self) -> np.ndarray:
        """Of each entry, relative to its scale; zero where it is not judged."""
        finite = np.isfinite(self.ours) & np.isfinite(self.theirs) & np.isfinite(self.scale)
        with np.errstate(invalid="ignore", over="ignore"):
            out = np.where(finite, np.abs(self.ours - self.theirs) / self.scale, np.inf)
        # Whatever is not finite, on either side or on both, must never pass for agreement.
        return out if self.skipped is None else np.where(self.skipped, 0.0, out)

    def absent(self) -> np.ndarray:
        """Entries that only one side has, of either side: there is no number that could be wrong."""
        if not self.lacking.size:
            return np.zeros(self.ours.shape, bool)
        return np.broadcast_to(self.lacking.reshape(-1, *(1,) * (self.ours.ndim - 1)), self.ours.shape)


def line_up(
    field: Field, model: Any, theirs_data: Any, theirs: np.ndarray, ours_data: Any, ours: np.ndarray, found: Match,
    parts: Parts, other: Parts, tolerance: float,
) -> Entries:  # fmt: skip
    """Both sides of a field, entry against entry.

    theirs, ours: the field as each side has it. found: which contacts and rows are which. parts, other: what they are of.
    """
    if field.along in (Along.CONTACTS, Along.ROWS):
        contacts = field.along is Along.CONTACTS
        chosen = np.arange(len(theirs)) if field.choice is None else field.choice(model, theirs_data)
        more = found.more_contacts if contacts else found.more_rows
        if field.choice is not None:
            more = np.intersect1d(more, field.choice(model, ours_data))
        groups: Sequence[Hashable] = parts.pairs if contacts else parts.rows
        others: Sequence[Hashable] = other.pairs if contacts else other.rows
        mine = take(ours, (found.contacts if contacts else found.rows)[chosen])
        reference = theirs[chosen]
        scale = scale_of(field, reference, model, theirs_data, tolerance)
        none = np.full((len(more), *reference.shape[1:]), np.nan)
        out = Entries(
            field,
            np.concatenate([mine, take(ours, more).reshape(none.shape)]),
            np.concatenate([reference, none]),
            np.concatenate([scale, np.ones(none.shape)]),
            [groups[int(k)] for k in chosen] + [others[int(k)] for k in more],
            np.concatenate([(found.contacts if contacts else found.rows)[chosen] < 0, np.ones(len(more), bool)]),
        )
        if out.lacking.any():
            out.note = "only one side has it"
        if not contacts and field.name not in EXACT:
            weights = take(np.array(ours_data.efc_D, float), found.rows[chosen])
            heavy = (weights > NO_INERTIA) & (np.array(theirs_data.efc_D, float)[chosen] > NO_INERTIA)
            heavy = np.concatenate([heavy, np.zeros(len(more), bool)])
            out.skipped = np.broadcast_to(heavy.reshape(-1, *(1,) * (theirs.ndim - 1)), out.ours.shape)
        return out
    if ours.shape != theirs.shape:
        note = f"shape {ours.shape} against MuJoCo's {theirs.shape}"
        lost = np.full(theirs.shape if theirs.size else (1,), np.nan)
        return Entries(field, lost, lost, np.ones(lost.shape), note=note)
    if field.along is Along.READINGS:
        ours = match_readings(model, ours, theirs)
    return Entries(field, ours, theirs, scale_of(field, theirs, model, theirs_data, tolerance))


def take(values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Some rows of an array, with NaN for those of index -1."""
    out = np.full((len(indices), *values.shape[1:]), np.nan)
    out[indices >= 0] = values[indices[indices >= 0]]
    return out


def verdict(
    entries: Entries, model: str, layer: str, tolerance: float, state: int = 0, spread: np.ndarray | None = None
) -> FieldResult:
    """Judge a field in one state. spread: MuJoCo's own of each entry, relative to the scale; none excuses nothing."""
    field, errors = entries.field, entries.errors()
    if not errors.size:
        return FieldResult(model, layer, field.name, tolerance, 0.0, state=state)
    own = np.zeros(errors.shape) if spread is None else spread
    beyond = errors > tolerance
    undecided = beyond & (errors <= EXCUSE * own) & (np.isfinite(errors) | entries.absent())
    differs = beyond & ~undecided
    worst = np.where(differs, 2, np.where(undecided, 1, 0))
    ranked = np.where(worst == worst.max(), errors, -1.0)
    index = np.unravel_index(int(np.argmax(ranked)), errors.shape)
    skipped = 0 if entries.skipped is None else int(entries.skipped.sum())
    shapeless = entries.note.startswith("shape")
    note = entries.note
    if not note and not np.isfinite(errors[index]):
        note = "not finite"
    elif note and not shapeless and np.isfinite(errors[index]):
        note = ""
    return FieldResult(
        model, layer, field.name, tolerance, float(errors[index]),
        None if shapeless else tuple(int(i) for i in index),
        None if shapeless else float(entries.ours[index]),
        None if shapeless else float(entries.theirs[index]),
        state, note, float(own[index]), errors.size - skipped, int(undecided.sum()), int(differs.sum()),
    )  # fmt: skip


def oracle_values(field: Field, model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """MuJoCo's values of a field."""
    return np.atleast_1d(np.array(field.theirs(model, data), dtype=float))
