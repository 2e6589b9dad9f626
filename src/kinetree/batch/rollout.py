"""Rollouts: under given controls, stable PD, a kernel of the user's in the step, or a Python function between steps."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..control.stable_pd import StablePD
from ..data_fields import DATA_FIELDS
from ..kernel.order import is_kernel
from .controllers import FREE, Under, UnderKernel
from .gains import targets
from .plan import Plan, Rows
from .results import refuse_unless_found
from .stable_pd import BatchStablePD, roll_out_under, rows_under
from .worlds import INPUTS, dtype_of, shape_of, state_names

if TYPE_CHECKING:
    from .batch import Batch

Record = dict[str, np.ndarray]
Progress = Callable[[int], None] | None
PARAMETERS = ("batch", "k")  # of a Python function


def check_controller(controller: Any, target: Any) -> None:
    """Refuse what controls nothing."""
    stable = isinstance(controller, (StablePD, BatchStablePD))
    if target is not None and not stable:
        raise ValueError("rollout: a target is for stable PD: give controller=kt.StablePD(…) or batch.stable_pd(…)")
    if controller is None or stable or is_kernel(controller):
        return
    if not callable(controller) or isinstance(controller, type):
        raise TypeError(
            "controller: expected a StablePD, what batch.stable_pd(…) makes, a kernel of (m, d), or a function of "
            f"(batch, k), got {controller!r}"
        )
    try:
        signature = inspect.signature(controller)
    except ValueError:  # a builtin that does not tell
        return
    name = getattr(controller, "__name__", repr(controller))
    if list(signature.parameters) == ["m", "d"]:
        raise TypeError(f"controller: {name} looks like a kernel of (m, d): decorate it with @kinetree.kernel.kernel")
    try:
        signature.bind(*PARAMETERS)
    except TypeError:
        raise TypeError(
            f"controller: {name} is called with (batch, k), the batch and the number of the step, and takes {signature}"
        ) from None


def sorted_targets(
    batch: Batch, target: Any, count: int | None
) -> tuple[np.ndarray | None, np.ndarray | None, int | None]:
    """A target of the whole rollout, or else those of each step; and the number of steps, where it is known by now."""
    if target is None:
        return None, None, count
    nq, n, shape = batch.model.nq, batch.n, np.shape(target)
    if len(shape) == 2 and shape[0] == n > 1 and count in (None, n):
        raise ValueError(
            f"target: of shape {shape} there may be a row for each world or for each step: give shape ({n}, 1, {nq}) or "
            f"(1, {n}, {nq})"
        )
    of_worlds = len(shape) == 2 and shape[0] == n
    worlds, steps = ((1, 1, *shape)[-3:-1] if not of_worlds else (n, 1)) if 1 <= len(shape) <= 3 else (0, 0)
    if count is None and steps > 1:
        count = steps
    if shape[-1:] != (nq,) or worlds not in (1, n) or steps not in (1, count):
        length = "nstep" if count is None else count
        raise ValueError(
            f"target: expected shape ({nq},), ({n}, {nq}), ({length}, {nq}) or ({n}, {length}, {nq}), got {shape}"
        )
    array = targets(batch, target, (shape,)).reshape(worlds, steps, nq)
    array = array if worlds > 1 else array[0]
    return (np.ascontiguousarray(array[..., 0, :]), None, count) if steps == 1 else (None, array, count)


def roll_out(
    batch: Batch,
    controller: Any,
    target: Any,
    controls: Any,
    record: Sequence[str],
    nstep: int | None,
    progress: Progress,
) -> Record:
    """`Batch.rollout`."""
    check_controller(controller, target)
    stable = isinstance(controller, (StablePD, BatchStablePD))
    told = batch._controls(controls, nstep)[1] if controls is not None or nstep is not None or not stable else None
    fixed, each, found = sorted_targets(batch, target, told)
    if found is None:
        raise ValueError("rollout: give controls, nstep, or targets of each step")
    given, count = batch._controls(controls, found)
    out = _to_record(batch, record, count, stable)
    if count == 0:
        return out
    if stable:
        common, rows = rows_under(batch, controller, None)
        if fixed is not None:
            rows = rows | {"target": fixed}
        roll_out_under(batch, common, rows, each, given, out, count, progress)
    elif controller is None or is_kernel(controller):
        _in_one_call(batch, controller, given, out, count, progress)
    else:
        _between_steps(batch, controller, given, out, count, progress)
    if controller is None or stable:
        _keep_last(batch, given)
    return out


def _to_record(batch: Batch, record: Sequence[str], count: int, stable: bool) -> Record:
    """Arrays for what is recorded after each step."""
    if isinstance(record, str):
        raise TypeError(f"record: give a tuple of names, as in record=({record!r},)")
    out: Record = {}
    for name in record:
        if stable and name == "torque":
            out[name] = np.zeros((batch.n, count, batch.model.nv), batch.dtype)
        else:
            if name not in batch._worlds.rows and name not in INPUTS:
                batch._refuse_unless_per_world(name)
            refuse_unless_found(batch.model, name)
            shape = batch.n, count, *shape_of(name, batch.model)
            out[name] = np.zeros(shape, dtype_of(DATA_FIELDS[name], batch.dtype))
    return out


def _keep_last(batch: Batch, given: Sequence[Rows], k: int = -1) -> None:
    """Controls are those of a step, by default the last one."""
    for rows in given:
        batch._worlds.rows[rows.name][:] = rows.array[..., k, :]


def _plan(batch: Batch, control: Sequence[Rows], record: Record) -> Plan:
    recorded = [Rows(name, array, steps=True) for name, array in record.items()]
    results = batch._results
    return batch._plan(state_names(batch.model), results, control=control, record=recorded)


def _in_one_call(batch: Batch, user: Any, given: Sequence[Rows], out: Record, count: int, progress: Progress) -> None:
    """Steps, with a kernel in them if there is one: it may write controls and other inputs, which stay as it left them."""
    inputs = [] if user is None else [Rows(name, batch._worlds.add(name)) for name in INPUTS]
    plan = _plan(batch, given, out)
    plan.tables["results"] += inputs
    steering: Under = FREE if user is None else UnderKernel(user)
    batch._run(None, nstep=count, plan=plan, progress=progress, under=steering)


def _between_steps(
    batch: Batch, function: Any, given: Sequence[Rows], out: Record, count: int, progress: Progress
) -> None:
    """A step at a time, before each of which Python says what the controls are."""
    for k in range(count):
        _keep_last(batch, given, k)
        controls = function(batch, k)
        if controls is not None:
            batch.ctrl = controls
        plan = _plan(batch, (), {name: array[:, k : k + 1] for name, array in out.items()})
        batch._run(None, nstep=1, plan=plan, progress=progress if k == count - 1 else None)
