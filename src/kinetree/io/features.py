"""What a model may ask for that kinetree lacks; `kt.load` refuses such a model and names every feature and element.

Each row of `CHECKS` finds one feature. Types and flags that are not in our enums come from a newer MuJoCo or from a damaged
model: they are refused too, since compiled code would misread them.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any

import mujoco
import numpy as np

from .. import types
from ..model import REFUSED_FLAGS
from . import plugins

# Fields that hold a type, with the enum that lists the types we know.
TYPED_FIELDS: dict[str, tuple[str, type[IntEnum]]] = {
    "jnt_type": ("joint", types.JointType),
    "geom_type": ("geom", types.GeomType),
    "site_type": ("site", types.GeomType),
    "cam_mode": ("camera", types.CamLight),
    "light_mode": ("light", types.CamLight),
    "eq_type": ("equality", types.EqType),
    "tendon_type": ("tendon", types.TendonType),
    "actuator_trntype": ("actuator", types.TrnType),
    "actuator_dyntype": ("actuator", types.DynType),
    "actuator_gaintype": ("actuator", types.GainType),
    "actuator_biastype": ("actuator", types.BiasType),
    "sensor_type": ("sensor", types.SensorType),
}
# Members of those enums that no model of ours can have; a signed distance field is named by a check of its own.
REFUSED: dict[type[IntEnum], tuple[int, ...]] = {
    types.GeomType: tuple(t for t in types.GeomType if t > types.GeomType.SDF),
    types.EqType: tuple(t for t in types.EqType if t > types.EqType.TENDON),
    types.TrnType: (types.TrnType.UNDEFINED,),
}
# Types that MJCF calls otherwise than the enum does.
MJCF_NAMES: dict[IntEnum, str] = {
    types.SensorType.GEOMDIST: "distance", types.SensorType.GEOMNORMAL: "normal", types.SensorType.GEOMFROMTO: "fromto",
}  # fmt: skip
CHOICES: dict[str, type[IntEnum]] = {
    "integrator": types.Integrator,
    "cone": types.Cone,
    "jacobian": types.Jacobian,
    "solver": types.Solver,
}


def element(mj: mujoco.MjModel, kind: str, index: int) -> str:
    """How an element is called in a message: its kind and its name, or its number."""
    name = mujoco.mj_id2name(mj, getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), index)
    return f"{kind} {name!r}" if name else f"{kind} {index}"


def _flexes(mj: mujoco.MjModel) -> Iterator[str]:
    for i in range(mj.nflex):
        yield f"flex ({element(mj, 'flex', i)})"


def _plugins(mj: mujoco.MjModel) -> Iterator[str]:
    """Plugins but two that kinetree computes itself, and what these may be asked for beyond their purpose."""
    for what, kind, i in plugins.lacking(mj):
        yield f"{what} ({element(mj, kind, i)})"


def _signed_distance_geoms(mj: mujoco.MjModel) -> Iterator[str]:
    for i in np.flatnonzero(mj.geom_type == types.GeomType.SDF):
        yield f"signed distance field ({element(mj, 'geom', int(i))})"


def _flags(mj: mujoco.MjModel) -> Iterator[str]:
    for field, known in (("disableflags", types.DisableBit), ("enableflags", types.EnableBit)):
        unknown = int(getattr(mj.opt, field)) & ~sum(known)
        if unknown:
            yield f"unknown flag {unknown & 0xFFFFFFFF:#x} (option {field})"
    for flag, bit in REFUSED_FLAGS.items():
        if mj.opt.enableflags & bit:
            yield f"flag {flag} (option enableflags)"


def type_name(member: IntEnum) -> str:
    """How MJCF calls a type."""
    return MJCF_NAMES.get(member, member.name.lower())


def _types(mj: mujoco.MjModel) -> Iterator[str]:
    for field, (kind, enum) in TYPED_FIELDS.items():
        values = np.asarray(getattr(mj, field))
        for i in np.flatnonzero(~np.isin(values, [t for t in enum if t not in REFUSED.get(enum, ())])):
            what = type_name(enum(values[i])) if values[i] in list(enum) else f"{values[i]}, which is unknown"
            yield f"{field} {what} ({element(mj, kind, int(i))})"
    for name, enum in CHOICES.items():
        value = getattr(mj.opt, name)
        if value not in [int(t) for t in enum]:
            yield f"{name} {value}, which is unknown (option {name})"
        elif value in REFUSED.get(enum, ()):
            yield f"{name} {enum(value).name.lower()} (option {name})"


def _touches(mj: mujoco.MjModel) -> Iterator[str]:
    """Touch in a mesh: MuJoCo itself stops at the first contact of such a sensor."""
    for i in np.flatnonzero(mj.sensor_type == types.SensorType.TOUCH):
        site = mj.sensor_objid[i]
        if 0 <= site < mj.nsite and mj.site_type[site] == types.GeomType.MESH:
            yield f"touch in a mesh ({element(mj, 'sensor', int(i))})"


CHECKS = (_flexes, _plugins, _signed_distance_geoms, _flags, _types, _touches)


def unsupported(mj: Any) -> list[str]:
    """Everything a compiled MuJoCo model asks for that kinetree lacks, each with its element."""
    return [feature for check in CHECKS for feature in check(mj)]
