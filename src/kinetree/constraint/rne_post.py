"""Accelerations of bodies and the forces between them, once qacc and the forces of constraints are known.

MuJoCo: mj_rnePostConstraint, mj_objectAcceleration. External are applied wrenches, contacts, connects, welds and spatial
tendons; what acts along joints, such as their limits, is not.
Reads: qacc, qvel, xfrc_applied, cdof, cdof_dot, cvel, cinert, xpos, xipos, efc_force, paths and forces of tendons.
Writes: cacc (gravity counts as an upward acceleration), cfrc_ext, cfrc_int (from the parent), at xpos, world axes,
[angular; linear]; flg_rnepost. Scratch: ten_push.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..dynamics.applied import wrench_at_origin
from ..dynamics.objects import acceleration_at, check_local, object_frame, put6, seen_from, which_object
from ..dynamics.rne import inward, outward, set_world_acceleration
from ..dynamics.tendon_force import add_tendon_forces, set_pushes
from ..kernel import function, kernel, stage
from ..kernel.stage import check_arguments
from ..math.spatial import add_scaled6, get6, set6
from ..needs import sensor
from ..prerequisites import prepare
from ..types import SensorType as S
from .contact_force import add_contact_forces
from .equality_force import add_equality_forces
from .tendon_push import add_row_pushes

if TYPE_CHECKING:
    from ..data import Data
    from ..model import Model

READS_FORCES = sensor(S.ACCELEROMETER, S.FORCE, S.TORQUE, S.FRAMELINACC, S.FRAMEANGACC, S.USER, S.PLUGIN)


@kernel
def set_external(m, d):
    """All wrenches on bodies that do not pass through joints: cfrc_ext."""
    for b in range(1, m.nbody):
        set6(d.cfrc_ext, b, wrench_at_origin(d, b))
    add_contact_forces(m, d, d.cfrc_ext)
    add_equality_forces(m, d, d.cfrc_ext)
    if m.ntendon > 0:
        set_pushes(m, d)
        add_row_pushes(m, d)
        add_tendon_forces(m, d, d.cfrc_ext)


@stage(when=READS_FORCES)
def rne_post_constraint(m, d):
    """Accelerations of bodies, external and interaction forces: cacc, cfrc_ext, cfrc_int. MuJoCo's mj_rnePostConstraint."""
    nothing = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    set6(d.cfrc_ext, 0, nothing)
    set6(d.cfrc_int, 0, nothing)
    set_world_acceleration(m, d.cacc)
    outward(m, d, d.cacc, d.cfrc_int, 0, m.nbody, True)
    set_external(m, d)
    for b in range(1, m.nbody):
        set6(d.cfrc_int, b, add_scaled6(get6(d.cfrc_int, b), get6(d.cfrc_ext, b), -1.0))
    inward(m, d, d.cfrc_int, 0, m.nbody, True)  # joints carry what is beyond them; the world gets the sum, as in MuJoCo
    d.flg_rnepost[0] = True


@function(kind=int, index=int, local=int, result="6")
def _object_acceleration(m, d, a):
    body, point, axes, _ = object_frame(a.kind, m, d, a.index)
    v = acceleration_at(d, body, point)
    put6(a.result, seen_from(v, axes) if a.local else v)


def object_acceleration(model: Model, data: Data, kind: str, key: str | int, local: bool = False) -> np.ndarray:
    """Acceleration [rad/s^2; m/s^2] of an object, gravity included as upward. MuJoCo's mj_objectAcceleration.

    Reads cacc; where it is not up to date with `forward`, `rne_post_constraint` runs first; where no pass has
    computed forces yet, that is an error.
    """
    check_arguments("object_acceleration", model, data)
    check_local(local)
    if not data.flg_rnepost:
        prepare("object_acceleration", model, data)
        rne_post_constraint(model, data)
    return _object_acceleration(model, data, **which_object(model, kind, key), local=local).result
