"""Models less the sensors that kinetree refuses so far, so that everything else about them can be compared and timed."""

from __future__ import annotations

from pathlib import Path

import mujoco

from ..io.features import UNREAD_SENSORS


def without_unread_sensors(spec: mujoco.MjSpec) -> mujoco.MjSpec:
    """The specification itself, its sensors of refused types deleted."""
    for sensor in list(spec.sensors):
        if int(sensor.type) in UNREAD_SENSORS:
            spec.delete(sensor)
    return spec


def readable(path: Path) -> Path | mujoco.MjModel:
    """A model file that kinetree loads: the path itself if it has no such sensors, else the compiled rest."""
    spec = mujoco.MjSpec.from_file(str(path))
    before = len(spec.sensors)
    return path if len(without_unread_sensors(spec).sensors) == before else spec.compile()
