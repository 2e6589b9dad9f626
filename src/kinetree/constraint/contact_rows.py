"""Rows of contacts. MuJoCo: mj_contactJacobian, mj_instantiateContact.

A contact of dimension 1 has one row, along the normal. With an elliptic cone it has as many as dimensions: normal, two
tangents, spin, two rolls. With a pyramid it has two edges, normal +- friction times tangent, for each dimension but the first.
Reads: contact_dist, contact_pos, contact_frame, contact_friction, contact_dim, contact_geom, contact_exclude,
contact_includemargin, contact_swept, contact_adhesion, cdof, xpos. Writes: contact_efc_address, contact_exclude (3: it can
move nothing).

An adhesive contact in the gap pulls along its normal and has no friction. On lanes such a world has the rows of those where
the surfaces touch: the first along the normal, the others neutral.
"""

from ..dynamics.jacobian import axis_at, branch_size, last_dof, later_dof
from ..efc import contact_width
from ..geometry.contact_list import FAR
from ..kernel import kernel
from ..kernel.ops import any_, where, zero
from ..math.vec3 import dot, get3
from ..types import Cone, Constraint
from .rows import body_weight, count, describe, has_room, put_entry

NO_DOFS = 3
contact_width = kernel(contact_width)


@kernel
def touches(d, c):
    """Where the surfaces are near enough for friction; those of a speculative contact always are, where it exists."""
    return d.contact_dist[c] < (FAR if d.contact_swept[c] != 0 else d.contact_includemargin[c])


@kernel
def holds(m, d, c):
    """Where a contact gives force: where it touches, or holds on by adhesion in the gap."""
    if m.flg_adhesion:
        return touches(d, c) | ((d.contact_adhesion[c] != 0.0) & (d.contact_dist[c] < FAR))
    return touches(d, c)


@kernel
def row_type(m, dim):
    """Type of the rows of a contact with so many dimensions."""
    if dim == 1:
        return Constraint.CONTACT_FRICTIONLESS
    return Constraint.CONTACT_ELLIPTIC if m.opt_cone == Cone.ELLIPTIC else Constraint.CONTACT_PYRAMIDAL


@kernel
def kept(mask, v):
    """A vector where the mask holds, zero elsewhere, even if it is not a number there."""
    return where(mask, v[0], 0.0), where(mask, v[1], 0.0), where(mask, v[2], 0.0)


@kernel
def axis_of(d, c, k):
    """Axis k of the contact frame."""
    return d.contact_frame[c, 3 * k], d.contact_frame[c, 3 * k + 1], d.contact_frame[c, 3 * k + 2]


@kernel
def put_pair(d, at, n, column, up, down, sideways):
    """Write the entries of two opposite edges of a pyramid."""
    put_entry(d, at, column, up + sideways)
    put_entry(d, at + n, column, down - sideways)


@kernel
def next_motion(m, d, point, i, j):
    """The later of two dofs of body 0 and body 1, how it turns and moves its body at a point, with which sign; the next two."""
    last, of_body1, i, j = later_dof(m, i, j)
    s = axis_at(m, d, last, point)
    return last, 1.0 if of_body1 else -1.0, (s[0], s[1], s[2]), (s[3], s[4], s[5]), i, j


