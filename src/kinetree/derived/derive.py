"""The constants of a model that follow from others, for one world or for worlds on lanes. MuJoCo: mj_setConst.

The only kernel that writes into a model, and it wants parameters of each world's own, or a single world.
Reads: the fields in `table.SOURCES`. Writes: those in `table.DERIVED`. The state of d is lost: poses are those of qpos0.
"""

from ..dynamics.com import com_pos
from ..dynamics.crb import add_tendon_armature, crb
from ..dynamics.factor import copy_rows, factor_in_place
from ..dynamics.kinematics import kinematics
from ..dynamics.sleep import update_sleep
from ..dynamics.tendon import tendon
from ..dynamics.transmission import transmission
from ..initial import FULLY_AWAKE
from ..kernel import Entry, kernel
from ..kernel.ops import any_
from ..math.quaternion import get4, set4
from ..math.vec3 import get3, set3
from ..types import EnableBit
from .bounds import set_fixed
from .pose import set_from_poses
from .table import FIXED, INERTIA, POSE
from .weights import set_diagonal, set_from_inertia


@kernel
def take_reference(m, d):
    """The state of a model that was never moved: at qpos0, awake, without contacts."""
    d.ncon[0] = 0
    for i in range(m.nq):
        d.qpos[i] = m.qpos0[i]
    for b in range(m.nbody):
        if m.body_mocapid[b] >= 0:
            set3(d.mocap_pos, m.body_mocapid[b], get3(m.body_pos, b))
            set4(d.mocap_quat, m.body_mocapid[b], get4(m.body_quat, b))
    if m.opt_enableflags & EnableBit.SLEEP:
        for t in range(m.ntree):
            d.tree_asleep[t] = FULLY_AWAKE
        update_sleep(m, d)


@kernel
def is_unsound(m):
    """Whether something that was divided by is no number, or infinite, in some world."""
    total = 0.0
    for i in range(m.nv):
        total += 0.0 * m.dof_invweight0[i] + 0.0 * m.dof_length[i]
    for b in range(m.nbody):
        total += 0.0 * m.body_invweight0[b, 0] + 0.0 * m.body_invweight0[b, 1]
    for t in range(m.ntendon):
        total += 0.0 * m.tendon_invweight0[t] + 0.0 * m.tendon_length0[t]
    for k in range(m.nout):
        total += 0.0 * m.actuator_acc0[k] + 0.0 * m.actuator_length0[k]
    for g in range(m.ngeom):
        total += 0.0 * m.geom_rbound[g]
        for k in range(6, 12):
            total += 0.0 * m.geom_fluid[g, k]
    return any_(total != total)


@kernel
def derive(m, d, groups):
    """Compute groups of constants anew (see `table`), the others stay. Returns 1 if something is no number, else 0."""
    if groups & FIXED:
        set_fixed(m)
    if groups & (POSE | INERTIA):
        take_reference(m, d)
        kinematics(m, d)
        com_pos(m, d)
        tendon(m, d)
        transmission(m, d)
        if groups & POSE:
            set_from_poses(m, d)
        if groups & INERTIA:
            crb(m, d)
            set_diagonal(m, d)
            add_tendon_armature(m, d)
            copy_rows(m, d.M, d.qLD, 0, m.nv)  # no stage: what it warns of is nothing to those who take the worlds next
            factor_in_place(m, d.qLD, d.qLDiagInv)
            set_from_inertia(m, d)
    return 1 if is_unsound(m) else 0


DERIVE = Entry(derive, "int64", result="int64", edits_model=True)
