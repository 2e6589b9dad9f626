"""Stepping from Python: `step` and `forward`, each one entry into compiled code, and bad states.

`step` comes back early when a state went bad: Python then resets, as MuJoCo does, warns, and goes on; and every 20 ms, so
that Python hears Ctrl-C and other signals between two steps. MuJoCo: mj_step, mj_forward, mj_forwardSkip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .bad_states import (
    KINDS_OF_RETURN,
    LACKS_ROOM,
    PAUSED,
    acceleration_is_bad,
    any_new_warning,
    begin_pass,
    lacked_room,
    remember_warnings,
    state_is_bad,
)
from .driver import carry_on, check_nstep, declare, enter, runs
from .kernel import kernel
from .kernel.guard import STEPS, time_is_up
from .kernel.stage import check_arguments
from .notices import get_ready, report
from .occupancy import holding
from .pipeline import compare_fwd_inv, forward_from, integrate
from .pipeline import forward as forward_stage
from .staged import ALL_STAGES, all_or_nothing, check_skipped, until_done
from .types import EnableBit, Stage

if TYPE_CHECKING:
    from .data import Data
    from .model import Model


@kernel
def run_forward(m, d, n):
    """One forward pass, without stages up to n, and behind ALL_STAGES without sensors; 1 if it counted a warning.

    LACKS_ROOM if there was no room for all contacts or constraints.
    """
    remember_warnings(d)
    d.steps_left[0] = 0
    begin_pass(m, d)
    if n == 0:
        forward_stage(m, d)
    else:
        forward_from(m, d, n % ALL_STAGES, n < ALL_STAGES)
    return LACKS_ROOM if lacked_room(m, d) else any_new_warning(d)


@kernel
def run_steps(m, d, n, *controller):
    """Up to n steps; 0 if nothing happened. With -n the first acceleration is taken as it is: that of a state just reset.

    The result says how many steps are missing, negative when the next one went bad after its forward pass. d.steps_left tells
    the first entry from one after a pause, where warnings before it count as new.
    """
    if n == 0 or d.steps_left[0] != n:
        remember_warnings(d)
    d.steps_left[0] = 0
    steps = n if n > 0 else -n
    for k in range(steps):
        left = n if k == 0 else steps - k
        if k > 0 and time_is_up(d, STEPS):
            d.steps_left[0] = left
            return PAUSED + KINDS_OF_RETURN * left
        if state_is_bad(m, d):
            return 1 + KINDS_OF_RETURN * (steps - k)
        begin_pass(m, d)
        forward_stage(m, d, *controller)
        if lacked_room(m, d):
            d.steps_left[0] = left
            return LACKS_ROOM + KINDS_OF_RETURN * left
        if left > 0 and acceleration_is_bad(m, d):
            return 1 - KINDS_OF_RETURN * left
        if m.opt_enableflags & EnableBit.FWDINV:
            compare_fwd_inv(m, d)
        integrate(m, d, *controller)
        if lacked_room(m, d):  # in a substep, which was taken back
            d.steps_left[0] = left
            return LACKS_ROOM + KINDS_OF_RETURN * left
    return any_new_warning(d, *controller)


declare(run_forward, run_steps)


def step(model: Model, data: Data, nstep: int = 1) -> None:
    """Advance the simulation by some time steps. MuJoCo's mj_step, nstep times.

    Afterwards the state is new, while all other fields still describe the state before the last step, as in MuJoCo.
    """
    try:  # nothing runs in here: what a run raises must not be taken for a wrong argument, and the run be repeated
        m, d, run = model._as_model, data._as_data, runs[run_steps]
        quick = m[0] is d[0] and model._ready and not model.callbacks.any
    except (AttributeError, KeyError):  # the first call, or a wrong argument
        quick = False
    if quick and type(nstep) is int and nstep == 1:
        status = run(m[1], d[1], 1)
        if status:
            _finish(model, data, 1, status)
        return
    check_arguments("step", model, data)
    count = check_nstep("step", nstep)
    get_ready(model)
    _steps(model, data, count)


@holding(1)
def _steps(model: Model, data: Data, nstep: int) -> None:
    """Several steps, between which no other thread comes in."""
    if model.callbacks.any and model.opt.enableflags & EnableBit.SLEEP:
        for _ in range(nstep):
            with all_or_nothing(model, data):
                _finish(model, data, 1, enter(run_steps, model, data, 1))
    else:
        _finish(model, data, nstep, enter(run_steps, model, data, nstep))


@holding(1)
def _finish(model: Model, data: Data, n: int, status: int) -> None:
    """After an early return: warn, reset as MuJoCo does, and make the steps that are left."""
    until_done(run_steps, model, data, carry_on(run_steps, model, data, n, status))


def forward(model: Model, data: Data) -> None:
    """Forward dynamics: from state, controls and applied forces to accelerations. MuJoCo's mj_forward."""
    try:
        m, d, run = model._as_model, data._as_data, runs[run_forward]
        quick = m[0] is d[0] and model._ready and not model.callbacks.any
    except (AttributeError, KeyError):  # the first call, or a wrong argument
        quick = False
    if quick:
        status = run(m[1], d[1], 0)
        if status and carry_on(run_forward, model, data, 0, status):
            report(model, data)
        return
    check_arguments("forward", model, data)
    get_ready(model)
    _forward(model, data, 0)


@holding(1)
def _forward(model: Model, data: Data, n: int) -> None:
    if enter(run_forward, model, data, n):
        report(model, data)


def forward_skip(model: Model, data: Data, skip: Stage | int = Stage.NONE, skip_sensors: bool = False) -> None:
    """Forward dynamics without the stages up to `skip`, which count as done. MuJoCo's mj_forwardSkip."""
    check_arguments("forward_skip", model, data)
    check_skipped("forward_skip", model, data, Stage(skip))
    _forward(model, data, Stage(skip) + ALL_STAGES * bool(skip_sensors))
