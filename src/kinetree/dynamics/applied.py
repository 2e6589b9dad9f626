"""Joint forces of the wrenches that a user applies to bodies.

MuJoCo: mj_xfrcAccumulate. One backward pass instead of a Jacobian per body.
Reads: xfrc_applied (force, then torque, at xipos, world axes), xpos, xipos, cdof. Scratch: body_frc.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, maximum, needs, not_, zero
from ..math.spatial import add6, dot6, get6, set6, shift_force
from ..math.vec3 import get3, sub
from .rne import inward
from .sleep_state import BODIES, BODIES_END


@kernel
def any_wrench(m, d):
    """Whether any body has a wrench: a mask over worlds. Six sums side by side keep the additions from waiting."""
    s0 = s1 = s2 = s3 = s4 = s5 = zero(d.xfrc_applied[0, 0])
    for run in range(d.nawake_run[0]):  # what sleeps has none, or it would wake
        for b in range(maximum(d.awake_run[run, BODIES], 1), d.awake_run[run, BODIES_END]):
            s0 += absolute(d.xfrc_applied[b, 0])
            s1 += absolute(d.xfrc_applied[b, 1])
            s2 += absolute(d.xfrc_applied[b, 2])
            s3 += absolute(d.xfrc_applied[b, 3])
            s4 += absolute(d.xfrc_applied[b, 4])
            s5 += absolute(d.xfrc_applied[b, 5])
    return not_(s0 + s1 + s2 + s3 + s4 + s5 == 0.0)  # NaN counts: it must not pass unseen


@kernel
def wrench_at_origin(d, b):
    """The wrench on a body as [torque; force] at its origin; the user gives [force; torque] at its centre of mass."""
    f = get6(d.xfrc_applied, b)
    return shift_force((f[3], f[4], f[5], f[0], f[1], f[2]), sub(get3(d.xpos, b), get3(d.xipos, b)))


@kernel
def add_wrench(d, result, b, point, wrench):
    """Add a wrench on a body about a point, world axes, to a field of wrenches at origins; the world takes none."""
    if b > 0:
        set6(result, b, add6(get6(result, b), shift_force(wrench, sub(get3(d.xpos, b), point))))


@kernel
def add_applied_wrenches(m, d, qfrc):
    """qfrc += the joint forces of xfrc_applied."""
    if needs(any_wrench(m, d)):
        for b in range(1, m.nbody):
            set6(d.body_frc, b, wrench_at_origin(d, b))
        inward(m, d, d.body_frc, 0, m.nbody, False)
        for i in range(m.nv):
            qfrc[i] += dot6(get6(d.cdof, i), get6(d.body_frc, m.dof_bodyid[i]))
