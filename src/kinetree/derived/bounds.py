"""Masses of subtrees, boxes and balls around geoms, trees of boxes, margins, and what the medium adds to a geom's inertia.

MuJoCo: the fixed group of mj_setConst; mjCGeom::GetRBound, ComputeAABB, SetFluidCoefs, MakeBVH.
Reads: body_mass, the local frames and sizes of geoms. Writes into the model: body_subtreemass, body_margin, geom_size of height
fields, geom_aabb, geom_rbound, the last six of geom_fluid, bvh_aabb of bodies.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, exp, log, maximum, minimum, needs, sqrt, where, zero
from ..math.quaternion import get4, to_matrix
from ..math.vec3 import add, get3, mul_mat_t_vec, mul_mat_vec, norm, sub
from ..types import GeomType

PI = 3.141592653589793
FLAT = 1e-14  # MuJoCo's mjEPS: how far a flat box is blown up, and the least denominator of added masses
BOX = 3  # column of half sizes in a box

# Gauss-Kronrod quadrature on 15 points of the integral from 0 to infinity, after the change of variables l = x^3 / (1 - x)^2:
# weights, values of l, and dl/dx. The numbers are those of MuJoCo.
WEIGHT = (
    0.01146766, 0.03154605, 0.05239501, 0.07032663, 0.08450236, 0.09517529, 0.10221647, 0.10474107, 0.10221647,
    0.09517529, 0.08450236, 0.07032663, 0.05239501, 0.03154605, 0.01146766,
)  # fmt: skip
PLACE = (
    7.865151709349917e-08, 1.7347976913907274e-05, 0.0003548008144506193, 0.002846636252924549, 0.014094260903596077,
    0.053063261727396636, 0.17041978741317773, 0.5, 1.4036301548686991, 3.9353484827022642, 11.644841677041734,
    39.53187807410903, 177.5711362220801, 1429.4772912937397, 54087.416549217705,
)  # fmt: skip
STRETCH = (
    5.538677720489877e-05, 0.002080868285293228, 0.016514126520723166, 0.07261900344370877, 0.23985243401862602,
    0.6868318249020725, 1.8551129519182894, 5.0, 14.060031152313941, 43.28941239611009, 156.58546376397112,
    747.9826085305024, 5827.4042950027115, 116754.0197944512, 25482945.327264845,
)  # fmt: skip


@kernel
def set_subtree_masses(m):
    """Mass of every body and its descendants."""
    for b in range(m.nbody):
        m.body_subtreemass[b] = m.body_mass[b]
    for b in range(m.nbody - 1, 0, -1):
        m.body_subtreemass[m.body_parentid[b]] += m.body_subtreemass[b]


@kernel
def set_box(field, i, centre, half):
    """Write a box: centre, then half sizes."""
    for k in range(3):
        field[i, k] = centre[k]
        field[i, BOX + k] = half[k]


@kernel
def bound_geom(m, g):
    """Box and ball around a geom; a plane has no ball, and what is around a mesh belongs to its vertices."""
    kind = m.geom_type[g]
    x, y, z = get3(m.geom_size, g)
    o = zero(x)
    if kind == GeomType.SPHERE:
        set_box(m.geom_aabb, g, (o, o, o), (x, x, x))
        m.geom_rbound[g] = x
    elif kind == GeomType.CAPSULE:
        set_box(m.geom_aabb, g, (o, o, o), (x, x, x + y))
        m.geom_rbound[g] = x + y
    elif kind == GeomType.CYLINDER:
        set_box(m.geom_aabb, g, (o, o, o), (x, x, y))
        m.geom_rbound[g] = sqrt(x * x + y * y)
    elif kind == GeomType.ELLIPSOID:
        set_box(m.geom_aabb, g, (o, o, o), (x, y, z))
        m.geom_rbound[g] = maximum(maximum(x, y), z)
    elif kind == GeomType.BOX:
        set_box(m.geom_aabb, g, (o, o, o), (x, y, z))
        m.geom_rbound[g] = norm((x, y, z))
    elif kind == GeomType.HFIELD:
        bound_hfield(m, g, m.geom_dataid[g])
    elif kind != GeomType.MESH:
        m.geom_rbound[g] = 0.0


@kernel
def bound_hfield(m, g, h):
    """Size, box and ball of a height field, whose ground lies below its frame and whose tops lie above."""
    x, y, up, down = m.hfield_size[h, 0], m.hfield_size[h, 1], m.hfield_size[h, 2], m.hfield_size[h, 3]
    o = zero(x)
    m.geom_size[g, 0], m.geom_size[g, 1], m.geom_size[g, 2] = x, y, 0.25 * up + 0.5 * down
    set_box(m.geom_aabb, g, (o, o, 0.5 * (up - down)), (x, y, 0.5 * (up + down)))
    m.geom_rbound[g] = sqrt(x * x + y * y + maximum(up * up, down * down))


@kernel
def kappa(x, y, z):
    """The shape factor of added mass along the first semiaxis of an ellipsoid. MuJoCo's GetAddedMassKappa."""
    ix, iy, iz = 1.0 / (x * x), 1.0 / (y * y), 1.0 / (z * z)
    size = exp(0.4 * log(x * x * x * y * z))
    total = zero(x)
    for i in range(15):
        at = size * PLACE[i]
        bottom = 1.0 + at * ix
        bottom = bottom * sqrt(bottom * (1.0 + at * iy) * (1.0 + at * iz))
        total += size * STRETCH[i] / bottom * WEIGHT[i]
    return total * ix


