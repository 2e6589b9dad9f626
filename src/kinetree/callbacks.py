"""Python callbacks of a model: the user's control, passive forces, sensors and actuator types.

    model.callbacks.control = lambda model, data: data.ctrl.fill(1.0)

MuJoCo: mjcb_control, mjcb_passive, mjcb_sensor, mjcb_act_dyn, mjcb_act_gain, mjcb_act_bias, here one set per model.
Compiled code asks Python for them, at MuJoCo's places in the order of the stages (`hooks.py`); without one nothing is paid.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import nearest

# name -> what it is called with
SIGNATURES = {
    "control": "(model, data): sets data.ctrl and applied forces, before actuation",
    "passive": "(model, data): adds to data.qfrc_passive, after the passive forces",
    "sensor": "(model, data, stage): writes the sensordata of user sensors of that stage",
    "act_dyn": "(model, data, actuator id): returns act_dot of user dynamics, or writes it if there are several states",
    "act_gain": "(model, data, actuator id): returns the gain of an actuator whose gain is of user type",
    "act_bias": "(model, data, actuator id): returns the bias of an actuator whose bias is of user type",
}

CONTROL, PASSIVE, SENSOR, ACTUATOR = 1, 2, 4, 8
BITS = {"control": CONTROL, "passive": PASSIVE, "sensor": SENSOR} | dict.fromkeys(
    ("act_dyn", "act_gain", "act_bias"), ACTUATOR
)
"""The bit of m.hooks by which compiled code knows of a callback."""


class Callbacks:
    """The callbacks of one model; None where there is none. Copies of the model keep them, pickles do not.

    control(model, data): sets data.ctrl and applied forces, before actuation.
    passive(model, data): adds to data.qfrc_passive, after the passive forces.
    sensor(model, data, stage): writes the sensordata of user sensors of that stage.
    act_dyn, act_gain, act_bias(model, data, actuator id): return act_dot, gain or bias of an actuator of user type.
    """

    __slots__ = ("_word", "any", *SIGNATURES)

    control: Callable[..., Any] | None
    passive: Callable[..., Any] | None
    sensor: Callable[..., Any] | None
    act_dyn: Callable[..., Any] | None
    act_gain: Callable[..., Any] | None
    act_bias: Callable[..., Any] | None
    any: bool
    _word: np.ndarray

    def __init__(self, word: np.ndarray) -> None:
        """word: where compiled code sees which callbacks there are."""
        object.__setattr__(self, "_word", word)
        for name in SIGNATURES:
            object.__setattr__(self, name, None)
        object.__setattr__(self, "any", False)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in SIGNATURES:
            raise AttributeError(f"there is no callback {name!r}: {nearest(name, SIGNATURES)}")
        if value is not None and not callable(value):
            raise TypeError(f"callback {name} must be a function of {SIGNATURES[name]}, or None")
        object.__setattr__(self, name, value)
        there = [n for n in SIGNATURES if getattr(self, n) is not None]
        object.__setattr__(self, "any", bool(there))
        self._word[0] = functools.reduce(operator.or_, (BITS[n] for n in there), 0)

    def copy_from(self, other: Callbacks) -> None:
        """Take over all callbacks of another model."""
        for name in SIGNATURES:
            setattr(self, name, getattr(other, name))

    def clear(self) -> None:
        """Remove all callbacks."""
        for name in SIGNATURES:
            setattr(self, name, None)

    def __repr__(self) -> str:
        return f"<callbacks: {', '.join(n for n in SIGNATURES if getattr(self, n)) or 'none'}>"
