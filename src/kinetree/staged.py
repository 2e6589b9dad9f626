"""The parts of a step, and inverse dynamics.

MuJoCo: mj_step1, mj_step2, mj_inverse, mj_inverseSkip.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import pipeline
from .bad_states import (
    KINDS_OF_RETURN,
    LACKS_ROOM,
    acceleration_is_bad,
    any_new_warning,
    begin_pass,
    lacked_room,
    remember_warnings,
    state_is_bad,
)
from .callbacks import CONTROL
from .driver import declare, enter
from .hooks import USER_CONTROL, hook
from .kernel import kernel
from .kernel.stage import check_arguments
from .notices import get_ready, report, reset_keeping_warnings
from .occupancy import holding
from .pipeline import acceleration_part, inverse_from, position_part, velocity_part
from .prerequisites import prepare
from .types import EnableBit, Integrator, Stage

if TYPE_CHECKING:
    from .data import Data
    from .model import Model

MOVING = ("time", "qpos", "qvel", "act", "history", "plastic", "qacc_warmstart", "tree_asleep")  # what a step moves on
ALL_STAGES = 4  # how many there are to skip


@kernel
def run_step1(m, d, n):
    """All of a step that controls and applied forces do not change; left at once if the state must be reset."""
    remember_warnings(d)
    d.steps_left[0] = 0
    if state_is_bad(m, d):
        return 1 + KINDS_OF_RETURN * n
    begin_pass(m, d)
    position_part(m, d, True)
    velocity_part(m, d, True)
    hook(m, d, CONTROL, USER_CONTROL)
    return LACKS_ROOM + KINDS_OF_RETURN * n if lacked_room(m, d) else any_new_warning(d)


@kernel
def run_step2(m, d, n):
    """The rest of a step; with -1 after a reset, of which the acceleration is taken as it is. RK4 counts as Euler."""
    remember_warnings(d)
    d.steps_left[0] = 0
    begin_pass(m, d)
    if n > 0:
        acceleration_part(m, d, True)
    else:
        pipeline.forward(m, d)
    if lacked_room(m, d):
        return LACKS_ROOM + KINDS_OF_RETURN * n
    if n > 0 and acceleration_is_bad(m, d):
        return 1 - KINDS_OF_RETURN * n
    if m.opt_enableflags & EnableBit.FWDINV:
        pipeline.compare_fwd_inv(m, d)
    if m.opt_integrator == Integrator.RK4:
        pipeline.euler(m, d)
    else:
        pipeline.integrate(m, d)
    return LACKS_ROOM + KINDS_OF_RETURN * n if lacked_room(m, d) else any_new_warning(d)


@kernel
def run_inverse(m, d, n):
    """Inverse dynamics without stages up to n, and behind ALL_STAGES without sensors."""
    remember_warnings(d)
    d.steps_left[0] = 0
    begin_pass(m, d)
    inverse_from(m, d, n % ALL_STAGES, n < ALL_STAGES)
    return LACKS_ROOM + KINDS_OF_RETURN * n if lacked_room(m, d) else any_new_warning(d)


declare(run_step1, run_step2, run_inverse)


def check_skipped(name: str, model: Model, data: Data, skip: Stage) -> None:
    """Raise where stages count as done that have not run since the reset."""
    if skip != Stage.NONE:
        prepare(f"{name} after {'POS' if skip == Stage.POS else 'VEL'}", model, data)


@contextmanager
def all_or_nothing(model: Model, data: Data) -> Iterator[None]:
    """Put the state back if a callback raises on the way to the next one: where trees fall asleep."""
    sleeps = model.callbacks.any and model.opt.enableflags & EnableBit.SLEEP
    kept = {name: data._arrays[name].copy() for name in MOVING} if sleeps else {}
    try:
        yield
    except BaseException:
        for name, values in kept.items():
            data._arrays[name][...] = values
        if kept:
            pipeline.update_sleep(model, data)
        raise


def until_done(kernel_: Any, model: Model, data: Data, status: int) -> None:
    """After a run: warn, reset as MuJoCo does where the state went bad, and make the steps that are left."""
    while status:
        left = status // KINDS_OF_RETURN
        report(model, data, left)
        if not left:
            return
        reset_keeping_warnings(model, data)
        status = enter(kernel_, model, data, left)


def step1(model: Model, data: Data) -> None:
    """The first half of a step: all that controls and applied forces do not change. MuJoCo's mj_step1."""
    check_arguments("step1", model, data)
    get_ready(model)
    _half(run_step1, model, data)


def step2(model: Model, data: Data) -> None:
    """The second half of a step, after the user has set controls and forces; RK4 counts as Euler. MuJoCo's mj_step2."""
    prepare("step2", model, data)
    _half(run_step2, model, data)


@holding(2)
def _half(kernel_: Any, model: Model, data: Data) -> None:
    with all_or_nothing(model, data):
        until_done(kernel_, model, data, enter(kernel_, model, data, 1))


def inverse(model: Model, data: Data) -> None:
    """Inverse dynamics: qfrc_inverse, the joint forces that give qacc. MuJoCo's mj_inverse."""
    check_arguments("inverse", model, data)
    _check_inverse(model)
    get_ready(model)
    _inverse(model, data, 0)


def _check_inverse(model: Model) -> None:
    if model.opt.enableflags & EnableBit.INVDISCRETE and model.opt.integrator == Integrator.RK4:
        raise ValueError("inverse: discrete inverse dynamics (flag invdiscrete) does not exist for the RK4 integrator")


def inverse_skip(model: Model, data: Data, skip: Stage | int = Stage.NONE, skip_sensors: bool = False) -> None:
    """Inverse dynamics without the stages up to `skip`, which count as done. MuJoCo's mj_inverseSkip."""
    check_arguments("inverse_skip", model, data)
    _check_inverse(model)
    check_skipped("inverse_skip", model, data, Stage(skip))
    _inverse(model, data, Stage(skip) + ALL_STAGES * bool(skip_sensors))


@holding(1)
def _inverse(model: Model, data: Data, n: int) -> None:
    bias = data.qfrc_bias.copy()
    if n % ALL_STAGES >= Stage.VEL:  # as in MuJoCo a new qvel counts in the bias, and in nothing else
        pipeline.rne_bias(model, data)
        pipeline.tendon_bias(model, data)
    if enter(run_inverse, model, data, n):
        report(model, data)
    if n % ALL_STAGES >= Stage.VEL:
        data._arrays["qfrc_bias"][:] = bias
