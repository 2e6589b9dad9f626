"""Stages one by one from Python: with the user's callbacks in between, and the parts of a step.

MuJoCo: mj_step1, mj_step2, mj_forwardSkip, mj_inverse, mj_inverseSkip, mj_compareFwdInv; mj_checkPos and its kin.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import pipeline
from .bad_states import (
    KINDS_OF_RETURN,
    LACKS_ROOM,
    any_new_warning,
    begin_pass,
    lacked_room,
    motion_is_bad,
    position_is_bad,
    remember_warnings,
)
from .callbacks import SIGNATURES
from .driver import declare, enter
from .kernel import kernel
from .kernel.stage import check_arguments
from .notices import get_ready, remember, report, reset_keeping_warnings
from .occupancy import holding
from .pipeline import integrate
from .prerequisites import prepare
from .sensor.delivery import cut_off_user_sensors
from .types import BiasType, DisableBit, DynType, EnableBit, GainType, Integrator, SensorType, Stage, WarningType

if TYPE_CHECKING:
    from .data import Data
    from .model import Model

MOVING = ("time", "qpos", "qvel", "act", "history", "plastic", "qacc_warmstart", "tree_asleep")  # what a step moves on
SENSOR_STAGES = {Stage.POS: pipeline.sensor_pos, Stage.VEL: pipeline.sensor_vel, Stage.ACC: pipeline.sensor_acc}


@kernel(scalar=True)
def run_check(m, d, n):
    """Look for bad numbers in the state, or with n = 1 in its acceleration. A step is left if the state must be reset."""
    remember_warnings(d)
    if n == 0:
        bad = position_is_bad(m, d) or motion_is_bad(m, d, d.qvel, WarningType.BADQVEL)
    else:
        bad = motion_is_bad(m, d, d.qacc, WarningType.BADQACC)
    return any_new_warning(d) + (KINDS_OF_RETURN if bad else 0)


@kernel(scalar=True)
def run_position(m, d, n):
    """The position stage; LACKS_ROOM if there was no room for all contacts or constraints."""
    begin_pass(m, d)
    pipeline.fwd_position(m, d)
    return LACKS_ROOM if lacked_room(m, d) else 0


declare(run_check, run_position)


def forward_skip(model: Model, data: Data, skip: Stage | int = Stage.NONE, skip_sensors: bool = False) -> None:
    """Forward dynamics without the stages up to `skip`, which count as done. MuJoCo's mj_forwardSkip."""
    check_arguments("forward_skip", model, data)
    _forward(model, data, Stage(skip), skip_sensors)


@holding(1)
def _forward(model: Model, data: Data, skip: Stage = Stage.NONE, skip_sensors: bool = False) -> None:
    callbacks = model.callbacks
    _check_skipped("forward_skip", model, data, skip)
    remember(data)
    if skip < Stage.POS:
        forward_position(model, data, skip_sensors)
    if skip < Stage.VEL:
        forward_velocity(model, data, skip_sensors)
    if callbacks.control and not model.opt.disableflags & DisableBit.ACTUATION:
        call("control", callbacks.control, model, data)
    _forward_acceleration(model, data, skip_sensors)
    report(model, data)


def _check_skipped(name: str, model: Model, data: Data, skip: Stage) -> None:
    """Raise where stages count as done that have not run since the reset."""
    if skip != Stage.NONE:
        prepare(f"{name} after {'POS' if skip == Stage.POS else 'VEL'}", model, data)


def forward_position(model: Model, data: Data, skip_sensors: bool = False) -> None:
    enter(run_position, model, data, 0)
    sense(model, data, Stage.POS, skip_sensors)
    pipeline.energy_after_position(model, data)


def forward_velocity(model: Model, data: Data, skip_sensors: bool = False) -> None:
    pipeline.fwd_velocity(model, data)
    if model.callbacks.passive:
        call("passive", model.callbacks.passive, model, data)
    sense(model, data, Stage.VEL, skip_sensors)
    pipeline.energy_after_velocity(model, data)


