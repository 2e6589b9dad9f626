"""Which geoms of a compiled model can ever touch, and which of those pairs kinetree cannot collide."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import mujoco
import numpy as np

from ..collision.driver import PAIRS
from ..types import DisableBit, GeomType

NEVER = ((GeomType.PLANE, GeomType.PLANE), (GeomType.PLANE, GeomType.HFIELD), (GeomType.HFIELD, GeomType.HFIELD))
"""Shapes of static bodies, which MuJoCo does not collide with each other either."""


def _unknown_types() -> np.ndarray:
    """A table by both types: whether the pair needs a kernel that is missing."""
    known = {frozenset(pair) for pair in (*PAIRS, *NEVER)}
    kinds = range(GeomType.SDF + 1)
    return np.array([[frozenset((GeomType(a), GeomType(b))) not in known for b in kinds] for a in kinds])


def _may_touch(mj: mujoco.MjModel, g: int) -> np.ndarray:
    """Geoms behind g that may touch it: bits, welds and parents let them."""
    later = np.arange(g + 1, mj.ngeom)
    bits = (mj.geom_contype[g] & mj.geom_conaffinity[later]) | (mj.geom_contype[later] & mj.geom_conaffinity[g])
    later = later[bits != 0]
    weld, other = mj.body_weldid[mj.geom_bodyid[g]], mj.body_weldid[mj.geom_bodyid[later]]
    moving = (mj.body_dofnum[weld] > 0) | (mj.body_dofnum[other] > 0)
    parents = mj.body_weldid[mj.body_parentid]
    family = (weld == parents[other]) | (other == parents[weld])
    if mj.opt.disableflags & DisableBit.FILTERPARENT:
        family[:] = False
    return later[(weld != other) & moving & ~(family & (weld != 0) & (other != 0))]


def _sound(mj: mujoco.MjModel) -> bool:
    """Whether the ids that are followed here exist; that is validated after this check, with names."""
    geoms = np.concatenate((mj.pair_geom1, mj.pair_geom2))
    bodies = np.concatenate((mj.geom_bodyid, mj.body_weldid, mj.body_parentid))
    good = ((geoms >= 0) & (geoms < mj.ngeom)).all() and ((bodies >= 0) & (bodies < mj.nbody)).all()
    return bool(good and ((mj.geom_type >= 0) & (mj.geom_type <= GeomType.SDF)).all())


def missing_pairs(mj: mujoco.MjModel) -> Iterator[tuple[int, int]]:
    """Pairs of geoms, the lower type first, that can touch but have no kernel. None for a damaged model."""
    if mj.opt.disableflags & (DisableBit.CONTACT | DisableBit.CONSTRAINT) or not _sound(mj):
        return
    unknown, excluded = _unknown_types(), set(mj.exclude_signature.tolist())
    pairs = [(int(a), int(b)) for a, b in zip(mj.pair_geom1, mj.pair_geom2, strict=True)]
    kinds = mj.geom_type
    rare = unknown[kinds][:, np.unique(kinds)].any(
        axis=1
    )  # has a shape that lacks a kernel with some shape of the model
    for g in np.flatnonzero(rare):
        later = _may_touch(mj, int(g))
        for h in later[unknown[kinds[g], kinds[later]]]:
            if int((mj.geom_bodyid[g] << 16) + mj.geom_bodyid[h]) not in excluded:
                pairs.append((int(g), int(h)))
    for first, second in dict.fromkeys(tuple(sorted(pair)) for pair in pairs):  # an explicit pair may be both
        if unknown[kinds[first], kinds[second]]:
            yield (first, second) if kinds[first] <= kinds[second] else (second, first)


def missing_kinds(mj: mujoco.MjModel) -> dict[tuple[GeomType, GeomType], list[tuple[int, int]]]:
    """The same by types."""
    out: dict[tuple[GeomType, GeomType], list[tuple[int, int]]] = defaultdict(list)
    for g, h in missing_pairs(mj):
        out[GeomType(mj.geom_type[g]), GeomType(mj.geom_type[h])].append((g, h))
    return dict(sorted(out.items()))
