"""Conditions on a model: what `@stage(when=…)` says of the models that a stage exists for.

The stages that a model needs are compiled together, where several processors can help. One that is needed after all, as options
change or a function is called, is compiled when it is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .types import EnableBit, GeomType, Integrator, SensorType, Solver

if TYPE_CHECKING:
    from .model import Model

Need = Callable[["Model"], bool]


def on_request(model: Model) -> bool:
    """No model by itself: no step has the stage, some function of the user's does."""
    return False


def flag(bit: EnableBit) -> Need:
    """A flag is set."""
    return lambda model: bool(model.opt.enableflags & bit)


def option(name: str) -> Need:
    """An option is not zero."""
    return lambda model: bool(getattr(model.opt, name))


def integrator(*kinds: Integrator) -> Need:
    """The model's integrator is one of them."""
    return lambda model: model.opt.integrator in kinds


def solver(kind: Solver) -> Need:
    """It is the model's solver of constraints."""
    return lambda model: model.opt.solver == kind


def sensor(*kinds: SensorType) -> Need:
    """There is a sensor of these kinds; of any, where none are named."""
    return lambda model: bool(np.isin(model.sensor_type, kinds or list(SensorType)).any())


def encloses(model: Model) -> bool:
    """There is a sensor of how far something sticks out of a site."""
    return bool(((model.sensor_type == SensorType.INSIDESITE) & (model.sensor_intprm[:, 0] != 0)).any())


def shapes(*kinds: GeomType) -> Need:
    """There are geoms of all these kinds that may collide; a kind that is named twice, twice."""

    def need(model: Model) -> bool:
        collides = (model.geom_contype | model.geom_conaffinity != 0) | bool(model.npair)
        return all(np.sum(collides & (model.geom_type == kind)) >= kinds.count(kind) for kind in kinds)

    return need


def some(count: str) -> Need:
    """A count of the model is not zero."""
    return lambda model: getattr(model, count) > 0


def both(*needs: Need) -> Need:
    """All of them."""
    return lambda model: all(need(model) for need in needs)


def either(*needs: Need) -> Need:
    """One of them."""
    return lambda model: any(need(model) for need in needs)


# What stages of several files have in common.
SLEEPS = flag(EnableBit.SLEEP)
MEDIUM = either(option("density"), option("viscosity"))
DISTANCES = sensor(SensorType.GEOMDIST, SensorType.GEOMNORMAL, SensorType.GEOMFROMTO)
