"""Derivatives by differences of the compiled kernels, along tangents of the configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi
import numpy as np

import kinetree as kt
from tests.symbols.numeric import State

Numeric = Callable[[State], np.ndarray]

WIDE, NARROW = 1e-3, 1e-5


def moved(model: kt.Model, state: State, name: str, i: int, by: float) -> State:
    """The state with one entry changed; configurations move along a velocity."""
    step = np.zeros(model.nv if name == "q" else len(getattr(state, name)))
    step[i] = by
    if name == "q":
        return state._replace(q=kt.integrate_pos(model, state.q, step, 1.0))
    return state._replace(**{name: getattr(state, name) + step})


def slope(along: Callable[[float], np.ndarray], smooth: bool = True) -> np.ndarray:
    """The derivative at 0 of a function of one number.

    Where it is smooth, five points far apart give ten digits. Where it has a kink in its second derivative, as v |v| at rest,
    narrow differences of two widths are extrapolated, in which the error grows with the width.
    """
    if smooth:
        near, far = along(WIDE) - along(-WIDE), along(2 * WIDE) - along(-2 * WIDE)
        return (8.0 * near - far) / (12.0 * WIDE)
    near, far = along(NARROW) - along(-NARROW), along(2 * NARROW) - along(-2 * NARROW)
    return (near - far / 4.0) / NARROW


def differences(model: kt.Model, function: Numeric, state: State, name: str, smooth: bool = True) -> np.ndarray:
    """The Jacobian of a numeric function with respect to one part of the state."""
    count = model.nv if name == "q" else len(getattr(state, name))
    columns = [slope(lambda by, i=i: function(moved(model, state, name, i, by)), smooth) for i in range(count)]
    return np.stack(columns, axis=1) if columns else np.zeros((len(function(state)), 0))


def tangent_jacobian(sym: Any, function: Any, state: State, name: str, values: Sequence[Any] = ()) -> np.ndarray:
    """CasADi's Jacobian of all outputs of a function with respect to one input, along tangents where that is q."""
    inputs = {n: casadi.SX(casadi.DM(getattr(state, n))) for n in function.name_in()[: function.n_in() - len(values)]}
    count = sym.model.nv if name == "q" else len(getattr(state, name))
    step = casadi.SX.sym("step", count)
    inputs[name] = sym.integrate_pos(inputs["q"], step, 1.0, *values) if name == "q" else inputs[name] + step
    outputs = function.call([*inputs.values(), *values])
    stacked = casadi.vertcat(*(casadi.vec(out) for out in outputs))
    return np.asarray(casadi.Function("J", [step], [casadi.jacobian(stacked, step)])(np.zeros(count)))
