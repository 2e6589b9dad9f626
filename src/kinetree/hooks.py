"""The user's callbacks in the order of the stages: at MuJoCo's places compiled code asks Python for them.

A callback may run stages on the Data, and make room in it. What it raises ends the pass and is raised by the driver. It must
not be called twice for one pass, so with callbacks room is made on the spot where it is lacking (`makes_room`).
MuJoCo: mjcb_control and its kin. Reads: m.hooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .bad_states import begin_pass, undo_pass
from .callbacks import CONTROL, SIGNATURES
from .data import AT_ADDRESS
from .kernel import kernel
from .kernel.guard import ANSWER, answer_with, call_user
from .occupancy import ERROR, HOOK
from .sensor.delivery import cut_off_user_sensors
from .types import BiasType, DisableBit, DynType, GainType, SensorType, Stage

if TYPE_CHECKING:
    from .data import Data
    from .model import Model

# What compiled code asks for; sensors by their stage, behind these.
ROOM, USER_CONTROL, USER_PASSIVE, USER_ACTUATORS, USER_SENSORS = range(5)
# Notes of the pass that is under way: a pass that a callback makes on the same Data has its own.
NOTES = ("energy_pass", "flg_energy_pass", "tree_pass", "steps_left", "overflow", "needed")
COUNTS = ("warning_before", "warning_pass")  # of warnings, to which those that such a pass has told are added


@kernel
def hook(m, d, bit, which):
    """Have the user's functions called, if there are any, and nothing went wrong in the pass."""
    if m.hooks & bit != 0 and d.overflow[0] == 0:
        call_user(d, which)


@kernel
def user_control(m, d):
    """The user's control, unless actuation is disabled."""
    if m.opt_disableflags & DisableBit.ACTUATION == 0:
        hook(m, d, CONTROL, USER_CONTROL)


@kernel
def begin_part(m, d):
    """The beginning of a part of a pass that may have to be made again."""
    if m.hooks != 0:
        begin_pass(m, d)


@kernel
def makes_room(m, d):
    """Whether room was lacking, and has now been made: the part that lacked it is to be made again."""
    if d.overflow[0] == 0 or m.hooks == 0 or d.guard[ERROR] != 0:
        return False
    undo_pass(m, d, True)
    call_user(d, ROOM)
    return d.overflow[0] == 0


def answer(address: int) -> None:
    """What compiled code asks Python for, on the Data at an address."""
    data = AT_ADDRESS[address]
    model, which = data._as_data[0](), int(data._guard[HOOK])
    if which == ROOM:
        data._grow()
        return
    arrays = data._arrays
    kept = {name: arrays[name].copy() for name in (*NOTES, *COUNTS, "warning_number")}
    try:
        with arrays.set_aside():
            try:
                _call_back(model, data, which)
            finally:
                data._adopt(model)  # a callback may have used it with another model
    finally:
        for name in NOTES:
            arrays[name][...] = kept[name]
        for name in COUNTS:
            arrays[name][:] = kept[name] + arrays["warning_number"] - kept["warning_number"]


def _call_back(model: Model, data: Data, which: int) -> None:
    if which == USER_CONTROL:
        call("control", model.callbacks.control, model, data)
    elif which == USER_PASSIVE:
        call("passive", model.callbacks.passive, model, data)
    elif which == USER_ACTUATORS:
        _actuators(model, data)
    else:
        _sensors(model, data, Stage(which - USER_SENSORS))


def _actuators(model: Model, data: Data) -> None:
    """The user's dynamics, gains and biases, between the two halves of actuation."""
    callbacks = model.callbacks
    for k in range(model.nactuator):
        if callbacks.act_dyn and model.actuator_dyntype[k] == DynType.USER:
            rate = call("act_dyn", callbacks.act_dyn, model, data, k)
            if model.actuator_actnum[k] == 1:  # with several states the callback writes act_dot itself
                data.act_dot[model.actuator_actadr[k]] = rate
        if callbacks.act_gain and model.actuator_gaintype[k] == GainType.USER:
            data._arrays["user_gain"][k] = call("act_gain", callbacks.act_gain, model, data, k)
        if callbacks.act_bias and model.actuator_biastype[k] == BiasType.USER:
            data._arrays["user_bias"][k] = call("act_bias", callbacks.act_bias, model, data, k)


def _sensors(model: Model, data: Data, stage: Stage) -> None:
    """The user's own sensors of a stage."""
    if model.opt.disableflags & DisableBit.SENSOR:
        return
    if ((model.sensor_type == SensorType.USER) & (model.sensor_needstage == stage)).any():
        call("sensor", model.callbacks.sensor, model, data, stage)
        cut_off_user_sensors(model, data, stage)


def call(name: str, callback: Any, *args: Any) -> Any:
    """A callback of the user; what it raises says which one it was."""
    try:
        return callback(*args)
    except Exception as error:
        error.add_note(f"raised in the callback {name!r}, which is called with {SIGNATURES[name]}")
        raise


answer_with(ANSWER, answer)
