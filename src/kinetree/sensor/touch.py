"""Touch: the normal forces of contacts that a body has in the volume of a site. MuJoCo: mjSENS_TOUCH in mj_computeSensorAcc.

A contact counts if its point lies in the volume, or if the ray from there along the normal out of the body meets it: soft
contacts sink in. Reads: contacts, efc_force, pose of the site. Writes: sensor_fresh.
"""

from ..constraint.contact_force import normal_force
from ..constraint.contact_rows import axis_of
from ..geometry.ray_shapes import PRIMITIVES, ray_nothing
from ..kernel import kernel
from ..kernel.dispatch import dispatch
from ..kernel.ops import any_, where, zero
from ..math.vec3 import get3, get9, mul_mat_t_vec, scale, sub
from .reading import put1

ray_site = dispatch(PRIMITIVES, "m, sizes, site, p, v", ray_nothing)


@kernel
def meets(m, d, site, c, sign):
    """Whether the ray from a contact along its normal, or against it, meets the surface of a site."""
    axes = get9(d.site_xmat, site)
    p = mul_mat_t_vec(axes, sub(get3(d.contact_pos, c), get3(d.site_xpos, site)))
    v = mul_mat_t_vec(axes, scale(axis_of(d, c, 0), sign))
    x, _ = ray_site(m.site_type[site], m, m.site_size, site, p, v)
    return x >= 0.0


@kernel
def touch(m, d, i):
    """Sum of the normal forces [N] that press on a site's volume."""
    site = m.sensor_objid[i]
    body, total = m.site_bodyid[site], zero(d.time[0])
    for c in range(d.ncon[0]):
        first, second = m.geom_bodyid[d.contact_geom[c, 0]], m.geom_bodyid[d.contact_geom[c, 1]]
        if d.contact_efc_address[c] >= 0 and (body == first or body == second):
            force = normal_force(m, d, c)
            pushes = force > 0.0
            if any_(pushes):
                total += where(pushes & meets(m, d, site, c, -1.0 if body == second else 1.0), force, 0.0)
    put1(m, d, i, total)