def _forward_acceleration(model: Model, data: Data, skip_sensors: bool = False) -> None:
    actuate(model, data)
    pipeline.fwd_acceleration(model, data)
    pipeline.fwd_constraint(model, data)
    sense(model, data, Stage.ACC, skip_sensors)


def sense(model: Model, data: Data, stage: Stage, skip: bool) -> None:
    """The sensors of a stage, then the user's own through the callback."""
    if skip:
        return
    if stage == Stage.ACC:
        data._arrays["flg_rnepost"][0] = False
    SENSOR_STAGES[stage](model, data)
    users = (model.sensor_type == SensorType.USER) & (model.sensor_needstage == stage)
    if model.callbacks.sensor and users.any() and not model.opt.disableflags & DisableBit.SENSOR:
        call("sensor", model.callbacks.sensor, model, data, stage)
        cut_off_user_sensors(model, data, stage)


def actuate(model: Model, data: Data) -> None:
    """Actuation with the user's dynamics, gains and biases in between."""
    callbacks = model.callbacks
    pipeline.actuator_dynamics(model, data)
    if not model.opt.disableflags & DisableBit.ACTUATION:
        for k in range(model.nactuator):
            if callbacks.act_dyn and model.actuator_dyntype[k] == DynType.USER:
                rate = call("act_dyn", callbacks.act_dyn, model, data, k)
                if model.actuator_actnum[k] == 1:  # with several states the callback writes act_dot itself
                    data.act_dot[model.actuator_actadr[k]] = rate
            if callbacks.act_gain and model.actuator_gaintype[k] == GainType.USER:
                data.user_gain[k] = call("act_gain", callbacks.act_gain, model, data, k)
            if callbacks.act_bias and model.actuator_biastype[k] == BiasType.USER:
                data.user_bias[k] = call("act_bias", callbacks.act_bias, model, data, k)
    pipeline.actuator_forces(model, data)


def call(name: str, callback: Any, *args: Any) -> Any:
    """A callback of the user; what it raises says which one it was."""
    try:
        return callback(*args)
    except Exception as error:
        error.add_note(f"raised in the callback {name!r}, which is called with {SIGNATURES[name]}")
        raise


