"""Saved Data: what a pickle holds is checked before compiled code may follow it.

Compiled code trusts the integers of a Data: how many contacts there are, which geoms they are of, where rows begin. Every
integer field stands in one of the tables below, and one test runs over them. Real numbers steer no address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .data_fields import DATA_FIELDS
from .efc import contact_width
from .fields import FLAG
from .memory import CAPACITIES, LIMIT
from .types import Constraint, ConstraintState, SleepState

# Field -> (smallest value, the size or number below which it stays); "+ 1" where the size itself is allowed. Sizes are those
# of the model, capacities, and counts of the Data itself, which stand here before the fields that they count.
RANGES: dict[str, tuple[int, str | int]] = {
    "needed": (0, 1), "overflow": (0, 1),
    "ncon": (0, "maxcon + 1"), "nefc": (0, "maxefc + 1"), "nJ": (0, "maxJ + 1"), "nY": (0, "maxA + 1"),
    "nrow": (0, "maxefc + 1"), "nentry": (0, "maxJ + 1"), "nmetric": (0, "maxmetric + 1"),
    "ne": (0, "nefc + 1"), "nf": (0, "nefc + 1"), "nl": (0, "nefc + 1"), "nisland": (0, "ntree + 1"),
    "nidof": (0, "nv + 1"), "ntree_awake": (0, "ntree + 1"), "ntree_listed": (0, "ntree + 1"), "nbody_awake": (0, "nbody + 1"),
    "nparent_awake": (0, "nbody + 1"), "nv_awake": (0, "nv + 1"), "nawake_run": (0, "nbody + 1"),
    "ngroup": (0, "ntree + 1"), "continuous": (0, 2), "sensor_due": (0, 2),
    "tree_asleep": (-11, "ntree"), "tree_pass": (-11, "ntree"), "tree_awake": (0, 2),
    "body_awake": (min(SleepState), max(SleepState) + 1), "body_awake_ind": (0, "nbody"),
    "parent_awake_ind": (0, "nbody"), "dof_awake_ind": (0, "nv"), "tree_order": (0, 3),
    "ten_wrapadr": (0, "2 nwrap + 1"), "ten_wrapnum": (0, "2 nwrap + 1"), "wrap_obj": (-2, "ngeom"),
    "moment_rownnz": (0, "nv + 1"), "moment_rowadr": (0, "nJmom + 1"), "moment_colind": (0, "nv"),
    "contact_dim": (0, 7), "contact_geom": (0, "ngeom"), "contact_exclude": (0, 4),
    "contact_swept": (0, 2), "contact_efc_address": (-1, "maxefc"),
    "tree_island": (-1, "ntree"), "island_ntree": (0, "ntree + 1"), "island_itreeadr": (0, "ntree + 1"),
    "map_itree2tree": (0, "ntree"), "dof_island": (-1, "ntree"), "island_nv": (0, "nv + 1"),
    "island_idofadr": (0, "nv + 1"), "island_dofadr": (0, "nv + 1"), "map_dof2idof": (0, "nv"), "map_idof2dof": (0, "nv"),
    "efc_island": (-1, "ntree"), "island_ne": (0, "maxefc + 1"), "island_nf": (0, "maxefc + 1"),
    "island_nefc": (0, "maxefc + 1"), "island_iefcadr": (0, "maxefc + 1"), "map_efc2iefc": (0, "maxefc"),
    "map_iefc2efc": (0, "maxefc"), "dof_run": (0, "nv + 1"), "row_run": (0, "maxefc + 1"),
    "efc_type": (0, max(Constraint) + 1), "efc_J_rownnz": (0, "nv + 1"), "efc_J_rowadr": (0, "maxJ + 1"),
    "efc_J_rowsuper": (0, "maxefc"), "efc_J_colind": (0, "nv"), "efc_Y_rownnz": (0, "nv + 1"),
    "efc_Y_rowadr": (0, "maxA + 1"), "efc_Y_colind": (0, "nv"),
    "efc_state": (0, max(ConstraintState) + 1),
}  # fmt: skip

# Columns of fields whose columns are of different sizes: firsts and ends of runs.
COLUMNS: dict[str, tuple[str, ...]] = {
    "awake_run": ("nbody", "nbody", "nv", "nv", "njnt", "njnt", "ngeom", "ngeom", "nsite", "nsite"),
    "group_part": ("ntree", "ntree", "maxefc", "maxefc", "nv", "nv", "maxefc", "maxefc"),
}
# Address and count of rows that lie in one array -> its size, and how many rows there are.
SPANS: dict[tuple[str, str], tuple[str, str]] = {
    ("ten_wrapadr", "ten_wrapnum"): ("2 nwrap", "ntendon"),
    ("moment_rowadr", "moment_rownnz"): ("nJmom", "nout"),
    ("efc_J_rowadr", "efc_J_rownnz"): ("nentry", "nrow"),
    ("efc_Y_rowadr", "efc_Y_rownnz"): ("maxA", "nefc"),
    ("island_itreeadr", "island_ntree"): ("ntree", "nisland"),
    ("island_idofadr", "island_nv"): ("nv", "nisland"),
    ("island_iefcadr", "island_nefc"): ("maxefc", "nisland"),
}
# What a row is about, by its type.
OBJECTS: dict[Constraint, str] = {
    Constraint.EQUALITY: "neq", Constraint.FRICTION_DOF: "nv", Constraint.FRICTION_TENDON: "ntendon",
    Constraint.LIMIT_JOINT: "njnt", Constraint.LIMIT_TENDON: "ntendon",
    Constraint.CONTACT_FRICTIONLESS: "maxcon", Constraint.CONTACT_PYRAMIDAL: "maxcon",
    Constraint.CONTACT_ELLIPTIC: "maxcon",
}  # fmt: skip
# Statistics and switches, which no address depends on.
FREE = {
    "solver_niter", "solver_nnz", "warning_number", "warning_lastinfo", "warning_before", "warning_pass", "stage_clock",
    "stage_order", "stage_runs", "edition_asleep", "steps_left", "touching", "was_reset",
}  # fmt: skip
# Checked by a rule of their own, or set when a Data is restored.
RULED = {"capacity", "efc_id"}
# How many entries of a growing field are in use.
COUNTS = {"maxcon": "ncon", "maxefc": "nefc", "maxJ": "nJ", "maxA": "nY", "maxmetric": "nmetric"}
IN_USE = {**COUNTS, "maxefc": "nrow", "maxJ": "nentry"}  # with rows of couplings, which are not shown


def check_capacity(capacity: Any, room: int) -> dict[str, int]:
    """The capacity that a saved Data claims, if it can be that of this many bytes."""
    if not isinstance(capacity, Mapping) or set(capacity) != set(COUNTS):
        raise ValueError("this Data is damaged: its capacity is not a number for each growing size")
    for name in COUNTS:
        n = capacity[name]
        if type(n) is not int or not 0 < n <= min(room, 2 * LIMIT):
            raise ValueError(f"this Data is damaged: its capacity {name} is {n!r}")
    return {name: capacity[name] for name in COUNTS}


def check_saved(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int], capacity: Mapping[str, int]) -> None:
    """Raise ValueError, naming field, entry and value, where compiled code could be led astray."""
    sizes = {**sizes, **capacity, **{n: int(arrays[n][0]) for n in ("ncon", "nefc", "nJ", "nisland", "nrow", "nentry")}}
    for problem in _problems(arrays, sizes):
        raise ValueError(f"this Data is damaged: {problem}")


def _problems(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> Iterator[str]:
    for name, field in DATA_FIELDS.items():
        if field.dtype == FLAG:
            yield from _outside(name, arrays[name].view(np.uint8), 0, 2)
    saved = dict(zip(CAPACITIES, arrays["capacity"].tolist(), strict=True))
    if any(saved[name] != sizes[name] for name in COUNTS):
        yield f"capacity is {arrays['capacity'].tolist()}, which is not the room that there is"
    for name, (low, high) in RANGES.items():
        values, end = arrays[name], _number(high, sizes)
        yield from _outside(name, values, low, max(end, 1))  # what is not in use is zero, also where there is nothing
        if DATA_FIELDS[name].growing:
            used = int(arrays[IN_USE[DATA_FIELDS[name].dims.split(" ")[0]]][0])
            yield from _outside(name, values[:used], low, end)
    for name, columns in COLUMNS.items():
        yield from _outside(name, arrays[name], 0, np.array([sizes[size] + 1 for size in columns]))
    for (address, count), (size, rows) in SPANS.items():
        n = sizes[rows]
        ends = arrays[address][:n].astype(np.int64) + arrays[count][:n]
        yield from _outside(f"{address} + {count}", ends, 0, _number(size, sizes) + 1)
    yield from _rows(arrays, sizes)
    yield from _sleepers(arrays["tree_asleep"])


def _number(size: str | int, sizes: Mapping[str, int]) -> int:
    """A size as the tables write it: 7, "nv", "nv + 1", "2 nwrap"."""
    if isinstance(size, int):
        return size
    name, _, more = size.partition(" + ")
    factor, _, name = name.rpartition(" ")
    return int(factor or 1) * sizes[name] + int(more or 0)


def _outside(name: str, values: np.ndarray, low: int, high: Any) -> Iterator[str]:
    bad = (values < low) | (values >= high)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        end = int(np.broadcast_to(high, values.shape)[at])
        yield f"{name}{list(at) if at else ''} is {values[at]}, outside {low}..{end - 1}"


def _rows(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> Iterator[str]:
    """Rows are about what exists, and all rows of a contact fit, wherever the contact says that they begin."""
    nefc, nrow, ncon = sizes["nefc"], sizes["nrow"], sizes["ncon"]
    if nrow < nefc or sizes["nentry"] < sizes["nJ"]:
        yield f"nrow is {nrow} and nentry {sizes['nentry']}, fewer than nefc, {nefc}, and nJ, {sizes['nJ']}"
    if int(arrays["nmetric"][0]) not in (0, sizes["nC"]):
        yield f"nmetric is {arrays['nmetric'][0]}, neither 0 nor nC, {sizes['nC']}"
    types, ids, dims = arrays["efc_type"], arrays["efc_id"][:nefc], arrays["contact_dim"]
    high = np.array([sizes[OBJECTS[kind]] for kind in sorted(OBJECTS)])[types[:nefc]]
    yield from _outside("efc_id", ids, 0, high)
    last = np.arange(nrow) + arrays["efc_J_rowsuper"][:nrow]
    yield from _outside("the last of rows with the columns of efc_J_rowsuper", last[:nefc], 0, nefc)
    yield from _outside("the last of rows with the columns of efc_J_rowsuper", last, 0, nrow)
    firsts = arrays["contact_efc_address"][:ncon]
    starts = [(int(first), int(dims[c])) for c, first in enumerate(firsts) if first >= 0]
    row = 0
    while row < nefc:
        dim = int(dims[ids[row]]) if types[row] >= Constraint.CONTACT_FRICTIONLESS else 1
        starts.append((row, dim))
        row += max(contact_width(types[row], dim), 1)
    for first, dim in starts:
        end = first + max(contact_width(types[first], dim), 1)
        yield from _outside(f"the last row of {dim} dimensions", np.array(end), 0, sizes["maxefc"] + 1)


def _sleepers(next_tree: np.ndarray) -> Iterator[str]:
    """Trees asleep are in rings, each followed by the next: a walk that begins at one comes back to it."""
    asleep = np.flatnonzero(next_tree >= 0)
    if not np.array_equal(np.sort(next_tree[asleep]), asleep):
        yield f"tree_asleep is {next_tree.tolist()}, where trees asleep are not in rings"
