"""Forces of contacts, and Jacobians of the space in which they act.

MuJoCo: mj_contactForce, mj_contactJacobian. A contact pushes on body 1 and the opposite way on body 0. The rows of a pyramid
are its edges: their sum is the normal force, differences of opposite edges times friction are the tangential ones. What
adhesion pulls is taken off the normal force.
Reads: efc_force, contact_efc_address, contact_dim, contact_frame, contact_pos, contact_friction, contact_adhesion, xpos, cdof.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..contact_view import Contact
from ..dynamics.applied import add_wrench
from ..dynamics.jacobian import last_dof
from ..kernel import function, kernel, stage
from ..kernel.ops import where, zero
from ..math.spatial import join, scale6
from ..math.vec3 import dot, get3, mul_mat_t_vec
from ..needs import on_request
from ..occupancy import holding
from ..prerequisites import prepare
from ..types import Constraint
from .contact_rows import axis_of, contact_width, holds, kept, next_motion, touches
from .make import make_constraint

if TYPE_CHECKING:
    from ..data import Data
    from ..model import Model


@kernel
def normal_force(m, d, c):
    """Force along the normal of a contact that has rows."""
    row, dim = d.contact_efc_address[c], d.contact_dim[c]
    kind = d.efc_type[row]  # the cone may be another now than when the rows were made
    total = zero(d.time[0]) - d.contact_adhesion[c]
    for r in range(row, row + (contact_width(kind, dim) if kind == Constraint.CONTACT_PYRAMIDAL else 1)):
        total += d.efc_force[r]
    return where(holds(m, d, c), total, 0.0)


@kernel
def friction_force(m, d, c, k):
    """Number k of the wrench of a contact that has rows: 1, 2 forces along the tangents, 3 to 5 torques about the axes."""
    row, dim = d.contact_efc_address[c], d.contact_dim[c]
    if k >= dim:
        return zero(d.time[0])
    if d.efc_type[row] == Constraint.CONTACT_PYRAMIDAL:
        edge = row + 2 * (k - 1)
        force = (d.efc_force[edge] - d.efc_force[edge + 1]) * d.contact_friction[c, k - 1]
    else:
        force = zero(d.time[0]) + d.efc_force[row + k]
    return where(touches(d, c), force, 0.0)


@kernel
def contact_wrench(m, d, c):
    """Force on body 1, then torque, in the contact frame: normal, two tangents; zero for a contact without rows."""
    if d.contact_efc_address[c] < 0:
        o = zero(d.time[0])
        return o, o, o, o, o, o
    return (
        normal_force(m, d, c), friction_force(m, d, c, 1), friction_force(m, d, c, 2),
        friction_force(m, d, c, 3), friction_force(m, d, c, 4), friction_force(m, d, c, 5),
    )  # fmt: skip


@kernel
def add_contact_forces(m, d, result):
    """Add to the wrenches of bodies what contacts do to them."""
    for c in range(d.ncon[0]):
        if d.contact_efc_address[c] >= 0:
            there, f = holds(m, d, c), contact_wrench(m, d, c)
            x, y, z = kept(there, axis_of(d, c, 0)), kept(there, axis_of(d, c, 1)), kept(there, axis_of(d, c, 2))
            frame = x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]
            force, torque = mul_mat_t_vec(frame, (f[0], f[1], f[2])), mul_mat_t_vec(frame, (f[3], f[4], f[5]))
            wrench, point = join(torque, force), kept(there, get3(d.contact_pos, c))
            add_wrench(d, result, m.geom_bodyid[d.contact_geom[c, 0]], point, scale6(wrench, -1.0))
            add_wrench(d, result, m.geom_bodyid[d.contact_geom[c, 1]], point, wrench)


@stage(when=on_request)
def contact_wrenches(m, d):
    """Force and torque of every contact on its second body, in the contact frame. MuJoCo's mj_contactForce for all of them."""
    for c in range(d.ncon[0]):
        wrench = contact_wrench(m, d, c)
        for k in range(6):
            d.contact_wrench[c, k] = wrench[k]


@function(index=int, jacobian="6 nv")
def _jac_contact(m, d, a):
    c, point = a.index, get3(d.contact_pos, a.index)
    i, j = last_dof(m, m.geom_bodyid[d.contact_geom[c, 0]]), last_dof(m, m.geom_bodyid[d.contact_geom[c, 1]])
    while i != j:
        last, sign, turn, move, i, j = next_motion(m, d, point, i, j)
        for k in range(3):
            a.jacobian[k, last] += sign * dot(axis_of(d, c, k), move)
            a.jacobian[k + 3, last] += sign * dot(axis_of(d, c, k), turn)


def _checked_index(name: str, data: Data, contact: int | Contact) -> int:
    """The number of a contact that exists; from the end if it is negative."""
    index = contact.index if isinstance(contact, Contact) else contact
    if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
        raise TypeError(f"{name}: a contact is given by its number or as data.contact[i], not by {contact!r}")
    if not -data.ncon <= index < data.ncon:
        raise IndexError(f"{name}: there is no contact {int(index)}: data has {data.ncon}")
    return int(index) % data.ncon


def _set_wrenches(name: str, model: Model, data: Data) -> np.ndarray:
    """Wrenches of all contacts; an error if rows were made after forces were computed, for these belong to other contacts."""
    from ..pipeline import fwd_constraint, inv_constraint  # which compute the forces, and stand above

    prepare(name, model, data)
    order = data._arrays["stage_order"]
    made = order[make_constraint.stage_index]
    if made > max(order[solved.stage_index] for solved in (fwd_constraint, inv_constraint)):
        raise ValueError(f"{name}: the contacts are newer than the forces: call kt.forward or kt.inverse first")
    contact_wrenches(model, data)
    return data.contact_wrench


@holding(1)
def contact_forces(model: Model, data: Data) -> np.ndarray:
    """Force [N] and torque [N m] of every contact on its second body, in the contact frame (ncon, 6).

    MuJoCo's mj_contactForce for all contacts. Axes are those of contact_frame: the normal from geom 0 to geom 1, then two
    tangents. Zero for a contact without rows.
    """
    return _set_wrenches("contact_forces", model, data).copy()


@holding(1)
def contact_force(model: Model, data: Data, contact: int | Contact) -> np.ndarray:
    """Force [N] and torque [N m] of a contact on its second body, in the contact frame (6). MuJoCo's mj_contactForce.

    contact: its number, or `data.contact[i]`. See `contact_forces` for all of them.
    """
    wrenches = _set_wrenches("contact_force", model, data)
    return wrenches[_checked_index("contact_force", data, contact)].copy()


@holding(1)
def jac_contact(model: Model, data: Data, contact: int | Contact) -> tuple[np.ndarray, np.ndarray]:
    """Translation and rotation Jacobians (3, nv) of the second body against the first at a contact, in the contact frame.

    Rows are the normal and two tangents: `jacp @ qvel` is the velocity with which the surfaces part and slide.
    """
    prepare("jac_contact", model, data)
    out = _jac_contact(model, data, index=_checked_index("jac_contact", data, contact)).jacobian
    return out[:3], out[3:]
