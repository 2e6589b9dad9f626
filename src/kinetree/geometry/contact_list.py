"""Contacts as they are found: one slot for each, the same in every world of a block.

MuJoCo: mjContact. A pair of geoms that touches in any world gets a slot in all of them; where it does not touch, the distance
is FAR, so that its rows weigh nothing. On one world the list is MuJoCo's.
Writes: ncon, contact_dist, contact_pos, contact_frame, contact_geom.
"""

from ..capacity import MAXCON, fits
from ..kernel import kernel
from ..kernel.ops import any_, where
from ..math.vec3 import set3, set9
from .frame import make_frame

FAR = 1e10  # distance in a world where the geoms do not touch
ANY_TANGENT = (0.0, 0.0, 0.0)  # for contacts whose tangents have no natural direction


@kernel
def forget_rows(d):
    """No rows of constraints, and nothing that was concluded from them. MuJoCo's mj_clearEfc."""
    d.ne[0], d.nf[0], d.nl[0], d.nefc[0], d.nJ[0] = 0, 0, 0, 0, 0
    d.nrow[0], d.nentry[0], d.nmetric[0] = 0, 0, 0
    d.nisland[0], d.nidof[0], d.ngroup[0] = 0, 0, 0


@kernel
def add_contact(d, geom0, geom1, active, dist, pos, normal, tangent):
    """Append a contact of two geoms, which holds in the worlds where `active` does.

    pos: midpoint of the nearest points. normal: unit vector from geom 0 to geom 1. tangent: where the first tangent should
    point, or ANY_TANGENT. All must be finite in every world.
    """
    if any_(active):
        k = d.ncon[0]
        d.ncon[0] = k + 1
        if fits(d, MAXCON, k + 1):
            d.contact_dist[k] = where(active, dist, FAR)
            set3(d.contact_pos, k, pos)
            set9(d.contact_frame, k, make_frame(normal, tangent))
            d.contact_geom[k, 0] = geom0
            d.contact_geom[k, 1] = geom1
