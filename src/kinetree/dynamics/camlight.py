"""Poses of cameras and lights, in every tracking mode.

MuJoCo: mj_camlight.
Reads: xpos, xquat, xmat, subtree_com; the local poses and modes of cameras and lights.
Writes: cam_xpos, cam_xmat, light_xpos, light_xdir. World axes, metres; a camera looks along its negative z axis.
"""

from ..kernel import kernel, stage
from ..kernel.ops import any_, where
from ..math.constants import MIN_VALUE
from ..math.quaternion import get4, mul_quat, rotate, to_matrix
from ..math.vec3 import add, cross, get3, get9, mul_mat_vec, norm, set3, set9, sub
from ..types import CamLight, SleepState
from .sleep_state import some_sleep


@kernel
def direction(v):
    """The unit vector along v; x where v has no length, as MuJoCo's mju_normalize3 gives."""
    n = norm(v)
    tiny = n < MIN_VALUE
    s = 1.0 / where(tiny, 1.0, n)
    return where(tiny, 1.0, v[0] * s), where(tiny, 0.0, v[1] * s), where(tiny, 0.0, v[2] * s)


@kernel
def target_of(d, mode, target):
    """The point that a targeting camera or light looks at."""
    if mode == CamLight.TARGETBODY:
        return get3(d.xpos, target)
    return get3(d.subtree_com, target)


@kernel
def camera_on_body(m, d, i):
    """Position and orientation of a camera that moves with its body."""
    b = m.cam_bodyid[i]
    pos = add(get3(d.xpos, b), mul_mat_vec(get9(d.xmat, b), get3(m.cam_pos, i)))
    return pos, to_matrix(mul_quat(get4(d.xquat, b), get4(m.cam_quat, i)))


@kernel
def light_on_body(m, d, i):
    """Position and direction of a light that moves with its body."""
    b = m.light_bodyid[i]
    pos = add(get3(d.xpos, b), mul_mat_vec(get9(d.xmat, b), get3(m.light_pos, i)))
    return pos, direction(rotate(get4(d.xquat, b), get3(m.light_dir, i)))


@kernel
def place_camera(m, d, i):
    """Pose of one camera."""
    b, mode, target = m.cam_bodyid[i], m.cam_mode[i], m.cam_targetbodyid[i]
    if mode == CamLight.TRACK:
        set3(d.cam_xpos, i, add(get3(d.xpos, b), get3(m.cam_pos0, i)))
        set9(d.cam_xmat, i, get9(m.cam_mat0, i))
        return
    if mode == CamLight.TRACKCOM:
        set3(d.cam_xpos, i, add(get3(d.subtree_com, b), get3(m.cam_poscom0, i)))
        set9(d.cam_xmat, i, get9(m.cam_mat0, i))
        return
    pos, mat = camera_on_body(m, d, i)
    set3(d.cam_xpos, i, pos)
    if (mode == CamLight.TARGETBODY or mode == CamLight.TARGETBODYCOM) and target >= 0:
        z = direction(sub(pos, target_of(d, mode, target)))
        x = direction(cross((0.0, 0.0, 1.0), z))
        y = direction(cross(z, x))
        set9(d.cam_xmat, i, (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]))
    else:
        set9(d.cam_xmat, i, mat)


@kernel
def place_light(m, d, i):
    """Position and direction of one light."""
    b, mode, target = m.light_bodyid[i], m.light_mode[i], m.light_targetbodyid[i]
    if mode == CamLight.TRACK:
        set3(d.light_xpos, i, add(get3(d.xpos, b), get3(m.light_pos0, i)))
        set3(d.light_xdir, i, direction(get3(m.light_dir0, i)))
        return
    if mode == CamLight.TRACKCOM:
        set3(d.light_xpos, i, add(get3(d.subtree_com, b), get3(m.light_poscom0, i)))
        set3(d.light_xdir, i, direction(get3(m.light_dir0, i)))
        return
    pos, towards = light_on_body(m, d, i)
    set3(d.light_xpos, i, pos)
    if (mode == CamLight.TARGETBODY or mode == CamLight.TARGETBODYCOM) and target >= 0:
        set3(d.light_xdir, i, direction(sub(target_of(d, mode, target), pos)))
    else:
        set3(d.light_xdir, i, towards)


@kernel
def stays(m, d, b, target):
    """Whether trees sleep, and neither a body nor the target of what is fixed to it is awake."""
    return (
        some_sleep(m, d)
        and not any_(d.body_awake[b] == SleepState.AWAKE)
        and (target < 0 or not any_(d.body_awake[target] == SleepState.AWAKE))
    )


@stage
def camlight(m, d):
    """Poses of cameras and lights. MuJoCo's mj_camlight; runs after `com_pos`, whose subtree_com some modes follow."""
    for i in range(m.ncam):
        if not stays(m, d, m.cam_bodyid[i], m.cam_targetbodyid[i]):
            place_camera(m, d, i)
    for i in range(m.nlight):
        if not stays(m, d, m.light_bodyid[i], m.light_targetbodyid[i]):
            place_light(m, d, i)
