"""Stepping from Python: `step` and its parts, bad states, and the user's callbacks.

`step` enters compiled code once for all its steps. It comes back early when a state went bad: Python then resets, as MuJoCo
does, warns, and goes on; and every 20 ms, so that Python hears Ctrl-C and other signals between two steps. With callbacks
set on the model the stages run one by one from here instead.
MuJoCo: mj_step, mj_step1, mj_step2, mj_forward, mj_forwardSkip, mj_inverseSkip, mj_compareFwdInv, mj_checkPos and its kin.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types as numba_types

from . import pipeline
from .bad_states import (
    BADQACC,
    BADQPOS,
    BADQVEL,
    KINDS_OF_RETURN,
    LACKS_ROOM,
    PAUSED,
    any_new_warning,
    begin_pass,
    lacked_room,
    message,
    motion_is_bad,
    position_is_bad,
    remember_warnings,
)
from .callbacks import SIGNATURES
from .dynamics.actuation import MAX_VALUE
from .errors import SimulationWarning
from .kernel import JIT, compiled, float_machine, kernel
from .kernel.guard import STEPS, time_is_up
from .kernel.stage import check_arguments, plain
from .occupancy import holding
from .pipeline import forward as forward_stage
from .pipeline import integrate
from .prerequisites import prepare
from .sensor.delivery import cut_off_user_sensors
from .types import (
    BiasType,
    DisableBit,
    DynType,
    EnableBit,
    GainType,
    GeomType,
    Integrator,
    SensorType,
    Stage,
    WarningType,
)

if TYPE_CHECKING:
    from .data import Data
    from .model import Model

MAX_STEPS = 2**31  # in one call: the count of those left is a 32-bit integer
REMEMBERED = 1000  # warnings of one module of the user
MOVING = ("time", "qpos", "qvel", "act", "history", "plastic", "qacc_warmstart", "tree_asleep")  # what a step moves on
FWDINV = int(EnableBit.FWDINV)
SOLVED = (GeomType.HFIELD, GeomType.ELLIPSOID, GeomType.CYLINDER, GeomType.MESH)  # shapes that need a convex solver


@kernel(scalar=True)
def run_forward(m, d, n):
    """One forward pass; 1 if it counted a warning, LACKS_ROOM if there was no room for all contacts or constraints."""
    remember_warnings(d)
    d.steps_left[0] = 0
    begin_pass(m, d)
    forward_stage(m, d)
    return LACKS_ROOM if lacked_room(m, d) else any_new_warning(d)


@kernel(scalar=True)
def run_steps(m, d, n):
    """Up to n steps; 0 if nothing happened. With -n the first acceleration is taken as it is: that of a state just reset.

    d.steps_left says how many steps are missing, negative when the next one went bad after its forward pass; after a pause
    and for want of room the result says it too. After a pause warnings before it count as new.
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
        if position_is_bad(m, d) or motion_is_bad(m, d, d.qvel, BADQVEL):
            d.steps_left[0] = steps - k
            return 1
        begin_pass(m, d)
        forward_stage(m, d)
        if lacked_room(m, d):
            d.steps_left[0] = left
            return LACKS_ROOM + KINDS_OF_RETURN * left
        if left > 0 and motion_is_bad(m, d, d.qacc, BADQACC):
            d.steps_left[0] = -left
            return 1
        if m.opt_enableflags & FWDINV:
            pipeline.compare_fwd_inv(m, d)
        integrate(m, d)
        if lacked_room(m, d):  # in a substep, which was taken back
            d.steps_left[0] = left
            return LACKS_ROOM + KINDS_OF_RETURN * left
    return any_new_warning(d)


@kernel(scalar=True)
def run_check(m, d, n):
    """Look for bad numbers in the state, or with n = 1 in its acceleration. d.steps_left says whether it must be reset."""
    remember_warnings(d)
    if n == 0:
        bad = position_is_bad(m, d) or motion_is_bad(m, d, d.qvel, BADQVEL)
    else:
        bad = motion_is_bad(m, d, d.qacc, BADQACC)
    d.steps_left[0] = 1 if bad else 0
    return any_new_warning(d)


@kernel(scalar=True)
def run_position(m, d, n):
    """The position stage; LACKS_ROOM if there was no room for all contacts or constraints."""
    begin_pass(m, d)
    pipeline.fwd_position(m, d)
    return LACKS_ROOM if lacked_room(m, d) else 0


