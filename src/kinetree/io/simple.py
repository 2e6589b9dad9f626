"""A model with one simple body less: the pattern of its inertia matrix, rebuilt in MuJoCo's binary form.

MuJoCo's compiler calls a body simple whose block of M is diagonal, and gives its rows of M the diagonal alone. When its
centre of mass leaves the origin it needs full rows, which changes nC, the size of M. MuJoCo does that only by compiling
again, for which a model from a binary file has no source. So the model is written as MJB, the arrays of size nC are
exchanged, and it is read again.
"""

from __future__ import annotations

import mujoco
import numpy as np

from ..model import Model
from .binary import exchanged
from .load import load

NAME = "model.mjb"


def without_simple(model: Model, body: int) -> Model:
    """The same model, with a body that is no longer simple: M has room for all of its rows."""
    mj = model.to_mujoco()
    pattern = _pattern(mj, body)
    contents = exchanged(mj, pattern, {"nC": len(pattern["M_colind"])})
    rebuilt = load(mujoco.MjModel.from_binary_path(NAME, {NAME: contents}))
    out = Model._made(**{**rebuilt._values(), "title": model.title})
    out.callbacks.copy_from(model.callbacks)
    return out


def _pattern(mj: mujoco.MjModel, body: int) -> dict[str, np.ndarray]:
    """Every field that says which entries M has. Rows run from the root of the tree to the diagonal."""
    simple = mj.body_simple.copy()
    simple[body] = 0
    parent, in_a_row, count = mj.dof_parentid, np.zeros(mj.nv, np.int32), 0
    for i in range(mj.nv - 1, -1, -1):
        count = count + 1 if simple[mj.dof_bodyid[i]] else 0
        in_a_row[i] = count
    rows: list[list[int]] = []
    for i in range(mj.nv):
        above = [] if in_a_row[i] or parent[i] < 0 else _chain(parent, int(parent[i]))
        rows.append([*above, i])
    length = np.array([len(row) for row in rows], np.int32)
    entries = [(i, j) for i, row in enumerate(rows) for j in row]
    place_in_m = {entry: k for k, entry in enumerate(entries)}
    square = [(i, int(j)) for i in range(mj.nv) for j in mj.D_colind[mj.D_rowadr[i] :][: mj.D_rownnz[i]]]
    place_in_d = {entry: k for k, entry in enumerate(square)}
    ends = np.cumsum(length)
    return {
        "body_simple": simple,
        "dof_simplenum": in_a_row,
        "M_rownnz": length,
        "M_rowadr": (ends - length).astype(np.int32),
        "M_colind": np.array([j for _, j in entries], np.int32),
        "mapM2M": np.array([mj.dof_Madr[i] + ends[i] - 1 - k for k, (i, _) in enumerate(entries)], np.int32),
        "mapM2D": np.array([place_in_m.get((max(e), min(e)), -1) for e in square], np.int32),
        "mapD2M": np.array([place_in_d[entry] for entry in entries], np.int32),
    }


def _chain(parent: np.ndarray, dof: int) -> list[int]:
    """A degree of freedom and those above it, the root first."""
    out = [dof]
    while parent[out[-1]] >= 0:
        out.append(int(parent[out[-1]]))
    return out[::-1]
