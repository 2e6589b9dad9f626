"""Which of our contacts and rows of constraints is which of MuJoCo's.

The order of contacts of one pair of geoms hangs on the last digits where an edge lies on a face, and means nothing. So contacts
of one pair are matched by where they are, nearest first, and rows by what they belong to: a contact, or a joint, tendon or
equality. What is left over on either side is a flip of that pair or joint, and says nothing about any other.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from ..efc import contact_width

FIRST_CONTACT = int(mujoco.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS)
"""Types of rows from here on belong to contacts."""
UNSORTED = 0
"""Contact sensors that reduce nothing."""


@dataclass(frozen=True)
class Parts:
    """What a side has contacts and rows of.

    pairs: of each contact the two geoms. pos: where contacts are (ncon, 3).
    rows: of each row what it belongs to: a contact's pair, or type and number of what it holds.
    parents: of each row its contact, or -1. turns: the how manieth row of its contact or of what it holds a row is.
    """

    pairs: list[tuple[int, ...]]
    pos: np.ndarray
    rows: list[Hashable]
    parents: np.ndarray
    turns: np.ndarray


@dataclass(frozen=True)
class Match:
    """For every contact and row of the reference the other side's, or -1; and what else the other side has."""

    contacts: np.ndarray
    rows: np.ndarray
    more_contacts: np.ndarray
    more_rows: np.ndarray


def parts_of(data: Any) -> Parts:
    """Contacts and rows of either side."""
    contacts = data.contact
    pairs = [tuple(sorted(int(g) for g in pair)) for pair in np.asarray(contacts.geom).reshape(-1, 2)]
    kinds, numbers = np.array(data.efc_type), np.array(data.efc_id)
    parents, turns = np.full(len(kinds), -1), np.zeros(len(kinds), int)
    rows: list[Hashable] = [("row", int(k), int(n)) for k, n in zip(kinds, numbers, strict=True)]
    for contact, (address, dim) in enumerate(zip(contacts.efc_address, contacts.dim, strict=True)):
        if not 0 <= address < len(kinds):
            continue
        count = contact_width(int(kinds[address]), int(dim))
        for turn, row in enumerate(range(int(address), min(int(address) + count, len(kinds)))):
            parents[row], turns[row], rows[row] = contact, turn, pairs[contact]
    seen: dict[Hashable, int] = {}
    for lone in np.flatnonzero(parents < 0).tolist():
        turns[lone] = seen.get(rows[lone], 0)
        seen[rows[lone]] = int(turns[lone]) + 1
    return Parts(pairs, np.array(contacts.pos, float).reshape(-1, 3), rows, parents, turns)


def match(reference: Parts, other: Parts) -> Match:
    """The other side's contacts and rows in the order of the reference."""
    contacts = _match_contacts(reference, other)
    places = {(other.rows[r], int(other.parents[r]), int(other.turns[r])): r for r in range(len(other.rows))}
    rows = np.full(len(reference.rows), -1)
    for row, key in enumerate(reference.rows):
        parent = int(reference.parents[row])
        partner = -1 if parent < 0 else int(contacts[parent])
        if parent < 0 or partner >= 0:
            rows[row] = places.get((key, partner, int(reference.turns[row])), -1)
    return Match(contacts, rows, _others(contacts, len(other.pairs)), _others(rows, len(other.rows)))


def _match_contacts(reference: Parts, other: Parts) -> np.ndarray:
    """Within each pair of geoms, the nearest two contacts first."""
    out = np.full(len(reference.pairs), -1)
    theirs: dict[tuple[int, ...], list[int]] = {}
    for contact, pair in enumerate(other.pairs):
        theirs.setdefault(pair, []).append(contact)
    mine: dict[tuple[int, ...], list[int]] = {}
    for contact, pair in enumerate(reference.pairs):
        mine.setdefault(pair, []).append(contact)
    for pair, group in mine.items():
        found = theirs.get(pair, [])
        if len(group) == len(found) == 1:
            out[group[0]] = found[0]
            continue
        for k, other_k in nearest(reference.pos[group], other.pos[found]):
            out[group[k]] = found[other_k]
    return out


def nearest(first: np.ndarray, second: np.ndarray) -> list[tuple[int, int]]:
    """Rows of two tables in pairs, the nearest first, until one table is used up."""
    gaps = np.linalg.norm(first[:, None] - second[None], axis=2)
    gaps = np.where(np.isfinite(gaps), gaps, np.inf)
    out, left, right = [], set(range(len(first))), set(range(len(second)))
    for flat in np.argsort(gaps, axis=None, kind="stable"):
        i, j = divmod(int(flat), max(len(second), 1))
        if i in left and j in right:
            out.append((i, j))
            left.remove(i)
            right.remove(j)
    return out


def _others(found: np.ndarray, count: int) -> np.ndarray:
    return np.setdiff1d(np.arange(count), found)


def match_readings(model: mujoco.MjModel, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Our readings (..., nsensordata) with the slots of contact sensors in MuJoCo's order, where they follow that of contacts.

    Where a sensor sorts its contacts, by distance or force, the order is part of what it tells.
    """
    out = ours.copy()
    for sensor in np.flatnonzero(model.sensor_type == mujoco.mjtSensor.mjSENS_CONTACT):
        slots, first = int(model.sensor_intprm[sensor, 2]), int(model.sensor_adr[sensor])
        width = int(model.sensor_dim[sensor]) // max(slots, 1)
        if slots < 2 or model.sensor_intprm[sensor, 1] != UNSORTED:
            continue
        columns = slice(first, first + slots * width)
        mine, reference = (x[..., columns].reshape(-1, slots, width) for x in (ours, theirs))
        sorted_ = mine.copy()
        for row in range(len(mine)):
            for k, partner in nearest(reference[row], mine[row]):
                sorted_[row, k] = mine[row, partner]
        out[..., columns] = sorted_.reshape(out[..., columns].shape)
    return out
