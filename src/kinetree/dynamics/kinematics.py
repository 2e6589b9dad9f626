"""Poses of bodies, joints, geoms and sites from qpos.

MuJoCo: mj_kinematics. Reference: R. Featherstone, Rigid Body Dynamics Algorithms, 2008, ch. 4.
Reads: qpos, mocap_pos, mocap_quat; the tree and the local frames of the model.
Writes: xpos, xquat, xmat, xipos, xiquat, ximat (bodies); xanchor, xaxis (joints); geom_xpos, geom_xquat, geom_xmat;
site_xpos, site_xquat, site_xmat; half_sin, half_cos (scratch). World axes, metres; quaternions w first; matrices row by row.
"""

from ..kernel import kernel, stage
from ..kernel.ops import any_, cos, maximum, minimum, needs, sin
from ..math.quaternion import get4, mul_quat, normalize4, renormalize4, set4, to_matrix
from ..math.vec3 import add, add_scaled, get3, get9, mul_mat_vec, scale, set3, set9, sub
from ..types import JointType, SameFrame
from .sleep import list_awake
from .sleep_state import (
    BODIES,
    BODIES_END,
    GEOMS,
    GEOMS_END,
    JOINTS,
    JOINTS_END,
    SITES,
    SITES_END,
)
from .waking import wake

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@kernel
def half_angles(m, d, joint, end):
    """Sine and cosine of half of every entry of qpos - qpos0: one loop without branches, which LLVM turns into SIMD code.

    Only hinges need them; computing all costs a tenth of computing each where its joint moves.
    """
    if joint == end:
        return
    first = m.jnt_qposadr[joint] + (
        7 if m.jnt_type[joint] == JointType.FREE else 0
    )  # the usual place of one, which has no angle
    for i in range(first, m.nq if end == m.njnt else m.jnt_qposadr[end]):
        half = 0.5 * (d.qpos[i] - m.qpos0[i])
        d.half_sin[i] = sin(half)
        d.half_cos[i] = cos(half)


@kernel
def set_world(d):
    """The world body stands still at the origin."""
    set3(d.xpos, 0, (0.0, 0.0, 0.0))
    set3(d.xipos, 0, (0.0, 0.0, 0.0))
    set4(d.xquat, 0, (1.0, 0.0, 0.0, 0.0))
    set4(d.xiquat, 0, (1.0, 0.0, 0.0, 0.0))
    set9(d.xmat, 0, IDENTITY)
    set9(d.ximat, 0, IDENTITY)


@kernel
def free_pose(m, d, j):
    """Pose of a body on a free joint: straight from qpos."""
    a = m.jnt_qposadr[j]
    pos = d.qpos[a], d.qpos[a + 1], d.qpos[a + 2]
    quat = normalize4((d.qpos[a + 3], d.qpos[a + 4], d.qpos[a + 5], d.qpos[a + 6]))
    set3(d.xanchor, j, pos)
    set3(d.xaxis, j, get3(m.jnt_axis, j))
    return pos, quat, to_matrix(quat)


@kernel
def rest_pose(m, d, b):
    """Pose of a body before its joints move it: its offset from the parent, or from the world where mocap sets it."""
    p = m.body_parentid[b]
    mocap = m.body_mocapid[b]
    quat, mat = get4(d.xquat, p), get9(d.xmat, p)
    if mocap >= 0:
        pos = add(get3(d.xpos, p), mul_mat_vec(mat, get3(d.mocap_pos, mocap)))
        quat = renormalize4(mul_quat(quat, normalize4(get4(d.mocap_quat, mocap))))
        mat = to_matrix(quat)
    else:
        pos = add(get3(d.xpos, p), mul_mat_vec(mat, get3(m.body_pos, b)))
        if needs(m.body_quat[b, 0] != 1.0):  # most bodies are not turned in their parent
            quat = renormalize4(mul_quat(quat, get4(m.body_quat, b)))
            mat = to_matrix(quat)
    return pos, quat, mat


@kernel
def move_joint(m, d, j, pos, quat, mat):
    """Pose of a body after one more of its joints has moved it; the joint's anchor and axis are those before the move."""
    a = m.jnt_qposadr[j]
    kind = m.jnt_type[j]
    local_axis, local = get3(m.jnt_axis, j), get3(m.jnt_pos, j)
    aside = needs((local[0] != 0.0) | (local[1] != 0.0) | (local[2] != 0.0))  # most joints sit at the body's origin
    axis = mul_mat_vec(mat, local_axis)
    if aside:
        pos = add(pos, mul_mat_vec(mat, local))
    set3(d.xaxis, j, axis)
    set3(d.xanchor, j, pos)
    if kind == JointType.SLIDE:
        pos = add_scaled(pos, axis, d.qpos[a] - m.qpos0[a])
    else:
        if kind == JointType.HINGE:
            turn = scale(local_axis, d.half_sin[a])
            quat = mul_quat(quat, (d.half_cos[a], turn[0], turn[1], turn[2]))
        else:
            quat = mul_quat(quat, normalize4((d.qpos[a], d.qpos[a + 1], d.qpos[a + 2], d.qpos[a + 3])))
        quat = renormalize4(quat)
        mat = to_matrix(quat)
    if aside:
        pos = sub(pos, mul_mat_vec(mat, local))
    return pos, quat, mat


