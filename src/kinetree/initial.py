"""The state that `Data.reset` writes. MuJoCo's mj_resetData.

Reads the model's qpos0, eq_active0, mocap poses, rest positions, actuator and sensor history declarations; writes the state,
the controls and the sleep lists of a zeroed Data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .named import QPOS_WIDTH
from .types import CtrlChart, EnableBit, GainType, JointType, SleepPolicy, SleepState

if TYPE_CHECKING:
    from .model import Model

FULLY_AWAKE = -(1 + 10)  # MuJoCo counts ten quiet steps upward from here before a tree may sleep


def write_initial_state(model: Model, arrays: Mapping[str, np.ndarray]) -> None:
    """Everything that is not zero after a reset. Trees that a model wants asleep from the start are awake here still."""
    arrays["qpos"][:] = model.qpos0
    arrays["eq_active"][:] = model.eq_active0
    quaternion = (model.actuator_gaintype == GainType.SO3) & (model.actuator_ctrlspec == CtrlChart.QUAT)
    arrays["ctrl"][model.actuator_ctrladr[quaternion]] = 1.0
    mocap = np.flatnonzero(model.body_mocapid >= 0)
    arrays["mocap_pos"][model.body_mocapid[mocap]] = model.body_pos[mocap]
    arrays["mocap_quat"][model.body_mocapid[mocap]] = model.body_quat[mocap]
    everything_awake(model, arrays)
    if model.nplastic:
        _springs_at_rest(model, arrays["plastic"])
    if model.nhistory:
        _empty_histories(model, arrays["history"])


def wants_sleepers(model: Model) -> bool:
    """Whether some trees are to be asleep from the start."""
    return bool(model.opt.enableflags & EnableBit.SLEEP) and bool((model.tree_sleep_policy == SleepPolicy.INIT).any())


def everything_awake(model: Model, arrays: Mapping[str, np.ndarray]) -> None:
    """Lists of what is awake: all bodies and dofs; the world has no parent; what hangs on a mocap body is not static."""
    arrays["tree_asleep"][:] = FULLY_AWAKE
    arrays["tree_awake"][:] = 1
    arrays["tree_island"][:] = arrays["dof_island"][:] = -1
    static = (model.body_treeid < 0) & (model.body_mocapid[model.body_rootid] < 0)
    arrays["body_awake"][:] = np.where(static, SleepState.STATIC, SleepState.AWAKE)
    arrays["body_awake_ind"][:] = np.arange(model.nbody)
    arrays["parent_awake_ind"][: model.nbody - 1] = np.arange(1, model.nbody)
    arrays["dof_awake_ind"][:] = np.arange(model.nv)
    ends = (model.nbody, model.nv, model.njnt, model.ngeom, model.nsite)
    arrays["awake_run"][0, 1::2] = ends
    counts = {
        "nawake_run": 1,
        "ntree_awake": model.ntree,
        "ntree_listed": model.ntree,
        "nbody_awake": model.nbody,
        "nparent_awake": model.nbody - 1,
        "nv_awake": model.nv,
    }
    for name, count in counts.items():
        arrays[name][0] = count


def _springs_at_rest(model: Model, plastic: np.ndarray) -> None:
    """Rest positions of springs that can yield, before any did."""
    for joint in np.flatnonzero(model.jnt_plasticadr >= 0):
        width = QPOS_WIDTH[JointType(model.jnt_type[joint])]
        at, source = model.jnt_plasticadr[joint], model.jnt_qposadr[joint]
        plastic[at : at + width] = model.qpos_spring[source : source + width]
    for tendon in np.flatnonzero(model.tendon_plasticadr >= 0):
        at = model.tendon_plasticadr[tendon]
        plastic[at : at + 2] = model.tendon_lengthspring[tendon]


def _empty_histories(model: Model, history: np.ndarray) -> None:
    """Delay buffers: [user slot, cursor, n times, n values]; times lie before zero, values are zero."""
    dt = model.opt.timestep
    for start, n in zip(model.actuator_historyadr, model.actuator_history[:, 0], strict=True):
        if n > 0:
            history[start : start + 2] = (0.0, n - 1)
            history[start + 2 : start + 2 + n] = -dt * np.arange(n, 0, -1)
    rows = zip(model.sensor_historyadr, model.sensor_history[:, 0], model.sensor_interval, strict=True)
    for start, n, (period, phase) in rows:
        if n <= 0:
            continue
        first = (phase if phase else -period) if period > 0 else -dt
        history[start : start + 2] = (first, n - 1)
        back, spacing = np.arange(n - 1, -1, -1), max(period, dt)  # samples are not taken more often than steps
        newest = phase if phase and period > 0 else -spacing
        times = np.ceil((newest - back * spacing) / dt) * dt if period > 0 else -dt * (back + 1)
        history[start + 2 : start + 2 + n] = times
