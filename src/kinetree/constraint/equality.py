"""Rows of equality constraints. MuJoCo: mj_instantiateEquality.

Connect and weld hold two points together, weld two orientations as well; joint and tendon make one scalar a polynomial of
another. efc_pos is the violation. Reads: eq_active, xpos, xmat, xquat, site_xpos, qpos, ten_length, ten_J, cdof.
"""

from ..dynamics.jacobian import axis_at, last_dof, last_of_chains
from ..dynamics.sleep_state import equality_sleeps
from ..kernel import kernel, stage
from ..kernel.ops import any_, zero
from ..math.quaternion import mul_quat
from ..math.spatial import get6, scale6
from ..math.vec3 import add, add9, cross, cross_matrix, dot, get3, get9, mul_mat_vec, outer, scale9, sub
from ..needs import some
from ..types import Constraint, EqType, ObjType
from .rows import (
    body_weight,
    chain_union,
    count,
    count_unless_empty,
    describe,
    has_room,
    put_entry,
    silence,
    take_out_trees,
)


@kernel
def equality_width(m, e):
    """How many rows an equality has."""
    return 3 if m.eq_type[e] == EqType.CONNECT else 6 if m.eq_type[e] == EqType.WELD else 1


@kernel
def bodies(m, e):
    """The two bodies that a connect or weld holds together."""
    a, b = m.eq_obj1id[e], m.eq_obj2id[e]
    if m.eq_objtype[e] == ObjType.SITE:
        return m.site_bodyid[a], m.site_bodyid[b]
    return a, b


@kernel
def body_anchor(m, d, e, b, k):
    """A point that eq_data gives from place k on in the frame of a body."""
    local = m.eq_data[e, k], m.eq_data[e, k + 1], m.eq_data[e, k + 2]
    return add(get3(d.xpos, b), mul_mat_vec(get9(d.xmat, b), local))


@kernel
def anchors(m, d, e):
    """The two points that a connect or weld holds together; a weld's data has them the other way round."""
    a, b = m.eq_obj1id[e], m.eq_obj2id[e]
    if m.eq_objtype[e] == ObjType.SITE:
        return get3(d.site_xpos, a), get3(d.site_xpos, b)
    first = 0 if m.eq_type[e] == EqType.CONNECT else 3
    return body_anchor(m, d, e, a, first), body_anchor(m, d, e, b, 3 - first)


@kernel
def body_quat(d, b):
    """Orientation of a body."""
    return d.xquat[b, 0], d.xquat[b, 1], d.xquat[b, 2], d.xquat[b, 3]


@kernel
def site_quat(m, d, s):
    """Orientation of a site."""
    local = m.site_quat[s, 0], m.site_quat[s, 1], m.site_quat[s, 2], m.site_quat[s, 3]
    return mul_quat(body_quat(d, m.site_bodyid[s]), local)


@kernel
def orientations(m, d, e):
    """The two orientations that a weld makes equal."""
    a, b = m.eq_obj1id[e], m.eq_obj2id[e]
    if m.eq_objtype[e] == ObjType.SITE:
        return site_quat(m, d, a), site_quat(m, d, b)
    relative = m.eq_data[e, 6], m.eq_data[e, 7], m.eq_data[e, 8], m.eq_data[e, 9]
    return mul_quat(body_quat(d, a), relative), body_quat(d, b)


@kernel
def vector_product(p, q):
    """Vector part of the quaternion p* q: half of the rotation from p to q."""
    return mul_quat((p[0], -p[1], -p[2], -p[3]), q)[1:]


@kernel
def turning_matrix(p, q, factor):
    """The matrix that makes of a vector a factor times the vector part of p* a q, quaternions of which a has no scalar."""
    o = zero(p[0])
    u, v = (-p[1], -p[2], -p[3]), (q[1], q[2], q[3])
    c = p[0] * q[0] + dot(u, v)
    w = q[0] * u[0] - p[0] * v[0], q[0] * u[1] - p[0] * v[1], q[0] * u[2] - p[0] * v[2]
    symmetric = add9((c, o, o, o, c, o, o, o, c), scale9(add9(outer(u, v), outer(v, u)), -1.0))
    return scale9(add9(symmetric, cross_matrix(w)), factor)


