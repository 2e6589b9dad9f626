"""`MassAggregator`: a body made of named components, some of which change with time, and its way into a simulation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from ..errors import SimulationWarning, UnknownNameError, nearest
from ..io.simple import without_simple
from ..model import Model
from ..notices import user_level
from .body import set_body_mass_properties, write_body
from .properties import MassProperties, aggregate
from .scalars import are_numbers
from .value import Value

ROUNDING = 1e-9  # kg: what may be missing of nothing
Component = MassProperties | Callable[[Any], MassProperties]


class MassAggregator(MutableMapping[str, Component]):
    """Named components of one body, in one frame: constant ones, and functions of time that give mass properties.

        aircraft = kt.MassAggregator({"structure": structure, "fuel": lambda t: tank(fill(t))}, body="aircraft")
        aircraft.total(t)
        aircraft.apply(model, data.time)      # between steps of a simulation

    A dictionary in all else: `aircraft["pilot"] = pilot` puts one in or exchanges it, `del aircraft["pilot"]` takes it
    out. A function that gives a negative mass, of fuel burnt beyond the last drop, is warned of.

    Mass that leaves takes its momentum along and pushes nothing: no thrust from the flow of mass is added. Apply such a
    force yourself, with `data.xfrc_applied`.
    """

    def __init__(self, components: Mapping[str, Component] | None = None, body: str | int | None = None):
        if components is not None and not isinstance(components, Mapping):
            kind = type(components).__name__
            raise TypeError(f'MassAggregator takes components by name, {{"engine": engine, ...}}, not {kind}')
        self.body = body
        self._components: dict[str, Component] = {}
        self._told: set[str] = set()  # components that were said to be empty
        for name, component in (components or {}).items():
            self.add(name, component)

    def add(self, name: str, component: Component) -> None:
        """A new component; a ValueError if there is one of that name."""
        if name in self._components:
            raise ValueError(f"there is a component {name!r} already")
        self[name] = component

    def __setitem__(self, name: str, component: Component) -> None:
        if not isinstance(name, str) or not name:
            raise TypeError(f"a component needs a name, got {name!r}")
        if not isinstance(component, Value) and not callable(component):
            kind = type(component).__name__
            raise TypeError(f"component {name!r}: expected mass properties or a function of time, got {kind}")
        self._components[name] = component
        self._told.discard(name)

    def __getitem__(self, name: str) -> Component:
        if name not in self._components:
            raise UnknownNameError(f"no component is called {name!r}: {nearest(name, self._components)}")
        return self._components[name]

    def __delitem__(self, name: str) -> None:
        self[name]
        del self._components[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._components)

    def __len__(self) -> int:
        return len(self._components)

    def __repr__(self) -> str:
        return f"<MassAggregator of {self.body!r}: {', '.join(self._components) or 'empty'}>"

    def at(self, t: Any = 0.0) -> dict[str, MassProperties]:
        """Every component at a time [s]."""
        out = {}
        for name, component in self._components.items():
            try:
                value = component if isinstance(component, MassProperties) else component(t)
            except Exception as problem:
                problem.add_note(f"in the function of component {name!r} at t = {t}")
                raise
            if not isinstance(value, MassProperties):
                raise TypeError(f"component {name!r} gave {type(value).__name__} at t = {t}, not mass properties")
            if not isinstance(component, MassProperties):
                self._check_left(name, value, t)
            out[name] = value
        return out

    def _check_left(self, name: str, value: MassProperties, t: Any) -> None:
        """Warn, once for a component, if its function goes on after nothing is left: a constant may be a hole."""
        masses = value.mass
        if name in self._told or not are_numbers(masses) or not np.any(np.less(masses, -ROUNDING)):
            return
        self._told.add(name)
        when = np.ravel(t)[np.argmin(masses)] if np.shape(t) == np.shape(masses) else t
        text = (
            f"component {name!r} has a negative mass, {np.min(masses):g} kg, at t = {when}: nothing is left of it, and what "
            "its function takes beyond that is taken off the other components"
        )
        warnings.warn(text, SimulationWarning, stacklevel=user_level())

    def total(self, t: Any = 0.0) -> MassProperties:
        """All components as one body at a time [s]; symbols and batches of times go through if the components take them."""
        return aggregate(self.at(t).values())

    def prepare(self, model: Model, t: float = 0.0, regularise: float | None = None) -> Model:
        """A new model whose body has the total at a time, and room in M for all that `apply` may write. Make the Data of it."""
        body = self._body()
        out = set_body_mass_properties(model, body, self.total(t), regularise)
        b = out.id("body", body)
        return without_simple(out, b) if out.body_simple[b] else out

    def apply(self, model: Model, t: float = 0.0, regularise: float | None = None) -> None:
        """Write the total at a time [s] into the body of a model, in place, and recompute what follows from it.

        Writes body_mass, body_ipos, body_iquat and body_inertia, then all that `kt.set_const` derives. A Data of the
        model goes on as it is: positions and velocities stay. On error nothing changes.
        """
        write_body(model, self._body(), self.total(t), regularise)

    def _body(self) -> str | int:
        if self.body is None:
            raise ValueError('this aggregator has no body: MassAggregator(components, body="...")')
        return self.body
