"""Plugins: elements name instances of the right kind, whose configuration says how many states and numbers they have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import ModelError
from ...types import SensorType, Stage
from ..plugins import PID, TOUCH_GRID, configuration, plugin_names, wrong_states  # noqa: F401
from .report import first


def instances(m: Any) -> Iterator[str]:
    """Every element of a plugin has an instance of it, and every pid an actuator; configurations can be read."""
    known, none = np.array(plugin_names(m)), m.actuator_plugin == -1
    for name, kind, used in ((PID, "actuator", ~none), (TOUCH_GRID, "sensor", m.sensor_type == SensorType.PLUGIN)):
        instance, field = getattr(m, f"{kind}_plugin"), f"{kind}_plugin"
        fits = np.isin(instance, np.flatnonzero(known == name))
        yield from first(used & ~fits, field, instance, f"no instance of {name}")
        yield from first(~used & (instance != -1), field, instance, "but it is of no plugin")
    lonely = (known == PID) & ~np.isin(np.arange(m.nplugin), m.actuator_plugin)
    yield from first(lonely, "plugin", m.plugin, f"of {PID}, but there is no actuator of this instance")
    try:
        configuration(m)
    except ModelError as problem:
        yield str(problem)


def sensors(m: Any) -> Iterator[str]:
    """Numbers of a touch grid, and its stage."""
    numbers = configuration(m)
    for i in np.flatnonzero(m.sensor_type == SensorType.PLUGIN):
        p = m.sensor_plugin[i]
        pixels = int(numbers["grid_nchannel"][p]) * int(numbers["grid_size"][p].prod(dtype=np.int64))
        for field, wanted in (("dim", pixels), ("needstage", int(Stage.ACC))):
            given = getattr(m, f"sensor_{field}")[i]
            if given != wanted:
                yield f"sensor_{field}[{i}] is {given}, but {wanted} follows from its plugin"
