"""Spatial vectors as tuples of six scalars: angular part, then linear part, at a reference point in world axes.

A motion is (angular velocity, velocity of the point), a force is (torque about the point, force). An inertia is ten scalars:
the tensor about the point (xx, yy, zz, xy, xz, yz), mass times the arm to the centre of mass, the mass.
Moving the reference point by r (from the old point to the new one) is `shift_motion`, `shift_force`, `shift_inertia`.
MuJoCo: mju_crossMotion, mju_crossForce, mju_mulInertVec. Reference: Featherstone 2008, ch. 2.
"""

from ..kernel import kernel
from .vec3 import cross


@kernel
def get6(field, i):
    """Row i of a field with six columns."""
    return field[i, 0], field[i, 1], field[i, 2], field[i, 3], field[i, 4], field[i, 5]


@kernel
def set6(field, i, v):
    """Write row i of a field with six columns."""
    field[i, 0] = v[0]
    field[i, 1] = v[1]
    field[i, 2] = v[2]
    field[i, 3] = v[3]
    field[i, 4] = v[4]
    field[i, 5] = v[5]


@kernel
def get10(field, i):
    """Row i of a field with ten columns: an inertia."""
    return (
        field[i, 0], field[i, 1], field[i, 2], field[i, 3], field[i, 4], field[i, 5], field[i, 6], field[i, 7],
        field[i, 8], field[i, 9],
    )  # fmt: skip


@kernel
def set10(field, i, a):
    """Write row i of a field with ten columns."""
    field[i, 0] = a[0]
    field[i, 1] = a[1]
    field[i, 2] = a[2]
    field[i, 3] = a[3]
    field[i, 4] = a[4]
    field[i, 5] = a[5]
    field[i, 6] = a[6]
    field[i, 7] = a[7]
    field[i, 8] = a[8]
    field[i, 9] = a[9]


@kernel
def angular(v):
    """The angular part."""
    return v[0], v[1], v[2]


@kernel
def linear(v):
    """The linear part."""
    return v[3], v[4], v[5]


@kernel
def join(a, b):
    """A spatial vector from its angular and linear parts."""
    return a[0], a[1], a[2], b[0], b[1], b[2]


@kernel
def add6(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@kernel
def scale6(a, s):
    """a times a scalar."""
    return a[0] * s, a[1] * s, a[2] * s, a[3] * s, a[4] * s, a[5] * s


@kernel
def add_scaled6(a, b, s):
    """a + s b."""
    return a[0] + b[0] * s, a[1] + b[1] * s, a[2] + b[2] * s, a[3] + b[3] * s, a[4] + b[4] * s, a[5] + b[5] * s


@kernel
def dot6(a, b):
    """Inner product: the power of a force along a motion at the same point."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@kernel
def cross_motion(v, s):
    """Rate of change of a motion s carried along by the motion v, both at one point."""
    w, u = (v[0], v[1], v[2]), (v[3], v[4], v[5])
    a, b = (s[0], s[1], s[2]), (s[3], s[4], s[5])
    top, bottom, more = cross(w, a), cross(w, b), cross(u, a)
    return top[0], top[1], top[2], bottom[0] + more[0], bottom[1] + more[1], bottom[2] + more[2]


@kernel
def cross_force(v, f):
    """Rate of change of a force f carried along by the motion v, both at one point."""
    w, u = (v[0], v[1], v[2]), (v[3], v[4], v[5])
    n, p = (f[0], f[1], f[2]), (f[3], f[4], f[5])
    top, more, bottom = cross(w, n), cross(u, p), cross(w, p)
    return top[0] + more[0], top[1] + more[1], top[2] + more[2], bottom[0], bottom[1], bottom[2]


@kernel
def shift_motion(v, r):
    """The same motion seen at a point further on by r: the linear part gains w x r."""
    c = cross((v[0], v[1], v[2]), r)
    return v[0], v[1], v[2], v[3] + c[0], v[4] + c[1], v[5] + c[2]


@kernel
def shift_force(f, r):
    """The same force about a point further on by r: the torque loses r x f."""
    c = cross(r, (f[3], f[4], f[5]))
    return f[0] - c[0], f[1] - c[1], f[2] - c[2], f[3], f[4], f[5]


@kernel
def mul_inertia(a, v):
    """Momentum of a motion: inertia times motion."""
    h, w, u = (a[6], a[7], a[8]), (v[0], v[1], v[2]), (v[3], v[4], v[5])
    n, p = cross(h, u), cross(h, w)
    return (
        a[0] * w[0] + a[3] * w[1] + a[4] * w[2] + n[0],
        a[3] * w[0] + a[1] * w[1] + a[5] * w[2] + n[1],
        a[4] * w[0] + a[5] * w[1] + a[2] * w[2] + n[2],
        a[9] * u[0] - p[0],
        a[9] * u[1] - p[1],
        a[9] * u[2] - p[2],
    )


@kernel
def shift_inertia(a, r):
    """The same inertia about a point further on by r: tensor - 2 h.r + h r' + r h' + m (r.r - r r') with h the first moment."""
    mass = a[9]
    h = a[6], a[7], a[8]
    g = h[0] - mass * r[0], h[1] - mass * r[1], h[2] - mass * r[2]
    s = h[0] + g[0], h[1] + g[1], h[2] + g[2]
    return (
        a[0] - s[1] * r[1] - s[2] * r[2],
        a[1] - s[0] * r[0] - s[2] * r[2],
        a[2] - s[0] * r[0] - s[1] * r[1],
        a[3] + h[0] * r[1] + g[1] * r[0],
        a[4] + h[0] * r[2] + g[2] * r[0],
        a[5] + h[1] * r[2] + g[2] * r[1],
        g[0],
        g[1],
        g[2],
        mass,
    )