_entries: dict[Any, Any] = {}  # kernel -> compiled entry


def _enter(kernel_: Any, model: Model, data: Data, n: int) -> int:
    """Run one of the kernels above to its end; 1 if there is something to report, else 0."""
    data._adopt(model)  # a callback may have used it with another model
    if JIT and kernel_ not in _entries:
        _entries[kernel_] = compiled(kernel_, float_machine(), numba_types.int64, result="int64")
    return _carry_on(kernel_, model, data, n, _run(kernel_, model, data, n))


def _run(kernel_: Any, model: Model, data: Data, n: int) -> int:
    if JIT:
        return _entries[kernel_](model.address, data.address, n)
    return plain(kernel_)(model.record(), data.record(), n)


def _carry_on(kernel_: Any, model: Model, data: Data, n: int, status: int) -> int:
    """Enter again as long as a kernel came back before its end: for Python to hear signals, or for want of room."""
    while status not in (0, 1):
        n = left_to_do(model, data, n, status)
        status = _run(kernel_, model, data, n)
    return status


def left_to_do(model: Model, data: Data, n: int, status: int) -> int:
    """After an early return: how many of n steps are left, once what it was for has been seen to."""
    left, kind = divmod(status, KINDS_OF_RETURN)
    if kind == LACKS_ROOM:
        _make_room(model, data)
    elif kind != PAUSED:
        data._grow(status)  # which raises, as another thread is inside
        return n
    return left


def step(model: Model, data: Data, nstep: int = 1) -> None:
    """Advance the simulation by some time steps. MuJoCo's mj_step, nstep times.

    Afterwards the state is new, while all other fields still describe the state before the last step, as in MuJoCo.
    """
    try:  # nothing runs in here: what a run raises must not be taken for a wrong argument, and the run be repeated
        m, d, enter = model._as_model, data._as_data, _entries[run_steps]
        quick = m[0] is d[0] and model._ready and not model.callbacks.any
    except (AttributeError, KeyError):  # the first call, or a wrong argument
        quick = False
    if quick and type(nstep) is int and 0 <= nstep < MAX_STEPS:
        status = enter(m[1], d[1], nstep)
        if status and _carry_on(run_steps, model, data, nstep, status):
            _go_on(model, data)
        return
    check_arguments("step", model, data)
    if isinstance(nstep, bool) or not isinstance(nstep, (int, np.integer)) or not 0 <= nstep < MAX_STEPS:
        raise ValueError(f"step: nstep must be a whole number from 0 to {MAX_STEPS - 1}, got {nstep!r}")
    _get_ready(model)
    if model.callbacks.any:
        for _ in range(nstep):
            _step_with_callbacks(model, data)
    elif _enter(run_steps, model, data, int(nstep)):
        _go_on(model, data)


def _get_ready(model: Model) -> None:
    """Once for each model: say what its simulation does otherwise than the model asks."""
    if "_ready" not in model.__dict__:
        model.__dict__["_ready"] = True
        for wish in not_computed(model):
            warnings.warn(
                f"kinetree does not do what this model asks: {wish}", SimulationWarning, stacklevel=_user_level()
            )


def not_computed(model: Model) -> list[str]:
    """What a model asks for that `step` does otherwise: at present MuJoCo's older solver for convex shapes."""
    hulls = np.isin(model.geom_type, SOLVED) & (model.geom_contype | model.geom_conaffinity != 0)
    if not model.opt.disableflags & DisableBit.NATIVECCD or not (hulls.any() or model.npair):
        return []
    return ['nativeccd="disable" is not offered, convex shapes collide by the native solver']


def _go_on(model: Model, data: Data) -> None:
    """After an early return: warn, reset as MuJoCo does, and make the steps that are left."""
    left = _report(model, data)
    while left:
        _reset_keeping_warnings(model, data)
        left = _report(model, data) if _enter(run_steps, model, data, left) else 0


def _reset_keeping_warnings(model: Model, data: Data) -> None:
    """Back to the initial state, which must be sound, or a reset would never end."""
    arrays = data._arrays
    counts, infos = arrays["warning_number"].copy(), arrays["warning_lastinfo"].copy()
    data._reset_to(model)
    arrays["warning_number"][:], arrays["warning_lastinfo"][:] = counts, infos
    if not np.all(np.abs(data.qpos) <= MAX_VALUE):
        raise ValueError("step: the state went bad, and qpos0 of the model is not sound either")


