"""The kinematic tree: bodies, joints, degrees of freedom and the pattern of the inertia matrix follow from few counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...named import DOF_WIDTH, QPOS_WIDTH
from ...types import JointType
from .report import first, outside, starts, unequal


def tree(m: Any) -> Iterator[str]:
    """Parents come before children; roots, and the chain of degrees of freedom, follow from the parents."""
    number = np.arange(m.nbody)
    yield from outside("body_parentid", m.body_parentid, 0, np.maximum(number, 1))
    yield from outside("body_weldid", m.body_weldid, 0, number + 1)
    root, last = np.zeros(m.nbody, np.int64), np.full(m.nbody, -1)
    parent_dof = np.arange(m.nv) - 1
    for b in range(1, m.nbody):
        p, first_dof, count = m.body_parentid[b], m.body_dofadr[b], m.body_dofnum[b]
        root[b], last[b] = root[p] if p else b, last[p]
        if count:
            parent_dof[first_dof], last[b] = last[p], first_dof + count - 1
    yield from unequal("body_rootid", m.body_rootid, root)
    yield from unequal("dof_parentid", m.dof_parentid, parent_dof)
    yield from unequal("dof_treeid", m.dof_treeid, np.repeat(np.arange(m.ntree), m.tree_dofnum))
    yield from outside("tree_bodynum", m.tree_bodynum, 1, m.nbody + 1 - m.tree_bodyadr)


def joints(m: Any) -> Iterator[str]:
    """Places in qpos and qvel follow from the joint types; a free joint stands alone on a child of the world."""
    in_qpos = np.array([QPOS_WIDTH[JointType(t)] for t in m.jnt_type], np.int64)
    in_qvel = np.array([DOF_WIDTH[JointType(t)] for t in m.jnt_type], np.int64)
    for what, widths, size in (("qpos", in_qpos, "nq"), ("qvel", in_qvel, "nv")):
        if widths.sum() != getattr(m, size):
            yield f"jnt_type asks for {widths.sum()} numbers in {what}, but {size} is {getattr(m, size)}"
    yield from unequal("jnt_qposadr", m.jnt_qposadr, starts(in_qpos))
    yield from unequal("jnt_dofadr", m.jnt_dofadr, starts(in_qvel))
    yield from unequal("jnt_bodyid", m.jnt_bodyid, np.repeat(np.arange(m.nbody), m.body_jntnum))
    yield from unequal("dof_jntid", m.dof_jntid, np.repeat(np.arange(m.njnt), in_qvel))
    yield from unequal("dof_bodyid", m.dof_bodyid, m.jnt_bodyid[m.dof_jntid])
    yield from unequal("body_dofnum", m.body_dofnum, np.bincount(m.jnt_bodyid, in_qvel, m.nbody))
    free = m.jnt_type == JointType.FREE
    alone = (m.body_jntnum[m.jnt_bodyid] == 1) & (m.body_parentid[m.jnt_bodyid] == 0)
    yield from first(free & ~alone, "jnt_type", m.jnt_type, "a free joint where none can be")
    yield from outside("body_jntnum", m.body_jntnum[:1], 0, 1)
    plastic = np.where(
        free, 0, np.where(m.jnt_type == JointType.BALL, 4, 1)
    )  # numbers in plastic, none for a free joint
    yield from outside("jnt_plasticadr", m.jnt_plasticadr, -1, np.where(free, 0, m.nplastic - plastic + 1).clip(0))


def branch(m: Any, body: int) -> set[int]:
    """Degrees of freedom that move a body."""
    while body and not m.body_dofnum[body]:
        body = m.body_parentid[body]
    dof = int(m.body_dofadr[body] + m.body_dofnum[body] - 1) if body else -1
    out = set()
    while dof >= 0:
        out.add(dof)
        dof = int(m.dof_parentid[dof])
    return out


def inertia(m: Any) -> Iterator[str]:
    """Rows of M: the chain from a root to the diagonal, or the diagonal alone for a simple degree of freedom."""
    simple = m.body_simple[m.dof_bodyid] > 0
    in_a_row, depth = np.zeros(m.nv + 1, np.int64), np.ones(m.nv, np.int64)
    for i in range(m.nv - 1, -1, -1):
        in_a_row[i] = in_a_row[i + 1] + 1 if simple[i] else 0
    for i in range(m.nv):
        if m.dof_parentid[i] >= 0:
            depth[i] += depth[m.dof_parentid[i]]
    yield from unequal("dof_simplenum", m.dof_simplenum, in_a_row[:-1])
    if depth.sum() != m.nM:
        yield f"nM is {m.nM}, but {depth.sum()} follows"
    yield from unequal("dof_Madr", m.dof_Madr, starts(depth))
    yield from unequal("M_rownnz", m.M_rownnz, np.where(simple, 1, depth))
    ends, columns, ancestor = np.cumsum(m.M_rownnz), np.zeros(m.nC, np.int64), np.arange(m.nv)
    for k in range(m.M_rownnz.max(initial=0)):  # from the diagonal, which ends its row, towards the root
        rows = np.flatnonzero(m.M_rownnz > k)
        columns[ends[rows] - 1 - k] = ancestor[rows]
        ancestor = np.where(ancestor >= 0, m.dof_parentid[ancestor], -1)
    yield from unequal("M_colind", m.M_colind, columns)
    row = np.repeat(np.arange(m.nv), m.M_rownnz)
    yield from unequal("mapM2M", m.mapM2M, m.dof_Madr[row] + ends[row] - 1 - np.arange(m.nC))
    yield from outside("D_diag", m.D_diag, 0, m.D_rownnz)
    yield from unequal("D_colind", m.D_colind[m.D_rowadr + m.D_diag], np.arange(m.nv))