def check_state(model: Model, data: Data, acceleration: bool = False) -> bool:
    """Look for bad numbers in the state or its acceleration; warn, and reset unless the model says not to: whether it did."""
    status = enter(run_check, model, data, int(acceleration))
    if status:
        report(model, data, status // KINDS_OF_RETURN)
    reset = status >= KINDS_OF_RETURN
    if reset:
        reset_keeping_warnings(model, data)
        remember(data)
    return reset


@holding(1)
def step_with_callbacks(model: Model, data: Data) -> None:
    """One step, stage by stage; the substeps of RK4 call the callbacks too, as in MuJoCo."""
    check_state(model, data)
    forward_skip(model, data)
    _finish_step(model, data)


def _finish_step(model: Model, data: Data) -> None:
    if check_state(model, data, acceleration=True):
        forward_skip(model, data)
    if model.opt.enableflags & EnableBit.FWDINV:
        pipeline.compare_fwd_inv(model, data)
    with _all_or_nothing(model, data), _settling(model, data):
        if model.opt.integrator == Integrator.RK4 and model.callbacks.any:
            pipeline.rk4_begin(model, data)
            for k, share in ((1, 0.5), (2, 0.5), (3, 1.0)):
                pipeline.rk4_move_to(model, data, k=k, share=share)
                forward_skip(model, data, skip_sensors=True)
                pipeline.rk4_keep(model, data, k=k, share=share)
            pipeline.rk4_end(model, data)
        else:
            integrate(model, data)


@contextmanager
def _all_or_nothing(model: Model, data: Data) -> Iterator[None]:
    """Put the state back if a callback, or a handler of a signal, raises on the way to the next one."""
    moves_by_parts = model.opt.integrator == Integrator.RK4 or model.opt.enableflags & EnableBit.SLEEP
    kept = {name: data._arrays[name].copy() for name in MOVING} if moves_by_parts else {}
    try:
        yield
    except BaseException:
        for name, values in kept.items():
            data._arrays[name][...] = values
        if kept and model.opt.enableflags & EnableBit.SLEEP:
            pipeline.update_sleep(model, data)
        raise


@contextmanager
def _settling(model: Model, data: Data) -> Iterator[None]:
    """Let the callbacks take part where trees fall asleep: what depends on velocities is computed anew, then the step ends."""
    settling = data._arrays["settling"]
    settling[0] = pipeline.ASKED if model.callbacks.any else 0
    try:
        yield
        if settling[0] > pipeline.ASKED:
            forward_skip(model, data, Stage.POS)
            pipeline.settled(model, data)
    except BaseException:  # of a callback: the lists of what is awake are still those of before
        if settling[0] > pipeline.ASKED:
            pipeline.update_sleep(model, data)
        raise
    finally:
        settling[0] = 0


def step1(model: Model, data: Data) -> None:
    """The first half of a step: all that controls and applied forces do not change. MuJoCo's mj_step1."""
    check_arguments("step1", model, data)
    get_ready(model)
    _step1(model, data)


@holding(1)
def _step1(model: Model, data: Data) -> None:
    check_state(model, data)
    forward_position(model, data)
    forward_velocity(model, data)
    if model.callbacks.control:
        call("control", model.callbacks.control, model, data)
    report(model, data)


def step2(model: Model, data: Data) -> None:
    """The second half of a step, after the user has set controls and forces; RK4 counts as Euler. MuJoCo's mj_step2."""
    prepare("step2", model, data)
    _step2(model, data)


@holding(1)
def _step2(model: Model, data: Data) -> None:
    remember(data)
    _forward_acceleration(model, data)
    report(model, data)
    if check_state(model, data, acceleration=True):
        forward_skip(model, data)
    if model.opt.enableflags & EnableBit.FWDINV:
        pipeline.compare_fwd_inv(model, data)
    with _all_or_nothing(model, data), _settling(model, data):
        if model.opt.integrator == Integrator.RK4:
            pipeline.euler(model, data)
        else:
            integrate(model, data)


def inverse(model: Model, data: Data) -> None:
    """Inverse dynamics: qfrc_inverse, the joint forces that give qacc. MuJoCo's mj_inverse."""
    check_arguments("inverse", model, data)
    _check_inverse(model)
    get_ready(model)
    if model.callbacks.any:
        inverse_skip(model, data)
    else:
        pipeline.inverse(model, data)


def _check_inverse(model: Model) -> None:
    if model.opt.enableflags & EnableBit.INVDISCRETE and model.opt.integrator == Integrator.RK4:
        raise ValueError("inverse: discrete inverse dynamics (flag invdiscrete) does not exist for the RK4 integrator")


def inverse_skip(model: Model, data: Data, skip: Stage | int = Stage.NONE, skip_sensors: bool = False) -> None:
    """Inverse dynamics without the stages up to `skip`, which count as done. MuJoCo's mj_inverseSkip."""
    check_arguments("inverse_skip", model, data)
    _check_inverse(model)
    _inverse(model, data, Stage(skip), skip_sensors)


@holding(1)
def _inverse(model: Model, data: Data, skip: Stage, skip_sensors: bool) -> None:
    _check_skipped("inverse_skip", model, data, skip)
    if skip < Stage.POS:
        pipeline.fwd_position(model, data)
        sense(model, data, Stage.POS, skip_sensors)
        if model.opt.enableflags & EnableBit.ENERGY:
            pipeline.energy_after_position(model, data)
    if skip < Stage.VEL:
        forward_velocity(model, data, skip_sensors)
    bias = data.qfrc_bias.copy()
    if skip >= Stage.VEL:  # as in MuJoCo a new qvel counts in the bias, and in nothing else
        pipeline.rne_bias(model, data)
        pipeline.tendon_bias(model, data)
    pipeline.inverse_acceleration(model, data)
    data._arrays["qfrc_bias"][:] = bias
    sense(model, data, Stage.ACC, skip_sensors)
    pipeline.restore_acceleration(model, data)
