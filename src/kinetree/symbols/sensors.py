"""Sensors as functions: of q, of q and v, of q, v and a, or of what drives the actuators, by what their stage reads."""

from __future__ import annotations

from typing import Any

from .. import pipeline
from ..errors import UnsupportedFeatureError
from ..model import Model
from ..types import ObjType, SensorType, Stage, TrnType, WrapType
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
ORIENTATIONS = {SensorType.FRAMEQUAT, SensorType.FRAMEXAXIS, SensorType.FRAMEYAXIS, SensorType.FRAMEZAXIS}
BETWEEN_BODIES = {SensorType.FORCE, SensorType.TORQUE}
READS = {Stage.POS: ("q",), Stage.VEL: ("q", "v"), Stage.ACC: ("q", "v", "a")}
READINGS: dict[Stage, Any] = {
    Stage.POS: pipeline.position_readings,
    Stage.VEL: pipeline.velocity_readings,
    Stage.ACC: pipeline.acceleration_readings,
}


def is_smooth(model: Model, i: int) -> bool:
    """Whether a sensor is a function of state, acceleration and controls."""
    return SensorType(int(model.sensor_type[i])) not in NOT_SMOOTH


def actuators_pull(model: Model) -> bool:
    """Whether actuators act on spatial tendons, which pull at bodies: then forces between bodies depend on controls."""
    driven = model.actuator_trnid[model.actuator_trntype == int(TrnType.TENDON), 0]
    return bool((model.wrap_type[model.tendon_adr[driven]] != int(WrapType.JOINT)).any())


def inputs(model: Model, i: int) -> tuple[str, ...]:
    """What the reading of a sensor depends on."""
    kind = SensorType(int(model.sensor_type[i]))
    if kind in ACTUATOR_FORCES:
        return DRIVEN
    if kind in BETWEEN_BODIES and actuators_pull(model):
        return *READS[Stage.ACC], *DRIVEN[2:]
    return READS[Stage.VEL] if kind == SensorType.E_KINETIC else READS[Stage(int(model.sensor_needstage[i]))]


def reads_axes_of(model: Model, i: int) -> set[int]:
    """Bodies whose principal axes a sensor reads."""
    turned = SensorType(int(model.sensor_type[i])) in ORIENTATIONS
    pairs = (
        (model.sensor_objtype[i], model.sensor_objid[i], turned),
        (model.sensor_reftype[i], model.sensor_refid[i], True),
    )
    return {int(body) for kind, body, reads in pairs if reads and kind == int(ObjType.BODY) and body >= 0}


def sensor(model: Model, i: int) -> Spec:
    """The fresh reading of a sensor, within its cutoff; delay and interval are left out."""
    kind, stage = SensorType(int(model.sensor_type[i])), Stage(int(model.sensor_needstage[i]))
    if not is_smooth(model, i):
        name = model.name("sensor", i) or i
        raise UnsupportedFeatureError([f"{kind.name.lower()} {name!r}, which no smooth function gives"],
                                      f"symbolic of {model.title!r}")  # fmt: skip
    reads = inputs(model, i)

    def build(t: Trace, x: Symbols) -> Results:
        t.run((*INERTIA, pipeline.camlight, *RATES))
        if "ctrl" in reads or (stage == Stage.ACC and actuators_pull(model)):
            t.run((*PASSIVE, pipeline.fwd_actuation))
        t.d.sensor_due[:] = 0
        t.d.sensor_due[i] = 1
        READINGS[stage](t.m, t.d)
        first = int(model.sensor_adr[i])
        return (column(t.d.sensor_fresh[first : first + int(model.sensor_dim[i])]),)

    return Spec(reads, ("reading",), build)
