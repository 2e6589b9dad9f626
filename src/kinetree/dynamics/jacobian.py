"""Jacobians of points and subtrees, and forces at points.

MuJoCo: mj_jac, mj_jacBody, mj_jacBodyCom, mj_jacSite, mj_jacGeom, mj_jacSubtreeCom, mj_jacDot, mj_angmomMat,
mj_applyFT, mj_local2Global.
Reads: the position stage (xpos, xipos, cdof, cinert, subtree_com), for rates also cvel and cdof_dot.
Jacobians are (3, nv) in world axes: translation [m per unit of qvel] and rotation [rad per unit of qvel].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernel import function, kernel
from ..kernel.ops import zero
from ..layout import checked
from ..math.quaternion import get4, mul_quat, to_matrix
from ..math.spatial import (
    add_scaled6,
    angular,
    cross_motion,
    get6,
    get10,
    linear,
    mul_inertia,
    shift_force,
    shift_motion,
)
from ..math.vec3 import add, cross, dot, get3, get9, mul_mat_vec, sub
from ..prerequisites import prepare
from ..types import JointType
from .objects import velocity_at

if TYPE_CHECKING:
    from ..data import Data
    from ..model import Model


@kernel
def last_dof(m, b):
    """The last degree of freedom that moves a body, -1 if none does; go on with dof_parentid."""
    w = m.body_weldid[b]
    return m.body_dofadr[w] + m.body_dofnum[w] - 1 if m.body_dofnum[w] > 0 else -1


@kernel
def later_dof(m, i, j):
    """Of dofs i and j, which are not equal, the later one: it cannot move what the other moves. Whether it is j; the next i, j.

    Repeated until i == j, from the last dofs of two bodies on, this gives all dofs that move one against the other, last to
    first; those that move both give nothing.
    """
    is_j = j > i
    last = j if is_j else i
    above = m.dof_parentid[last]
    return last, is_j, i if is_j else above, above if is_j else j


@kernel
def last_of_chains(m, i, j):
    """The later of dofs i and j, -1 for none, or both if they are equal: whether it is i, whether it is j; the next i, j.

    Repeated while one is left, from the last dofs of two bodies on, this gives all dofs that move one of them, last to first.
    """
    last = i if i > j else j
    above = m.dof_parentid[last]
    return last, i == last, j == last, above if i == last else i, above if j == last else j


@kernel
def branch_size(m, i, j):
    """How many dofs lie above dofs i and j (inclusive, -1 for none) without being above both."""
    n = 0
    while i != j:
        _, _, i, j = later_dof(m, i, j)
        n += 1
    return n


@kernel
def point3(field):
    """A vector argument."""
    return field[0], field[1], field[2]


@kernel
def axis_at(m, d, i, point):
    """Motion axis of dof i seen at a point of a body that it moves."""
    return shift_motion(get6(d.cdof, i), sub(point, get3(d.xpos, m.dof_bodyid[i])))


@kernel
def put_column(jacp, jacr, i, s):
    """Write column i of both Jacobians from a spatial vector."""
    for k in range(3):
        jacr[k, i] = s[k]
        jacp[k, i] = s[k + 3]


@function(point="3", body=int, jacp="3 nv", jacr="3 nv")
def _jac(m, d, a):
    point = point3(a.point)
    i = last_dof(m, a.body)
    while i >= 0:
        put_column(a.jacp, a.jacr, i, axis_at(m, d, i, point))
        i = m.dof_parentid[i]


@kernel
def axis_rate(m, d, i):
    """Rate of motion axis i; axes of quaternions turn with the velocity of their own body."""
    j = m.dof_jntid[i]
    kind = m.jnt_type[j]
    if kind == JointType.BALL or (kind == JointType.FREE and i >= m.jnt_dofadr[j] + 3):
        return cross_motion(get6(d.cvel, m.dof_bodyid[i]), get6(d.cdof, i))
    return get6(d.cdof_dot, i)


@kernel
def axis_rate_at(m, d, i, point):
    """Rate of motion axis i seen at a point of a body that it moves."""
    return shift_motion(axis_rate(m, d, i), sub(point, get3(d.xpos, m.dof_bodyid[i])))


@kernel
def point_bias(m, d, b, point):
    """Acceleration [angular; linear] of a point of a body if qacc and gravity were zero: dJ/dt qvel.

    `axis_rate` is MuJoCo's: where slides follow a ball joint on one body, it turns the ball's axes about a point that
    slides along, and so is the acceleration wrong there.
    """
    moving = velocity_at(d, b, point)
    spin = cross(angular(moving), linear(moving))
    o = zero(spin[0])
    total = o, o, o, spin[0], spin[1], spin[2]
    i = last_dof(m, b)
    while i >= 0:
        total = add_scaled6(total, axis_rate_at(m, d, i, point), d.qvel[i])
        i = m.dof_parentid[i]
    return total


@kernel
def add_point_force(m, d, out, at, b, point, force):
    """Add to entries of `out`, dof i at place at + i, the joint forces of a force on a body at a point."""
    i = last_dof(m, b)
    while i >= 0:
        out[at + i] += dot(force, linear(axis_at(m, d, i, point)))
        i = m.dof_parentid[i]


@function(point="3", body=int, jacp="3 nv", jacr="3 nv")
def _jac_dot(m, d, a):
    point = point3(a.point)
    moving = velocity_at(d, a.body, point)
    i = last_dof(m, a.body)
    while i >= 0:
        axis = get6(d.cdof, i)
        rate = axis_rate_at(m, d, i, point)
        drift = cross((axis[0], axis[1], axis[2]), (moving[3], moving[4], moving[5]))
        put_column(
            a.jacp, a.jacr, i, (rate[0], rate[1], rate[2], rate[3] + drift[0], rate[4] + drift[1], rate[5] + drift[2])
        )
        i = m.dof_parentid[i]


@kernel
def momentum_column(m, d, b, i, centre):
    """Momentum of body b about a point for a unit velocity of dof i, which moves it."""
    origin = get3(d.xpos, b)
    return shift_force(mul_inertia(get10(d.cinert, b), axis_at(m, d, i, origin)), sub(centre, origin))


@function(body=int, angular="3 nv", linear="3 nv")
def _subtree_momentum(m, d, a):
    centre = get3(d.subtree_com, a.body)
    b = a.body
    while b < m.nbody and (b == a.body or m.body_parentid[b] >= a.body):
        i = last_dof(m, b)
        while i >= 0:
            column = momentum_column(m, d, b, i, centre)
            for k in range(3):
                a.angular[k, i] += column[k]
                a.linear[k, i] += column[k + 3]
            i = m.dof_parentid[i]
        b += 1


@function(point="3", body=int, wrench="6", qfrc="nv")
def _apply_ft(m, d, a):
    point = point3(a.point)
    i = last_dof(m, a.body)
    while i >= 0:
        s = axis_at(m, d, i, point)
        for k in range(6):
            a.qfrc[i] += s[k] * a.wrench[k]
        i = m.dof_parentid[i]


@function(pos="3", quat="4", body=int, xpos="3", xmat="9")
def _local_to_global(m, d, a):
    p = add(get3(d.xpos, a.body), mul_mat_vec(get9(d.xmat, a.body), point3(a.pos)))
    r = to_matrix(mul_quat(get4(d.xquat, a.body), (a.quat[0], a.quat[1], a.quat[2], a.quat[3])))
    for k in range(3):
        a.xpos[k] = p[k]
    for k in range(9):
        a.xmat[k] = r[k]


def jac(model: Model, data: Data, point: Any, body: str | int) -> tuple[np.ndarray, np.ndarray]:
    """Translation and rotation Jacobians of a world point that moves with a body. MuJoCo's mj_jac."""
    prepare("jac", model, data)
    point = checked(point, (3,), "float64", "jac: point", fill=False)
    out = _jac(model, data, point=point, body=model.id("body", body))
    return out.jacp, out.jacr


