"""Sensors of limits: distance, velocity and force of the first row that a joint or tendon has near the ends of its range.

MuJoCo: the limit sensors in mj_computeSensorPos and its kin. Reads: efc_*. Writes: sensor_fresh. Zero far from the ends.
"""

from ..kernel import kernel
from ..kernel.ops import not_, where, zero
from ..types import Constraint
from .reading import put1


@kernel
def first_row(m, d, i, kind, field):
    """A field of the first limit row of sensor i's joint or tendon; a row of other worlds alone has no mass in this one."""
    value = zero(d.time[0])
    missing = value == 0.0
    for row in range(d.ne[0] + d.nf[0], d.ne[0] + d.nf[0] + d.nl[0]):
        if d.efc_type[row] == kind and d.efc_id[row] == m.sensor_objid[i]:
            here = missing & (d.efc_D[row] > 0.0)
            value = where(here, field[row], value)
            missing = missing & not_(here)
    return value


@kernel
def jointlimitpos(m, d, i):
    """Distance of a joint from its limit less the margin [m or rad]."""
    put1(
        m,
        d,
        i,
        first_row(m, d, i, Constraint.LIMIT_JOINT, d.efc_pos)
        - first_row(m, d, i, Constraint.LIMIT_JOINT, d.efc_margin),
    )


@kernel
def jointlimitvel(m, d, i):
    """Rate of a joint's distance from its limit."""
    put1(m, d, i, first_row(m, d, i, Constraint.LIMIT_JOINT, d.efc_vel))


@kernel
def jointlimitfrc(m, d, i):
    """Force of a joint's limit [N or N m]."""
    put1(m, d, i, first_row(m, d, i, Constraint.LIMIT_JOINT, d.efc_force))


@kernel
def tendonlimitpos(m, d, i):
    """Distance of a tendon's length from its limit less the margin."""
    put1(
        m,
        d,
        i,
        first_row(m, d, i, Constraint.LIMIT_TENDON, d.efc_pos)
        - first_row(m, d, i, Constraint.LIMIT_TENDON, d.efc_margin),
    )


@kernel
def tendonlimitvel(m, d, i):
    """Rate of a tendon's distance from its limit."""
    put1(m, d, i, first_row(m, d, i, Constraint.LIMIT_TENDON, d.efc_vel))


@kernel
def tendonlimitfrc(m, d, i):
    """Force of a tendon's limit."""
    put1(m, d, i, first_row(m, d, i, Constraint.LIMIT_TENDON, d.efc_force))
