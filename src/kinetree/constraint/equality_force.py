"""Forces of connects and welds on the bodies that they hold together. MuJoCo: part of mj_rnePostConstraint.

The three rows of a connect are a force at the anchors. A weld has three more, from which the matrix of its rotational rows
makes a torque. Reads: efc_force, efc_id, xpos, xmat, xquat, site_xpos.
"""

from ..dynamics.applied import add_wrench
from ..kernel import kernel
from ..kernel.ops import zero
from ..math.spatial import scale6
from ..math.vec3 import mul_mat_t_vec
from ..types import EqType
from .equality import anchors, bodies, equality_width, orientations, turning_matrix


@kernel
def equality_wrench(m, d, e, row):
    """Torque and force of a connect or weld on its first body at its anchor, world axes."""
    o = zero(d.time[0])
    torque = o, o, o
    if m.eq_type[e] == EqType.WELD:
        q, p = orientations(m, d, e)
        turning = turning_matrix(p, q, 0.5 * m.eq_data[e, 10])
        torque = mul_mat_t_vec(turning, (d.efc_force[row + 3], d.efc_force[row + 4], d.efc_force[row + 5]))
    return torque[0], torque[1], torque[2], d.efc_force[row], d.efc_force[row + 1], d.efc_force[row + 2]


@kernel
def add_equality_forces(m, d, result):
    """Add to the wrenches of bodies what connects and welds do to them."""
    row = 0
    while row < d.ne[0]:
        e = d.efc_id[row]
        rows = equality_width(m, e)
        if rows > 1:
            body0, body1 = bodies(m, e)
            point0, point1 = anchors(m, d, e)
            wrench = equality_wrench(m, d, e, row)
            add_wrench(d, result, body0, point0, wrench)
            add_wrench(d, result, body1, point1, scale6(wrench, -1.0))
        row += rows