def _report(model: Model, data: Data, resets: bool = True) -> int:
    """Turn new counts of MuJoCo's warnings into Python warnings; how many steps are left, for which the state is reset.

    As in MuJoCo a reset forgets all warnings but the one that led to it, which then counts once.
    """
    left = int(data._arrays["steps_left"][0])
    resets = resets and left != 0
    new = np.flatnonzero(data.warning_number > data.warning_before)
    for what in new:
        text = message(model, data, WarningType(int(what)), resets)
        warn_of_moment(text)
    if resets:
        reason = next(what for what in new if what in (BADQPOS, BADQVEL, BADQACC))
        others = np.arange(len(WarningType)) != reason
        data._arrays["warning_number"][:] = ~others
        data._arrays["warning_lastinfo"][others] = 0
    _remember(data)
    return left


def _make_room(model: Model, data: Data) -> None:
    """For the contacts and constraints that did not fit. What came before is reported."""
    data._grow()
    _report(model, data, resets=False)


def warn_of_moment(text: str) -> None:
    """Warn at the user's line in words that name the time. Python remembers every text: once they are many, it may forget."""
    level = _user_level()
    registry = sys._getframe(level - 1).f_globals.get("__warningregistry__", {})
    if len(registry) > REMEMBERED:
        registry.clear()
    warnings.warn(text, SimulationWarning, stacklevel=level)


def _user_level() -> int:
    """How far up the stack the caller outside kinetree is, so that a warning points at the user's line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("kinetree."):
        frame, level = frame.f_back, level + 1
    return level


def _call(name: str, callback: Any, *args: Any) -> Any:
    """A callback of the user; what it raises says which one it was."""
    try:
        return callback(*args)
    except Exception as error:
        error.add_note(f"raised in the callback {name!r}, which is called with {SIGNATURES[name]}")
        raise


def _remember(data: Data) -> None:
    """What comes after this is new."""
    data._arrays["warning_before"][:] = data._arrays["warning_number"]
    data._arrays["steps_left"][0] = 0


def forward(model: Model, data: Data) -> None:
    """Forward dynamics: from state, controls and applied forces to accelerations. MuJoCo's mj_forward."""
    try:
        m, d, enter = model._as_model, data._as_data, _entries[run_forward]
        quick = m[0] is d[0] and model._ready and not model.callbacks.any
    except (AttributeError, KeyError):  # the first call, or a wrong argument
        quick = False
    if quick:
        status = enter(m[1], d[1], 1)
        if status and _carry_on(run_forward, model, data, 1, status):
            _report(model, data)
        return
    check_arguments("forward", model, data)
    _get_ready(model)
    if model.callbacks.any:
        forward_skip(model, data)
    elif _enter(run_forward, model, data, 1):
        _report(model, data)


def forward_skip(model: Model, data: Data, skip: Stage | int = Stage.NONE, skip_sensors: bool = False) -> None:
    """Forward dynamics without the stages up to `skip`, which count as done. MuJoCo's mj_forwardSkip."""
    check_arguments("forward_skip", model, data)
    _forward(model, data, Stage(skip), skip_sensors)


@holding(1)
def _forward(model: Model, data: Data, skip: Stage = Stage.NONE, skip_sensors: bool = False) -> None:
    callbacks = model.callbacks
    _check_skipped("forward_skip", model, data, skip)
    _remember(data)
    if skip < Stage.POS:
        _forward_position(model, data, skip_sensors)
    if skip < Stage.VEL:
        _forward_velocity(model, data, skip_sensors)
    if callbacks.control and not model.opt.disableflags & DisableBit.ACTUATION:
        _call("control", callbacks.control, model, data)
    _forward_acceleration(model, data, skip_sensors)
    _report(model, data)


def _check_skipped(name: str, model: Model, data: Data, skip: Stage) -> None:
    """Raise where stages count as done that have not run since the reset."""
    if skip != Stage.NONE:
        prepare(f"{name} after {'POS' if skip == Stage.POS else 'VEL'}", model, data)


def _forward_position(model: Model, data: Data, skip_sensors: bool = False) -> None:
    _enter(run_position, model, data, 0)
    _sense(model, data, Stage.POS, skip_sensors)
    pipeline.energy_after_position(model, data)


def _forward_velocity(model: Model, data: Data, skip_sensors: bool = False) -> None:
    pipeline.fwd_velocity(model, data)
    if model.callbacks.passive:
        _call("passive", model.callbacks.passive, model, data)
    _sense(model, data, Stage.VEL, skip_sensors)
    pipeline.energy_after_velocity(model, data)


