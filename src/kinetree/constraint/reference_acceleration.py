"""Velocities of rows and the accelerations they ask for. MuJoCo: mj_referenceConstraint.

aref = -B v - K I (pos - margin), where v = J qvel plus the velocity of moving surfaces. Adhesive contacts ask for what makes
the net force independent of adhesion while they are pressed, and connects and welds take off dJ/dt qvel.
Reads: qvel, cvel, cdof, cdof_dot, efc_J, efc_KBIP, efc_R, efc_pos, efc_margin, contacts. Writes: efc_vel, efc_aref.
"""

from ..dynamics.jacobian import point_bias
from ..kernel import kernel, stage
from ..kernel.ops import any_, not_, where, zero
from ..math.quaternion import mul_quat
from ..math.spatial import get6
from ..math.vec3 import scale, sub
from ..types import Constraint, EqType, Integrator
from .contact_rows import contact_width, touches
from .equality import anchors, bodies, equality_width, orientations, vector_product
from .impedance import sharpness
from .jacobian_product import multiply_J


@kernel
def add_surface_velocity(m, d, c):
    """Add what moving surfaces do along the tangents and about the normal."""
    row, dim = d.contact_efc_address[c], d.contact_dim[c]
    for k in range(1, dim if dim < 4 else 4):
        v = d.contact_surfacevel[c, k - 1]
        if d.efc_type[row] == Constraint.CONTACT_PYRAMIDAL:
            v = d.contact_friction[c, k - 1] * v
            i = row + 2 * (k - 1)
            d.efc_vel[i] += where(touches(d, c), v, 0.0)
            d.efc_vel[i + 1] -= where(touches(d, c), v, 0.0)
        else:
            d.efc_vel[row + k] += where(touches(d, c), v, 0.0)


@kernel
def add_adhesion(m, d, c):
    """Add R times the adhesive force of each row: a pyramid shares it among its edges."""
    row, dim, force = d.contact_efc_address[c], d.contact_dim[c], d.contact_adhesion[c]
    rows = 1
    if d.efc_type[row] == Constraint.CONTACT_PYRAMIDAL:
        rows = contact_width(Constraint.CONTACT_PYRAMIDAL, dim)
        force = where(touches(d, c), force / rows, force)
    for r in range(row, row + rows):
        d.efc_aref[r] += where(d.efc_D[r] > 0.0, d.efc_R[r] * force, 0.0)


@kernel
def half(v):
    """Half of a vector, as a quaternion."""
    return zero(v[0]), 0.5 * v[0], 0.5 * v[1], 0.5 * v[2]


@kernel
def weld_bias(m, d, e, bias):
    """Rate of the rotational Jacobian of a weld times qvel: the derivative of p* w q / 2 less what comes from qacc.

    w is the angular velocity of q less that of p, bias its derivative without qacc. With dp/dt = w_p p / 2 and
    dq/dt = w_q q / 2 this is p* (bias / 2 + w w_q / 4 - w_p w / 4) q.
    """
    body0, body1 = bodies(m, e)
    v0, v1 = get6(d.cvel, body0), get6(d.cvel, body1)
    w0, w1 = (v0[0], v0[1], v0[2]), (v1[0], v1[1], v1[2])
    w = half(sub(w0, w1))
    x, y, z = half(bias), mul_quat(w, half(w0)), mul_quat(half(w1), w)
    rate = x[0] + y[0] - z[0], x[1] + y[1] - z[1], x[2] + y[2] - z[2], x[3] + y[3] - z[3]
    q, p = orientations(m, d, e)
    return scale(vector_product(p, mul_quat(rate, q)), m.eq_data[e, 10])


@kernel
def subtract_bias(m, d, row):
    """Take dJ/dt qvel off a connect or weld. Returns the next equality's row."""
    e = d.efc_id[row]
    rows = equality_width(m, e)
    if rows > 1:
        body0, body1 = bodies(m, e)
        point0, point1 = anchors(m, d, e)
        a, b = point_bias(m, d, body0, point0), point_bias(m, d, body1, point1)
        for k in range(3):
            d.efc_aref[row + k] -= a[k + 3] - b[k + 3]
        if m.eq_type[e] == EqType.WELD:
            turn = weld_bias(m, d, e, (a[0] - b[0], a[1] - b[1], a[2] - b[2]))
            for k in range(3):
                d.efc_aref[row + 3 + k] -= turn[k]
        if any_(not_(d.eq_active[e])):  # on lanes: there the row is neutral
            for k in range(rows):
                d.efc_aref[row + k] = where(d.eq_active[e], d.efc_aref[row + k], 0.0)
    return row + rows


@kernel
def set_velocities(m, d):
    """Velocities of all rows: efc_vel."""
    multiply_J(m, d, d.qvel, d.efc_vel)
    if m.flg_surfacevel and d.nefc[0] > 0:
        for c in range(d.ncon[0]):
            if d.contact_efc_address[c] >= 0:
                add_surface_velocity(m, d, c)


@kernel
def add_adhesions(m, d):
    """Add what adhesive contacts ask for."""
    if m.flg_adhesion and d.nefc[0] > 0:
        for c in range(d.ncon[0]):
            if d.contact_efc_address[c] >= 0:
                add_adhesion(m, d, c)


@kernel
def subtract_biases(m, d):
    """Take dJ/dt qvel off all connects and welds."""
    row = 0
    while row < d.ne[0]:
        row = subtract_bias(m, d, row)


@kernel
def set_references(m, d):
    """Reference accelerations of all rows: efc_aref."""
    for r in range(d.nefc[0]):
        spring = d.efc_KBIP[r, 0] * d.efc_KBIP[r, 2] * (d.efc_pos[r] - d.efc_margin[r])
        d.efc_aref[r] = -d.efc_KBIP[r, 1] * d.efc_vel[r] - spring
    add_adhesions(m, d)
    subtract_biases(m, d)


@kernel
def set_implicit_references(m, d):
    """The same for springs and dampers that act at the end of the step: what they ask for then, by their weight then."""
    for r in range(d.nefc[0]):
        end = d.efc_pos[r] - d.efc_margin[r] + m.opt_timestep * d.efc_vel[r]
        d.efc_aref[r] = -d.efc_KBIP[r, 1] * d.efc_vel[r] - d.efc_KBIP[r, 0] * d.efc_KBIP[r, 2] * end
    subtract_biases(m, d)
    for r in range(d.nefc[0]):
        d.efc_aref[r] /= sharpness(m, d.efc_KBIP[r, 0], d.efc_KBIP[r, 1], d.efc_KBIP[r, 2])
    add_adhesions(m, d)


@stage
def reference_constraint(m, d):
    """Velocity and reference acceleration of all rows, after `make_constraint`. MuJoCo's mj_referenceConstraint.

    With the discrete integrator the velocity alone: what rows ask for hangs on the metric, and `effective_metric` sees to it.
    """
    set_velocities(m, d)
    if m.opt_integrator != Integrator.DISCRETE:
        set_references(m, d)