@kernel
def added_inertia(y, z, ky, kz):
    """The factor of added inertia about the first axis from the semiaxes of the other two."""
    difference, total = y * y - z * z, y * y + z * z
    bottom = maximum(absolute(2.0 * difference + total * (ky - kz)), FLAT)
    return difference * difference * absolute(kz - ky) / bottom


@kernel
def set_added_mass(m, g):
    """What the medium adds to mass and inertia of a geom, taken as an ellipsoid, per density: last six of geom_fluid."""
    kind = m.geom_type[g]
    x, y, z = get3(m.geom_size, g)
    if kind == GeomType.SPHERE:
        y, z = x, x
    elif kind == GeomType.CAPSULE:
        y, z = x, y + x
    elif kind == GeomType.CYLINDER:
        y, z = x, y
    volume = 4.0 / 3.0 * PI * x * y * z
    kx, ky, kz = kappa(x, y, z), kappa(y, z, x), kappa(z, x, y)
    m.geom_fluid[g, 6] = volume * kx / maximum(2.0 - kx, FLAT)
    m.geom_fluid[g, 7] = volume * ky / maximum(2.0 - ky, FLAT)
    m.geom_fluid[g, 8] = volume * kz / maximum(2.0 - kz, FLAT)
    m.geom_fluid[g, 9] = volume * added_inertia(y, z, ky, kz) / 5.0
    m.geom_fluid[g, 10] = volume * added_inertia(z, x, kz, kx) / 5.0
    m.geom_fluid[g, 11] = volume * added_inertia(x, y, kx, ky) / 5.0


@kernel
def set_margin(m, b):
    """Largest margin plus gap of a body's geoms."""
    m.body_margin[b] = 0.0
    for g in range(m.body_geomadr[b], m.body_geomadr[b] + m.body_geomnum[b]):
        m.body_margin[b] = maximum(m.body_margin[b], m.geom_margin[g] + m.geom_gap[g])


@kernel
def box_in_inertia(m, b, g):
    """The box around a geom along the principal axes of its body, from the centre of mass: centre, half sizes."""
    axes, own = to_matrix(get4(m.body_iquat, b)), to_matrix(get4(m.geom_quat, g))
    place = add(get3(m.geom_pos, g), mul_mat_vec(own, get3(m.geom_aabb, g)))
    centre = mul_mat_t_vec(axes, sub(place, get3(m.body_ipos, b)))
    hx, hy, hz = zero(place[0]), zero(place[0]), zero(place[0])
    for k in range(3):
        edge = mul_mat_t_vec(axes, (own[k], own[3 + k], own[6 + k]))
        size = m.geom_aabb[g, BOX + k]
        hx, hy, hz = hx + absolute(edge[0]) * size, hy + absolute(edge[1]) * size, hz + absolute(edge[2]) * size
    return centre, (hx, hy, hz)


@kernel
def join_boxes(m, node, first, second):
    """The box of a node around those of its children."""
    for k in range(3):
        c0, h0 = m.bvh_aabb[first, k], m.bvh_aabb[first, BOX + k]
        c1, h1 = m.bvh_aabb[second, k], m.bvh_aabb[second, BOX + k]
        low, high = minimum(c0 - h0, c1 - h1), maximum(c0 + h0, c1 + h1)
        m.bvh_aabb[node, k] = 0.5 * (low + high)
        m.bvh_aabb[node, BOX + k] = 0.5 * (high - low)


@kernel
def set_tree_of_boxes(m, b):
    """Boxes of a body's tree: children stand behind their parents."""
    root = m.body_bvhadr[b]
    for node in range(root + m.body_bvhnum[b] - 1, root - 1, -1):
        g = m.bvh_nodeid[node]
        if g >= 0:
            centre, half = box_in_inertia(m, b, g)
            set_box(m.bvh_aabb, node, centre, half)
            for k in range(3):
                m.bvh_aabb[node, BOX + k] += where(half[k] < 0.5 * FLAT, zero(half[k]) + FLAT, 0.0)
        else:
            join_boxes(m, node, root + m.bvh_child[node, 0], root + m.bvh_child[node, 1])


@kernel
def set_fixed(m):
    """All that hangs on no configuration."""
    set_subtree_masses(m)
    for g in range(m.ngeom):
        bound_geom(m, g)
        if needs(m.geom_fluid[g, 0] > 0.0):
            set_added_mass(m, g)
    for b in range(m.nbody):
        set_margin(m, b)
        set_tree_of_boxes(m, b)