@kernel
def relative_axis(m, d, i, moves0, moves1, point0, point1):
    """Motion of a point of one body less that of a point of another for a unit velocity of dof i."""
    if moves0 and moves1:
        s, o = get6(d.cdof, i), zero(point0[0])
        v = cross((s[0], s[1], s[2]), sub(point0, point1))
        return o, o, o, v[0], v[1], v[2]
    if moves0:
        return axis_at(m, d, i, point0)
    return scale6(axis_at(m, d, i, point1), -1.0)


@kernel
def put_relative(m, d, body0, body1, point0, point1, n, turning, rows):
    """Write the Jacobian of one point against another and, of six rows, of the orientations, behind the last entry."""
    i, j = last_dof(m, body0), last_dof(m, body1)
    at = d.nJ[0] + n
    while i >= 0 or j >= 0:
        last, moves0, moves1, i, j = last_of_chains(m, i, j)
        s = relative_axis(m, d, last, moves0, moves1, point0, point1)
        at -= 1
        for k in range(3):
            put_entry(d, at + k * n, last, s[k + 3])
        if rows == 6:
            turn = mul_mat_vec(turning, (s[0], s[1], s[2]))
            for k in range(3):
                put_entry(d, at + (k + 3) * n, last, turn[k])


@kernel
def spatial_equality(m, d, e):
    """Three rows of a connect, six of a weld."""
    rows = equality_width(m, e)
    body0, body1 = bodies(m, e)
    n = chain_union(m, body0, body1)
    if has_room(d, rows, n):
        row = d.nefc[0]
        point0, point1 = anchors(m, d, e)
        gap = sub(point0, point1)
        o = zero(gap[0])
        turning, twist = (o, o, o, o, o, o, o, o, o), (o, o, o)
        if rows == 6:
            q, p = orientations(m, d, e)
            turning, twist = turning_matrix(p, q, 0.5 * m.eq_data[e, 10]), vector_product(p, q)
        put_relative(m, d, body0, body1, point0, point1, n, turning, rows)
        describe(d, Constraint.EQUALITY, e, rows, n, d.eq_active[e], 0.0, 0.0, 0.0)
        for k in range(3):
            d.efc_pos[row + k] = gap[k]
            d.efc_diagA[row + k] = body_weight(m, body0, body1, 0)
        if rows == 6:
            for k in range(3):
                d.efc_pos[row + 3 + k] = twist[k] * m.eq_data[e, 10]
                d.efc_diagA[row + 3 + k] = body_weight(m, body0, body1, 1)
        silence(d, rows, n, d.eq_active[e])
        count_unless_empty(m, d, rows, n)
    else:
        count(d, rows, n)


@kernel
def polynomial(m, e, x):
    """The value that eq_data asks for at x, and its derivative."""
    c1, c2, c3, c4 = m.eq_data[e, 1], m.eq_data[e, 2], m.eq_data[e, 3], m.eq_data[e, 4]
    value = m.eq_data[e, 0] + x * (c1 + x * (c2 + x * (c3 + x * c4)))
    return value, c1 + x * (2.0 * c2 + x * (3.0 * c3 + x * 4.0 * c4))


@kernel
def scalar_length(m, d, e, o):
    """How far a joint or tendon is from where it is at qpos0."""
    if m.eq_type[e] == EqType.JOINT:
        a = m.jnt_qposadr[o]
        return d.qpos[a] - m.qpos0[a]
    return d.ten_length[o] - m.tendon_length0[o]


