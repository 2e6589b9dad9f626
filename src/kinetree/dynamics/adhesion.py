"""Adhesive contacts pull their bodies together along the normal with a constant force. MuJoCo: mj_adhesion.

Reads: contact_adhesion, contact_exclude, contact_dist, contact_pos, contact_frame, cdof, xpos. Writes: qfrc_adhesion.
"""

from ..geometry.contact import FAR
from ..kernel import kernel
from ..kernel.ops import where
from ..math.vec3 import dot, get3, where3
from .jacobian import axis_at, last_dof

IN_GAP = 1  # of contact_exclude: beyond it a contact gives no force at all


@kernel
def pull(m, d, body, point, force):
    """Add the joint forces of a force on a body at a point."""
    i = last_dof(m, body)
    while i >= 0:
        s = axis_at(m, d, i, point)
        d.qfrc_adhesion[i] += dot(force, (s[3], s[4], s[5]))
        i = m.dof_parentid[i]


@kernel
def add_adhesion_forces(m, d):
    """Joint forces of all adhesive contacts."""
    for c in range(d.ncon[0]):
        if d.contact_exclude[c] <= IN_GAP:
            here, none = d.contact_dist[c] < FAR, (0.0, 0.0, 0.0)
            f = where(here, d.contact_adhesion[c], 0.0)
            point = where3(here, get3(d.contact_pos, c), none)
            x, y, z = where3(here, get3(d.contact_frame, c), none)
            pull(m, d, m.geom_bodyid[d.contact_geom[c, 0]], point, (f * x, f * y, f * z))
            pull(m, d, m.geom_bodyid[d.contact_geom[c, 1]], point, (-f * x, -f * y, -f * z))
