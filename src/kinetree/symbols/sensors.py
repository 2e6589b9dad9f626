"""Sensors as functions: of q, of q and v, of q, v and a, or of what drives the actuators, by what their stage reads."""

from __future__ import annotations

from typing import Any

from .. import pipeline
from ..errors import UnsupportedFeatureError
from ..model import Model
from ..types import SensorType, Stage
from .functions import DRIVEN, Results, Spec, Symbols
from .trace import INERTIA, PASSIVE, RATES, Trace, column

# What no smooth function gives: contacts, rays, distances, limits (all constraints are left out), time, and the user's.
NOT_SMOOTH = {
    SensorType.TOUCH, SensorType.CONTACT, SensorType.TACTILE, SensorType.RANGEFINDER, SensorType.GEOMDIST,
    SensorType.GEOMNORMAL, SensorType.GEOMFROMTO, SensorType.INSIDESITE, SensorType.JOINTLIMITPOS,
    SensorType.JOINTLIMITVEL, SensorType.JOINTLIMITFRC, SensorType.TENDONLIMITPOS, SensorType.TENDONLIMITVEL,
    SensorType.TENDONLIMITFRC, SensorType.CLOCK, SensorType.USER, SensorType.PLUGIN,
}  # fmt: skip
ACTUATOR_FORCES = {SensorType.ACTUATORFRC, SensorType.JOINTACTFRC, SensorType.TENDONACTFRC}
READS = {Stage.POS: ("q",), Stage.VEL: ("q", "v"), Stage.ACC: ("q", "v", "a")}
READINGS: dict[Stage, Any] = {
    Stage.POS: pipeline.position_readings,
    Stage.VEL: pipeline.velocity_readings,
    Stage.ACC: pipeline.acceleration_readings,
}


def is_smooth(model: Model, i: int) -> bool:
    """Whether a sensor is a function of state, acceleration and controls."""
    return SensorType(int(model.sensor_type[i])) not in NOT_SMOOTH


def sensor(model: Model, i: int) -> Spec:
    """The fresh reading of a sensor, within its cutoff; delay and interval are left out."""
    kind, stage = SensorType(int(model.sensor_type[i])), Stage(int(model.sensor_needstage[i]))
    if not is_smooth(model, i):
        name = model.name("sensor", i) or i
        raise UnsupportedFeatureError([f"{kind.name.lower()} (sensor {name!r}), which no smooth function gives"],
                                      f"symbolic of {model.title!r}")  # fmt: skip
    reads = DRIVEN if kind in ACTUATOR_FORCES else ("q", "v") if kind == SensorType.E_KINETIC else READS[stage]

    def build(t: Trace, x: Symbols) -> Results:
        t.run((*INERTIA, pipeline.camlight, *RATES))
        if kind in ACTUATOR_FORCES:
            t.run((*PASSIVE, pipeline.fwd_actuation))
        t.d.sensor_due[:] = 0
        t.d.sensor_due[i] = 1
        READINGS[stage](t.m, t.d)
        first = int(model.sensor_adr[i])
        return (column(t.d.sensor_fresh[first : first + int(model.sensor_dim[i])]),)

    return Spec(reads, ("reading",), build)