@kernel
def scalar_weight(m, e, o):
    """Inverse inertia along a joint or tendon at qpos0."""
    return m.dof_invweight0[m.jnt_dofadr[o]] if m.eq_type[e] == EqType.JOINT else m.tendon_invweight0[o]


@kernel
def scalar_nnz(m, e, o):
    """How many dofs move a joint or tendon; none if there is no second one."""
    if o < 0:
        return 0
    return 1 if m.eq_type[e] == EqType.JOINT else m.ten_J_rownnz[o]


@kernel
def scalar_column(m, e, o, k):
    """Column of entry k in the Jacobian of a joint or tendon."""
    return m.jnt_dofadr[o] if m.eq_type[e] == EqType.JOINT else m.ten_J_colind[m.ten_J_rowadr[o] + k]


@kernel
def scalar_entry(m, d, e, o, k):
    """Entry k in the Jacobian of a joint or tendon."""
    return zero(d.time[0]) + 1.0 if m.eq_type[e] == EqType.JOINT else d.ten_J[m.ten_J_rowadr[o] + k]


@kernel
def merged_count(m, e, a, b):
    """How many columns two joints or tendons have between them."""
    na, nb = scalar_nnz(m, e, a), scalar_nnz(m, e, b)
    i, j, n = 0, 0, 0
    while i < na or j < nb:
        first = i < na and (j >= nb or scalar_column(m, e, a, i) <= scalar_column(m, e, b, j))
        second = j < nb and (i >= na or scalar_column(m, e, b, j) <= scalar_column(m, e, a, i))
        i += 1 if first else 0
        j += 1 if second else 0
        n += 1
    return n


@kernel
def put_merged(m, d, e, a, b, slope):
    """Write the Jacobian of one joint or tendon less a slope times that of another behind the last entry."""
    na, nb = scalar_nnz(m, e, a), scalar_nnz(m, e, b)
    i, j, at = 0, 0, d.nJ[0]
    while i < na or j < nb:
        first = i < na and (j >= nb or scalar_column(m, e, a, i) <= scalar_column(m, e, b, j))
        second = j < nb and (i >= na or scalar_column(m, e, b, j) <= scalar_column(m, e, a, i))
        value, column = zero(d.time[0]), 0
        if first:
            value, column = value + scalar_entry(m, d, e, a, i), scalar_column(m, e, a, i)
            i += 1
        if second:
            value, column = value - slope * scalar_entry(m, d, e, b, j), scalar_column(m, e, b, j)
            j += 1
        put_entry(d, at, column, value)
        at += 1


@kernel
def scalar_equality(m, d, e):
    """The row of a joint or tendon that follows another, or stays where it is."""
    a, b = m.eq_obj1id[e], m.eq_obj2id[e]
    n = merged_count(m, e, a, b)
    if has_room(d, 1, n):
        x, weight = zero(d.time[0]), scalar_weight(m, e, a)
        if b >= 0:
            x, weight = scalar_length(m, d, e, b), weight + scalar_weight(m, e, b)
        wanted, slope = polynomial(m, e, x)
        put_merged(m, d, e, a, b, slope)
        n = take_out_trees(m, d, n)
        describe(d, Constraint.EQUALITY, e, 1, n, d.eq_active[e], scalar_length(m, d, e, a) - wanted, 0.0, 0.0)
        d.efc_diagA[d.nefc[0]] = weight
        silence(d, 1, n, d.eq_active[e])
        count_unless_empty(m, d, 1, n)
    else:
        count(d, 1, n)


@stage(when=some("neq"), part_of="make_constraint", unfused=True)
def equality_rows(m, d):
    """Rows of all equalities that are on, in the order of the model. MuJoCo's mj_instantiateEquality.

    A stage, so that only models with equalities pay for compiling it.
    """
    for e in range(m.neq):
        if any_(d.eq_active[e]) and not equality_sleeps(m, d, e):
            if equality_width(m, e) > 1:
                spatial_equality(m, d, e)
            else:
                scalar_equality(m, d, e)
