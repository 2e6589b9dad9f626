"""How a sensor's numbers are written, and its cutoff.

Kernels of sensor types write into `sensor_fresh`, at the sensor's address; `delivery.py` decides what reaches sensordata.
MuJoCo: apply_cutoff in engine_sensor.c.
"""

from ..kernel import kernel
from ..kernel.ops import any_, maximum, minimum, where
from ..types import DataType, SensorType

NEVER_CUT = SensorType.CONTACT, SensorType.GEOMFROMTO


@kernel
def put1(m, d, i, x):
    """The reading is one number."""
    d.sensor_fresh[m.sensor_adr[i]] = x


@kernel
def put3(m, d, i, v):
    """The reading is a vector."""
    for k in range(3):
        d.sensor_fresh[m.sensor_adr[i] + k] = v[k]


@kernel
def put4(m, d, i, q):
    """The reading is a quaternion."""
    for k in range(4):
        d.sensor_fresh[m.sensor_adr[i] + k] = q[k]


@kernel
def put_row(m, d, i, field, first):
    """The reading is as many entries of a field as the sensor gives."""
    for k in range(m.sensor_dim[i]):
        d.sensor_fresh[m.sensor_adr[i] + k] = field[first + k]


@kernel
def put_number(d, a, wanted, x):
    """One of several things that a sensor may report: write a number at `a` if it is wanted; the place behind it."""
    if wanted == 0:
        return a
    d.sensor_fresh[a] = x
    return a + 1


@kernel
def put_vector(d, a, wanted, v):
    """Write a vector from `a` on if it is wanted; the place behind it."""
    if wanted == 0:
        return a
    for k in range(3):
        d.sensor_fresh[a + k] = v[k]
    return a + 3


@kernel
def already_read(m, d, i):
    """Rays, distances and contacts are read by stages of their own, which come before."""


@kernel
def cut_off(m, i, field):
    """Keep the numbers of sensor i in a field within its cutoff: on both sides, or from above where they are positive."""
    kind, cutoff = m.sensor_datatype[i], m.sensor_cutoff[i]
    if m.sensor_type[i] == NEVER_CUT[0] or m.sensor_type[i] == NEVER_CUT[1] or not any_(cutoff > 0.0):
        return
    for a in range(m.sensor_adr[i], m.sensor_adr[i] + m.sensor_dim[i]):
        if kind == DataType.REAL:
            field[a] = where(cutoff > 0.0, maximum(-cutoff, minimum(cutoff, field[a])), field[a])
        elif kind == DataType.POSITIVE:
            field[a] = where(cutoff > 0.0, minimum(cutoff, field[a]), field[a])
