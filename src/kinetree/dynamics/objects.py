"""Where an object is and how it moves: bodies, geoms, sites and cameras by their MuJoCo object type.

MuJoCo: mj_objectVelocity; for accelerations see `constraint.rne_post`. Reads: poses of the position stage; cvel; cacc.
A "body" is the inertial frame, an "xbody" the frame of the body itself. Vectors in world axes, [angular; linear].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..kernel import function, kernel
from ..kernel.dispatch import dispatch
from ..math.quaternion import get4, mul_quat
from ..math.spatial import angular, get6, join, linear, shift_motion
from ..math.vec3 import add, cross, get3, get9, mul_mat_t_vec, sub
from ..prerequisites import prepare
from ..types import ObjType

if TYPE_CHECKING:
    from ..data import Data
    from ..model import Model


@kernel
def body_frame(m, d, i):
    """Body and pose of an inertial frame: body, position, rotation matrix, quaternion."""
    return i, get3(d.xipos, i), get9(d.ximat, i), get4(d.xiquat, i)


@kernel
def xbody_frame(m, d, i):
    """Body and pose of a body's own frame."""
    return i, get3(d.xpos, i), get9(d.xmat, i), get4(d.xquat, i)


@kernel
def geom_frame(m, d, i):
    """Body and pose of a geom."""
    return m.geom_bodyid[i], get3(d.geom_xpos, i), get9(d.geom_xmat, i), get4(d.geom_xquat, i)


@kernel
def site_frame(m, d, i):
    """Body and pose of a site."""
    return m.site_bodyid[i], get3(d.site_xpos, i), get9(d.site_xmat, i), get4(d.site_xquat, i)


@kernel
def camera_frame(m, d, i):
    """Body and pose of a camera; as in MuJoCo the quaternion is that of a camera fixed in its body, whatever it tracks."""
    b = m.cam_bodyid[i]
    return b, get3(d.cam_xpos, i), get9(d.cam_xmat, i), mul_quat(get4(d.xquat, b), get4(m.cam_quat, i))


FRAMES = {
    ObjType.BODY: body_frame,
    ObjType.XBODY: xbody_frame,
    ObjType.GEOM: geom_frame,
    ObjType.SITE: site_frame,
    ObjType.CAMERA: camera_frame,
}
object_frame = dispatch(FRAMES, "m, d, i", otherwise=xbody_frame)


@kernel
def velocity_at(d, b, point):
    """Velocity of a body at a point that moves with it."""
    return shift_motion(get6(d.cvel, b), sub(point, get3(d.xpos, b)))


@kernel
def acceleration_at(d, b, point):
    """Acceleration of a point that moves with a body, gravity counted as upward: the rate of its velocity."""
    v = velocity_at(d, b, point)
    a = shift_motion(get6(d.cacc, b), sub(point, get3(d.xpos, b)))
    return join(angular(a), add(linear(a), cross(angular(v), linear(v))))


@kernel
def seen_from(vector, axes):
    """Both parts of a spatial vector in the axes of a frame."""
    return join(mul_mat_t_vec(axes, angular(vector)), mul_mat_t_vec(axes, linear(vector)))


@kernel
def put6(result, vector):
    """Write a spatial vector into an argument."""
    for k in range(6):
        result[k] = vector[k]


@function(kind=int, index=int, local=int, result="6")
def _object_velocity(m, d, a):
    body, point, axes, _ = object_frame(a.kind, m, d, a.index)
    v = velocity_at(d, body, point)
    put6(a.result, seen_from(v, axes) if a.local else v)


def which_object(model: Model, kind: str, key: str | int) -> dict[str, int]:
    """Type and number of an object that has a frame."""
    types = {t.name.lower(): t for t in FRAMES}
    if kind not in types:
        *most, last = types
        raise ValueError(f"an object with a frame is a {', '.join(most)} or {last}, not {kind!r}")
    return {"kind": int(types[kind]), "index": model.id("body" if kind == "xbody" else kind, key)}


def check_local(local: bool) -> None:
    """Raise unless it is true or false."""
    if not isinstance(local, (bool, np.bool_, int)):
        raise TypeError(f"local must be True or False, not {local!r}")


def object_velocity(model: Model, data: Data, kind: str, key: str | int, local: bool = False) -> np.ndarray:
    """Velocity [rad/s; m/s] of an object at its own position, in world axes or its own. MuJoCo's mj_objectVelocity.

    kind: "body" (its inertial frame), "xbody" (its own frame), "geom", "site" or "camera".
    """
    check_local(local)
    prepare("object_velocity", model, data)
    return _object_velocity(model, data, **which_object(model, kind, key), local=local).result
