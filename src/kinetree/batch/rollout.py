"""Rollouts under a controller: stable PD, a kernel of the user's in the step, or a Python function between steps."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..control.stable_pd import StablePD
from ..kernel.order import is_kernel
from .controllers import STEPS, UnderKernel
from .gains import targets
from .stable_pd import BatchStablePD, check_step, rows_under, tell_unsettled, under
from .worlds import INPUTS

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
    if stable or is_kernel(controller):
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
    batch: Batch, controller: Any, target: Any, controls: Any, record: Any, nstep: int | None, progress: Progress
) -> Record:
    """`Batch.rollout` under a controller."""
    check_controller(controller, target)
    if not isinstance(controller, (StablePD, BatchStablePD)):
        given, count = batch._controls(controls, nstep)
        out = batch._to_record(record, count)
        if count and is_kernel(controller):
            _under_kernel(batch, controller, given, out, count, progress)
        elif count:
            _between_steps(batch, controller, given, out, count, progress)
        return out
    told = batch._controls(controls, nstep)[1] if controls is not None or nstep is not None else None
    fixed, each, found = sorted_targets(batch, target, told)
    if found is None:
        raise ValueError("rollout: give controls, nstep, or targets of each step")
    given, count = batch._controls(controls, found)
    torques = {"torque": np.zeros((batch.n, count, batch.model.nv), batch.dtype)} if "torque" in record else {}
    out = batch._to_record([name for name in record if name != "torque"], count)
    if count:
        common, rows = rows_under(batch, controller, None)
        if fixed is not None:
            rows = rows | {"target": fixed}
        check_step(common)
        steering = under(batch, STEPS, common, rows, {}, targets=each, record=torques)
        batch._run(None, nstep=count, control=given, record=list(out.items()), progress=progress, under=steering)
        tell_unsettled(batch, common, steering)
        batch._keep_last(given)
    return {name: (out | torques)[name] for name in record}


def _under_kernel(batch: Batch, user: Any, given: list, out: Record, count: int, progress: Progress) -> None:
    """Steps with a kernel in them: it may write controls and other inputs, which stay as it left them."""
    steering = UnderKernel(user, {name: batch._worlds.rows[name] for name in INPUTS})
    batch._run(None, nstep=count, control=given, record=list(out.items()), progress=progress, under=steering)


def _between_steps(batch: Batch, function: Any, given: list, out: Record, count: int, progress: Progress) -> None:
    """A step at a time, before each of which Python says what the controls are."""
    for k in range(count):
        batch._keep_last([(name, rows[..., : k + 1, :]) for name, rows in given])
        controls = function(batch, k)
        if controls is not None:
            batch.ctrl = controls
        record = [(name, rows[:, k : k + 1]) for name, rows in out.items()]
        batch._run(None, nstep=1, record=record, progress=progress if k == count - 1 else None)
