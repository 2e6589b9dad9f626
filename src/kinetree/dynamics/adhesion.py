"""Adhesive contacts pull their bodies together along the normal with a constant force. MuJoCo: mj_adhesion.

Reads: contact_adhesion, contact_exclude, contact_dist, contact_pos, contact_frame, cdof, xpos. Writes: qfrc_adhesion.
"""

from ..geometry.contact_list import FAR
from ..kernel import kernel
from ..kernel.ops import where
from ..math.vec3 import get3, where3
from .jacobian import add_point_force

IN_GAP = 1  # of contact_exclude: beyond it a contact gives no force at all


@kernel
def add_adhesion_forces(m, d):
    """Joint forces of all adhesive contacts."""
    for c in range(d.ncon[0]):
        if d.contact_exclude[c] <= IN_GAP:
            here, none = d.contact_dist[c] < FAR, (0.0, 0.0, 0.0)
            f = where(here, d.contact_adhesion[c], 0.0)
            point = where3(here, get3(d.contact_pos, c), none)
            x, y, z = where3(here, get3(d.contact_frame, c), none)
            body0, body1 = m.geom_bodyid[d.contact_geom[c, 0]], m.geom_bodyid[d.contact_geom[c, 1]]
            add_point_force(m, d, d.qfrc_adhesion, 0, body0, point, (f * x, f * y, f * z))
            add_point_force(m, d, d.qfrc_adhesion, 0, body1, point, (-f * x, -f * y, -f * z))
