"""Every integer field and what it holds; fields that follow from several others have a rule in the files beside.

A test holds that each integer field of the model stands here or in a rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import types
from ...fields import FLOAT32, REAL
from ...layout import may_be_infinite
from ...model import check_option
from ...model_fields import MODEL_FIELDS, OPTION_FIELDS, STATISTIC_FIELDS
from .report import first, outside, starts, unequal

# Address field -> (count field, the size that the rows fill one behind the other, the address of an empty row).
RUNNING, NONE = "running", -1
SPANS: dict[str, tuple[str, str, str | int]] = {
    "body_jntadr": ("body_jntnum", "njnt", NONE),
    "body_dofadr": ("body_dofnum", "nv", NONE),
    "body_geomadr": ("body_geomnum", "ngeom", NONE),
    "tree_dofadr": ("tree_dofnum", "nv", RUNNING),
    "mesh_vertadr": ("mesh_vertnum", "nmeshvert", RUNNING),
    "mesh_normaladr": ("mesh_normalnum", "nmeshnormal", RUNNING),
    "mesh_faceadr": ("mesh_facenum", "nmeshface", RUNNING),
    "mesh_polyadr": ("mesh_polynum", "nmeshpoly", RUNNING),
    "mesh_polyvertadr": ("mesh_polyvertnum", "nmeshpolyvert", RUNNING),
    "mesh_polymapadr": ("mesh_polymapnum", "nmeshpolymap", RUNNING),
    "mesh_octadr": ("mesh_octnum", "noct", NONE),
    "tendon_adr": ("tendon_num", "nwrap", RUNNING),
    "ten_J_rowadr": ("ten_J_rownnz", "nJten", RUNNING),
    "actuator_ctrladr": ("actuator_ctrlnum", "nu", RUNNING),
    "actuator_outadr": ("actuator_outnum", "nout", RUNNING),
    "actuator_actadr": ("actuator_actnum", "na", NONE),
    "sensor_adr": ("sensor_dim", "nsensordata", RUNNING),
    "numeric_adr": ("numeric_size", "nnumericdata", RUNNING),
    "tuple_adr": ("tuple_size", "ntupledata", RUNNING),
    "B_rowadr": ("B_rownnz", "nB", RUNNING),
    "M_rowadr": ("M_rownnz", "nC", RUNNING),
    "D_rowadr": ("D_rownnz", "nD", RUNNING),
}

# Ids and places: field -> (smallest value, the size below which it stays). -1 stands for none, -2 for several.
REFERENCES: dict[str, tuple[int, str]] = {
    "body_weldid": (0, "nbody"),
    "body_mocapid": (-1, "nmocap"),
    "body_treeid": (-1, "ntree"),
    "tree_bodyadr": (0, "nbody"),
    "jnt_actuatorid": (-2, "nactuator"),
    "geom_matid": (-1, "nmat"),
    "site_bodyid": (0, "nbody"),
    "site_dataid": (-1, "nmesh"),
    "cam_bodyid": (0, "nbody"),
    "cam_targetbodyid": (-1, "nbody"),
    "light_bodyid": (0, "nbody"),
    "light_targetbodyid": (-1, "nbody"),
    "pair_geom1": (0, "ngeom"),
    "pair_geom2": (0, "ngeom"),
    "tendon_actuatorid": (-2, "nactuator"),
    "tendon_treeid": (-1, "ntree"),
    "ten_J_colind": (0, "nv"),
    "B_colind": (0, "nv"),
    "M_colind": (0, "nv"),
    "D_colind": (0, "nv"),
    "mapM2D": (-1, "nC"),
    "mapD2M": (0, "nD"),
}

# Types and switches beyond those that `features` names; it refuses unknown joints, shapes, actuators and sensors.
CHOICES: dict[str, tuple[int, ...]] = {
    **{name: field.choices for name, field in MODEL_FIELDS.items() if field.choices},
    "body_simple": (0, 1, 2),
    "body_sameframe": tuple(types.SameFrame),
    "geom_sameframe": tuple(types.SameFrame),
    "site_sameframe": tuple(types.SameFrame),
    "cam_projection": tuple(types.Projection),
    "tree_sleep_policy": tuple(types.SleepPolicy),
    "wrap_type": tuple(types.WrapType),
    "eq_objtype": tuple(types.ObjType),
    "sensor_objtype": tuple(types.ObjType),
    "sensor_reftype": tuple(types.ObjType),
    "sensor_datatype": tuple(types.DataType),
    "sensor_needstage": tuple(types.Stage),
    "tuple_objtype": tuple(types.ObjType),
}

# Masks, ranks and statistics: no address depends on them.
FREE = {
    "jnt_group", "geom_group", "site_group", "tendon_group", "actuator_group", "geom_contype", "geom_conaffinity",
    "geom_priority", "body_contype", "body_conaffinity", "bvh_depth", "oct_depth", "cam_output",
}  # fmt: skip


def finite(m: Any) -> Iterator[str]:
    """Real numbers are finite; bounds may be infinite."""
    parts = ((m, "", MODEL_FIELDS), (m.opt, "opt.", OPTION_FIELDS), (m.stat, "stat.", STATISTIC_FIELDS))
    for owner, prefix, declared in parts:
        for name, field in declared.items():
            if field.dtype in (REAL, FLOAT32):
                values = np.asarray(getattr(owner, name))
                bad = np.isnan(values) if may_be_infinite(name) else ~np.isfinite(values)
                yield from first(bad, prefix + name, values, "not a finite number")


def options(m: Any) -> Iterator[str]:
    """Options have values that could be assigned to them."""
    for name, field in OPTION_FIELDS.items():
        if not field.dims:
            try:
                check_option(name, getattr(m.opt, name), f"option {name}")
            except ValueError as problem:
                yield str(problem)


def spans(m: Any) -> Iterator[str]:
    """Addresses follow from counts."""
    for name, (count, size, empty) in SPANS.items():
        counts = np.asarray(getattr(m, count), np.int64)
        yield from first(counts < 0, count, counts, "a negative count")
        if counts.sum() != getattr(m, size):
            yield f"{count} adds up to {counts.sum()}, but {size} is {getattr(m, size)}"
        expected = starts(counts)
        yield from unequal(
            name, getattr(m, name), expected if empty == RUNNING else np.where(counts > 0, expected, empty)
        )


def references(m: Any) -> Iterator[str]:
    """Ids and places exist."""
    for name, (low, size) in REFERENCES.items():
        yield from outside(name, getattr(m, name), low, getattr(m, size))


def choices(m: Any) -> Iterator[str]:
    """Types and switches are known."""
    for name, allowed in CHOICES.items():
        values = getattr(m, name)
        yield from first(~np.isin(values, allowed), name, values, f"none of {', '.join(str(int(c)) for c in allowed)}")
