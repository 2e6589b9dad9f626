"""Accelerations of bodies and the forces between them, once qacc is known.

MuJoCo: mj_rnePostConstraint. External are applied wrenches and spatial tendons; constraints and contacts join them later.
Reads: qacc, qvel, xfrc_applied, cdof, cdof_dot, cvel, cinert, xpos, xipos, paths and forces of tendons. Writes: cacc (gravity
counts as an upward acceleration), cfrc_ext, cfrc_int (from the parent), at xpos, world axes, [angular; linear]; flg_rnepost.
"""

from ..kernel import kernel, stage
from ..math.spatial import add6, add_scaled6, get6, set6, shift_force
from ..math.vec3 import get3, sub
from .applied import wrench_at_origin
from .rne import full_accelerations
from .tendon_force import add_tendon_forces


@kernel
def accumulate_interaction(m, d):
    """A joint carries what its body and all bodies beyond it need; the world gets the sum, as in MuJoCo."""
    for b in range(m.nbody - 1, 0, -1):
        p = m.body_parentid[b]
        to_parent = sub(get3(d.xpos, p), get3(d.xpos, b))
        set6(d.cfrc_int, p, add6(get6(d.cfrc_int, p), shift_force(get6(d.cfrc_int, b), to_parent)))


@stage
def rne_post_constraint(m, d):
    """Accelerations of bodies, external and interaction forces: cacc, cfrc_ext, cfrc_int. MuJoCo's mj_rnePostConstraint."""
    nothing = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    set6(d.cfrc_ext, 0, nothing)
    set6(d.cfrc_int, 0, nothing)
    full_accelerations(m, d, d.cacc, d.cfrc_int)
    for b in range(1, m.nbody):
        set6(d.cfrc_ext, b, wrench_at_origin(d, b))
    add_tendon_forces(m, d, d.cfrc_ext)
    for b in range(1, m.nbody):
        set6(d.cfrc_int, b, add_scaled6(get6(d.cfrc_int, b), get6(d.cfrc_ext, b), -1.0))
    accumulate_interaction(m, d)
    d.flg_rnepost[0] = True
