"""Eight worlds side by side with the contacts of all of them, as the collision stage would list them on lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.batch.lanes import LaneData, lanes_of
from kinetree.constraint.diagonal import exact_diagonal
from kinetree.constraint.make import make_constraint
from kinetree.constraint.reference_acceleration import reference_constraint
from kinetree.geometry.contact_list import FAR
from kinetree.types import Constraint
from tests.constraint.paired_rows import CONTACT_REALS
from tests.dynamics.paired import Pair

Key = tuple[int, ...]


def contact_keys(theirs: Any) -> list[Key]:
    """What tells the contacts of a world apart: both geoms, and which contact of that pair it is."""
    seen: dict[Key, int] = {}
    keys = []
    for pair in theirs.contact.geom.tolist():
        seen[tuple(pair)] = seen.get(tuple(pair), -1) + 1
        keys.append((*pair, seen[tuple(pair)]))
    return keys


def contact_rows(kinds: np.ndarray, ids: np.ndarray, contacts: Sequence[Key]) -> dict[Key, int]:
    """The rows of contacts, by contact and by which row of it they are."""
    rows: dict[Key, int] = {}
    for row, (kind, i) in enumerate(zip(kinds.tolist(), ids.tolist(), strict=True)):
        if kind >= Constraint.CONTACT_FRICTIONLESS:
            k = 0
            while (*contacts[i], k) in rows:
                k += 1
            rows[(*contacts[i], k)] = row
    return rows


def matching_rows(lanes: LaneData, slots: Sequence[Key], lane: int, pair: Pair) -> list[int]:
    """The rows on lanes that belong to those of a world on floats.

    Contacts are found by their keys. Of the other rows those that are not neutral have the order of the world's own.
    """
    a, n, ours = lanes.arrays, int(lanes.arrays["nefc"][0]), pair.ours
    before, own = int(a["ne"][0] + a["nf"][0] + a["nl"][0]), ours.ne + ours.nf + ours.nl
    out = [row for row in range(before) if a["efc_D"][row, lane] > 0.0]
    for name in ("efc_type", "efc_id"):
        assert a[name][out].tolist() == getattr(ours, name)[:own].tolist(), f"lane {lane} {name}"
    common = contact_rows(a["efc_type"][:n], a["efc_id"][:n], slots)
    for key in contact_rows(ours.efc_type, ours.efc_id, contact_keys(pair.theirs)):
        out.append(common[key])
    return out


def side_by_side(pairs: Sequence[Pair]) -> tuple[LaneData, list[Key]]:
    """The worlds on lanes with their rows made, and the keys of their common contacts."""
    lanes = lanes_of(pairs[0].model, [pair.ours for pair in pairs])
    slots = list(dict.fromkeys(key for pair in pairs for key in contact_keys(pair.theirs)))
    room = None
    while room != lanes._arrays.capacity:  # growing loses the contacts
        put_contacts(lanes, pairs, slots)
        room = dict(lanes._arrays.capacity)
        lanes.run(make_constraint)
    lanes.run(exact_diagonal)
    lanes.run(reference_constraint)
    return lanes, slots


def put_contacts(lanes: LaneData, pairs: Sequence[Pair], slots: Sequence[Key]) -> None:
    """Contacts of all worlds; where one does not exist, it is far away and has no position."""
    lanes._make_room({**lanes._arrays.capacity, "maxcon": max(lanes._arrays.capacity["maxcon"], len(slots))})
    arrays = lanes.arrays
    arrays["ncon"][0] = len(slots)
    arrays["contact_exclude"][:] = 1
    arrays["contact_dim"][:] = 0
    for lane, pair in enumerate(pairs):
        contact, place = pair.theirs.contact, {key: i for i, key in enumerate(contact_keys(pair.theirs))}
        for slot, key in enumerate(slots):
            if key in place:
                i = place[key]
                arrays["contact_geom"][slot] = contact.geom[i]
                arrays["contact_exclude"][slot] &= contact.exclude[i]
                arrays["contact_dim"][slot] = max(arrays["contact_dim"][slot], contact.dim[i])
                for name in CONTACT_REALS:
                    field = arrays[f"contact_{name}"]
                    where = slice(None) if name not in ("dist", "pos", "frame") else slice(lane, lane + 1)
                    field[slot, ..., where] = np.asarray(getattr(contact, name)[i])[..., None]
    for lane, pair in enumerate(pairs):
        there = set(contact_keys(pair.theirs))
        for slot, key in enumerate(slots):
            if key not in there:
                arrays["contact_dist"][slot, lane] = FAR
                arrays["contact_pos"][slot, :, lane] = arrays["contact_frame"][slot, :, lane] = np.nan


def lane_jacobian(lanes: LaneData, lane: int) -> np.ndarray:
    """The Jacobian of one world (nefc, nv)."""
    a, n = lanes.arrays, int(lanes.arrays["nefc"][0])
    out = np.zeros((n, lanes.model.nv))
    for row in range(n):
        first, count = a["efc_J_rowadr"][row], a["efc_J_rownnz"][row]
        out[row, a["efc_J_colind"][first : first + count]] = a["efc_J"][first : first + count, lane]
    return out