def jac_body(model: Model, data: Data, body: str | int) -> tuple[np.ndarray, np.ndarray]:
    """Jacobians of a body's origin. MuJoCo's mj_jacBody."""
    prepare("jac_body", model, data)
    return jac(model, data, data.xpos[model.id("body", body)], body)


def jac_body_com(model: Model, data: Data, body: str | int) -> tuple[np.ndarray, np.ndarray]:
    """Jacobians of a body's centre of mass. MuJoCo's mj_jacBodyCom."""
    prepare("jac_body_com", model, data)
    return jac(model, data, data.xipos[model.id("body", body)], body)


def jac_site(model: Model, data: Data, site: str | int) -> tuple[np.ndarray, np.ndarray]:
    """Jacobians of a site. MuJoCo's mj_jacSite."""
    prepare("jac_site", model, data)
    i = model.id("site", site)
    return jac(model, data, data.site_xpos[i], int(model.site_bodyid[i]))


def jac_geom(model: Model, data: Data, geom: str | int) -> tuple[np.ndarray, np.ndarray]:
    """Jacobians of a geom's centre. MuJoCo's mj_jacGeom."""
    prepare("jac_geom", model, data)
    i = model.id("geom", geom)
    return jac(model, data, data.geom_xpos[i], int(model.geom_bodyid[i]))