@kernel
def put_contact(m, d, c, kind, dim, body0, body1, n, active, touching):
    """Write the Jacobian of all rows behind the last entry: motion of body 1 less that of body 0, in the contact frame."""
    normal, point = kept(active, axis_of(d, c, 0)), kept(active, get3(d.contact_pos, c))
    tangent0, tangent1 = kept(touching, axis_of(d, c, 1)), kept(touching, axis_of(d, c, 2))
    spin = kept(touching, normal)
    f0, f1, f2 = d.contact_friction[c, 0], d.contact_friction[c, 1], d.contact_friction[c, 2]
    f3, f4 = d.contact_friction[c, 3], d.contact_friction[c, 4]
    i, j = last_dof(m, body0), last_dof(m, body1)
    at = d.nJ[0] + n
    while i != j:
        last, sign, turn, move, i, j = next_motion(m, d, point, i, j)
        at -= 1
        up = sign * dot(normal, move)
        if kind == Constraint.CONTACT_FRICTIONLESS:
            put_entry(d, at, last, up)
        elif kind == Constraint.CONTACT_PYRAMIDAL:
            flat = where(touching, up, 0.0)
            put_pair(d, at, n, last, up, flat, sign * f0 * dot(tangent0, move))
            put_pair(d, at + 2 * n, n, last, flat, flat, sign * f1 * dot(tangent1, move))
            if dim > 3:
                put_pair(d, at + 4 * n, n, last, flat, flat, sign * f2 * dot(spin, turn))
            if dim > 4:
                put_pair(d, at + 6 * n, n, last, flat, flat, sign * f3 * dot(tangent0, turn))
                put_pair(d, at + 8 * n, n, last, flat, flat, sign * f4 * dot(tangent1, turn))
        else:
            put_entry(d, at, last, up)
            put_entry(d, at + n, last, sign * dot(tangent0, move))
            put_entry(d, at + 2 * n, last, sign * dot(tangent1, move))
            if dim > 3:
                put_entry(d, at + 3 * n, last, sign * dot(spin, turn))
            if dim > 4:
                put_entry(d, at + 4 * n, last, sign * dot(tangent0, turn))
                put_entry(d, at + 5 * n, last, sign * dot(tangent1, turn))


@kernel
def describe_contact(m, d, c, kind, dim, n, body0, body1, active, touching):
    """Describe the rows: the first holds where the contact does, the others only where there is friction."""
    row, dist, margin = d.nefc[0], d.contact_dist[c], d.contact_includemargin[c]
    weight = zero(dist) + body_weight(m, body0, body1, 0)
    if kind == Constraint.CONTACT_PYRAMIDAL:
        f = d.contact_friction[c, 0]
        describe(d, kind, c, contact_width(kind, dim), n, touching, dist, margin, 0.0)
        weight = where(touching, weight + f * f * weight, weight)
    else:
        describe(d, kind, c, dim, n, touching, 0.0, 0.0, 0.0)
    d.efc_pos[row] = where(active, dist, 0.0)
    d.efc_margin[row] = where(active, margin, 0.0)
    d.efc_D[row] = where(active, zero(dist) + 1.0, 0.0)
    for r in range(row, row + contact_width(kind, dim)):
        d.efc_diagA[r] = weight  # `make_impedance` sets that of all rows by the first


@kernel
def add_contact(m, d, c, body0, body1, n):
    """The rows of one contact between bodies that n dofs move against each other."""
    active, touching = holds(m, d, c), touches(d, c)
    if any_(active):
        dim = d.contact_dim[c]
        kind = row_type(m, dim)
        rows = contact_width(kind, dim)
        d.contact_efc_address[c] = d.nefc[0]
        if has_room(d, rows, n):
            put_contact(m, d, c, kind, dim, body0, body1, n, active, touching)
            describe_contact(m, d, c, kind, dim, n, body0, body1, active, touching)
        count(d, rows, n)


@kernel
def forget_addresses(d):
    """No contact has rows."""
    for c in range(d.ncon[0]):
        d.contact_efc_address[c] = -1
        d.contact_mu[c] = 0.0


@kernel
def add_contacts(m, d):
    """Rows of all contacts that are not excluded, in their order."""
    before0, before1, n = -1, -1, 0
    for c in range(d.ncon[0]):
        if d.contact_exclude[c] == 0:
            body0, body1 = m.geom_bodyid[d.contact_geom[c, 0]], m.geom_bodyid[d.contact_geom[c, 1]]
            if body0 != before0 or body1 != before1:  # contacts of the same bodies follow each other
                before0, before1, n = body0, body1, branch_size(m, last_dof(m, body0), last_dof(m, body1))
            if n == 0:
                d.contact_exclude[c] = NO_DOFS
            else:
                add_contact(m, d, c, body0, body1, n)
