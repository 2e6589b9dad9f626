"""All rangefinders. Part of MuJoCo's mj_sensorPos."""

from ..kernel import stage
from ..needs import sensor
from ..types import SensorType
from .rangefinder import rangefinder


@stage(when=sensor(SensorType.RANGEFINDER))
def rangefinders(m, d):
    """Compute the rangefinders that are due, into sensor_fresh. Part of MuJoCo's mj_sensorPos."""
    for i in range(m.nsensor):
        if d.sensor_due[i] != 0 and m.sensor_type[i] == SensorType.RANGEFINDER:
            rangefinder(m, d, i)
