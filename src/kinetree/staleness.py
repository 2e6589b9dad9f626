"""Which fields of Data are up to date, and passes on demand: `data.is_stale(name)`, `data.require(name)`.

Every stage notes its runs in the Data. A field is stale if the stage that writes it has not run since the reset, or not
since a stage that it depends on, which its text tells (`makers.py`); a field of a lazy pass also while its flag is down.
Writes into qpos are not noticed, and after `step` the fields describe the last forward pass, not the new state. MuJoCo has
the flags alone.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import pipeline
from .data_fields import DATA_FIELDS
from .dynamics.sleep import FULLY_AWAKE, READY
from .errors import SimulationWarning, nearest
from .makers import MAKERS, after, ancestry, makers_of
from .notices import user_level
from .occupancy import holding, reading
from .types import DisableBit, SleepPolicy

if TYPE_CHECKING:
    from .data import Data
    from .model import Model


class Pass(NamedTuple):
    """A pass that runs on demand: its flag, makers of which one must be fresh before it, and whether it reads qvel."""

    run: Any
    flag: str
    after: tuple[str, ...]
    reads_velocity: bool = False


ENERGY = (
    Pass(pipeline.energy_pos, "flg_energypos", ("tendon",)),
    Pass(pipeline.energy_vel, "flg_energyvel", ("make_m",), reads_velocity=True),
)
MOMENTUM = (Pass(pipeline.subtree_vel, "flg_subtreevel", ("com_vel",)),)
FORCES = (Pass(pipeline.rne_post_constraint, "flg_rnepost", ("fwd_constraint", "inverse"), reads_velocity=True),)
LAZY: dict[str, tuple[Pass, ...]] = {
    "energy": ENERGY, "subtree_linvel": MOMENTUM, "subtree_angmom": MOMENTUM,
    "cacc": FORCES, "cfrc_int": FORCES, "cfrc_ext": FORCES,
}  # fmt: skip


def _order(data: Data, stage: Any) -> int:
    """When a stage ran last, 0 if not since the reset."""
    return int(data._arrays["stage_order"][stage.stage_index])


def _maker_is_stale(data: Data, name: str) -> bool:
    """Whether it, or something that it depends on, has not run, or something ran later than what depends on it."""
    return any(_is_behind(data, each) for each in ancestry(name))


def _is_behind(data: Data, name: str) -> bool:
    ran = _order(data, MAKERS[name].stage)
    return ran == 0 or any(_order(data, MAKERS[n].stage) > ran for n in (*after(name), *MAKERS[name].unless))


def _pass_is_stale(data: Data, lazy: Pass) -> bool:
    """Down, or older than all that it could have been computed from."""
    ran = _order(data, lazy.run)
    usable = [name for name in lazy.after if not _maker_is_stale(data, name)]
    return not getattr(data, lazy.flag) or all(_order(data, MAKERS[name].stage) > ran for name in usable)


def _last_rk4(data: Data) -> int:
    """When the last step of RK4 ended."""
    return _order(data, pipeline.rk4)


def _sensors_are_stale(data: Data) -> bool:
    """Whether some sensors were not read since the stage they follow; the substeps of RK4 read none, and do not count."""
    if data.model.nsensor == 0:
        return False
    if _model_that_ran(data, "sensordata").opt.disableflags & DisableBit.SENSOR:
        return True
    pairs = (
        ("kinematics", pipeline.sensor_pos),
        ("com_vel", pipeline.sensor_vel),
        ("fwd_actuation", pipeline.sensor_acc),
    )
    stepped = _last_rk4(data)
    return any(
        _order(data, stage) == 0 or _order(data, MAKERS[name].stage) > max(stepped, _order(data, stage))
        for name, stage in pairs
    )


def is_stale(data: Data, name: str) -> bool:
    """Whether a field is not up to date with the last stage that ran; states and inputs never are."""
    field = DATA_FIELDS.get(name)
    if field is None:
        raise ValueError(f"data has no field {name!r}: {nearest(name, DATA_FIELDS)}")
    if name in LAZY:
        return any(_pass_is_stale(data, lazy) for lazy in LAZY[name])
    if field.stage == "sensor":
        return _sensors_are_stale(data)
    return all(maker in MAKERS and _maker_is_stale(data, maker) for maker in makers_of(name))


@reading
def require(data: Data, name: str) -> np.ndarray:
    """The array of a field, up to date: a lazy pass runs if it has to; other stages must have run."""
    if is_stale(data, name):
        if name not in LAZY:
            makers = [MAKERS[m].call for m in DATA_FIELDS[name].stage.split("/") if m in MAKERS] or ["kt.forward"]
            raise ValueError(f"data.{name} is stale: call {makers[0]} first")
        for lazy in LAZY[name]:
            if _pass_is_stale(data, lazy):
                _run_pass(data, name, lazy)
    return getattr(data, name)


@holding(0)
def _run_pass(data: Data, name: str, lazy: Pass) -> None:
    """Run a pass on what the last forward pass saw: if the state has moved on since, with the velocity of then."""
    if all(_maker_is_stale(data, maker) for maker in lazy.after):
        raise ValueError(f"data.{name} needs the results of kt.forward, which has not run since the last change")
    if lazy.reads_velocity and _last_rk4(data) > _order(data, pipeline.com_vel):
        raise ValueError(f"data.{name}: the step of RK4 left no pass that it could describe: call kt.forward first")
    model, qvel = _model_that_ran(data, name), data._arrays["qvel"]
    now = qvel.copy()
    try:
        if lazy.reads_velocity and _order(data, pipeline.com_vel):
            qvel[:] = data._arrays["qvel_seen"]
        lazy.run(model, data)
    finally:
        qvel[:] = now


def _model_that_ran(data: Data, name: str) -> Model:
    """The model of the last stage: a Data may be used with several models of the same sizes."""
    model = data._as_data[0]()
    if model is None:
        raise ValueError(f"data.{name}: the model that the last stage ran with no longer exists: call kt.forward first")
    return model


def start_asleep(model: Model, data: Data) -> None:
    """After a reset, put the trees to sleep that a model wants asleep from the start. Part of MuJoCo's mj_resetData."""
    arrays = data._arrays
    wanted = model.tree_sleep_policy == SleepPolicy.INIT
    pipeline.forward(model, data)
    arrays["tree_asleep"][:] = np.where(wanted, READY, FULLY_AWAKE)
    pipeline.lie_down(model, data)
    failed = np.flatnonzero(wanted & (arrays["tree_asleep"] < 0))
    if failed.size:
        arrays["tree_asleep"][failed] = FULLY_AWAKE
        body = int(model.tree_bodyadr[failed[0]])
        text = (
            f"{failed.size} of {int(wanted.sum())} trees with sleep='init' start awake: they are in contact with what is "
            f"not asleep, or move; the first has body {model.name('body', body) or body!r}"
        )
        if model.__dict__.get("_told_awake") != text:  # once for a model, not with every reset
            model.__dict__["_told_awake"] = text
            warnings.warn(text, SimulationWarning, stacklevel=user_level())
    for name in (
        "qacc_smooth",
        "qfrc_smooth",
        "ne",
        "nf",
        "nl",
        "nefc",
        "nJ",
        "nrow",
        "nentry",
        "nmetric",
        "nisland",
        "nidof",
        "ngroup",
    ):
        arrays[name][:] = 0