def _forward_acceleration(model: Model, data: Data, skip_sensors: bool = False) -> None:
    _actuate(model, data)
    pipeline.fwd_acceleration(model, data)
    pipeline.fwd_constraint(model, data)
    _sense(model, data, Stage.ACC, skip_sensors)


SENSOR_STAGES = {Stage.POS: pipeline.sensor_pos, Stage.VEL: pipeline.sensor_vel, Stage.ACC: pipeline.sensor_acc}


def _sense(model: Model, data: Data, stage: Stage, skip: bool) -> None:
    """The sensors of a stage, then the user's own through the callback."""
    if skip:
        return
    if stage == Stage.ACC:
        data._arrays["flg_rnepost"][0] = False
    SENSOR_STAGES[stage](model, data)
    users = (model.sensor_type == SensorType.USER) & (model.sensor_needstage == stage)
    if model.callbacks.sensor and users.any() and not model.opt.disableflags & DisableBit.SENSOR:
        _call("sensor", model.callbacks.sensor, model, data, stage)
        cut_off_user_sensors(model, data, stage)


def _actuate(model: Model, data: Data) -> None:
    """Actuation with the user's dynamics, gains and biases in between."""
    callbacks = model.callbacks
    pipeline.actuator_dynamics(model, data)
    if not model.opt.disableflags & DisableBit.ACTUATION:
        for k in range(model.nactuator):
            if callbacks.act_dyn and model.actuator_dyntype[k] == DynType.USER:
                rate = _call("act_dyn", callbacks.act_dyn, model, data, k)
                if model.actuator_actnum[k] == 1:  # with several states the callback writes act_dot itself
                    data.act_dot[model.actuator_actadr[k]] = rate
            if callbacks.act_gain and model.actuator_gaintype[k] == GainType.USER:
                data.user_gain[k] = _call("act_gain", callbacks.act_gain, model, data, k)
            if callbacks.act_bias and model.actuator_biastype[k] == BiasType.USER:
                data.user_bias[k] = _call("act_bias", callbacks.act_bias, model, data, k)
    pipeline.actuator_forces(model, data)


def _check(model: Model, data: Data, acceleration: bool = False) -> bool:
    """Look for bad numbers in the state or its acceleration; warn, and reset unless the model says not to: whether it did."""
    reset = bool(_enter(run_check, model, data, int(acceleration)) and _report(model, data))
    if reset:
        _reset_keeping_warnings(model, data)
        _remember(data)
    return reset


@holding(1)
def _step_with_callbacks(model: Model, data: Data) -> None:
    """One step, stage by stage; the substeps of RK4 call the callbacks too, as in MuJoCo."""
    _check(model, data)
    forward_skip(model, data)
    _finish_step(model, data)


def _finish_step(model: Model, data: Data) -> None:
    if _check(model, data, acceleration=True):
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
    _get_ready(model)
    _step1(model, data)


@holding(1)
def _step1(model: Model, data: Data) -> None:
    _check(model, data)
    _forward_position(model, data)
    _forward_velocity(model, data)
    if model.callbacks.control:
        _call("control", model.callbacks.control, model, data)
    _report(model, data)


def step2(model: Model, data: Data) -> None:
    """The second half of a step, after the user has set controls and forces; RK4 counts as Euler. MuJoCo's mj_step2."""
    prepare("step2", model, data)
    _step2(model, data)


@holding(1)
def _step2(model: Model, data: Data) -> None:
    _remember(data)
    _forward_acceleration(model, data)
    _report(model, data)
    if _check(model, data, acceleration=True):
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
    _get_ready(model)
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
        _sense(model, data, Stage.POS, skip_sensors)
        if model.opt.enableflags & EnableBit.ENERGY:
            pipeline.energy_after_position(model, data)
    if skip < Stage.VEL:
        _forward_velocity(model, data, skip_sensors)
    bias = data.qfrc_bias.copy()
    if skip >= Stage.VEL:  # as in MuJoCo a new qvel counts in the bias, and in nothing else
        pipeline.rne_bias(model, data)
        pipeline.tendon_bias(model, data)
    pipeline.inverse_acceleration(model, data)
    data._arrays["qfrc_bias"][:] = bias
    _sense(model, data, Stage.ACC, skip_sensors)
    pipeline.restore_acceleration(model, data)