@kernel
def place_inertia(m, d, b, pos, quat, mat):
    """Pose of the body's centre of mass and principal axes."""
    if m.body_sameframe[b] == SameFrame.BODY:
        set3(d.xipos, b, pos)
    else:
        set3(d.xipos, b, add(pos, mul_mat_vec(mat, get3(m.body_ipos, b))))
    if m.body_sameframe[b] == SameFrame.BODY or m.body_sameframe[b] == SameFrame.BODYROT:
        set4(d.xiquat, b, quat)
        set9(d.ximat, b, mat)
    else:
        iquat = mul_quat(quat, get4(m.body_iquat, b))
        set4(d.xiquat, b, iquat)
        set9(d.ximat, b, to_matrix(iquat))


@kernel
def place_in_body(d, b, same, local_pos, local_quat, xpos, xquat, xmat, i):
    """Pose of something fixed in a body; frames that coincide with the body's or its inertia's are copied."""
    if same == SameFrame.BODY:
        set3(xpos, i, get3(d.xpos, b))
    elif same == SameFrame.INERTIA:
        set3(xpos, i, get3(d.xipos, b))
    else:
        set3(xpos, i, add(get3(d.xpos, b), mul_mat_vec(get9(d.xmat, b), get3(local_pos, i))))
    if same == SameFrame.BODY or same == SameFrame.BODYROT:
        set4(xquat, i, get4(d.xquat, b))
        set9(xmat, i, get9(d.xmat, b))
    elif same == SameFrame.INERTIA or same == SameFrame.INERTIAROT:
        set4(xquat, i, get4(d.xiquat, b))
        set9(xmat, i, get9(d.ximat, b))
    else:
        quat = mul_quat(get4(d.xquat, b), get4(local_quat, i))
        set4(xquat, i, quat)
        set9(xmat, i, to_matrix(quat))


BLOCK = 4  # bodies whose geoms and sites are placed while their poses are still in the nearest cache


@kernel
def place_body(m, d, b):
    """Pose of one body and of its inertia; its parent has been placed."""
    first = m.body_jntadr[b]
    count = m.body_jntnum[b]
    if count == 1 and m.jnt_type[first] == JointType.FREE:
        pos, quat, mat = free_pose(m, d, first)
    else:
        pos, quat, mat = rest_pose(m, d, b)
        for j in range(first, first + count):
            pos, quat, mat = move_joint(m, d, j, pos, quat, mat)
    set3(d.xpos, b, pos)
    set4(d.xquat, b, quat)
    set9(d.xmat, b, mat)
    place_inertia(m, d, b, pos, quat, mat)


@kernel
def place_run(m, d, run):
    """Poses of a run of bodies and of all that is fixed in them."""
    half_angles(m, d, d.awake_run[run, JOINTS], d.awake_run[run, JOINTS_END])
    g, ngeom = d.awake_run[run, GEOMS], d.awake_run[run, GEOMS_END]
    s, nsite, nbody = d.awake_run[run, SITES], d.awake_run[run, SITES_END], d.awake_run[run, BODIES_END]
    for start in range(d.awake_run[run, BODIES], nbody, BLOCK):
        end = minimum(start + BLOCK, nbody)
        for b in range(maximum(start, 1), end):
            place_body(m, d, b)
        while g < ngeom and m.geom_bodyid[g] < end:
            same, b = m.geom_sameframe[g], m.geom_bodyid[g]
            place_in_body(d, b, same, m.geom_pos, m.geom_quat, d.geom_xpos, d.geom_xquat, d.geom_xmat, g)
            g += 1
        while s < nsite and m.site_bodyid[s] < end:
            same, b = m.site_sameframe[s], m.site_bodyid[s]
            place_in_body(d, b, same, m.site_pos, m.site_quat, d.site_xpos, d.site_xquat, d.site_xmat, s)
            s += 1


@stage
def kinematics(m, d):
    """Poses of bodies, joint anchors and axes, geoms and sites from qpos. MuJoCo's mj_kinematics."""
    if any_(d.ntree_awake[0] < m.ntree):
        wake(m, d)
        list_awake(m, d)
    set_world(d)
    for run in range(d.nawake_run[0]):
        place_run(m, d, run)
