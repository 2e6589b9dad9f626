"""What worlds with parameters of their own share all the same: integers that MuJoCo derives from real numbers.

Some steer: which frames coincide, which actuator lends inertia or damping to what it drives. Where worlds differ in the
numbers, such a shortcut is open again for all of them; what it leaves out is computed, and adds nothing where it held.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..types import SameFrame, TrnType

FRAMES = {f"{kind}_{part}" for kind in ("geom", "site") for part in ("pos", "quat")} | {"body_ipos", "body_iquat"}
LENT = {"actuator_armature", "actuator_damping", "actuator_dampingpoly"}
STEERS = FRAMES | LENT
OF_SIMPLE = {
    "body_ipos": None,
    "body_iquat": None,
    "jnt_pos": "jnt_bodyid",
    "jnt_axis": "jnt_bodyid",
}  # and whose they are
SAME_AS_INERTIA = (int(SameFrame.INERTIA), int(SameFrame.INERTIAROT))
NONE, SEVERAL = -1, -2
MIN_MASS = 1e-15  # MuJoCo's mjMINVAL


def open_frames(m: Any, names: Collection[str], bodies: Collection[int] = ()) -> dict[str, np.ndarray]:
    """The flags of coinciding frames where some fields differ from world to world, or hold symbols.

    bodies: those whose centre of mass moves, and nothing else of their inertial frame.
    """
    inertial = not {"body_ipos", "body_iquat"}.isdisjoint(names)
    body = m.body_sameframe.copy()
    if inertial:
        body[m.body_simple == 0] = SameFrame.NONE
    body[list(bodies)] = SameFrame.BODYROT
    out = {"body_sameframe": body}
    for kind in ("geom", "site"):
        same = getattr(m, f"{kind}_sameframe").copy()
        if not {f"{kind}_pos", f"{kind}_quat"}.isdisjoint(names):
            same[:] = SameFrame.NONE
        follows = np.isin(same, SAME_AS_INERTIA) & (inertial | np.isin(getattr(m, f"{kind}_bodyid"), list(bodies)))
        same[follows] = SameFrame.NONE
        out[f"{kind}_sameframe"] = same
    return out


def open_lenders(m: Any) -> dict[str, np.ndarray]:
    """Which actuator may lend inertia or damping to a joint or tendon: the only one that drives it, or several."""
    out = {}
    for name, kinds in (
        ("jnt_actuatorid", (TrnType.JOINT, TrnType.JOINTINPARENT)),
        ("tendon_actuatorid", (TrnType.TENDON,)),
    ):
        ids = np.full_like(getattr(m, name), NONE)
        for k in np.flatnonzero(np.isin(m.actuator_trntype, [int(kind) for kind in kinds])):
            driven = m.actuator_trnid[k, 0]
            ids[driven] = k if ids[driven] == NONE else SEVERAL
        out[name] = ids
    return out


def opened(m: Any, names: Collection[str], bodies: Collection[int] = ()) -> dict[str, np.ndarray]:
    """All such integers, as they have to be where worlds differ in these fields, or where these are symbols."""
    out = {} if FRAMES.isdisjoint(names) and not bodies else open_frames(m, names, bodies)
    return out if LENT.isdisjoint(names) else {**out, **open_lenders(m)}


def without_mass(m: Any, mass: np.ndarray, inertia: np.ndarray) -> int:
    """The first body with joints that has too little mass or inertia, of its own or of what is welded to it, else -1.

    mass (..., nbody), inertia (..., nbody, 3). MuJoCo's compiler makes the same condition.
    """
    moving = np.flatnonzero(m.body_dofnum > 0)
    rigid = (m.body_weldid[:, None] == moving) | (np.arange(len(m.body_weldid))[:, None] == moving)
    sound = np.minimum(mass @ rigid, (np.swapaxes(inertia, -1, -2) @ rigid).min(axis=-2)) >= MIN_MASS
    lacking = moving[~sound.all(axis=tuple(range(sound.ndim - 1)))]
    return int(lacking[0]) if len(lacking) else -1


def gates(numbers: Any) -> dict[str, int]:
    """What a model counts and flags so that it need not look for zeros, by arrays whose last axis is the world."""
    carried = int((numbers["body_gravcomp"] > 0.0).sum(axis=0).max(initial=0))
    adhesive = any(np.any(numbers[name]) for name in ("geom_adhesion", "pair_adhesion"))
    return {
        "ngravcomp": carried,
        "flg_gravcomp": int(carried > 0),
        "flg_surfacevel": int(np.any(numbers["geom_surfacevel"])),
        "flg_adhesion": int(adhesive),
    }


COUNTED = {"body_gravcomp", "geom_surfacevel", "geom_adhesion", "pair_adhesion"}  # fields that gates look at