def jac_subtree_com(model: Model, data: Data, body: str | int) -> np.ndarray:
    """Translation Jacobian of a subtree's centre of mass. MuJoCo's mj_jacSubtreeCom."""
    prepare("jac_subtree_com", model, data)
    b = model.id("body", body)
    mass = data.subtree_mass[b]
    return _subtree_momentum(model, data, body=b).linear / mass if mass > 0 else np.zeros((3, model.nv))


def jac_dot(model: Model, data: Data, point: Any, body: str | int) -> tuple[np.ndarray, np.ndarray]:
    """Time derivatives of both Jacobians of a point that moves with a body. MuJoCo's mj_jacDot."""
    prepare("jac_dot", model, data)
    point = checked(point, (3,), "float64", "jac_dot: point", fill=False)
    out = _jac_dot(model, data, point=point, body=model.id("body", body))
    return out.jacp, out.jacr


def angmom_mat(model: Model, data: Data, body: str | int) -> np.ndarray:
    """Matrix that turns qvel into the subtree's angular momentum about its centre of mass. MuJoCo's mj_angmomMat."""
    prepare("angmom_mat", model, data)
    return _subtree_momentum(model, data, body=model.id("body", body)).angular


def apply_ft(model: Model, data: Data, force: Any, torque: Any, point: Any, body: str | int) -> np.ndarray:
    """Joint forces of a force [N] at a world point of a body and a torque [N m] on it. MuJoCo's mj_applyFT."""
    prepare("apply_ft", model, data)
    given = {"torque": torque, "force": force, "point": point}
    torque, force, point = (checked(v, (3,), "float64", f"apply_ft: {n}", fill=False) for n, v in given.items())
    return _apply_ft(model, data, point=point, wrench=np.concatenate((torque, force)), body=model.id("body", body)).qfrc


def local_to_global(model: Model, data: Data, pos: Any, quat: Any, body: str | int) -> tuple[np.ndarray, np.ndarray]:
    """World position and rotation matrix (9) of a frame fixed in a body. MuJoCo's mj_local2Global."""
    prepare("local_to_global", model, data)
    pos = checked(pos, (3,), "float64", "local_to_global: pos", fill=False)
    quat = checked(quat, (4,), "float64", "local_to_global: quat", fill=False)
    out = _local_to_global(model, data, pos=pos, quat=quat, body=model.id("body", body))
    return out.xpos, out.xmat
