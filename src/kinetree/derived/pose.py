"""What the poses of a model at its reference configuration give: lengths, anchors, and where cameras and lights are.

MuJoCo: group kin0 of mj_setConst. Reads: what `kinematics`, `com_pos`, `tendon` and `transmission` found at qpos0.
Writes into the model: tendon_length0, actuator_length0, dof_length, eq_data, cam_poscom0, cam_pos0, cam_mat0, light_poscom0,
light_pos0, light_dir0. Scratch: body_size.
"""

from ..dynamics.camlight import camera_on_body, light_on_body
from ..dynamics.configuration import conjugate
from ..kernel import kernel
from ..kernel.ops import maximum, where
from ..math.quaternion import get4, mul_quat
from ..math.vec3 import add, get3, get9, mul_mat_t_vec, mul_mat_vec, norm, set3, set9, sub
from ..types import EqType, JointType, ObjType

SMALLEST = 1e-5  # least size of a body [m]
KEPT = 11  # column of eq_data: whether a weld takes the relative pose from qpos0


@kernel
def distance(a, b):
    """Distance of two points."""
    return norm(sub(a, b))


@kernel
def set_body_sizes(m, d):
    """How far a body reaches from its centre of mass: to joints of its own and of its children, and around its geoms."""
    for b in range(m.nbody):
        d.body_size[b] = SMALLEST
        for g in range(m.body_geomadr[b], m.body_geomadr[b] + m.body_geomnum[b]):
            far = m.geom_rbound[g] + distance(get3(d.xipos, b), get3(d.geom_xpos, g))
            d.body_size[b] = maximum(d.body_size[b], where(m.geom_rbound[g] > 0.0, far, 0.0))
    for j in range(m.njnt):
        b, anchor = m.jnt_bodyid[j], get3(d.xanchor, j)
        p = m.body_parentid[b]
        d.body_size[b] = maximum(d.body_size[b], distance(get3(d.xipos, b), anchor))
        d.body_size[p] = maximum(d.body_size[p], distance(get3(d.xipos, p), anchor))


@kernel
def set_dof_lengths(m, d):
    """A rate of turning counts as the speed of the body's rim, one of sliding as it is."""
    set_body_sizes(m, d)
    for i in range(m.nv):
        j = m.dof_jntid[i]
        slides = m.jnt_type[j] == JointType.SLIDE or (m.jnt_type[j] == JointType.FREE and i < m.jnt_dofadr[j] + 3)
        if slides:
            m.dof_length[i] = 1.0
        else:
            m.dof_length[i] = d.body_size[m.dof_bodyid[i]]


@kernel
def set_connect(m, d, e):
    """The second anchor of a connect, where the first is now; one of sites has none."""
    if m.eq_objtype[e] == ObjType.SITE:
        for k in range(12):
            m.eq_data[e, k] = 0.0
        return
    a, b = m.eq_obj1id[e], m.eq_obj2id[e]
    place = add(get3(d.xpos, a), mul_mat_vec(get9(d.xmat, a), get3(m.eq_data, e)))
    anchor = mul_mat_t_vec(get9(d.xmat, b), sub(place, get3(d.xpos, b)))
    for k in range(3):
        m.eq_data[e, 3 + k] = anchor[k]


@kernel
def set_weld(m, d, e):
    """Anchor and orientation of a weld of bodies that is told to keep them as they are now; else they are given."""
    a, b = m.eq_obj1id[e], m.eq_obj2id[e]
    kept = m.eq_data[e, KEPT] != 0.0
    place = add(get3(d.xpos, b), mul_mat_vec(get9(d.xmat, b), get3(m.eq_data, e)))
    anchor = mul_mat_t_vec(get9(d.xmat, a), sub(place, get3(d.xpos, a)))
    quat = mul_quat(conjugate(get4(d.xquat, a)), get4(d.xquat, b))
    for k in range(3):
        m.eq_data[e, 3 + k] = where(kept, anchor[k], m.eq_data[e, 3 + k])
    for k in range(4):
        m.eq_data[e, 6 + k] = where(kept, quat[k], m.eq_data[e, 6 + k])


@kernel
def set_equalities(m, d):
    """What equalities of bodies keep as it is at qpos0."""
    for e in range(m.neq):
        if m.eq_type[e] == EqType.CONNECT:
            set_connect(m, d, e)
        elif m.eq_type[e] == EqType.WELD and m.eq_objtype[e] != ObjType.SITE:
            set_weld(m, d, e)


@kernel
def set_cameras_and_lights(m, d):
    """Poses of cameras and lights that move with their bodies, for those that track."""
    for i in range(m.ncam):
        b, target = m.cam_bodyid[i], m.cam_targetbodyid[i]
        pos, mat = camera_on_body(m, d, i)
        set3(m.cam_pos0, i, sub(pos, get3(d.xpos, b)))
        set3(m.cam_poscom0, i, sub(pos, get3(d.subtree_com, target if target >= 0 else b)))
        set9(m.cam_mat0, i, mat)
    for i in range(m.nlight):
        b, target = m.light_bodyid[i], m.light_targetbodyid[i]
        pos, towards = light_on_body(m, d, i)
        set3(m.light_pos0, i, sub(pos, get3(d.xpos, b)))
        set3(m.light_poscom0, i, sub(pos, get3(d.subtree_com, target if target >= 0 else b)))
        set3(m.light_dir0, i, towards)


@kernel
def set_lengths(m, d):
    """Lengths of tendons and actuators."""
    for t in range(m.ntendon):
        m.tendon_length0[t] = d.ten_length[t]
    for k in range(m.nout):
        m.actuator_length0[k] = d.actuator_length[k]


@kernel
def set_from_poses(m, d):
    """All that poses alone give."""
    set_lengths(m, d)
    set_dof_lengths(m, d)
    set_equalities(m, d)
    set_cameras_and_lights(m, d)
