"""Which fields of Data are up to date, and passes on demand: `data.is_stale(name)`, `data.require(name)`.

Every stage notes its runs in the Data. A field is stale if the stage that writes it has not run since the reset, or if a
stage before it in the pipeline has run since; a field of a lazy pass is stale while its flag is down. Writes into qpos are
not noticed, and after `step` the fields describe the last forward pass, not the new state. MuJoCo has the flags alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import data as data_module
from . import pipeline
from .data_fields import DATA_FIELDS
from .errors import nearest

if TYPE_CHECKING:
    from .data import Data

# The stage behind each name in the column "stage" of the field table, in the order of the pipeline.
MAKERS: dict[str, Any] = {
    "kinematics": pipeline.kinematics,
    "com_pos": pipeline.com_pos,
    "camlight": pipeline.camlight,
    "tendon": pipeline.tendon,
    "crb": pipeline.crb,
    "make_m": pipeline.make_m,
    "factor_m": pipeline.factor_m,
    "transmission": pipeline.transmission,
    "fwd_velocity": pipeline.tendon_velocity,
    "com_vel": pipeline.com_vel,
    "passive": pipeline.passive,
    "rne": pipeline.rne_bias,
    "fwd_actuation": pipeline.actuator_forces,
    "fwd_acceleration": pipeline.fwd_acceleration,
    "fwd_constraint": pipeline.fwd_constraint,
}
# Fields that the user gives to some functions and others compute: one of these stages is enough.
EITHER = {"qacc": ("fwd_constraint", "inverse")}
# Stages apart from that order: their fields are stale until they have run.
OTHERS: dict[str, Sequence[Any]] = {
    "sensor": (pipeline.sensor_pos, pipeline.sensor_vel, pipeline.sensor_acc),
    "inverse": (pipeline.inverse_acceleration,),
    "implicit": (pipeline.implicit, pipeline.implicitfast),
    "euler/implicit": (pipeline.euler, pipeline.implicit, pipeline.implicitfast),
    "aba": (pipeline.aba,),
}


class Pass(NamedTuple):
    """A pass that runs on demand: its flag, and the stages of which one must be fresh before it can run."""

    run: Callable[..., None]
    flag: str
    after: tuple[str, ...]


LAZY: dict[str, tuple[Pass, ...]] = {}
for _names, _passes in {
    ("energy",): (
        Pass(pipeline.energy_pos, "flg_energypos", ("tendon",)),
        Pass(pipeline.energy_vel, "flg_energyvel", ("make_m",)),
    ),
    ("subtree_linvel", "subtree_angmom"): (Pass(pipeline.subtree_vel, "flg_subtreevel", ("com_vel",)),),
    ("cacc", "cfrc_int", "cfrc_ext"): (
        Pass(pipeline.rne_post_constraint, "flg_rnepost", ("fwd_constraint", "inverse")),
    ),
}.items():
    LAZY.update(dict.fromkeys(_names, _passes))


def _order(data: Data, stage: Any) -> int:
    """When a stage ran last, 0 if not since the reset."""
    return int(data._arrays["stage_order"][stage.stage_index])


def _maker_is_stale(data: Data, maker: str) -> bool:
    if maker in OTHERS:
        latest = max(_order(data, stage) for stage in OTHERS[maker])
        return latest == 0 or (maker == "inverse" and latest < _order(data, pipeline.rne_bias))
    ran = _order(data, MAKERS[maker])
    before = list(MAKERS)[: list(MAKERS).index(maker)]
    return ran == 0 or any(_order(data, MAKERS[name]) > ran for name in before)


def is_stale(data: Data, name: str) -> bool:
    """Whether a field is not up to date with the last stage that ran; states and inputs never are."""
    field = DATA_FIELDS.get(name)
    if field is None:
        raise ValueError(f"data has no field {name!r}: {nearest(name, DATA_FIELDS)}")
    if name in LAZY:
        return not all(getattr(data, lazy.flag) for lazy in LAZY[name])
    makers = EITHER.get(name, (field.stage,))
    return all((maker in MAKERS or maker in OTHERS) and _maker_is_stale(data, maker) for maker in makers)


def require(data: Data, name: str) -> np.ndarray:
    """The array of a field, up to date: a lazy pass runs if it has to; other stages must have run."""
    if is_stale(data, name):
        for lazy in LAZY.get(name, ()):
            if all(_maker_is_stale(data, maker) for maker in lazy.after):
                raise ValueError(
                    f"data.{name} needs the results of kt.forward, which has not run since the last change"
                )
            if not getattr(data, lazy.flag):
                lazy.run(data.model, data)
        if name not in LAZY:
            stage = DATA_FIELDS[name].stage
            raise ValueError(f"data.{name} is stale: run kt.forward, or the stage that computes it ({stage})")
    return getattr(data, name)


data_module.ON_DEMAND.update(is_stale=is_stale, require=require)
