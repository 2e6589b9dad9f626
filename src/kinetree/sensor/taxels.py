"""Tactile sensors and touch grids: which cell feels something steers addresses, so lanes compute one world at a time."""

from ..kernel import stage
from ..needs import sensor
from ..types import SensorType
from .tactile import tactile
from .touch_grid import touch_grid


@stage(scalar=True, when=sensor(SensorType.TACTILE, SensorType.PLUGIN), part_of="contact_readings")
def taxel_readings(m, d):
    """Compute the tactile sensors and touch grids that are due, into sensor_fresh. Part of MuJoCo's mj_sensorVel and Acc."""
    for i in range(m.nsensor):
        if d.sensor_due[i] != 0:
            if m.sensor_type[i] == SensorType.TACTILE:
                tactile(m, d, i)
            elif m.sensor_type[i] == SensorType.PLUGIN:
                touch_grid(m, d, i)
