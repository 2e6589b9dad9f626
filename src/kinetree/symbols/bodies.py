"""Mass properties of symbols in the place of a body: which symbols they depend on, and a function of these."""

from __future__ import annotations

import re
from typing import Any

import casadi

from ..mass import MassProperties
from ..mass.scalars import are_numbers

NAME = re.compile(r"[A-Za-z](_?[A-Za-z0-9])*")  # what CasADi takes as the name of an input


def same(a: Any, b: Any) -> bool:
    """Whether two symbols are one, not only of one name."""
    return type(a) is type(b) and a.shape == b.shape and casadi.is_equal(a, b)


def properties_function(properties: MassProperties, inputs: Any) -> tuple[dict[str, Any], Any]:
    """The free symbols of mass properties by name, and a function from them to the ten numbers."""
    scalars = properties._symmetric()
    if properties.shape:
        raise TypeError("with_body takes one body, not a batch of mass properties")
    if are_numbers(*scalars):
        properties.validate()
    ten = casadi.vertcat(*scalars)
    if isinstance(ten, casadi.DM):
        ten = casadi.SX(ten)
    free = sorted(casadi.symvar(ten), key=by_number)
    given = free if inputs is None else list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if not all(isinstance(symbol, type(ten)) and symbol.is_valid_input() for symbol in given):
        raise TypeError(
            f"with_body: inputs must be symbols of the same kind as the mass properties, {type(ten).__name__}"
        )
    names = [name_of(symbol) for symbol in given]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise ValueError(f"with_body: two inputs are called {name!r}")
        if not NAME.fullmatch(name):
            raise ValueError(
                f"with_body: {name!r} cannot be the name of an input: give symbols made by sym, one by one"
            )
    covered = casadi.symvar(casadi.veccat(*given)) if given else []
    missing = [s.name() for s in free if not any(casadi.is_equal(s, c) for c in covered)]
    if missing:
        raise ValueError(f"with_body: inputs lack symbols of the mass properties: {', '.join(missing)}")
    return dict(zip(names, given, strict=True)), casadi.Function("properties", given, [ten], names, ["ten"])


def by_number(symbol: Any) -> list[Any]:
    """Sorts symbols by name, numbers in it by their value: x_2 before x_10."""
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", symbol.name())]


def name_of(symbol: Any) -> str:
    """The name of a symbol; a vector of SX has none, but its entries are x_0, x_1, …"""
    if isinstance(symbol, casadi.MX) or symbol.is_scalar():
        return symbol.name()
    return symbol[0].name().rpartition("_")[0]
